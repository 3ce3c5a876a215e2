"""A fit whose row norm is bought: a noisy quantile of the lengths of rows, and then the fit for it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from typing import Any, final

import numpy as np

from privet._numerics import Array, bisect
from privet._validate import instance, open_fraction, set_frozen
from privet.errors import InvalidData, InvalidParameter
from privet.learn.problem import ArrayRecords, Classes, Records, Task
from privet.learn.problem.lengths import squared_lengths
from privet.mechanisms import Algorithm, Example, Form, Mechanism, Numbers, Quantile, Record, Source, register
from privet.privacy import Composed, Guarantee, PrivacyLoss, Unit

NORM_SHARE = 0.05  # of the promise (of its square for mu), for the row norm
_NEAR = 0.003  # how close the share of the fit comes to the largest one that the promise covers
_EXPONENTS = (-30.0, 30.0)  # from 1e-9 to 1e9
_Q = Fraction(3, 4)  # a higher one has fewer records above it to stand out of the noise


@final
@register
@dataclass(frozen=True, kw_only=True)
class BoughtNorm(Algorithm[Any, Any]):
    """A fit for a row norm that is bought first: the power of two above a noisy quartile of the lengths of rows.

    `fit` is the plan for rows of length 1. Rows without a length (zeros, NaN, infinity) are left out of the quantile, or
    count as the shortest under replace.

    **Guarantee:** the composition of the quantile and of the fit, whose price is the same for all powers of two.
    **Sensitivity:** a record has one length, a function of that record alone.
    **Reference:** Smith 2011; Dwork & Roth 2014, section 3.5 (adaptive composition).
    **Proof:** docs/proofs/learn/bought_norm.md.
    """

    name = "bought_norm"

    norm: Quantile
    fit: Mechanism[Any, Any]
    share: float = 1.0 - NORM_SHARE  # of epsilon, that the fit was planned for
    at: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("norm", self.norm, Quantile)
        instance("fit", self.fit, Mechanism)
        set_frozen(self, share=open_fraction("share", self.share))
        facts: Any = getattr(self.fit, "task", None)
        task = instance("task", facts, Task)
        if task.row_norm != 1.0 or task.centers is not None or task.scales is not None:
            raise InvalidParameter("the fit must be planned for rows of length 1, without bounds of columns")
        if self.norm.unit != task.unit or self.norm.bounds != _EXPONENTS or self.norm.step != 1.0:
            raise InvalidParameter("the quantile must be one of exponents of two, and for the unit of the fit")
        for exponent in _EXPONENTS:
            self.fit_for(2.0**exponent)

    @classmethod
    def planned(cls, plan: Callable[[Guarantee], Mechanism[Any, Any]], unit: Unit, promise: Guarantee) -> "BoughtNorm":
        """The quantile for a public share of the promise, and what `plan` makes of the rest: with a delta more is left than
        the shares say, since prices do not simply add up there.
        """
        facts: dict[str, Any] = {"q": _Q, "bounds": _EXPONENTS, "step": 1.0, "unit": unit}
        norm = Quantile.for_budget(**facts, **promise.share(NORM_SHARE, delta=0.0).keywords())

        @cache
        def made(share: float) -> BoughtNorm:
            return cls(norm=norm, fit=plan(promise.share(share, delta=1.0)), share=share, at=promise.delta or None)

        least = 1.0 - NORM_SHARE
        if not promise.covers(made(least).loss):
            raise InvalidParameter(
                "the norm and this solver together have no price within the promise: give row_norm= as a number"
            )
        if promise.delta == 0.0:
            return made(least)
        return made(bisect(lambda share: promise.covers(made(share).loss), 1.0, least, within=_NEAR))

    @property
    def task(self) -> Task:
        """The public facts of the fit, for rows of length 1."""
        return self.fit.task  # type: ignore[attr-defined]

    @property
    def loss(self) -> PrivacyLoss:
        return Composed((self.norm.loss, self.fit.loss))

    @property
    def form(self) -> Form:
        return Record({"row_norm": Numbers(), "fit": self.fit.form})

    def fit_for(self, row_norm: float) -> Mechanism[Any, Any]:
        """The fit for this row norm, at the price that was planned."""
        made: Mechanism[Any, Any] = replace(self.fit, task=replace(self.task, row_norm=row_norm))  # type: ignore[type-var]
        if made.loss.to_dict() != self.fit.loss.to_dict():
            raise InvalidParameter("the price of this solver depends on row_norm: give row_norm= as a number")
        return made

    def _admit(self, value: Any) -> None:
        self.fit.check(value)
        if value.apart:
            raise InvalidData("rows that lie on several machines have no quantile here: give row_norm= as a number")

    def _run(self, prepared: Records, source: Source) -> dict[str, Any]:
        exponent = self.norm.release(exact_exponents(prepared), source=source).value
        row_norm = 2.0 ** float(exponent)
        return {"row_norm": row_norm, "fit": self.fit_for(row_norm).release(prepared, source=source).value}

    @classmethod
    def examples(cls) -> Iterable[Example]:
        from privet.learn.losses import Logistic
        from privet.learn.solvers.noisy_gd import NoisyGD

        def made(unit: Unit, promise: Guarantee) -> BoughtNorm:
            task = Task(features=1, row_norm=1.0, intercept=False, target=Classes((0, 1)), unit=unit)
            solver = NoisyGD(rows=1, steps=1, clip_norm=1.0)
            return cls.planned(lambda share: solver.plan(task, Logistic(), share), unit, promise)

        one, other, nobody = (
            ArrayRecords(np.array(rows).reshape(-1, 1), np.ones(len(rows), dtype=int)) for rows in ([1e12], [-1e12], [])
        )
        promise, rho = Guarantee(1.0, 1e-5), Guarantee(rho=0.5)
        yield Example(made(Unit(), promise), one, nobody, promise, cost="costly", detects=0.25)
        yield Example(made(Unit("replace"), rho), one, other, rho, cost="costly", detects=0.25)


def fit_share(promise: Guarantee, plan: object) -> Guarantee:
    """The promise that a fit was planned for: the rest of the promise where a norm was bought, else all of it.

    >>> fit_share(Guarantee(1.0, 1e-6), None).epsilon
    1.0
    """
    return promise.share(plan.share, delta=1.0) if isinstance(plan, BoughtNorm) else promise


def fit_within(value: Any, plan: Any) -> tuple[Any, Any]:
    """The output of a fit and its plan: those inside, for the norm that was bought, where one was."""
    if not isinstance(plan, BoughtNorm):
        return value, plan
    return value["fit"], plan.fit_for(float(value["row_norm"]))


def bought_words(plan: Any, inner: Any) -> tuple[str, ...]:
    """Words on what was bought and for what price, for `privacy_`; nothing where nothing was."""
    if not isinstance(plan, BoughtNorm):
        return ()
    return (
        f"row_norm was bought: {inner.task.row_norm:g}, from a quantile of the lengths of rows at {plan.norm.loss}",
        f"the fit was paid besides it: {plan.fit.loss}",
    )


def exact_exponents(records: Records) -> Array:
    """For every row the least e with length <= 2^e, NaN where there is none; each comes from its own record alone, without
    a logarithm that rounds: not releasable.
    """
    with np.errstate(all="ignore"):  # a warning would tell about values
        parts = [_exponents(*_peaks_and_ratios(chunk.rows)) for chunk in records.chunks()]
    return np.concatenate([np.empty(0), *parts])


def _exponents(peaks: Array, ratios: Array) -> Array:
    head, power = np.frexp(peaks)
    rest, more = np.frexp(head * ratios)  # the head is in [1/2, 1): nothing overflows
    return np.where(np.isfinite(peaks) & (peaks > 0.0), power + more - (rest == 0.5), np.nan)


def _peaks_and_ratios(rows: Any) -> tuple[Array, Array]:
    """The largest entry of each row, and how many times as long the row is."""
    if getattr(rows, "format", None) != "csr":
        values = np.array(rows, dtype=np.float64, order="C")  # row by row, so that sums round by one record alone
        peaks = np.max(np.abs(values), axis=1, initial=0.0)
        shares = values / peaks[:, None]
        return peaks, np.sqrt(squared_lengths(shares))
    made = rows.astype(np.float64, copy=True)
    made.sum_duplicates()
    place, n = np.repeat(np.arange(made.shape[0]), np.diff(made.indptr)), made.shape[0]
    peaks = np.zeros(n)
    np.maximum.at(peaks, place, np.abs(made.data))
    return peaks, np.sqrt(np.bincount(place, weights=(made.data / peaks[place]) ** 2, minlength=n))

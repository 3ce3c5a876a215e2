"""Choosing one of finitely many candidates by their scores: what all selection mechanisms share."""

import math
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Self, Unpack

import numpy as np

from privet._numerics import Array, exact_ratio, up
from privet._validate import above, count, flag, items, open_fraction, set_frozen
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms.error_bar import ErrorBar
from privet.mechanisms.families.columns import admit_column, is_number, is_typed, read_column
from privet.mechanisms.form import Form, Numbers, OneOf
from privet.mechanisms.mechanism import Mechanism, Source
from privet.mechanisms.sensitivity import Sensitivity, as_sensitivity
from privet.mechanisms.target import scale_for, smallest_scale
from privet.noise.grid import FARTHEST
from privet.privacy import Guarantee, PrivacyLoss, Promise, Unit

_FAR = 2**FARTHEST  # where scores saturate, as private numbers do on every grid
_SCORES = "scores must be a non-empty one-dimensional array or list of numbers, one for each candidate"


class SelectionOptions(Promise, total=False):
    """The budget and the other fields of a selection, as keywords of `for_budget`."""

    monotonic: bool
    candidates: Iterable[Any] | None
    k: int
    noise: str


@dataclass(frozen=True, kw_only=True)
class SelectionMechanism(Mechanism[Any, Any]):
    """Base of the mechanisms that take one score per candidate and give back a candidate, never a score.

    The list of candidates is public. With `candidates` the chosen one itself is released, else its index. `scale` is the
    width of the noise in units of the score; `monotonic` promises that one record moves all scores the same way. `at` is
    the delta at which an (epsilon, delta) rule charges it.

    **Sensitivity:** of the score: the largest change of any single candidate's score between neighbours.
    """

    scale: float
    sensitivity: Sensitivity = field()
    monotonic: bool = False
    candidates: tuple[Any, ...] | None = None
    at: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, scale=above("scale", self.scale, 0.0))
        set_frozen(self, sensitivity=as_sensitivity(self.sensitivity, norm="score"))
        check_monotonic(self.monotonic, self.sensitivity.unit)
        if self.candidates is not None:
            set_frozen(self, candidates=_public_list(self.candidates))

    @classmethod
    def for_budget(
        cls,
        *,
        sensitivity: float | Fraction | Sensitivity,
        unit: Unit | None = None,
        **options: Unpack[SelectionOptions],
    ) -> Self:
        """The smallest scale that stays within the budget; `options` are the other fields of the mechanism."""
        given: dict[str, Any] = dict(options)
        target = Guarantee.taken_from(given)
        bound = as_sensitivity(sensitivity, norm="score", unit=unit)
        mechanism = cls(scale=1.0, sensitivity=bound, **given)
        made = replace(mechanism, scale=scale_for(mechanism._multiplier(target), bound.value))
        return made._charged_at(target)

    def _multiplier(self, target: Guarantee) -> float:
        """The smallest ratio of scale and sensitivity whose price the target covers."""
        return smallest_scale(lambda ratio: self._price(up(self._reach / Fraction(ratio))), target)

    @property
    def _reach(self) -> Fraction:
        """The distance by which two scores can move against each other, in units of the sensitivity."""
        return Fraction(1 if self.monotonic else 2)

    @property
    def loss(self) -> PrivacyLoss:
        return self._price(up(self._reach * self.sensitivity.value / Fraction(self.scale)))

    @property
    def form(self) -> Form:
        return Numbers() if self.candidates is None else OneOf(self.candidates)

    @abstractmethod
    def _price(self, epsilon: float) -> PrivacyLoss:
        """The price when two scores can move against each other by `epsilon` times the scale."""

    @abstractmethod
    def _choose(self, scores: Array, runs: int, source: Source) -> Any:
        """The chosen indices of `runs` independent releases, the run first."""

    def _admit(self, value: object) -> None:
        admit_scores(value)
        self._check_number(len(value) if hasattr(value, "__len__") else None)

    def _prepare(self, value: object) -> Array:
        scores = as_scores(value)
        self._check_number(len(scores))
        return scores

    def _check_number(self, number: int | None) -> None:
        """Refuse another number of scores than of candidates, which is public; None where it must be counted first."""
        if number is not None and self.candidates is not None and number != len(self.candidates):
            raise InvalidData("there must be one score for each of the candidates, in their order")

    def _draw(self, prepared: Array, runs: int, source: Source) -> Any:
        chosen = self._choose(prepared, runs, source)
        return chosen if self.candidates is None else [self._named(index) for index in chosen]

    def _named(self, index: Any) -> Any:
        """The public name of a choice."""
        assert self.candidates is not None
        return self.candidates[int(index)]

    def error(self, confidence: float = 0.95, *, candidates: int | None = None, optimal: int = 1) -> ErrorBar:
        """The distance by which the score of the choice may lie below the best score.

        `candidates` is their number (needed unless the mechanism knows its list), `optimal` a public lower bound on how
        many of them reach the best score.
        """
        total = self._total(candidates)
        if not 1 <= count("optimal", optimal, 1) <= total:
            raise InvalidParameter("optimal must lie between 1 and the number of candidates")
        radius = self._shortfall(total, optimal, 1.0 - open_fraction("confidence", confidence))
        return ErrorBar(radius if total > optimal else 0.0, confidence, self._of, around=False)

    _of = "best score minus the score of the choice"

    def _shortfall(self, total: int, optimal: int, beta: float) -> float:
        """The shortfall that is exceeded with probability at most beta, where a choice has a probability proportional to
        exp(score/scale) or a smaller shortfall (McSherry & Talwar 2007); others override it."""
        return self.scale * (math.log(total / optimal) + math.log(1.0 / beta))

    def _total(self, candidates: int | None) -> int:
        known = None if self.candidates is None else len(self.candidates)
        if candidates is None and known is None:
            raise InvalidParameter("the error depends on the number of candidates: pass candidates=")
        if candidates is not None and known is not None and candidates != known:
            raise InvalidParameter("candidates contradicts the number of candidates of the mechanism")
        return count("candidates", candidates if known is None else known, 1)

    def _error_of(self, prepared: Array) -> ErrorBar:
        return self.error(candidates=len(prepared))


def admit_scores(value: object) -> None:
    """Refuse what is no list of scores, by type, dtype and shape alone.

    >>> admit_scores([1, 2.5, None])
    """
    if is_number(value):
        raise InvalidData(_SCORES)
    admit_column(value, labels=False)
    if getattr(value, "ndim", 1) != 1 or (hasattr(value, "__len__") and len(value) == 0):
        raise InvalidData(_SCORES)


def as_scores(value: Any) -> Array:
    """One exact number for each candidate: doubles, integers, or Fractions where they come in a list or are wider than
    that.

    A missing score (NaN, None, no number) counts as the lowest of the others, or 0 if there are none; an infinite one as
    2^1000 or -2^1000. That moves no score further apart between two worlds, so a promised sensitivity stays true: as long
    as the same scores are missing in both. Which ones are must not depend on the data, since from a missing score to a
    number is no distance.

    >>> as_scores([1, None, 2.5]).tolist()
    [Fraction(1, 1), Fraction(1, 1), Fraction(5, 2)]
    """
    admit_scores(value)
    if not is_typed(value):
        return _listed(value if isinstance(value, list | tuple) else list(value))
    values, absent = read_column(value)
    if values.dtype.itemsize > 8:
        return _listed([None if absent is not None and absent[i] else item for i, item in enumerate(values)])
    if values.dtype.kind == "f":
        values = values.astype(np.float64, copy=False)
        absent = np.isnan(values) if absent is None else absent | np.isnan(values)
        # an absent one is infinite here, so that it is never the lowest
        known = np.clip(np.where(absent, np.inf, values), -(2.0**FARTHEST), 2.0**FARTHEST)
        lowest = 0.0 if np.all(absent) else known.min()
        return np.where(absent, lowest, known)
    values = values.astype(np.uint64 if values.dtype == np.uint64 else np.int64, copy=False)
    if absent is None:
        return values
    lowest = values.dtype.type(0) if np.all(absent) else values[~absent].min()
    return np.where(absent, lowest, values)


def _listed(items: Any) -> Array:
    if not len(items):
        raise InvalidData(_SCORES)
    ratios = [exact_ratio(item) for item in items]
    known = [Fraction(min(max(top, -_FAR * bottom), _FAR * bottom), bottom) for top, bottom in filter(None, ratios)]
    lowest, rest = min(known, default=Fraction(0)), iter(known)
    scores = np.empty(len(ratios), dtype=object)
    scores[:] = [lowest if ratio is None else next(rest) for ratio in ratios]
    return scores


def check_monotonic(monotonic: bool, unit: Unit) -> None:
    """Refuse the claim that all scores move the same way where the unit cannot support it.

    Under zero_out it can: there a null record acts as an absent one. A null record that itself moves a score makes it
    an exchange.

    >>> check_monotonic(True, Unit())
    """
    if flag("monotonic", monotonic) and (unit.relation == "replace" or unit.group_size > 1):
        raise InvalidParameter(
            "monotonic scores need a unit in which one record is added, removed or nulled: an exchange (or a group) may "
            "raise one score and lower another, which costs twice as much; leave monotonic=False"
        )


def _public_list(candidates: object) -> tuple[Any, ...]:
    if isinstance(candidates, str | bytes) or not isinstance(candidates, Iterable):
        raise InvalidParameter("candidates must be a list of the public alternatives")
    # a time in nanoseconds stays what it is: Python knows no such times
    times = (np.datetime64, np.timedelta64)
    listed = items("candidates", candidates)
    found = tuple(x.item() if isinstance(x, np.generic) and not isinstance(x, times) else x for x in listed)
    if not found:
        raise InvalidParameter("candidates must not be empty")
    return found

"""Propose-test-release."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet._numerics import Array, down, exact, round_up, up
from privet._validate import above, count, instance, open_fraction, set_frozen
from privet.errors import InvalidData, InvalidParameter, NoGuarantee
from privet.mechanisms.error_bar import ErrorBar
from privet.mechanisms.families.record_totals import FINE, in_steps
from privet.mechanisms.families.record_values import (
    Missing,
    admit_records,
    clean_records,
    missing_note,
    public_bounds,
    public_missing,
)
from privet.mechanisms.families.values import read_value
from privet.mechanisms.laplace import Laplace
from privet.mechanisms.mechanism import Example, Mechanism, Source, register
from privet.mechanisms.sensitivity import Sensitivity
from privet.privacy import ApproxLoss, Guarantee, Unit, a_unit

_FARTHEST = 2**40  # where distances saturate: no threshold that is calibrated lies near it, and a float holds it


class StableQuery(ABC):
    """A function that hardly moves on well-behaved data: its value, and how far the data is from misbehaving.

    **Sensitivity:** `exact_distance` is the number of records that must change, under `unit`, before the function's
    local sensitivity exceeds the proposal. A smaller number is allowed if one record moves it by at most 1 and it is 0
    wherever a neighbour's value is further away than the proposal.

    >>> StableMedian(bounds=(0, 10)).exact_distance([5, 5, 5, 5, 5], Fraction(1))  # four zeros
    4
    """

    unit: Unit

    def admit(self, data: object) -> None:  # noqa: B027  (a query may accept everything)
        """Raise `InvalidData` for data of the wrong type, dtype or shape; values must not matter."""

    def admit_proposal(self, proposal: Fraction) -> None:  # noqa: B027
        """Raise `InvalidParameter` for a proposal that this query cannot test, before anything is paid."""

    def notes(self) -> tuple[str, ...]:
        """Public remarks for the provenance of a release."""
        return ()

    @abstractmethod
    def exact_value(self, data: object) -> Fraction:
        """The function itself: not releasable."""

    @abstractmethod
    def exact_distance(self, data: object, proposal: Fraction) -> int:
        """Steps to the nearest data set with local sensitivity above the proposal: not releasable."""


@final
@dataclass(frozen=True, kw_only=True)
class StableMedian(StableQuery):
    """The lower median of records within public bounds (the lowest bound for no records).

    **Sensitivity:** distances are exact under both relations. With x sorted and padded by the bounds: replacing k
    records can bring x[l] and x[r] next to each other around the median if l <= m <= r and r - l - 1 <= k; adding and
    removing must also even out the two sides. With `max_rows` records a person (add/remove only) the distance is the number
    of whole persons in the edits that keep every single step below proposal/max_rows.
    **Reference:** Dwork & Lei 2009; Nissim, Raskhodnikova & Smith 2007 for replace.

    >>> StableMedian(bounds=(0, 8)).exact_value([3, 1, 2])
    Fraction(2, 1)
    """

    bounds: tuple[float, float]
    unit: Unit = field(default=Unit())
    missing: Missing | None = None
    max_rows: int = 1

    def __post_init__(self) -> None:
        a_unit(self.unit)
        set_frozen(self, bounds=public_bounds(self.bounds))
        set_frozen(self, missing=public_missing(self.missing, self.bounds, self.unit))
        if self.unit.relation not in ("add_remove", "replace") or self.unit.group_size != 1:
            raise InvalidParameter("the median's distance is known for one record under add_remove or replace")
        if count("max_rows", self.max_rows, 1) > 1 and self.unit.relation == "replace":
            raise InvalidParameter(
                "with several records a person, replacing one person changes the number of records: hand in one record a "
                "person, or take Unit('add_remove')"
            )

    def admit(self, data: object) -> None:
        admit_records(data)

    def admit_proposal(self, proposal: Fraction) -> None:
        if self._steps(proposal) >= 2**FINE:
            raise InvalidParameter("the proposal is no smaller than the width of the bounds: there is nothing to test")

    def _steps(self, proposal: Fraction) -> int:
        """A person's share of the proposal: with up to max_rows edits, each must move the median by at most that."""
        low, high = map(Fraction, self.bounds)
        return math.floor(proposal / self.max_rows / (high - low) * 2**FINE)

    def notes(self) -> tuple[str, ...]:
        return (missing_note(self.missing),)

    def exact_value(self, data: object) -> Fraction:
        padded = self._padded(data)
        low, high = map(Fraction, self.bounds)
        return low + (high - low) * Fraction(int(padded[(len(padded) - 1) // 2]), 2**FINE)

    def exact_distance(self, data: object, proposal: Fraction) -> int:
        self.admit_proposal(proposal)
        padded, steps = self._padded(data), self._steps(proposal)
        edits = _replacements(padded, steps) if self.unit.relation == "replace" else _edits(padded, steps)
        return edits // self.max_rows

    def _padded(self, data: object) -> Array:
        assert self.missing is not None
        inner = np.sort(in_steps(clean_records(data, self.bounds, self.missing), self.bounds))
        return np.concatenate(([0], inner, [2**FINE]))


@final
@register
@dataclass(frozen=True, kw_only=True)
class ProposeTestRelease(Mechanism[Any, float]):
    """Propose a bound on the local sensitivity, test privately that the data is far from breaking it, then release.

    A refusal is the value NaN. It is a release like any other: it tells something, and it has been paid for.

    **Guarantee:** (epsilon of the test + epsilon of the release, delta)-DP under the unit of the query.
    **Sensitivity:** 1 for the distance; the proposal for the value, wherever the test matters.
    **Error:** of a value that is released, the Laplace quantile for the proposal; a refusal has none.
    **Reference:** Dwork & Lei 2009; the threshold ln(1/(2 delta))/epsilon is exact for Laplace noise.

    >>> query = StableMedian(bounds=(0, 100))
    >>> mechanism = ProposeTestRelease.for_budget(epsilon=2.0, delta=1e-6, query=query, proposal=0.5)
    >>> round(mechanism.threshold, 6), mechanism.loss.approximate()
    (13.122363, Approximate(epsilon=2.0, delta=1e-06))
    >>> release = mechanism.release([50.0] * 1000)
    >>> abs(release.value - 50.0) < 20.0
    True
    """

    name = "propose_test_release"

    query: StableQuery
    test: Laplace
    noise: Laplace
    delta: float

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, delta=open_fraction("delta", self.delta))
        if self.delta >= 0.5:
            raise InvalidParameter("delta must be below 1/2: it is the chance that unstable data passes the test")
        instance("query", self.query, StableQuery)
        instance("test", self.test, Laplace)
        instance("noise", self.noise, Laplace)
        if {self.test.unit, self.noise.unit} != {self.query.unit} or self.test.sensitivity.value < 1:
            raise InvalidParameter("test and noise must be made for the unit of the query; use for_budget")
        self.query.admit_proposal(self.proposal)

    @classmethod
    def for_budget(
        cls, *, epsilon: float, delta: float, query: StableQuery, proposal: float | Fraction, test_share: float = 0.5
    ) -> "ProposeTestRelease":
        """Spend `test_share` of epsilon on the test and the rest on the value; `proposal` is a public guess."""
        target, query = Guarantee(epsilon, delta), instance("query", query, StableQuery)
        if target.delta == 0.0 or target.epsilon is None:
            raise NoGuarantee("propose-test-release can fail: it needs a delta > 0")
        above("proposal", proposal, 0.0)
        first = open_fraction("test_share", test_share) * target.epsilon
        second = down(Fraction(target.epsilon) - Fraction(first))  # in doubles the two could be above the whole
        bounds = (Sensitivity(size, norm="l1", unit=query.unit) for size in (Fraction(1), exact("proposal", proposal)))
        test, noise = (
            Laplace.for_budget(epsilon=part, sensitivity=bound)
            for part, bound in zip((first, second), bounds, strict=True)
        )
        return cls(query=query, test=test, noise=noise, delta=target.delta)

    @property
    def proposal(self) -> Fraction:
        """The bound on the local sensitivity that is tested."""
        return self.noise.sensitivity.value

    @property
    def threshold(self) -> float:
        """The noisy distance must exceed this: Laplace noise alone does so with probability delta."""
        return self.test.scale * -math.log(2.0 * self.delta)

    @property
    def loss(self) -> ApproxLoss:
        both = Fraction(self.test.loss.pure()) + Fraction(self.noise.loss.pure())
        return ApproxLoss(up(both), self.delta, unit=self.query.unit)

    def _admit(self, value: object) -> None:
        self.query.admit(value)

    def _notes(self, drawn: float) -> tuple[str, ...]:
        return self.query.notes()

    def _prepare(self, value: object) -> tuple[int, Fraction]:
        distance = self.query.exact_distance(value, self.proposal)
        if isinstance(distance, bool) or not isinstance(distance, int):
            raise InvalidData("a query's distance must be an integer")
        (exact,) = read_value(self.query.exact_value(value)).fractions()  # NaN counts as 0
        return min(max(distance, 0), _FARTHEST), exact

    def _draw(self, prepared: tuple[int, Fraction], runs: int, source: Source) -> Array:
        distance, value = prepared
        seen = self.test._protect(Fraction(distance), runs, source)
        # a release on the grid lies within half a step of the continuous one: ask for half a step more
        limit = Fraction(round_up(self.threshold, 8.0)) + Fraction(self.test.step) / 2
        released = self.noise._protect(value, runs, source)  # drawn in any case, so that time says nothing
        return np.array(
            [float(noisy) if near >= limit else math.nan for noisy, near in zip(released, seen, strict=True)]
        )

    @property
    def at(self) -> float | None:  # type: ignore[override]
        """The delta of the price."""
        return self.delta

    def error(self, confidence: float = 0.95) -> ErrorBar:
        """The quantile of the noise on the value, if it is released."""
        bar = self.noise.error(confidence)
        return ErrorBar(bar.radius, confidence, "the value, unless it is refused", bar.expected)

    def _error_given(self, drawn: float, prepared: object) -> ErrorBar | None:
        return None if math.isnan(drawn) else self.noise.error()

    @classmethod
    def examples(cls) -> Iterable[Example]:
        budget, proposal = Guarantee(2.0, 1e-2), Fraction(1)
        # The median moves by nearly all that was proposed, and is stable, so that it is shown. Half of the price went to
        # the test of stability, which such a pair does not strain.
        below, above = [5.0] * 20, [5.96875] * 20
        for unit, right in ((Unit(), below[1:] + above), (Unit("replace"), below[1:] + above + [5.96875])):
            query = StableMedian(bounds=(0, 10), unit=unit)
            mechanism = cls.for_budget(epsilon=2.0, delta=1e-2, query=query, proposal=proposal)
            yield Example(mechanism, below + above, right, budget, detects=0.4)


def _replacements(padded: Array, steps: int) -> int:
    """The least r - l - 1 over l <= m <= r with x[r] - x[l] > steps."""
    middle = (len(padded) - 1) // 2
    left = np.arange(middle + 1)
    right = np.maximum(np.searchsorted(padded, padded[left] + steps, side="right"), middle)
    inside = right < len(padded)
    return int((right - left - 1)[inside].min())


def _edits(padded: Array, steps: int) -> int:
    """The least number of removals between l and r, and then of edits that even out both sides, for such a gap.

    With n records left, the gap that adding or removing one can open is between places floor(n/2) and floor(n/2) + 1:
    both sides hold equally many, or the right one more.
    """
    n = len(padded) - 2
    left = np.arange(n + 1)
    right = np.searchsorted(padded, padded[left] + steps, side="right")
    removed = right - left - 1
    surplus = n - 2 * left - removed  # of the right side over the left
    uneven = np.maximum(np.maximum(surplus - 1, -surplus), 0)
    return int((removed + uneven)[right < len(padded)].min())

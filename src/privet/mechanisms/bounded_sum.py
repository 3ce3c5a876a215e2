"""The sum of bounded records."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Unpack, final

import numpy as np

from privet._numerics import Array
from privet._validate import count
from privet.mechanisms.error_bar import ErrorBar
from privet.mechanisms.families.record_totals import FINE, exact_total
from privet.mechanisms.families.record_values import Missing, public_bounds
from privet.mechanisms.families.records import RecordMechanism, sensitivities
from privet.mechanisms.least_noise import least_noise
from privet.mechanisms.mechanism import Example, register
from privet.mechanisms.sensitivity import Norm
from privet.noise import Grid
from privet.privacy import Guarantee, Promise, Unit


@final
@register
@dataclass(frozen=True, kw_only=True)
class BoundedSum(RecordMechanism):
    """The sum of records clamped to public bounds, with Laplace or Gaussian noise, whichever is smaller.

    Records are rounded to a grid of about 2^-40 of the width of the bounds, so that their sum is an exact integer.

    **Guarantee:** that of the noise, for every list of records, of any length and with anything in it.
    **Sensitivity:** l1 = l2 = max(|lowest|, |highest|) under add/remove, highest - lowest under replace; times
    `max_rows`. With several rows, replace takes the larger of the two: somebody may give way to somebody with fewer.
    **Error:** of the noise; the rounding of n records adds at most n times half a grid step, clamping what it cuts off.
    **Reference:** Dwork et al. 2006; Casacuberta et al. 2022 for why not in floats.

    >>> mechanism = BoundedSum.for_budget(epsilon=1.0, bounds=(0, 100))
    >>> float(mechanism.noise.sensitivity), print(mechanism.error(0.95))
    +-299.6 (95%)
    (100.0, None)
    >>> release = mechanism.release([23, 61.5, None, 1e9])
    """

    name = "bounded_sum"

    @classmethod
    def for_budget(
        cls,
        *,
        bounds: tuple[float, float],
        unit: Unit | None = None,
        missing: Missing | None = None,
        max_rows: int = 1,
        **promise: Unpack[Promise],
    ) -> "BoundedSum":
        """The least noise that stays within the budget; the bounds are public and never read from data."""
        ends, several = public_bounds(bounds), count("max_rows", max_rows, 1) != 1
        l1, l2 = sensitivities(lambda norm, unit: _moves(ends, unit, several=several), unit, max_rows)
        noise = least_noise(**promise, l1=l1, l2=l2)
        return cls(bounds=bounds, noise=noise, missing=missing, max_rows=max_rows)

    def _moves(self, norm: Norm, unit: Unit) -> Fraction:
        return _moves(self.bounds, unit, several=self.max_rows > 1)

    @property
    def _grid(self) -> Grid:
        return _public(self.bounds)[0]

    def _totals(self, clean: Array) -> list[int]:
        grid, lowest, highest = _public(self.bounds)
        steps = np.clip(grid.nearest(clean - grid.from_grid(lowest)), 0, highest - lowest)
        return [lowest * len(clean) + exact_total(steps)]

    def _finish(self, noisy: Sequence[Fraction]) -> float:
        return float(noisy[0])

    def error(self, confidence: float = 0.95) -> ErrorBar:
        """The exact quantile of the noise."""
        return self.noise.error(confidence)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls.for_budget(epsilon=1.0, bounds=(-2, 5)), [5.0, 1.0, math.inf], [5.0, 1.0], Guarantee(1.0))
        private = cls.for_budget(epsilon=1.0, delta=1e-5, bounds=(0, 10), unit=Unit("replace"))
        yield Example(private, [3, None, 10], [3, None, 0], Guarantee(1.0, 1e-5))
        yield Example(cls.for_budget(rho=0.1, bounds=(0, 1), max_rows=3), [], [1, 1, 1], Guarantee(rho=0.1))


def _moves(bounds: tuple[float, float], unit: Unit, *, several: bool) -> Fraction:
    """The distance by which one record moves the sum. Who has several may be exchanged for somebody with none (they
    need not be exchanged one for one), so that a record may also come or go."""
    grid, lowest, highest = _public(bounds)
    steps = highest - lowest if unit.relation == "replace" else 0
    if several or unit.relation != "replace":
        steps = max(steps, abs(lowest), abs(highest))
    return grid.times(steps)


@lru_cache(maxsize=256)
def _public(bounds: tuple[float, float]) -> tuple[Grid, int, int]:
    """The grid and the bounds in its steps: whole records stay exact up to a width of 2^40."""
    low, high = map(Fraction, bounds)
    grid = Grid.finer_than(high - low, FINE - 1)
    return grid, math.floor(grid.length(low) + Fraction(1, 2)), math.floor(grid.length(high) + Fraction(1, 2))

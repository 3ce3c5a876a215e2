"""The variance of bounded records."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet.mechanisms.base import ErrorBar, Example, Norm, Target, register
from privet.mechanisms.base.records import (
    FINE,
    exact_total,
    half_up,
)
from privet.mechanisms.moments import MomentMechanism
from privet.privacy import Unit

__all__ = ["BoundedVariance"]

_SLACK = Fraction(2, 2**FINE)  # two records, each with its square rounded by less than a step


@final
@register
@dataclass(frozen=True, kw_only=True)
class BoundedVariance(MomentMechanism):
    """Variance (divided by n), mean and number of records: `{"variance": ..., "mean": ..., "count": ...}`.

    With z the record's place between the bounds (-1 to 1), the mechanism protects (sum z, sum (z^2 - 1/2), count) as
    one vector; under replace the number of records `n` is public and the count is left out.

    **Guarantee:** that of the noise: one price for all three numbers, whatever the records are.
    **Sensitivity:** add/remove: l1 = 2.5, l2 = 1.5. Replace: l1 = 2.25, l2 = 2 (and 2^-39 for rounding). Times
    `max_rows`.
    **Error:** a bar on the variance comes with every release, from the released mean and count; conservative.
    **Reference:** proof note; Dwork et al. 2006 for the noise.

    >>> mechanism = BoundedVariance.for_budget(epsilon=1.0, bounds=(0, 100))
    >>> sorted(mechanism.release([23, 61.5, None, 1e9]).value)
    ['count', 'mean', 'variance']
    """

    name = "bounded_variance"

    @staticmethod
    def _shift(norm: Norm, unit: Unit) -> Fraction:
        if unit.relation == "replace":
            return Fraction(9 if norm == "l1" else 8, 4) + _SLACK
        return Fraction(5 if norm == "l1" else 3, 2)

    @staticmethod
    def _judged(counted: bool) -> int:
        return 3 if counted else 2

    @property
    def _exponent(self) -> int:
        return -FINE - 1  # halves of a step, for z^2 - 1/2

    def _totals(self, clean: Array) -> list[int]:
        half = self.width / 2.0
        z = half_up(np.ldexp(np.clip((clean - (self.bounds[0] + half)) / half, -1.0, 1.0), FINE))
        square = np.clip(half_up(np.ldexp(np.ldexp(z.astype(float), -FINE) ** 2, FINE)), 0, 2**FINE)
        moments = [exact_total(2 * z), exact_total(2 * square - 2**FINE)]
        if self.n is None:
            return [*moments, len(clean) << (FINE + 1)]
        return moments

    def _finish(self, noisy: Sequence[Fraction]) -> dict[str, float]:
        number = Fraction(noisy[2]) if self.n is None else Fraction(self.n)
        first, second = (float(total / number) if number > 0 else 0.0 for total in noisy[:2])
        z = min(max(first, -1.0), 1.0)
        spread = min(max(min(max(second + 0.5, 0.0), 1.0) - z * z, 0.0), 1.0)
        half = self.width / 2.0
        low, high = self.bounds
        return {
            "variance": spread * half * half,
            "mean": min(max(low + half + z * half, low), high),
            "count": float(number),
        }

    def error(self, confidence: float = 0.95) -> ErrorBar | None:
        """None: the bar depends on the mean (and under add/remove on the count), which are private until released."""
        return None

    def _error_given(self, drawn: dict[str, float], prepared: Any) -> ErrorBar:
        """Interval arithmetic on the joint quantile of the noise, around the released mean and count."""
        confidence, half = 0.95, self.width / 2.0
        dimension = 3 if self.n is None else 2
        share = (self.noise.error(confidence, dimension=dimension).radius + self.noise.step) / max(
            drawn["count"], 1e-300
        )
        # sum z - E[z] count has the noise Z1 - E[z] Z3, and |E[z]| <= 1; |E[z^2] - 1/2| <= 1/2
        first, second = (2.0 * share, 1.5 * share) if self.n is None else (share, share)
        z = abs(drawn["mean"] - self.bounds[0] - half) / half
        radius = min(1.0, second + first * (2.0 * z + first) + 2.0**-FINE * 8.0)
        return ErrorBar(radius * half * half, confidence, "variance")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls.for_budget(epsilon=1.0, bounds=(0, 10)), [10.0, 1.0, 2.0], [1.0, 2.0], Target(1.0))
        ages = cls.for_budget(epsilon=1.0, delta=1e-5, bounds=(0, 110), unit=Unit("replace"), n=3)
        yield Example(ages, [30, 41, 110], [30, 41, 0], Target(1.0, 1e-5))
        yield Example(cls.for_budget(rho=0.1, bounds=(-1, 1)), [], [1.0], Target(rho=0.1))

"""The geometric mechanism for counts."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Unpack, final

import numpy as np

from privet._numerics import Array
from privet._validate import count, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms.error_bar import ErrorBar
from privet.mechanisms.families.integer import IntegerMechanism
from privet.mechanisms.families.two_sided_geometric import GeometricNoise, smallest_geometric_scale
from privet.mechanisms.mechanism import Example, register
from privet.mechanisms.sensitivity import Sensitivity, as_sensitivity
from privet.privacy import Guarantee, Promise, Unit

_WIDEST = 2**62  # ends of bounds fit int64, with what is added to them


@final
@register
@dataclass(frozen=True, kw_only=True)
class Geometric(GeometricNoise, IntegerMechanism):
    """A count with two-sided geometric noise, clamped to public `bounds` where they are given (truncated geometric).

    **Guarantee:** pure epsilon = sensitivity/scale; clamping the noisy count is post-processing and costs nothing.
    **Sensitivity:** l1, a whole number; 1 for a count of records.
    **Error:** the exact integer quantile; never more than the width of the bounds.
    **Reference:** Ghosh, Roughgarden & Sundararajan 2009 (optimal for counts, whatever the user's loss).

    >>> mechanism = Geometric.for_budget(epsilon=1.0, bounds=(0, 100))
    >>> 0 <= mechanism.release(0).value <= 100
    True
    >>> print(mechanism.error(0.95))
    +-3 (95%)
    """

    name = "geometric"

    bounds: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bounds is not None:
            set_frozen(self, bounds=_whole_bounds(self.bounds))

    @classmethod
    def for_budget(
        cls,
        *,
        sensitivity: int | Fraction | Sensitivity = 1,
        unit: Unit | None = None,
        bounds: tuple[int, int] | None = None,
        **promise: Unpack[Promise],
    ) -> "Geometric":
        """The smallest scale that stays within the budget."""
        target, bound = Guarantee(**promise), as_sensitivity(sensitivity, norm="l1", unit=unit)
        scale = smallest_geometric_scale(target, bound)
        return cls(scale=scale, sensitivity=bound, bounds=bounds)._charged_at(target)

    def _finish(self, total: Any) -> Any:
        if self.bounds is None:
            return total
        low, high = self.bounds
        return min(max(total, low), high) if isinstance(total, int) else np.clip(total, low, high)

    def error(self, confidence: float = 0.95, *, dimension: int = 1) -> ErrorBar:
        """The exact quantile of the noise, jointly for all coordinates; for counts inside the bounds."""
        bar = super().error(confidence, dimension=dimension)
        if self.bounds is None:
            return bar
        width = float(self.bounds[1] - self.bounds[0])
        return ErrorBar(min(bar.radius, width), confidence, bar.of, bar.expected)

    def exact_cdf(self, value: int, points: Array) -> Array:
        """Pr[release <= point] for the exact value: for tests and audits, not releasable."""
        inside = super().exact_cdf(value, points)
        if self.bounds is None:
            return inside
        low, high = self.bounds
        return np.where(np.asarray(points) < low, 0.0, np.where(np.asarray(points) >= high, 1.0, inside))

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls.for_budget(epsilon=1.0), 10, 11, Guarantee(1.0))
        yield Example(cls.for_budget(epsilon=0.5, bounds=(0, 8)), 0, 1, Guarantee(0.5))
        yield Example(cls.for_budget(mu=1.0, bounds=(0, 50), unit=Unit("replace")), 49, 50, Guarantee(mu=1.0))


def _whole_bounds(bounds: object) -> tuple[int, int]:
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise InvalidParameter("bounds must be a pair (lowest, highest) of public integers")
    low, high = (count("bounds", end, -_WIDEST) for end in bounds)
    if low >= high:
        raise InvalidParameter(f"bounds must satisfy lowest < highest, got ({low}, {high})")
    return low, high

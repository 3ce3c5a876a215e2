"""The common ground of counts: integer noise, or Gaussian noise rounded to integers where a delta makes that
smaller."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self, Unpack

from privet._validate import count as whole, instance, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms.discrete_laplace import DiscreteLaplace
from privet.mechanisms.error_bar import ErrorBar
from privet.mechanisms.families.one_noise import PricedByNoise
from privet.mechanisms.families.records import row_sensitivity
from privet.mechanisms.gaussian import Gaussian
from privet.mechanisms.least_noise import least_noise
from privet.mechanisms.mechanism import Mechanism, Source
from privet.privacy import Promise, Unit


@dataclass(frozen=True, kw_only=True)
class CountingMechanism(PricedByNoise, Mechanism[Any, int]):  # type: ignore[override]  # `at` is read from the noise
    """Base of the mechanisms whose exact answer is a number of records.

    >>> from privet.mechanisms import Count
    >>> isinstance(Count.for_budget(epsilon=1.0), CountingMechanism)
    True
    """

    noise: DiscreteLaplace | Gaussian = field()
    max_rows: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, max_rows=whole("max_rows", self.max_rows, 1))
        bound = instance("noise", self.noise, DiscreteLaplace, Gaussian).sensitivity
        if bound.value < self.max_rows * bound.unit.group_size:
            raise InvalidParameter("the noise was made for a smaller sensitivity than this count has; use for_budget")

    @classmethod
    def for_budget(
        cls,
        *,
        unit: Unit | None = None,
        max_rows: int = 1,
        **promise: Unpack[Promise],
    ) -> Self:
        """The least noise that stays within the budget."""
        l1, l2 = (row_sensitivity(Fraction(1), norm=norm, unit=unit, max_rows=max_rows) for norm in ("l1", "l2"))

        def radius(noise: Any) -> float:
            return cls(noise=noise, max_rows=max_rows).error().radius

        return cls(noise=least_noise(l1=l1, l2=l2, whole=True, by=radius, **promise), max_rows=max_rows)

    def _draw(self, prepared: int, runs: int, source: Source) -> list[int]:
        noise: Mechanism[Any, Any] = self.noise
        return [_whole(noisy) for noisy in noise._draw(noise._prepare(prepared), runs, source)]

    def error(self, confidence: float = 0.95) -> ErrorBar:
        """The exact quantile of the noise."""
        bar = self.noise.error(confidence)
        return bar if isinstance(self.noise, DiscreteLaplace) else ErrorBar(bar.radius + 0.5, confidence, bar.of)


def _whole(number: float) -> int:
    """Rounding a release to the nearest integer is post-processing."""
    return math.floor(number + 0.5) if isinstance(number, float) else int(number)

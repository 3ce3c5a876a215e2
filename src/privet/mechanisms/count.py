"""How many records satisfy a condition."""

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet._validate import count as whole
from privet.errors import InvalidParameter, NoGuarantee
from privet.mechanisms.base import ErrorBar, Example, Mechanism, Source, Target, register
from privet.mechanisms.base.records import as_records, row_sensitivity
from privet.mechanisms.discrete_laplace import DiscreteLaplace
from privet.mechanisms.gaussian import Gaussian
from privet.privacy import PrivacyLoss, Unit

__all__ = ["Count"]


@final
@register
@dataclass(frozen=True, kw_only=True)
class Count(Mechanism[Any, int]):
    """The number of records that are true: True, or a number other than 0. What is missing or no number is not true.

    The noise is discrete Laplace, or Gaussian rounded to integers where a delta makes that smaller.

    **Guarantee:** that of the noise, for every list of records. To count all records pass `np.ones(n)`; to protect a
    count made elsewhere take `Geometric`.
    **Sensitivity:** 1 under add/remove and under replace, times `max_rows`.
    **Error:** the exact integer quantile.
    **Reference:** Ghosh, Roughgarden & Sundararajan 2009.

    >>> mechanism = Count.for_budget(epsilon=1.0)
    >>> print(mechanism.error(0.95))
    +-3 (95%)
    >>> type(mechanism.release([True, False, None]).value)
    <class 'int'>
    """

    name = "count"

    noise: DiscreteLaplace | Gaussian = field()
    max_rows: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_rows", whole("max_rows", self.max_rows, 1))
        bound = self.noise.sensitivity
        if bound.value < self.max_rows * bound.unit.group_size:
            raise InvalidParameter("the noise was made for a smaller sensitivity than this count has; use for_budget")

    @classmethod
    def for_budget(
        cls,
        *,
        epsilon: float | None = None,
        delta: float = 0.0,
        rho: float | None = None,
        mu: float | None = None,
        unit: Unit | None = None,
        max_rows: int = 1,
    ) -> "Count":
        """The least noise that stays within the budget."""
        budget: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rho": rho, "mu": mu}
        l1, l2 = (row_sensitivity(Fraction(1), norm=norm, unit=unit, max_rows=max_rows) for norm in ("l1", "l2"))
        found = [cls(noise=DiscreteLaplace.for_budget(**budget, sensitivity=l1), max_rows=max_rows)]
        with suppress(NoGuarantee):  # Gaussian noise needs a delta
            found.append(cls(noise=Gaussian.for_budget(**budget, sensitivity=l2), max_rows=max_rows))
        return min(found, key=lambda mechanism: mechanism.error().radius)

    @property
    def loss(self) -> PrivacyLoss:
        return self.noise.loss

    @property
    def at(self) -> float | None:  # type: ignore[override]
        """That of the noise."""
        return self.noise.at

    def _prepare(self, value: Any) -> int:
        records = as_records(value)
        return int(np.count_nonzero(records)) - int(np.count_nonzero(np.isnan(records)))

    def _draw(self, prepared: int, runs: int, source: Source) -> list[int]:
        noise: Mechanism[Any, Any] = self.noise
        return [_whole(float(noisy)) for noisy in noise._draw(noise._prepare(prepared), runs, source)]

    def error(self, confidence: float = 0.95) -> ErrorBar:
        """The exact quantile of the noise."""
        bar = self.noise.error(confidence)
        return bar if isinstance(self.noise, DiscreteLaplace) else ErrorBar(bar.radius + 0.5, confidence, bar.of)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls.for_budget(epsilon=1.0), [True, False, True], [True, False], Target(1.0))
        private = cls.for_budget(epsilon=0.5, delta=1e-6, unit=Unit("replace"))
        yield Example(private, [1, 0, None], [1, 0, 1], Target(0.5, 1e-6))
        yield Example(cls.for_budget(rho=0.1, max_rows=4), [], [1, 1, 1, 1], Target(rho=0.1))


def _whole(number: float) -> int:
    """Rounding a release to the nearest integer is post-processing."""
    return math.floor(number + 0.5)

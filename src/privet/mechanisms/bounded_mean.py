"""The mean of bounded records."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from privet._numerics import Array
from privet.mechanisms.base import ErrorBar, Example, Norm, Target, register
from privet.mechanisms.base.records import (
    FINE,
    RecordMechanism,
    check_public_count,
    exact_total,
    in_steps,
    public_bounds,
    row_sensitivity,
)
from privet.mechanisms.for_error import for_error
from privet.privacy import Unit

__all__ = ["BoundedMean"]


@final
@register
@dataclass(frozen=True, kw_only=True)
class BoundedMean(RecordMechanism):
    """The mean of records clamped to public bounds, and their number: `{"mean": ..., "count": ...}`.

    With y the record's place between the bounds (0 to 1), the mechanism protects (sum y, sum (1 - y)) as one vector and
    takes mean and count from it. Under replace the number of records `n` is public, and the mean is a noisy sum.

    **Guarantee:** that of the noise: one price for both numbers, whatever the records are and however many there are.
    **Sensitivity:** add/remove: l1 = l2 = 1 for the vector, half the variance of (sum, count). Replace: (highest -
    lowest)/n for the mean. Times `max_rows`.
    **Error:** replace: the exact quantile. Add/remove: the number of records is private, so a bar exists only with a
    release: the quantile of the noise over the *released* count.
    **Reference:** Dwork et al. 2006; Proschan 1965 for the bar.

    >>> mechanism = BoundedMean.for_budget(epsilon=1.0, bounds=(0, 100))
    >>> sorted(mechanism.release([23, 61.5, None, 1e9]).value)
    ['count', 'mean']
    >>> print(BoundedMean.for_budget(epsilon=1.0, bounds=(0, 100), unit=Unit("replace"), n=1000).error(0.95))
    +-0.2996 (95%)
    """

    name = "bounded_mean"

    n: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "n", check_public_count(self.n, self.noise.sensitivity.unit))

    @classmethod
    def for_budget(
        cls,
        *,
        epsilon: float | None = None,
        delta: float = 0.0,
        rho: float | None = None,
        mu: float | None = None,
        bounds: tuple[float, float],
        unit: Unit | None = None,
        n: int | None = None,
        missing: float | None = None,
        max_rows: int = 1,
    ) -> "BoundedMean":
        """The least noise that stays within the budget; `n` is needed under replace, and refused under add/remove."""
        public_bounds(bounds)
        l1, l2 = (row_sensitivity(Fraction(1), norm=norm, unit=unit, max_rows=max_rows) for norm in ("l1", "l2"))
        noise = for_error(epsilon=epsilon, delta=delta, rho=rho, mu=mu, l1=l1, l2=l2)
        return cls(bounds=bounds, noise=noise, missing=missing, max_rows=max_rows, n=n)

    def _moves(self, norm: Norm, unit: Unit) -> Fraction:
        return Fraction(1)

    @property
    def _exponent(self) -> int:
        return -FINE

    def _totals(self, clean: Array) -> list[int]:
        total = exact_total(in_steps(clean, self.bounds))
        if self.n is None:
            return [total, (len(clean) << FINE) - total]
        self._check_length(len(clean), self.n)
        return [total]

    def _finish(self, noisy: Sequence[Fraction]) -> dict[str, float]:
        number = sum(noisy) if self.n is None else Fraction(self.n)
        place = float(noisy[0] / number) if number > 0 else 0.5
        low, high = self.bounds
        return {"mean": min(max(low + place * self.width, low), high), "count": float(number)}

    def error(self, confidence: float = 0.95) -> ErrorBar | None:
        """Replace: the exact quantile of the noise on the mean. Add/remove: None, since n is private."""
        return None if self.n is None else self._bar(float(self.n), confidence)

    def _error_given(self, drawn: dict[str, float], prepared: Any) -> ErrorBar:
        return self._bar(drawn["count"], 0.95)

    def _bar(self, number: float, confidence: float) -> ErrorBar:
        """|place - true place| = |(1 - m) Z - m Z'|/number with 0 <= m <= 1, no wider than Z/number (proof note)."""
        noise = self.noise.error(confidence)
        share = noise.radius + self.noise.step
        radius = self.width * min(1.0, share / number) if number > 0.0 else self.width
        expected = None if self.n is None or noise.expected is None else self.width * noise.expected / number
        return ErrorBar(radius + self.width * 2.0**-FINE, confidence, "mean", expected)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls.for_budget(epsilon=1.0, bounds=(0, 10)), [10.0, 1.0, 2.0], [1.0, 2.0], Target(1.0))
        ages = cls.for_budget(epsilon=1.0, delta=1e-5, bounds=(0, 110), unit=Unit("replace"), n=3)
        yield Example(ages, [30, 41, 110], [30, 41, 0], Target(1.0, 1e-5))
        yield Example(cls.for_budget(mu=0.5, bounds=(-1, 1)), [], [1.0], Target(mu=0.5))

"""The mean of bounded records."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Unpack, final

from privet._numerics import Array
from privet.mechanisms.error_bar import ErrorBar
from privet.mechanisms.families.record_totals import FINE, UNIT_GRID, exact_total, in_steps
from privet.mechanisms.families.record_values import Missing, public_bounds
from privet.mechanisms.families.records import RecordMechanism, sensitivities
from privet.mechanisms.form import Form, Numbers, Record
from privet.mechanisms.least_noise import least_noise
from privet.mechanisms.mechanism import Example, register
from privet.mechanisms.sensitivity import Norm
from privet.noise import Grid
from privet.privacy import Guarantee, Promise, Unit

_ROUNDS = 3  # further ones no longer move the ends noticeably; each by itself is right


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
    release: the quantile of the noise at the *released* place, over the *released* count.
    **Reference:** Dwork et al. 2006; Proschan 1965 for the bar.

    >>> mechanism = BoundedMean.for_budget(epsilon=1.0, bounds=(0, 100))
    >>> sorted(mechanism.release([23, 61.5, None, 1e9]).value)
    ['count', 'mean']
    >>> print(BoundedMean.for_budget(epsilon=1.0, bounds=(0, 100), unit=Unit("replace"), n=1000).error(0.95))
    +-0.2996 (95%)
    """

    name = "bounded_mean"

    n: int | None = None

    @classmethod
    def for_budget(
        cls,
        *,
        bounds: tuple[float, float],
        unit: Unit | None = None,
        n: int | None = None,
        missing: Missing | None = None,
        max_rows: int = 1,
        **promise: Unpack[Promise],
    ) -> "BoundedMean":
        """The least noise that stays within the budget; `n` is needed under replace, and refused under add/remove."""
        public_bounds(bounds)
        l1, l2 = sensitivities(lambda norm, unit: Fraction(1), unit, max_rows)
        noise = least_noise(**promise, l1=l1, l2=l2)  # the bar on the mean is that of one coordinate (proof note)
        return cls(bounds=bounds, noise=noise, missing=missing, max_rows=max_rows, n=n)

    def _moves(self, norm: Norm, unit: Unit) -> Fraction:
        return Fraction(1)

    @property
    def _grid(self) -> Grid:
        return UNIT_GRID

    def _totals(self, clean: Array) -> list[int]:
        total = exact_total(in_steps(clean, self.bounds))
        if self.n is None:
            return [total, (len(clean) << FINE) - total]
        return [total]

    def _finish(self, noisy: Sequence[Fraction]) -> dict[str, float]:
        number = sum(noisy) if self.n is None else Fraction(self.n)
        place = float(noisy[0] / number) if number > 0 else 0.5
        low, high = self.bounds
        return {"mean": min(max(low + place * self.width, low), high), "count": float(number)}

    @property
    def form(self) -> Form:
        return Record(dict.fromkeys(("mean", "count"), Numbers()))

    def error(self, confidence: float = 0.95) -> ErrorBar | None:
        """Replace: the exact quantile of the noise on the mean. Add/remove: None, since n is private."""
        return None if self.n is None else self._bar(float(self.n), confidence)

    def _error_given(self, drawn: dict[str, float], prepared: object) -> ErrorBar:
        return self._bar_at(drawn, 0.95) if self.n is None else self._bar(float(self.n), 0.95)

    def _bar(self, number: float, confidence: float) -> ErrorBar:
        noise = self.noise.error(confidence)
        radius = self.width * min(1.0, (noise.radius + self.noise.step) / number)
        expected = None if noise.expected is None else self.width * noise.expected / number
        return ErrorBar(radius + self.width * 2.0**-FINE, confidence, "mean", expected)

    def _bar_at(self, drawn: dict[str, float], confidence: float) -> ErrorBar:
        """|place - m| = |(1 - m) Z - m Z'|/count for the true place m: every m that this does not contradict is within
        the bar. The sum spreads more the further m is from the middle (proof note)."""
        number, radius = drawn["count"], 1.0
        place = min(max((drawn["mean"] - self.bounds[0]) / self.width, 0.0), 1.0)
        for _ in range(_ROUNDS if number > 0.0 else 0):  # each round knows better where m can be
            aside = min(max(abs(place - 0.5) + radius, 0.0), 0.5)
            spread = self.noise._combined_quantile((0.5 + aside, 0.5 - aside), 1.0 - confidence)
            radius = min(radius, (spread + 2.0 * self.noise.step) / number)
        return ErrorBar(self.width * (radius + 2.0**-FINE), confidence, "mean")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls.for_budget(epsilon=1.0, bounds=(0, 10)), [10.0, 1.0, 2.0], [1.0, 2.0], Guarantee(1.0))
        ages = cls.for_budget(epsilon=1.0, delta=1e-5, bounds=(0, 110), unit=Unit("replace"), n=3)
        yield Example(ages, [30, 41, 110], [30, 41, 0], Guarantee(1.0, 1e-5))
        yield Example(cls.for_budget(mu=0.5, bounds=(-1, 1)), [], [1.0], Guarantee(mu=0.5))

"""The variance of bounded records."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Unpack, final

import numpy as np

from privet._numerics import Array
from privet.mechanisms.error_bar import ErrorBar
from privet.mechanisms.families.record_totals import FINE, UNIT_GRID, exact_total
from privet.mechanisms.families.record_values import Missing, public_bounds
from privet.mechanisms.families.records import RecordMechanism, sensitivities
from privet.mechanisms.form import Form, Numbers, Record
from privet.mechanisms.gaussian import Gaussian
from privet.mechanisms.laplace import Laplace
from privet.mechanisms.least_noise import least_noise
from privet.mechanisms.mechanism import Example, register
from privet.mechanisms.sensitivity import Norm, Sensitivity
from privet.noise import Grid
from privet.privacy import Guarantee, Promise, Unit

_HALF_FINE = 30  # squares of a record's place have 60 bits
# Standard deviation of the variance (in units of the squared half width, times n) for unit noise on each total, when
# records are spread evenly: of the three sums sum a c_i, and of the moments.
_EVEN_SUMS, _EVEN_MOMENTS = math.sqrt(2 * (2 / 3) ** 2 + (4 / 3) ** 2), math.sqrt(1.0 + (1 / 6) ** 2)
_CONFIDENCE, _TAIL_OF_MEAN = 0.95, 0.005  # of the tail, this much is for the square of the mean's own error
_ROUNDS, _MARGIN = 3, 1e-9
_SLACK = Fraction(2, 2**FINE)  # two records, each with its square rounded by less than a step


@final
@register
@dataclass(frozen=True, kw_only=True)
class BoundedVariance(RecordMechanism):
    """Variance (divided by n), mean and number of records: `{"variance": ..., "mean": ..., "count": ...}`.

    One noisy vector is behind the three numbers. With Laplace noise under add/remove it is the three sums of (1-y)^2,
    2y(1-y) and y^2, y the record's place between the bounds (0 to 1): none is negative and together they add up to 1, so a
    record moves them by 1 in all. Otherwise it is (sum z, sum (z^2 - 1/2), count) with z = 2y - 1; under replace the number
    of records `n` is public and the count is left out.

    **Guarantee:** that of the noise: one price for all three numbers, whatever the records are.
    **Sensitivity:** add/remove: l1 = 1 for the three sums; l2 = 1.5. Replace: l1 = 2.25, l2 = 2 (and 2^-39 for rounding).
    Times `max_rows`.
    **Error:** a bar on the variance comes with every release, from the released mean, variance and count.
    **Reference:** proof note; Dwork et al. 2006 for the noise.

    >>> mechanism = BoundedVariance.for_budget(epsilon=1.0, bounds=(0, 100))
    >>> sorted(mechanism.release([23, 61.5, None, 1e9]).value)
    ['count', 'mean', 'variance']
    """

    name = "bounded_variance"

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
    ) -> "BoundedVariance":
        """The least noise that stays within the budget; `n` is needed under replace, and refused under add/remove."""
        public_bounds(bounds)
        l1, l2 = sensitivities(_shift, unit, max_rows)
        noise = cls._best_noise(promise, l1, l2) if n is None else least_noise(**promise, l1=l1, l2=l2, dimension=2)
        return cls(bounds=bounds, noise=noise, missing=missing, max_rows=max_rows, n=n)

    def _moves(self, norm: Norm, unit: Unit) -> Fraction:
        return _shift(norm, unit)

    @classmethod
    def _best_noise(cls, promise: Promise, l1: Sensitivity, l2: Sensitivity) -> Laplace | Gaussian:
        """By the spread of the variance itself, at records that are spread evenly: the two vectors count differently."""

        def spread(noise: Any) -> float:
            return (_EVEN_MOMENTS if isinstance(noise, Gaussian) else _EVEN_SUMS) * float(noise.standard_deviation)

        return least_noise(l1=l1, l2=l2, by=spread, **promise)

    @property
    def _three_sums(self) -> bool:
        return self.n is None and self.noise.sensitivity.norm == "l1"

    @property
    def _grid(self) -> Grid:
        return Grid(-2 * _HALF_FINE if self._three_sums else -FINE - 1)  # halves of a step, for z^2 - 1/2

    def _totals(self, clean: Array) -> list[int]:
        if self._three_sums:
            low, high = self.bounds
            y = Grid(-_HALF_FINE).nearest(np.clip((clean - low) / (high - low), 0.0, 1.0))
            rest = 2**_HALF_FINE - y
            return [_wide_total(rest * rest), _wide_total(2 * y * rest), _wide_total(y * y)]
        half = self.width / 2.0
        z = UNIT_GRID.nearest(np.clip((clean - (self.bounds[0] + half)) / half, -1.0, 1.0))
        square = np.clip(UNIT_GRID.nearest(UNIT_GRID.from_grid(z) ** 2), 0, 2**FINE)
        moments = [exact_total(2 * z), exact_total(2 * square - 2**FINE)]
        if self.n is None:
            return [*moments, len(clean) << (FINE + 1)]
        return moments

    def _finish(self, noisy: Sequence[Fraction]) -> dict[str, float]:
        """Clamped to what can be: -1 <= E[z] <= 1, E[z]^2 <= E[z^2] <= 1."""
        if self._three_sums:
            outer, middle, inner = noisy
            number = outer + middle + inner
            first, second = inner - outer, (outer - middle + inner) - number / 2
        else:
            first, second = noisy[:2]
            number = noisy[2] if self.n is None else Fraction(self.n)
        mean, square = (float(total / number) if number > 0 else 0.0 for total in (first, second))
        z = min(max(mean, -1.0), 1.0)
        spread = min(max(min(max(square + 0.5, 0.0), 1.0) - z * z, 0.0), 1.0)
        half = self.width / 2.0
        low, high = self.bounds
        return {
            "variance": spread * half * half,
            "mean": min(max(low + half + z * half, low), high),
            "count": float(number),
        }

    @property
    def form(self) -> Form:
        return Record(dict.fromkeys(("variance", "mean", "count"), Numbers()))

    def error(self, confidence: float = 0.95) -> ErrorBar | None:
        """None: the bar depends on the mean (and under add/remove on the count), which are private until released."""
        return None

    def _error_given(self, drawn: dict[str, float], prepared: object) -> ErrorBar:
        """With m and v the true mean and variance in z: released v - v = L/count - (released m - m)^2, where L is a sum of
        the noises whose weights m and v decide. Every (m, v) that this does not contradict is within the bar; each round
        knows better where they can be. See the proof note."""
        number, half = drawn["count"], self.width / 2.0
        centre = min(abs(drawn["mean"] - self.bounds[0] - half) / half, 1.0)
        released = drawn["variance"] / (half * half)
        off = radius = 1.0
        for _ in range(_ROUNDS if number > 0.0 else 0):
            of_mean, of_variance = self._weights(
                (max(0.0, centre - off), min(1.0, centre + off)),
                (max(0.0, released - radius), min(1.0, released + radius)),
            )
            off = min(off, self._reach(of_mean, _TAIL_OF_MEAN) / number)
            moved = self._reach(of_variance, 1.0 - _CONFIDENCE - _TAIL_OF_MEAN) / number + off * off
            if (
                released >= 1.0 - centre * centre - _MARGIN or centre >= 1.0 - _MARGIN
            ):  # it may have been clamped to an end
                moved = max(moved, off * (2.0 * centre + off))
            radius = min(radius, moved)
        fine = 8.0 * 2.0 ** -(_HALF_FINE if self._three_sums else FINE)
        return ErrorBar(min(1.0, radius + fine) * half * half, _CONFIDENCE, "variance")

    def _weights(self, mean: tuple[float, float], variance: tuple[float, float]) -> tuple[list[float], list[float]]:
        """The largest weights of each noise, in the mean and in the variance, for |mean| and variance within these."""
        (near, far), (least, most) = mean, variance
        if self._three_sums:
            inner = max((1.0 - near) ** 2 - least, most - (1.0 - far) ** 2)
            of_variance = [(1.0 + far) ** 2 - least, 1.0 - near * near + most, inner]
            return [1.0 + far, far, 1.0 - near], of_variance
        if self.n is not None:
            return [1.0], [1.0, 2.0 * far]
        return [1.0, far], [1.0, 2.0 * far, max(0.5 - least + far * far, most - 0.5 - near * near)]

    def _reach(self, weights: list[float], tail: float) -> float:
        """The range of the weighted sum of the noises, and the rounding of each to its grid."""
        return self.noise._combined_quantile(weights, tail) + self.noise.step * sum(weights)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls.for_budget(epsilon=1.0, bounds=(0, 10)), [10.0, 1.0, 2.0], [1.0, 2.0], Guarantee(1.0))
        ages = cls.for_budget(epsilon=1.0, delta=1e-5, bounds=(0, 110), unit=Unit("replace"), n=3)
        yield Example(ages, [30, 41, 110], [30, 41, 0], Guarantee(1.0, 1e-5))
        yield Example(cls.for_budget(rho=0.1, bounds=(-1, 1)), [], [1.0], Guarantee(rho=0.1))


def _shift(norm: Norm, unit: Unit) -> Fraction:
    """The distance by which one record moves the vector behind the three numbers."""
    if unit.relation == "replace":
        return Fraction(9 if norm == "l1" else 8, 4) + _SLACK
    return Fraction(1) if norm == "l1" else Fraction(3, 2)


def _wide_total(squares: Array) -> int:
    """The exact sum of integers of up to 61 bits: their halves are added apart."""
    return (exact_total(squares >> 30) << 30) + exact_total(squares & (2**30 - 1))

"""The staircase mechanism."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet import noise
from privet._numerics import LARGEST_EXPONENT, ROOMY_EXPONENT, Array, bisect, bracket, up
from privet._validate import fraction, set_frozen
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms.families.additive import AdditiveMechanism
from privet.mechanisms.families.columns import dimensions, is_number, is_typed
from privet.mechanisms.mechanism import Example, Source, register
from privet.mechanisms.target import pure_noise
from privet.privacy import Guarantee, StaircaseLoss, Unit


@final
@register
@dataclass(frozen=True, kw_only=True)
class Staircase(AdditiveMechanism):
    """Noise for one real number whose density falls in steps as wide as the sensitivity; the least
    expected |error| at a pure epsilon.

    At epsilon 2 its expected error is .85 of that of `Laplace`, at epsilon 5 it is .41, for small epsilon they tie. One
    number only: in several coordinates every one of them would cost the whole epsilon, however little it moves.

    `scale` is sensitivity/epsilon, `gamma` the share of a step before the density falls (`shape` of `StaircaseLoss`).

    **Guarantee:** pure epsilon = sensitivity/scale, for every gamma; the whole curve is `StaircaseLoss`.
    **Sensitivity:** of the exact number (l1).
    **Error:** the exact quantile of the noise; E|error| = sensitivity exp(epsilon/2)/(exp(epsilon) - 1) at the best gamma.
    **Reference:** Geng, Kairouz, Oh & Viswanath 2015; proof note mechanisms/staircase.

    >>> mechanism = Staircase.for_budget(epsilon=2.0, sensitivity=1.0)
    >>> round(mechanism.gamma, 6), round(mechanism.error().expected, 6)
    (0.268941, 0.425459)
    >>> mechanism.loss.pure()
    2.0
    """

    name = "staircase"

    gamma: float = field()

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, gamma=fraction("gamma", self.gamma))
        if max(1 / self._epsilon, self._steps * max(self._epsilon, Fraction(1))) > noise.LARGEST_SCALE:
            raise InvalidParameter(
                f"staircase noise cannot be drawn for this scale (an epsilon of {float(self._epsilon):g}): take Laplace"
            )

    @classmethod
    def _fields_for(cls, target: Guarantee, sensitivity: Fraction) -> dict[str, Any]:
        """The largest epsilon within the budget, and the gamma with the least expected error."""
        scale = pure_noise(lambda ratio: StaircaseLoss(up(1 / Fraction(ratio))), target, sensitivity)
        gamma = 1.0 / (1.0 + math.exp(min(float(sensitivity) / scale / 2.0, ROOMY_EXPONENT)))
        return {"scale": scale, "gamma": gamma}

    @property
    def loss(self) -> StaircaseLoss:
        return StaircaseLoss(up(self._epsilon), self.gamma, unit=self.sensitivity.unit)

    @property
    def _epsilon(self) -> Fraction:
        return self.sensitivity.value / Fraction(self.scale)

    @property
    def standard_deviation(self) -> float:
        """Sensitivity times the root of E[(G + V)^2]: G geometric, V the place within a step, independent."""
        b, inner = self._decay_and_inner()
        g1, g2 = b / (1.0 - b), b * (1.0 + b) / (1.0 - b) ** 2
        c = self.gamma
        v1 = inner * c / 2.0 + (1.0 - inner) * (1.0 + c) / 2.0
        v2 = inner * c * c / 3.0 + (1.0 - inner) * (1.0 + c + c * c) / 3.0
        return float(self.sensitivity) * math.sqrt(g2 + 2.0 * g1 * v1 + v2)

    def _decay_and_inner(self) -> tuple[float, float]:
        """exp(-epsilon), and how likely the noise lies in the first part of its step."""
        b = math.exp(-min(float(self._epsilon), LARGEST_EXPONENT))
        return b, self.gamma / (self.gamma + (1.0 - self.gamma) * b)

    def _admit(self, value: object) -> None:
        super()._admit(value)
        if not is_number(value) and (not is_typed(value) or dimensions(value) != 0):
            raise InvalidData(
                "staircase noise protects one number, not an array: take Laplace, or one release for each"
            )

    def _noisy(self, center: Array | Fraction, scale: Fraction, source: Source, *, size: int | None = None) -> Any:
        width = scale * self._epsilon  # of a step, in the same units as `scale`
        gamma = Fraction(self.gamma)
        return noise.rounded_staircase(
            scale=1 / self._epsilon, gamma=gamma, width=width, center=center, size=size, source=source
        )

    def _tail(self, x: Array | float) -> Array:
        """Pr[|noise| > x] for x >= 0."""
        b, inner = self._decay_and_inner()
        place = np.asarray(x, dtype=float) / float(self.sensitivity)
        whole = np.floor(place)
        part, c = place - whole, self.gamma
        first = inner * (1.0 - part / c) if c > 0.0 else np.zeros_like(part)
        last = (1.0 - inner) * (1.0 - part) / (1.0 - c) if c < 1.0 else np.zeros_like(part)
        rest = np.where(part < c, first + (1.0 - inner), last)
        return b**whole * (rest * (1.0 - b) + b)

    def _noise_cdf(self, x: Array) -> Array:
        half = self._tail(np.abs(x)) / 2.0
        return np.where(x < 0.0, half, 1.0 - half)

    def _quantile(self, tail: float) -> float:
        """Bisection on the exact tail, which falls."""

        def rare(x: float) -> bool:
            return float(self._tail(x)) <= tail

        return bisect(rare, *bracket(rare, float(self.sensitivity)), within=1e-15)

    def _expected(self, dimension: int) -> float:
        b, inner = self._decay_and_inner()
        place = inner * self.gamma / 2.0 + (1.0 - inner) * (1.0 + self.gamma) / 2.0
        return float(self.sensitivity) * (b / (1.0 - b) + place)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls.for_budget(epsilon=2.0, sensitivity=1.0), 0.0, 1.0, Guarantee(2.0))
        yield Example(cls.for_budget(epsilon=0.5, sensitivity=3.0, unit=Unit("replace")), -1.5, 1.5, Guarantee(0.5))
        yield Example(cls.for_budget(rho=2.0, sensitivity=0.5), 0.0, 0.5, Guarantee(rho=2.0))

"""The Gaussian mechanism."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet import noise
from privet._calls import door
from privet._numerics import Array, ndtr, ndtri
from privet.errors import InvalidParameter, NoGuarantee
from privet.mechanisms.families.additive import AdditiveMechanism
from privet.mechanisms.mechanism import Example, Source, register
from privet.mechanisms.sensitivity import Sensitivity, as_sensitivity
from privet.mechanisms.target import ratio_down, scale_for
from privet.privacy import GaussianLoss, Guarantee, Unit, analytic_noise_multiplier


@final
@register
@dataclass(frozen=True, kw_only=True)
class Gaussian(AdditiveMechanism):
    """Normal noise of standard deviation `scale` (also called `sigma`) in every coordinate, rounded to a grid far
    finer than the noise.

    **Guarantee:** that of the continuous Gaussian, exactly and in every dimension, since rounding is post-processing:
    mu-GDP with mu = sensitivity/sigma; delta(e) = Phi(mu/2 - e/mu) - e^e Phi(-mu/2 - e/mu).
    **Sensitivity:** l2, of the exact vector.
    **Error:** all K coordinates within the exact normal quantile; at most sigma sqrt(2 ln(K/beta)).
    **Reference:** Balle & Wang 2018; Dong, Roth & Su 2022.

    >>> mechanism = Gaussian.for_budget(epsilon=1.0, delta=1e-5, sensitivity=1.0)
    >>> round(mechanism.sigma, 8)
    3.73063163
    >>> print(mechanism.error(0.95))
    +-7.312 (95%)
    """

    name = "gaussian"
    _norm = "l2"

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise, in the units of the data."""
        return self.scale

    @classmethod
    def _fields_for(cls, target: Guarantee, sensitivity: Fraction) -> dict[str, Any]:
        """By the exact privacy curve (analytic Gaussian)."""
        return {"scale": scale_for(_multiplier(target), sensitivity)}

    @classmethod
    @door
    def classic(
        cls, *, epsilon: float, delta: float, sensitivity: float | Fraction | Sensitivity, unit: Unit | None = None
    ) -> "Gaussian":
        """The textbook's sigma = sensitivity sqrt(2 ln(1.25/delta))/epsilon, for comparison: 1.2 to 2.2 times too large.

        It is proved for epsilon < 1 only and wrong from about 8: larger ones are refused.

        >>> round(Gaussian.classic(epsilon=0.5, delta=1e-5, sensitivity=1.0).sigma, 10)
        9.6896105252
        """
        target = Guarantee(epsilon, delta)
        if target.epsilon is None or target.epsilon >= 1.0 or target.delta == 0.0:
            raise InvalidParameter(
                "the classic formula is proved for 0 < epsilon < 1 and 0 < delta < 1 only; Gaussian.for_budget has no "
                "such limit and needs less noise"
            )
        bound = as_sensitivity(sensitivity, norm="l2", unit=unit)
        return cls(
            scale=scale_for(math.sqrt(2.0 * math.log(1.25 / target.delta)) / target.epsilon, bound.value),
            sensitivity=bound,
            at=target.delta,
        )

    @property
    def loss(self) -> GaussianLoss:
        return GaussianLoss(ratio_down(self.scale, self.sensitivity.value), unit=self.sensitivity.unit)

    @property
    def standard_deviation(self) -> float:
        return self.scale

    def _noisy(self, center: Array | Fraction, scale: Fraction, source: Source, *, size: int | None = None) -> Any:
        return noise.rounded_gaussian(sigma=scale, center=center, size=size, source=source)

    def _noise_cdf(self, x: Array) -> Array:
        return ndtr(x / self.scale)

    def _quantile(self, tail: float) -> float:
        return -self.scale * ndtri(tail / 2.0)

    def _combined_quantile(self, weights: Sequence[float], tail: float) -> float:
        return math.hypot(*weights) * self._quantile(tail)

    def _expected(self, dimension: int) -> float:
        return dimension * self.scale * math.sqrt(2.0 / math.pi)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls.for_budget(epsilon=1.0, delta=1e-5, sensitivity=1.0), 0.0, 1.0, Guarantee(1.0, 1e-5))
        yield Example(cls.for_budget(rho=0.5, sensitivity=2.0, unit=Unit("replace")), -1.0, 1.0, Guarantee(rho=0.5))
        yield Example(cls.for_budget(mu=0.5, sensitivity=1.0), np.zeros(4), np.full(4, 0.5), Guarantee(mu=0.5))


def _multiplier(target: Guarantee) -> float:
    """The smallest noise multiplier for the target, rounded up by less than 1e-12."""
    if target.mu is not None:
        return (1.0 + 2.0**-50) / target.mu  # the price is rounded up as well
    if target.rho is not None:
        return (1.0 + 2.0**-50) * math.sqrt(0.5 / target.rho)
    assert target.epsilon is not None
    if target.delta == 0.0:
        raise NoGuarantee("Gaussian noise has no pure guarantee: give a delta > 0, or take Laplace")
    return analytic_noise_multiplier(target.epsilon, target.delta)

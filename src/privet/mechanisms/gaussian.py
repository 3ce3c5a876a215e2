"""The Gaussian mechanism."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet import noise
from privet._numerics import TINY, Array, ndtr, ndtri
from privet.errors import InvalidParameter, NoGuarantee
from privet.mechanisms.families.additive import AdditiveMechanism
from privet.mechanisms.mechanism import Example, Source, register
from privet.mechanisms.sensitivity import Sensitivity, as_sensitivity
from privet.mechanisms.target import ratio_down, scale_for
from privet.privacy import GaussianLoss, Guarantee, Unit


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


def analytic_noise_multiplier(epsilon: float, delta: float) -> float:
    """sigma/sensitivity at which the exact curve passes through (epsilon, delta), on the safe side by at most 1e-12 (1e-10
    for an epsilon below 0.01).

    In logs, so that delta = 1e-300 works: ln delta = ln Phi(x) + ln(1 - exp(gap)) with x = mu/2 - epsilon/mu,
    y = -mu/2 - epsilon/mu and gap = epsilon + ln Phi(y) - ln Phi(x).

    >>> round(analytic_noise_multiplier(1.0, 1e-6), 10)
    4.2246788893
    """
    goal = math.log(delta)
    low, high = 0.0, 0.0  # ln of the multiplier: too little noise, enough noise
    while _log_delta(high, epsilon) > goal:
        low, high = high, high + 1.0
    while low == high or _log_delta(low, epsilon) <= goal:
        low, high = low - 1.0, low
    from scipy.optimize import brentq

    root = brentq(lambda s: _log_delta(s, epsilon) - goal, low, high, xtol=1e-14, rtol=1e-14)
    step = 1e-13
    while _log_delta(root + step, epsilon) + _rounding(root + step, epsilon) > goal:
        step *= 2.0
    return math.exp(root + step)


def _log_delta(log_multiplier: float, epsilon: float) -> float:
    from scipy.special import log_ndtr

    mu = math.exp(-log_multiplier)
    gap = _gap(mu, epsilon)
    return float(log_ndtr(mu / 2.0 - epsilon / mu)) + math.log(-math.expm1(gap)) if gap < 0.0 else -math.inf


def _gap(mu: float, epsilon: float) -> float:
    """epsilon + ln Phi(y) - ln Phi(x). Since exp(epsilon) phi(y) = phi(x), only the slowly moving parts of the tails
    remain: differences of the logarithms themselves lose all digits where these are large and mu is small."""
    from scipy.special import erfcx, log_ndtr

    x, y = mu / 2.0 - epsilon / mu, -mu / 2.0 - epsilon / mu
    if x > 5.0:
        return epsilon + float(log_ndtr(y)) - float(log_ndtr(x))
    return math.log(float(erfcx(-y / math.sqrt(2.0))) / float(erfcx(-x / math.sqrt(2.0))))


def _rounding(log_multiplier: float, epsilon: float) -> float:
    """A generous bound on the rounding error of `_log_delta`."""
    mu = math.exp(-log_multiplier)
    gap, x = _gap(mu, epsilon), mu / 2.0 - epsilon / mu
    return 4e-15 * (4.0 + x * x + (1.0 + max(x, 0.0) * mu) / max(-gap, TINY))

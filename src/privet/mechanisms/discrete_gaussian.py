"""The discrete Gaussian mechanism."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Unpack, final

import numpy as np

from privet import noise
from privet._cache import kept_property
from privet._numerics import Array, ndtr, ndtri, up
from privet._validate import count, set_frozen
from privet.errors import InvalidData, NoGuarantee
from privet.mechanisms.families.integer import IntegerMechanism, integer_scale
from privet.mechanisms.families.values import size_of
from privet.mechanisms.mechanism import Example, Source, register
from privet.mechanisms.sensitivity import Sensitivity, as_sensitivity
from privet.mechanisms.target import smallest_scale
from privet.privacy import DiscreteGaussianLoss, Guarantee, PrivacyLoss, Promise, Unit, ZcdpLoss

_LISTED = 1e4  # up to this sigma the law is summed term by term; the loss lists it up to 1e5
_REACH = 40.0  # standard deviations: beyond, the law has less than 1e-340 of its mass


@final
@register
@dataclass(frozen=True, kw_only=True)
class DiscreteGaussian(IntegerMechanism):
    """Integer noise with Pr[k] proportional to exp(-k^2/(2 sigma^2)) on vectors of `dimension` integers.

    `Gaussian` (rounded noise) is the default for most purposes: the law of discrete Gaussian noise is *not* that of the
    continuous one, and with several coordinates only its zCDP line is known. It is the noise of choice where many small
    noises are summed, and for compatibility.

    **Guarantee:** rho-zCDP with rho = sensitivity^2/(2 sigma^2) in every dimension; for a single integer the exact
    curve, `DiscreteGaussianLoss` (at sigma = sensitivity = 1 delta(1) is 0.1414, against 0.1269 of the continuous law).
    **Sensitivity:** l2, of integer vectors. **Error:** the exact integer quantile; variance at most sigma^2.
    **Reference:** Canonne, Kamath & Steinke 2020.

    >>> mechanism = DiscreteGaussian.for_budget(rho=0.5, sensitivity=2)
    >>> mechanism.sigma, mechanism.loss.zcdp().rho
    (2.0, 0.5)
    >>> DiscreteGaussian.for_budget(rho=0.5, sensitivity=2, dimension=3).loss.kind
    'zcdp'
    """

    name = "discrete_gaussian"

    dimension: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, scale=integer_scale("scale", self.scale))
        set_frozen(self, sensitivity=as_sensitivity(self.sensitivity, norm="l2"))
        set_frozen(self, dimension=count("dimension", self.dimension, 1))

    @property
    def sigma(self) -> float:
        """The parameter of the law; its standard deviation is at most this."""
        return self.scale

    @classmethod
    def for_budget(
        cls,
        *,
        sensitivity: float | Fraction | Sensitivity,
        unit: Unit | None = None,
        dimension: int = 1,
        **promise: Unpack[Promise],
    ) -> "DiscreteGaussian":
        """The smallest sigma that stays within the budget."""
        target = Guarantee(**promise)
        if target.mu is not None or (target.epsilon is not None and target.delta == 0.0):
            raise NoGuarantee(
                "discrete Gaussian noise has neither a pure nor a GDP guarantee: give rho, or epsilon with a delta > 0; "
                "Gaussian has GDP, DiscreteLaplace is pure"
            )
        bound = as_sensitivity(sensitivity, norm="l2", unit=unit)
        places = count("dimension", dimension, 1)
        start = max(1.0, float(bound))
        sigma = smallest_scale(lambda s: _price(s, bound, places), target, start=start)
        return cls(scale=sigma, sensitivity=bound, dimension=places)._charged_at(target)

    @property
    def loss(self) -> PrivacyLoss:
        return _price(self.scale, self.sensitivity, self.dimension)

    def _admit(self, value: object) -> None:
        super()._admit(value)
        self._check_size(value)

    def _prepare(self, value: object) -> int | Array:
        prepared = super()._prepare(value)
        self._check_size(prepared)  # what has no length, an iterator, has one now
        return prepared

    def _check_size(self, value: object) -> None:
        size = size_of(value)
        if size is not None and size != self.dimension:
            raise InvalidData(
                f"this mechanism was priced for {self.dimension} coordinate(s); state the public dimension= of the value"
            )

    @kept_property
    def _law(self) -> "DiscreteGaussianLaw":
        return DiscreteGaussianLaw(self.scale)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls.for_budget(epsilon=1.0, delta=1e-5, sensitivity=1), 0, 1, Guarantee(1.0, 1e-5))
        yield Example(cls.for_budget(rho=0.5, sensitivity=2, unit=Unit("replace")), 7, 5, Guarantee(rho=0.5))
        corners = np.array([3, 0, 1, 2]), np.array([4, 1, 0, 3])
        several = cls.for_budget(epsilon=1.0, delta=1e-5, sensitivity=2, dimension=4)
        yield Example(several, *corners, Guarantee(1.0, 1e-5))


def _price(sigma: float, sensitivity: Sensitivity, dimension: int) -> PrivacyLoss:
    """A single integer moves by a whole number and has its own curve; several coordinates have the zCDP line alone."""
    if dimension == 1:
        return DiscreteGaussianLoss(sigma, max(1, math.floor(sensitivity.value)), unit=sensitivity.unit)
    return ZcdpLoss(up(sensitivity.value**2 / (2 * Fraction(sigma) ** 2)), unit=sensitivity.unit)


@final
@dataclass(frozen=True)
class DiscreteGaussianLaw:
    """The law with Pr[k] proportional to exp(-k^2/(2 sigma^2)).

    >>> round(DiscreteGaussianLaw(2.0).expected, 4), DiscreteGaussianLaw(2.0).quantile(0.05)
    (1.5621, 4.0)
    """

    sigma: float

    @kept_property
    def _masses(self) -> Array:
        """Pr[k] for k from -reach to reach."""
        reach = math.ceil(_REACH * self.sigma) + 2
        weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / self.sigma) ** 2)
        return weights / weights.sum()

    def draw(self, shape: tuple[int, ...], source: Source) -> Array:
        """Independent integers."""
        return np.asarray(noise.discrete_gaussian(sigma=self.sigma, size=shape, source=source))

    def cdf(self, k: Array) -> Array:
        """Pr[noise <= k]."""
        if self.sigma > _LISTED:
            return ndtr((np.asarray(k) + 0.5) / self.sigma)  # closer than 1e-300 there, by Poisson summation
        reach = len(self._masses) // 2
        return np.cumsum(self._masses)[np.clip(np.asarray(k) + reach, 0, 2 * reach).astype(int)]

    def quantile(self, tail: float) -> float:
        """The least r with Pr[|noise| > r] <= tail, or a bound on it."""
        if self.sigma > _LISTED:  # Pr[|X| > r] <= 2 Pr[N > r], since Pr[X >= r + 1] <= Pr[N >= r]
            return math.ceil(-self.sigma * ndtri(tail / 2.0))
        middle = len(self._masses) // 2
        beyond = 2.0 * np.cumsum(self._masses[::-1])[:middle][::-1]  # beyond[r] = Pr[|X| > r]
        return float(np.argmax(beyond <= tail)) if beyond[-1] <= tail else float(middle)

    @property
    def expected(self) -> float:
        """E|noise|, or a bound on it."""
        if self.sigma > _LISTED:
            return self.sigma
        reach = len(self._masses) // 2
        return float(np.sum(self._masses * np.abs(np.arange(-reach, reach + 1))))

"""The discrete Laplace mechanism."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Unpack, final

import numpy as np

from privet.mechanisms.families.integer import IntegerMechanism
from privet.mechanisms.families.two_sided_geometric import GeometricNoise, smallest_geometric_scale
from privet.mechanisms.mechanism import Example, register
from privet.mechanisms.sensitivity import Sensitivity, as_sensitivity
from privet.privacy import Guarantee, Promise, Unit


@final
@register
@dataclass(frozen=True, kw_only=True)
class DiscreteLaplace(GeometricNoise, IntegerMechanism):
    """Integer noise with Pr[k] proportional to exp(-|k|/scale) on an integer or an array of integers.

    **Guarantee:** pure epsilon = sensitivity/scale; the whole curve is `DiscreteLaplaceLoss`.
    **Sensitivity:** l1, a whole number.
    **Error:** E|error| = 1/sinh(1/scale) a coordinate; the bar is the exact integer quantile.
    **Reference:** Ghosh, Roughgarden & Sundararajan 2009; Canonne, Kamath & Steinke 2020.

    >>> mechanism = DiscreteLaplace.for_budget(epsilon=0.5, sensitivity=1)
    >>> mechanism.scale, mechanism.loss.pure()
    (2.0, 0.5)
    >>> print(mechanism.error(0.95))
    +-6 (95%)
    >>> type(mechanism.release(42).value)
    <class 'int'>
    """

    name = "discrete_laplace"

    @classmethod
    def for_budget(
        cls,
        *,
        sensitivity: int | Fraction | Sensitivity,
        unit: Unit | None = None,
        **promise: Unpack[Promise],
    ) -> "DiscreteLaplace":
        """The smallest scale that stays within the budget."""
        target, bound = Guarantee(**promise), as_sensitivity(sensitivity, norm="l1", unit=unit)
        return cls(scale=smallest_geometric_scale(target, bound), sensitivity=bound)._charged_at(target)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls.for_budget(epsilon=1.0, sensitivity=1), 0, 1, Guarantee(1.0))
        yield Example(cls.for_budget(rho=0.1, sensitivity=2, unit=Unit("replace")), 5, 3, Guarantee(rho=0.1))
        vectors = np.array([4, 0, 9]), np.array([3, 1, 9])
        yield Example(cls.for_budget(epsilon=1.0, delta=1e-3, sensitivity=2), *vectors, Guarantee(1.0, 1e-3))

"""The Laplace mechanism."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet import noise
from privet._numerics import Array
from privet.mechanisms.families.additive import AdditiveMechanism
from privet.mechanisms.families.laplace_scale import LaplaceScale
from privet.mechanisms.mechanism import Example, Source, register
from privet.privacy import Guarantee, Unit

_APART = 1.001  # neighbouring weights of a sum, at least
_STEPS = 5  # of Newton's method: further ones change nothing that is shown, and any stops on the safe side


@final
@register
@dataclass(frozen=True, kw_only=True)
class Laplace(LaplaceScale, AdditiveMechanism):
    """Noise with density exp(-|x|/scale)/(2 scale) in every coordinate, rounded to a grid far finer than the noise.

    **Guarantee:** pure epsilon = sensitivity/scale; the whole curve is `LaplaceLoss`.
    **Sensitivity:** l1, of the exact vector.
    **Error:** E||error||_1 = K scale; all K coordinates within -scale ln(1 - confidence^(1/K)), which is at most
    the textbook's scale ln(K/beta).
    **Reference:** Dwork, McSherry, Nissim & Smith 2006.

    >>> mechanism = Laplace.for_budget(epsilon=0.5, sensitivity=1.0)
    >>> mechanism.scale, mechanism.loss.pure()
    (2.0, 0.5)
    >>> print(mechanism.error(0.95))
    +-5.991 (95%)
    >>> release = mechanism.release([10.0, 20.0, 30.0])
    >>> release.value.shape, release.error.of
    ((3,), 'each of 3 coordinates at once')
    """

    name = "laplace"

    def _noisy(self, center: Array | Fraction, scale: Fraction, source: Source, *, size: int | None = None) -> Any:
        return noise.rounded_laplace(scale=scale, center=center, size=size, source=source)

    def _combined_quantile(self, weights: Sequence[float], tail: float) -> float:
        return self.scale * _sum_quantile(weights, tail)

    def _expected(self, dimension: int) -> float:
        return dimension * self.scale

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls.for_budget(epsilon=1.0, sensitivity=1.0), 0.0, 1.0, Guarantee(1.0))
        yield Example(cls.for_budget(epsilon=0.5, sensitivity=3.0, unit=Unit("replace")), -1.5, 1.5, Guarantee(0.5))
        vectors = np.zeros(3), np.array([0.5, -0.5, 0.0])
        yield Example(cls.for_budget(epsilon=2.0, delta=1e-3, sensitivity=1.0), *vectors, Guarantee(2.0, 1e-3))


def _sum_quantile(weights: Sequence[float], tail: float) -> float:
    """t with Pr[|sum of w_i Z_i| > t] = tail for standard Laplace variables, rounded up by 2 in a thousand at most.

    For different weights that probability is sum_i A_i e^(-t/w_i), A_i = prod_{j != i} w_i^2/(w_i^2 - w_j^2) (partial
    fractions of the characteristic function). Larger weights spread the sum, so weights that are too close are moved
    apart upwards. See the proof note of the bounded mean.
    """
    apart: list[float] = []
    for weight in sorted(abs(weight) for weight in weights):
        apart.append(max(weight, apart[-1] * _APART if apart else 1e-9, 1e-9))
    factors = [math.prod(w * w / (w * w - v * v) for v in apart if v != w) for w in apart]
    t = apart[-1] * max(1.0, math.log(max(1.0, factors[-1]) / tail))
    for _ in range(_STEPS):  # the logarithm of the tail is concave: tangents meet the goal beyond it, never before
        parts = [a * math.exp(-t / w) for a, w in zip(factors, apart, strict=True)]
        over = sum(parts)
        t += over * math.log(over / tail) / sum(part / w for part, w in zip(parts, apart, strict=True))
    return t * (1.0 + 1e-9)  # near weights leave ten digits

"""The K-norm mechanism of the Euclidean ball: a pure guarantee from an l2 sensitivity."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet import noise
from privet._numerics import Array, bisect, bracket, ndtr, special
from privet._validate import count, noise_scale, open_fraction
from privet.mechanisms.error_bar import ErrorBar
from privet.mechanisms.families.additive import AdditiveMechanism
from privet.mechanisms.families.laplace_scale import LaplaceScale
from privet.mechanisms.families.values import Numbers, read_value
from privet.mechanisms.mechanism import Example, Source, register
from privet.noise import Steps
from privet.privacy import Guarantee, Unit

_CELLS = 600  # of the law of the spread, when an error bar is computed
_PIECE = 2**16  # numbers drawn at a time: changes speed and memory only
_LARGEST = 70  # bits of a scale: up to there the grid is fine enough for a vector of any length that fits a memory


@final
@register
@dataclass(frozen=True, kw_only=True)
class Ball(LaplaceScale, AdditiveMechanism):
    """A noise vector of density proportional to exp(-length/scale), its Euclidean length, rounded to a grid far finer
    than the noise. The length has the law Gamma(K, scale), the direction is uniform.

    Where the answers of neighbours are close in l2, as those of clipped gradients, sums of rows or coefficients are, this
    is the noise for a pure guarantee: Laplace would pay for the l1 length, up to sqrt(K) times as much.

    **Guarantee:** pure epsilon = sensitivity/scale; the whole curve is at most `LaplaceLoss`, in every dimension. One
    number attains it; in K dimensions the loss concentrates, which the price does not count on.
    **Sensitivity:** l2, of the exact vector.
    **Error:** every coordinate has standard deviation scale sqrt(K + 1); the bar holds for all K coordinates at once.
    **Reference:** Hardt & Talwar 2010; Chaudhuri, Monteleoni & Sarwate 2011.

    >>> mechanism = Ball.for_budget(epsilon=0.5, sensitivity=1.0)
    >>> mechanism.scale, mechanism.loss.pure()
    (2.0, 0.5)
    >>> release = mechanism.release([10.0, 20.0, 30.0])
    >>> release.value.shape, release.error.of
    ((3,), 'each of 3 coordinates at once')
    """

    name = "ball"
    _norm = "l2"

    def __post_init__(self) -> None:
        super().__post_init__()
        noise_scale("scale", self.scale, _LARGEST, "measure the data in larger units")

    @property
    def standard_deviation(self) -> float:
        """Of the noise on a single number; on each of K coordinates it is scale sqrt(K + 1)."""
        return math.sqrt(2.0) * self.scale

    def _prepare(self, value: object) -> Numbers:
        return read_value(value)  # all coordinates share one noise: none of them can be drawn apart

    def _draw(self, prepared: Numbers, runs: int, source: Source) -> Array:
        if prepared.array is not None:
            steps = Steps.of_array(prepared.array.reshape(-1), self._grid)
        else:
            assert prepared.ratios is not None
            steps = Steps.of_ratios(prepared.ratios, self._grid)
        size = len(steps.whole)
        out = np.empty((runs, size))
        many = max(1, _PIECE // max(1, size))
        for first in range(0, runs if size else 0, many):
            block = out[first : first + many]
            centers = np.broadcast_to(steps.rest, block.shape)
            drawn = noise.ball(scale=self._steps, dimension=size, center=centers, source=source)
            block[:] = self._finished(steps.plus(drawn))
        return out.reshape(runs, *prepared.shape)

    def _noisy(self, center: Array | Fraction, scale: Fraction, source: Source, *, size: int | None = None) -> Any:
        """For single numbers: vectors are drawn as a whole."""
        centers = center[..., None] if isinstance(center, np.ndarray) else center
        return noise.ball(scale=scale, dimension=1, center=centers, size=size, source=source)[..., 0]

    def error(self, confidence: float = 0.95, *, dimension: int = 1) -> ErrorBar:
        """A radius that all coordinates keep at once, by the law of the spread that they share, rounded up.

        **Error:** every coordinate lies within `radius` of its exact value with probability `confidence`.
        """
        k, tail = count("dimension", dimension, 1), 1.0 - open_fraction("confidence", confidence)
        of = "the value" if k == 1 else f"each of {k} coordinates at once"
        radius = self._quantile(tail) if k == 1 else self.scale * _joint_quantile(k, tail)
        return ErrorBar(radius + self.step / 2.0, confidence, of, self._expected(k))

    def _expected(self, dimension: int) -> float:
        k = float(dimension)
        root = math.exp(math.lgamma((k + 2.0) / 2.0) - math.lgamma((k + 1.0) / 2.0)) * math.sqrt(2.0)
        return k * self.scale * root * math.sqrt(2.0 / math.pi)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls.for_budget(epsilon=1.0, sensitivity=1.0), 0.0, 1.0, Guarantee(1.0))
        apart = np.zeros(3), np.array([0.6, 0.0, -0.8])
        yield Example(cls.for_budget(epsilon=2.0, sensitivity=1.0), *apart, Guarantee(2.0))
        moved = cls.for_budget(epsilon=2.5, sensitivity=3.0, unit=Unit("replace"))
        yield Example(moved, np.full((2, 2), -0.75), np.full((2, 2), 0.75), Guarantee(2.5))


def _joint_quantile(k: int, tail: float) -> float:
    """r with Pr[some coordinate beyond r] <= tail, for scale 1: each cell of the law of W counts by its upper end."""
    beyond = np.concatenate([np.linspace(1.0, 2.0 / _CELLS, _CELLS), np.geomspace(1.0 / _CELLS, 1e-5 * tail, _CELLS)])
    masses = beyond - np.append(beyond[1:], 0.0)
    with np.errstate(divide="ignore"):
        upper = special().gammainccinv((k + 1) / 2.0, beyond)  # W lies above it with that probability
    ends = np.append(upper[1:], np.inf)  # nothing is known of the last cell

    def rare(r: float) -> bool:
        with np.errstate(divide="ignore"):
            outside = 2.0 * ndtr(-r / np.sqrt(2.0 * ends))
            return float(masses @ -np.expm1(k * np.log1p(-np.minimum(outside, 1.0)))) <= tail

    return bisect(rare, *bracket(rare, 1.0), within=1e-12) * (1.0 + 1e-9)

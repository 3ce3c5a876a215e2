"""Does a sampler draw from its law? Exact probability functions, and the G-test of samples against one of them."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privet._numerics import Array, ndtr, special
from privet.errors import InvalidData, InvalidParameter

_WIDEST = 64 * 4**8  # integers on each side: eight widenings, then 8 million probabilities


def pmf_geometric(k: object, *, scale: float) -> Array:
    """Pr[X = k] with Pr[X >= m] = exp(-m / scale), m = 0, 1, ...

    >>> round(float(pmf_geometric(0, scale=10.0)), 10)
    0.095162582
    """
    k = np.asarray(k, dtype=float)
    return np.where(k >= 0, -math.expm1(-1.0 / scale) * np.exp(-np.maximum(k, 0.0) / scale), 0.0)


def pmf_discrete_laplace(k: object, *, scale: float) -> Array:
    """Pr[X = k] = tanh(1 / (2 scale)) exp(-|k| / scale).

    >>> round(float(pmf_discrete_laplace(0, scale=1.0)), 14)
    0.46211715726001
    """
    return math.tanh(0.5 / scale) * np.exp(-np.abs(np.asarray(k, dtype=float)) / scale)


def pmf_discrete_gaussian(k: object, *, sigma: float) -> Array:
    """Pr[X = k] proportional to exp(-k^2 / (2 sigma^2)).

    The normaliser is summed directly, or after Poisson's formula where that converges faster.

    >>> round(float(pmf_discrete_gaussian(0, sigma=0.5)), 14)
    0.78657070704195
    """
    j = np.arange(1.0, 40.0)
    if sigma < 1.0:
        total = 1.0 + 2.0 * float(np.exp(-0.5 * (j / sigma) ** 2).sum())
    else:
        total = sigma * math.sqrt(2.0 * math.pi) * (1.0 + 2.0 * float(np.exp(-2.0 * (math.pi * sigma * j) ** 2).sum()))
    return np.exp(-0.5 * (np.asarray(k, dtype=float) / sigma) ** 2) / total


def _rounded(above: Callable[[Array], Array], k: object, scale: float, center: float) -> Array:
    """Mass of [k - 1/2, k + 1/2) about the centre; differences are taken on the side of the smaller tail."""
    low = (np.asarray(k, dtype=float) - 0.5 - center) / scale
    high = (np.asarray(k, dtype=float) + 0.5 - center) / scale
    right = above(low) - above(high)
    left = above(-high) - above(-low)
    return np.where(low + high > 0, right, left)


def pmf_rounded_gaussian(k: object, *, sigma: float, center: float = 0.0) -> Array:
    """Pr[floor(center + N(0, sigma^2) + 1/2) = k].

    >>> round(float(pmf_rounded_gaussian(0, sigma=1.0)), 12)
    0.382924922548
    """
    return _rounded(lambda x: ndtr(-x), k, sigma, center)


def pmf_rounded_laplace(k: object, *, scale: float, center: float = 0.0) -> Array:
    """Pr[floor(center + Laplace(scale) + 1/2) = k].

    >>> round(float(pmf_rounded_laplace(0, scale=1.0)), 12)  # 1 - exp(-1/2)
    0.393469340287
    """
    return _rounded(
        lambda x: np.where(x > 0, 0.5 * np.exp(-np.abs(x)), 1.0 - 0.5 * np.exp(-np.abs(x))), k, scale, center
    )


def pmf_rounded_cauchy(k: object, *, scale: float, center: float = 0.0) -> Array:
    """Pr[floor(center + scale * Cauchy + 1/2) = k].

    >>> round(float(pmf_rounded_cauchy(0, scale=0.5)), 12)
    0.5
    """
    return _rounded(lambda x: np.arctan2(1.0, x) / math.pi, k, scale, center)


def pmf_rounded_staircase(k: object, *, scale: float, gamma: float, width: float, center: float = 0.0) -> Array:
    """Pr[floor(center + S + 1/2) = k] for staircase noise S with steps of this width.

    >>> round(float(pmf_rounded_staircase(0, scale=1.0, gamma=1.0, width=1.0)), 12)  # half of the first step, both sides
    0.316060279414
    """
    b = math.exp(-1.0 / scale)
    total = gamma + (1.0 - gamma) * b

    def above(x: Array) -> Array:
        place = np.abs(x) * scale  # `_rounded` divides by the scale; steps are counted in widths
        whole = np.floor(place)
        part = place - whole
        rest = np.where(part < gamma, gamma - part + (1.0 - gamma) * b, (1.0 - part) * b)
        tail = 0.5 * b**whole * (rest * (1.0 - b) / total + b)
        return np.where(x >= 0.0, tail, 1.0 - tail)

    return _rounded(above, k, scale * width, center)


@dataclass(frozen=True)
class GTest:
    """The likelihood-ratio statistic, its degrees of freedom, and the p-value of the whole test.

    >>> GTest(0.0, 1, 1.0).p_value
    1.0
    """

    statistic: float
    degrees: int
    p_value: float


def g_test(samples: object, pmf: Callable[[Array], Array], *, least: float = 25.0) -> GTest:
    """The G-test of integer samples against a probability function, tails included.

    Neighbouring integers share a cell until it expects `least` samples, so that the statistic is nearly chi-square; the
    smallest and the largest sample are tested by themselves, so that one value which hardly ever happens refutes the
    law. The p-value is three times the smallest of the three.

    >>> from privet import noise
    >>> x = noise.discrete_laplace(scale=3.0, size=100_000, source=noise.Seeded(1))
    >>> g_test(x, lambda k: pmf_discrete_laplace(k, scale=3.0)).p_value > 1e-6
    True
    >>> g_test(x, lambda k: pmf_discrete_laplace(k, scale=2.0)).p_value < 1e-6
    True
    """
    values = np.asarray(samples)
    if values.dtype.kind not in "iu" or values.size < 2 * least:
        raise InvalidData(f"samples must be integers, at least {2 * least:g} of them")
    values = values.ravel().astype(np.int64)
    first, masses = _window(int(np.median(values)), pmf, values.size)
    cuts = _cuts(np.cumsum(masses), least / values.size)
    chances = np.add.reduceat(masses, np.concatenate([[0], cuts]))
    chances[[0, -1]] += 0.5 * (1.0 - chances.sum())  # what lies outside of the window, less than a sample is expected
    observed = np.bincount(np.searchsorted(first + cuts, values, side="right"), minlength=len(chances))
    statistic = 2.0 * float((observed * np.log(np.maximum(observed, 1) / (chances * values.size))).sum())
    degrees = len(chances) - 1
    p_values = [float(special().gammaincc(0.5 * degrees, max(0.5 * statistic, 0.0))) if degrees else 1.0]
    # Pr[some sample is as small (as large)] is at most the number of samples times the tail.
    p_values.append(values.size * _tail(masses, int(values.min()) - first))
    p_values.append(values.size * _tail(masses[::-1], first + len(masses) - 1 - int(values.max())))
    return GTest(statistic, degrees, min(3.0 * min(p_values), 1.0))


def _tail(masses: Array, index: int) -> float:
    """Mass up to an index, and at least the mass that the window misses."""
    return float(masses[: max(index + 1, 0)].sum()) + abs(1.0 - float(masses.sum()))


def check_samples(samples: object, pmf: Callable[[Array], Array], *, alpha: float = 1e-6) -> None:
    """Raise AssertionError when the G-test refutes, at level alpha, that the samples come from the law.

    >>> from privet import noise
    >>> x = noise.geometric(scale=3.0, size=100_000, source=noise.Seeded(1))
    >>> check_samples(x, lambda k: pmf_geometric(k, scale=3.0))
    """
    result = g_test(samples, pmf)
    if not result.p_value >= alpha:
        raise AssertionError(
            f"the samples do not follow the law: G = {result.statistic:.1f} on {result.degrees} degrees of freedom, "
            f"p = {result.p_value:.2e}"
        )


def _window(middle: int, pmf: Callable[[Array], Array], count: int) -> tuple[int, Array]:
    """The first of the integers around the middle that hold all mass but a rounding error, and their probabilities."""
    width = 64
    while True:
        masses = pmf(np.arange(middle - width, middle + width + 1))
        missing = abs(1.0 - float(masses.sum()))
        if missing < 1e-14 or (width == _WIDEST and missing * count < 0.05):
            return middle - width, masses
        if width == _WIDEST:
            raise InvalidParameter("the law is too wide for a G-test of single integers; test at a coarser grain")
        width *= 4


def _cuts(below: Array, least: float) -> Array:
    """Where cells begin: each holds at least `least`, and a fiftieth of the smaller tail, so that tails stay resolved."""
    cuts: list[int] = []
    done = 0.0
    while True:
        wanted = max(least, 0.02 * min(done, below[-1] - done))
        index = int(np.searchsorted(below, done + wanted)) + 1
        if index >= len(below) or below[-1] - below[index - 1] < least:
            return np.array(cuts, dtype=np.int64)
        cuts.append(index)
        done = float(below[index - 1])

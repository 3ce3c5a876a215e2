"""Output laws of the mechanisms from the definitions in the papers, to many digits; nothing here is read from privet."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
from mpmath import mp, mpf

Law = dict[Any, Any]
FAINT = 1e-25  # below, a law found by quadrature has no digits

mp.dps = 40


def hockey(p: Law, q: Law, epsilon: float) -> Any:
    """sum of (p - e^epsilon q)+, the smallest delta of this pair in this direction."""
    factor = mp.e ** mpf(epsilon)
    return mp.fsum(max(mpf(0), mpf(p[x]) - factor * mpf(q.get(x, 0))) for x in p)


def log_ratio(p: Law, q: Law) -> Any:
    return max(mp.log(mpf(p[x]) / mpf(q[x])) for x in p if p[x] > FAINT)


def exponential(scores: Sequence[float], scale: float) -> Law:
    """McSherry & Talwar: proportional to exp(score/scale)."""
    weights = [mp.e ** (mpf(score) / mpf(scale)) for score in scores]
    return {i: weight / mp.fsum(weights) for i, weight in enumerate(weights)}


def permute_and_flip(scores: Sequence[float], scale: float) -> Law:
    """McKenna & Sheldon, algorithm 1: over all orders, the first candidate whose coin falls on heads."""
    best = max(scores)
    heads = [mp.e ** ((mpf(score) - best) / mpf(scale)) for score in scores]
    law = dict.fromkeys(range(len(scores)), mpf(0))
    orders = list(permutations(range(len(scores))))
    for order in orders:
        alive = mpf(1) / len(orders)
        for candidate in order:
            law[candidate] += alive * heads[candidate]
            alive *= 1 - heads[candidate]
    return law


def laplace_cdf(x: Any) -> Any:
    half = np.exp(-np.abs(x)) / 2.0
    return np.where(x < 0.0, half, 1.0 - half)


def against_laplace(function: Callable[[Any], Any], corners: Iterable[float]) -> float:
    """The mean of a function of standard Laplace noise, analytic between corners: Gauss-Legendre on short pieces."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    edges = np.unique(np.concatenate([np.arange(-48.0, 49.0, 2.0), np.fromiter(corners, dtype=float)]))
    half = np.diff(edges)[:, None] / 2.0
    z = edges[:-1, None] + half * (nodes + 1.0)
    return float(np.sum(function(z) * np.exp(-np.abs(z)) / 2.0 * weights * half))


def noisy_max(scores: Sequence[float], scale: float) -> Law:
    """Dwork & Roth, section 3.3: one integral over the winner's noise."""
    law = {}
    for i, mine in enumerate(scores):
        gaps = np.array([(mine - other) / scale for j, other in enumerate(scores) if j != i])
        law[i] = against_laplace(lambda z, gaps=gaps: np.prod([laplace_cdf(z + gap) for gap in gaps], axis=0), -gaps)
    return law


def top_k(scores: Sequence[float], scale: float, k: int) -> Law:
    """The exponential mechanism again and again, without those that were taken."""
    law: Law = {}
    for chosen in permutations(range(len(scores)), k):
        chance = mpf(1)
        for place, candidate in enumerate(chosen):
            left = [i for i in range(len(scores)) if i not in chosen[:place]]
            chance *= exponential([scores[i] for i in left], scale)[left.index(candidate)]
        law[chosen] = chance
    return law


def response(value: int, k: int, truth: Fraction) -> Law:
    return {x: truth if x == value else (1 - truth) / (k - 1) for x in range(k)}


def above_threshold(
    values: Sequence[float], threshold: float, threshold_scale: float, query_scale: float, positives: int
) -> Law:
    """Lyu, Su & Li, algorithm 1: the threshold's noise is drawn once, a stream ends with the last positive answer."""
    corners = [(value - threshold) / threshold_scale for value in values]

    def chance(shown: tuple[int, ...]) -> float:
        def both(z: Any) -> Any:
            total = np.ones_like(z)
            for value, answer in zip(values, shown, strict=True):
                margin = (value - threshold - z * threshold_scale) / query_scale
                if answer >= 0:
                    total = total * laplace_cdf(margin if answer else -margin)
            return total

        return against_laplace(both, corners)

    return {shown: chance(shown) for shown in streams(len(values), positives)}


def streams(length: int, positives: int) -> Iterator[tuple[int, ...]]:
    """Every possible list of answers: 1 above, 0 below, -1 not answered any more."""
    if length == 0 or positives == 0:
        yield (-1,) * length
        return
    yield from ((0, *rest) for rest in streams(length - 1, positives))
    yield from ((1, *rest) for rest in streams(length - 1, positives - 1))


def quantile(records: Sequence[int], points: int, q: Fraction, scale: float) -> Law:
    """The exponential mechanism over 0, ..., points - 1; minus the number of records by which a rank misses q n."""
    n = len(records)
    scores = []
    for o in range(points):
        below, within = sum(x < o for x in records), sum(x <= o for x in records)
        scores.append(-max(Fraction(0), below - q * n, q * n - within))
    weights = [mp.e ** (mpf(s.numerator) / s.denominator / mpf(scale)) for s in scores]
    return {o: weight / mp.fsum(weights) for o, weight in enumerate(weights)}


def discrete_laplace(center: int, scale: float, reach: int) -> Law:
    p = mp.e ** (-1 / mpf(scale))
    return {center + k: (1 - p) / (1 + p) * p ** abs(k) for k in range(-reach, reach + 1)}


def clamped(law: Law, low: int, high: int) -> Law:
    """The law after clamping; what the list cut off belongs to the ends."""
    out = {k: law.get(k, mpf(0)) for k in range(low, high + 1)}
    out[low] += mp.fsum(p for k, p in law.items() if k < low)
    out[high] += mp.fsum(p for k, p in law.items() if k > high)
    return out


def discrete_gaussian(center: int, sigma: float, reach: int) -> Law:
    weights = {k: mp.e ** (-(mpf(k) ** 2) / (2 * mpf(sigma) ** 2)) for k in range(-reach, reach + 1)}
    total = mp.fsum(weights.values())
    return {center + k: weight / total for k, weight in weights.items()}


def neighbours(scores: Sequence[int], monotonic: bool) -> Iterator[tuple[int, ...]]:
    """Every way in which one record of sensitivity 1 can move the scores."""
    steps = [(0, 1), (-1, 0)] if monotonic else [(-1, 0, 1)]
    for moves in steps:
        for change in product(moves, repeat=len(scores)):
            yield tuple(score + move for score, move in zip(scores, change, strict=True))

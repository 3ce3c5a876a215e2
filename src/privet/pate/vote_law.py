"""The exact law of the answer to one query, and how far it is from the laws of neighbouring votes."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, final

import numpy as np

from privet._numerics import Array, special

_Z = np.linspace(-40.0, 40.0, 801)  # the noise of the winner, in deviations: wide enough for gaps of 70 of them
_KEPT = 4_096  # tables of logarithms of normal chances, one for each gap
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(60)  # of a piece that is at most 60 scales long, to 1e-9
_SMALL = 30.0  # below this exponent expm1 is used, so that divergences near 1e-15 are not rounding


class Law(Protocol):
    """Anything that knows the chances of all answers, given the counts of votes."""

    def log_chances(self, counts: Array) -> Array:
        """The logarithms of all chances."""


class VoteLaw(ABC):
    """The chances of each class, given the counts of votes."""

    @abstractmethod
    def losing(self, counts: Array, place: int) -> float:
        """The logarithm of the chance of a class that does not have the most votes."""

    def log_chances(self, counts: Array) -> Array:
        """The logarithms of all chances; that of the winner is what the others leave."""
        top = int(np.argmax(counts))
        kept: dict[int, float] = {}
        made = np.empty(len(counts))
        for place, votes in enumerate(counts.tolist()):
            if place != top:
                made[place] = kept[votes] if votes in kept else kept.setdefault(votes, self.losing(counts, place))
        others = np.exp(np.delete(made, top)).sum()
        made[top] = np.log1p(-min(others, 1.0 - 1e-12))
        return made


@final
@dataclass(frozen=True)
class NormalVotes(VoteLaw):
    """Counts with normal noise.

    >>> bool(abs(np.exp(NormalVotes(4.0).log_chances(np.array([30, 0]))[1]) - 5.682e-8) < 1e-10)
    True
    """

    sigma: float

    def losing(self, counts: Array, place: int) -> float:
        gaps = Counter((counts[place] - counts).tolist())
        gaps[0] -= 1  # the class itself
        below = sum(n * _below(gap, self.sigma) for gap, n in gaps.items() if n)
        return _integral(below - _Z**2 / 2.0 - 0.5 * np.log(2.0 * np.pi), _Z)


@final
@dataclass(frozen=True)
class LaplaceVotes(VoteLaw):
    """Counts with Laplace noise of scale 1/gamma.

    >>> law, gap = LaplaceVotes(0.5), 0.5 * 3
    >>> bool(abs(law.log_chances(np.array([3, 0]))[1] - np.log((2 + gap) / 4 * np.exp(-gap))) < 1e-6)
    True
    """

    gamma: float

    def losing(self, counts: Array, place: int) -> float:
        gaps, many = np.unique(self.gamma * np.delete(counts[place] - counts, place).astype(float), return_counts=True)
        # pieces between the points where a cdf or the density has a kink, each integrated by Gauss and Legendre
        kinks = np.unique(np.concatenate([[0.0], -gaps]))
        ends = np.unique(np.concatenate([[kinks[0] - 60.0], kinks, [kinks[-1] + 60.0]]))
        half = np.diff(ends)[:, None] / 2.0
        z = (ends[:-1, None] + half + half * _NODES).ravel()
        below = sum(n * _log_laplace_cdf(gap + z) for gap, n in zip(gaps, many, strict=True))
        return _log_sum(below - np.abs(z) - np.log(2.0) + np.log(half * _WEIGHTS).ravel())


@final
@dataclass(frozen=True)
class GumbelVotes(VoteLaw):
    """Counts with Gumbel noise: chances in proportion to exp(count/scale).

    >>> GumbelVotes(2.0).log_chances(np.array([2, 0])).round(6).tolist()
    [-0.313262, -1.313262]
    """

    scale: float

    def losing(self, counts: Array, place: int) -> float:
        return float(
            (counts[place] - counts.max()) / self.scale - np.log(np.exp((counts - counts.max()) / self.scale).sum())
        )


@final
@dataclass(frozen=True)
class ConfidentVotes:
    """Silence, or the plurality with noise of deviation sigma2 where the largest count reaches a noisy threshold: as many
    answers as classes, and one more, which comes first.

    >>> ConfidentVotes(0.0, 1.0, 4.0).log_chances(np.array([30, 0])).argmax()
    np.int64(1)
    """

    threshold: float
    sigma1: float
    sigma2: float

    def log_chances(self, counts: Array) -> Array:
        """The logarithms of the chances of silence and of each class."""
        reached = (float(counts.max()) - self.threshold) / self.sigma1
        silent, told = special().log_ndtr(-reached), special().log_ndtr(reached)
        return np.concatenate([[silent], told + NormalVotes(self.sigma2).log_chances(counts)])


@lru_cache(maxsize=_KEPT)
def _below(gap: int, sigma: float) -> Array:
    return np.asarray(special().log_ndtr(gap / sigma + _Z))


def neighbours(counts: Array) -> Iterator[Array]:
    """The counts after one vote has moved, one for each pair of counts that it may move between: classes with equal counts
    stand for each other."""
    seen = set()
    for a, n in enumerate(counts.tolist()):
        for b, m in enumerate(counts.tolist()):
            if a != b and n > 0 and (n, m) not in seen:
                seen.add((n, m))
                moved = counts.copy()
                moved[a] -= 1
                moved[b] += 1
                yield moved


def renyi(log_p: Array, log_q: Array, orders: Array) -> Array:
    """The divergence of one law from another, at each order above 1."""
    ratio = np.outer(orders - 1.0, log_p - log_q)
    near = np.all(ratio < _SMALL, axis=1)
    with np.errstate(over="ignore"):
        small = np.log1p((np.exp(log_p) * np.expm1(np.minimum(ratio, _SMALL))).sum(axis=1))
    total = ratio + log_p
    top = total.max(axis=1)
    large = top + np.log(np.exp(total - top[:, None]).sum(axis=1))
    return np.maximum(np.where(near, small, large) / (orders - 1.0), 0.0)


def exact_renyi(law: Law, counts: Array, orders: Array) -> Array:
    """The largest divergence between the answer's law and that of a neighbour, in either direction, at each order.

    It depends on the votes: a figure for the custodian, not releasable.
    """
    mine = law.log_chances(counts)
    worst = np.zeros(len(orders))
    for other in neighbours(counts):
        theirs = law.log_chances(other)
        worst = np.maximum(worst, np.maximum(renyi(mine, theirs, orders), renyi(theirs, mine, orders)))
    return worst


def _integral(logs: Array, z: Array) -> float:
    return _log_sum(logs) + float(np.log(z[1] - z[0]))  # the ends are far below rounding


def _log_sum(logs: Array) -> float:
    top = float(logs.max())
    return top if not np.isfinite(top) else top + float(np.log(np.exp(logs - top).sum()))


def _log_laplace_cdf(x: Array) -> Array:
    return np.where(x < 0.0, np.minimum(x, 0.0) - np.log(2.0), np.log1p(-0.5 * np.exp(-np.maximum(x, 0.0))))

"""The exact law of the answer to one query, and how far it is from the laws of neighbouring votes."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, final

import numpy as np

from privet._numerics import Array, special

_Z = np.linspace(-40.0, 40.0, 401)  # the noise of the winner, in deviations: wide enough for gaps of 70 of them
_DENSITY = -(_Z**2) / 2.0 - 0.5 * np.log(2.0 * np.pi) + np.log(_Z[1] - _Z[0])  # the ends are far below rounding
_WIDE = 10.0  # deviations, beyond which a density is less than 1e-20 of its top
_KEPT = 4_096  # tables of logarithms of normal chances, one for each gap
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(60)  # of a piece that is at most 60 scales long, to 1e-9
_SMALL = 30.0  # below this exponent expm1 is used, so that divergences near 1e-15 are not rounding


class Law(Protocol):
    """Anything that knows the chances of all answers, given the counts of votes."""

    def log_chances(self, counts: Array) -> Array:
        """The logarithms of all chances."""

    def around(self, counts: Array) -> Array:
        """The same for all neighbours, a row for each."""


class VoteLaw(ABC):
    """The chances of each class, given the counts of votes."""

    @abstractmethod
    def losing(self, counts: Array, place: int) -> float:
        """The logarithm of the chance of a class that does not have the most votes."""

    def log_chances(self, counts: Array) -> Array:
        """The logarithms of all chances; that of the winner is what the others leave."""
        top = int(np.argmax(counts))
        kept: dict[int, float] = {}
        made = np.zeros(len(counts))
        for place, votes in enumerate(counts.tolist()):
            if place != top:
                made[place] = kept[votes] if votes in kept else kept.setdefault(votes, self.losing(counts, place))
        return _with_the_rest(made[None], np.array([top]))[0]

    def around(self, counts: Array) -> Array:
        """The logarithms of all chances at every neighbour, a row for each."""
        return np.array([self.log_chances(other) for other in neighbours(counts)])


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
        return _log_sum(below + _DENSITY)

    def around(self, counts: Array) -> Array:
        """All neighbours at once: one vote changes two factors of most integrands, and a step of one all of the others."""
        many = len(counts)
        gaps = counts[:, None] - counts[None]
        # where integrands are not nothing: they are largest between 0 and the largest gap, and fall as the density does
        here = np.flatnonzero((_Z >= -_WIDE) & (_WIDE + (int(gaps.max()) + 2) / self.sigma >= _Z))
        density = _DENSITY[here]
        # by how much a gap may change: a class that gains or loses, against one that does not, or that does the opposite
        below = {}
        for step in (-2, -1, 0, 1, 2):
            kept, where = np.unique(gaps + step, return_inverse=True)
            table = np.array([_below(int(gap), self.sigma)[here] for gap in kept])[where.reshape(many, many)]
            table[np.arange(many), np.arange(many)] = 0.0  # no class is compared with itself
            below[step] = table
        whole = {step: below[step].sum(axis=1) for step in (-1, 0, 1)}
        lost, won = np.array(_moves(counts), dtype=np.int64).reshape(-1, 2).T
        rows = np.arange(len(lost))
        fewer, more = (
            (below[step] - below[0]).transpose(1, 0, 2) for step in (1, -1)
        )  # of the class that moves, first
        logs = whole[0] + density + fewer[lost] + more[won]
        logs[rows, lost] = whole[-1][lost] - below[-1][lost, won] + below[-2][lost, won] + density
        logs[rows, won] = whole[1][won] - below[1][won, lost] + below[2][won, lost] + density
        moved = np.tile(counts, (len(lost), 1))
        moved[rows, lost] -= 1
        moved[rows, won] += 1
        return _with_the_rest(_log_sums(logs), np.argmax(moved, axis=1))


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
        return self._with_silence(counts.max(), NormalVotes(self.sigma2).log_chances(counts))

    def around(self, counts: Array) -> Array:
        """The same at every neighbour, a row for each."""
        tops = np.array([other.max() for other in neighbours(counts)])
        return self._with_silence(tops, NormalVotes(self.sigma2).around(counts))

    def _with_silence(self, tops: Array, chances: Array) -> Array:
        reached = ((tops - self.threshold) / self.sigma1)[..., None]
        silent, told = special().log_ndtr(-reached), special().log_ndtr(reached)
        return np.concatenate([silent, told + chances], axis=-1)


@lru_cache(maxsize=_KEPT)
def _below(gap: int, sigma: float) -> Array:
    return np.asarray(special().log_ndtr(gap / sigma + _Z))


def _moves(counts: Array) -> list[tuple[int, int]]:
    """From which class to which one a vote may move: classes with equal counts stand for each other."""
    seen: dict[tuple[int, int], tuple[int, int]] = {}
    for a, n in enumerate(counts.tolist()):
        for b, m in enumerate(counts.tolist()):
            if a != b and n > 0:
                seen.setdefault((n, m), (a, b))
    return list(seen.values())


def neighbours(counts: Array) -> Iterator[Array]:
    """The counts after one vote has moved, one for each pair of counts that it may move between."""
    for lost, won in _moves(counts):
        moved = counts.copy()
        moved[lost] -= 1
        moved[won] += 1
        yield moved


def renyi(log_p: Array, log_q: Array, orders: Array) -> Array:
    """The divergence of one law from another, at each order above 1: of many pairs at once, where they are rows."""
    ratio = (orders - 1.0)[:, None] * (log_p - log_q)[..., None, :]
    near = ratio.max(axis=-1) < _SMALL
    with np.errstate(over="ignore"):
        found = np.log1p((np.expm1(np.minimum(ratio, _SMALL)) * np.exp(log_p)[..., None, :]).sum(axis=-1))
    if not near.all():
        total = ratio + log_p[..., None, :]
        top = total.max(axis=-1)
        found = np.where(near, found, top + np.log(np.exp(total - top[..., None]).sum(axis=-1)))
    return np.asarray(np.maximum(found / (orders - 1.0), 0.0))


def exact_renyi(law: Law, counts: Array, orders: Array) -> Array:
    """The largest divergence between the answer's law and that of a neighbour, in either direction, at each order.

    It depends on the votes: a figure for the custodian, not releasable.
    """
    return worst_of(law.log_chances(counts), law.around(counts), orders)


def worst_of(mine: Array, theirs: Array, orders: Array) -> Array:
    """The largest divergence between a law and each of others, in either direction, at each order."""
    return np.maximum(renyi(mine, theirs, orders), renyi(theirs, mine, orders)).max(axis=0, initial=0.0)


def _log_sums(logs: Array) -> Array:
    """The logarithms of the sums of exponentials, along the last axis."""
    top = logs.max(axis=-1, keepdims=True)
    return np.asarray(top[..., 0] + np.log(np.exp(logs - top).sum(axis=-1)))


def _with_the_rest(logs: Array, tops: Array) -> Array:
    """Rows of logarithms of chances, of which one is what the others leave."""
    rows = np.arange(len(logs))
    chances = np.exp(logs)
    chances[rows, tops] = 0.0
    logs[rows, tops] = np.log1p(-np.minimum(chances.sum(axis=1), 1.0 - 1e-12))
    return logs


def _log_sum(logs: Array) -> float:
    top = float(logs.max())
    return top if not np.isfinite(top) else top + float(np.log(np.exp(logs - top).sum()))


def _log_laplace_cdf(x: Array) -> Array:
    return np.where(x < 0.0, np.minimum(x, 0.0) - np.log(2.0), np.log1p(-0.5 * np.exp(-np.maximum(x, 0.0))))

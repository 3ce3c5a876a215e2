"""The smooth sensitivity of the cost of votes: how far the published bound moves when teachers change their votes."""

from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np

from privet._numerics import Array, bisect, special
from privet.errors import InvalidParameter
from privet.pate.vote_theorems import gn_theorem, log_losing_normal

_LOWEST = -700.0  # the least logarithm of a chance that conditions are tried at: below, the bound is nothing
_PLACES = 4_001  # of the grid on which the conditions are tried: computed, not proved, between them
_ROUNDING = 1e-14  # of two bounds that are compared


@final
@dataclass(frozen=True)
class SmoothVotes:
    """The theorem of 2018 at one order as a function of q, the bound on the chance that not the plurality wins: how much
    one query costs, and by how much that changes within a distance of so many votes.

    With `two_sided` the cost is the theorem at the largest q of a neighbour, which bounds both directions.

    **Reference:** Papernot et al. 2018, appendix B. **Proof:** docs/proofs/pate/smooth_release.md.

    >>> bound = SmoothVotes(40.0, 20.0, 10)
    >>> [round(float(x), 9) for x in (bound.log_q0, bound.log_q1)]
    [-3.156873049, -3.260312837]
    """

    sigma: float
    order: float
    classes: int
    two_sided: bool = False

    @property
    def plain(self) -> float:
        """The cost that does not depend on votes."""
        return float(gn_theorem(np.zeros(1), self.sigma, np.array([self.order]))[0, 0])

    def theorem(self, log_q: Array) -> Array:
        """The published bound at these chances."""
        return np.asarray(gn_theorem(np.atleast_1d(log_q), self.sigma, np.array([self.order]))[:, 0])

    def cost(self, log_q: Array) -> Array:
        """The cost of queries with these chances."""
        return self.theorem(self.moved(log_q, 1) if self.two_sided else log_q)

    def moved(self, log_q: Array, steps: int) -> Array:
        """The largest chance (`steps` 1) or the least one (-1) of a neighbour: all gaps become smaller, or larger, by 2."""
        others = np.log(self.classes - 1.0)
        place = special().ndtri_exp(np.minimum(np.atleast_1d(log_q) - others, -1e-300))
        return np.asarray(np.minimum(others + special().log_ndtr(place + steps * np.sqrt(2.0) / self.sigma), 0.0))

    @property
    def log_q0(self) -> float:
        """The chance from which on the cost is the plain one."""
        return _ends(self)[0]

    @property
    def log_q1(self) -> float:
        """The chance whose neighbours reach that one: here the cost changes most."""
        return _ends(self)[1]

    @property
    def plateau(self) -> float:
        """The most that a neighbour can change the cost of a query."""
        return self.plain - float(self.cost(np.array([self.log_q1]))[0])

    def local(self, log_q: Array) -> Array:
        """A bound on what a neighbour changes at these chances."""
        at = np.atleast_1d(log_q).astype(float)
        here = self.cost(at)
        found = np.maximum(self.cost(self.moved(at, 1)) - here, here - self.cost(self.moved(at, -1)))
        return np.where((at >= self.log_q1) & (at <= self.log_q0), self.plateau, np.clip(found, 0.0, self.plateau))

    def refuse_unless_monotone(self) -> None:
        """C5: the cost grows with the chance. C6: so does what a neighbour adds to it, up to q1. Both on a grid."""
        q = np.linspace(_LOWEST, 0.0, _PLACES)
        costs = self.cost(q)
        if np.any(np.diff(costs) < -_ROUNDING):
            raise InvalidParameter(_REFUSED.format("the bound falls where teachers agree less (C5)"))
        below = np.linspace(_LOWEST, self.log_q1, _PLACES)
        if np.any(np.diff(self.cost(self.moved(below, 1)) - self.cost(below)) < -_ROUNDING):
            raise InvalidParameter(_REFUSED.format("the change by a neighbour falls where teachers agree less (C6)"))

    def changes(self, counts: Array, most: int) -> Array:
        """The largest local change within 0, 1, ... `most` moved votes of one query; it depends on the votes: for
        computing noise with, not releasable.

        Votes move between the first class and the second one, towards the chances at which the cost changes most.
        """
        votes = np.sort(np.asarray(counts, dtype=np.int64))[::-1].copy()
        log_q = float(log_losing_normal(votes[None], self.sigma)[0])
        found = np.full(most + 1, self.plateau)
        if self.log_q1 <= log_q <= self.log_q0:
            return found
        agree = log_q < self.log_q1
        path = _to_a_tie(votes, most) if agree else _apart(votes, most)
        chances = log_losing_normal(path, self.sigma)
        off = np.flatnonzero(chances >= self.log_q1 if agree else chances <= self.log_q0)
        reached = int(off[0]) if len(off) else len(path)
        found[:reached] = self.local(chances[:reached])
        if not agree and not len(off):  # all votes are the first class's before the plateau is reached
            found[reached:] = found[reached - 1]
        return np.maximum.accumulate(found)

    def smooth(self, changes: Array, beta: float) -> float:
        """The largest of exp(-beta d) times the change within d votes.

        >>> SmoothVotes(40.0, 20.0, 10).smooth(np.array([1.0, 2.0, 2.0]), 0.5).__round__(4)
        1.2131
        """
        return float(np.max(changes * np.exp(-beta * np.arange(len(changes)))))


_REFUSED = "the smooth sensitivity of these votes is not known at this order: {}. Take another order or another sigma"


@lru_cache(maxsize=64)
def _ends(bound: SmoothVotes) -> tuple[float, float]:
    """Where the cost reaches the plain one, and the chance whose neighbours reach that."""
    top = float(np.log1p(-1.0 / bound.classes))

    def better(log_q: float) -> bool:
        return bool(bound.cost(np.array([log_q]))[0] < bound.plain)

    if better(top):
        raise InvalidParameter(_REFUSED.format("a tie costs less than the plain bound"))
    if not better(_LOWEST):
        raise InvalidParameter(_REFUSED.format("the votes never make the bound smaller"))
    first = bisect(lambda log_q: not better(log_q), _LOWEST, top)
    return first, float(bound.moved(np.array([first]), -1)[0])


def _to_a_tie(votes: Array, most: int) -> Array:
    """The votes after 0, 1, ... steps from the first class to the second, as long as the first is not behind."""
    steps = np.arange(min(most, int(votes[0] - votes[1]) // 2) + 1)
    path = np.tile(votes, (len(steps), 1))
    path[:, 0] -= steps
    path[:, 1] += steps
    return path


def _apart(votes: Array, most: int) -> Array:
    """The votes after 0, 1, ... steps from the largest of the other classes to the first one."""
    path, now = [votes.copy()], votes.copy()
    while len(path) <= most and now[1] > 0:
        now[0] += 1
        now[1 + int(np.argmax(now[1:]))] -= 1
        now[1:] = np.sort(now[1:])[::-1]
        path.append(now.copy())
    return np.array(path)

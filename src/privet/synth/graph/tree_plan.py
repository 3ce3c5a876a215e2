"""Belief propagation on a junction tree, with everything that the cliques alone decide worked out once."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import prod
from typing import final

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidParameter
from privet.synth.graph.junction_tree import Clique, JunctionTree, junction_tree
from privet.synth.graph.reduction import Reduction


@final
class TreePlan:
    """The plan of a clique set: hosts of the measured cliques, axes to sum, shapes to broadcast.

    `allowed` holds, for some cliques, which of their cells may have rows at all: the others have none in any model
    (structural zeros, constraints between columns). These cliques join the tree.

    >>> import numpy as np
    >>> plan = TreePlan((2, 2), [(0, 1)])
    >>> plan.marginals(plan.calibrated([np.log([[1.0, 2.0], [3.0, 4.0]])], 20.0))[0].round(9).tolist()
    [[2.0, 4.0], [6.0, 8.0]]
    """

    def __init__(
        self, sizes: Sequence[int], measured: Sequence[Clique], allowed: Mapping[Clique, Array] | None = None
    ) -> None:
        self.sizes, self.measured = tuple(sizes), tuple(measured)
        self.allowed = dict(allowed or {})
        self.tree: JunctionTree = junction_tree(self.sizes, [*self.measured, *self.allowed])
        cliques = self.tree.cliques
        self.shapes = [tuple(self.sizes[i] for i in each) for each in cliques]
        self._steps = self._nested()
        self._down, self._up = [], []  # from a clique to its separator, and from its parent
        for clique, parent, shared in zip(cliques, self.tree.parents, self.tree.separators, strict=True):
            self._down.append(Reduction(clique, shared, self.sizes))
            self._up.append(Reduction(cliques[parent], shared, self.sizes) if parent >= 0 else None)
        self._closed = self._forbidden()

    def _nested(self) -> list[tuple[int, int, int, Reduction]]:
        """For each table, those that hold it first: its number, and the one that it is summed from, which is another table
        (its number, and -1) or a clique of the tree (-1, and its number). The measured cliques have the first numbers.

        Beside these there are tables that hold several of them: two tables whose union is small are summed from that, so
        that few sums, and few additions, go over a whole clique of the tree."""
        at = {each: i for i, each in enumerate(self.measured)}
        above: dict[Clique, Clique | int] = {}
        for host in range(len(self.tree.cliques)):
            here = [each for each in self.measured if self.host(each) == host]
            above |= _shared(here, self.tree.cliques[host], host, self.sizes)
        for each in above:
            at.setdefault(each, len(at))
        self._tables = len(at)
        found = []
        for each in sorted(above, key=lambda each: (-len(each), each)):  # what holds a table has more columns
            over = above[each]
            j, host = (-1, over) if isinstance(over, int) else (at[over], -1)
            whole = self.tree.cliques[over] if isinstance(over, int) else over
            found.append((at[each], j, host, Reduction(whole, each, self.sizes)))
        return found

    def host(self, clique: Clique) -> int:
        """The smallest clique of the tree that holds this one; -1 where none does."""
        wanted = set(clique)
        held = [i for i, each in enumerate(self.tree.cliques) if wanted <= set(each)]
        return min(held, key=lambda i: prod(self.shapes[i]), default=-1)

    def _forbidden(self) -> list[Array | None]:
        """For each clique of the tree its cells that must stay empty."""
        closed: list[Array | None] = [None] * len(self.shapes)
        for clique, mask in self.allowed.items():
            host = self.host(clique)
            onto = Reduction(self.tree.cliques[host], clique, self.sizes)
            whole = np.zeros(self.shapes[host], dtype=bool).reshape(onto.shape)
            whole |= ~onto.spread(np.ascontiguousarray(mask, dtype=bool))
            whole = whole.reshape(self.shapes[host])
            before = closed[host]
            closed[host] = whole if before is None else whole | before
        return closed

    def calibrated(self, potentials: Sequence[Array], total: float) -> list[Array]:
        """The beliefs of the tree's cliques, each of which sums to `total`: two passes, in logarithms."""
        logs = [np.zeros(shape) for shape in self.shapes]
        gathered: list[Array | None] = [np.ascontiguousarray(each) for each in potentials]
        gathered += [None] * (self._tables - len(gathered))
        for i, j, host, onto in reversed(self._steps):
            part = gathered[i]
            assert part is not None  # every table that was made is summed from, and so was added to
            if j >= 0:  # added up where the table is small; the caller's potentials stay as they are
                before = gathered[j]
                whole = np.zeros(onto.shape) if before is None else before.reshape(onto.shape)
                gathered[j] = whole + onto.spread(part)
            else:
                view = logs[host].reshape(onto.shape)
                view += onto.spread(part)
        sums: list[Array] = [np.ones(1)] * len(logs)
        for i in range(len(logs) - 1, -1, -1):
            closed, parent = self._closed[i], self.tree.parents[i]
            if closed is not None:
                logs[i][closed] = -np.inf
            if parent < 0:
                top = logs[i].max()
                if top == -np.inf:
                    raise InvalidParameter("the constraints leave no combination of values that may occur")
                np.exp(logs[i] - top, out=logs[i])
                continue
            logs[i], sums[i], message = self._exponentials(logs[i], self._down[i])
            up = self._up[i]
            assert up is not None
            view = logs[parent].reshape(up.shape)
            view += up.spread(message)
        return self._distributed(logs, sums, total)

    @staticmethod
    def _exponentials(logs: Array, down: Reduction) -> tuple[Array, Array, Array]:
        """Exponentials, their sums onto the separator, and the message: what underflows is scaled by itself."""
        top = logs.max()
        if np.isfinite(top):
            made = np.exp(logs - top)
            sums = down.sum(made)
            if sums.min() > 1e-200:
                return made, sums, np.log(sums) + top
        axes = tuple(i for i, size in enumerate(down.wide) if size == 1 and down.shape[i] != 1)
        view = logs.reshape(down.shape)
        tops = view.max(axis=axes, keepdims=True) if axes else view
        tops = np.where(np.isfinite(tops), tops, 0.0)
        made = np.exp(view - tops).reshape(logs.shape)
        sums = down.sum(made)
        with np.errstate(divide="ignore"):
            return made, sums, np.log(sums) + tops.reshape(sums.shape)

    def _distributed(self, made: list[Array], sums: list[Array], total: float) -> list[Array]:
        for i, parent in enumerate(self.tree.parents):
            if parent < 0:
                made[i] *= total / made[i].sum()
                continue
            up = self._up[i]
            assert up is not None
            wanted = up.sum(made[parent])
            ratio = np.divide(wanted, sums[i], out=np.zeros_like(wanted), where=sums[i] > 0.0)
            view = made[i].reshape(self._down[i].shape)
            view *= self._down[i].spread(ratio)
        return made

    def marginals(self, beliefs: Sequence[Array]) -> list[Array]:
        """The tables of the measured cliques."""
        found: list[Array] = [np.empty(0)] * self._tables
        for i, j, host, onto in self._steps:
            found[i] = onto.sum(found[j] if j >= 0 else beliefs[host])
        return found[: len(self.measured)]


def _shared(cliques: Sequence[Clique], whole: Clique, host: int, sizes: Sequence[int]) -> dict[Clique, Clique | int]:
    """For each of these cliques, all of which lie in `whole`, and for unions of them, what it is summed from: a union, or
    `host`, which stands for the whole. The two tables whose union has fewest cells go together, until one is left.

    >>> _shared([(0, 1), (1, 2), (3, 4)], (0, 1, 2, 3, 4), 7, (2,) * 5)
    {(0, 1): (0, 1, 2), (1, 2): (0, 1, 2), (0, 1, 2): 7, (3, 4): 7}
    """
    top: list[Clique] = sorted(cliques)
    above: dict[Clique, Clique | int] = {}
    unions = {pair: _union(*pair, sizes) for pair in combinations(top, 2)}
    while unions:
        (one, two), (_, union) = min(unions.items(), key=lambda item: (item[1], item[0]))
        if union == whole:  # the cheapest union is no cheaper than the whole
            break
        for each in (one, two):
            if each != union:
                above[each] = union
        top = sorted({*top, union} - {one, two} | {union})
        unions = {pair: made for pair, made in unions.items() if one not in pair and two not in pair}
        unions |= {(min(each, union), max(each, union)): _union(each, union, sizes) for each in top if each != union}
    return above | dict.fromkeys(top, host)


def _union(one: Clique, two: Clique, sizes: Sequence[int]) -> tuple[int, Clique]:
    union = tuple(sorted({*one, *two}))
    return prod(sizes[i] for i in union), union

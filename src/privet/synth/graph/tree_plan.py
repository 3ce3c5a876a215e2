"""Belief propagation on a junction tree, with everything that the cliques alone decide worked out once."""

from collections.abc import Mapping, Sequence
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
        """For each measured clique, the largest first: its number, and the smallest table that holds it, which is another
        measured one (its number, and -1) or a clique of the tree (-1, and its number). Small tables are added into, and
        summed from, small tables."""
        cells = [prod(self.sizes[i] for i in each) for each in self.measured]
        order = sorted(range(len(cells)), key=lambda i: -cells[i])
        found = []
        for place, i in enumerate(order):
            wanted = set(self.measured[i])
            above = [j for j in order[:place] if wanted < set(self.measured[j])]
            j = min(above, key=lambda j: cells[j], default=-1)
            host = self.host(self.measured[i]) if j < 0 else -1
            whole = self.tree.cliques[host] if j < 0 else self.measured[j]
            found.append((i, j, host, Reduction(whole, self.measured[i], self.sizes)))
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
        gathered = [np.ascontiguousarray(each) for each in potentials]
        for i, j, host, onto in reversed(self._steps):
            if j >= 0:  # added up where the table is small; the caller's potentials stay as they are
                whole = gathered[j].reshape(onto.shape) + onto.spread(gathered[i])
                gathered[j] = whole.reshape(gathered[j].shape)
            else:
                view = logs[host].reshape(onto.shape)
                view += onto.spread(gathered[i])
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
        found: list[Array] = [np.empty(0)] * len(self.measured)
        for i, j, host, onto in self._steps:
            found[i] = onto.sum(found[j] if j >= 0 else beliefs[host])
        return found

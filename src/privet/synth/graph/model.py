"""A calibrated graphical model: its tables, also those that no clique holds."""

from collections.abc import Sequence
from math import prod
from typing import final

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidParameter
from privet.synth.graph.junction_tree import Clique
from privet.synth.graph.reduction import Reduction
from privet.synth.graph.tree_plan import TreePlan

_MOST = 2**26  # cells of an answer or of what is multiplied on the way


@final
class GraphModel:
    """Potentials of the measured cliques, and the beliefs of the tree's cliques that follow from them.

    >>> import numpy as np
    >>> plan = TreePlan((2, 2), [(0,), (1,)])
    >>> model = GraphModel(plan, [np.log([1.0, 3.0]), np.zeros(2)], 8.0)
    >>> model.marginal((0, 1)).round(9).tolist()
    [[1.0, 1.0], [3.0, 3.0]]
    """

    def __init__(
        self,
        plan: TreePlan,
        potentials: Sequence[Array],
        total: float,
        beliefs: Sequence[Array] | None = None,
        *,
        step: float = 1.0,
        loss: float = 0.0,
    ) -> None:
        self.plan, self.potentials, self.total = plan, list(potentials), float(total)
        self.beliefs = list(plan.calibrated(potentials, self.total) if beliefs is None else beliefs)
        self.step, self.loss = step, loss
        self._parts: dict[tuple[int, Clique], Array] = {}
        self._near: list[list[int]] = [[] for _ in self.beliefs]
        for child, parent in enumerate(plan.tree.parents):
            if parent >= 0:
                self._near[child].append(parent)
                self._near[parent].append(child)
        self._component: list[int] = []
        for i, parent in enumerate(plan.tree.parents):
            self._component.append(i if parent < 0 else self._component[parent])

    def marginal(self, clique: Clique) -> Array:
        """The table of any clique: from the smallest clique of the tree that holds it, else by contracting the subtree
        between its columns; columns that no path joins are independent."""
        cells = prod(self.plan.sizes[i] for i in clique)
        if cells > _MOST:
            raise InvalidParameter(f"a table of {cells:,} cells is too large to be answered: at most {_MOST:,}")
        host = self.plan.host(clique)
        if host >= 0:
            return self._part(host, clique)
        roots = {i: next(c for c, each in enumerate(self.plan.tree.cliques) if i in each) for i in clique}
        groups: dict[int, list[int]] = {}
        for i, held in roots.items():
            groups.setdefault(self._component[held], []).append(i)
        made, columns = np.array(self.total), tuple[int, ...]()
        for each in groups.values():
            part = tuple(sorted(each))
            host = self.plan.host(part)
            table = self._part(host, part) if host >= 0 else self._contracted(part)
            made, columns = _times(made, columns, table / self.total, part, tuple(sorted((*columns, *part))))
        return made

    def _part(self, node: int, columns: Clique) -> Array:
        """Some columns of one clique of the tree; kept, since answers share them."""
        key = (node, columns)
        if key not in self._parts:
            onto = Reduction(self.plan.tree.cliques[node], columns, self.plan.sizes)
            self._parts[key] = onto.sum(self.beliefs[node])
        return self._parts[key]

    def _contracted(self, columns: Clique) -> Array:
        wanted = set(columns)
        root = max(range(len(self.beliefs)), key=lambda i: len(wanted & set(self.plan.tree.cliques[i])))
        table, axes = self._gathered(root, -1, wanted)
        assert axes == columns
        return table

    def _gathered(self, node: int, toward: int, wanted: set[int]) -> tuple[Array, Clique]:
        """The table of the wanted columns at and behind a node, with what it shares with the node ahead."""
        cliques = self.plan.tree.cliques
        ahead = set(cliques[node]) & set(cliques[toward]) if toward >= 0 else set[int]()
        behind = []
        for each in self._near[node]:
            if each != toward and self._reaches(each, node, wanted - set(cliques[node])):
                behind.append((each, tuple(sorted(set(cliques[node]) & set(cliques[each])))))
        need = ahead | (wanted & set(cliques[node])) | {i for _, shared in behind for i in shared}
        axes = tuple(sorted(need))
        table = self._part(node, axes)
        for place, (each, shared) in enumerate(behind):
            later = {i for _, more in behind[place + 1 :] for i in more}
            found, found_axes = self._gathered(each, node, wanted)
            found, found_axes = _summed(found, found_axes, tuple(i for i in found_axes if i in wanted or i in shared))
            known = self._part(each, shared)
            onto = Reduction(found_axes, shared, self.plan.sizes)
            view, whole = found.reshape(onto.shape), onto.spread(known)
            # a share of a whole is at most 1; 1 over the whole may be infinite where that is next to nothing
            found = np.divide(view, whole, out=np.zeros_like(view), where=whole > 0.0).reshape(found.shape)
            keep = tuple(sorted((set(axes) | set(found_axes)) & (wanted | ahead | later)))
            table, axes = _times(table, axes, found, found_axes, keep)
        return table, axes

    def _reaches(self, node: int, back: int, wanted: set[int]) -> bool:
        """True if a wanted column lies at a node or behind it."""
        if wanted & set(self.plan.tree.cliques[node]):
            return True
        return any(self._reaches(each, node, wanted) for each in self._near[node] if each != back)


def _summed(table: Array, axes: Clique, keep: Clique) -> tuple[Array, Clique]:
    gone = tuple(i for i, column in enumerate(axes) if column not in keep)
    return (table.sum(axis=gone) if gone else table), keep


def _times(one: Array, one_axes: Clique, two: Array, two_axes: Clique, keep: Clique) -> tuple[Array, Clique]:
    """The product of two tables, summed onto the columns to keep, as products of matrices."""
    one, one_axes = _summed(one, one_axes, tuple(i for i in one_axes if i in keep or i in two_axes))
    two, two_axes = _summed(two, two_axes, tuple(i for i in two_axes if i in keep or i in one_axes))
    both = [i for i in one_axes if i in two_axes and i in keep]
    over = [i for i in one_axes if i in two_axes and i not in keep]
    left = [i for i in one_axes if i not in two_axes]
    right = [i for i in two_axes if i not in one_axes]
    size = dict(zip(one_axes, one.shape, strict=True)) | dict(zip(two_axes, two.shape, strict=True))
    cells = prod(size[i] for i in both + left + right)
    if cells > _MOST:
        raise InvalidParameter(f"a table of {cells:,} cells is too large to be answered: at most {_MOST:,}")

    def shaped(table: Array, axes: Clique, order: list[list[int]]) -> Array:
        flat = [axes.index(i) for group in order for i in group]
        return table.transpose(flat).reshape([prod(size[i] for i in group) for group in order])

    product = shaped(one, one_axes, [both, left, over]) @ shaped(two, two_axes, [both, over, right])
    order = both + left + right
    made = product.reshape([size[i] for i in order])
    return made.transpose([order.index(i) for i in keep]), keep

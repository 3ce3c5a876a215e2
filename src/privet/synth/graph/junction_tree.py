"""The junction tree of a set of cliques: greedy elimination, maximal cliques, and a tree of largest separators."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import final

Clique = tuple[int, ...]
"""Places of columns, in increasing order."""


@final
@dataclass(frozen=True)
class JunctionTree:
    """Maximal cliques, parents before their children; -1 is the parent of a root, of which each component has one.

    `separators` holds for each clique what it shares with its parent.

    >>> tree = junction_tree((2, 3, 4), [(0, 1), (1, 2)])
    >>> tree.cliques, tree.separators, tree.cells
    (((0, 1), (1, 2)), ((), (1,)), 18)
    """

    sizes: tuple[int, ...]
    cliques: tuple[Clique, ...]
    parents: tuple[int, ...]
    separators: tuple[Clique, ...]

    @property
    def cells(self) -> int:
        """Numbers that a calibrated model holds: fill-in counts."""
        return sum(prod(self.sizes[i] for i in each) for each in self.cliques)


def _eliminated(sizes: Sequence[int], cliques: Iterable[Clique]) -> list[int]:
    """The maximal cliques of the filled-in graph, as sets of bits: the vertex whose clique has fewest cells goes first,
    among equals the one that fills in least, then the first.
    """
    d = len(sizes)
    near = [1 << i for i in range(d)]
    for clique in cliques:
        bits = sum(1 << i for i in clique)
        for i in clique:
            near[i] |= bits
    cost: list[tuple[int, int, int] | None] = [None] * d
    left, found = set(range(d)), list[int]()
    while left:
        for i in left:
            if cost[i] is None:
                cost[i] = _cost(i, near, sizes)
        chosen = min(left, key=lambda i: cost[i])  # type: ignore[arg-type,return-value]
        bits = near[chosen]
        if not any(bits & each == bits for each in found):
            found.append(bits)
        left.remove(chosen)
        rest = bits & ~(1 << chosen)
        for i in _members(rest):
            near[i] = (near[i] | rest) & ~(1 << chosen)
        touched = rest
        for i in _members(rest):
            touched |= near[i]  # fill-in between neighbours changes what their neighbours would fill in
        for i in _members(touched):
            cost[i] = None
    return found


def _cost(vertex: int, near: Sequence[int], sizes: Sequence[int]) -> tuple[int, int, int]:
    members = _members(near[vertex])
    missing = sum((near[vertex] & ~near[i]).bit_count() for i in members)
    return prod(sizes[i] for i in members), missing, vertex


def _members(bits: int) -> list[int]:
    found = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return found


def tree_cells(sizes: Sequence[int], cliques: Iterable[Clique]) -> int:
    """The cells of the junction tree, without building it: what a size budget is compared with.

    A cycle of binary columns needs cliques of three:

    >>> tree_cells((2,) * 4, [(0, 1), (1, 2), (2, 3), (0, 3)])
    16
    """
    return sum(prod(sizes[i] for i in _members(bits)) for bits in _eliminated(sizes, cliques))


def junction_tree(sizes: Sequence[int], cliques: Iterable[Clique]) -> JunctionTree:
    """The junction tree over all columns; one that no clique names is a clique of its own.

    >>> junction_tree((2, 2), []).cliques
    ((0,), (1,))
    """
    found = _eliminated(sizes, cliques)
    order, parents = list[int](), list[int]()
    best = dict.fromkeys(range(len(found)), (0, 0, -1))  # shared columns, which is earlier, with whom
    place: dict[int, int] = {}
    while best:
        chosen = max(best, key=lambda i: (best[i][0], -best[i][1], -i))
        shared, _, parent = best.pop(chosen)
        parents.append(place[parent] if shared else -1)
        place[chosen] = len(order)
        order.append(chosen)
        for i in best:
            both = (found[i] & found[chosen]).bit_count()
            if both > best[i][0]:
                best[i] = (both, len(order), chosen)
    named = tuple(tuple(_members(found[i])) for i in order)
    separators = tuple(
        tuple(v for v in clique if p >= 0 and v in named[p]) for clique, p in zip(named, parents, strict=True)
    )
    return JunctionTree(tuple(sizes), named, tuple(parents), separators)

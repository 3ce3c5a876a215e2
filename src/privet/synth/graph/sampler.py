"""Rows of a model, by unbiased rounding: every clique's counts are within one of what the model expects."""

from typing import final

import numpy as np

from privet import noise
from privet._numerics import Array
from privet.noise import Source
from privet.synth.graph.model import GraphModel


@final
class Coins:
    """Uniform numbers and orders for rows, from the house's source. They protect nobody: rows follow from releases.

    >>> Coins().permutation(1).tolist()
    [0]
    """

    def __init__(self, source: Source | None = None) -> None:
        self._source = source

    def uniform(self, size: int) -> Array:
        """Numbers in [0, 1)."""
        return np.asarray(noise.uniform_int(bound=2**53, size=size, source=self._source)) * 2.0**-53

    def permutation(self, n: int) -> Array:
        """The numbers below n in an order that chance decides; of two equal draws out of 2^53 the first goes first."""
        return np.argsort(np.asarray(noise.uniform_int(bound=2**53, size=n, source=self._source)), kind="stable")


def rounded(shares: Array, totals: Array, coins: Coins) -> Array:
    """Whole numbers with the expectation totals[g] shares[g, x], each row of which sums to its total exactly, and none of
    which is further than 1 off: systematic sampling, with one uniform number for each row.

    >>> rounded(np.array([[0.5, 0.5]]), np.array([4]), Coins()).tolist()
    [[2, 2]]
    """
    ends = np.cumsum(shares, axis=1)
    whole = ends[:, -1:]
    ends = np.divide(ends, whole, out=np.zeros_like(ends), where=whole > 0.0)
    # where the model expects nothing at all, rows of rounding that came here are spread evenly
    ends = np.where(whole > 0.0, ends, np.arange(1, shares.shape[1] + 1) / shares.shape[1])
    start = coins.uniform(len(ends))[:, None]
    marks = np.floor(ends * totals[:, None] + start)
    marks[:, -1] = totals
    marks = np.minimum(marks, totals[:, None])
    return np.diff(marks, axis=1, prepend=0.0).astype(np.int64)


def sampled(model: GraphModel, n: int, coins: Coins) -> Array:
    """`n` rows of codes, one column for each of the model's: clique after clique, each given what it shares.

    **Error:** the first clique's counts are within 1 of n times its shares; what a later one adds is within 1 of its
    expectation given the rows that there are, for each value of what it shares. The expectation is the model's.
    """
    tree, sizes = model.plan.tree, model.plan.sizes
    rows = np.zeros((n, len(sizes)), dtype=np.int32)
    for i, clique in enumerate(tree.cliques):
        shared = tree.separators[i]
        new = tuple(v for v in clique if v not in shared)
        groups = np.zeros(n, dtype=np.int64)
        for v in shared:
            groups = groups * sizes[v] + rows[:, v]
        many = int(np.prod([sizes[v] for v in shared], dtype=np.int64))
        order = [clique.index(v) for v in (*shared, *new)]
        shares = model.beliefs[i].transpose(order).reshape(many, -1)
        counts = np.bincount(groups, minlength=many)
        there = np.flatnonzero(counts)
        made = rounded(shares[there], counts[there], coins)
        cells = np.repeat(np.tile(np.arange(made.shape[1]), len(there)), made.reshape(-1))
        mixed = coins.permutation(n)  # within a group, which row gets which cell is left to chance
        places = mixed[np.argsort(groups[mixed], kind="stable")]
        for v in reversed(new):
            rows[places, v] = cells % sizes[v]
            cells = cells // sizes[v]
    return rows

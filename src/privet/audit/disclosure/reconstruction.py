"""Reconstruction: secret bits, or whole small tables, from many counts of them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import final

import numpy as np

from privet._numerics import Array
from privet._validate import count
from privet.audit.answers import numbers
from privet.errors import InvalidData, InvalidParameter


class Decoder(ABC):
    """A way to solve counts for what they count: numbers between 0 and `top`, one for each column of `queries`."""

    @abstractmethod
    def solve(self, queries: Array, answers: Array, top: float) -> Array:
        """The numbers that fit the answers."""


@final
@dataclass(frozen=True)
class LeastSquares(Decoder):
    """The numbers with the least squares of what is left of the answers, cut to their range.

    >>> LeastSquares().solve(np.eye(2), np.array([1.0, 0.0]), 1.0).round().tolist()
    [1.0, 0.0]
    """

    def solve(self, queries: Array, answers: Array, top: float) -> Array:
        return np.asarray(np.clip(np.linalg.lstsq(queries, answers, rcond=None)[0], 0.0, top))


@final
@dataclass(frozen=True)
class LinearProgramme(Decoder):
    """The numbers in their range with the least sum of absolute errors of the answers.

    >>> LinearProgramme().solve(np.eye(2), np.array([1.0, 0.0]), 1.0).round().tolist()
    [1.0, 0.0]
    """

    def solve(self, queries: Array, answers: Array, top: float) -> Array:
        from scipy.optimize import linprog
        from scipy.sparse import block_array, csr_array, eye_array

        many, size = queries.shape
        matrix, slack = csr_array(queries), -eye_array(many)
        rows = block_array([[matrix, slack], [-matrix, slack]], format="csr")
        cost = np.concatenate((np.zeros(size), np.ones(many)))
        bounds = [(0.0, top if np.isfinite(top) else None)] * size + [(0.0, None)] * many
        solved = linprog(cost, A_ub=rows, b_ub=np.concatenate((answers, -answers)), bounds=bounds, method="highs")
        if solved.x is None:
            raise InvalidData("the linear programme has no solution: answers must be finite numbers")
        return np.asarray(solved.x[:size])


@final
@dataclass(frozen=True, eq=False)
class Reconstruction:
    """Bits, or counts of cells, as they were rebuilt; `right` compares them with the truth.

    >>> Reconstruction(np.array([1, 0, 1])).right([1, 0, 0])
    0.6666666666666666
    """

    bits: Array

    def right(self, truth: object) -> float:
        """The share of entries that are right: for the custodian, not releasable."""
        known = np.asarray(truth)
        if known.shape != self.bits.shape:
            raise InvalidData("the truth must have one entry for each that was rebuilt")
        return float((known == self.bits).mean())


def reconstruct(queries: object, answers: object, *, by: Decoder | None = None) -> Reconstruction:
    """Secret bits from counts over subsets.

    `queries` has a row of 0 and 1 for each count, `answers` the counts, exact or noisy.

    **Error:** with m of the order of n or more random subsets, errors well below sqrt(n) give nearly all bits away;
    noise for a total epsilon of about 1 leaves a coin toss. **Reference:** Dinur & Nissim 2003; Dwork, McSherry &
    Talwar 2007.

    >>> rng = np.random.default_rng(0)
    >>> secret, subsets = rng.integers(0, 2, 20), rng.integers(0, 2, (80, 20))
    >>> reconstruct(subsets, subsets @ secret).right(secret)
    1.0
    """
    rows, seen = numbers("queries", queries), numbers("answers", answers)
    if rows.ndim != 2 or seen.shape != (len(rows),) or not rows.size:
        raise InvalidData("queries are rows, one for each answer")
    if not (np.isfinite(rows).all() and np.isfinite(seen).all()):
        raise InvalidData("queries and answers must be finite numbers")
    return Reconstruction((_decoder(by).solve(rows, seen, 1.0) > 0.5).astype(np.int64))


def reconstruct_table(
    shape: Sequence[int], marginals: Mapping[tuple[int, ...], object], *, by: Decoder | None = None
) -> Reconstruction:
    """The counts of every cell of a small table, from marginals of it: arrays by the axes that they keep.

    **Error:** marginals of all sets of axes are the table itself; how many fewer suffice depends on how many cells
    are empty.

    >>> table = np.array([[2, 0], [0, 1]])
    >>> reconstruct_table((2, 2), {(0,): table.sum(1), (1,): table.sum(0), (0, 1): table}).right(table)
    1.0
    """
    sizes = tuple(count("shape", size, 1) for size in shape)
    cells = np.array(list(product(*map(range, sizes))), dtype=np.int64).reshape(-1, len(sizes))
    rows, seen = [], []
    for axes, given in marginals.items():
        whole = isinstance(axes, tuple) and all(isinstance(each, int) and not isinstance(each, bool) for each in axes)
        if not whole or len(set(axes)) < len(axes) or not set(axes) <= set(range(len(sizes))):
            raise InvalidParameter(
                "a marginal is named by the axes of the table that it keeps, as a tuple, each axis once"
            )
        wanted, told = tuple(sizes[axis] for axis in axes), numbers("counts of a marginal", given)
        if told.shape != wanted or not np.isfinite(told).all():
            raise InvalidData("a marginal must have the sizes of the axes that it keeps, and finite counts")
        place = (
            np.ravel_multi_index(tuple(cells[:, list(axes)].T), wanted)
            if axes
            else np.zeros(len(cells), dtype=np.int64)
        )
        rows.append((place[None] == np.arange(told.size)[:, None]).astype(float))
        seen.append(told.reshape(-1))
    if not rows:
        raise InvalidParameter("name at least one marginal")
    solved = _decoder(LinearProgramme() if by is None else by).solve(np.concatenate(rows), np.concatenate(seen), np.inf)
    return Reconstruction(np.rint(solved).astype(np.int64).reshape(sizes))


def _decoder(by: Decoder | None) -> Decoder:
    if by is not None and not isinstance(by, Decoder):
        raise InvalidParameter("by must be audit.LeastSquares() or audit.LinearProgramme()")
    return LeastSquares() if by is None else by

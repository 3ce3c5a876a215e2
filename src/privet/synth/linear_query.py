"""Linear queries over the combinations of a table's codes: what a single row adds to the answer, for every combination."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet._validate import set_frozen
from privet.errors import InvalidParameter
from privet.queries import Selection
from privet.tables import Coded, Coding, Data, Rows as EachRow, Source, Where, drawn_salts
from privet.tables.columns import as_columns
from privet.workloads import Rows, Workload

_MOST = 2**26  # weights of all queries: half a gigabyte, more are refused


@final
@dataclass(frozen=True, eq=False)
class LinearQuery:
    """q(x) = sum of q'(row) over the rows of x, or their mean: `weights` holds q' for every combination of codes, in whole
    numbers, with an axis for each column.

    >>> from privet.tables import Int
    >>> coding = Coding.of({"age": Int(0, 3)})
    >>> LinearQuery.threshold(coding, "age", 1).weights.tolist()
    [1, 1, 0, 0]
    >>> LinearQuery.between(coding, "age", 1, 2).count([8, 6, 4, 2]), LinearQuery.cell(coding, age=0).mean([8, 6, 4, 2])
    (10, 0.4)
    """

    weights: Array

    def __post_init__(self) -> None:
        given = np.asarray(self.weights)
        if not given.size:
            raise InvalidParameter("a linear query has a weight for every combination of codes: this one has none")
        if given.dtype.kind not in "biuf" or not np.array_equal(given, np.rint(given)) or np.abs(given).max() > 2**20:
            raise InvalidParameter("the weights of a linear query are whole numbers below 2^20: scale them first")
        set_frozen(self, weights=given.astype(np.int64))

    @classmethod
    def where(cls, coding: Coding, holds: Callable[..., Any] | Selection) -> "LinearQuery":
        """The rows on which a condition holds, such as `table["age"] >= 65`, on columns with a code for every value; or a
        predicate on codes, given as arrays by name: `lambda age, sex: (age > 3) & (sex == 1)`."""
        if isinstance(holds, Selection):
            return cls(_selected(coding, holds))
        grids = np.meshgrid(*(np.arange(size) for size in coding.sizes), indexing="ij")
        return cls(
            np.broadcast_to(np.asarray(holds(**dict(zip(coding.names, grids, strict=True))), dtype=bool), coding.sizes)
        )

    @classmethod
    def cell(cls, coding: Coding, **codes: int) -> "LinearQuery":
        """The rows that have these codes: a cell of a marginal table."""
        return cls._box(coding, {name: (code, code) for name, code in codes.items()})

    @classmethod
    def threshold(cls, coding: Coding, name: str, last: int) -> "LinearQuery":
        """The rows whose code is at most `last`."""
        return cls._box(coding, {name: (0, last)})

    @classmethod
    def between(cls, coding: Coding, name: str, first: int, last: int) -> "LinearQuery":
        """The rows whose code lies between two, both included."""
        return cls._box(coding, {name: (first, last)})

    @classmethod
    def _box(cls, coding: Coding, ends: Mapping[str, tuple[int, int]]) -> "LinearQuery":
        weights = np.ones(coding.sizes, dtype=np.int64)
        for name, (first, last) in ends.items():
            if name not in coding.names:
                raise InvalidParameter(f"there is no column {name!r:.60}; there are {', '.join(coding.names)}")
            place = coding.names.index(name)
            codes = np.arange(coding.sizes[place])
            shape = [-1 if i == place else 1 for i in range(len(coding.sizes))]
            weights = weights * ((codes >= first) & (codes <= last)).reshape(shape)
        return cls(weights)

    def count(self, cells: Any) -> int:
        """The answer on a table of counts, exactly."""
        return int(np.vdot(self.weights, np.asarray(cells, dtype=np.int64)))

    def mean(self, cells: Any) -> float:
        """The answer for each row of a table of counts."""
        return self.count(cells) / int(np.sum(cells))


def as_queries(asked: Any, sizes: tuple[int, ...]) -> Workload:
    """A workload over all combinations of codes: one of `privet.workloads` with this shape, or a list of linear queries.

    >>> as_queries([LinearQuery(np.array([1, 0]))], (2,)).queries
    1
    """
    if isinstance(asked, Workload):
        if tuple(asked.shape) != sizes and asked.cells != prod(sizes):
            raise InvalidParameter(f"the workload has the shape {tuple(asked.shape)}, the table {sizes}")
        return asked
    listed: Sequence[Any] = list(asked) if isinstance(asked, Sequence) else []
    if not listed or not all(isinstance(each, LinearQuery) and each.weights.shape == sizes for each in listed):
        raise InvalidParameter("queries are a workload, or a list of LinearQuery over the columns of the table")
    if len(listed) * prod(sizes) > _MOST:
        raise InvalidParameter(f"these queries have more than {_MOST:,} weights: take a workload such as Marginals")
    return Rows(np.stack([each.weights.reshape(-1) for each in listed]))


def _selected(coding: Coding, selection: Selection) -> Array:
    """The combinations of codes on which a condition holds, as the engine that counts rows decides it."""
    asked = selection.condition.names()
    if unknown := [name for name in asked if name not in coding.names]:
        raise InvalidParameter(f"there is no column {unknown[0]!r:.60}; there are {', '.join(coding.names)}")
    if prod(coding.sizes) > _MOST:
        raise InvalidParameter(
            f"the columns have more than {_MOST:,} combinations: ask about fewer, by coding.subset([...])"
        )
    names = [name for name in coding.names if name in asked]
    part = coding.subset(names)
    for name, edges in zip(names, part.edges, strict=True):
        if edges is not None:
            raise InvalidParameter(
                f"column {name!r} is in bins, on parts of which the condition may hold: take LinearQuery.between"
            )
    codes = np.indices(part.sizes).reshape(len(names), -1).T
    rows = Source("combinations", as_columns(part.columns), EachRow())  # each once: public, and free of charge
    kept = Where(rows, selection.condition)
    every = tuple(range(len(names)))
    data = Data({rows.name: part.decode(codes)}, None)
    (held,) = data.exact_marginals(Coded(kept, part), [every], drawn_salts())
    shape = [size if name in asked else 1 for name, size in zip(coding.names, coding.sizes, strict=True)]
    return np.broadcast_to(held.reshape(shape), coding.sizes)

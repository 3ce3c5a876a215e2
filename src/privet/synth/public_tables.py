"""Tables of rows that are public: a choice may take one of them where a measurement would be noisier than it is wrong."""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet._validate import count, set_frozen
from privet.errors import InvalidParameter
from privet.synth.graph import Clique, Measurement
from privet.synth.synthesis import exact_distance
from privet.synth.task import Task
from privet.tables import Coded, Data, Node, drawn_salts


@final
@dataclass(frozen=True, eq=False, repr=False)
class PublicTables:
    """Counts of the candidates in public rows, and the number of these rows: nothing of them is private.

    >>> public = PublicTables(4, {(0,): np.array([1, 3])})
    >>> public.shares((0,)).tolist(), public.measured({(0,): 2.0}, 100.0)[0].values.tolist()
    ([0.25, 0.75], [25.0, 75.0])
    """

    rows: int
    tables: Mapping[Clique, Array]

    def __post_init__(self) -> None:
        set_frozen(self, rows=count("rows", self.rows, 1))
        set_frozen(self, tables={each: np.asarray(table, dtype=np.int64) for each, table in self.tables.items()})

    @classmethod
    def of(cls, data: Data, rows: Node, task: Task, cliques: Iterable[Clique]) -> "PublicTables":
        """The tables of public data, whose rows are described as those of the task are."""
        listed = list(dict.fromkeys([(), *cliques]))
        try:
            coded = Coded(rows, task.coded.coding)
            data.check(coded)
        except InvalidParameter as problem:
            raise InvalidParameter(f"public= must be a table with the same columns: {problem}") from None
        found = dict(zip(listed, data.exact_marginals(coded, listed, drawn_salts()), strict=True))
        if not int(found[()]):
            raise InvalidParameter("public= has no row that the coding of the columns knows: leave it out")
        return cls(int(found.pop(())), found)

    def shares(self, clique: Clique) -> Array:
        """The share of the rows in every cell."""
        return self.tables[clique] / self.rows

    def offered(self, answers: Iterable[Clique], taken: Collection[Clique]) -> list[Clique]:
        """The candidates whose public table says more than the tables that were taken before."""
        held = [set(each) for each in taken]
        return [each for each in answers if each in self.tables and not any(set(each) <= more for more in held)]

    def measured(self, taken: Mapping[Clique, float], total: float) -> list[Measurement]:
        """The tables that were taken, for so many rows, each with the deviation that the fit gives it."""
        return [Measurement(each, self.shares(each) * total, sigma) for each, sigma in taken.items()]

    def __repr__(self) -> str:
        told = hashlib.sha256(str(self.rows).encode())
        for each, table in sorted(self.tables.items()):
            told.update(repr((each, table.shape)).encode() + table.tobytes())
        return f"<tables of {self.rows:,} public rows {told.hexdigest()[:24]}>"

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, PublicTables) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


def exact_gains(
    tables: Mapping[Clique, Array],
    answers: Mapping[Clique, Array],
    weights: Mapping[Clique, int],
    guesses: Mapping[Clique, Array],
) -> list[int]:
    """For each guess its weight times how much nearer to the data's table it is than the model's answer, in whole numbers
    of any size: not releasable.

    **Sensitivity:** a row moves both distances, by as much as it moves the table in l1: twice that, times the weight.
    """
    return [
        weights[c] * (exact_distance(tables[c], answers[c]) - exact_distance(tables[c], guess))
        for c, guess in guesses.items()
    ]

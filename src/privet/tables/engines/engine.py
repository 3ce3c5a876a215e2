"""The abstract engine: what holds data, reads their schema and adds up exactly what a plan asks for."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from privet._numerics import Array
from privet._registry import Registry
from privet.errors import InvalidData, InvalidParameter
from privet.tables.bounded import Aggregates, Bounded, Salts, Sources, arranged
from privet.tables.coded import Cliques, Coded
from privet.tables.keys import plain_key
from privet.tables.scan import Scan
from privet.tables.tally import Tally

Part = Callable[[Iterator[Array]], Any]


class RowsApart(ABC):
    """Rows of a scan that stay where they are: work is sent to them, and only totals come back."""

    @abstractmethod
    def exact_parts(self, part: Part) -> list[Any]:
        """The results of `part` on the rows of each piece, in blocks as they come: not releasable."""


class Engine(ABC):
    """A kind of place where tables lie. Subclasses have no state, one file each, under `@register`.

    All engines give the same sums, bit for bit: a law compares each with the oracle of the tests over random plans. A
    failure on the way must say nothing about rows (`failing.one_failure`).
    """

    name: ClassVar[str]
    reads: ClassVar[str]  # what it takes, as a list in words: part of the refusal of everything else
    rows_stay: ClassVar[bool] = False  # whether `exact_rows` are a `RowsApart`: fits then run by totals alone

    @abstractmethod
    def takes(self, data: object) -> bool:
        """True if this engine reads such data, by their type alone."""

    @abstractmethod
    def check(self, plan: Bounded | Scan | Coded, sources: Sources) -> None:
        """Refuse what the schema of the data does not fit, without a look at a row."""

    @abstractmethod
    def exact_aggregates(self, plan: Bounded, sources: Sources, salts: Salts, **settings: object) -> Aggregates:
        """The exact sums of every group, bounded for every person: not releasable."""

    @abstractmethod
    def exact_rows(self, scan: Scan, sources: Sources, **settings: object) -> Iterator[Array] | RowsApart:
        """The rows of a scan in blocks, once, in little memory, or where they lie: not releasable."""

    def exact_marginals(
        self, coded: Coded, cliques: Cliques, sources: Sources, salts: Salts, **settings: object
    ) -> list[Array]:
        """The tables of counts of several cliques of codes, bounded for every person: not releasable. Here by every
        combination of all codes that the data have; an engine that knows a shorter way takes it."""
        found = self.exact_aggregates(coded.bounded, sources, salts, **settings)
        tally = Tally(coded.coding.sizes, cliques)
        codes = np.array(found.found, dtype=np.int64).reshape(-1, len(coded.coding.sizes))
        tally.add(list(codes.T), found.rows)
        return tally.tables()

    def exact_codes(self, coded: Coded, sources: Sources, salts: Salts, **settings: object) -> Array:
        """The codes of every row that counts, in no order: not releasable. For small tables, such as holdouts."""
        raise InvalidData("rows of codes are read from files and data in memory: hand in the table as one of these")

    def same_rows(self, one: object, two: object) -> bool:
        """True if two tables share a row that is held once, as far as that can be told without a look at a value."""
        return one is two or bool(one == two)

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """Refuse settings that are not known, or that could change an answer."""
        raise InvalidParameter("settings are those of DuckDB, which reads files and data in memory: give them there")

    def kinds(self, data: object, *, look: bool) -> Mapping[str, str]:
        """The kind of each column in the engine, from the schema; with `look`, texts by their values: for the custodian
        alone."""
        raise InvalidData("a schema is drafted from a file or from data in memory; write that of a database by hand")


_DECLARED = {"int": "int", "float": "float", "decimal": "float", "bool": "bool", "date": "date", "time": "date"}


def declared(kinds: Mapping[str, str]) -> dict[str, str]:
    """The kinds of columns in a schema, by those that an engine has; what it has no word for is a text.

    >>> declared({"age": "int", "cost": "decimal", "who": "uuid"})
    {'age': 'int', 'cost': 'float', 'who': 'text'}
    """
    return {name: _DECLARED.get(kind, "text") for name, kind in kinds.items()}


def refuse_a_look(look: bool) -> None:
    """A database knows its kinds: nobody has to look at values for them."""
    if look:
        raise InvalidParameter("look= is for CSV files, which hold texts alone: this table has kinds in its own schema")


register: Registry[Engine] = Registry("engines")


def registered_engines() -> dict[str, type[Engine]]:
    """All engines by name.

    >>> from privet.tables import engines
    >>> "DuckDB" in engines.registered_engines()
    True
    """
    return register.members()


def answer(plan: Bounded, rows: list[Any]) -> Aggregates:
    """The rows of an answer to the SQL of a plan, keys first, in the public order."""
    columns, names = plan.rows.columns, plan.found_names
    width = len(names) + 2 + len(plan.cells) + len(plan.signed)
    listed: list[Any] = list(zip(*rows, strict=True)) if rows else [()] * width
    keys = [[plain_key(columns[name], value) for value in column] for name, column in zip(names, listed, strict=False)]
    return arranged(plan, keys, [np.array(each, dtype=np.int64) for each in listed[len(names) :]])

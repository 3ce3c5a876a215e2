"""The data behind a query: what its tables are, hidden, and the one door to exact aggregates of them."""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, final

import numpy as np

from privet import noise
from privet._numerics import Array
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms import sealed
from privet.tables.bounded import Aggregates, Bounded, Salts
from privet.tables.coded import Cliques, Coded
from privet.tables.engines import (
    Engine,
    RowsApart,
    check_sources,
    engine_of,
    exact_aggregates,
    exact_codes,
    exact_marginals,
    exact_rows,
)
from privet.tables.frames import is_frame
from privet.tables.mix import P
from privet.tables.scan import Scan


@final
class Data:
    """Private tables by name. What they hold is not shown, copied to text or pickled.

    >>> Data({"visits": {"age": [30, 40]}})
    <private data: visits>
    """

    __slots__ = ("_settings", "_tables")

    def __init__(self, tables: Mapping[str, Any], settings: Mapping[str, Any] | None = None) -> None:
        self._tables = dict(tables)
        self._settings = dict(settings or {})  # of the engine: they change no answer

    def __repr__(self) -> str:
        return f"<private data: {', '.join(self._tables)}>"

    def __reduce__(self) -> Any:
        raise InvalidParameter("private data are not pickled: open the table where it is asked")

    def __deepcopy__(self, memo: dict[int, Any]) -> "Data":
        """The same data with tables in memory copied, for audits that train on a fresh copy each time; what lies in files
        or databases is not changed by a run, and stays where it is."""
        copied = {name: deepcopy(table, memo) if is_frame(table) else table for name, table in self._tables.items()}
        return Data(copied, self._settings)

    def check(self, plan: Bounded | Coded) -> None:
        """Nothing if the plan can be run on these data, else an error; from the schema of the data alone.

        The data are looked at anew each time: since an earlier question a file may be gone, or a connection busy.
        """
        with sealed():
            check_sources(plan, self._tables)

    def exact_aggregates(self, plan: Bounded, salts: Salts) -> Aggregates:
        """Exact sums: not releasable."""
        with sealed():
            return exact_aggregates(plan, self._tables, salts, **self._settings)

    def exact_marginals(self, coded: Coded, cliques: Cliques, salts: Salts) -> list[Array]:
        """Tables of counts, one for each clique (a set of columns by their places in the coding), with an axis of codes for
        each of its columns, in its order: not releasable."""
        with sealed():
            return exact_marginals(coded, cliques, self._tables, salts, **self._settings)

    def exact_codes(self, coded: Coded, salts: Salts) -> Array:
        """The codes of every row that counts, a row each, in no order: not releasable. For holdouts and public tables."""
        with sealed():
            return exact_codes(coded, self._tables, salts, **self._settings)

    def check_rows(self, scan: Scan) -> Engine:
        """The engine that reads these rows, or an error where they cannot be read; from the schema of the data alone."""
        with sealed():
            check_sources(scan, self._tables)
        return engine_of(self._tables[scan.rows.sources[0].name])

    def exact_rows(self, scan: Scan) -> Iterator[Array] | RowsApart:
        """Rows of numbers: not releasable."""
        with sealed():
            held = exact_rows(scan, self._tables, **self._settings)
        return held if isinstance(held, RowsApart) else _read_sealed(held)

    def exact_content(self) -> Any:
        """The tables themselves, for tests that tell two made-up inputs apart: not releasable."""
        return self._tables

    def extended(self, records: list[Any], put: Callable[[Any, list[Any]], Any]) -> "Data":
        """The same data with more rows, each a mapping by column, at the end of its one table, in memory; `put` joins a
        table and the rows. For audits, which put canaries into made-up inputs."""
        if len(self._tables) != 1:
            raise InvalidData(
                "records go into data of one table; of several, put them into the one that is meant by hand"
            )
        ((name, table),) = self._tables.items()
        if not isinstance(table, Mapping) and not (is_frame(table) and hasattr(table, "columns")):
            raise InvalidData("records go into tables in memory: a mapping of arrays or a data frame")
        return Data({name: put(dict(table) if isinstance(table, Mapping) else table, records)}, self._settings)

    def holds_same(self, other: "Data") -> bool:
        """True where a table of both is one file or one object: public, since what they hold is not looked at."""
        return any(_same_source(one, two) for one in self._tables.values() for two in other._tables.values())

    def joined(self, other: "Data") -> "Data":
        """The tables of both; one name must stand for one table."""
        for name, table in other._tables.items():
            if name in self._tables and not _same_source(self._tables[name], table):
                raise InvalidParameter(f"two different tables are called {name!r}: give one of them another name=")
        for name, value in other._settings.items():
            if self._settings.get(name, value) != value:
                raise InvalidParameter(f"two tables of one query have another {name!r} in their settings: give one")
        return Data({**self._tables, **other._tables}, {**self._settings, **other._settings})


def _read_sealed(blocks: Iterator[Array]) -> Iterator[Array]:
    """The same blocks; the table is read while the next one is asked for, and not in between."""
    try:
        while True:
            with sealed():
                block = next(blocks, None)
            if block is None:
                return
            yield block
    finally:
        close = getattr(blocks, "close", None)
        if close is not None:
            close()


def _same_source(one: object, two: object) -> bool:
    """True if both are one file or one object: what they hold is not compared, since that is not public."""
    return one is two or (isinstance(one, str | Path) and isinstance(two, str | Path) and str(one) == str(two))


def drawn_salts(source: "noise.Source | None" = None) -> Salts:
    """Fresh random numbers for the choice of rows where there are too many: no row is preferred for what it holds.

    Privacy does not rest on them.

    >>> len(drawn_salts())
    5
    """
    drawn = noise.uniform_int(bound=P, size=5, source=source)
    return tuple(int(each) for each in np.asarray(drawn))  # type: ignore[return-value]

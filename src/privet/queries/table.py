"""The front: a private table that is described once and then asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import numpy as np

from privet._calls import door
from privet._markup import grid, note
from privet._validate import flag, items
from privet.errors import InvalidParameter, UnknownName
from privet.mechanisms import Release
from privet.queries.aggregate import Aggregate, AggregateOf
from privet.queries.aggregates import Count, with_columns
from privet.queries.bins import bins_of, edges_of, from_multiples
from privet.queries.covariances import CovarianceQuestion
from privet.queries.found_bounds import FoundBounds
from privet.queries.histograms import (
    BoundsQuestion,
    GroupQuantileQuestion,
    HistogramQuestion,
    MarginalQuestion,
    TopQuestion,
    bounds_question,
    filtered_counts,
    group_quantile_question,
    marginal_question,
    quantile_question,
    range_question,
    top_question,
)
from privet.queries.other_names import no_such_name
from privet.queries.person_features import with_features
from privet.queries.query import Query
from privet.queries.selection import ColumnOf, Selection, check_groups, condition_of, plain_names
from privet.queries.sql import query_of
from privet.tables import (
    Category,
    Clip,
    Column,
    CsvFile,
    Data,
    Date,
    Derive,
    Described,
    Float,
    KeySet,
    Linked,
    Node,
    Person,
    PersonJoin,
    PublicJoin,
    Ref,
    Rows,
    Source,
    Union,
    Where,
    write_schema,
)
from privet.tables.columns import as_columns, plain_value
from privet.tables.engines import check_settings
from privet.tables.keys import all_keys
from privet.tables.schema import read_schema_file

_WIDEST = 120  # letters of a list of categories that a display shows


@door
@final
@dataclass(frozen=True, eq=False, repr=False, init=False)
class Table(Described):
    """A private table: where the data are, what a person is, and what the columns may contain.

    `source` is a Parquet or CSV file (globs too), a data frame of pandas or Polars, an Arrow table, a mapping of arrays, a
    DuckDB relation, a PostgreSQL table or a Spark data frame. `unit` is `pv.Rows()` or `pv.Person(...)`; the ledger is
    opened with `table.unit`. Nothing is read from the data until a query is paid for.

    `settings` are those of DuckDB, which reads files and data in memory, that change no answer:
    `{"memory_limit": "3GB", "temp_directory": "/scratch"}`, `threads` and `max_temp_directory_size`. What does not fit into
    the memory goes into a private folder, which is removed, or into the one that is given.

    `separator` splits the columns of a CSV file (";", "|" or a tab), and `decimal=","` is that of its numbers.

    >>> import privet as pv
    >>> visits = pv.Table({"age": [30, 70, 80]}, columns={"age": pv.Int(0, 110)})
    >>> query = visits.where(visits["age"] >= 65).agg(n=pv.count())
    >>> ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=100.0), unit=visits.unit)
    >>> int(ledger.release(query, epsilon=50.0).value["n"][0])
    2
    """

    rows: Node
    data: Data = field(repr=False)

    def __init__(
        self,
        source: object,
        *,
        columns: Mapping[str, Column] | None = None,
        unit: Rows | Person | None = None,
        schema: str | Path | None = None,
        name: str | None = None,
        settings: Mapping[str, Any] | None = None,
        separator: str | None = None,
        decimal: str | None = None,
    ) -> None:
        source = _as_file(source, separator, decimal)
        if (columns is None) == (schema is None):
            raise InvalidParameter(
                'describe the columns: columns={"age": pv.Int(0, 110), ...}, or schema="visits.toml"'
            )
        if schema is not None:
            columns, written = read_schema_file(schema)
            unit = written if unit is None else unit
        about = Rows() if unit is None else unit
        if not isinstance(about, Rows | Person):
            raise InvalidParameter('unit must be pv.Rows() or pv.Person("column", max_rows=...)')
        if source is None or isinstance(source, int | float | bytes | list | tuple):
            raise InvalidParameter(
                "a table needs data with named columns: a file, a data frame, or a mapping of arrays, got "
                f"{type(source).__name__}"
            )
        called = _called(source) if name is None else name
        if not isinstance(called, str) or not called:
            raise InvalidParameter("name must be a text")
        if settings is not None:
            if not isinstance(settings, Mapping):
                raise InvalidParameter('settings must be a mapping such as {"memory_limit": "3GB"}')
            check_settings(source, settings)
        node = Source(called, as_columns(dict(columns) if isinstance(columns, Mapping) else columns), about)
        object.__setattr__(self, "rows", node)
        object.__setattr__(self, "data", Data({called: source}, settings))

    @staticmethod
    def _of(rows: Node, data: Data) -> "Table":
        made = object.__new__(Table)
        object.__setattr__(made, "rows", rows)
        object.__setattr__(made, "data", data)
        return made

    @property
    def schema(self) -> str:
        """The columns and the unit as TOML."""
        return write_schema(self.columns, self.rows.unit)

    @staticmethod
    @door
    def draft(source: object, *, look: bool = False, separator: str | None = None, decimal: str | None = None) -> str:
        """A schema with the names and kinds of the columns; bounds are marked to be filled in, never read from the data.

        A CSV file holds texts alone. With `look=True` its values are looked at, and a column in which all of them are
        whole numbers, numbers, days, or yes and no, is drafted as such. That is for the custodian, who may see the data:
        the draft then depends on them, and belongs to nobody else before it has been read. Of a PostgreSQL table or a
        Spark data frame the kinds are those of its own schema.
        """
        from privet.tables.engines import draft_of

        return draft_of(_as_file(source, separator, decimal), look=look)

    def __getitem__(self, name: str) -> ColumnOf:
        if not isinstance(name, str):
            raise InvalidParameter("take one column by its name; keep rows with table.where(condition)")
        Ref(name).column(self.columns)
        return ColumnOf(name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in (
            "rows",
            "data",
        ):  # libraries ask for the former, copies for fields not yet set
            raise AttributeError(name)
        if name in self.columns:
            raise UnknownName(f"take a column by its name in brackets: table[{name!r}]")
        raise no_such_name(self, name)

    def __iter__(self) -> Any:
        raise InvalidParameter("a private table cannot be looped over: ask for aggregates of it")

    def __len__(self) -> int:
        raise InvalidParameter("the number of rows is private: ask table.agg(n=pv.count())")

    @door
    def where(self, condition: Selection) -> "Table":
        """The rows on which the condition holds; where a value in it is missing, it does not."""
        return Table._of(Where(self.rows, condition_of(condition)), self.data)

    def derive(self, /, **columns: ColumnOf | Selection) -> "Table":
        """More columns, each computed from the others row by row; a condition is a column of yes and no. A name that exists
        gets a new meaning and new bounds."""
        rows = self.rows
        for name, made in columns.items():
            if not isinstance(made, ColumnOf | Selection):
                raise InvalidParameter(
                    f'{name} must be computed from columns, such as visits["cost"] * 2 or visits["age"] >= 65'
                )
            rows = Derive(rows, name, made.expression)
        return Table._of(rows, self.data)

    def bin(
        self, column: str, *, width: float | None = None, bins: int | None = None, into: str | None = None
    ) -> "Table":
        """A column of numbers put into bins of one width from its lower bound; bins are numbered from 0, and answers show
        where each begins and ends."""
        kind = self._binned(column)
        low, high = kind.span
        expression = bins_of(column, low, high, isinstance(kind, Float), width, bins)
        return Table._of(Derive(self.rows, into or f"{column}_bin", expression), self.data)

    def _binned(self, column: str) -> Column:
        kind = Ref(column).column(self.columns)
        if not (kind.numeric or isinstance(kind, Date)):
            raise InvalidParameter(f"column {column!r} holds {kind.describe()}, which have no bins")
        return kind

    def join_public(self, rows: Mapping[str, Any], *, on: str | list[str], columns: Mapping[str, Column]) -> "Table":
        """Every row with the public rows that agree on the columns `on`; without one it is left out."""
        listed = as_columns(dict(columns) if isinstance(columns, Mapping) else columns)
        names = (on,) if isinstance(on, str) else items("on", on)
        if not isinstance(rows, Mapping):
            raise InvalidParameter(f"rows must be a dict of columns, got {type(rows).__name__}")
        table = {name: [plain_value(each) for each in items(name, rows[name])] for name, _ in listed if name in rows}
        missing = [name for name, _ in listed if name not in table]
        if missing or len({len(each) for each in table.values()}) != 1:
            raise InvalidParameter("the public table needs every column that it declares, all of one length")
        made = tuple(zip(*(table[name] for name, _ in listed), strict=True))
        for (name, column), values in zip(listed, zip(*made, strict=True), strict=True):
            for value in values:
                if value is not None:
                    try:
                        column.read(value)
                    except InvalidParameter as problem:
                        raise InvalidParameter(f"public column {name!r}: {problem}") from None
        return Table._of(PublicJoin(self.rows, listed, made, names), self.data)

    @door
    def join(self, other: "Table") -> "Table":
        """Two tables of the same persons, joined on the person."""
        _private(other)
        return Table._of(PersonJoin(self.rows, other.rows), self.data.joined(other.data))

    def linked(self, link: "Table", *, on: str) -> "Table":
        """These rows with the persons that another table names, by a column that both have."""
        _private(link)
        if not isinstance(self.rows, Source) or not isinstance(link.rows, Source):
            raise InvalidParameter("link tables to persons first: filter and derive after that")
        return Table._of(Linked(self.rows, link.rows, on), self.data.joined(link.data))

    def union(self, *others: "Table") -> "Table":
        """The rows of several tables with the same columns."""
        data = self.data
        for other in others:
            _private(other)
            data = data.joined(other.data)
        return Table._of(Union((self.rows, *(other.rows for other in others))), data)

    def per_person(self, /, *, bounds: Mapping[str, Any] | None = None, **features: Any) -> "Table":
        """A table with one row for each person: how many rows they have, sums over them, and last values. Counts and sums
        are moved into `bounds`, which are public: noise follows from them, and no longer from rows of a person.

        >>> import privet as pv
        >>> data = {"who": [1, 1, 2], "cost": [20.0, 30.0, 70.0], "day": ["2024-05-01", "2024-05-03", "2024-05-02"]}
        >>> columns = {"cost": pv.Float(0, 500), "day": pv.Date("2024-01-01", "2024-12-31")}
        >>> visits = pv.Table(data, columns=columns, unit=pv.Person("who", max_rows=9))
        >>> bounds = {"total": (0, 900), "n": (0, 9)}
        >>> visits.per_person(total=pv.sum("cost"), n=pv.count(), latest=pv.last("cost", by="day"), bounds=bounds)
        <private table: total, n, latest; protected: one person (who; at most 1 rows)>
        """
        return Table._of(with_features(self.rows, features, bounds), self.data)

    @door
    def group_by(self, *names: str, keys: object = None, discover: bool = False) -> "Groups":
        """Groups by one or several columns: all their public values, the ones in `keys`, or those that are discovered."""
        names = plain_names(names)
        if keys is not None and len(names) == 1 and not isinstance(keys, Mapping | KeySet | str):
            keys = {names[0]: keys}
        if keys is not None and not isinstance(keys, Mapping | KeySet):
            raise InvalidParameter('keys must be a list, a mapping such as {"ward": ["A", "B"]}, or a KeySet')
        listed = KeySet.of(keys) if isinstance(keys, Mapping) else keys
        names = names or (() if listed is None else listed.names)
        if listed is not None and set(names) != set(listed.names):
            raise InvalidParameter("keys= must be about the columns that are grouped by, about all of them")
        if flag("discover", discover) and listed is not None:
            raise InvalidParameter("keys are given, or discovered, not both")
        check_groups(self.columns, names)
        if discover:
            return Groups(self, tuple(names), None)
        if listed is None:
            return Groups(self, tuple(names), all_keys(self.columns, tuple(names)))
        listed.plain_rows(self.columns)  # refused here, where they are given
        return Groups(self, listed.names, listed)

    @door
    def agg(self, /, *unnamed: object, **asked: Aggregate | AggregateOf) -> Any:
        """Aggregates of all rows together. Counts with conditions alone are planned as one workload."""
        _named(unnamed)
        counts = {
            name: each.where for name, each in asked.items() if isinstance(each, Count) and each.where is not None
        }
        if asked and len(counts) == len(asked):
            return self.counts(**counts)
        return Groups(self, (), KeySet((), ((),))).agg(**asked)

    @door
    def sql(
        self, text: str, *, public: Mapping[str, Any] | None = None, keys: object = None, discover: bool = False
    ) -> Query:
        """The query that a small part of SQL asks for: SELECT keys, AGG(column) AS name, ... FROM this table
        [JOIN a public one USING (column)] [WHERE condition] [GROUP BY keys]. `public` holds public tables by name, as
        mappings of columns or data frames; `keys` and `discover` are those of `group_by`.

        >>> import privet as pv
        >>> visits = pv.Table({"ward": ["A", "B"]}, columns={"ward": pv.Category(["A", "B"])}, name="visits")
        >>> print(visits.sql("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"))
        n: count by ward, of visits; ask it with ledger.release(query, epsilon=...)
        """
        return query_of(text, self, public=public, keys=keys, discover=discover)

    @door
    def counts(self, /, **conditions: object) -> HistogramQuestion:
        """The number of rows that meet each condition, all answered from one set of noisy cells with the least
        error."""
        return filtered_counts(self.rows, self.data, {name: condition_of(each) for name, each in conditions.items()})

    @door
    def histogram(
        self, column: str, *, width: float | None = None, bins: int | Sequence[object] | None = None
    ) -> Query:
        """The number of rows in each bin of a column, or each value where no bins are asked for.

        `bins` are as many as you say, or between the edges that you give, the last of which belongs to its bin:
        `bins=[18, 30, 40]` are [18, 30) and [30, 40], and other rows are in neither. Bins of a `width` begin at its
        multiples, such as 10, 20 and 30.
        """
        if width is None and bins is None:
            return self.group_by(column).agg(n=Count())
        name = f"{column}_bin"
        if bins is not None and not isinstance(bins, int | float | np.number):
            if width is not None:
                raise InvalidParameter("give either width= or bins=")
            return self._between(column, name, bins).agg(n=Count())
        made = self.bin(column, width=width, bins=bins)
        if width is not None:
            made = Table._of(Derive(self.rows, name, from_multiples(column, self._binned(column), width)), self.data)
        return made.group_by(name).agg(n=Count())

    def crosstab(self, rows: str, columns: str) -> Query:
        """The number of rows for every combination of the values of two columns; `release.value.wide(columns)` lays them
        out as a crosstab."""
        return self.group_by(rows, columns).agg(n=Count())

    def _between(self, column: str, name: str, edges: object) -> "Groups":
        """Groups between edges: what lies below the first or above the last is in none of them."""
        expression = edges_of(column, self._binned(column), edges)
        made = Table._of(Derive(self.rows, name, expression), self.data)
        return made.group_by(name, keys=range(1, len(expression.edges)))

    @door
    def find_bounds(self, column: str, *, failing: float = 0.01, epsilon: object = None) -> BoundsQuestion:
        """The bounds of a column of numbers, found in the data and paid for: the first and the last power of two between
        which rows are seen. Declare the column with bounds as wide as can be, such as `pv.Float(-1e9, 1e9)`.

        >>> import privet as pv
        >>> costs = [float(each) for each in range(100, 900)]
        >>> visits = pv.Table({"cost": costs}, columns={"cost": pv.Float(-1e9, 1e9)})
        >>> ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=100.0))
        >>> found = ledger.release(visits.find_bounds("cost"), epsilon=50.0).value
        >>> visits.with_bounds(found).columns["cost"].span
        (64.0, 1024.0)
        """
        if epsilon is not None:
            raise InvalidParameter(
                f"a ledger pays for bounds: ledger.release(table.find_bounds({column!r:.60}), epsilon=...)"
            )
        return bounds_question(self.rows, self.data, column, failing)

    def with_bounds(self, found: FoundBounds | Release[FoundBounds]) -> "Table":
        """The column moved into bounds that were found: its noise follows from them."""
        found = found.value if isinstance(found, Release) else found
        if not isinstance(found, FoundBounds):
            raise InvalidParameter(
                "give what ledger.release(table.find_bounds(...)) found; of bounds that you know write "
                'table.derive(cost=table["cost"].clip(0, 500))'
            )
        made = Clip(Ref(found.column), found.lower, found.upper)
        return Table._of(Derive(self.rows, found.column, made), self.data)

    def ranges(self, column: str, *, bins: int | None = None) -> HistogramQuestion:
        """All range counts of a column at once: `.value.answer(first, last)`."""
        return range_question(self.rows, self.data, column, bins)

    @door
    def quantiles(self, column: str, shares: object, *, bins: int | None = None) -> HistogramQuestion:
        """Several quantiles of a column, read off one release, with the whole distribution function."""
        return quantile_question(self.rows, self.data, column, tuple(items("shares", shares)), bins)

    def cdf(self, column: str, *, bins: int | None = None) -> HistogramQuestion:
        """The distribution function of a column: as `quantiles`, without any."""
        return quantile_question(self.rows, self.data, column, (), bins)

    def marginals(self, *names: str, way: int | None = None) -> MarginalQuestion:
        """The tables of counts of all combinations of `way` columns (2 unless you say so), from one release."""
        names = plain_names(names)
        return marginal_question(self.rows, self.data, names, min(2, len(names)) if way is None else way)

    def covariance(self, *names: str) -> CovarianceQuestion:
        """The covariances of columns of numbers, all of them from one release; rows with a missing value are left out."""
        return CovarianceQuestion(self.rows, plain_names(names), self.data)

    def correlation(self, *names: str) -> CovarianceQuestion:
        """The correlations of columns of numbers, as `covariance`."""
        return CovarianceQuestion(self.rows, plain_names(names), self.data, True)

    def top_k(self, column: str, k: int) -> TopQuestion:
        """The k most frequent values of a column, in order; counts are not shown."""
        return top_question(self.rows, self.data, column, k)

    def __repr__(self) -> str:
        return f"<private table: {', '.join(self.columns)}; protected: {self.rows.unit.describe()}>"

    def _repr_html_(self) -> str:
        rows = [(name, _contents(column)) for name, column in self.columns.items()]
        said = f"Private table. Protected: {self.rows.unit.describe()}. Rows and their number are not shown: ask for them, "
        return grid(["column", "what it may hold"], rows) + note(said + "as in table.agg(n=pv.count())")


@final
@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of rows, still to be asked something: `.agg(n=pv.count(), mean_cost=pv.mean("cost"))`."""

    table: Table
    names: tuple[str, ...]
    keys: KeySet | None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # libraries ask for these
            raise AttributeError(name)
        raise no_such_name(self, name)

    def agg(self, /, *unnamed: object, **asked: Aggregate | AggregateOf) -> Query:
        """The query for these aggregates; each is named by its keyword."""
        _named(unnamed)
        made: dict[str, Any] = dict(asked)
        for name, each in made.items():
            made[name] = each() if callable(each) and getattr(each, "__module__", "") == Aggregate.__module__ else each
        rows, outputs = with_columns(self.table.rows, made)
        return Query(rows, self.names, self.keys, tuple(outputs.items()), self.table.data)

    def quantiles(self, column: str, shares: object, *, bins: int | None = None) -> GroupQuantileQuestion:
        """Several quantiles of a column in every group, all from one release: a row for each group and share, with
        intervals that hold together for the quantiles of a group. The more bins, the finer and the noisier: 1,024 unless
        you say so, or one for each value where these are fewer."""
        if self.keys is None:
            raise InvalidParameter("quantiles need public keys: give keys=")
        listed = tuple(items("shares", shares))
        return group_quantile_question(self.table.rows, self.names, self.keys, column, listed, bins, self.table.data)


def _contents(column: Column) -> str:
    """The public words on a column, with the categories as far as they fit."""
    text = column.describe()
    if isinstance(column, Category):
        listed = ", ".join(map(str, column.values))
        text = f"{text}: {listed}" if len(listed) <= _WIDEST else f"{text}: {listed[:_WIDEST]} ..."
    return f"{text}, or missing" if column.null else text


def _as_file(source: object, separator: str | None, decimal: str | None) -> object:
    """The file as its writer split it; what is no file has neither separators nor decimal marks."""
    if separator is None and decimal is None:
        return source
    if not isinstance(source, str | Path):
        raise InvalidParameter("separator= and decimal= are for CSV files")
    return CsvFile(source, separator=separator, decimal=decimal)


def _private(other: object) -> None:
    if not isinstance(other, Table):
        raise InvalidParameter(
            f"another private table is needed here, got {type(other).__name__}; with a public one take join_public"
        )


def _named(unnamed: tuple[object, ...]) -> None:
    if unnamed:
        raise InvalidParameter("name each aggregate, as in agg(n=pv.count()): the name becomes its column")


def _called(source: object) -> str:
    if isinstance(source, str | Path):
        return Path(str(source)).name.split(".")[0].replace("*", "") or "table"
    return "table"

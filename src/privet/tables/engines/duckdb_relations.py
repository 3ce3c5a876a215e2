"""Relations of DuckDB, which live on a connection of the user's: whether they can be read, and how they hold columns."""

from typing import Any

from privet.errors import InvalidData
from privet.tables.dialect import DuckDB, Raw
from privet.tables.engines.duckdb_files import raw_kind
from privet.tables.person import Person
from privet.tables.plan import Source
from privet.tables.reading import Reading

# Texts that differ, of which some are equal under every collation but that of bytes: by case, by accents, by how letters
# are put together, by characters that are not seen. The type of a column does not say its collation, and a setting of the
# connection can give one to all columns.
_SPELLINGS = ("a", "A", "\u00e1", "a\u0301", "a\u0001", "a\u00ad")
_BUSY = (
    "its connection has an unfinished result, as after fetchone(): fetch until nothing is left, or make the relation on a "
    "cursor() of its own"
)
_GONE = "its connection is closed, what it reads is gone or has changed, or a transaction has failed there"


def is_relation(data: object) -> bool:
    """True if these are rows that a connection of DuckDB would make.

    >>> is_relation({"age": [30]})
    False
    """
    return type(data).__name__ == "DuckDBPyRelation"


def relation_reading(name: str, source: Source, data: Any) -> Reading:
    """The reading of a relation under this name. DuckDB takes names that differ by upper and lower case for one, and
    would read the first: of another column, or of other persons."""
    wanted = {*source.columns, *([source.about.column] if isinstance(source.about, Person) else [])}
    _refuse_unreadable(data)
    alike: dict[str, list[str]] = {}
    for each in data.columns:
        alike.setdefault(each.lower(), []).append(each)
    for each in sorted(wanted):
        if len(alike.get(each.lower(), [])) > 1:
            raise InvalidData(
                f"several columns of the relation are called {each!r}, whatever the case: rename all but one",
                column=each,
            )
    kinds: dict[str, Raw] = dict(zip(data.columns, map(raw_kind, map(str, data.types)), strict=True))
    for each in wanted & set(kinds):
        if kinds[each] == "text" and _is_collated(data, each):
            kinds[each] = "collated"
    return Reading(name, kinds)


def _refuse_unreadable(data: Any) -> None:
    """Ask for no rows at all: what fails then would fail for every table, and does before anything is paid."""
    import duckdb

    try:
        data.limit(0).fetchall()
    except duckdb.Error as problem:
        reason = _BUSY if type(problem).__name__ == "ResourceInUseException" else _GONE
    else:
        return
    raise InvalidData(f"the relation cannot be read: {reason}")


def _is_collated(data: Any, column: str) -> bool:
    """True if some texts that differ are equal in this column; none of its rows is looked at."""
    d = DuckDB()
    listed = ", ".join(f"({d.text(each)})" for each in _SPELLINGS)
    held = f"SELECT {d.quote(column)} AS x FROM privet_relation WHERE false UNION ALL SELECT * FROM (VALUES {listed})"
    found = data.query("privet_relation", f"SELECT count(DISTINCT x) FROM ({held})").fetchall()
    return bool(found[0][0] != len(_SPELLINGS))

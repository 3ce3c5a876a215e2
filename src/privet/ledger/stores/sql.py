"""The common ground of the SQL stores: one table of entries, one of balances, and the statements that read them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from privet.ledger.entry import Entry
from privet.ledger.store import Held, Txn

COLUMNS = "seq, prev, hash, kind, analyst, key, loss, amounts, body"
KEEP = """INTO {s}balance VALUES ({m}, {m}, {m})
 ON CONFLICT (scope) DO UPDATE SET sums = excluded.sums, upto_seq = excluded.upto_seq"""
_CHUNK = 2000  # entries that are read at a time: memory and speed only
_ENTRY = f"SELECT {COLUMNS} FROM {{s}}entry WHERE seq = {{m}}"
_HEAD = f"SELECT {COLUMNS} FROM {{s}}entry ORDER BY seq DESC LIMIT 1"
_SUMS = """SELECT sums, upto_seq, body FROM {s}balance LEFT JOIN {s}entry ON seq = upto_seq AND scope <> 'dataset'
 WHERE scope = {m}"""  # the session has the body of the head already
_FIND = f"""SELECT {COLUMNS} FROM {{s}}entry WHERE analyst = {{m}} AND key = {{m}} AND key IS NOT NULL
 ORDER BY kind = 'release' DESC, seq DESC LIMIT 1"""


class SqlRows(ABC):
    """Reading, whatever the rows come through. A store says how it marks a value, and reads a row as an entry.

    >>> sorted(SqlRows.__abstractmethods__)
    ['_entry_of', '_rows']
    """

    _mark = "?"
    _prefix = ""  # of the tables: the schema that they are in

    @abstractmethod
    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        """The answer to one statement."""

    @abstractmethod
    def _entry_of(self, row: Sequence[Any]) -> Entry:
        """A row as an entry."""

    def _ask(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        return self._rows(sql.format(s=self._prefix, m=self._mark), values)

    def entries(self, after: int = 0, kinds: Sequence[str] | None = None) -> Iterator[Entry]:
        sql, values = f"SELECT {COLUMNS} FROM {{s}}entry WHERE seq > {{m}}", tuple(kinds or ())
        if kinds is not None:  # the first test lets the partial index answer
            only = "kind NOT IN ('reserve', 'release') AND " if not {"reserve", "release"} & set(kinds) else ""
            sql += f" AND {only}kind IN ({', '.join([self._mark] * len(values))})"
        while True:
            rows = self._ask(f"{sql} ORDER BY seq LIMIT {_CHUNK}", (after, *values))
            for row in rows:
                yield self._entry_of(row)
            if len(rows) < _CHUNK:
                return
            after = int(rows[-1][0])

    def entry(self, seq: int) -> Entry | None:
        rows = self._ask(_ENTRY, (seq,))
        return self._entry_of(rows[0]) if rows else None

    def head(self) -> Entry | None:
        rows = self._ask(_HEAD)
        return self._entry_of(rows[0]) if rows else None

    def balances(self) -> dict[str, tuple[str, int]]:
        rows = self._ask("SELECT scope, sums, upto_seq FROM {s}balance")
        return {str(scope): (str(sums), int(upto)) for scope, sums, upto in rows}


class SqlTxn(Txn):
    """A write transaction on a connection.

    >>> sorted(SqlTxn.__abstractmethods__)
    ['_entry_of', 'append']
    """

    _mark = "?"
    _prefix = ""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    @abstractmethod
    def _entry_of(self, row: Sequence[Any]) -> Entry:
        """A row as an entry."""

    def _one(self, sql: str, values: Sequence[object] = ()) -> Any:
        return self._connection.execute(sql.format(s=self._prefix, m=self._mark), values).fetchone()

    def head(self) -> Entry | None:
        row = self._one(_HEAD)
        return None if row is None else self._entry_of(row)

    def sums(self, scope: str) -> Held | None:
        row = self._one(_SUMS, (scope,))
        return None if row is None else Held(*row)

    def find(self, analyst: str, key: str) -> Entry | None:
        row = self._one(_FIND, (analyst, key))
        return None if row is None else self._entry_of(row)

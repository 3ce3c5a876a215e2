"""Private records in a table: streamed from the engine that holds them, in little memory."""

from collections.abc import Callable, Iterator
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidData
from privet.learn.encoding import Encoding
from privet.learn.problem.records import Chunk, Records
from privet.learn.problem.spool import BLOCK, Spool
from privet.mechanisms import sealed
from privet.tables import Data, Node, Salts, Scan
from privet.tables.engines import RowsApart
from privet.tables.person_rows import bounded_rows
from privet.tables.plan import in_one_group

_FEW = 2**23  # numbers: of a table with less, unit rows are kept in memory


@final
class TableRecords(Records):
    """The rows of a table as `encoding` says. Nothing is read before the first pass, and one state of the table is seen
    by all passes: the engine is asked once, and what it says is kept in a file without a name (by Spark, in its own
    storage). A fit of `one_pass` reads from the engine alone.

    Rows of persons are read as `salted` has chosen them: `scan.most_rows` of each.

    >>> import privet as pv
    >>> table = pv.Table({"age": [50, 100]}, columns={"age": pv.Int(0, 100)})
    >>> records = TableRecords(table.rows, table.data, Encoding(table.columns))
    >>> [chunk.rows.tolist() for chunk in records.chunks()]
    [[[0.0], [1.0]]]
    >>> records.close()
    """

    __slots__ = ("_apart", "_data", "_encoding", "_held", "_one_pass", "_rows", "_salts", "_spool", "scan")

    def __init__(
        self, rows: Node, data: Data, encoding: Encoding, *, one_pass: bool = False, salts: Salts | None = None
    ) -> None:
        names = [*encoding.features, *([] if encoding.target is None else [encoding.target])]
        self.scan = Scan(rows, tuple(names))
        self._rows, self._data, self._encoding, self._one_pass = rows, data, encoding, one_pass
        self._apart, self._salts = data.check_rows(self.scan).rows_stay, salts
        self._spool: Spool | None = None
        self._held: RowsApart | None = None

    @staticmethod
    def most_rows(rows: Node) -> int:
        """The number of rows of one unit that are used: a fit has one group."""
        return in_one_group(rows).reach.most_rows

    @property
    def columns(self) -> int:
        return len(self._encoding.names)

    @property
    def target_kind(self) -> str | None:
        return self._encoding.target_kind

    @property
    def apart(self) -> bool:
        return self._apart

    @property
    def kept(self) -> bool:
        return not self._apart and not self._one_pass and self._spooled().numbers <= _FEW

    def salted(self, salts: Salts) -> "TableRecords":
        """The same records with the coins that choose among the rows of a person, to be closed by whoever asked."""
        return TableRecords(self._rows, self._data, self._encoding, one_pass=self._one_pass, salts=salts)

    def chunks(self) -> Iterator[Chunk]:
        if self._apart:
            raise InvalidData("rows do not leave their engine: only totals of them do")
        blocks = self._once() if self._one_pass else self._spooled().blocks()
        return _chunks(blocks, self._encoding, self.about_persons)

    @property
    def about_persons(self) -> bool:
        return self.scan.persons

    @property
    def unbounded(self) -> bool:
        return self.scan.persons and self._salts is None

    def exact_added(self, part: Callable[[Records], Any]) -> Any:
        if not self._apart:
            return part(self)
        held = self._data.exact_rows(self.scan) if self._held is None else self._held
        assert isinstance(held, RowsApart)
        self._held = held
        encoding, most, salts, persons = self._encoding, self.scan.most_rows, self._chosen_by, self.about_persons

        def work(blocks: Iterator[Array]) -> Any:
            kept = blocks if salts is None else bounded_rows(blocks, most, salts)
            return part(Piece(encoding, kept, persons))

        with sealed():
            parts = held.exact_parts(work)
        return _sum(parts or [work(iter(()))])  # an empty table may have no piece at all

    @property
    def _chosen_by(self) -> Salts | None:
        if self.unbounded:
            raise InvalidData("rows of persons are read by a release about persons alone")
        return self._salts

    def _once(self) -> Iterator[Array]:
        """The rows as the engine has them, in blocks of one size."""
        salts = self._chosen_by
        rows = self._data.exact_rows(self.scan)
        assert not isinstance(rows, RowsApart)
        return _even(rows if salts is None else bounded_rows(rows, self.scan.most_rows, salts))

    def _spooled(self) -> Spool:
        if self._spool is None:
            self._spool = Spool(self._once(), self.scan.width)
        return self._spool

    def close(self) -> None:
        """Give back what was kept for further passes."""
        if self._spool is not None:
            self._spool.close()
        self._held = None

    def exact_content(self) -> Any:
        """The tables and what is read of them, for tests that tell two made-up inputs apart: not releasable."""
        return [repr(self.scan), self._data.exact_content()]

    def public_question(self) -> Any:
        """Which rows of which table, and which columns of them: what a key in a ledger stands for besides the plan."""
        return [repr(self.scan), self._encoding.target]


@final
class Piece(Records):
    """Records that pass by once, where a piece of a table lies.

    >>> from privet.tables import Int
    >>> Piece(Encoding({"age": Int(0, 100)}), iter([]))
    <private records with 1 columns>
    """

    __slots__ = ("_blocks", "_encoding", "_persons")

    def __init__(self, encoding: Encoding, blocks: Iterator[Array], persons: bool = False) -> None:
        self._encoding, self._blocks, self._persons = encoding, blocks, persons

    @property
    def columns(self) -> int:
        return len(self._encoding.names)

    @property
    def target_kind(self) -> str | None:
        return self._encoding.target_kind

    @property
    def kept(self) -> bool:
        return False

    @property
    def about_persons(self) -> bool:
        return self._persons

    def chunks(self) -> Iterator[Chunk]:
        return _chunks(_even(self._blocks), self._encoding, self._persons)


def _chunks(blocks: Iterator[Array], encoding: Encoding, persons: bool = False) -> Iterator[Chunk]:
    for block in blocks:
        made = encoding.of_numbers(block)
        yield Chunk(made.rows, made.targets, block[:, -1] if persons else None)


def _even(blocks: Iterator[Array]) -> Iterator[Array]:
    """The same rows in blocks of one size, the last one apart: what is added up in floats does not depend on batches."""
    held: list[Array] = []
    many = 0
    for block in blocks:
        start = 0
        while many + len(block) - start >= BLOCK:
            end = start + BLOCK - many
            yield np.concatenate([*held, block[start:end]])
            held, many, start = [], 0, end
        if start < len(block):
            held.append(block[start:])
            many += len(block) - start
    if held:
        yield np.concatenate(held)


def _sum(parts: list[Any]) -> Any:
    """The sum of what pieces gave: arrays, numbers, or tuples of them; of whole numbers without an end."""
    first = parts[0]
    if isinstance(first, tuple):
        return tuple(_sum([part[i] for part in parts]) for i in range(len(first)))
    if isinstance(first, np.ndarray) and first.dtype.kind == "i":
        parts = [part.astype(object) for part in parts]
    total = parts[0]
    for each in parts[1:]:
        total = total + each
    return total

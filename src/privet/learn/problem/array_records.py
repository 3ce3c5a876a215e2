"""Private records in memory: arrays and CSR matrices."""

from collections.abc import Callable, Iterator
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidData
from privet.learn.problem.records import Chunk, Records

CHUNK = 2**14  # rows that are read at a time: memory and speed only


@final
class ArrayRecords(Records):
    """Rows X (two dimensions, numbers) and targets y, one record each. What they hold is not shown and not pickled.

    Only types and shapes are looked at here.

    >>> ArrayRecords(np.zeros((3, 2)), np.zeros(3))
    <private records with 2 columns>
    """

    __slots__ = ("_rows", "_targets")

    def __init__(self, rows: Any, targets: Any = None) -> None:
        if not _is_csr(rows):
            rows = np.asarray(rows)
        # numbers of more than 8 bytes would lose digits where rows become doubles
        if rows.ndim != 2 or rows.dtype.kind not in "biuf" or rows.dtype.itemsize > 8:
            raise InvalidData("the rows must be numbers in two dimensions, one row a record")
        if targets is not None:
            targets = np.asarray(targets)
            if targets.ndim != 1 or len(targets) != rows.shape[0]:
                raise InvalidData("there must be one target for each row, in one dimension")
        self._rows, self._targets = rows, targets

    @property
    def columns(self) -> int:
        return int(self._rows.shape[1])

    @property
    def sparse(self) -> bool:
        return _is_csr(self._rows)

    @property
    def length(self) -> int:
        return int(self._rows.shape[0])

    @property
    def target_kind(self) -> str | None:
        return None if self._targets is None else str(self._targets.dtype.kind)

    def chunks(self) -> Iterator[Chunk]:
        for start in range(0, self._rows.shape[0], CHUNK):
            piece = slice(start, start + CHUNK)
            yield Chunk(self._rows[piece], None if self._targets is None else self._targets[piece])

    def extended(self, records: list[Any], put: Callable[[Any, list[Any]], Any]) -> "ArrayRecords":
        """The same records and more at their end, each a row, or a pair of a row and its target where there are targets.

        For audits, which put canaries into made-up inputs. `put(array, rows)` is how they append to an array.
        """
        if self.sparse:
            raise InvalidData("records go into arrays; put them into a sparse matrix by hand")
        if self._targets is None:
            return ArrayRecords(put(self._rows, records))
        pairs = [each if isinstance(each, tuple) and len(each) == 2 else None for each in records]
        if None in pairs:
            raise InvalidData("records of a fit with targets are pairs: a row and its target")
        rows, targets = ([each[i] for each in pairs if each is not None] for i in range(2))
        return ArrayRecords(put(self._rows, rows), put(self._targets, targets))

    def exact_content(self) -> Any:
        """The arrays that hold all there is, by which laws compare two inputs of an example: not releasable."""
        rows = self._rows
        held = [rows.data, rows.indices, rows.indptr, list(rows.shape)] if _is_csr(rows) else [rows]
        return [*held, self._targets]


def _is_csr(rows: object) -> bool:
    return getattr(rows, "format", None) == "csr" and hasattr(rows, "indptr")


def dense(rows: Any) -> Array:
    """A chunk's rows as a float64 array."""
    return np.asarray(rows.toarray() if _is_csr(rows) else rows, dtype=np.float64)

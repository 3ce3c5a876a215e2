"""Tables and bags of values as rows of numbers, and the keyed marks that stand for texts."""

import dataclasses
import hashlib
import itertools
from collections.abc import Mapping, Set
from contextlib import suppress
from typing import Any

import numpy as np

from privet._numerics import Array
from privet.audit.search.unwrap import MOST_LEAVES, frame

_EXACT = 2**53  # whole numbers below it are exact as doubles
_NUMBERS = {bool, int, float, np.float64}
_REMEMBERED, _SHORT = 4_096, 256  # texts whose marks are kept, and their longest length: speed and memory only


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Marks:
    """Texts as keyed hashes: two equal texts have one mark, and no mark tells its text to those without the key.

    >>> marks = Marks(b"key")
    >>> marks.of("a") == marks.of("a"), marks.of("a") == marks.of("b")
    (True, False)
    """

    key: bytes
    _known: dict[str | bytes, float] = dataclasses.field(default_factory=dict)  # words come again and again

    def of(self, text: str | bytes) -> float:
        """A whole number below 2^52, as a float."""
        found = self._known.get(text)
        if found is None:
            raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
            found = float(int.from_bytes(hashlib.blake2b(raw, digest_size=8, key=self.key).digest()) >> 12)
            if len(self._known) < _REMEMBERED and len(text) <= _SHORT:
                self._known[text] = found
        return found


def rows_of(value: object, marks: Marks, table: object = None) -> Array | None:
    """A table or a bag of values as a matrix, one row a record, texts as marks; None for anything else.

    `table` is what `frame` made of the value, where that is known already.

    >>> rows_of([(1, 2.0), (3, 4.0)], Marks(b"key")).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    if isinstance(value, str | bytes | Mapping | np.generic | int | float) or value is None:
        return None
    if not isinstance(value, np.ndarray | tuple | list | Set):
        try:
            value = frame(value) if table is None else table
        except Exception:
            return None
        if isinstance(value, dict):
            columns = [np.asarray(column) for column in value.values()]
            if not columns or any(c.ndim != 1 for c in columns) or len({len(column) for column in columns}) != 1:
                return None
            return np.stack([_coded(column, marks) for column in columns], axis=1)
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "biuf" or value.ndim not in (1, 2) or hasattr(value, "mask"):
            return None
        table = value.astype(np.float64)
        return table.reshape(len(table), -1) if len(table) else None
    if value is None or not isinstance(value, tuple | list | Set) or not value:
        return None
    if isinstance(value, tuple | list) and set(map(type, value)) <= _NUMBERS:
        with suppress(OverflowError):  # an integer that no double holds
            table = np.array(value, dtype=np.float64)
            if bool((np.abs(table) < _EXACT).all()):
                return table[:, None]
    records = [_record(item) for item in itertools.islice(value, MOST_LEAVES)]
    widths = {None if record is None else len(record) for record in records}
    if len(widths) != 1 or None in widths:
        return None
    return (
        np.stack([_codes(list(column), marks) for column in zip(*records, strict=True)], axis=1) if records[0] else None
    )


def _record(item: object) -> list[Any] | None:
    if isinstance(item, Mapping):
        item = list(item.values())
    elif isinstance(item, np.ndarray):
        item = item.reshape(-1).tolist() if item.dtype.kind in "biufUSO" else None
    elif isinstance(item, np.generic):
        item = [item.item()]
    if isinstance(item, bool | int | float | str):
        return [item]
    if not isinstance(item, tuple | list) or not all(
        isinstance(v, bool | int | float | str | np.generic) for v in item
    ):
        return None
    return [v.item() if isinstance(v, np.generic) else v for v in item]


def _coded(column: Array, marks: Marks) -> Array:
    if column.dtype.kind in "bf" or (column.dtype.kind in "iu" and column.dtype.itemsize < 8):
        return column.astype(np.float64)
    return _codes(column.tolist(), marks)


def _codes(column: list[Any], marks: Marks) -> Array:
    """Numbers as they are, anything else by its mark (far apart from one another)."""
    coded = [
        v if isinstance(v, bool | float) or (isinstance(v, int) and abs(v) < _EXACT) else marks.of(str(v))
        for v in column
    ]
    return np.array(coded, dtype=np.float64)

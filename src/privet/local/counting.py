"""Counting reports where they lie: plain SQL, the same text for DuckDB, PostgreSQL and Spark.

Reports are public after the noise, so counting them needs no protection; only counts leave the engine.
"""

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from math import prod
from numbers import Integral
from typing import Any

import numpy as np

from privet._calls import door
from privet._numerics import Array
from privet._validate import items
from privet.errors import InvalidData, InvalidParameter
from privet.local.families.number import NumberProtocol
from privet.local.protocol import Protocol, whole_sum
from privet.local.state import State

_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*){0,2}")
_MOST = 2**24  # values that a report may have: an answer has a row for each
_WORD = 64  # bits of a column
_LARGEST = 2**40  # reports in one row of an answer
_ROWS = "these are not the rows of the counting query of this protocol"


@door
def engine_columns(protocol: Protocol, reports: Any) -> dict[str, Array]:
    """Reports as columns of 64-bit numbers, for a table in an engine: `report`, or `w0`, `w1`, ... where a report is bits.

    >>> from privet import local
    >>> engine_columns(local.KRR(k=4, epsilon=1.0), np.array([0, 3], dtype=np.uint8))["report"].tolist()
    [0, 3]
    """
    rows = protocol.rows(reports)
    if _counts_values(protocol):
        return {"report": rows.astype(np.int64)}
    _refuse_unless_bits(protocol)
    return {f"w{i}": np.ascontiguousarray(rows[:, i]).astype(np.uint64).view(np.int64) for i in range(rows.shape[1])}


@door
def counting_sql(protocol: Protocol, *, table: str = "reports") -> str:
    """The query that counts the reports in a table with the columns of `engine_columns`; `state_of_rows` reads its rows.

    One `GROUP BY` where a report is one number (randomized response, Hadamard, fast hashing, means), one sum for each bit
    where it is a row of bits, all of which are possible (unary encoding). What is no possible report falls into one row,
    whatever it is. PostgreSQL gives at most 1,664 columns, so at most 1,662 bits. Other protocols are refused, for a plain
    query would count what `State.add` drops; and reports with more than 2^24 values.

    >>> from privet import local
    >>> counting_sql(local.KRR(k=4, epsilon=1.0))
    'SELECT CASE WHEN report BETWEEN 0 AND 3 THEN report ELSE -1 END AS report, COUNT(*) AS n FROM reports GROUP BY 1'
    """
    if not isinstance(table, str) or not _NAME.fullmatch(table):
        raise InvalidParameter("table must be a plain name, such as reports or survey.reports")
    if _counts_values(protocol):
        possible = f"report BETWEEN 0 AND {_outputs(protocol) - 1}"
        return f"SELECT CASE WHEN {possible} THEN report ELSE -1 END AS report, COUNT(*) AS n FROM {table} GROUP BY 1"
    _refuse_unless_bits(protocol)
    within = [
        f"w{i} BETWEEN 0 AND {2**width - 1}" if width < _WORD else f"w{i} IS NOT NULL"
        for i, width in enumerate(protocol.widths)
    ]
    sums = [f"SUM(CASE WHEN {_bit(j)} THEN 1 ELSE 0 END) AS b{j}" for j in range(sum(protocol.widths))]
    valid = f"CASE WHEN {' AND '.join(within)} THEN 1 ELSE 0 END AS valid"
    return f"SELECT {valid}, COUNT(*) AS n, {', '.join(sums)} FROM {table} GROUP BY 1"


@door
def state_of_rows(protocol: Protocol, rows: Iterable[Sequence[Any]]) -> State:
    """The state that the rows of `counting_sql` stand for, in any order: those of `fetchall()` or `collect()`.

    >>> from privet import local
    >>> state = state_of_rows(local.KRR(k=4, epsilon=1.0), [(3, 5), (0, 2), (-1, 4)])
    >>> state.n, state.dropped, state.table.tolist()
    (7, 4, [2, 0, 0, 5])
    """
    state = State(protocol)
    found = [_whole(row) for row in items("rows", rows)]
    if _counts_values(protocol):
        counts, dropped = np.zeros(_outputs(protocol), dtype=np.int64), 0
        for row in found:
            if len(row) != 2 or not -1 <= row[0] < len(counts):
                raise InvalidData(_ROWS)
            if row[0] < 0:
                dropped += row[1]
            else:
                counts[row[0]] += row[1]
        n = whole_sum(counts)
        table = protocol.tally_counts(counts) if isinstance(protocol, NumberProtocol) else counts
        return state.add_counts(table.reshape(state.table.shape), n, dropped=dropped)
    _refuse_unless_bits(protocol)
    for row in found:
        if len(row) != 2 + sum(protocol.widths) or row[0] not in (0, 1):
            raise InvalidData(_ROWS)
        if row[0]:
            state.add_counts(np.array(row[2:]), row[1])
        else:
            state.add_counts(np.zeros_like(state.table), 0, dropped=row[1])
    return state


def _whole(row: Any) -> tuple[int, ...]:
    """The whole numbers of a row: a key, which may be -1, then counts, each below 2^40."""
    if isinstance(row, str | bytes) or not isinstance(row, Iterable):
        raise InvalidData(_ROWS)
    items = tuple(row)
    for item in items:
        is_whole = isinstance(item, Integral) and not isinstance(item, bool)
        if not is_whole and not (isinstance(item, Decimal) and item.is_finite() and item == item.to_integral_value()):
            raise InvalidData(_ROWS)
        if not -1 <= item < _LARGEST:
            raise InvalidData(_ROWS)
    if min(items[1:], default=0) < 0:
        raise InvalidData(_ROWS)
    return tuple(int(item) for item in items)


def _outputs(protocol: Protocol) -> int:
    """The number of values that a report that is one number may have."""
    return len(protocol.outcomes()) if isinstance(protocol, NumberProtocol) else prod(protocol.table_shape(None))


def _counts_values(protocol: Protocol) -> bool:
    """Is a report one number, and the state's table how often each was sent (or made of it)?"""
    return (protocol.coding == "value" or isinstance(protocol, NumberProtocol)) and _outputs(protocol) <= _MOST


def _refuse_unless_bits(protocol: Protocol) -> None:
    if protocol.coding != "bits":
        raise InvalidParameter(
            f"reports of this {type(protocol).__name__} are not counted by a plain query; use read_packets or add"
        )


def _bit(j: int) -> str:
    """Bit j of the words: the sign of a word is its last bit."""
    word, place = divmod(j, _WORD)
    return f"w{word} < 0" if place == _WORD - 1 else f"(w{word} & {2**place}) <> 0"

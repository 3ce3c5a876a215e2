"""Counting in an engine: the same state as counting here, whatever the table holds."""

import math
from decimal import Decimal

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from privet import local
from privet.errors import InvalidData, InvalidParameter
from tests.local.members import KINDS, made


def countable(protocol):
    try:
        local.counting_sql(protocol)
    except InvalidParameter:
        return False
    return True


def counted(protocol, columns):
    reports = pa.table({name: pa.array(values) for name, values in columns.items()})
    connection = duckdb.connect()
    connection.register("reports", reports)
    return local.state_of_rows(protocol, connection.sql(local.counting_sql(protocol)).fetchall())


@pytest.mark.parametrize("k", [2, 5, 64, 70])
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_an_engine_counts_what_a_state_counts(kind, k):
    protocol = made(kind, k=k)
    reports = protocol.privatize(np.arange(200) % protocol.size)
    if not countable(protocol):
        with pytest.raises(InvalidParameter, match="plain query"):
            local.engine_columns(protocol, reports)
        return
    assert counted(protocol, local.engine_columns(protocol, reports)) == protocol.new_state().add(reports)


@pytest.mark.parametrize("kind", [local.Duchi, local.Piecewise, local.Hybrid], ids=lambda kind: kind.__name__)
def test_means_are_counted_too(kind):
    protocol = kind(epsilon=2.0, bounds=(0.0, 10.0))
    reports = protocol.privatize(np.linspace(0.0, 10.0, 200))
    assert counted(protocol, local.engine_columns(protocol, reports)) == protocol.new_state().add(reports)


def test_what_is_no_report_is_one_row():
    protocol = local.KRR(k=3, epsilon=1.0)
    state = counted(protocol, {"report": [0, 2, 2, 3, -1, -7, 2**62, None]})
    assert (state.n, state.dropped, state.table.tolist()) == (3, 5, [1, 0, 2])


def test_randomized_response_is_counted_by_one_group_by():
    protocol = local.KRR(k=1024, epsilon=2.0)
    connection = duckdb.connect()
    connection.sql("CREATE TABLE reports AS SELECT (range * 7919) % 1030 AS report FROM range(100000)")
    state = local.state_of_rows(protocol, connection.sql(local.counting_sql(protocol)).fetchall())
    assert state.n + state.dropped == 100_000
    assert state.dropped == pytest.approx(100_000 * 6 / 1030, rel=0.01)


@pytest.mark.parametrize("cells", [8, 2, 9])
def test_the_bits_of_a_hash_are_no_supports(cells):
    """64 + 64 + 3 bits and as many values: the widths agree by chance."""
    for k in (129, 131, 132, 192):
        with pytest.raises(InvalidParameter, match="plain query"):
            local.counting_sql(local.OLH(k=k, epsilon=2.0, cells=cells))
    for depth, width in ((2, 4), (128, 64)):
        with pytest.raises(InvalidParameter, match="plain query"):
            local.counting_sql(local.CountMeanSketch(k=5, epsilon=2.0, depth=depth, width=width))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_an_engine_drops_what_a_state_drops(kind):
    protocol = made(kind, k=8)
    words = np.array([0, 1, 3, 255, 256, 2**40, 2**62], dtype=np.int64)
    reports = np.tile(words[:, None], (1, protocol.report_shape[0])) if protocol.report_shape else words
    if countable(protocol):
        assert counted(protocol, local.engine_columns(protocol, reports)) == protocol.new_state().add(reports)
    else:
        assert protocol.coding == "tally"


def test_the_sketch_of_single_numbers_is_counted_by_a_query():
    assert {name for name, kind in KINDS.items() if countable(made(kind, k=8))} == {
        "local_krr", "local_warner", "local_hadamard", "local_flh", "local_hadamard_sketch", "local_unary"
    }  # fmt: skip


@pytest.mark.parametrize(
    "row",
    [(0, 2**70), ("x", 1), (0, math.nan), (-1, -7), (0, -1), (0, 1.9), (0, 1.0), (0, True), (0, None), (None, 1), (0, "1"),
     (0, Decimal("NaN")), (0, Decimal("1.5")), (2**70, 1), 7, "01", ()],
    ids=repr,
)  # fmt: skip
def test_rows_whose_numbers_are_no_counts_are_refused(row):
    bits = local.UnaryEncoding(k=2, epsilon=1.0)
    with pytest.raises(InvalidData, match="counting query"):
        local.state_of_rows(local.KRR(k=3, epsilon=1.0), [(0, 1), row])
    if isinstance(row, tuple) and len(row) == 2:
        with pytest.raises(InvalidData, match="counting query"):
            local.state_of_rows(bits, [(1, 1, 0, 0), (row[0], row[1], 0, 0)])
    state = local.state_of_rows(local.KRR(k=3, epsilon=1.0), [(Decimal(2), Decimal(5)), (np.int64(0), np.int64(2))])
    assert state.table.tolist() == [2, 0, 5]
    with pytest.raises(InvalidData, match="cannot be the counts"):
        local.state_of_rows(bits, [(1, 3, 4, 0)])  # four ones in three reports


def test_rows_of_another_query_are_refused():
    protocol = local.KRR(k=3, epsilon=1.0)
    for rows in ([(3, 1)], [(-2, 1)], [(0, 1, 2)]):
        with pytest.raises(InvalidData, match="counting query"):
            local.state_of_rows(protocol, rows)
    for table in ("reports; DROP TABLE x", "a b", "", 'a"b', 7):
        with pytest.raises(InvalidParameter, match="plain name"):
            local.counting_sql(protocol, table=table)

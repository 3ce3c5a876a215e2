"""The counting query of local reports on real servers: the same text and the same state on DuckDB, PostgreSQL and Spark."""

import uuid

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from privet import local
from privet.errors import InvalidData
from tests.local.members import made

COUNTED = [
    made(local.Warner), made(local.KRR, k=70), made(local.HadamardResponse, k=8), made(local.FLH, k=70),
    made(local.HadamardSketch, k=8), made(local.UnaryEncoding, k=5), made(local.UnaryEncoding, k=64),
    made(local.UnaryEncoding, k=130), local.Duchi(epsilon=2.0, bounds=(0.0, 10.0)),
    local.Hybrid(epsilon=2.0, bounds=(0.0, 10.0)),
]  # fmt: skip
WORDS = [0, 1, 3, 255, 256, 2**40, 2**62, -1, -(2**63), None]


def tables():
    """Columns of honest reports and of others, with what a state makes of them; a missing word is no report."""
    for protocol in COUNTED:
        values = np.arange(300) % 11
        columns = local.engine_columns(protocol, protocol.privatize(values))
        whole = {name: [*column.tolist(), *WORDS] for name, column in columns.items()}
        rows = np.array([[-1 if word is None else word for word in column] for column in whole.values()]).T
        rows = rows if protocol.report_shape else rows[:, 0]
        reports = rows.astype(np.int64).view(np.uint64) if protocol.coding == "bits" else rows
        if protocol.coding == "bits":  # the last row has missing words: dropped, whatever the width
            state = protocol.new_state().add(reports[:-1])
            state.dropped += 1
        else:
            state = protocol.new_state().add(reports)
        yield protocol, whole, state


LISTED = [pytest.param(*case, id=repr(case[0])) for case in tables()]
CASES = pytest.mark.parametrize(("protocol", "columns", "expected"), LISTED)
# Spark takes seconds for each: one of every coding in every run.
ON_SPARK = [
    each if place in (0, 4, 9) else pytest.param(*each.values, id=each.id, marks=pytest.mark.slow)
    for place, each in enumerate(LISTED)
]


@CASES
def test_duckdb(protocol, columns, expected):
    connection = duckdb.connect()
    connection.register("reports", pa.table({name: pa.array(words, pa.int64()) for name, words in columns.items()}))
    assert local.state_of_rows(protocol, connection.sql(local.counting_sql(protocol)).fetchall()) == expected


@CASES
def test_postgresql(clinic, protocol, columns, expected):
    name = f"reports_{uuid.uuid4().hex[:12]}"
    clinic.execute(f"CREATE TABLE {name} ({', '.join(f'{column} bigint' for column in columns)})")
    with clinic.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN") as copy:
        for row in zip(*columns.values(), strict=True):
            copy.write_row(row)
    rows = clinic.execute(local.counting_sql(protocol, table=f"public.{name}")).fetchall()
    assert local.state_of_rows(protocol, rows) == expected


@pytest.mark.parametrize(("protocol", "columns", "expected"), ON_SPARK)
def test_spark(session, tmp_path, protocol, columns, expected):
    name, place = f"reports_{uuid.uuid4().hex[:12]}", str(tmp_path / "reports.parquet")
    parquet.write_table(pa.table({name: pa.array(words, pa.int64()) for name, words in columns.items()}), place)
    session.read.parquet(place).createOrReplaceTempView(name)
    rows = session.sql(local.counting_sql(protocol, table=name)).collect()
    assert local.state_of_rows(protocol, rows) == expected


def test_a_query_that_counts_one_value_too_many_would_be_noticed():
    """The twin of the query takes the first number that is no report."""
    protocol, columns, expected = next(case for case in tables() if case[0] == COUNTED[1])
    connection = duckdb.connect()
    connection.register("reports", pa.table({"report": pa.array([*columns["report"], 70], pa.int64())}))
    honest = connection.sql(local.counting_sql(protocol)).fetchall()
    broken = connection.sql(local.counting_sql(protocol).replace("AND 69", "AND 70")).fetchall()
    assert local.state_of_rows(protocol, honest).dropped == expected.dropped + 1
    with pytest.raises(InvalidData, match="counting query"):
        local.state_of_rows(protocol, broken)

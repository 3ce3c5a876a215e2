"""Servers through the door that users take: `pv.Table`, a ledger, a release; and what a key stands for."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet as pv
from privet.errors import InvalidData, InvalidParameter, KeyConflict
from privet.tables.engines import duckdb
from tests.tables.conftest import put_postgres

COLUMNS = {"ward": pv.Category(["A", "B"], null=True), "cost": pv.Float(-10.0, 100.0), "age": pv.Int(0, 110)}
ROWS = {
    "who": ("int", [1, 1, 1, 2, 3, 3, 4, None] * 20),
    "ward": ("text", ["A", "A", "B", "B", None, "C", "A", "A"] * 20),
    "cost": ("float", [1.0, -500.0, float("nan"), 20.0, float("inf"), 3.0, None, 7.0] * 20),
    "age": ("int", [30, 200, 40, None, 50, 60, -3, 70] * 20),
}
PERSON = pv.Person("who", max_groups=2, max_rows_per_group=10)


def paying(table: pv.Table) -> pv.Ledger:
    return pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e9, delta=1e-3), unit=table.unit)


def answered(source: Any, unit: Any) -> list[Any]:
    """With so little noise that every answer is the exact one."""
    table = pv.Table(source, columns=COLUMNS, unit=unit, name="visits")
    kept = table.where((table["age"] >= 35) | table["cost"].is_missing())
    query = kept.group_by("ward").agg(n=pv.count(), people=pv.count_persons(), s=pv.sum("cost"), m=pv.mean("age"))
    found = paying(table).release(query, epsilon=1e8).value
    return [found[name].round(3).tolist() for name in ("n", "people", "s", "m")]


@pytest.mark.parametrize("unit", [pv.Rows(), pv.Rows(relation="replace"), PERSON], ids=["rows", "replaced", "persons"])
def test_postgres_answers_as_arrays_do(clinic: Any, postgres_url: str, unit: Any) -> None:
    held = {name: values for name, (_, values) in ROWS.items()}
    place = put_postgres(clinic, {"visits": ROWS}, postgres_url)["visits"]
    assert isinstance(place, pv.tables.PostgresTable)
    if unit.unit.person is None:
        assert answered(place, unit) == answered(held, unit)
    else:  # which rows of a person are kept follows a fresh salt; how many does not
        assert [answered(place, unit)[i] for i in (1,)] == [answered(held, unit)[i] for i in (1,)]


def test_spark_answers_as_arrays_do(session: Any) -> None:
    held = {name: values for name, (_, values) in ROWS.items()}
    rows = list(zip(*held.values(), strict=True))
    frame = session.createDataFrame(rows, "who long, ward string, cost double, age long")
    assert answered(frame, pv.Rows()) == answered(held, pv.Rows())


def test_a_wrong_column_is_refused_before_anything_is_paid(clinic: Any, postgres_url: str) -> None:
    place = put_postgres(clinic, {"visits": ROWS}, postgres_url)["visits"]
    for columns in ({"height": pv.Int(0, 9)}, {"cost": pv.Date("2024-01-01", "2024-12-31")}):
        table = pv.Table(place, columns=columns)
        ledger = paying(table)
        with pytest.raises(InvalidData, match=r"column '(height|cost)'"):
            ledger.release(table.agg(m=pv.median(next(iter(columns)))), epsilon=1.0)
        assert [entry.kind for entry in ledger.entries()].count("reserve") == 0


def test_a_key_on_a_database_is_answered_and_tells_versions_apart_by_a_public_word(
    clinic: Any, postgres_url: str
) -> None:
    place = put_postgres(clinic, {"visits": ROWS}, postgres_url)["visits"]
    table = pv.Table(place, columns=COLUMNS)
    ledger, query = paying(table), table.agg(n=pv.count())
    first = ledger.release(query, epsilon=1.0, key="May", about="2024-05")
    assert ledger.release(query, epsilon=1.0, key="May", about="2024-05").value == first.value
    with pytest.raises(KeyConflict):
        ledger.release(query, epsilon=1.0, key="May")


def test_a_used_key_does_not_tell_whether_a_file_has_changed(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "visits.parquet"
    pq.write_table(pa.table({"age": [30, 40]}), path)
    table = pv.Table(str(path), columns={"age": pv.Int(0, 110)})
    ledger, query = paying(table), table.agg(n=pv.count())
    first = ledger.release(query, epsilon=0.1, key="May")
    pq.write_table(pa.table({"age": [30, 40, 50] * 100}), path)
    again = ledger.release(query, epsilon=0.1, key="May")
    assert (again.value, again.stored) == (first.value, 3)
    with pytest.raises(KeyConflict):
        ledger.release(table.where(table["age"] > 35).agg(n=pv.count()), epsilon=0.1, key="May")


def test_a_used_key_does_not_tell_whether_arrays_are_equal() -> None:
    ledger, values = None, []
    for ages in (np.array([30, 40]), np.array([30, 40]), np.array([30, 41])):
        table = pv.Table({"age": ages}, columns={"age": pv.Int(0, 110)})
        ledger = ledger or paying(table)
        values.append(ledger.release(table.agg(n=pv.count()), epsilon=0.1, key="May").value)
    assert values[0] == values[1] == values[2]


def test_settings_of_the_engine_are_refused_before_anything_is_paid() -> None:
    held, columns = {"a": [1, 2, 3]}, {"a": pv.Int(0, 9)}
    for wrong in ({"memory_limit": "much"}, {"default_collation": "nocase"}, "3GB"):
        with pytest.raises(InvalidParameter, match=r"settings|DuckDB"):
            pv.Table(held, columns=columns, settings=wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="settings are those of DuckDB"):
        pv.Table(pv.tables.PostgresTable("postgresql://nowhere", "t"), columns=columns, settings={"threads": 1})


def test_settings_of_the_engine_reach_it(monkeypatch: pytest.MonkeyPatch) -> None:
    held, columns, given = {"a": [1, 2, 3]}, {"a": pv.Int(0, 9)}, []
    opened = duckdb._opened
    monkeypatch.setattr(duckdb, "_opened", lambda settings: given.append(dict(settings)) or opened(settings))
    table = pv.Table(held, columns=columns, settings={"memory_limit": "1GB", "threads": 1}, name="one")
    query = table.agg(n=pv.count())
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=100.0), unit=table.unit)
    assert ledger.release(query, epsilon=50.0).value["n"][0] == 3
    assert [(each["memory_limit"], each["threads"]) for each in given if "temp_directory" in each] == [("1GB", 1)]
    other = pv.Table({"a": [4]}, columns=columns, settings={"memory_limit": "2GB"}, name="two")
    with pytest.raises(InvalidParameter, match="memory_limit"):
        table.union(other)


@pytest.mark.parametrize(
    "columns", [{"v": [1, 1], "w": [1]}, {"v": np.ones(2), "w": np.ones(3)}], ids=["lists", "arrays"]
)
def test_columns_of_unequal_lengths_cost_nothing(columns):
    table = pv.Table(columns, columns={"v": pv.Int(0, 1), "w": pv.Int(0, 1)})
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=3.0))
    before = len(list(ledger.entries()))
    for query in (table.agg(a=pv.sum("v"), b=pv.sum("w")), table.agg(a=pv.sum("v"))):
        with pytest.raises(InvalidData, match="one length"):
            ledger.release(query, epsilon=0.5)
    assert len(list(ledger.entries())) == before

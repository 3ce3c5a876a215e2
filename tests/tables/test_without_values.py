"""A column without any value: its type in a frame or a file says that there is none, and its neighbour's says another."""

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import privet as pv
from privet.tables import Text

MADE: dict[str, Any] = {
    "Polars": lambda n, _: pl.DataFrame({"a": pl.Series([None] * n, dtype=pl.Null)}),
    "Arrow": lambda n, _: pa.table({"a": pa.nulls(n)}),
    "pandas over Arrow": lambda n, _: pd.DataFrame({"a": pd.array([None] * n, dtype=pd.ArrowDtype(pa.null()))}),
    "pandas": lambda n, _: pd.DataFrame({"a": pd.Series([None] * n, dtype=object)}),
    "list": lambda n, _: {"a": [None] * n},
}


def parquet(n: int, folder: Path) -> str:
    pq.write_table(pa.table({"a": pa.nulls(n)}), folder / "a.parquet")
    return str(folder / "a.parquet")


MADE["Parquet"] = parquet

COLUMNS: dict[str, tuple[Any, Any]] = {
    "Int": (pv.Int(0, 9), 1),
    "Float": (pv.Float(0, 9), 1.0),
    "Bool": (pv.Bool(), True),
    "Category of texts": (pv.Category(["x", "y"]), "x"),
    "Category of numbers": (pv.Category([1, 2]), 1),
    "Date": (pv.Date("2020-01-01", "2021-01-01"), "2020-02-02"),
    "Time": (pv.Time("2020-01-01", "2021-01-01"), "2020-02-02"),
    "Text": (Text(), "x"),
}


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("form", MADE)
def test_a_column_without_any_value_is_missing_whatever_it_is_declared(form: str, column: str, tmp_path: Path) -> None:
    declared, value = COLUMNS[column]
    for n in (0, 3):
        table = pv.Table(MADE[form](n, tmp_path), columns={"a": declared})
        ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e4), unit=table.unit)
        there = ledger.release(table.where(table["a"] == value).agg(n=pv.count()), epsilon=1e3)
        rows = ledger.release(table.agg(n=pv.count()), epsilon=1e3)
        assert [int(each.value["n"][0]) for each in (there, rows)] == [0, n]

"""A column without any value: its type in a frame or a file says that there is none, and its neighbour's says another."""

from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import privet as pv
from privet.tables import Text
from tests.firsts import slow

MADE: dict[str, Any] = {
    "Polars": lambda n, _: pl.DataFrame({"a": pl.Series([None] * n, dtype=pl.Null)}),
    "Arrow": lambda n, _: pa.table({"a": pa.nulls(n)}),
    "pandas over Arrow": lambda n, _: pd.DataFrame({"a": pd.array([None] * n, dtype=pd.ArrowDtype(pa.null()))}),
    "pandas": lambda n, _: pd.DataFrame({"a": pd.Series([None] * n, dtype=object)}),
    "pandas, read from a file": lambda n, _: pd.read_csv(StringIO("a,b\n" + ",1\n" * n), dtype={"b": "int64"})[["a"]],
    "pandas, read as nullable": lambda n, _: pd.read_csv(
        StringIO("a,b\n" + ",1\n" * n), dtype_backend="numpy_nullable"
    )[["a"]],
    "pandas, of floats": lambda n, _: pd.DataFrame({"a": pd.Series([float("nan")] * n, dtype="float64")}),
    "pandas, of nullable floats": lambda n, _: pd.DataFrame({"a": pd.array([None] * n, dtype="Float64")}),
    "pandas over Arrow, converted": lambda n, _: pd.DataFrame({"a": [float("nan")] * n}).convert_dtypes(
        dtype_backend="pyarrow"
    ),
    "pandas, without categories": lambda n, _: pd.DataFrame({"a": pd.Series([None] * n, dtype="category")}),
    "pandas, objects that are not a number": lambda n, _: pd.DataFrame(
        {"a": pd.Series([float("nan")] * n, dtype=object)}
    ),
    "pandas, objects that are missing": lambda n, _: pd.DataFrame({"a": pd.Series([pd.NA] * n, dtype=object)}),
    "pandas, objects that are no time": lambda n, _: pd.DataFrame({"a": pd.Series([pd.NaT] * n, dtype=object)}),
    "list": lambda n, _: {"a": [None] * n},
}


def parquet(n: int, folder: Path) -> str:
    pq.write_table(pa.table({"a": pa.nulls(n)}), folder / "a.parquet")
    return str(folder / "a.parquet")


def csv(n: int, folder: Path) -> str:
    (folder / "a.csv").write_text("a,b\n" + "".join((",1\n", '"",1\n')[i % 2] for i in range(n)))
    return str(folder / "a.csv")


MADE["CSV"] = csv
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


# In every run each form meets two kinds of columns, and each kind two forms or more.
@pytest.mark.parametrize(
    ("form", "column"),
    [
        (form, column) if (i - j) % len(COLUMNS) in (0, 3) else slow((form, column))
        for i, form in enumerate(MADE)
        for j, column in enumerate(COLUMNS)
    ],
)
def test_a_column_without_any_value_is_missing_whatever_it_is_declared(form: str, column: str, tmp_path: Path) -> None:
    declared, value = COLUMNS[column]
    for n in (0, 3):
        table = pv.Table(MADE[form](n, tmp_path), columns={"a": declared})
        ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e4), unit=table.unit)
        there = ledger.release(table.where(table["a"] == value).agg(n=pv.count()), epsilon=1e3)
        rows = ledger.release(table.agg(n=pv.count()), epsilon=1e3)
        assert [int(each.value["n"][0]) for each in (there, rows)] == [0, n]


@pytest.mark.parametrize("column", ["Category of texts", "Date", "Time", "Text"])
@pytest.mark.parametrize("dtype", ["float64", "Int64", "Float64", "int64[pyarrow]", "double[pyarrow]"])
def test_nobodys_number_decides_whether_a_column_of_pandas_is_refused(column: str, dtype: str) -> None:
    """Were such a column taken only without values, one person with a number would have it refused."""
    declared, value = COLUMNS[column]
    for held in ([None, None], [1, None]):
        table = pv.Table(pd.DataFrame({"a": pd.Series(held, dtype=dtype)}), columns={"a": declared})
        ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e4), unit=table.unit)
        found = ledger.release(table.where(table["a"] == value).agg(n=pv.count()), epsilon=1e3)
        assert int(found.value["n"][0]) == 0


@pytest.mark.parametrize("held", [np.array([1, 2]), np.array([True, False])])
def test_a_type_that_no_column_without_values_has_is_refused(held: np.ndarray) -> None:
    table = pv.Table(pd.DataFrame({"a": held}), columns={"a": pv.Category(["x"])})
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0), unit=table.unit)
    with pytest.raises(pv.errors.InvalidData, match="declared as one of 1 values"):
        ledger.release(table.where(table["a"] == "x").agg(n=pv.count()), epsilon=0.5)


@pytest.mark.parametrize("dtype", ["int64", "float64", "Int64", "Float64", "double[pyarrow]", "category"])
def test_numbers_that_are_declared_as_texts_stay_texts_when_a_row_without_one_comes(dtype: str) -> None:
    """pandas makes floats of whole numbers where one is missing: one person without any must not hide all others."""
    held: list[list[Any]] = [[7, 8, 7]]
    held += [] if dtype == "int64" else [[7, 8, 7, None]]
    held += [] if "nt64" in dtype else [[7, 8, 7, None, 7.5, float("inf"), 2.0**53]]  # no whole numbers that are known
    for rows in held:
        table = pv.Table(pd.DataFrame({"a": pd.Series(rows, dtype=dtype)}), columns={"a": Text()})
        ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e4), unit=table.unit)
        found = ledger.release(table.where(table["a"] == "7").agg(n=pv.count()), epsilon=1e3)
        assert int(found.value["n"][0]) == 2
        known = ledger.release(
            table.where(table["a"].isin(["7", "8", "7.5", str(2**53)])).agg(n=pv.count()), epsilon=1e3
        )
        assert int(known.value["n"][0]) == 3


def test_a_column_without_any_value_in_spark(session: Any) -> None:
    frame = session.sql("SELECT NULL AS a FROM range(3)")
    assert dict(frame.dtypes) == {"a": "void"}
    for declared, value in COLUMNS.values():
        table = pv.Table(frame, columns={"a": declared})
        ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e4), unit=table.unit)
        there = ledger.release(table.where(table["a"] == value).agg(n=pv.count()), epsilon=1e3)
        assert int(there.value["n"][0]) == 0

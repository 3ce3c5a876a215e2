"""The same law where data cannot be read: in memory, in files, on connections. Seen before anything is paid."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import privet as pv
from tests.queries.kinds import (
    BY_FILE,
    COLUMNS,
    KINDS,
    PROMISE,
    WHO,
    N,
    asked,
    check_costs_nothing,
    planned,
    table,
    visits,
    without,
)


def _released(ledger: pv.Ledger, name: str, question: Any, *, whole: bool) -> Any:
    """The question, planned anew (`whole`), or its data with the plan of its kind: planning takes most of the time."""
    return ledger.release(question, **PROMISE) if whole else ledger.release(planned(name), question.data)


def test_the_plan_of_a_kind_takes_data_from_elsewhere(tmp_path: Path) -> None:
    """So what is refused below is wrong with the data, and not with the plan."""
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=100.0, delta=1e-3), unit=table().unit)
    path = _parquet(tmp_path)
    for name in BY_FILE:
        assert _released(ledger, name, asked(name, table(path)), whole=False).paid is not None


def _frame(**changed: Any) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(visits() | changed)


MEMORY: dict[str, Callable[[str], Any]] = {
    "nothing": lambda c: None,
    "a number": lambda c: 3,
    "a list of rows": lambda c: [visits()],
    "an array": lambda c: np.zeros((3, 2)),
    "a generator": lambda c: (row for row in []),
    "an empty mapping": lambda c: {},
    "without the column": without,
    "without the persons": lambda c: without("who"),
    "columns of two lengths": lambda c: visits() | {c: visits()[c][:-1]},
    "a column of two dimensions": lambda c: visits() | {c: np.zeros((N, 2))},
    "a column without dimensions": lambda c: visits() | {c: np.array(3)},
    "a column that is a number": lambda c: visits() | {c: 3},
    "a column that is a mapping": lambda c: visits() | {c: {"a": 1}},
    "a column that is a set": lambda c: visits() | {c: set(range(N))},
    "a column that is a generator": lambda c: visits() | {c: (i for i in range(N))},
    "values that are complex numbers": lambda c: visits() | {c: np.zeros(N, dtype=complex)},
    "values that are records": lambda c: visits() | {c: np.zeros(N, dtype=[("a", int)])},
    "values that are bytes": lambda c: visits() | {c: np.zeros(N, dtype="S3")},
    "values that are durations": lambda c: visits() | {c: np.zeros(N, dtype="m8[s]")},
    "names that are numbers": lambda c: {0: [1], **visits()},
    "two columns of one name": lambda c: _twins(c),
    "a lazy frame": lambda c: pytest.importorskip("polars").DataFrame(visits()).lazy(),
    "values that are lists": lambda c: pytest.importorskip("pyarrow").table(visits() | {c: [[1]] * N}),
}


def _twins(column: str) -> Any:
    frame = _frame()
    return frame.rename(columns={("ward" if column != "ward" else "age"): column})


@pytest.mark.parametrize("mistake", MEMORY)
def test_of_data_in_memory(mistake: str, unspent: pv.Ledger) -> None:
    for name in BY_FILE:
        column = KINDS[name].column
        if column not in COLUMNS and mistake.startswith("values that are"):
            continue  # columns that are not read may hold anything

        def ask(it: pv.Ledger, name: str = name, column: str = column if column in COLUMNS else "age") -> Any:
            source = MEMORY[mistake](column)
            question = asked(name, pv.Table(source, columns=COLUMNS, unit=WHO, name="visits"))
            return _released(it, name, question, whole=mistake in ("nothing", "without the column"))

        check_costs_nothing(unspent, f"{name}, {mistake}", ask)


def _written(folder: Path, name: str, text: bytes | None = None) -> Path:
    path = folder / name
    if text is None:
        rows = visits()
        lines = [",".join(rows), *(",".join(map(str, row)) for row in zip(*rows.values(), strict=True))]
        text = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return path


def _parquet(folder: Path) -> Path:
    path = folder / "visits.parquet"
    held = duckdb.connect()
    held.register("visits", {name: np.array(column) for name, column in visits().items()})
    held.execute(f"COPY visits TO '{path}' (FORMAT parquet)")
    return path


def _spoilt(make: Callable[[Path], Path], spoil: Callable[[Path], Any]) -> Callable[[Path], tuple[Path, Any]]:
    return lambda folder: (made := make(folder), lambda: spoil(made))


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def _turned(path: Path) -> None:
    """One bit of what is packed is turned, whatever it stands for."""
    held = bytearray(path.read_bytes())
    held[len(held) // 2] ^= 16
    path.write_bytes(bytes(held))


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


CSV, PACKED = (lambda folder, name=name: _written(folder, name) for name in ("visits.csv", "visits.csv.gz"))
FILES: dict[str, Callable[[Path], tuple[Path, Any]]] = {
    "a CSV file that is gone": _spoilt(CSV, Path.unlink),
    "a CSV file that is a folder": _spoilt(CSV, _folder),
    "a CSV file that is empty": _spoilt(CSV, lambda path: path.write_bytes(b"")),
    "a CSV file with other columns": _spoilt(CSV, lambda path: path.write_bytes(b"a,b\n1,2\n")),
    "a CSV file that names a column twice": _spoilt(CSV, lambda path: path.write_bytes(b"age,age\n1,2\n")),
    "a CSV file with another separator": _spoilt(
        CSV, lambda path: path.write_bytes(path.read_bytes().replace(b",", b";"))
    ),
    "a CSV file in UTF-16": _spoilt(CSV, lambda path: path.write_text(path.read_text(), "utf-16")),
    "a packed file that is cut": _spoilt(PACKED, _cut),
    "a packed file with a turned bit": _spoilt(PACKED, _turned),
    "a packed file that is not packed": _spoilt(PACKED, lambda path: path.write_bytes(b"age,ward\n3,A\n")),
    "a packed file that is gone": _spoilt(PACKED, Path.unlink),
    "a Parquet file that is cut": _spoilt(_parquet, _cut),
    "a Parquet file that is empty": _spoilt(_parquet, lambda path: path.write_bytes(b"")),
    "a Parquet file that is a CSV file": _spoilt(_parquet, lambda path: path.write_bytes(b"age,ward\n3,A\n")),
    "a Parquet file that is gone": _spoilt(_parquet, Path.unlink),
}


@pytest.mark.parametrize("mistake", FILES)
def test_of_files(mistake: str, ledger: pv.Ledger, tmp_path: Path) -> None:
    """The question was planned, and answered, while the file was right."""
    path, spoil = FILES[mistake](tmp_path)
    asks = {name: asked(name, table(path)) for name in BY_FILE}
    assert ledger.release(asks["count"], epsilon=0.25).paid is not None
    spoil()
    asks |= {f"{name} anew": asked(name, table(path)) for name in ("count", "sum")}
    whole = mistake in (next(iter(FILES)), "a Parquet file that is gone")
    for name, question in asks.items():

        def ask(it: pv.Ledger, name: str = name, question: Any = question) -> Any:
            return _released(it, name, question, whole=whole or name.endswith(" anew"))

        check_costs_nothing(ledger, f"{name}, {mistake}", ask)


def _unfinished(connection: Any) -> None:
    connection.execute("SELECT * FROM range(3)").fetchone()


def _failed(connection: Any) -> None:
    connection.execute("BEGIN")
    with pytest.raises(duckdb.Error):
        connection.execute("SELECT error('no')").fetchall()


RELATIONS: dict[str, Callable[[Any], Any]] = {
    "an unfinished result": _unfinished,
    "a closed connection": lambda connection: connection.close(),
    "a failed transaction": _failed,
    "a table that is gone": lambda connection: connection.execute("DROP TABLE visits"),
    "other columns": lambda connection: connection.execute("CREATE OR REPLACE TABLE visits AS SELECT 1 AS a, 2 AS b"),
}


@pytest.mark.parametrize("mistake", RELATIONS)
def test_of_relations(mistake: str, ledger: pv.Ledger) -> None:
    connection = duckdb.connect()
    connection.register("held", {name: np.array(column) for name, column in visits().items()})
    connection.execute("CREATE TABLE visits AS SELECT * FROM held")
    asks = {name: asked(name, table(connection.table("visits"))) for name in BY_FILE if name not in ("join", "union")}
    assert ledger.release(asks["count"], epsilon=0.25).paid is not None
    RELATIONS[mistake](connection)
    for name, question in asks.items():

        def ask(it: pv.Ledger, name: str = name, question: Any = question) -> Any:
            return _released(it, name, question, whole=mistake == "a closed connection")

        check_costs_nothing(ledger, f"{name}, {mistake}", ask)

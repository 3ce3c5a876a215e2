"""Rows of numbers from every engine: the same, in little memory, and from Spark as totals alone."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet as pv
from privet import learn, noise
from privet.errors import InvalidData
from privet.learn.solvers import CoordinateDescent, NoisyGD, SufficientStatistics
from privet.tables.engines import exact_rows
from privet.tables.scan import Scan
from tests.tables.conftest import put_arrow, put_parquet, put_postgres, put_spark

COLUMNS = {
    "a": pv.Int(0, 9),
    "w": pv.Category(["x", "y'"]),
    "f": pv.Float(-1.0, 2.0),
    "b": pv.Bool(),
    "k": pv.Category([1, 4]),
    "y": pv.Int(0, 1),
}
RNG = np.random.default_rng(5)
N = 120
HELD: dict[str, tuple[str, list[Any]]] = {
    "a": ("int", [None if each == 12 else int(each) for each in RNG.integers(-3, 13, size=N)]),
    "w": ("text", RNG.choice(["x", "y'", "z"], size=N).tolist()),
    "f": ("float", [float(each) for each in RNG.choice([0.1, 5.0, -7.5, np.nan, np.inf, 1 / 3], size=N)]),
    "b": ("bool", RNG.choice([True, False], size=N).tolist()),
    "k": ("int", [int(each) for each in RNG.choice([1, 2, 4], size=N)]),
    "y": ("int", [int(each) for each in RNG.integers(0, 2, size=N)]),
    "id": ("text", [None if each == 9 else f"p{each}" for each in RNG.integers(0, 30, size=N)]),
}
UNITS = {"rows": pv.Rows(), "persons": pv.Person("id", max_rows=2)}


def table(data: Any, unit: str) -> pv.Table:
    return pv.Table(data, columns=COLUMNS, unit=UNITS[unit])


def scan_of(data: Any, unit: str = "rows") -> list[list[float]]:
    asked = table(data, unit)
    return [row for block in exact_rows(Scan(asked.rows, tuple(COLUMNS)), asked.data._tables) for row in block.tolist()]


def fits(data: Any, unit: str) -> list[Any]:
    """Two fits with the same noise: gradients, and for rows also statistics, for persons gradients that are added up."""
    made = []
    for solver in (NoisyGD(steps=2), SufficientStatistics() if unit == "rows" else NoisyGD(steps=2, by_person=True)):
        kind, target = (learn.LogisticRegression, "y") if isinstance(solver, NoisyGD) else (learn.LinearRegression, "f")
        model = kind(epsilon=2.0, delta=1e-6, solver=solver, source=noise.Seeded(2))
        made.append(model.fit(table(data, unit), target=target).coef_)
    return made


def same(one: list[list[float]], two: list[list[float]]) -> None:
    assert np.array_equal(np.array(one), np.array(two), equal_nan=True)


def test_duckdb_reads_files_as_memory(tmp_path: Path) -> None:
    memory = scan_of(put_arrow({"t": HELD})["t"])
    assert memory[0][1] in (0.0, 1.0) or np.isnan(memory[0][1])
    same(memory, scan_of(put_parquet({"t": HELD}, tmp_path)["t"]))
    persons = scan_of(put_arrow({"t": HELD})["t"], "persons")
    ranks = [row[-1] for row in persons]
    assert ranks == sorted(ranks)
    assert len(set(ranks)) == len({each for each in HELD["id"][1] if each is not None})
    assert len(ranks) == sum(each is not None for each in HELD["id"][1])


def test_a_file_of_many_blocks_is_streamed(tmp_path: Path) -> None:
    import duckdb

    place = str(tmp_path / "many.parquet")
    duckdb.sql("SELECT range % 10 AS a, range / 300000.0 AS f FROM range(300000)").write_parquet(place)
    asked = pv.Table(place, columns={"a": pv.Int(0, 9), "f": pv.Float(0.0, 1.0)})
    blocks = list(exact_rows(Scan(asked.rows, ("a", "f")), asked.data._tables))
    whole = np.concatenate([np.asarray(block) for block in blocks])
    assert np.array_equal(whole[:, 0], np.arange(300_000) % 10)
    assert np.array_equal(whole[:, 1], np.arange(300_000) / 300_000)


def test_postgres_streams_the_same_rows(clinic: Any, postgres_url: str) -> None:
    held = put_postgres(clinic, {"t": HELD}, postgres_url)["t"]
    arrow = put_arrow({"t": HELD})["t"]
    same(scan_of(arrow), scan_of(held))
    for unit in UNITS:
        for one, two in zip(fits(arrow, unit), fits(held, unit), strict=True):
            assert np.array_equal(one, two), unit
    clinic.execute(f"DELETE FROM {held.quoted}")
    assert scan_of(held) == []


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
def test_spark_returns_totals_alone(session: Any, tmp_path: Path) -> None:
    frame = put_spark(session, {"t": HELD}, tmp_path)["t"].repartition(3)
    arrow = put_arrow({"t": HELD})["t"]
    for one, two in zip(fits(arrow, "persons"), fits(frame, "persons"), strict=True):
        assert np.array_equal(one, two)
    with pytest.raises(InvalidData, match="do not leave their engine"):
        learn.LogisticRegression(epsilon=2.0, delta=1e-6, solver=CoordinateDescent()).fit(
            table(frame, "rows"), target="y"
        )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
def test_spark_fits_as_memory_does(session: Any, tmp_path: Path) -> None:
    frame = put_spark(session, {"t": HELD}, tmp_path)["t"].repartition(3)
    arrow = put_arrow({"t": HELD})["t"]
    for one, two in zip(fits(arrow, "rows"), fits(frame, "rows"), strict=True):
        assert np.array_equal(one, two)
    objective, remote = (
        learn.LogisticRegression(epsilon=2.0, delta=1e-6, source=noise.Seeded(2)).fit(table(data, "rows"), target="y")
        for data in (arrow, frame)
    )
    assert np.allclose(objective.coef_, remote.coef_, rtol=0.0, atol=1e-4)

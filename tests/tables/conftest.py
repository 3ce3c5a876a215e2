"""Real engines for the tests of tables: a PostgreSQL server and a local Spark, each as long as the test session."""

import importlib.util
import os
import shutil
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from privet.tables.engines import PostgresTable
from privet.tables.plan import PersonJoin
from tests.ledger.conftest import postgres_url as postgres_url, why_not

Tables = dict[str, dict[str, tuple[str, list[Any]]]]

TYPES = {
    "int": "bigint",
    "wide": "numeric(20)",
    "float": "double precision",
    "text": "text",
    "days": "date",
    "times": "timestamp",
    "bool": "boolean",
}


@pytest.fixture(autouse=True)
def few_rows_to_join(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of so few rows of a person in a join, the ones that are kept matter in random plans and tables."""
    monkeypatch.setattr(PersonJoin, "most_rows", 3)


def absent(engine: str) -> str | None:
    """Why an engine cannot run here; None where it can."""
    if engine == "PostgreSQL":
        return why_not() if importlib.util.find_spec("psycopg") else "psycopg is not installed"
    if engine == "Spark":
        if importlib.util.find_spec("pyspark") is None:
            return "pyspark is not installed: pip install 'privet[spark]'"
        if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
            return "Spark needs Java 17, and there is none"
    return None


@pytest.fixture
def put_into(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str, Tables], dict[str, Any]]:
    """Tables put into the engine of this name: what a new engine adds a line to."""

    def put(engine: str, tables: Tables) -> dict[str, Any]:
        if engine == "PostgreSQL":
            return put_postgres(request.getfixturevalue("clinic"), tables, request.getfixturevalue("postgres_url"))
        if engine == "Spark":
            return put_spark(request.getfixturevalue("session"), tables, tmp_path)
        assert engine == "DuckDB", f"say here how tables are put into {engine}"
        return put_parquet(tables, tmp_path)

    return put


@pytest.fixture(scope="session")
def clinic(postgres_url: str) -> Iterator[Any]:
    """A connection to the server."""
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A local Spark with one worker thread; skipped with a reason where there is none."""
    reason = absent("Spark")
    if reason is not None:
        pytest.skip(reason)
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers need privet too
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        # a session of minutes: its code is compiled once and quickly, not again and better, and taken as it was built
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
        "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote",
        "spark.driver.memory": "1g",
        "spark.sql.warehouse.dir": str(folder),
        "spark.sql.session.timeZone": "America/New_York",  # ours must not depend on it
    }
    builder = SparkSession.builder.master("local[1]").appName("privet tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    try:
        yield made
    finally:
        made.stop()


def put_postgres(connection: Any, tables: Tables, url: str) -> dict[str, Any]:
    """The tables on the server, each under a name of its own."""
    made = {}
    for name, held in tables.items():
        place = f"{name}_{uuid.uuid4().hex[:12]}"
        columns = ", ".join(f'"{column}" {TYPES[kind]}' for column, (kind, _) in held.items())
        connection.execute(f'CREATE TABLE "{place}" ({columns})')
        with connection.cursor() as cursor, cursor.copy(f'COPY "{place}" FROM STDIN') as copy:
            for row in zip(*(values for _, values in held.values()), strict=True):
                copy.write_row(row)
        made[name] = PostgresTable(url, f"public.{place}")
    return made


def put_arrow(tables: Tables) -> dict[str, Any]:
    """The tables as tables of Arrow."""
    import pyarrow as pa

    types = {"int": pa.int64(), "float": pa.float64(), "text": pa.string(), "days": pa.date32(), "bool": pa.bool_()}
    types["times"] = pa.timestamp("us")
    return {
        name: pa.table({column: pa.array(values, types[kind]) for column, (kind, values) in held.items()})
        for name, held in tables.items()
    }


def put_parquet(tables: Tables, folder: Path) -> dict[str, Any]:
    """The tables as Parquet files."""
    from pyarrow import parquet

    made = {}
    for name, held in put_arrow(tables).items():
        made[name] = str(folder / f"{name}_{uuid.uuid4().hex[:12]}.parquet")
        parquet.write_table(held, made[name])
    return made


def put_spark(session: Any, tables: Tables, folder: Path) -> dict[str, Any]:
    """The tables as frames of Spark."""
    return {name: session.read.parquet(place) for name, place in put_parquet(tables, folder).items()}

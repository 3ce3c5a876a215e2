"""Engines: the same exact aggregates from DuckDB, PostgreSQL and Spark."""

from privet.tables.engines.choose import (
    check_settings as check_settings,
    check_sources as check_sources,
    draft_of as draft_of,
    engine_of as engine_of,
    exact_aggregates as exact_aggregates,
    exact_codes as exact_codes,
    exact_marginals as exact_marginals,
    exact_rows as exact_rows,
)
from privet.tables.engines.duckdb import DuckDBEngine as DuckDBEngine
from privet.tables.engines.engine import (
    Engine as Engine,
    RowsApart as RowsApart,
    register as register,
    registered_engines as registered_engines,
)
from privet.tables.engines.exact_check import Check as Check, ColumnCheck as ColumnCheck, exact_check as exact_check
from privet.tables.engines.postgres import PostgresEngine as PostgresEngine, PostgresTable as PostgresTable
from privet.tables.engines.spark_rows import SparkEngine as SparkEngine, SparkRows as SparkRows

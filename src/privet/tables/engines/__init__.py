"""Engines: the same exact aggregates from numpy, DuckDB, PostgreSQL and Spark."""

from typing import Any

from privet.tables.bounded import Aggregates, Bounded, Salts, Sources
from privet.tables.engines import duckdb


def exact_aggregates(plan: Bounded, sources: Sources, salts: Salts, **settings: Any) -> Aggregates:
    """Exact sums of every group from the engine that holds the data: not releasable."""
    return duckdb.exact_aggregates(plan, sources, salts, **settings)


def check_sources(plan: Bounded, sources: Sources) -> None:
    """Refuse, from the schema of the data alone, what the plan cannot be run on."""
    duckdb.check_sources(plan, sources)


def draft_of(source: Any) -> str:
    """A schema with the names and kinds of the columns of a source; bounds are never read from the data."""
    return duckdb.draft_of(source)

"""Engines: the same exact aggregates from numpy, DuckDB, PostgreSQL and Spark."""

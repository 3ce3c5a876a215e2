"""Every room of privet, loaded: what has not been imported has registered nothing, and no law would see it."""

import pkgutil
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from types import MappingProxyType

from privet.errors import MissingExtra

ROOMS = (
    "noise", "privacy", "accounting", "mechanisms", "ledger", "tables", "workloads", "queries",
    "synth", "learn", "deep", "pate", "local", "audit", "testing",
)  # fmt: skip
EXTRAS = ("torch", "pyspark", "psycopg", "sqlglot", "matplotlib", "numba", "pandas", "polars", "pyarrow")


@lru_cache(maxsize=1)
def load_rooms() -> Mapping[str, str]:
    """Import every module of every room, so that each price and mechanism is registered; what was left out, and why.

    A module that needs an optional package which is not installed is left out (rooms on torch, where torch is missing).
    Anything else that goes wrong is raised: a room that does not import is a room that nobody checks.

    >>> all("torch" in reason or "install" in reason for reason in load_rooms().values())
    True
    """
    return MappingProxyType({name: reason for room in ROOMS for name, reason in load(f"privet.{room}")})


def load(name: str) -> list[tuple[str, str]]:
    """Import a module and everything below it; the names that were left out, with reasons.

    >>> load("privet.privacy")
    []
    """
    try:
        module = import_module(name)
    except ImportError as problem:
        if not _optional(problem):
            raise
        return [(name, str(problem) or f"needs {problem.name}, which is not installed")]
    inside = getattr(module, "__path__", ())
    return [found for each in pkgutil.iter_modules(inside) for found in load(f"{name}.{each.name}")]


def _optional(problem: ImportError) -> bool:
    return isinstance(problem, MissingExtra) or (problem.name or "").partition(".")[0] in EXTRAS

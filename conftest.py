"""What every test shares, doctests in `src/` included."""

import gc
import os
from collections.abc import Generator
from importlib.util import find_spec

import pytest
from hypothesis import HealthCheck, settings

# `ci` gives the same verdict on every run and on every machine; `explore` looks for new failures.
settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("explore", deadline=None, max_examples=1000)
pytest_plugins = ["tests.whole_run", "tests.fixed_coins"]

settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# One worker a core: threads of linear algebra would only wait for each other. Workers inherit this.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A test must never open a window, whichever process it starts.
os.environ["MPLBACKEND"] = "Agg"

# Examples in docstrings of a room whose package is missing cannot run; its tests say so themselves.
WITH_TORCH = [
    "src/privet/deep/*",
    "src/privet/pate/gans/*",
    "src/privet/pate/student_network.py",
    "tests/deep/[!_t]*.py",
]
collect_ignore_glob = [] if find_spec("torch") else WITH_TORCH
collect_ignore_glob += [
    "src/privet/deep/stream_kernel.py"
]  # no examples, and Triton says a page at the end of a process

SLOW_SECONDS = 3600.0


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays to the end, a million objects: the garbage collector looks at what tests make."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A slow test has an hour; all others have what `timeout` in pyproject.toml says. Tests of one server come together,
    so that of several workers (`--dist worksteal`: each begins with a stretch of the list) one starts it.
    """
    for item in items:
        if item.get_closest_marker("slow") is not None:
            item.add_marker(pytest.mark.timeout(SLOW_SECONDS))
    items.sort(key=_server)


def _server(item: pytest.Item) -> int:
    """Spark first, whose start takes longest, then PostgreSQL, then everything that needs no server."""
    needed = getattr(item, "fixturenames", ())
    if "session" in needed or "Spark" in item.name:
        return 0
    return 1 if "postgres_url" in needed or "postgres" in item.name.lower() else 2

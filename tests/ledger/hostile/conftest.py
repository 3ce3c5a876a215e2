"""Fresh stores of each kind. PostgreSQL comes from the `postgres_url` fixture of the ledger's tests."""

import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

Fresh = Callable[[], str]

# What is tried on a file is tried again on a server in `make test-slow`. Races for the last of a budget, what only a server
# can do wrong, and the contract of stores (tests/ledger/test_stores.py) meet one in every run.
SERVER = pytest.param("postgres", marks=pytest.mark.slow)


@pytest.fixture
def fresh(request: pytest.FixtureRequest, tmp_path: Path) -> Fresh:
    """Each call gives the URL of a store that nobody has used before; the kind is the parameter."""

    def sqlite() -> str:
        folder = tmp_path / uuid.uuid4().hex
        folder.mkdir()
        return str(folder / "hostile.ledger")

    def postgres() -> str:
        return f"{request.getfixturevalue('postgres_url')}#h{uuid.uuid4().hex}"

    return {"memory": lambda: "memory:", "sqlite": sqlite, "postgres": postgres}[request.param]

"""Fresh stores of each kind. PostgreSQL comes from the `postgres_url` fixture of the ledger's tests."""

import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

Fresh = Callable[[], str]


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

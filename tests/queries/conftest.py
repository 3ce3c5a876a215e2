"""A ledger for the tests of this room."""

from pathlib import Path

import pytest

import privet as pv
from tests.queries.kinds import table


@pytest.fixture
def ledger(tmp_path: Path) -> pv.Ledger:
    """A real one, in a file, that has answered something."""
    return begun(tmp_path)


@pytest.fixture(scope="module")
def unspent(tmp_path_factory: pytest.TempPathFactory) -> pv.Ledger:
    """The same for all questions that are refused: each test sees that nothing is added to it."""
    return begun(tmp_path_factory.mktemp("unspent"))


def begun(folder: Path) -> pv.Ledger:
    made = pv.Ledger.create(str(folder / "visits.ledger"), budget=pv.Budget(epsilon=3.0, delta=1e-3), unit=table().unit)
    made.release(table().agg(n=pv.count()), epsilon=0.25, key="used")
    return made

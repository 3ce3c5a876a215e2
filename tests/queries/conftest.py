"""A ledger for the tests of this room."""

from pathlib import Path

import pytest

import privet as pv
from tests.queries.kinds import table


@pytest.fixture
def ledger(tmp_path: Path) -> pv.Ledger:
    """A real one, in a file, that has answered something."""
    made = pv.Ledger.create(
        str(tmp_path / "visits.ledger"), budget=pv.Budget(epsilon=3.0, delta=1e-3), unit=table().unit
    )
    made.release(table().agg(n=pv.count()), epsilon=0.25, key="used")
    return made

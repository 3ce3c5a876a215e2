"""The power goes at any moment and takes any part of what was not synced with it. `disk` says what is simulated."""

import pytest

import privet as pv
from privet.accounting.filters import BasicFilter
from tests.effort import tries
from tests.ledger.hostile import disk, nursery
from tests.ledger.hostile.checks import check_cuts
from tests.ledger.hostile.conftest import Fresh
from tests.ledger.hostile.probe import books_of, check_books, replay, sums_of

pytestmark = [
    pytest.mark.skipif(disk.library() is None, reason="the SQLite library of this Python cannot be found"),
    pytest.mark.parametrize("fresh", ["sqlite"], indirect=True),
]
CAP = 1000.0


def test_power_cuts(fresh: Fresh):
    check_cuts(fresh(), releases=25, cuts=60, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_many_power_cuts(fresh: Fresh, seed: int):
    check_cuts(fresh(), releases=150, cuts=tries(150), seed=seed)


@pytest.mark.parametrize(("code", "kind"), [(disk.FULL, "write"), (disk.IO_SYNC, "sync")])
def test_a_disk_that_fails_gives_a_clear_error_and_no_release(fresh: Fresh, code: int, kind: str):
    path = fresh()
    pv.Ledger.create(path, budget=pv.Budget(epsilon=CAP)).close()
    told = nursery.run("disk_errors", path=path, code=code, kind=kind)
    assert told
    assert {t["raised"] for t in told} <= {"LedgerUnavailable", None}
    assert told[0] == {"raised": "LedgerUnavailable", "drawn": 0}
    with pv.Ledger.open(path) as ledger:
        books = check_books(ledger, BasicFilter(CAP))
        returned = sum(t["raised"] is None for t in told)
        drawn = sum(t["drawn"] for t in told)
        assert 1 <= returned <= len(books.released) <= drawn <= len(books.reserved)
        assert sums_of(ledger) == replay(BasicFilter(CAP), books_of(ledger).reserved).sums

"""kill -9 at random moments, and many writers at once: nothing over the cap, nothing seen that is not in the log."""

import pytest

import privet as pv
from privet.accounting.filters import BasicFilter
from tests.effort import tries
from tests.ledger.hostile import nursery
from tests.ledger.hostile.checks import check_race
from tests.ledger.hostile.conftest import SERVER, Fresh
from tests.ledger.hostile.probe import Books, check_books, check_seen

LEAST = 20  # values that a caller must have seen, else nothing was tried
DURABLE = pytest.mark.parametrize("fresh", ["sqlite", SERVER], indirect=True)


def check_kills(url: str, folder: str, *, cap: float, kills: int, to_the_end: bool = False) -> Books:
    pv.Ledger.create(url, budget=pv.Budget(epsilon=cap)).close()
    order = {"workers": 8, "kills": kills, "pause": (0.005, 0.12 if kills > 500 else 0.04), "to_the_end": to_the_end}
    order["least"] = LEAST
    told = nursery.run("kill_fuzz", timeout=1000, url=url, folder=folder, **order)
    assert told["failed"] == [], "a worker died of something else than a kill"
    assert told["kills"] + told["ended"] >= min(kills, 8)
    with pv.Ledger.open(url) as ledger:
        books = check_books(ledger, BasicFilter(cap))
    seen = nursery.read_seen(folder)
    check_seen(books, seen)
    assert len(books.reserved) == len(books.released) + books.orphans
    assert books.orphans <= told["kills"] + 8, "a reservation without a release, and nobody was killed for it"
    assert len(seen) >= LEAST
    return books


@DURABLE
def test_kills(fresh: Fresh, tmp_path):
    check_kills(fresh(), str(tmp_path), cap=10.0, kills=40)


@DURABLE
def test_kills_up_to_the_cap(fresh: Fresh, tmp_path):
    books = check_kills(fresh(), str(tmp_path), cap=0.15, kills=30, to_the_end=True)
    assert len(books.reserved) == 150, "the last reservations were lost, or the cap was overrun"


@pytest.mark.slow
@DURABLE
def test_many_kills(fresh: Fresh, tmp_path):
    check_kills(fresh(), str(tmp_path), cap=1000.0, kills=tries(200))


@DURABLE
def test_eight_processes_spend_exactly_the_cap(fresh: Fresh):
    check_race(fresh(), spends=40, room=100)


@pytest.mark.slow
@DURABLE
@pytest.mark.parametrize("room", [8, 5])
def test_eight_processes_spend_many_times_each(fresh: Fresh, room: int):
    check_race(fresh(), spends=tries(200), room=room * tries(200))

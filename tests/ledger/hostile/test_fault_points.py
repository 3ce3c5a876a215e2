"""The process ends, or the database errs, between any two statements of a release; then someone tries again."""

import pytest

import privet as pv
from privet.accounting.filters import BasicFilter
from tests.firsts import slow
from tests.ledger.hostile import nursery
from tests.ledger.hostile.conftest import SERVER, Fresh
from tests.ledger.hostile.probe import Coin, books_of, check_books, check_seen, sums_of

CAP = 10.0


def check_retry(ledger: pv.Ledger, key: str, seen: list[float]) -> str:
    """A recorded release comes back free; a reservation without one is paid again under a new reservation."""
    stored = [
        pv.mechanisms.Release.from_json(entry.facts["release"]).value
        for entry in ledger.entries()
        if entry.kind == "release" and entry.key == key
    ]
    before = len(books_of(ledger).reserved)
    sums = sums_of(ledger)
    value = ledger.release(Coin(), None, key=key).value
    if stored:
        assert [value] == stored
        assert sums_of(ledger) == sums
        assert seen in ([], stored)
        return "free"
    assert seen == []
    assert len(books_of(ledger).reserved) == before + 1
    return "paid"


@pytest.mark.parametrize("fresh", ["sqlite", SERVER], indirect=True)
@pytest.mark.parametrize("how", ["exit", slow("raise")])
def test_every_step(fresh: Fresh, tmp_path, how: str):
    url = fresh()
    pv.Ledger.create(url, budget=pv.Budget(epsilon=CAP)).close()
    told = [
        t
        for phase in ("before", "after")
        for t in nursery.run("fault_points", url=url, folder=str(tmp_path), how=how, phase=phase)
    ]
    assert len(told) >= 8, "hardly any statement was attacked"
    assert {t["code"] for t in told} <= ({9} if how == "exit" else {0, 3})
    with pv.Ledger.open(url) as ledger:
        books = check_books(ledger, BasicFilter(CAP))
        seen = {t["key"]: [float.fromhex(line) for line in t["seen"]] for t in told}
        check_seen(books, [value for values in seen.values() for value in values])
        outcomes = {check_retry(ledger, key, values) for key, values in seen.items()}
        assert outcomes == {"free", "paid"}, "the faults struck on one side of the record only"
        for key, values in seen.items():
            assert check_retry(ledger, key, values) == "free" if values else True
        check_books(ledger, BasicFilter(CAP))

"""Budget for exactly one, many who want it: one gets it, every time."""

from pathlib import Path

import pytest

import privet as pv
from privet.errors import PrivetError
from tests.effort import tries
from tests.ledger.hostile import nursery
from tests.ledger.hostile.checks import check_one_thread_wins
from tests.ledger.hostile.conftest import SERVER, Fresh
from tests.ledger.hostile.probe import Coin, books_of

EVERY = pytest.mark.parametrize("fresh", ["memory", "sqlite", SERVER], indirect=True)


def open_for_one(url: str) -> pv.Ledger:
    return pv.Ledger.create(url, budget=pv.Budget(epsilon=1.0))


@pytest.mark.parametrize(("fresh", "rounds"), [("memory", 60), ("sqlite", 15), ("postgres", 3)], indirect=["fresh"])
def test_threads(fresh: Fresh, rounds: int):
    for _ in range(rounds):
        with open_for_one(fresh()) as ledger:
            check_one_thread_wins(ledger)


@pytest.mark.parametrize(("fresh", "rounds"), [("sqlite", 12), ("postgres", 4)], indirect=["fresh"])
def test_processes(fresh: Fresh, rounds: int):
    urls = [fresh() for _ in range(rounds)]
    for url in urls:
        open_for_one(url).close()
    assert nursery.run("one_wins", urls=urls, workers=8, epsilon=1.0) == [1] * rounds


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fresh", "rounds"), [("memory", tries(200)), ("sqlite", tries(200)), ("postgres", tries(20))], indirect=["fresh"]
)
def test_threads_many_rounds(fresh: Fresh, rounds: int):
    for _ in range(rounds):
        with open_for_one(fresh()) as ledger:
            check_one_thread_wins(ledger)


@pytest.mark.slow
@pytest.mark.parametrize(("fresh", "rounds"), [("sqlite", tries(150)), ("postgres", tries(20))], indirect=["fresh"])
def test_processes_many_rounds(fresh: Fresh, rounds: int):
    urls = [fresh() for _ in range(rounds)]
    for url in urls:
        open_for_one(url).close()
    assert nursery.run("one_wins", urls=urls, workers=8, epsilon=1.0, timeout=3000) == [1] * rounds


@EVERY
def test_two_attempts_under_one_key_end_in_one_value(fresh: Fresh):
    """The second attempt starts while the first draws: both pay, the first record wins, both get its value."""
    with pv.Ledger.create(fresh(), budget=pv.Budget(epsilon=1.0)) as ledger:
        inner: list[float] = []

        def meanwhile(data: object) -> None:
            inner.append(ledger.release(Coin(0.1, label="q"), None, key="same").value)

        outer = ledger.release(Coin(0.1, label="q", before=meanwhile), None, key="same").value
        books = books_of(ledger)
        assert [outer] == inner == [release.value for release in books.released]
        assert len(books.reserved) == 2
        assert books.orphans == 1


@EVERY
@pytest.mark.parametrize("key", [None, "k"])
def test_a_reservation_is_recorded_once(fresh: Fresh, key: str | None):
    with pv.Ledger.create(fresh(), budget=pv.Budget(epsilon=1.0)) as ledger:
        reservation = ledger.reserve(Coin(0.1).loss, key=key)
        first = reservation.record(Coin(0.1).release(None))
        try:
            again = reservation.record(Coin(0.1).release(None))
        except PrivetError:
            pass
        else:
            assert again.value == first.value, "one payment, two values"
        ledger.verify()
        assert [release.value for release in books_of(ledger).released] == [first.value]


@pytest.mark.parametrize("key", [None, "k"])
@pytest.mark.parametrize("fresh", ["sqlite", SERVER], indirect=True)
def test_a_mechanism_that_returns_twice_is_released_once(fresh: Fresh, tmp_path: Path, key: str | None):
    url = fresh()
    pv.Ledger.create(url, budget=pv.Budget(epsilon=1.0)).close()
    told = nursery.run("return_twice", url=url, folder=str(tmp_path), key=key)
    first, second = nursery.read_seen(tmp_path)
    assert first == second, "one payment, two values"
    assert told["entries"] == 3
    with pv.Ledger.open(url) as ledger:
        ledger.verify()
        assert [release.value for release in books_of(ledger).released] == [first]


@EVERY
def test_a_reservation_that_was_made_up_pays_for_nothing(fresh: Fresh):
    with pv.Ledger.create(fresh(), budget=pv.Budget(epsilon=1.0)) as ledger:
        real = ledger.reserve(Coin(0.1).loss, key="k")
        for made_up in (
            real._replace(seq=1),
            real._replace(seq=99),
            real._replace(key=None),
            real._replace(key="other"),
            real._replace(loss=Coin(0.5).loss),
            real._replace(analyst="eve"),
        ):
            with pytest.raises(PrivetError):
                made_up.record(Coin(made_up.loss.epsilon).release(None))
        ledger.verify()
        assert books_of(ledger).released == []

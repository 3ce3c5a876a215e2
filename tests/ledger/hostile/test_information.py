"""What an analyst may learn: nothing from refusals, failures, entries or amounts that no price covers."""

import contextlib
import gc
import itertools
import json
import math
import os
import tracemalloc
from typing import Any

import numpy as np
import pytest

import privet as pv
from privet.accounting.filters import BasicFilter
from privet.errors import (
    BudgetExceeded,
    KeyConflict,
    LedgerUnavailable,
    MixedUnits,
    NotPrivate,
    PrivetError,
    ReleaseFailed,
)
from privet.mechanisms import Release
from privet.privacy import ApproxLoss, PureLoss, Unit
from tests.ledger.hostile.checks import SECRET, check_failures, check_refusals, everything_about, throw
from tests.ledger.hostile.conftest import SERVER, Fresh
from tests.ledger.hostile.probe import Coin, books_of, check_books, sums_of

BUDGET = pv.Budget(epsilon=1.0)
RULE = BasicFilter(1.0)
EVERY = pytest.mark.parametrize("fresh", ["memory", "sqlite", SERVER], indirect=True)
MEMORY = pytest.mark.parametrize("fresh", ["memory"], indirect=True)


@EVERY
def test_failures_are_paid_and_mute(fresh: Fresh):
    with pv.Ledger.create(fresh(), budget=BUDGET) as ledger:
        check_failures(ledger)
        assert SECRET not in str(ledger.export())


@EVERY
@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_interruptions_are_paid(fresh: Fresh, stop: type[BaseException]):
    with pv.Ledger.create(fresh(), budget=BUDGET) as ledger:
        with pytest.raises((stop, ReleaseFailed)):
            ledger.release(Coin(0.5, before=throw(stop())), None, key="k")
        assert len(check_books(ledger, RULE).reserved) == 1
        ledger.release(Coin(0.5), None, key="k")  # paid again
        with pytest.raises(BudgetExceeded):
            ledger.release(Coin(0.5), None, key="other")


def broken_results() -> list[Any]:
    right = Coin(0.01).loss
    return [
        None,
        3.0,
        Release(object(), loss=right),
        Release(np.array([{SECRET}], dtype=object), loss=right),  # texts can be stored, sets cannot
        Release({1, 2}, loss=right),
        Release(0.5, loss=PureLoss(0.02)),  # costlier than what was reserved
    ]


class Returns:
    """A mechanism that returns whatever it is told to."""

    name = "returns"

    def __init__(self, result: Any) -> None:
        self.result = result
        self.loss = PureLoss(0.01)

    def release(self, data: Any) -> Any:
        return self.result


@MEMORY
@pytest.mark.parametrize("number", range(6))
def test_results_that_are_no_releases_of_this_price(fresh: Fresh, number: int):
    with pv.Ledger.create(fresh(), budget=BUDGET) as ledger:
        with pytest.raises(PrivetError) as caught:
            ledger.release(Returns(broken_results()[number]), SECRET)
        assert SECRET not in everything_about(caught.value)
        books = check_books(ledger, RULE)
        assert (len(books.reserved), books.released) == (1, [])


@EVERY
def test_what_comes_back_later_has_the_same_bits(fresh: Fresh):
    values = [0.1 + 0.2, -0.0, math.inf, 5e-324, 2**80, "a", np.arange(6.0).reshape(2, 3), (1, 2.5), {"n": [1, None]}]
    with pv.Ledger.create(fresh(), budget=BUDGET) as ledger:
        for number, value in enumerate(values):
            first = ledger.release(Coin(value=value), None, key=str(number))
            again = ledger.release(Coin(value=value), None, key=str(number))
            assert again.to_json() == first.to_json()
            assert type(again.value) is type(first.value)
            assert repr(again.value) == repr(value)
        assert len(check_books(ledger, RULE).reserved) == len(values)


@EVERY
def test_a_key_belongs_to_one_request_and_one_analyst(fresh: Fresh):
    with pv.Ledger.create(fresh(), budget=BUDGET) as ledger:
        for name in ("ada", "bob"):
            ledger.add_analyst(name)
        first = ledger.release(Coin(0.1, label="x"), None, key="k", analyst="ada").value
        assert ledger.release(Coin(0.1, label="x"), None, key="k", analyst="ada").value == first
        assert ledger.release(Coin(0.1, label="x"), None, key="k", analyst="bob").value != first
        before = sums_of(ledger)
        for other in (Coin(0.1, label="y"), Coin(0.2, label="x"), Coin(0.05, label="x")):
            with pytest.raises(KeyConflict):
                ledger.release(other, None, key="k", analyst="ada")
        assert sums_of(ledger) == before
        check_books(ledger, RULE)


class Bare:
    """A mechanism that does not say what it is."""

    def __init__(self, question: Any) -> None:
        self.question = question
        self.loss = PureLoss(0.1)

    def release(self, data: Any) -> Release[Any]:
        return Release(self.question, loss=self.loss)


class Vague(Bare):
    """One that says it in words that two different questions share."""

    def to_dict(self) -> dict[str, Any]:
        return {"weights": np.full(10_000, self.question)}  # its repr has dots in the middle


@MEMORY
@pytest.mark.parametrize("kind", [Bare, Vague])
def test_a_key_never_answers_another_question(fresh: Fresh, kind: type[Bare]):
    with pv.Ledger.create(fresh(), budget=BUDGET) as ledger:
        assert ledger.release(kind(1.0), None).value == 1.0
        answers = set()
        for question in (1.0, 2.0):
            with contextlib.suppress(PrivetError):
                answers.add((question, ledger.release(kind(question), None, key="k").value))
        assert all(question == answer for question, answer in answers)
        check_books(ledger, RULE)


def test_a_password_is_not_told():
    password = "open" + "sesame"  # in two pieces, since a traceback shows this line
    with pytest.raises(LedgerUnavailable) as caught:
        pv.Ledger.create(f"postgresql://ann:{password}@127.0.0.1:1/db", budget=BUDGET, timeout=2.0)
    assert password not in everything_about(caught.value)


@EVERY
def test_a_replay_touches_no_data(fresh: Fresh):
    draws: list[Any] = []
    with pv.Ledger.create(fresh(), budget=BUDGET) as ledger:
        ledger.release(Coin(1.0), None, key="k")
        ledger.release(Coin(1.0, before=draws.append), None, key="k")  # though nothing is left
        assert draws == []


@MEMORY
def test_refusals_do_not_depend_on_data(fresh: Fresh):
    check_refusals(pv.Ledger.create(fresh(), budget=BUDGET))


@MEMORY
def test_entries_do_not_depend_on_data(fresh: Fresh):
    def told(data: Any) -> list[str]:
        with pv.Ledger.create(fresh(), budget=BUDGET) as ledger:
            ledger.release(Coin(value=1.0), data, key="k", purpose="p")
            return [f"{entry.kind} {entry.key} {sorted(entry.facts)} {len(entry.body)}" for entry in ledger.entries()]

    kinds = told(SECRET)
    assert all(told(data) == kinds for data in (None, 0, np.zeros(1000), [SECRET] * 50))


@EVERY
def test_releases_carry_no_time_of_their_own(fresh: Fresh):
    """The time between paying and recording is the mechanism's run time, which may depend on data; between two marks of a
    run it is that of a slice. So these entries say what is listed here, and nothing else.
    """
    said = {
        "release": {"insecure", "policy", "release", "request", "reserve", "software", "sums"},
        "slice": {"paid", "policy", "request", "run", "slice", "software", "sums"},
    }
    inside = {"error", "insecure", "loss", "mechanism", "paid", "privet_release", "provenance", "value"}
    with pv.Ledger.create(fresh(), budget=BUDGET) as ledger:
        for key in (None, "k"):
            ledger.release(Coin(), None, key=key)
        run = ledger.start([Coin().loss] * 2, key="run")
        run.begin().release(Coin(), None)
        ledger.reserve(Coin().loss).record(Coin().release(None))  # by hand: it does not say who paid
        *found, by_hand = [entry for entry in ledger.entries() if entry.kind in said]
        assert sorted(entry.kind for entry in found) == ["release"] * 3 + ["slice"]
        assert set(by_hand.facts) == said["release"]
        assert set(json.loads(by_hand.facts["release"])) == inside - {"paid"}
        for entry in found:
            assert set(entry.facts) == said[entry.kind]
            assert entry.loss is None
            assert entry.charged == {}
            if entry.kind == "release":
                document = json.loads(entry.facts["release"])
                assert set(document) == inside
                assert set(document["paid"]) == {"entry", "ledger"}
            else:
                assert set(entry.facts["run"]) == {"id", "next", "paid"}


@pytest.mark.parametrize("fresh", ["sqlite", SERVER], indirect=True)
def test_seeded_noise_is_refused(fresh: Fresh):
    with pv.Ledger.create(fresh(), budget=BUDGET) as ledger:
        with pytest.raises(NotPrivate):
            ledger.release(Coin(0.1, insecure=True), None, key="k")
        books = check_books(ledger, RULE)
        assert (books.reserved, books.released) == ([], [])
        assert 'insecure\\": true' not in str(ledger.export())


BAD_AMOUNTS = [math.nan, math.inf, -math.inf, -1e-300, -0.5, True, "0.1", None, 5e-324, 1e-310, np.float64("nan"), 1j]


@pytest.mark.parametrize("amount", BAD_AMOUNTS, ids=repr)
def test_amounts_that_are_none(amount: Any):
    ledger = pv.Ledger.create("memory:", budget=BUDGET)
    with pytest.raises(PrivetError):
        ledger.reserve(PureLoss(amount))
    with pytest.raises(PrivetError):
        ledger.reserve(amount)
    with pytest.raises(PrivetError):
        pv.Budget(epsilon=amount)
    with pytest.raises(PrivetError):
        pv.Budget(epsilon=1.0, delta=amount if amount is not None else -1.0)
    assert books_of(ledger).reserved == []


class Liar(PureLoss):
    """A loss whose price is whatever its author felt like."""

    def __init__(self, price: Any) -> None:
        super().__init__(0.5)
        object.__setattr__(self, "price", price)

    def pure(self) -> Any:
        return self.price

    def approximate(self) -> Any:
        return pv.privacy.Approximate(self.price, 0.0)

    def parts(self) -> Any:
        return ((self, 1),)


@pytest.mark.parametrize("fresh", ["memory", "sqlite"], indirect=True)
@pytest.mark.parametrize("price", [math.nan, -0.25, -math.inf, 0.0, 1e-9])
@pytest.mark.parametrize("known", [False, True])
def test_what_is_charged_is_the_price_of_what_is_recorded(fresh: Fresh, price: float, known: bool):
    """A subclass that forgets to register itself is written down as its parent: it pays as its parent, or not at all,
    and its answers are not kept as the parent's.
    """
    with pv.Ledger.create(fresh(), budget=BUDGET) as ledger:
        if known:
            ledger.reserve(PureLoss(0.5))
        with contextlib.suppress(PrivetError):
            ledger.reserve(Liar(price))
        if not known:
            with contextlib.suppress(BudgetExceeded):
                ledger.reserve(PureLoss(0.5))
        check_books(ledger, RULE)


@MEMORY
def test_subnormal_spends_after_exhaustion(fresh: Fresh):
    ledger = pv.Ledger.create(fresh(), budget=BUDGET)
    ledger.reserve(PureLoss(1.0))
    for epsilon in (1e-60, 1e-59, 1e-50, 2.0**-190, 1e-41):
        with pytest.raises(BudgetExceeded):
            ledger.reserve(PureLoss(epsilon))
    ledger.reserve(PureLoss(0.0))


@EVERY
def test_mixed_relations_raise(fresh: Fresh):
    draws: list[Any] = []
    with pv.Ledger.create(fresh(), budget=BUDGET) as ledger:
        ledger.release(Coin(0.1), None)
        for unit in (Unit("replace"), Unit("zero_out"), Unit(group_size=2), Unit(person="patient")):
            with pytest.raises(MixedUnits):
                ledger.release(Coin(0.1, unit=unit, before=draws.append), None)
        assert draws == []
        assert len(check_books(ledger, RULE).reserved) == 1


@EVERY
def test_a_ledger_with_a_unit_refuses_others_from_the_first_entry(fresh: Fresh):
    url = fresh()
    with pv.Ledger.create(url, budget=BUDGET, unit=Unit("replace")) as ledger:
        with pytest.raises(MixedUnits):
            ledger.reserve(PureLoss(0.1))
        ledger.reserve(PureLoss(0.1, unit=Unit("replace")))


@MEMORY
@pytest.mark.parametrize("given", ["", " ", "a\nb", "x" * 10_000, 3, b"k", "\x00", "\ud800", "naïve ✓"])
@pytest.mark.parametrize("field", ["key", "analyst", "purpose"])
def test_odd_names_raise_or_are_kept(fresh: Fresh, field: str, given: Any):
    """A name is refused before anything is paid, or stored as it is."""
    with pv.Ledger.create(fresh(), budget=BUDGET) as ledger:
        try:
            ledger.release(Coin(0.5), None, **{field: given})
        except PrivetError:
            assert books_of(ledger).reserved == []
        else:
            assert len(check_books(ledger, RULE).reserved) == 1


@EVERY
def test_odd_but_legal_names_survive_the_store(fresh: Fresh):
    url = fresh()
    keys = ["naïve ✓", "'; DROP TABLE entry; --", '{"a": 1}', "%s", "?", "NULL", "a" * 100]
    with pv.Ledger.create(url, budget=BUDGET) as ledger:
        values = [ledger.release(Coin(), None, key=key, purpose=key).value for key in keys]
        assert [ledger.release(Coin(), None, key=key, purpose=key).value for key in keys] == values
        assert [entry.key for entry in ledger.entries() if entry.kind == "release"] == keys
        check_books(ledger, RULE)


@MEMORY
def test_a_loss_that_changes_between_paying_and_drawing(fresh: Fresh):
    """A mechanism whose price moves after it was asked is charged what it released, or not released."""
    prices = itertools.chain([0.01], itertools.repeat(0.9))

    class Shifty(Coin):
        @property
        def loss(self) -> PureLoss:
            return PureLoss(next(prices))

    with pv.Ledger.create(fresh(), budget=BUDGET) as ledger:
        try:
            release = ledger.release(Shifty(), None)
        except PrivetError:
            assert books_of(ledger).released == []
        else:
            assert sums_of(ledger) == RULE.start().charge(release.loss).sums


@MEMORY
def test_a_delta_needs_a_budget_with_a_delta(fresh: Fresh):
    ledger = pv.Ledger.create(fresh(), budget=BUDGET)
    with pytest.raises(BudgetExceeded):
        ledger.reserve(ApproxLoss(0.1, 1e-300))
    assert books_of(ledger).reserved == []


def test_nothing_of_the_environment_enters_the_entries(tmp_path):
    with pv.Ledger.create(str(tmp_path / "x.ledger"), budget=BUDGET) as ledger:
        ledger.release(Coin(), None)
        text = str(ledger.export())
    assert str(tmp_path) not in text
    assert os.uname().nodename not in text


def test_released_values_do_not_pile_up_in_memory(tmp_path):
    ledger = pv.Ledger.create(str(tmp_path / "x.ledger"), budget=BUDGET)
    ledger.release(Coin(value=np.zeros(62_500)), None)
    tracemalloc.start()
    try:
        for number in range(20):  # 0.5 MB each
            ledger.release(Coin(value=np.full(62_500, float(number))), None)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < 3e6
    finally:
        tracemalloc.stop()
        ledger.close()

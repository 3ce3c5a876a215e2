"""Totals, odometers, explanations, exports and moving: what can be read out of a ledger."""

import json
import shutil
import sqlite3

import pytest

import privet as pv
from privet import accounting
from privet.accounting import Odometer
from privet.errors import BudgetExceeded, InvalidParameter, LedgerError, LedgerUnavailable, NoGuarantee
from privet.ledger.entry import hash_of
from privet.ledger.partition import Partition
from privet.ledger.stores.sqlite_file import checkpoint, translated
from privet.privacy import ApproxLoss, Composed, GaussianLoss, LaplaceLoss, PureLoss, Repeated, Unit, from_json
from privet.report import ledger_status
from tests.ledger.coins import Coin


def test_the_total_is_the_best_accountants_word(place):
    ledger = pv.Ledger.create(place, budget=pv.Budget(3.0, 1e-6))
    assert ledger.total(delta=1e-6).upper == 0.0
    ledger.reserve_many([GaussianLoss(50.0)] * 20 + [LaplaceLoss(100.0)] * 5)
    expected = Composed((Repeated(GaussianLoss(50.0), 20), Repeated(LaplaceLoss(100.0), 5)))
    assert ledger.total(delta=1e-6).upper == pytest.approx(accounting.epsilon(expected, delta=1e-6).upper)
    ledger.reserve(LaplaceLoss(100.0))
    more = Composed((expected, LaplaceLoss(100.0)))
    assert ledger.total(delta=1e-6).upper == pytest.approx(accounting.epsilon(more, delta=1e-6).upper)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_the_total_sees_parts_side_by_side(relation):
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(3.0), unit=Unit(relation))
    ledger.open_partition("ward", ["a", "b"])
    for part in "ab":
        ledger.reserve(PureLoss(0.5), part=part)
    whole = 0.5 if relation == "add_remove" else 1.0
    assert ledger.total(delta=0.0).upper == pytest.approx(whole)
    assert ledger.spent["basic epsilon"] == whole


def test_the_total_is_never_above_what_the_filter_summed_up():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(3.0))
    ledger.open_partition("ward", ["a", "b", "c"], per_person=2)
    for part, epsilon in zip("abcab", (0.1, 0.2, 0.3, 0.4, 0.1), strict=True):
        ledger.reserve(PureLoss(epsilon), part=part)
    ledger.reserve(PureLoss(0.25))
    assert ledger.total(delta=0.0).upper >= ledger.spent["basic epsilon"] * (
        1 - 1e-9
    )  # parts composed: safe, not tight


def test_an_odometer_reports_and_does_not_refuse(place):
    meter = Odometer(0.01, delta=1e-6, delta0=1e-7)
    ledger = pv.Ledger.create(place, odometer=meter)
    for _ in range(30):
        ledger.reserve(GaussianLoss(10.0))
    state = meter.start().charge(GaussianLoss(10.0), 30)
    assert ledger.spent["odometer epsilon"] == state.epsilon.upper
    assert ledger.spent.sums == ((state.rho, state.failure),)
    assert ledger.preview(GaussianLoss(1.0)).fits == float("inf")
    assert "no cap" in str(ledger.spent)
    ledger.reserve(ApproxLoss(0.1, 1e-7))
    with pytest.raises(BudgetExceeded, match="delta0"):
        ledger.reserve(ApproxLoss(0.1, 1e-7))
    with pytest.raises(NoGuarantee):
        ledger.reserve(pv.privacy.RdpLoss((2.0,), (0.1,)))
    ledger.add_analyst("ann", budget=pv.Budget(1.0))
    ledger.reserve(PureLoss(1.0), analyst="ann")
    assert not ledger.preview(PureLoss(0.1), analyst="ann")
    assert ledger.verify().entries == 34
    with pytest.raises(LedgerError, match="no budget"):
        ledger.raise_budget(pv.Budget(1.0), reason="x")


def test_a_ledger_has_a_budget_or_an_odometer():
    with pytest.raises(InvalidParameter, match="not both"):
        pv.Ledger.create("memory:", budget=pv.Budget(1.0), odometer=Odometer(0.01, delta=1e-6))


def test_an_explanation_names_everything(place):
    ledger = pv.Ledger.create(place, budget=pv.Budget(3.0, 1e-6), dataset="visits")
    ledger.add_analyst("ann", budget=pv.Budget(rho=0.1))
    made = ledger.release(
        pv.mechanisms.Gaussian.for_budget(epsilon=0.5, delta=1e-7, sensitivity=1.0),
        10,
        analyst="ann",
        purpose="n",
        key="k",
    )
    told = ledger.explain(3)
    assert (told["kind"], told["analyst"], told["purpose"], told["key"]) == ("reserve", "ann", "n", "k")
    assert told["cost"]["dataset"]["zCDP rho"] == told["cost"]["analyst:ann"]["zCDP rho"] > 0.0
    assert told["release"] == str(made)
    assert told["noise"] == "secure"
    assert told["software"].startswith("privet ")
    assert ledger.explain(4)["reservation"] == 3
    assert "budget" in ledger.explain(2).to_dict()
    assert "visits" in str(ledger.explain(1))
    assert "no release" in ledger.explain(ledger.reserve(PureLoss(0.1)).seq)["note"]
    for seq in (0, 99, -1, True, "1"):
        with pytest.raises(InvalidParameter):
            ledger.explain(seq)


def test_an_export_is_json_that_others_can_check(place):
    ledger = pv.Ledger.create(place, budget=pv.Budget(3.0, 1e-6))
    ledger.release(Coin(), 1, analyst="ann", key="k")
    document = json.loads(json.dumps(ledger.export(), allow_nan=False))
    assert document["head"]["hash"] == ledger.verify().head
    assert [entry["kind"] for entry in document["entries"]] == ["open", "reserve", "release"]
    assert from_json(json.dumps(document["entries"][1]["loss"])) == PureLoss(0.1)
    assert all(hash_of(entry) == entry.hash for entry in ledger.entries())


def test_a_move_keeps_the_chain_and_leaves_one_budget(place, tmp_path, postgres_url):
    source = pv.Ledger.create(place, budget=pv.Budget(1.0), dataset="visits")
    source.add_analyst("ann", budget=pv.Budget(0.7))
    source.open_partition("ward", ["a", "b"])
    made = source.release(Coin(), 1, analyst="ann", key="k", part="a")
    anchor = source.checkpoint()
    hashes = [entry.hash for entry in source.entries()]
    target = (
        f"{postgres_url}#moved{abs(hash(place)) % 10**8}" if "postgres" not in place else str(tmp_path / "moved.ledger")
    )
    moved = source.migrate(target)
    assert [entry.hash for entry in moved.entries()][: len(hashes)] == hashes
    assert [entry.kind for entry in moved.entries()][len(hashes) :] == ["close", "moved"]
    assert moved.release(Coin(), 1, analyst="ann", key="k", part="a").value == made.value
    assert moved.verify(head=anchor).entries == len(hashes) + 2
    with pytest.raises(LedgerError, match="moved to"):
        source.reserve(PureLoss(0.1))
    assert source.migrate(target).spent.sums == moved.spent.sums  # an interrupted move can be repeated
    moved.reserve(PureLoss(0.6), analyst="ann")
    with pytest.raises(BudgetExceeded):
        moved.reserve(PureLoss(0.1), analyst="ann")


def test_a_move_does_not_overwrite(sqlite, tmp_path):
    other = tmp_path / "other.ledger"
    pv.Ledger.create(other, budget=pv.Budget(1.0)).close()
    ledger = pv.Ledger.create(sqlite, budget=pv.Budget(1.0))
    with pytest.raises(InvalidParameter, match="memory"):
        ledger.migrate("memory:")
    with pytest.raises(LedgerError, match="already"):
        ledger.migrate(other)
    ledger.reserve(PureLoss(0.1))  # still open
    assert pv.Ledger.open(other).verify().entries == 1


TURNED = ["ann\u202enna", "\u2066ann\u2069", "a\u200fb", "a\u061cb"]


@pytest.mark.parametrize("name", TURNED, ids=ascii)
def test_names_that_would_be_shown_in_another_order_are_refused(name):
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    asks = [
        lambda: ledger.reserve(PureLoss(0.1), analyst=name),
        lambda: ledger.reserve(PureLoss(0.1), key=name),
        lambda: ledger.reserve(PureLoss(0.1), purpose=name),
        lambda: ledger.reserve(PureLoss(0.1), about=name),
        lambda: ledger.add_analyst(name),
        lambda: ledger.add_group(name),
        lambda: ledger.open_partition(name, ["a", "b"]),
        lambda: ledger.open_partition("ward", ["a", name]),
        lambda: ledger.close_dataset(name),
        lambda: pv.Ledger.create("memory:", budget=pv.Budget(1.0), dataset=name),
    ]
    for ask in asks:
        with pytest.raises(InvalidParameter, match="order of letters"):
            ask()
    assert ledger.length == 1
    ledger.reserve(PureLoss(0.1), analyst="Åsa הלן", purpose="naïve ✓")  # letters of every script are names


def test_a_partition_that_was_opened_under_such_a_name_is_still_read():
    assert Partition("ward", (TURNED[0], "b")).parts[0] == TURNED[0]


def test_a_copy_that_is_only_read_says_that_it_may_lack_entries(tmp_path):
    path = tmp_path / "v.ledger"
    ledger = pv.Ledger.create(path, budget=pv.Budget(5.0))
    for _ in range(30):
        ledger.reserve(PureLoss(0.125))
    shutil.copy(path, tmp_path / "x.ledger")  # without its log and its head
    ledger.backup(tmp_path / "b.ledger")
    reading = pv.Ledger.open(path, read_only=True)
    assert reading.caveat is None
    assert ledger.caveat is None
    for name in ("x.ledger", "b.ledger"):
        looked = pv.Ledger.open(tmp_path / name, read_only=True)
        told = [
            str(looked),
            repr(looked.spent),
            str(looked.remaining),
            looked.spent._repr_html_(),
            looked._repr_html_(),
        ]
        told.append(str(ledger_status(looked)))
        assert all("copy or a backup" in text for text in told)
        looked.close()
    assert "copy or a backup" not in str(reading) + str(reading.spent) + str(ledger.spent) + str(ledger_status(reading))
    reading.close()
    ledger.close()


class Full:
    """A connection to a disk without room."""

    def __init__(self, code: int) -> None:
        self.error = sqlite3.OperationalError("database or disk is full")
        self.error.sqlite_errorcode = code

    def execute(self, *_: object):
        raise self.error


def test_a_full_disk_can_be_read_and_says_how():
    checkpoint(Full(sqlite3.SQLITE_FULL))  # a log that stays where it is
    with pytest.raises(sqlite3.OperationalError):
        checkpoint(Full(sqlite3.SQLITE_CORRUPT))
    with pytest.raises(LedgerUnavailable, match="read_only=True"), translated:
        Full(sqlite3.SQLITE_FULL).execute()

"""What errors tell a program: facts as attributes, on the path that users take, and nothing private."""

import copy
import pickle

import pytest

import privet as pv
from privet import accounting, mechanisms, privacy
from privet.errors import BudgetExceeded, KeyConflict, LedgerTampered, PrivetError


def ledger(tmp_path, **budget):
    return pv.Ledger.create(tmp_path / "visits.ledger", budget=pv.Budget(**budget))


def test_a_refused_charge_says_spent_requested_and_remaining(tmp_path):
    with ledger(tmp_path, epsilon=1.0) as book:
        mechanisms.RowCount.for_budget(epsilon=0.75).release([1, 2, 3])
    with pytest.raises(BudgetExceeded) as caught:
        book.reserve(privacy.PureLoss(0.5))
    error = caught.value
    assert error.account == "dataset"
    assert error.spent["basic epsilon"] == pytest.approx(0.75)
    assert error.requested["basic epsilon"] == pytest.approx(0.5)
    assert error.remaining["basic epsilon"] == pytest.approx(0.25)
    assert error.point == book.remaining.point
    book.reserve(privacy.ApproxLoss(*error.point))  # what the refusal offers is granted


def test_a_key_that_was_used_is_named(tmp_path):
    book = ledger(tmp_path, epsilon=1.0)
    book.reserve(privacy.PureLoss(0.1), key="monday")
    with pytest.raises(KeyConflict) as caught:
        book.reserve(privacy.PureLoss(0.2), key="monday")
    assert caught.value.key == "monday"


def test_facts_survive_copies_and_pickles():
    error = LedgerTampered("entry 3 is missing", seq=3)
    for twin in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (str(twin), twin.seq) == ("entry 3 is missing", 3)


def test_a_fact_that_no_error_of_the_kind_has_is_a_bug():
    with pytest.raises(TypeError, match="no fact 'sequel'"):
        LedgerTampered("entry 3 is missing", sequel=3)


def test_a_note_on_an_error_does_not_hinder_retelling():
    with pytest.raises(BudgetExceeded) as caught:
        accounting.BasicFilter(1.0).start().charge(privacy.PureLoss(2.0))
    caught.value.add_note("seen at noon")
    told = caught.value.retold("more words", account="ada")
    assert (told.account, told.requested) == ("ada", caught.value.requested)
    assert isinstance(told, PrivetError)

"""Rations: analysts and groups within the data set's budget."""

import pytest

import privet as pv
from privet.errors import BudgetExceeded, InvalidParameter, LedgerError
from privet.privacy import GaussianLoss, PureLoss


def test_each_cap_refuses_on_its_own(place):
    ledger = pv.Ledger.create(place, budget=pv.Budget(3.0))
    ledger.add_group("team", budget=pv.Budget(1.5))
    for name in ("ann", "bob"):
        ledger.add_analyst(name, budget=pv.Budget(1.0), group="team")
    ledger.add_analyst("eve")
    ledger.reserve(PureLoss(1.0), analyst="ann")
    with pytest.raises(BudgetExceeded, match="analyst ann"):
        ledger.reserve(PureLoss(0.1), analyst="ann")
    with pytest.raises(BudgetExceeded, match="group team"):
        ledger.reserve(PureLoss(0.6), analyst="bob")
    ledger.reserve(PureLoss(0.5), analyst="bob")
    with pytest.raises(BudgetExceeded, match="data set"):
        ledger.reserve(PureLoss(1.6), analyst="eve")
    ledger.reserve(PureLoss(1.0), analyst="eve")
    ledger.reserve(PureLoss(0.5))  # the custodian
    assert ledger.remaining["basic epsilon"] == 0.0
    assert ledger.verify().entries == 9


def test_rations_may_have_currencies_of_their_own(place):
    ledger = pv.Ledger.create(place, budget=pv.Budget(3.0, 1e-6))
    ledger.add_analyst("ann", budget=pv.Budget(rho=0.001))
    assert ledger.preview(GaussianLoss(50.0), analyst="ann").fits == 5
    ledger.reserve_many([GaussianLoss(50.0)] * 5, analyst="ann")
    assert not ledger.preview(GaussianLoss(50.0), analyst="ann")
    assert ledger.preview(GaussianLoss(50.0))
    ledger.raise_budget(pv.Budget(rho=0.002), analyst="ann", reason="a new study")
    assert ledger.preview(GaussianLoss(50.0), analyst="ann").fits == 5
    assert ledger.policy.raised == ()  # rations are no promise
    assert ledger.verify().entries == 8


def test_once_names_are_registered_unknown_ones_are_refused(place):
    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0))
    ledger.reserve(PureLoss(0.1), analyst="whoever")
    ledger.add_analyst("ann")
    with pytest.raises(LedgerError, match="registered"):
        ledger.reserve(PureLoss(0.1), analyst="whoever")
    with pytest.raises(LedgerError, match="register"):
        ledger.add_analyst("whoever", budget=pv.Budget(1.0))  # would forget what was spent under the name
    ledger.add_analyst("whoever")
    ledger.reserve(PureLoss(0.1), analyst="whoever")
    assert ledger._store.balances()["analyst:whoever"][0].startswith(f'[["{2 * 10**39}"')
    assert ledger.verify().orphans == 2


def test_saying_the_same_again_changes_nothing(place):
    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0))
    for _ in range(2):
        ledger.add_group("team", budget=pv.Budget(0.5))
        ledger.add_analyst("ann", group="team")
    assert len(ledger.entries()) == 3
    with pytest.raises(LedgerError, match="other terms"):
        ledger.add_analyst("ann", budget=pv.Budget(0.1))
    with pytest.raises(LedgerError, match="other terms"):
        ledger.add_group("team")
    with pytest.raises(LedgerError, match="no group"):
        ledger.add_analyst("bob", group="nobody")
    with pytest.raises(InvalidParameter):
        ledger.add_analyst("bob", budget=0.5)
    with pytest.raises(LedgerError, match="no budget"):
        ledger.raise_budget(pv.Budget(1.0), analyst="ann", reason="x")
    assert len(ledger.entries()) == 3


def test_another_handle_sees_new_rules_at_once(durable):
    ledger = pv.Ledger.create(durable, budget=pv.Budget(1.0))
    other = pv.Ledger.open(durable)
    other.add_analyst("ann", budget=pv.Budget(0.1))
    with pytest.raises(BudgetExceeded, match="analyst ann"):
        ledger.reserve(PureLoss(0.2), analyst="ann")
    other.close_dataset("study ended")
    with pytest.raises(LedgerError, match="study ended"):
        ledger.reserve(PureLoss(0.1))


def test_a_closed_data_set_still_answers_what_it_answered(place):
    from tests.ledger.coins import Coin

    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0))
    made = ledger.release(Coin(), 1, key="k")
    ledger.close_dataset("study ended")
    assert ledger.release(Coin(), 1, key="k").value == made.value
    for act in (
        lambda: ledger.reserve(PureLoss(0.1)),
        lambda: ledger.add_analyst("ann"),
        lambda: ledger.raise_budget(pv.Budget(2.0), reason="x"),
        lambda: ledger.close_dataset("again"),
    ):
        with pytest.raises(LedgerError, match="study ended"):
            act()
    assert ledger.verify().entries == 4

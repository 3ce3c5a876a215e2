"""Budgets: what they promise, what they refuse, and how they come back from disk."""

import math

import pytest

import privet as pv
from privet.accounting import filters
from privet.errors import InvalidParameter, LedgerError, LedgerTampered
from privet.privacy import GaussianLoss, PureLoss

BUDGETS = [
    pv.Budget(1.0),
    pv.Budget(0.1 + 0.2, 1e-7 / 3.0),
    pv.Budget(rho=0.1),
    pv.Budget(rho=0.1, delta=1e-6),
    pv.Budget(mu=0.5),
    pv.Budget(mu=0.5, delta=1e-6),
    pv.Budget(rule=filters.AdvancedFilter(1.0, delta=1e-5, delta0=1e-6)),
    pv.Budget(rule=filters.RdpFilter(3.0, delta=1e-5, alpha=8.0)),
    pv.Budget(3.0, 1e-6, rule=filters.ZcdpFilter(3.0, delta=1e-6)),
]


def test_what_is_set_aside_for_parts_is_taken_out_of_delta():
    """The epsilon that a promise in rho comes to at a delta: rho is converted at what the parts leave of it."""
    aside, rest = 4e-7, 6e-7
    told = pv.Budget(delta=aside + rest, rule=filters.RhoFilter(rho=0.1, delta0=aside)).epsilon
    assert told == pytest.approx(pv.Budget(rho=0.1, delta=rest).epsilon, rel=1e-9)
    assert told > pv.Budget(rho=0.1, delta=aside + rest).epsilon


@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: budget.describe())
def test_a_budget_comes_back_equal(budget, sqlite):
    again = pv.Budget.from_dict(budget.to_dict())
    assert again == budget
    assert again.filter.rules[0].caps == budget.filter.rules[0].caps
    pv.Ledger.create(sqlite, budget=budget).close()
    assert pv.Ledger.open(sqlite).budget == budget


def test_the_default_rule_is_basic_zcdp_or_gdp():
    assert pv.Budget(3.0, 1e-6).filter == filters.basic_zcdp_or_gdp(3.0, delta=1e-6)
    assert isinstance(pv.Budget(3.0).filter, filters.BasicFilter)


def test_a_budget_in_rho_is_spent_to_the_last_unit():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(rho=0.02))
    assert ledger.preview(GaussianLoss(50.0)).fits == 100
    ledger.reserve_many([GaussianLoss(50.0)] * 100)
    with pytest.raises(pv.errors.BudgetExceeded):
        ledger.reserve(PureLoss(1e-15))


def test_a_budget_in_mu_converts_when_asked():
    assert pv.Budget(mu=1.0).epsilon is None
    assert pv.Budget(mu=1.0, delta=1e-5).epsilon == pytest.approx(4.3771781, rel=1e-6)
    assert pv.Budget(rho=0.1, delta=1e-6).epsilon == pytest.approx(2.14193893, rel=1e-6)
    assert pv.Ledger.create("memory:", budget=pv.Budget(mu=0.5)).preview(GaussianLoss(5.0)).fits == 6


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"epsilon": 0.0},
        {"epsilon": -1.0},
        {"epsilon": math.nan},
        {"epsilon": math.inf},
        {"epsilon": True},
        {"epsilon": "1"},
        {"epsilon": 1.0, "delta": 1.0},
        {"epsilon": 1.0, "delta": -1e-6},
        {"epsilon": 1.0, "rho": 0.1},
        {"rho": 0.0},
        {"mu": -1.0},
        {"rule": "zcdp"},
        {"epsilon": 2.0, "rule": filters.BasicFilter(1.0)},
        {"rho": 0.1, "rule": filters.BasicFilter(1.0)},
        {"epsilon": 1.0, "rule": filters.RhoFilter(rho=0.1)},
        {"delta": 1e-5, "rule": filters.ZcdpFilter(1.0, delta=1e-6)},
    ],
    ids=str,
)
def test_what_is_no_budget_is_refused(arguments):
    with pytest.raises(InvalidParameter):
        pv.Budget(**arguments)


def test_a_rule_that_cannot_be_read_back_is_refused(sqlite):
    class Own(filters.BasicFilter):
        pass

    with pytest.raises(LedgerError, match="read back"):
        pv.Ledger.create(sqlite, budget=pv.Budget(rule=Own(1.0)))


@pytest.mark.parametrize("document", [{}, {"rule": {"rule": "magic"}, "delta": "0"}, {"rule": None, "delta": "0"}])
def test_a_damaged_budget_is_tampering(document):
    with pytest.raises(LedgerTampered):
        pv.Budget.from_dict(document)


def test_a_raise_follows_the_schedule_fixed_at_opening(place):
    rungs = [pv.Budget(1.0, 1e-6), pv.Budget(2.0, 1e-6), pv.Budget(3.0, 2e-6)]
    ledger = pv.Ledger.create(place, budget=rungs[0], schedule=rungs[1:])
    ledger.reserve(PureLoss(1.0))
    assert not ledger.preview(PureLoss(0.5))
    assert ledger.raise_budget() == rungs[1]
    ledger.reserve(PureLoss(0.5))
    assert ledger.raise_budget(rungs[2]) == rungs[2]
    assert ledger.policy.raised == ()
    with pytest.raises(LedgerError, match="scheduled"):
        ledger.raise_budget()
    assert ledger.verify().entries == 5


def test_another_raise_is_a_policy_act_with_a_reason(place):
    ledger = pv.Ledger.create(place, budget=pv.Budget(1.0))
    with pytest.raises(InvalidParameter, match="why"):
        ledger.raise_budget(pv.Budget(2.0))
    ledger.raise_budget(pv.Budget(2.0), reason="the board decided on 3 May")
    entry = ledger.entries()[-1]
    assert (entry.kind, entry.facts["scheduled"], entry.facts["reason"]) == (
        "budget",
        False,
        "the board decided on 3 May",
    )
    assert ledger.policy.raised == (2,)
    ledger.reserve(PureLoss(2.0))
    assert ledger.verify().entries == 3


MORE_AND_LESS = [(2.0, 1e-7), (0.5, 1e-5), (2.0, 0.9999e-6), (0.9999, 2e-6)]


@pytest.mark.parametrize(("epsilon", "delta"), MORE_AND_LESS)
@pytest.mark.parametrize("rule", [None, filters.BasicFilter, filters.ZcdpFilter])
def test_a_raise_lowers_no_limit_of_any_rule(epsilon, delta, rule):
    """More of one limit does not pay for less of another: sums that were granted would lie above it."""

    def budget(epsilon, delta):
        return pv.Budget(epsilon, delta) if rule is None else pv.Budget(rule=rule(epsilon, delta=delta))

    before, after = budget(1.0, 1e-6), budget(epsilon, delta)
    caps = [[cap for each in made.filter.rules for cap in each.caps] for made in (before, after)]
    lowered = any(new < old for old, new in zip(*caps, strict=True))
    ledger = pv.Ledger.create("memory:", budget=before)
    ledger.reserve(PureLoss(0.125))
    if not lowered:  # zCDP has one limit, which epsilon and delta make together
        assert rule is filters.ZcdpFilter
        return
    with pytest.raises(LedgerError, match="nowhere lowered"):
        ledger.raise_budget(after, reason="x")
    with pytest.raises(LedgerError, match="nowhere lowered"):
        pv.Ledger.create("memory:", budget=before, schedule=[after])
    assert ledger.length == 2
    if any(new > old for old, new in zip(*caps, strict=True)):
        with pytest.raises(LedgerError, match="nowhere raised"):
            ledger.lower_budget(after, reason="x")


def test_a_raise_lowers_no_limit_of_the_last_rule_either():
    def budget(basic, zcdp):
        rules = (filters.BasicFilter(1.0, delta=basic), filters.ZcdpFilter(1.0, delta=zcdp))
        return pv.Budget(rule=filters.AnyOf(rules))

    ledger = pv.Ledger.create("memory:", budget=budget(4e-7, 4e-7))
    with pytest.raises(LedgerError, match="nowhere lowered"):
        ledger.raise_budget(budget(6e-7, 2e-7), reason="x")
    ledger.raise_budget(budget(4e-7, 5e-7), reason="x")


@pytest.mark.parametrize(
    "budget", [pv.Budget(0.5), pv.Budget(2.0, 1e-6), pv.Budget(rho=2.0), 2.0], ids=lambda budget: repr(budget)[:20]
)
def test_a_raise_keeps_the_rule_and_lowers_nothing(budget):
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    with pytest.raises((LedgerError, InvalidParameter)):
        ledger.raise_budget(budget, reason="x")
    assert len(ledger.entries()) == 1


def test_a_cap_is_raised_and_lowered_by_an_epsilon_alone() -> None:
    ledger = pv.Ledger.create("memory:", epsilon=1.0)
    assert ledger.raise_budget(epsilon=2.0, reason="another year") == pv.Budget(2.0)
    assert ledger.lower_budget(epsilon=1.5, reason="less is enough") == pv.Budget(1.5)
    assert ledger.remaining["basic epsilon"] == 1.5
    with pytest.raises(InvalidParameter, match="either budget= or epsilon="):
        ledger.raise_budget(pv.Budget(3.0), epsilon=3.0, reason="both")
    with pytest.raises(InvalidParameter, match="must be a Budget"):
        ledger.lower_budget(reason="to what?")

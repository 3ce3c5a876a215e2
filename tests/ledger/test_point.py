"""`remaining.point`: an (epsilon, delta) that is granted when it is asked for, and nothing more is. For every rule."""

import pytest

import privet as pv
from privet.accounting import filters
from privet.accounting.filters import Filter
from privet.errors import BudgetExceeded
from privet.ledger.account import FilterAccount
from privet.privacy import ApproxLoss, GaussianLoss, LaplaceLoss, PureLoss

RULES: dict[str, list[Filter]] = {
    "BasicFilter": [filters.BasicFilter(1.0), filters.BasicFilter(2.0, delta=1e-5)],
    "ZcdpFilter": [filters.ZcdpFilter(1.0, delta=1e-6), filters.ZcdpFilter(1.0, delta=1e-6, delta0=1e-7)],
    "RhoFilter": [filters.RhoFilter(rho=0.1), filters.RhoFilter(rho=0.1, delta0=1e-6)],
    "RdpFilter": [filters.RdpFilter(1.0, delta=1e-6, alpha=32.0)],
    "GdpFilter": [filters.GdpFilter(1.0, delta=1e-6)],
    "ApproxGdpFilter": [filters.ApproxGdpFilter(1.0, delta=1e-6, delta0=1e-7)],
    "MuFilter": [filters.MuFilter(mu=0.5)],
    "AdvancedFilter": [filters.AdvancedFilter(1.0, delta=1e-6)],
    "AnyOf": [
        filters.basic_zcdp_or_gdp(1.0, delta=1e-6),
        filters.basic_or_zcdp(3.0, delta=1e-5),
        filters.AnyOf((filters.BasicFilter(0.5, delta=1e-7), filters.ZcdpFilter(3.0, delta=1e-6, delta0=1e-8))),
    ],
}
CASES = [pytest.param(rule, id=f"{name}-{i}") for name, rules in RULES.items() for i, rule in enumerate(rules)]
SPENDS = [[], [PureLoss(0.01)], [GaussianLoss(60.0), PureLoss(0.005)], [ApproxLoss(0.01, 1e-9), PureLoss(1.0 / 3.0)]]


def opened(rule: Filter, spends: list[pv.privacy.PrivacyLoss]) -> pv.Ledger:
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(rule=rule))
    for loss in spends:
        if ledger.preview(loss).allowed:
            ledger.reserve(loss)
    return ledger


def check_point(rule: Filter, spends: list[pv.privacy.PrivacyLoss]) -> tuple[float, float]:
    ledger = opened(rule, spends)
    point = ledger.remaining.point
    assert point is not None
    epsilon, delta = point
    more = [ApproxLoss(epsilon * (1.0 + 1e-6), delta), ApproxLoss(epsilon, delta * (1.0 + 1e-6) or 1e-12)]
    for larger in more:
        with pytest.raises(BudgetExceeded) as refusal:
            ledger.reserve(larger)
        assert repr(point) in refusal.value.explain(), "a refusal says what may be asked for instead"
    ledger.reserve(ApproxLoss(epsilon, delta))  # nothing was spent by the refusals
    return point


def test_every_rule_is_here():
    kinds = {name for name in filters.__all__ if isinstance(getattr(filters, name), type)}
    kinds = {name for name in kinds if issubclass(getattr(filters, name), Filter)} - {"Filter", "Rule"}
    assert kinds == {*RULES, "SlotsFilter"}


@pytest.mark.parametrize("rule", CASES)
@pytest.mark.parametrize("spends", SPENDS, ids=range(len(SPENDS)))
def test_the_point_is_granted_and_nothing_larger(rule: Filter, spends: list[pv.privacy.PrivacyLoss]):
    check_point(rule, spends)


def test_of_several_rules_the_one_with_the_largest_epsilon():
    ledger = opened(filters.basic_zcdp_or_gdp(3.0, delta=1e-6), [PureLoss(2.9), PureLoss(0.0999)])
    epsilon, delta = ledger.remaining.point or (0.0, 0.0)
    assert epsilon == pytest.approx(1e-4, rel=1e-6)
    assert delta == 2.5e-7
    kind = filters.AnyOf((filters.BasicFilter(0.1, delta=1e-7), filters.ZcdpFilter(3.0, delta=1e-6, delta0=1e-8)))
    epsilon, delta = check_point(kind, [])
    assert epsilon > 0.5
    assert delta == 1e-8


def test_slots_take_no_pairs():
    ledger = opened(filters.SlotsFilter.of(LaplaceLoss(40.0), 20, delta=1e-6), [])
    assert ledger.remaining.point is None
    assert ledger.preview(LaplaceLoss(40.0)).allowed
    for tiny in (ApproxLoss(1e-9, 0.0), ApproxLoss(1e-9, 1e-12)):
        with pytest.raises(BudgetExceeded):
            ledger.reserve(tiny)


def test_where_nothing_fits_or_everything_does_there_is_none():
    ledger = opened(filters.BasicFilter(1.0), [PureLoss(1.0)])
    assert ledger.remaining.point is None
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.reserve(PureLoss(0.1))
    assert "remaining.point" not in str(refusal.value)
    odometer = pv.Ledger.create("memory:", odometer=filters.Odometer(0.01, delta=1e-6))
    assert odometer.remaining.point is None


def test_a_ration_names_its_own_point():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(3.0, 1e-6))
    ledger.add_analyst("ann", budget=pv.Budget(0.5, 1e-7))
    with pytest.raises(
        BudgetExceeded,
        match=r"ann: asked epsilon 1, 0\.5 left; nothing was spent\. Ask for at most epsilon 0\.5 ",
    ):
        ledger.reserve(PureLoss(1.0), analyst="ann")


@pytest.mark.parametrize("wrong", [0.999, 1.001])
def test_the_law_sees_a_point_that_is_too_small_or_too_large(monkeypatch: pytest.MonkeyPatch, wrong: float):
    right = FilterAccount._largest
    monkeypatch.setattr(FilterAccount, "_largest", lambda self, sums, delta: wrong * right(self, sums, delta))
    with pytest.raises((pytest.fail.Exception, BudgetExceeded)):
        check_point(filters.BasicFilter(2.0 + wrong, delta=1e-5), [])  # a rule of its own: points are remembered

"""What is set aside for the failures of parts is gone: it is not there for the rest too."""

from __future__ import annotations

import math
from dataclasses import fields

import pytest

from privet import accounting, privacy
from privet.accounting import Advanced, Basic, Gdp, Rdp, Zcdp
from privet.accounting.filters import rules
from privet.accounting.filters.filter import Rule
from privet.errors import NoGuarantee

EPSILON, DELTA = 1.0, 1e-5
MORE = {"alpha": 40.0}  # what a rule needs besides
RULES = sorted(
    (rule for rule in vars(rules).values() if isinstance(rule, type) and issubclass(rule, Rule) and rule is not Rule),
    key=lambda rule: rule.__name__,
)
WITH_FAILURES = [rule for rule in RULES if "delta0" in {field.name for field in fields(rule)}]
LOSSES = [
    privacy.Composed((privacy.ApproxLoss(0.1, 1e-5), privacy.GaussianLoss(20.0))),
    privacy.Repeated(privacy.ApproxLoss(0.05, 1e-7), 20),
    privacy.Composed((privacy.ApproxLoss(0.0, 3e-6), privacy.LaplaceLoss(10.0), privacy.GaussianLoss(9.0))),
]


def opened(rule: type[Rule], delta: float, delta0: float) -> Rule:
    more = {name: value for name, value in MORE.items() if name in {field.name for field in fields(rule)}}
    return rule(EPSILON, delta=delta, delta0=delta0, **more)


def set_aside_counts_once(rule: type[Rule], share: float) -> bool:
    """Is what is left the budget of the same rule with a delta that is smaller by what was set aside?"""
    left = opened(rule, DELTA, share * DELTA).limits[0]
    return bool(math.isclose(left, opened(rule, DELTA - share * DELTA, 0.0).limits[0], rel_tol=1e-9))


def test_there_are_such_rules():
    assert {rule.__name__ for rule in WITH_FAILURES} >= {"AdvancedFilter", "ZcdpFilter", "RdpFilter", "ApproxGdpFilter"}


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
@pytest.mark.parametrize("rule", WITH_FAILURES, ids=lambda rule: rule.__name__)
def test_what_is_set_aside_is_taken_out_of_delta(rule: type[Rule], share: float):
    assert set_aside_counts_once(rule, share)
    assert opened(rule, DELTA, share * DELTA).limits[1] == share * DELTA


@pytest.mark.parametrize("rule", WITH_FAILURES, ids=lambda rule: rule.__name__)
def test_no_more_failures_than_were_set_aside(rule: type[Rule]):
    state, loss = opened(rule, DELTA, 0.5 * DELTA).start(), privacy.ApproxLoss(1e-6, 0.3 * DELTA)
    assert state.accepts(loss)
    assert not state.accepts(loss, 2)
    assert not state.charge(loss).accepts(loss)


@pytest.mark.parametrize("rule", WITH_FAILURES, ids=lambda rule: rule.__name__)
def test_a_rule_that_counts_it_twice_is_seen(rule: type[Rule], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rule, "_rest", lambda self: self.delta)
    assert not set_aside_counts_once(rule, 0.5)


@pytest.mark.parametrize("accountant", [Rdp(), Zcdp()], ids=["rdp", "zcdp"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: str(loss)[:40])
def test_epsilon_and_delta_agree_where_parts_fail(accountant: accounting.Accountant, loss: privacy.PrivacyLoss):
    """delta at the epsilon that was found for a delta is that delta: failures and the rest add up in both questions."""
    for delta in (2e-5, 1e-3):
        back = accountant.delta(loss, accountant.epsilon(loss, delta).upper).upper
        assert delta * (1.0 - 1e-3) <= back <= delta * (1.0 + 1e-9)


def test_failures_and_the_rest_add_up():
    """The failure, and the bound for the parts without it."""
    found = Rdp().delta(LOSSES[0], 0.3).upper
    rest = Rdp().delta(privacy.Composed((privacy.PureLoss(0.1), privacy.GaussianLoss(20.0))), 0.3).upper
    assert found == pytest.approx(1e-5 + rest, rel=1e-9)
    assert found > 1.05e-5


def test_advanced_composition_spends_what_the_parts_leave():
    """Both questions, where the parts use up a tenth of delta."""
    loss = privacy.Repeated(privacy.ApproxLoss(0.01, 1e-9), 1000)
    found = Advanced().epsilon(loss, 1e-5).upper
    assert found < 2.0  # not the sum, which is 10
    assert Advanced().delta(loss, found).upper == pytest.approx(1e-5, rel=1e-6)


def test_basic_composition_refuses_less_delta_than_the_parts_have():
    loss = privacy.Repeated(privacy.ApproxLoss(0.1, 1e-6), 2)
    assert Basic().epsilon(loss, 2e-6).upper == pytest.approx(0.2)
    with pytest.raises(NoGuarantee):
        Basic().epsilon(loss, 1.9e-6)


def test_only_normal_noise_has_a_lower_end_by_its_mu():
    """A mu that is only a bound says nothing from below."""
    assert Gdp().epsilon(privacy.GaussianLoss(3.0), 1e-5).lower > 0.0
    assert Gdp().epsilon(privacy.LaplaceLoss(3.0), 1e-5).lower == 0.0
    assert Gdp().delta(privacy.LaplaceLoss(3.0), 0.1).lower == 0.0

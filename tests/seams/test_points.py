"""A plan is charged as one point: its epsilon at a delta, in the (epsilon, delta) currencies; the entry keeps the plan."""

import json
import math
from dataclasses import dataclass
from typing import Any

import pytest

import privet as pv
from privet import accounting
from privet.accounting import filters
from privet.errors import BudgetExceeded
from privet.ledger import verify_export
from privet.ledger.entry import canonical, linked
from privet.mechanisms import Release
from privet.privacy import (
    ApproxLoss,
    GaussianLoss,
    PoissonSampled,
    PrivacyLoss,
    PureLoss,
    RdpLoss,
    Repeated,
    Selected,
    from_json,
)

STEPS = Repeated(PoissonSampled(GaussianLoss(4.0), q=0.01), 10_000)
SEARCH = Selected(GaussianLoss(8.0), mean=10.0)
CURVE = RdpLoss((2.0, 4.0, 8.0, 16.0, 32.0), (0.01, 0.02, 0.05, 0.1, 0.3))
PLANS = {"steps": STEPS, "search": SEARCH, "curve": CURVE}
BUDGET = pv.Budget(3.0, 1e-5)


def ledger_of(budget: pv.Budget = BUDGET) -> pv.Ledger:
    return pv.Ledger.create("memory:", budget=budget)


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_a_plan_is_granted_and_costs_its_epsilon_at_the_delta(plan: PrivacyLoss):
    ledger, point = ledger_of(), accounting.epsilon(plan, delta=1e-6).upper
    assert ledger.preview(plan, at=1e-6).allowed
    ledger.reserve(plan, at=1e-6)
    assert ledger.spent["basic epsilon"] == pytest.approx(point, rel=1e-12)
    assert ledger.spent["basic epsilon"] >= point
    assert ledger.spent["basic delta"] == pytest.approx(1e-6, rel=1e-12)


@pytest.mark.parametrize("at", [1e-6, 1e-9])
@pytest.mark.parametrize("plan", [*PLANS.values(), GaussianLoss(50.0)], ids=[*PLANS, "gaussian"])
def test_zcdp_and_gdp_charge_the_smaller_of_two_prices(plan: PrivacyLoss, at: float):
    pair = ApproxLoss(accounting.epsilon(plan, delta=at).upper, at)
    rules: dict[str, tuple[filters.Filter, float]] = {
        "zCDP rho": (filters.RhoFilter(rho=1e6, delta0=1e-3), plan.zcdp().rho),
        "GDP sum of mu^2": (filters.ApproxGdpFilter(500.0, delta=0.5, delta0=1e-3), plan.gdp() ** 2),
    }
    for currency, (rule, own) in rules.items():
        charged = ledger_of(pv.Budget(rule=rule))
        charged.reserve(plan, at=at)
        alone = ledger_of(pv.Budget(rule=rule))
        alone.reserve(pair)
        assert charged.spent[currency] == pytest.approx(min(own, alone.spent[currency]), rel=1e-9)


def test_the_entry_keeps_the_plan_and_every_reader_sees_its_curve():
    ledger = ledger_of()
    seq = ledger.reserve(STEPS, at=1e-6, purpose="train").seq
    entry = ledger.entries()[-1]
    assert from_json(entry.loss or "") == STEPS
    assert float(entry.facts["at"]) == 1e-6
    assert from_json(json.dumps(ledger.explain(seq)["loss"])) == STEPS
    assert float(ledger.explain(seq)["at"]) == 1e-6
    exact = accounting.epsilon(STEPS, delta=1e-5).upper
    assert ledger.total(delta=1e-5).upper == pytest.approx(exact)
    assert exact < 0.95 < ledger.spent["basic epsilon"], "the total knows more than the charge"
    assert ledger.verify().underpriced == ()


def underpriced_twin(ledger: pv.Ledger, factor: float) -> dict[str, Any]:
    """The same history, whose plan was charged `factor` times its point."""
    document = ledger.export()
    first, last = (dict(entry) for entry in document["entries"])
    amounts = [[str(int(int(x) * factor)) if x != "inf" else x for x in rule] for rule in last["amounts"]["dataset"]]
    body = {**last["body"], "sums": {"dataset": amounts}}
    opened = ledger.entries()[0]
    forged = linked(
        opened, "reserve", body=canonical(body), loss=canonical(last["loss"]), amounts=canonical({"dataset": amounts})
    )
    document["entries"] = [first, forged.to_dict()]
    document["head"] = {"seq": 2, "hash": forged.hash.hex()}
    return document


def test_verify_prices_the_plan_at_its_delta_again():
    ledger = ledger_of()
    ledger.reserve(STEPS, at=1e-6)
    assert verify_export(underpriced_twin(ledger, 1.0)).underpriced == ()
    assert verify_export(underpriced_twin(ledger, 0.99)).underpriced == (2,)


@dataclass(frozen=True)
class Training:
    """A mechanism that carries the delta it is charged at."""

    loss: PrivacyLoss = STEPS
    at: float | None = 1e-6

    def release(self, data: Any) -> "Release[float]":
        return Release(1.0, loss=self.loss, mechanism="training")


def test_a_mechanism_may_carry_the_delta():
    ledger = ledger_of()
    assert ledger.preview(Training()).at == 1e-6
    ledger.release(Training(), None)
    assert ledger.spent["basic epsilon"] == pytest.approx(accounting.epsilon(STEPS, delta=1e-6).upper)
    said = ledger_of()
    said.release(Training(), None, at=1e-7)  # what is said goes before what is carried
    assert said.spent["basic delta"] == pytest.approx(1e-7)


def test_a_refusal_names_the_point_that_is_granted_instead():
    ledger = ledger_of()
    ledger.reserve(PureLoss(2.5))
    large = Repeated(PoissonSampled(GaussianLoss(1.0), q=0.01), 10_000)
    point = ledger.remaining.point
    assert point is not None
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.reserve(large, at=point[1])
    assert f"epsilon {point[0]:g} and delta {point[1]:g}" in str(refusal.value)
    ledger.reserve(ApproxLoss(*point))
    assert math.isclose(point[0], 0.5)

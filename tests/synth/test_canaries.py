"""Canaries in the tables of every synthesizer: what can be told about them stays below the price, and is
enough to refute a part of it."""

from typing import Any

import numpy as np
import pytest

from privet import audit, synth, testing
from privet.mechanisms import Example
from privet.privacy import Guarantee
from privet.synth.small_examples import data_of, task_of

PLANS: Any = (synth.IndependentPlan, synth.MSTPlan, synth.AIMPlan, synth.MWEMGraphPlan)
WITH = [next(each for each in plan.examples() if each.canaries is not None) for plan in PLANS]
ALPHA = 1e-6


@pytest.mark.parametrize("example", WITH, ids=lambda each: each.mechanism.name)
def test_one_run_with_many_canaries_stays_below_the_price(example: Example) -> None:
    testing.check_survives_audit(example, alpha=ALPHA)
    assert len(example.canaries) >= 1000
    testing.check_audit_can_fail(example, alpha=ALPHA)


ONE = [synth.LinearQuery(np.array([1, 0]))]
SMALL = {
    "MWEM": synth.MWEM(queries=ONE, rounds=1, passes=100),
    "SmallDB": synth.SmallDB(queries=ONE, m=4, rule="lecture"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_a_canary_in_small_tables_stays_below_the_price(name: str) -> None:
    """A domain that is written out has no room for a thousand canaries: one of them, in many runs."""
    promise = Guarantee(8.0)
    plan = SMALL[name]._plan(task_of("replace", (2,), rows=4), promise)

    def found(claim: Any, alpha: float) -> str:
        told = audit.training(
            lambda data: plan.release(data).value,
            [{"a": 0}],
            lambda model, _: float(model.marginal("a")[0]),
            claim=claim,
            data=data_of([[1], [1], [1]]),
            otherwise=[{"a": 1}],
            threshold=0.5,
            runs=100,
            alpha=alpha,
        )
        return str(told.verdict)

    assert found(plan.loss, ALPHA) == "not refuted"
    assert found(testing.weaker_claim(plan.loss, 0.1), 1e-3) == "violated"

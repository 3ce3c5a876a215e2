"""Rounds of choices: what they cost, what they may choose, and that they read models alone in between."""

import math

import numpy as np
import pytest

from privet import synth
from privet.mechanisms import Exponential, Gaussian
from privet.mechanisms.payment import observed
from privet.noise import Seeded
from privet.privacy import Guarantee
from privet.synth.graph import GraphModel, TreePlan, tree_cells
from privet.synth.marginal_workload import MarginalWorkload, fitting
from privet.synth.money import Purse, choice_by_distance, table_noise
from privet.synth.small_examples import data_of, task_of
from tests.synth.tables import SIZES, correlated


def test_the_first_round_is_that_of_the_page() -> None:
    plan = synth.AIM()._plan(task_of(sizes=(2,) * 8), Guarantee(1.0, 1e-9))
    share = 1.0 / (plan.rounds * 8)
    assert table_noise(plan.money.share(0.9 * share), plan.task).scale == pytest.approx(68.914956, rel=1e-4)
    choice = choice_by_distance(plan.money.share(0.1 * share), plan.task)
    assert 2.0 * float(choice.sensitivity.value) / choice.scale == pytest.approx(0.009673759, rel=1e-4)


class _Watch:
    """Notes the price of every part."""

    def __init__(self) -> None:
        self.parts: list[object] = []

    def __call__(self, mechanism: object, value: object, run: object) -> object:
        self.parts.append(mechanism)
        return run()  # type: ignore[operator]

    def coins(self, what: str, draw: object, source: object) -> object:
        return draw(source)  # type: ignore[operator]


@pytest.mark.parametrize("promise", [Guarantee(rho=0.5), Guarantee(1.0), Guarantee(mu=1.0)], ids=str)
def test_the_rounds_spend_the_budget_and_not_more(promise: Guarantee) -> None:
    plan = synth.AIM(workload=2, steps=20)._plan(task_of(sizes=SIZES), promise)
    watch = _Watch()
    with observed(watch):
        plan.release(data_of(correlated(300)), source=Seeded(1))
    parts = [each for each in watch.parts if each is not plan]
    if promise.rho is not None:
        spent = math.fsum(each.loss.zcdp().rho for each in parts) / promise.rho
    elif promise.mu is not None:
        spent = math.fsum(each.loss.gdp() ** 2 for each in parts) / promise.mu**2
    else:
        spent = math.fsum(each.loss.pure() for each in parts) / promise.epsilon
    assert spent <= 1.0
    assert spent == pytest.approx(1.0, rel=1e-6)
    if promise.rho is not None:  # a choice costs epsilon^2/8, by its bounded range
        choice = next(each for each in parts if isinstance(each, Exponential))
        epsilon = 2.0 * float(choice.sensitivity.value) / choice.scale
        assert choice.loss.zcdp().rho == pytest.approx(epsilon**2 / 8.0, rel=1e-9)
        assert any(isinstance(each, Gaussian) for each in parts)


@pytest.mark.parametrize("promise", [Guarantee(rho=1e-4), Guarantee(0.02), Guarantee(mu=0.01)], ids=str)
def test_a_budget_for_no_table_goes_to_the_columns(promise: Guarantee) -> None:
    """Three hundred rows under noise that is larger: a table of two columns would be noise alone."""
    plan = synth.AIM(workload=2, steps=20)._plan(task_of(sizes=SIZES), promise)
    watch = _Watch()
    with observed(watch):
        model = plan.release(data_of(correlated(300)), source=Seeded(1)).value
    parts = [each for each in watch.parts if each is not plan]
    assert {len(each.clique) for each in model.measurements} == {1}
    assert len(parts) == len(model.measurements) >= 2 * len(SIZES)
    spent = math.fsum(
        each.loss.zcdp().rho / promise.rho
        if promise.rho is not None
        else (each.loss.gdp() / promise.mu) ** 2
        if promise.mu is not None
        else each.loss.pure() / promise.epsilon
        for each in parts
    )
    assert spent <= 1.0
    assert spent == pytest.approx(1.0, rel=1e-6)


def test_columns_that_are_seen_are_measured_once_and_rounds_follow() -> None:
    plan = synth.AIM(workload=2, steps=20)._plan(task_of(sizes=SIZES), Guarantee(rho=0.5))
    model = plan.release(data_of(correlated(300)), source=Seeded(1)).value
    first = [each.clique for each in model.measurements[: len(SIZES) + 1]]
    assert first[: len(SIZES)] == [(i,) for i in range(len(SIZES))]
    assert any(len(each.clique) == 2 for each in model.measurements)


def test_a_purse_refuses_what_the_rest_does_not_cover() -> None:
    purse = Purse(Guarantee(rho=1.0))
    for _ in range(10):
        purse.buy(0.1)
    with pytest.raises(Exception, match="does not cover"):
        purse.buy(1e-6)


def test_weights_are_shared_columns_and_the_sensitivity_is_their_largest() -> None:
    workload = MarginalWorkload((((0, 1), 1.0), ((1, 2), 3.0)))
    weights = workload.candidates()
    by_hand = {(0,): 1.0, (1,): 4.0, (2,): 3.0, (0, 1): 5.0, (1, 2): 7.0}
    assert set(weights) == set(by_hand)
    for clique, weight in by_hand.items():
        assert weights[clique] == pytest.approx(65536 * weight / 7.0, abs=0.51)


def test_the_size_filter_counts_fill_in() -> None:
    task = task_of(sizes=(10,) * 12)
    cycle = [(i, i + 1) for i in range(11)]
    model = GraphModel(TreePlan(task.sizes, cycle), [np.zeros((10, 10))] * 11, 100.0)
    assert tree_cells(task.sizes, cycle) == 1100
    assert fitting([(0, 11), (0, 1), (3,)], model, task, cycle, 2_000) == [(0, 1), (3,)]
    assert fitting([(0, 11)], model, task, cycle, 10_000) == [(0, 11)]


@pytest.mark.parametrize("limit", [400, 2_000, 20_000])
def test_the_model_stays_below_its_size(limit: int) -> None:
    plan = synth.AIM(workload=3, max_bytes=limit, rounds=4, steps=20)._plan(task_of(sizes=SIZES), Guarantee(rho=5.0))
    model = plan.release(data_of(correlated(500)), source=Seeded(2)).value
    assert 8 * model.cells <= limit


def test_rounds_find_what_belongs_together() -> None:
    plan = synth.AIM(workload=2)._plan(task_of(sizes=SIZES), Guarantee(rho=1.0))
    rows = correlated()
    model = plan.release(data_of(rows), source=Seeded(4)).value
    for clique in ((0, 1), (1, 2), (0, 3)):
        exact = np.zeros([SIZES[i] for i in clique])
        np.add.at(exact, tuple(rows[:, i] for i in clique), 1)
        assert np.abs(model.table(clique) - exact).sum() < 0.06 * len(rows)


@pytest.mark.slow
def test_more_budget_is_no_worse_and_never_worse_than_independence() -> None:
    rows = correlated(3_000)
    exact = np.zeros((3, 3))
    np.add.at(exact, tuple(rows[:, :2].T), 1)
    found = []
    for epsilon in (0.05, 1.0, 20.0):
        runs = []
        for seed in range(3):
            plan = synth.AIM(workload=2, rounds=4, steps=100)._plan(task_of(sizes=SIZES), Guarantee(epsilon, 1e-6))
            runs.append(
                np.abs(plan.release(data_of(rows), source=Seeded(seed)).value.table((0, 1)) - exact).sum() / 3_000
            )
        found.append(float(np.median(runs)))
    assert found[2] < found[1] < found[0]
    alone = np.outer(exact.sum(axis=1), exact.sum(axis=0)) / 3_000
    assert found[1] < np.abs(alone - exact).sum() / 3_000

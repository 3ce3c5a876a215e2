"""Bounds on the excess risk: the lectures' numbers, exact ones below them, and measurements below both."""

import math

import numpy as np
import pytest

from privet import noise
from privet.errors import InvalidParameter
from privet.learn.losses import Logistic
from privet.learn.problem import ArrayRecords, Chunk, Classes, Task
from privet.learn.solvers import OutputPerturbation
from privet.learn.solvers.minimise import Objective, minimiser
from privet.learn.theory import Bound, Order, coordinate_ratio, excess_risk
from privet.privacy import Guarantee, Unit

FACTS = {"n": 10_000, "d": 20, "epsilon": 0.5, "delta": 1e-6}


def test_the_formulas_of_the_lectures():
    root = math.sqrt(20 * math.log(1.25e6))
    output = excess_risk("output_perturbation", **FACTS, strength=0.1, constants="lecture", radius=50.0)
    assert output.value == pytest.approx(3.0 * root / (0.5 * 0.1 * 10_000))
    best = excess_risk("output_perturbation", **FACTS, constants="lecture", radius=2.0)
    assert best.value == pytest.approx(math.sqrt(6.0) * 2.0 * math.sqrt(root / (0.5 * 10_000)))
    assert best.strength == pytest.approx(math.sqrt(2.0 * 3.0 * root / (0.5 * 10_000)) / 2.0)
    objective = excess_risk("objective_perturbation", **FACTS, strength=0.1, constants="lecture")
    assert objective.value == pytest.approx(20 * 8 * math.log(1.25e6) / 0.25 / (2 * 1e8 * 0.1))
    free = excess_risk("objective_perturbation", **FACTS, constants="lecture")
    assert free.value == pytest.approx(math.sqrt(8.0) * root / (0.5 * 10_000))  # L D sqrt(d)/(epsilon n), up to the log
    square = 64 * math.log(2e14) * math.log(2e6) / 0.25
    for method in ("objective_perturbation", "pn_sgd", "dp_sgd", "dp_cd"):
        assert isinstance(excess_risk(method, **FACTS), Order)
    steps = excess_risk("pn_sgd", **{**FACTS, "n": 10**8}, constants="lecture", radius=5.0, lipschitz=2.0)
    assert steps.value == pytest.approx(5.0 * 2.0 * math.sqrt(1 + 20 * square) * math.log(1e16) / 1e8)
    gradient = excess_risk("dp_sgd", **FACTS, constants="lecture")
    assert gradient.value == pytest.approx(2.0 * math.sqrt(20 * math.log(1e6)) / (0.5 * 10_000))


@pytest.mark.parametrize("method", ["output_perturbation", "objective_perturbation", "pn_sgd"])
def test_exact_noise_makes_the_bounds_smaller(method):
    facts = FACTS | {"n": 10**8}  # so that no bound is the trivial one
    lecture, exact = (excess_risk(method, **facts, constants=which).value for which in ("lecture", "exact"))
    assert exact < lecture < 1.0
    assert excess_risk(method, **{**facts, "n": 10**9}).value < exact
    assert excess_risk(method, **{**facts, "n": 1}).value > 1.0  # above L D: a private model is no model of zeros
    assert isinstance(excess_risk(method, **facts), Bound) == (method == "output_perturbation")


def test_where_coordinates_win_and_where_they_do_not():
    p = 20
    assert coordinate_ratio(np.ones(p), np.ones(p), np.ones(p)) == pytest.approx(1.0)
    alike = coordinate_ratio(np.ones(p), np.ones(p), np.ones(p), whole=1.0)  # one coordinate moves at a time
    assert alike == pytest.approx(math.sqrt(p))
    steep = np.r_[1e6, np.ones(p - 1)]
    lucky = coordinate_ratio(steep, np.sqrt(steep), np.r_[0.0, np.ones(p - 1)])
    assert 1.0 / 1e3 < lucky < 1.0 / p
    unlucky = coordinate_ratio(steep, np.sqrt(steep), np.r_[1.0, np.zeros(p - 1)])
    assert unlucky > 1.0
    facts = {"sensitivities": np.sqrt(steep).tolist(), "distance": [0.0] + [1.0] * (p - 1), "moments": steep.tolist()}
    coordinates = excess_risk("dp_cd", **FACTS, **facts, radius=1e9)
    gradients = excess_risk("dp_sgd", **FACTS, lipschitz=math.sqrt(steep.sum()) / 2, radius=math.sqrt(p - 1))
    assert coordinates.value / gradients.value == pytest.approx(lucky)
    even = excess_risk("dp_cd", **FACTS)
    assert even.value == pytest.approx(excess_risk("dp_sgd", **FACTS).value)


def measured(n, epsilon, runs=30):
    """The excess risk of output perturbation with the best strength, on logistic data in two dimensions; and its bound."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, 2))
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0) * 1.01
    labels = (rng.random(n) < 1.0 / (1.0 + np.exp(-3.0 * rows[:, 0]))).astype(int)
    sign = np.where(labels == 1, 1.0, -1.0)
    best = minimiser(Objective(lambda: iter([Chunk(rows, sign)]), Logistic(), 1e-6, np.zeros(2)), 1e-6)
    radius = float(np.linalg.norm(best))
    task = Task(features=2, row_norm=1.0, intercept=False, target=Classes((0, 1)), unit=Unit("replace"))
    bound = excess_risk("output_perturbation", n=n, d=2, epsilon=epsilon, delta=1e-6, radius=radius)
    plan = OutputPerturbation(strength=n * bound.strength).plan(task, Logistic(), Guarantee(epsilon, 1e-6))
    found = np.asarray(plan.simulate(ArrayRecords(rows, labels), runs=runs, source=noise.Seeded(1)))
    risks = [np.logaddexp(0.0, -sign[:, None] * (rows @ w.T)).mean() for w in (found, best[None, :])]
    return float(risks[0] - risks[1]), bound.value


def test_measurements_stay_below_the_bound_and_fall():
    (small, above), (large, below) = measured(500, 1.0), measured(8_000, 1.0)
    assert 0.0 < small <= above
    assert 0.0 < large <= below
    assert large < small
    assert large > below / 100  # and the bound says something


@pytest.mark.parametrize(
    "wrong",
    [{"method": "magic"}, {"constants": "none"}, {"n": 0}, {"delta": 0.0}, {"moments": [1.0]}, {"strength": -1.0}],
    ids=str,
)
def test_refusals(wrong):
    given = {"method": "dp_sgd", **FACTS, **wrong}
    with pytest.raises(InvalidParameter):
        excess_risk(given.pop("method"), **given)
    with pytest.raises(InvalidParameter, match="each of the 20"):
        excess_risk("dp_cd", **FACTS, moments=[1.0])


def test_a_bound_is_above_what_is_measured_where_records_are_few():
    """200 records in 20 dimensions at epsilon .1: the bound was cut at L D = 3, and 28.6 was measured."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 20))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    labels = (rows[:, 0] > 0.0).astype(int)
    facts = {"n": 200, "d": 20, "epsilon": 0.1, "delta": 1e-6, "radius": 3.0, "strength": 0.005}
    bound = excess_risk("output_perturbation", **facts)
    task = Task(features=20, row_norm=1.0, intercept=False, target=Classes((0, 1)), unit=Unit("replace"))
    plan = OutputPerturbation(strength=200 * 0.005).plan(task, Logistic(), Guarantee(0.1, 1e-6))
    signs, losses = 2.0 * labels - 1.0, []
    for seed in range(60):
        w = plan.release(ArrayRecords(rows, labels), source=noise.Seeded(seed)).value
        losses.append(float(np.logaddexp(0.0, -signs * (rows @ w)).mean()))
    excess = np.mean(losses) - math.log(2.0)  # no less than what a model of zeros has
    assert 3.0 < 20.0 < excess < bound.value
    assert isinstance(bound, Bound)

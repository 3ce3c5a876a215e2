"""Intervals for the coefficients of logistic regression: what they hold, how often, and what has none."""

from dataclasses import replace

import numpy as np
import pytest

from privet import audit, noise
from privet.errors import InvalidParameter
from privet.learn import LogisticRegression
from privet.learn.estimators.margin_intervals import margin_intervals, raw_changes
from privet.learn.losses import Logistic
from privet.learn.problem import ArrayRecords, Classes, Task
from privet.learn.solvers import CurvatureFit, NoisyGD, ObjectivePerturbation, OutputPerturbation
from privet.learn.solvers.exact_totals import GRID, exact_bent_gram
from privet.learn.solvers.minimise import Objective, minimiser
from privet.privacy import Guarantee, Unit

TRUTH = np.array([1.0, -1.0, 0.5])
OUTPUT = OutputPerturbation(strength=5.0)
FACTS = {"delta": 1e-6, "bounds": (-1, 1), "classes": [0, 1]}


def drawn(n, rng):
    rows = rng.uniform(-1.0, 1.0, size=(n, 2))
    return rows, (rng.random(n) < 1.0 / (1.0 + np.exp(-(rows @ TRUTH[:2] + TRUTH[2])))).astype(int)


def without_noise(model, rows, labels):
    """The regularised minimum, in the units of the data."""
    plan = model._facts
    fit, task = getattr(plan, "fit", plan), plan.task
    objective = Objective(task.passes(ArrayRecords(rows, labels)), Logistic(), fit.strength, np.zeros(task.dimension))
    zero, change = raw_changes(task)
    return zero + change @ minimiser(objective, 1e-7)


def held(intervals, truth):
    return (intervals[:, 0] <= truth) & (truth <= intervals[:, 1])


def enough(hits, level):
    """No fewer than a fair coin of this level shows with a probability of one in ten thousand."""
    runs = len(hits)
    return (np.mean(hits, axis=0) >= level - 3.7 * (level * (1.0 - level) / runs) ** 0.5).all()


def hits_of(runs, n, epsilon):
    """Which coefficients were held in fits of the same model: of the population, of the sample, and of the sample by a twin
    that counts half of the noise's variance; and widths."""
    rng, seen = np.random.default_rng(1), []
    for run in range(runs):
        rows, labels = drawn(n, rng)
        made = LogisticRegression(epsilon=epsilon, **FACTS, intervals=True, source=noise.Seeded(run))
        model = made.fit(rows, labels)
        population, sample = (model.confidence_intervals(of=of) for of in ("population", "sample"))
        minimum = without_noise(model, rows, labels)
        plan = model._facts
        quiet = replace(plan, fit=replace(plan.fit, sigma=plan.fit.sigma * 0.5**0.5))
        twin = margin_intervals(model._released, quiet, 0.95, "sample")
        hits = held(population, TRUTH), held(sample, minimum), held(twin, minimum)
        seen.append((*hits, np.ptp(population, axis=1), np.ptp(sample, axis=1)))
    return [np.array(each) for each in zip(*seen, strict=True)]


def test_intervals_hold_and_are_of_use():
    population, sample, _, wide, narrow = hits_of(40, 4_000, 1.0)
    assert enough(population, 0.95)
    assert enough(sample, 0.95)
    assert (np.median(wide, axis=0) < 0.5).all()
    assert (np.median(narrow, axis=0) < 0.3).all()


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "n"), [(1.0, 4_000), (8.0, 500)])
def test_two_thousand_fits_hold_their_coefficients(epsilon, n):
    population, sample, twin, *_ = hits_of(2_000, n, epsilon)
    assert enough(population, 0.95), population.mean(axis=0)
    assert enough(sample, 0.95), sample.mean(axis=0)
    assert not enough(twin, 0.95), twin.mean(axis=0)


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_intervals_of_output_perturbation_are_exact(share):
    """2,000 draws of the noise; where half of its variance counts, too few intervals hold the minimum."""
    rows, labels = drawn(400, np.random.default_rng(2))
    model = LogisticRegression(epsilon=1.0, **FACTS, solver=OUTPUT).fit(rows, labels)
    truth, plan, records = without_noise(model, rows, labels), model._facts, ArrayRecords(rows, labels)
    quiet = replace(plan, noise=replace(plan.noise, scale=plan.noise.scale * share**0.5))
    drawn_ones = plan._draw(plan._prepare(records), 2_000, noise.Seeded(3))
    hits = [held(margin_intervals(each, quiet, 0.9, "sample"), truth) for each in drawn_ones]
    assert enough(hits, 0.9) == (share == 1.0)
    assert share < 1.0 or (np.mean(hits, axis=0) < 0.93).all()


def test_the_noisy_matrix_is_the_hessian():
    rows, labels = drawn(500, np.random.default_rng(3))
    task, w = Task(features=2, row_norm=1.2, target=Classes((0, 1))), np.array([3.0, -2.0, 0.7])
    found = exact_bent_gram(task, ArrayRecords(rows, labels), Logistic(), w).astype(float) * float(GRID.step)
    unit = next(task.unit_chunks(ArrayRecords(rows, labels))).rows
    share = 1.0 / (1.0 + np.exp(-unit @ w))
    assert np.allclose(found / 4.0, unit.T @ (unit * (share * (1.0 - share))[:, None]), atol=1e-3)


@pytest.mark.parametrize("unit", [Unit(), Unit("replace")])
def test_one_record_shows_in_the_noise_alone(unit):
    task = Task(features=2, row_norm=1.0, target=Classes((0, 1)), unit=unit)
    promise = Guarantee(1.0, 1e-6)
    plan = CurvatureFit.planned(lambda share: ObjectivePerturbation().plan(task, Logistic(), share), promise)
    assert promise.covers(plan.loss)
    rows, labels = drawn(6, np.random.default_rng(4))
    more = np.vstack([rows, [[0.0, 1.0]]]), np.append(labels, 1)
    other = np.vstack([rows, [[1.0, 0.0]]]), np.append(labels, 0)
    neighbour = ArrayRecords(*other) if unit.relation == "replace" else ArrayRecords(rows, labels)
    assert audit.replay(plan.release, ArrayRecords(*more), neighbour).verdict == "not refuted"


def test_little_data_have_the_whole_line():
    model = LogisticRegression(epsilon=1.0, **FACTS, intervals=True).fit(*drawn(20, np.random.default_rng(5)))
    for of in ("population", "sample"):
        assert np.isinf(model.confidence_intervals(of=of)).all()
    assert "intervals: objective perturbation" in str(model.privacy_)


def test_what_has_no_intervals_says_what_has_them():
    rows, labels = drawn(50, np.random.default_rng(6))
    with pytest.raises(InvalidParameter, match="call fit"):
        LogisticRegression(epsilon=1.0, **FACTS).confidence_intervals()
    for solver, words in ((None, "intervals=True"), (NoisyGD(rows=50), "no known law"), (OUTPUT, 'of="sample"')):
        model = LogisticRegression(epsilon=1.0, **FACTS, solver=solver).fit(rows, labels)
        with pytest.raises(InvalidParameter, match=words):
            model.confidence_intervals()
    for facts, words in (
        ({"solver": NoisyGD(rows=50)}, "is for solver=ObjectivePerturbation"),
        ({"delta": 0.0}, "a delta above 0"),
        ({"classes": [0, 1, 2]}, "two classes"),
        ({"bounds": None, "row_norm": "private"}, "row_norm= as a number"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            LogisticRegression(**{"epsilon": 1.0, **FACTS, "intervals": True, **facts}).fit(rows, labels)

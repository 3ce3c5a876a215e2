"""One record a step, bolt-on noise, Newton with noise twice, a grid of coefficients: reaches, prices and broken twins."""

import math
from dataclasses import replace

import numpy as np
import pytest

from privet import audit, noise
from privet.accounting import epsilon
from privet.errors import InvalidData, InvalidParameter, PrivetError, ReleaseFailed
from privet.learn import LogisticRegression
from privet.learn.estimators.ladder import ladder
from privet.learn.losses import HuberHinge, Logistic, Softmax
from privet.learn.problem import ArrayRecords, Classes, GridRows, Task
from privet.learn.solvers import BoltOn, GridExponential, Newton, NoisyGD, NoisySGD, ProjectedSGD
from privet.learn.solvers.bolt_on import Facts, exact_last, last_reach
from privet.learn.solvers.exponential import score_reach
from privet.learn.solvers.projected_sgd import exact_multiplier, lecture_multiplier
from privet.mechanisms import Gaussian
from privet.privacy import GaussianLoss, Guarantee, PoissonSampled, Repeated, Unit

REP = Unit("replace")
TASK = Task(features=2, row_norm=1.0, target=Classes((0, 1)), unit=REP)


# --- one record a step --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "delta", "slide", "needed"), [(1_000, 1e-6, 70.5094, 4.626), (100, 1e-5, 57.2991, 4.128)]
)
def test_the_lecture_takes_fifteen_times_too_much_noise(n, delta, slide, needed):
    target = Guarantee(1.0, delta)
    assert lecture_multiplier(target, n) == pytest.approx(slide, abs=5e-5)
    assert exact_multiplier(target, n, n * n) == pytest.approx(needed, rel=3e-4)


def test_projected_plans_keep_their_promise():
    plan = ProjectedSGD(rows=100).plan(TASK, Logistic(), Guarantee(1.0, 1e-5))
    assert plan.steps == 10_000
    assert 0.99 <= epsilon(plan.loss, delta=1e-5).upper <= 1.0
    capped = ProjectedSGD(rows=1_000, noise="lecture").plan(TASK, Logistic(), Guarantee(1.0, 1e-6))
    assert capped.steps == 20_000


def test_projected_steps_are_for_replace_and_the_stated_number_of_records():
    with pytest.raises(InvalidParameter, match="replace"):
        ProjectedSGD(rows=9).plan(replace(TASK, unit=Unit()), Logistic(), Guarantee(1.0, 1e-6))
    with pytest.raises(InvalidParameter, match="0 < epsilon <= 1"):
        ProjectedSGD(rows=9, noise="lecture").plan(TASK, Logistic(), Guarantee(2.0, 1e-6))
    plan = ProjectedSGD(rows=9, steps=2, noise="lecture").plan(TASK, Logistic(), Guarantee(1.0, 1e-6))
    with pytest.raises(InvalidData, match="another number"):
        plan.release(ArrayRecords(np.zeros((8, 2)), np.zeros(8, dtype=int)))


def test_the_answer_stays_in_the_ball():
    plan = ProjectedSGD(rows=3, noise="lecture", radius=0.5).plan(TASK, Logistic(), Guarantee(1.0, 1e-6))
    made = plan.release(ArrayRecords(np.eye(3)[:, :2], np.array([0, 1, 1])), source=noise.Seeded(1)).value
    assert float(np.linalg.norm(made)) <= 0.5 * (1.0 + 1e-12)


# --- bolt-on ------------------------------------------------------------------------------------------------------------


def largest_move(facts: Facts, loss: object, seeds: int = 12) -> float:
    """Over random records, orders and exchanged records; the last seeds exchange a long row for its opposite."""
    largest = 0.0
    for seed in range(seeds):
        random = np.random.default_rng(seed)
        rows = random.normal(size=(facts.rows, 2))
        rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1))[:, None] * 1.0000001
        rows *= 1e-3 if seed % 2 else 1.0
        targets = random.choice([-1.0, 1.0], facts.rows)
        other, place = rows.copy(), int(random.integers(facts.rows))
        rows[place], other[place] = [0.99999, 0.0], [-0.99999, 0.0]
        left, right = (exact_last(each, targets, loss, facts) for each in (rows, other))
        largest = max(largest, float(np.linalg.norm(left - right)))
    return largest


@pytest.mark.parametrize("batch", [1, 3, 10])
@pytest.mark.parametrize("strength", [0.0, 0.5, 5.0, 100.0])
def test_bolt_on_moves_no_farther_than_its_reach(batch, strength):
    facts = Facts(20, strength, 50.0, 3, batch, 0.2 if strength == 0.0 else None)
    for loss in (Logistic(), HuberHinge()):
        assert largest_move(facts, loss) <= float(last_reach(TASK, loss, facts))


def test_bolt_on_reach_is_nearly_attained_and_a_twin_that_divides_by_the_batch_is_caught():
    """A hinge far from its corner is linear: the bound is met, and a tenth of it, as one library has it, is not."""
    facts = Facts(20, 2_000.0, 50.0, 3, 10, None)
    moved, reach = largest_move(facts, HuberHinge()), float(last_reach(TASK, HuberHinge(), facts))
    assert 0.9 * reach < moved <= reach
    assert moved > reach / facts.batch


def test_bolt_on_noise_is_that_of_its_reach_and_independent_of_the_batch():
    scales = {
        BoltOn(rows=1_000, strength=10.0, batch=b, passes=k).plan(TASK, Logistic(), Guarantee(1.0)).noise.scale
        for b, k in ((1, 1), (10, 3), (1_000, 20))
    }
    assert max(scales) / min(scales) < 1.0 + 1e-6
    assert max(scales) == pytest.approx(0.2, rel=1e-6)
    plan = BoltOn(rows=1_000).plan(TASK, Logistic(), Guarantee(1.0, 1e-6))
    with pytest.raises(InvalidParameter, match="smaller reach"):
        replace(plan, facts=replace(plan.facts, strength=plan.facts.strength / 2.0))
    with pytest.raises(InvalidParameter, match="replace"):
        BoltOn(rows=9, batch=3).plan(replace(TASK, unit=Unit()), Logistic(), Guarantee(1.0))
    with pytest.raises(InvalidParameter, match="one margin"):
        BoltOn(rows=9, batch=3).plan(TASK, Softmax(3), Guarantee(1.0))


# --- Newton -------------------------------------------------------------------------------------------------------------


def direction_move(damping: float, beta: float, seeds: int = 200) -> float:
    """The largest move of (H + damping)^-1 g over random H and a record more, as a share of the bound."""
    largest = 0.0
    for seed in range(seeds):
        random = np.random.default_rng(seed)
        rows = random.normal(size=(int(random.integers(0, 4)), 3)) * random.uniform(0.0, 0.5)
        x = random.normal(size=3)
        x /= np.linalg.norm(x)
        g = x if seed % 2 else random.normal(size=3)
        whole = damping * np.eye(3) + beta * rows.T @ rows
        moved = np.linalg.solve(whole, g) - np.linalg.solve(whole + beta * np.outer(x, x), g)
        bound = beta * np.linalg.norm(g) / (damping * (damping + beta))
        largest = max(largest, float(np.linalg.norm(moved) / bound))
    return largest


def test_a_newton_direction_moves_by_its_bound():
    for damping in (0.1, 1.0, 30.0):
        assert 0.99 < direction_move(damping, 0.25) <= 1.0 + 1e-9  # the twin with half of it is caught by the first


def test_a_newton_step_on_neighbours_moves_by_what_its_noise_is_for():
    """One record along the gradient: the bound is attained, so a smaller one would be refuted."""
    task = replace(TASK, features=1, intercept=False, unit=Unit())
    plan = Newton(steps=1, damping=0.1).plan(task, Logistic(), Guarantee(mu=1.0))
    pair = ArrayRecords([[10.0]], [1]), ArrayRecords(np.zeros((0, 1)), np.zeros(0, dtype=int))
    assert audit.replay(plan.release, *pair).verdict == "not refuted"


def test_newton_refuses_a_direction_that_it_cannot_certify():
    plan = Newton(damping=1e15).plan(replace(TASK, unit=Unit()), Logistic(), Guarantee(1.0, 1e-6))
    gradient, unit = np.ones(3), 0.25 * math.sqrt(3.0) / (1e15 * (1e15 + 0.25))
    with pytest.raises(ReleaseFailed, match="charge"):
        plan._solved(1e22 * np.eye(3), gradient, unit)
    assert np.allclose(plan._solved(np.eye(3), gradient, unit * 1e15), 1e-15)


def test_hessians_are_exact_sums():
    rows = np.random.default_rng(0).normal(size=(700, 2))
    task, w = replace(TASK, unit=Unit()), np.array([0.3, -2.0, 0.1])
    data = ArrayRecords(rows, (rows[:, 0] > 0).astype(int))
    turned = ArrayRecords(rows[::-1], (rows[::-1, 0] > 0).astype(int))
    made = GridRows(task, data).hessian(Logistic(), w)
    chunk = next(task.unit_chunks(data))
    margins = chunk.rows @ w
    means = (Logistic().slope(margins, chunk.targets) - Logistic().slope(0.0 * margins, chunk.targets)) / margins
    assert np.allclose(made, (chunk.rows * means[:, None]).T @ chunk.rows, atol=0.1)
    assert np.array_equal(made, GridRows(task, turned).hessian(Logistic(), w))


# --- grid ---------------------------------------------------------------------------------------------------------------


def test_scores_move_by_no_more_than_their_reach():
    plan = GridExponential(radius=3.0, points=31).plan(
        replace(TASK, features=1, unit=Unit()), Logistic(), Guarantee(1.0)
    )
    reach, largest = float(score_reach(plan.task, Logistic(), 3.0)), 0.0
    for seed in range(20):
        random = np.random.default_rng(seed)
        rows, labels = random.normal(size=(5, 1)) * 10.0, random.integers(0, 2, 5)
        left = plan._totals(ArrayRecords(rows, labels), plan.places())
        right = plan._totals(ArrayRecords(rows[:-1], labels[:-1]), plan.places())
        largest = max(largest, float(np.abs(left - right).max()))
    assert 0.5 * reach < largest <= reach


def test_scores_of_an_exchanged_record_move_by_twice_as_much():
    """Two labels of one hinge, whose slope is 1 from end to end."""
    task = replace(TASK, features=1, intercept=False, unit=Unit("replace"))
    plan = GridExponential(radius=0.8, points=31).plan(task, HuberHinge(0.1), Guarantee(1.0))
    one, other = (plan._totals(ArrayRecords([[10.0]], [label]), plan.places()) for label in (0, 1))
    reach = float(plan.choice.sensitivity)
    assert 0.99 * reach < np.abs(np.asarray(one - other, dtype=float)).max() <= reach


def test_the_grid_finds_the_minimum_with_much_data():
    random = np.random.default_rng(0)
    rows = random.normal(size=(3_000, 1))
    labels = (rows[:, 0] * 2.0 + random.logistic(size=3_000) > 0).astype(int)
    model = LogisticRegression(
        epsilon=5.0, row_norm=3.0, fit_intercept=False, classes=[0, 1], solver=GridExponential(radius=12.0)
    )
    scores = [replace_source(model, seed).fit(rows, labels).coef_[0, 0] for seed in range(3)]
    assert np.allclose(scores, 2.0, atol=0.6)
    with pytest.raises(InvalidParameter, match="one or two"):
        GridExponential().plan(replace(TASK, features=2), Logistic(), Guarantee(1.0))


def replace_source(model: LogisticRegression, seed: int) -> LogisticRegression:
    from sklearn.base import clone

    return clone(model).set_params(source=noise.Seeded(seed))


# --- all ----------------------------------------------------------------------------------------------------------------


def test_half_the_noise_is_refuted_by_a_replay():
    """A plan whose part has half the noise that its price says is seen without statistics."""
    plan = NoisyGD(rows=2, steps=2).plan(replace(TASK, unit=Unit()), Logistic(), Guarantee(1.0, 1e-5))
    rows, labels = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([1, 1])
    pair = ArrayRecords(rows, labels), ArrayRecords(rows[:1], labels[:1])
    assert not audit.replay(plan.release, *pair).refuted
    half = Gaussian(scale=plan.noise.scale / 2.0, sensitivity=float(plan.noise.sensitivity) / 2.0)
    assert half.loss.noise_multiplier == pytest.approx(plan.noise.loss.noise_multiplier)
    object.__setattr__(plan, "noise", half)
    assert audit.replay(plan.release, *pair).refuted


def test_the_ladder_of_a_plan():
    lecture = ladder(Repeated(PoissonSampled(GaussianLoss(4.0), 0.01), 10_000), 1e-5)
    assert list(lecture) == ["basic", "advanced", "RDP", "tight"]
    assert list(lecture.values()) == sorted(lecture.values(), reverse=True)
    assert ladder(GaussianLoss(1.0), 1e-6) == {}
    assert ladder(Repeated(GaussianLoss(1.0), 5), 0.0) == {}
    rows = np.random.default_rng(0).normal(size=(60, 2))
    model = LogisticRegression(
        epsilon=1.0, delta=1e-6, row_norm=1.0, classes=[0, 1], solver=NoisySGD(rows=60, q=0.2, steps=5)
    ).fit(rows, (rows[:, 0] > 0).astype(int))
    assert "from naive to tight: basic" in str(model.privacy_)
    assert model.privacy_.ladder()["tight"] == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_records_are_fitted_without_complaint(n):
    task = replace(TASK, unit=Unit())
    rows, labels = np.full((n, 2), np.nan), np.zeros(n, dtype=int)
    for solver in (NoisyGD(), NoisySGD(rows=60, q=0.2, steps=5), Newton(steps=2)):
        made = solver.plan(task, Logistic(), Guarantee(1.0, 1e-6)).release(ArrayRecords(rows, labels)).value
        assert np.isfinite(made).all()


def test_wrong_parameters_are_refused():
    for wrong in (
        lambda: NoisyGD(steps=0),
        lambda: NoisySGD(rows=0),
        lambda: NoisySGD(rows=5, q=0.0),
        lambda: ProjectedSGD(rows=5, noise="none"),
        lambda: BoltOn(rows=5, batch=6),
        lambda: Newton(share=1.0),
        lambda: GridExponential(points=1),
        lambda: BoltOn(rows=9, strength=0.0, step_size=math.inf, batch=1).plan(TASK, Logistic(), Guarantee(1.0)),
    ):
        with pytest.raises(PrivetError):
            wrong()

"""One record a step, a grid of coefficients: reaches, prices and broken twins."""

from dataclasses import replace

import numpy as np
import pytest

from privet import audit, noise
from privet.accounting import epsilon
from privet.errors import InvalidData, InvalidParameter, PrivetError
from privet.learn import LogisticRegression
from privet.learn.estimators.ladder import ladder
from privet.learn.losses import HuberHinge, Logistic
from privet.learn.problem import ArrayRecords, Classes, GridRows, Task
from privet.learn.solvers import GridExponential, NoisyGD, NoisySGD, ProjectedSGD
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
    for solver in (NoisyGD(), NoisySGD(rows=60, q=0.2, steps=5)):
        made = solver.plan(task, Logistic(), Guarantee(1.0, 1e-6)).release(ArrayRecords(rows, labels)).value
        assert np.isfinite(made).all()


def test_wrong_parameters_are_refused():
    for wrong in (
        lambda: NoisyGD(steps=0),
        lambda: NoisySGD(rows=0),
        lambda: NoisySGD(rows=5, q=0.0),
        lambda: ProjectedSGD(rows=5, noise="none"),
        lambda: GridExponential(points=1),
    ):
        with pytest.raises(PrivetError):
            wrong()

"""Noisy steps: what they cost, what they release, and twins that do it wrongly."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from privet import audit, noise, testing
from privet.errors import InvalidParameter, NoGuarantee
from privet.learn import LogisticRegression
from privet.learn.estimators.choice import chosen_solver
from privet.learn.losses import HuberHinge, Logistic, Softmax
from privet.learn.problem import ArrayRecords, Classes, GridRows, Task, gradient_grid, gradient_reach
from privet.learn.solvers import NoisyGD, NoisySGD, ObjectivePerturbation, OutputPerturbation, Preconditioned
from privet.learn.solvers.budget import in_units
from privet.learn.solvers.noisy_sgd import step_price
from privet.mechanisms import Algorithm, Example, Gaussian
from privet.privacy import Composed, FixedSampled, GaussianLoss, Guarantee, PoissonSampled, Repeated, Unit

TASK = Task(features=2, row_norm=1.0, target=Classes((0, 1)))
TARGETS = [Guarantee(1.0, 1e-6), Guarantee(0.1, 1e-9), Guarantee(8.0, 1e-5), Guarantee(rho=0.1), Guarantee(mu=0.7)]


def spent_share(plan: Any, target: Guarantee) -> float:
    if target.mu is not None:
        return plan.loss.gdp() / target.mu
    if target.rho is not None:
        return plan.loss.zcdp().rho / target.rho
    return float(plan.loss.profile(target.epsilon)) / target.delta


@pytest.mark.parametrize("unit", [Unit(), Unit("replace"), Unit("add_remove", 3), Unit("replace", 2)])
@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("solver", [NoisyGD(), NoisyGD(rows=500), Preconditioned()], ids=["counted", "public", "gram"])
def test_a_plan_spends_what_was_promised(solver, target, unit):
    plan = solver.plan(replace(TASK, unit=unit), Logistic(), target)
    assert plan.loss.unit == unit
    assert target.covers(plan.loss)
    assert spent_share(plan, target) > 0.99


def test_full_batch_composition_is_exact():
    """T steps of mu/sqrt(T): neither Renyi nor a numerical accountant costs anything."""
    plan = NoisyGD(rows=500, steps=17, clip_norm=0.5).plan(TASK, Logistic(), Guarantee(mu=0.5))
    sigma = plan.noise.scale * gradient_grid(0.5).width
    assert sigma == pytest.approx(0.5 * 17**0.5 / 0.5, rel=1e-9)


def test_steps_follow_public_facts():
    few = NoisyGD(rows=455).plan(TASK, Logistic(), Guarantee(0.1, 1e-6))
    many = NoisyGD(rows=10**6).plan(TASK, Logistic(), Guarantee(1.0, 1e-6))
    assert (few.steps, many.steps) == (37, 200)
    assert NoisyGD(rows=455).plan(TASK, Logistic(), Guarantee(0.1, 1e-6)).counting is None
    assert NoisyGD().plan(TASK, Logistic(), Guarantee(1.0, 1e-6)).counting is not None
    assert NoisyGD().plan(replace(TASK, unit=Unit("replace")), Logistic(), Guarantee(1.0, 1e-6)).counting is None


@pytest.mark.parametrize(("carry", "low", "high"), [(None, 0.9, 1.0), (0.0, 0.0, 0.8)], ids=["carried", "plain"])
def test_steps_that_are_too_few_carry_their_moves_on(carry, low, high, monkeypatch):
    """A column that fills a tenth of its bounds tells most: a hundred plain steps come too short."""
    from privet import noise
    from privet.learn import LogisticRegression
    from privet.learn.solvers import noisy_gd

    if carry is not None:
        monkeypatch.setattr(noisy_gd, "carried", lambda *_: carry)
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, size=(3_000, 3)) * [1.0, 1.0, 0.1]
    labels = (rows @ [1.0, -1.0, 30.0] + 0.3 * rng.logistic(size=3_000) > 0).astype(int)
    facts = {"epsilon": 4.0, "delta": 1e-7, "row_norm": 1.5, "classes": (0, 1), "source": noise.Seeded(0)}
    model = LogisticRegression(**facts, solver=NoisyGD(rows=3_000, steps=100)).fit(rows, labels)
    assert low < model.score(rows, labels) < high


def test_a_step_size_that_is_given_is_taken_alone():
    from privet.learn.solvers.noisy_gd import carried

    plan = NoisyGD(rows=500, steps=3, step_size=1.0).plan(TASK, Logistic(), Guarantee(1.0, 1e-6))
    assert carried(plan.time * 500, plan.steps * plan.step_size) == 0.0
    assert carried(10.0, 5.0) == 0.5


@pytest.mark.parametrize("solver", [NoisyGD(), NoisySGD(rows=9), Preconditioned()])
def test_normal_noise_has_no_pure_guarantee(solver):
    with pytest.raises(NoGuarantee, match="no pure guarantee"):
        solver.plan(TASK, Logistic(), Guarantee(1.0))


def test_a_plan_refuses_noise_that_is_too_small():
    plan = NoisyGD(rows=100, clip_norm=0.5).plan(TASK, Logistic(), Guarantee(1.0, 1e-6))
    with pytest.raises(InvalidParameter, match="smaller reach"):
        replace(plan, clip_norm=0.6)
    with pytest.raises(InvalidParameter, match="not public"):
        replace(plan, rows=None)
    gram = Preconditioned().plan(TASK, Logistic(), Guarantee(1.0, 1e-6))
    with pytest.raises(InvalidParameter, match="gram was made"):
        replace(gram, gram=Gaussian.for_budget(mu=1.0, sensitivity=1.0))


def test_poisson_price_and_noise():
    target = Guarantee(1.0, 1e-6)
    plan = NoisySGD(rows=1_000, q=0.1, steps=30).plan(TASK, Logistic(), target)
    assert plan.loss.parts()[0][0].q == 0.1
    assert plan.loss.parts()[0][1] == 30
    multiplier = plan.noise.loss.noise_multiplier
    full = NoisyGD(rows=1_000, steps=30).plan(TASK, Logistic(), target).noise.loss.noise_multiplier
    assert multiplier < 0.25 * full


def test_a_fixed_sample_is_another_price():
    """Trap: without replacement, priced as Poisson. Under replace both exist, and the fixed one needs more noise."""
    base = GaussianLoss(2.0, unit=Unit("replace"))
    fixed = float(FixedSampled(base, 1, 10).profile(0.5))
    claimed = float(PoissonSampled(GaussianLoss(2.0), 0.1).profile(0.5))
    assert fixed >= claimed
    with pytest.raises(Exception, match="replace"):
        PoissonSampled(base, 0.1)


@dataclass(frozen=True, kw_only=True)
class DrawnBatch(Algorithm):
    """The twin that divides by the number of records that were drawn (with q = 1: coins that always fall alike)."""

    name = "twin_that_divides_by_the_drawn_batch"
    task: Task
    noise: Gaussian
    q: float

    @property
    def loss(self) -> Any:
        return step_price(self.noise.loss, self.q, self.task.unit)

    def _run(self, prepared: Any, source: Any) -> Any:
        data = GridRows(self.task, prepared)
        size = data.exact_count()
        drawn = self._coins("sample", lambda s: noise.poisson_subset(size, q=self.q, source=s), source)
        sample = data.picked(drawn[drawn < size])
        with self._priced(lambda parts: step_price(Composed(parts), self.q, self.task.unit)):
            total = sample.gradient(Logistic(), np.zeros(1), 0.5)
            noisy = in_units(self.noise.release(total, source=source).value, gradient_grid(0.5).exponent)
        return noisy / max(1, len(drawn[drawn < size]))

    @classmethod
    def examples(cls) -> Any:
        return ()


def test_dividing_by_the_drawn_batch_is_caught():
    task = Task(features=1, row_norm=1.0, intercept=False, target=Classes((0, 1)))
    reach = gradient_reach(0.5, Unit())
    twin = DrawnBatch(
        task=task, noise=Gaussian.for_budget(mu=0.5, sensitivity=reach), q=1.0
    )  # coins that always fall alike
    rows, labels = np.ones((6, 1)), np.ones(6, dtype=int)
    found = audit.replay(twin.release, ArrayRecords(rows, labels), ArrayRecords(rows[:5], labels[:5]))
    assert found.refuted
    honest = NoisySGD(rows=6, q=0.9, steps=2).plan(task, Logistic(), Guarantee(1.0, 1e-5))
    assert not audit.replay(honest.release, ArrayRecords(rows, labels), ArrayRecords(rows[:5], labels[:5])).refuted


def test_half_the_noise_is_caught():
    """The price is that of the noise that runs: a twin with half of it says so, and does not keep its promise."""
    target = Guarantee(1.0, 1e-6)
    plan = NoisyGD(rows=100).plan(TASK, Logistic(), target)
    twin = replace(plan, noise=replace(plan.noise, scale=plan.noise.scale / 2.0))
    rows, labels = np.array([[1.0, 0.0]] * 2), np.array([1, 1])
    testing.check_meets_its_budget(
        Example(plan, ArrayRecords(rows, labels), ArrayRecords(rows[:1], labels[:1]), target)
    )
    with pytest.raises(AssertionError):
        testing.check_meets_its_budget(
            Example(twin, ArrayRecords(rows, labels), ArrayRecords(rows[:1], labels[:1]), target)
        )


def test_several_classes_share_one_budget():
    """Never one-vs-rest: the noise does not grow with the number of classes."""
    few, many = (Task(features=3, row_norm=1.0, target=Classes(range(k))) for k in (3, 30))
    plans = [Preconditioned().plan(t, Softmax(k), Guarantee(1.0, 1e-6)) for t, k in ((few, 3), (many, 30))]
    assert plans[0].noise.scale == plans[1].noise.scale


def test_softmax_constants_are_attained():
    """Trap 20: sqrt(2) and 1/2, not 1 and 1/4."""
    loss, margins = Softmax(3), np.array([[40.0, 0.0, 0.0], [1.0, 1.0, -40.0]])
    slopes = loss.slope(margins, np.array([1.0, 0.0]))
    assert np.linalg.norm(slopes[0]) == pytest.approx(loss.lipschitz, rel=1e-12)
    assert np.linalg.norm(slopes, axis=1).max() <= loss.lipschitz
    p = slopes[1] + np.array([1.0, 0.0, 0.0])
    hessian = np.diag(p) - np.outer(p, p)
    assert np.linalg.eigvalsh(hessian)[-1] == pytest.approx(loss.smoothness, rel=1e-12)


def test_softmax_slopes_are_those_of_the_value():
    loss, random = Softmax(4), np.random.default_rng(0)
    margins, targets = random.normal(size=(5, 4)), np.array([0.0, 1.0, 2.0, 3.0, 1.0])
    for k in range(4):
        step = np.zeros(4)
        step[k] = 1e-6
        slope = (loss.value(margins + step, targets) - loss.value(margins - step, targets)) / 2e-6
        assert np.allclose(slope, loss.slope(margins, targets)[:, k], atol=1e-8)


@pytest.mark.parametrize("solver", [ObjectivePerturbation(analysis="kst12"), OutputPerturbation(strength=1.0)])
def test_solvers_of_one_margin_refuse_several_classes(solver):
    with pytest.raises(InvalidParameter, match="one margin"):
        solver.plan(Task(features=2, row_norm=1.0, target=Classes(range(3))), Softmax(3), Guarantee(1.0, 1e-6))


def test_the_choice_of_a_solver_is_public_and_says_why():
    wide = Task(features=30, row_norm=1.0, target=Classes((0, 1)))
    cases = [
        (wide, Logistic(), Guarantee(1.0, 1e-6), 455, NoisyGD),
        (wide, Logistic(), Guarantee(4.0, 1e-6), 1_500, NoisyGD),
        (wide, Logistic(), Guarantee(4.0, 1e-6), 1_600, Preconditioned),
        (wide, Logistic(), Guarantee(4.01, 1e-6), 1_600, ObjectivePerturbation),
        (wide, Logistic(), Guarantee(0.05, 1e-6), 40_000, Preconditioned),
        (wide, Logistic(), Guarantee(0.02, 1e-6), 40_000, NoisyGD),
        (wide, Logistic(), Guarantee(1.0, 1e-6), None, Preconditioned),
        (wide, HuberHinge(), Guarantee(1.0, 1e-6), None, ObjectivePerturbation),
        (replace(wide, features=10), Logistic(), Guarantee(4.0, 1e-6), None, Preconditioned),
        (replace(wide, features=9), Logistic(), Guarantee(2.01, 1e-6), None, ObjectivePerturbation),
        (replace(wide, features=9), Logistic(), Guarantee(2.0, 1e-6), None, Preconditioned),
        (replace(wide, features=40), Logistic(), Guarantee(1.0, 1e-6), None, Preconditioned),
        (replace(wide, features=41), Logistic(), Guarantee(1.0, 1e-6), None, ObjectivePerturbation),
        (wide, Logistic(), Guarantee(1.0, 1e-6), 155_000, Preconditioned),
        (wide, Logistic(), Guarantee(1.0, 1e-6), 155_001, ObjectivePerturbation),
        (wide, Logistic(), Guarantee(1.0), 455, ObjectivePerturbation),
        (wide, Logistic(), Guarantee(rho=0.1), 10**5, Preconditioned),
        (replace(wide, unit=Unit("add_remove", 2)), Logistic(), Guarantee(1.0, 1e-6), 10**5, Preconditioned),
        (Task(features=5, row_norm=1.0), Softmax(3), Guarantee(1.0, 1e-6), None, Preconditioned),
        (Task(features=5_000, row_norm=1.0), Softmax(3), Guarantee(1.0, 1e-6), None, NoisyGD),
        (Task(features=5, row_norm=1.0), Softmax(3), Guarantee(1.0), None, ObjectivePerturbation),
    ]
    for task, loss, promise, rows, kind in cases:
        solver, why = chosen_solver(task, loss, promise, rows)
        assert isinstance(solver, kind)
        assert len(why) > 20
        if not (isinstance(solver, ObjectivePerturbation)):
            solver.plan(task, loss, promise)


def test_digits_with_ten_classes():
    from sklearn.datasets import load_digits

    rows, labels = load_digits(return_X_y=True)
    scores = []
    for seed in range(3):
        model = LogisticRegression(
            epsilon=2.0, delta=1e-6, bounds=(0.0, 16.0), classes=range(10), source=noise.Seeded(seed)
        )
        scores.append(model.fit(rows, labels).score(rows, labels))
        assert model.coef_.shape == (10, 64)
        assert np.allclose(model.predict_proba(rows).sum(axis=1), 1.0)
    assert np.median(scores) > 0.85


def test_repeated_price_of_steps_is_one_gaussian():
    plan = NoisyGD(rows=10, steps=9).plan(TASK, Logistic(), Guarantee(mu=0.3))
    assert isinstance(plan.loss, Repeated)
    assert plan.loss.gdp() == pytest.approx(0.3, rel=1e-6)

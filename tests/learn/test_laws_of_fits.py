"""Whether fits have the laws that their plans say: exact distribution functions against many fits of one column."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import ndtr

from privet import noise
from privet.learn import LogisticRegression
from privet.learn.losses import Logistic
from privet.learn.problem import ArrayRecords, Classes, Task
from privet.learn.solvers import NoisyGD, NoisySGD, OutputPerturbation, Solver
from privet.learn.solvers.noisy_sgd import step_price
from privet.privacy import GaussianLoss, Grouped, Guarantee, PoissonSampled, Unit
from tests.learn.densities import LOGISTIC, Problem, agrees, laplace_tails, minimisers, normal_tails

ROWS, LABELS, NORM = np.array([[2.0], [-1.0], [1.5]]), np.array([1, 1, 0]), 2.0
FITS = 60


def fits(solver: Solver, **more) -> tuple[np.ndarray, dict]:
    """Coefficients on unit rows, sorted, and the plan."""
    facts = {"row_norm": NORM, "classes": [0, 1], "fit_intercept": False, "solver": solver}
    model, drawn = LogisticRegression(**facts, **more), []
    for seed in range(FITS):
        drawn.append(model.set_params(source=noise.Seeded(seed)).fit(ROWS, LABELS).coef_[0, 0] * NORM)
    return np.sort(drawn), model.privacy_.plan


@pytest.mark.parametrize(("delta", "tails"), [(1e-5, normal_tails), (0.0, laplace_tails)])
def test_output_perturbation(delta, tails):
    """The exact minimum, and noise of sensitivity 1/strength on it."""
    strength = 2.0
    drawn, plan = fits(OutputPerturbation(strength=strength), epsilon=1.0, delta=delta)
    records = tuple(((x[0] / NORM,), 2.0 * y - 1.0) for x, y in zip(ROWS, LABELS, strict=True))
    best = minimisers(Problem(LOGISTIC, records, (strength,)), np.zeros((1, 1)))[0, 0]
    scale = float(plan["noise"]["scale"])
    assert scale >= (1.0 / strength) * (1.0 if delta == 0.0 else 3.5)  # 1/epsilon; a little under 3.73 at this delta
    assert agrees(drawn, lambda w: tails(w - best, scale)[0])
    assert not agrees(drawn, lambda w: tails(w - best, scale / 3.0)[0])
    assert not agrees(drawn, lambda w: tails(w - best - 4.0 * scale, scale)[0])


def clipped(clip: float) -> np.ndarray:
    """What each record adds at w = 0, where the slope of the logistic loss is one half."""
    x, y = ROWS[:, 0] / NORM, 2.0 * LABELS - 1.0
    return np.clip(-y / 2.0 * x, -clip, clip)


@pytest.mark.parametrize(("relation", "ends"), [("add_remove", 1.0), ("replace", 2.0)])
def test_one_noisy_step(relation, ends):
    clip, mu = 0.4, 0.5
    solver = NoisyGD(rows=3, steps=1, step_size=1.0, clip_norm=clip)
    drawn, _ = fits(solver, mu=mu, unit=Unit(relation))
    mean, sigma = -clipped(clip).sum() / 3.0, ends * clip / mu / 3.0
    assert agrees(drawn, lambda w: ndtr((w - mean) / sigma))
    assert not agrees(drawn, lambda w: ndtr((w - mean) / (sigma / 2.0)))


def test_one_noisy_step_on_a_poisson_sample():
    """A mixture over the eight samples; the sum is divided by the number that is expected."""
    clip, q = 0.4, 0.5
    drawn, plan = fits(NoisySGD(rows=3, q=q, steps=1, step_size=1.0, clip_norm=clip), epsilon=0.5, delta=1e-4)
    sigma = float(plan["noise"]["scale"]) / float(_fraction(plan["noise"]["sensitivity"]["value"])) * clip / (3.0 * q)
    means = [-(np.array(taken) @ clipped(clip)) / (3.0 * q) for taken in product((0, 1), repeat=3)]

    def below(w: np.ndarray, sigma: float) -> np.ndarray:
        return np.mean([ndtr((w - mean) / sigma) for mean in means], axis=0)

    assert agrees(drawn, lambda w: below(w, sigma))
    assert not agrees(drawn, lambda w: below(w, sigma / 2.0))


def test_a_sample_falls_anew_and_is_divided_by_what_is_expected():
    """With next to no noise a step shows which of the records it took, and by what their sum was divided."""
    task = Task(features=1, row_norm=NORM, intercept=False, target=Classes((0, 1)))
    plan = NoisySGD(rows=3, q=0.5, steps=1, step_size=1.0, clip_norm=0.4).plan(task, Logistic(), Guarantee(0.5, 1e-4))
    quiet = replace(plan, noise=replace(plan.noise, scale=1e-6 * plan.noise.scale))
    drawn = [quiet.release(ArrayRecords(ROWS, LABELS), source=noise.Seeded(seed)).value[0] for seed in range(40)]
    means = np.array([-(np.array(taken) @ clipped(0.4)) / 1.5 for taken in product((0, 1), repeat=3)])
    off = np.abs(np.subtract.outer(drawn, means))
    assert off.min(axis=1).max() < 1e-3
    assert len(set(off.argmin(axis=1))) > 4


def test_a_replaced_record_is_two_of_a_sample():
    one = GaussianLoss(3.0)
    assert step_price(one, 0.1, Unit("replace")) == Grouped(PoissonSampled(one, 0.1), 2, "replace")
    assert step_price(one, 0.1, Unit("replace", group_size=3)) == Grouped(PoissonSampled(one, 0.1), 6, "replace")


def _fraction(text: str) -> float:
    above, _, below = str(text).partition("/")
    return float(above) / float(below or 1.0)

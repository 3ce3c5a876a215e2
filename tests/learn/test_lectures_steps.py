"""What the lectures say about projected noisy steps, with the room's own solver."""

from dataclasses import replace

import numpy as np
from scipy.optimize import minimize

from privet import noise
from privet.learn.losses import Logistic
from privet.learn.problem import ArrayRecords, Classes, Task
from privet.learn.solvers import ProjectedSGD
from privet.learn.solvers.projected_sgd import step_rule
from privet.privacy import Guarantee, Unit


def test_projected_noisy_steps_converge_within_their_theorem():
    """PN-SGD: ||C|| sqrt(n^2 L^2 + d sigma^2) ln T/sqrt T for the sum of losses; and more steps help."""
    rng, n, radius = np.random.default_rng(0), 40, 3.0
    x = rng.normal(size=(n, 2))
    x /= np.maximum(1.0, np.linalg.norm(x, axis=1))[:, None]
    y = (x[:, 0] > 0.0).astype(int)

    def total(w: np.ndarray) -> float:
        return float(np.logaddexp(0.0, -(2.0 * y - 1.0) * (x @ w)).sum())

    ball = {"type": "ineq", "fun": lambda w: radius**2 - w @ w}
    best = minimize(total, np.zeros(2), constraints=ball).fun
    task = Task(features=2, row_norm=1.0, intercept=False, target=Classes((0, 1)), unit=Unit("replace"))
    plan = ProjectedSGD(rows=n, radius=radius, steps=300).plan(task, Logistic(), Guarantee(8.0, 1e-2))
    gaps = {}
    for steps in (10, 300):
        made = replace(plan, steps=steps)
        ends = [made.release(ArrayRecords(x, y), source=noise.Seeded(seed)).value for seed in range(4)]
        gaps[steps] = np.mean([total(w) - best for w in ends])
        sigma = 2.0 * n * plan.multiplier
        assert gaps[steps] <= 2.0 * radius * np.hypot(n, sigma * np.sqrt(2.0)) * np.log(steps) / np.sqrt(steps)
    assert 0.0 < gaps[300] < 0.5 * gaps[10]


def test_with_a_regulariser_steps_become_shorter_and_the_bound_holds():
    """F(w) = Lambda |w - u|^2/2 in a ball, noisy gradients: the rule for a regulariser keeps 2 G^2/(Lambda (T + 2))."""
    strength, radius, steps, sigma, runs = 20.0, 3.0, 400, 60.0, 200
    bound = np.hypot(2.0 * strength * radius, sigma * np.sqrt(2.0))

    def mean_gap(rule) -> float:
        rng, center = np.random.default_rng(1), np.array([1.0, 0.0])
        w, mean, weights = np.zeros((runs, 2)), np.zeros((runs, 2)), 0.0
        for t in range(1, steps + 1):
            size, weight = rule(t)
            moved = w - size * (strength * (w - center) + sigma * rng.normal(size=(runs, 2)))
            w = moved / np.maximum(1.0, np.linalg.norm(moved, axis=1, keepdims=True) / radius)
            mean, weights = mean + weight * w, weights + weight
        return float(strength / 2.0 * ((mean / weights - center) ** 2).sum(axis=1).mean())

    convex = mean_gap(step_rule(bound, radius, 0.0, steps))
    regular = mean_gap(step_rule(bound, radius, strength, steps))
    assert regular <= 2.0 * bound**2 / (strength * (steps + 2))
    assert regular < 0.7 * convex  # what the first rule makes of it
    weak = step_rule(bound, radius, 1e-3, steps)
    assert weak(7) == step_rule(bound, radius, 0.0, steps)(7)  # a weak one leaves the rule as it is

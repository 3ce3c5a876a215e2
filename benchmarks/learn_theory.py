"""Bounds on the excess risk beside measurements, method by method: all on public, synthetic data.

    python benchmarks/learn_theory.py [--figure docs/images/excess-risk.svg] [--quick]

Logistic loss on two columns of unit rows, one record replaced, epsilon = 4, delta = 1e-6. The bounds take the distance to
the minimum as it is on these data. PN-SGD takes n^2 steps, so it is measured with few records.
"""

import argparse
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

from privet import noise, report
from privet._numerics import Array
from privet.learn.losses import Logistic
from privet.learn.problem import ArrayRecords, Chunk, Classes, Task
from privet.learn.solvers import (
    CoordinateDescent,
    NoisyGD,
    ObjectivePerturbation,
    OutputPerturbation,
    ProjectedSGD,
    Solver,
)
from privet.learn.solvers.minimise import Objective, minimiser
from privet.learn.theory import Method, excess_risk
from privet.mechanisms.gaussian import analytic_noise_multiplier
from privet.privacy import Guarantee, Unit

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tools.site.figures import dark

PROMISE = Guarantee(4.0, 1e-6)
FACTS = {"d": 2, "epsilon": 4.0, "delta": 1e-6}
SIZES = (500, 2_000, 8_000)
FEW = (20, 40, 60)
METHODS: tuple[Method, ...] = ("output_perturbation", "objective_perturbation", "pn_sgd", "dp_sgd", "dp_cd")
TASK = Task(features=2, row_norm=1.0, intercept=False, target=Classes((0, 1)), unit=Unit("replace"))


def public_data(n: int) -> tuple[Array, Array]:
    """Rows in the unit disc and labels by a logistic model."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, 2))
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0) * 1.01
    return rows, (rng.random(n) < 1.0 / (1.0 + np.exp(-3.0 * rows[:, 0]))).astype(int)


def minimum(rows: Array, labels: Array) -> Array:
    signs = np.where(labels == 1, 1.0, -1.0)
    return minimiser(Objective(lambda: iter([Chunk(rows, signs)]), Logistic(), 1e-6, np.zeros(2)), 1e-6)


def solver_of(method: Method, rows: Array, facts: dict[str, Any]) -> Solver:
    """The solver that a bound is about, with what it takes from the bound: strength, ball, moments."""
    n = len(rows)
    if method in ("output_perturbation", "objective_perturbation"):
        strength = n * float(excess_risk(method, n=n, **facts).strength or 1.0)
        return OutputPerturbation(strength=strength) if method[1] == "u" else ObjectivePerturbation(strength=strength)
    if method == "pn_sgd":
        return ProjectedSGD(rows=n, radius=facts["radius"], steps=n * n)
    if method == "dp_sgd":  # steps of the theorem's best length, which is 1/beta = 4 with the least steps that allow it
        per_step = facts["radius"] * n / (2.0 * analytic_noise_multiplier(4.0, 1e-6) * math.sqrt(2.0 * FACTS["d"]))
        steps = math.ceil(per_step / 4.0)
        return NoisyGD(rows=n, clip_norm=1.0, steps=steps, step_size=per_step / steps)
    loops: dict[str, Any] = {"rounds": 6, "last": 1, "tail": 1.0}  # the two loops of the theorem
    return CoordinateDescent(moments=tuple((rows**2).sum(axis=0).tolist()), records=float(n), **loops)


def bound_facts(method: Method, rows: Array, best: Array) -> dict[str, Any]:
    facts: dict[str, Any] = {**FACTS, "radius": float(np.linalg.norm(best))}
    if method == "dp_cd":  # the curvature of logistic loss is at most 1/4, and the slope along j at most 1
        facts |= {
            "moments": ((rows**2).mean(axis=0) / 4.0).tolist(),
            "sensitivities": [2.0, 2.0],
            "distance": np.abs(best),
        }
    return facts


def measure(method: Method, n: int, runs: int) -> float:
    """The mean loss of private fits above its minimum."""
    rows, labels = public_data(n)
    best = minimum(rows, labels)
    plan = solver_of(method, rows, bound_facts(method, rows, best)).plan(TASK, Logistic(), PROMISE)
    records, signs = ArrayRecords(rows, labels), np.where(labels == 1, 1.0, -1.0)
    found = np.array([plan.release(records, source=noise.Seeded(seed)).value for seed in range(runs)])
    risks = [np.logaddexp(0.0, -signs[:, None] * (rows @ w.T)).mean() for w in (found, best[None, :])]
    return float(risks[0] - risks[1])


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--figure")
    given.add_argument("--quick", action="store_true")
    asked = given.parse_args()
    measured: dict[Method, dict[int, float]] = {}
    facts: dict[Method, dict[str, Any]] = {}
    for method in METHODS:
        sizes, runs = (FEW, 2) if method == "pn_sgd" else (SIZES, 8)
        if asked.quick:
            sizes, runs = sizes[:2], 2
        rows, labels = public_data(max(sizes))
        facts[method] = bound_facts(method, rows, minimum(rows, labels))
        measured[method] = {n: measure(method, n, runs) for n in sizes}
        for n, value in measured[method].items():
            bound = excess_risk(method, n=n, **facts[method]).value
            print(
                f"{method:24s} n={n:6d} measured {value:.3g} bound {bound:.3g} {'below' if value <= bound else 'ABOVE'}"
            )
    if asked.figure:
        light = report.save_figure(report.risk_figure(measured, facts), asked.figure)
        drawn = light.read_text(encoding="utf-8")
        Path(light.with_name(f"{light.stem}-dark.svg")).write_text(dark(drawn), encoding="utf-8")


if __name__ == "__main__":
    main()

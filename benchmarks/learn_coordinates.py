"""Coordinate descent beside full gradients and Frank-Wolfe: the experiments of the lectures, a sparse lasso, and speed.

    python benchmarks/learn_coordinates.py [--figure docs/images/coordinates.svg] [--quick]

The three data sets of the lecture on coordinate descent have one target, y = Zv + noise, and columns X_j = s_j Z_j:
balanced (s = 1), lognormal (s = exp(1.5 N)) and first-big (s_1 = 10). Noisy gradients run as they come (`NoisyGD`, with
the number of records public), and as DP-GD that is tuned on the data, without privacy, over steps, clips, lengths of steps
and averages: the best of its grid is shown, among runs of as many passes and among all. Coordinate descent runs as
it comes, with public scales of columns (M_j = s_j^2) and with moments that it buys; uniform and Lipschitz clipping by a
fixed clip is tuned like DP-GD.
"""

import argparse
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from privet import noise, report
from privet._numerics import Array
from privet.learn.losses import Huber
from privet.learn.problem import ArrayRecords, Interval, Task
from privet.learn.solvers import CoordinateDescent, FrankWolfe, GreedyCoordinateDescent, NoisyGD, Penalty, Solver
from privet.learn.solvers.budget import whole_mu
from privet.learn.solvers.columns import Columns
from privet.privacy import Guarantee

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tools.site.figures import dark

N, P = 10_000, 20
KINDS = ("balanced", "lognormal", "first-big")
PROMISE = Guarantee(1.0, 1.0 / N**2)
SHORT = 3  # steps for each coordinate in a short round of coordinate descent, as it comes
PASSES = 9 * SHORT  # in all: four short rounds, and one of five times their length
GRADIENT_CLIPS = {PASSES: (0.005, 0.01, 0.02, 0.05, 0.1, 0.2), 600: (0.005, 0.01, 0.02)}  # by passes of DP-GD


def lecture_data(kind: str, seed: int = 0) -> tuple[Array, Array, Array]:
    """X, y and the scales of the columns."""
    rng = np.random.default_rng(seed)
    plain, weights = rng.normal(size=(N, P)), rng.normal(size=P)
    scales = np.ones(P)
    if kind == "lognormal":
        scales = np.exp(1.5 * rng.normal(size=P))
    if kind == "first-big":
        scales[0] = 10.0
    return plain * scales, plain @ weights + 0.5 * rng.normal(size=N), scales


def lecture_task(scales: Array) -> Task:
    """Public facts: lengths of rows and targets as the scales give them, wide enough that next to no row is shortened."""
    return Task(features=P, row_norm=4.0 * float(np.linalg.norm(scales)), intercept=False, target=Interval(-16.0, 16.0))


def gap_of(rows: Array, targets: Array) -> Callable[[Array], float]:
    """How far the mean loss of coefficients lies above its minimum."""
    best, gram = np.linalg.lstsq(rows, targets, rcond=None)[0], rows.T @ rows / (2.0 * len(rows))
    return lambda w: float((w - best) @ gram @ (w - best))


def noisy_gradients(
    task: Task, rows: Array, targets: Array, *, steps: int, clip: float, length: float, seed: int = 1
) -> list[Array]:
    """DP-GD on clipped gradients with exact composition; all iterates, in the units of the data."""
    rng, mu = np.random.default_rng(seed), whole_mu(PROMISE, "DP-GD")
    unit, encoded = next(iter(task.unit_chunks(ArrayRecords(rows, targets))))[:2]
    norms, w, seen = np.linalg.norm(unit, axis=1), np.zeros(P), []
    largest = float(np.linalg.eigvalsh(unit.T @ unit)[-1])
    for _ in range(steps):
        residual = unit @ w - encoded
        residual *= np.minimum(1.0, clip / np.maximum(np.abs(residual) * norms, 1e-12))
        w = w - length / largest * (unit.T @ residual + clip * math.sqrt(steps) / mu * rng.normal(size=P))
        seen.append(task.raw(w)[0])
    return seen


def gradient_runs(rows: Array, targets: Array, task: Task, seed: int) -> list[list[Array]]:
    """All lengths of runs, clips and lengths of steps: the best end is tuned without privacy, which flatters DP-GD."""
    grid = [(t, c, e) for t, clips in GRADIENT_CLIPS.items() for c in clips for e in (1.0, 1.5)]
    return [noisy_gradients(task, rows, targets, steps=t, clip=c, length=e, seed=seed) for t, c, e in grid]


def ends_of(run: list[Array]) -> tuple[Array, Array]:
    """The two answers that a run may give: its last iterate, and the mean of its second half."""
    return run[-1], np.asarray(np.mean(run[len(run) // 2 :], axis=0))


def coordinates(
    rows: Array, targets: Array, scales: Array, task: Task, *, seed: int = 1, public: bool = True, **knobs: Any
) -> Array:
    moments = tuple((N * (scales / task.length) ** 2).tolist())
    known: dict[str, Any] = {"moments": moments, "records": float(N)} if public else {}
    return released(CoordinateDescent(**known, **knobs), rows, targets, task, seed)


def released(solver: Solver, rows: Array, targets: Array, task: Task, seed: int) -> Array:
    """Coefficients in the units of the data, by a solver of privet."""
    plan = solver.plan(task, Huber(2.0), PROMISE)
    return task.raw(plan.release(ArrayRecords(rows, targets), source=noise.Seeded(seed)).value)[0]


METHODS: dict[str, dict[str, Any]] = {
    "CD, public moments": {},
    "CD, bought moments": {"public": False},
    "CD random": {"choice": "random"},
    "CD importance": {"choice": "importance"},
}
FIXED = {"CD uniform": "uniform", "CD Lipschitz": "lipschitz"}  # with the best of these clips, tuned as DP-GD is
CLIPS = (0.01, 0.03, 0.1)


def lecture_line(kind: str, seed: int) -> dict[str, float]:
    """The gap of each method on one data set."""
    rows, targets, scales = lecture_data(kind, seed)
    task, gap = lecture_task(scales), gap_of(rows, targets)
    runs = gradient_runs(rows, targets, task, seed)
    found = {
        "start": gap(np.zeros(P)),
        "DP-GD as it comes": gap(released(NoisyGD(rows=N), rows, targets, task, seed)),
        f"DP-GD, {PASSES} passes": min(gap(end) for run in runs if len(run) == PASSES for end in ends_of(run)),
    }
    found["DP-GD, any passes"] = min(gap(end) for run in runs for end in ends_of(run))
    for name, rule in FIXED.items():
        found[name] = min(
            gap(coordinates(rows, targets, scales, task, seed=seed, clipping=rule, clip=clip)) for clip in CLIPS
        )
    for name, knobs in METHODS.items():
        found[name] = gap(coordinates(rows, targets, scales, task, seed=seed, **knobs))
    return found


def lecture_table(*, seeds: int = 5) -> dict[str, dict[str, float]]:
    """Medians over data sets and noise, by kind of scales and method."""
    found: dict[str, dict[str, float]] = {}
    for kind in KINDS:
        lines = [lecture_line(kind, seed) for seed in range(seeds)]
        found[kind] = {name: float(np.median([line[name] for line in lines])) for name in lines[0]}
        print(kind, {name: float(f"{value:.3g}") for name, value in found[kind].items()}, flush=True)
    return found


def over_passes(kind: str, seed: int = 0) -> dict[str, tuple[list[float], list[float]]]:
    """The gap over passes through the data: CD at several numbers of passes, the best run of GD step by step."""
    rows, targets, scales = lecture_data(kind, seed)
    task, gap = lecture_task(scales), gap_of(rows, targets)
    best = min(gradient_runs(rows, targets, task, seed), key=lambda run: gap(run[-1]))
    lines: dict[str, tuple[list[float], list[float]]] = {}
    passes = [3, 9, 18, 27, 54, 108]
    for name, knobs in {"DP-CD, scales bought": {"public": False}, "DP-CD, scales public": {}}.items():
        lines[name] = (
            [float(k) for k in passes],
            [gap(coordinates(rows, targets, scales, task, seed=seed, steps=k * P // 9, **knobs)) for k in passes],
        )
    lines["DP-GD, tuned on the data"] = [float(k + 1) for k in range(len(best))], [gap(w) for w in best]
    return lines


def figure(path: str) -> None:
    """The picture for light and for dark pages."""
    light = report.save_figure(report.passes_figure({kind: over_passes(kind) for kind in KINDS}), path)
    night = light.with_name(f"{light.stem}-dark{light.suffix}")
    night.write_text(dark(light.read_text(encoding="utf-8")), encoding="utf-8")


def sparse_lasso(seeds: int = 5) -> dict[str, list[float]]:
    """d = 1000 columns of +-1, five of which count: mean squared error over the variance of y, by method and seed."""
    rng = np.random.default_rng(3)
    rows = rng.choice([-1.0, 1.0], size=(N, 1_000)).astype(np.float32)
    targets = rows[:, :5] @ np.array([1.0, -0.8, 0.6, -0.5, 0.4]) + 0.2 * rng.normal(size=N)
    task = Task(
        features=1_000, row_norm=math.sqrt(1_000), intercept=False, scales=(1.0,) * 1_000, target=Interval(-4.0, 4.0)
    )
    penalty = Penalty(l1=0.02)
    solvers = {
        "greedy": GreedyCoordinateDescent(penalty=penalty),
        "cyclic": CoordinateDescent(penalty=penalty, rounds=1, steps=1_000, last=1, tail=1.0),
        "random": CoordinateDescent(penalty=penalty, rounds=1, steps=1_000, last=1, tail=1.0, choice="random"),
        "Frank-Wolfe": FrankWolfe(radius=3.3 * math.sqrt(1_000) / 4.0),
    }
    found: dict[str, list[float]] = {name: [] for name in solvers}
    for seed in range(seeds):
        for name, solver in solvers.items():
            plan = solver.plan(task, Huber(2.0), PROMISE)
            w, b = task.raw(plan.release(ArrayRecords(rows, targets), source=noise.Seeded(seed)).value)
            found[name].append(float(np.mean((rows @ w + b - targets) ** 2) / targets.var()))
    return found


def plain_loop(rows: Array, targets: Array, bounds: Array, steps: int) -> float:
    """CPU seconds of a step of the plain loop: margins anew, a column of a row-major array, a clipped sum."""
    rng, w = np.random.default_rng(0), np.zeros(rows.shape[1])
    start = time.process_time()
    for _ in range(steps):
        j = int(rng.integers(rows.shape[1]))
        slopes = np.clip(rows @ w - targets, -2.0, 2.0)
        slope = np.clip(slopes * rows[:, j], -bounds[j], bounds[j]).sum() + bounds[j] * rng.normal()
        w[j] -= slope / (rows[:, j] @ rows[:, j])
    return (time.process_time() - start) / steps


def speed(n: int = 100_000, p: int = 50, steps: int = 200) -> tuple[float, float]:
    """CPU seconds of a step (without noise): the columns of privet beside the plain loop."""
    rng = np.random.default_rng(0)
    rows, targets = rng.uniform(-1.0, 1.0, size=(n, p)) / math.sqrt(p), rng.uniform(-1.0, 1.0, size=n)
    task = Task(features=p, row_norm=1.0, intercept=False, target=Interval(-1.0, 1.0))
    columns = Columns(task, Huber(2.0), ArrayRecords(rows, targets))
    start = time.process_time()
    for k in range(steps):
        j = (7 * k) % p
        columns.move(j, -1e-3 * columns.clipped_sum(j, 0.1) / n)
    ours = (time.process_time() - start) / steps
    return ours, plain_loop(rows, targets, np.full(p, 0.1), steps)


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--figure")
    given.add_argument("--quick", action="store_true")
    asked = given.parse_args()
    if asked.figure:
        figure(asked.figure)
    lecture_table(seeds=1 if asked.quick else 5)
    print("sparse lasso", {k: [round(x, 3) for x in v] for k, v in sparse_lasso(1 if asked.quick else 5).items()})
    ours, plain = speed()
    print(f"one step on 100,000 x 50: {1e6 * ours:.0f} us, plain loop {1e6 * plain:.0f} us, {plain / ours:.1f}x")


if __name__ == "__main__":
    main()

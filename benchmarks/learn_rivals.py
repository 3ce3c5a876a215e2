"""Solvers of the literature that no estimator takes, written as anybody outside would write one, beside what is taken.

`python benchmarks/learn_rivals.py [--rows 5000] [--columns 10] [--draws 10]`. Made data, a promise of (epsilon, 1e-6) about
replacing a record; medians of the accuracy of two classes, or of R^2, over the draws. Proofs are beside the solvers, in
`rivals/`.
"""

import argparse

import numpy as np
from rivals.adassp import AdaSSP
from rivals.bolt_on import BoltOn
from rivals.newton import Newton

from privet import learn
from privet.privacy import Unit

UNIT = Unit("replace")


def median_score(make, rows, targets, draws):
    """The median score of as many fits, on the records that were fitted."""
    return float(np.median([make().fit(rows, targets).score(rows, targets) for _ in range(draws)]))


def table(n, columns, draws, epsilon):
    """Name of the solver -> median score, for two classes and for numbers."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, columns))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    slope = rng.normal(size=columns)
    numbers = np.clip(rows @ slope + 0.1 * rng.normal(size=n), -2.0, 2.0)
    classes = (numbers > 0.0).astype(int)
    facts = {"epsilon": epsilon, "delta": 1e-6, "row_norm": 1.0, "unit": UNIT}
    two = {"taken": None, "Newton": Newton(rows=n), "BoltOn": BoltOn(rows=n)}
    many = {"taken": None, "AdaSSP": AdaSSP()}
    found = {}
    for name, solver in two.items():
        found[f"classes, {name}"] = median_score(
            lambda solver=solver: learn.LogisticRegression(classes=[0, 1], solver=solver, **facts), rows, classes, draws
        )
    for name, solver in many.items():
        found[f"numbers, {name}"] = median_score(
            lambda solver=solver: learn.LinearRegression(bounds_y=(-2.0, 2.0), solver=solver, **facts),
            rows,
            numbers,
            draws,
        )
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--draws", type=int, default=10)
    options = parser.parse_args()
    for epsilon in (0.3, 1.0, 4.0):
        print(f"epsilon {epsilon}: {options.rows:,} records, {options.columns} columns")
        for name, score in table(options.rows, options.columns, options.draws, epsilon).items():
            print(f"  {name:<20}{score:8.3f}", flush=True)


if __name__ == "__main__":
    main()

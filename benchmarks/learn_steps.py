"""One full-batch step of noisy gradient descent beside one read of the rows.

`python benchmarks/learn_steps.py [--rows 1000000] [--columns 100] [--rounds 15]`. A read is `X.sum()` over the float32
array that is fitted; a step is the exact sum of clipped logistic gradients over it (`GridRows.gradient`). Both alternate
in one run, on one thread, and the medians of processor time are compared, so that other work on the machine is in
neither. Beside them stands what two products in float32 take, `X @ w` and `s @ X` tile by tile: a gradient without loss,
clipping and exact sums.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import time

import numpy as np

from privet.learn.losses import HuberHinge, Logistic
from privet.learn.problem import ArrayRecords, Classes, GridRows, Task

TILE = 512


def bare(rows, weights, slopes):
    """Two float32 products with each tile."""
    total = np.zeros(rows.shape[1])
    for start in range(0, len(rows), TILE):
        tile = rows[start : start + TILE]
        np.dot(tile, weights)
        total += slopes[: len(tile)] @ tile
    return total


def medians(works, rounds):
    spent = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            start = time.process_time()
            work()
            spent[name].append(time.process_time() - start)
    return {name: float(np.median(each)) for name, each in spent.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=15)
    asked = parser.parse_args()
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((asked.rows, asked.columns), dtype=np.float32)
    labels = (rows[:, 0] > 0).astype(int)
    task = Task(features=asked.columns, row_norm=asked.columns**0.5, intercept=False, target=Classes((0, 1)))
    start = time.process_time()
    data = GridRows(task, ArrayRecords(rows, labels))
    made = time.process_time() - start
    w = rng.standard_normal(asked.columns)
    narrow, slopes = w.astype(np.float32), np.ones(TILE, dtype=np.float32)
    found = medians(
        {
            "one read, X.sum()": rows.sum,
            "two bare float32 products": lambda: bare(rows, narrow, slopes),
            "logistic step": lambda: data.gradient(Logistic(), w, 0.35),
            "Huber hinge step": lambda: data.gradient(HuberHinge(), w, 0.35),
        },
        asked.rounds,
    )
    read = found["one read, X.sum()"]
    print(f"{asked.rows} x {asked.columns} float32, load {os.getloadavg()[0]:.1f}")
    for name, each in {**found, "rows onto the grid, once a fit": made}.items():
        print(f"  {name:<32} {1e3 * each:8.1f} ms  {each / read:6.2f}x")


if __name__ == "__main__":
    main()

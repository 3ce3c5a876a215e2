"""Noise, mechanisms, ledger, queries, workloads and learn beside an older source of privet, row by row.

    python benchmarks/rooms_beside.py FOLDER [--only ledger] [--rounds 9]

FOLDER is the `src` of another checkout, such as a worktree of the last release. Both sources answer in turn, in processes
of one thread; a row is the best CPU milliseconds of the rounds. Without arguments the script is the worker of beside.py.
"""

import argparse
import sys
import tempfile
import warnings
from itertools import count

import beside  # sets threads, before numpy is loaded
import numpy as np

import privet as pv
from privet import mechanisms, noise

_KEYS = count()


def of_noise() -> beside.Questions:
    integers = np.arange(40_000)
    return {
        "noise: discrete Laplace, 1e6": lambda: noise.discrete_laplace(scale=10.0, size=1_000_000),
        "noise: discrete Gaussian, 1e6": lambda: noise.discrete_gaussian(sigma=10.0, size=1_000_000),
        "noise: rounded Gaussian, 1e6": lambda: noise.rounded_gaussian(sigma=2.0**20, size=1_000_000),
        "noise: subset of 60,000, 100 times": lambda: [noise.poisson_subset(60_000, q=0.01) for _ in range(100)],
        "mechanisms: Laplace of one number, 1,000 times": _thousand(
            mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0), 42
        ),
        "mechanisms: Laplace of 40,000 whole numbers": _release(
            mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0), integers
        ),
        "mechanisms: Gaussian of 40,000 floats": _release(
            mechanisms.Gaussian.for_budget(epsilon=1.0, delta=1e-6, sensitivity=1.0), integers / 7.0
        ),
    }


def _release(mechanism, value):
    return lambda: mechanism.release(value)


def _thousand(mechanism, value):
    return lambda: [mechanism.release(value) for _ in range(1_000)]


def of_ledgers() -> beside.Questions:
    folder = tempfile.mkdtemp()
    laplace = mechanisms.Laplace.for_budget(epsilon=1e-6, sensitivity=1.0)

    def opened(url):
        return pv.Ledger.create(url, budget=pv.Budget(epsilon=1e6, delta=1e-3), dataset="rows")

    memory, file = opened("memory:"), opened(f"{folder}/a.ledger")
    table = small_table(2_000)
    query = table.group_by("ward").agg(n=pv.count(), cost=pv.mean("cost"))
    asked = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e6, delta=1e-3), unit=table.unit)
    return {
        "ledger: Laplace through memory, 100 times": lambda: [memory.release(laplace, 42) for _ in range(100)],
        "ledger: Laplace through SQLite, 20 times": lambda: [file.release(laplace, 42) for _ in range(20)],
        "ledger: Laplace by keys, 20 times": lambda: [
            memory.release(laplace, 42, key=f"a {next(_KEYS)}") for _ in range(20)
        ],
        "ledger: a query of 2,000 rows, 10 times": lambda: [asked.release(query, epsilon=0.01) for _ in range(10)],
        "queries: preview, 10 times": lambda: [query.preview(epsilon=0.5) for _ in range(10)],
    }


def small_table(rows):
    rng = np.random.default_rng(1)
    data = {
        "ward": np.array(["A", "B", "C"])[rng.integers(0, 3, rows)],
        "age": rng.integers(0, 100, rows),
        "cost": rng.gamma(2.0, 100.0, rows),
    }
    columns = {"ward": pv.Category(["A", "B", "C"]), "age": pv.Int(0, 110), "cost": pv.Float(0, 2_000)}
    return pv.Table(data, columns=columns)


def of_queries() -> beside.Questions:
    table = small_table(300_000)
    asked = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e6, delta=1e-3), unit=table.unit)
    middle = table.agg(m=pv.quantile("age", 0.5))
    every = table.group_by("ward").agg(n=pv.count(), total=pv.sum("age"), cost=pv.mean("cost"))
    histogram = np.random.default_rng(2).integers(0, 100, 1024)
    ranges = pv.workloads.RangeQueries(domain=1024)
    tree = pv.workloads.Hierarchical()
    return {
        "queries: 300,000 rows by ward": lambda: asked.release(every, epsilon=1.0),
        "queries: a quantile of 300,000 rows": lambda: asked.release(middle, epsilon=1.0),
        "workloads: 1,024 cells, tree, 5 times": lambda: [
            ranges.release(histogram, epsilon=1.0, strategy=tree) for _ in range(5)
        ],
        "workloads: 1,024 cells, chosen": lambda: ranges.release(histogram, epsilon=1.0),
    }


def of_learn() -> beside.Questions:
    rng = np.random.default_rng(3)
    small, large = (rng.normal(size=(n, d)) / 3.0 for n, d in ((500, 5), (50_000, 20)))
    classes = {len(rows): (rows[:, 0] > 0).astype(int) for rows in (small, large)}
    values = {len(rows): np.clip(rows[:, 0], -1.0, 1.0) for rows in (small, large)}
    logistic = pv.learn.LogisticRegression(epsilon=1.0, delta=1e-6, row_norm=2.0, classes=[0, 1])
    linear = pv.learn.LinearRegression(epsilon=1.0, delta=1e-6, row_norm=2.0, bounds_y=(-1.0, 1.0))
    bounds = ([-2.0] * 20, [2.0] * 20)
    bayes = pv.learn.GaussianNB(epsilon=1.0, bounds=bounds, classes=[0, 1])
    return {
        "learn: logistic, 500 x 5": lambda: logistic.fit(small, classes[500]),
        "learn: logistic, 50,000 x 20": lambda: logistic.fit(large, classes[50_000]),
        "learn: linear, 500 x 5": lambda: linear.fit(small, values[500]),
        "learn: linear, 50,000 x 20": lambda: linear.fit(large, values[50_000]),
        "learn: naive Bayes, 50,000 x 20": lambda: bayes.fit(large, classes[50_000]),
    }


def questions() -> beside.Questions:
    """Everything that is asked and that this source can answer, by the names of the rows."""
    asked: beside.Questions = {}
    for room in (of_noise, of_ledgers, of_queries, of_learn):
        for name, question in room().items():
            try:
                question()  # loads what it needs
            except Exception as problem:
                print(f"{name}: {type(problem).__name__}: {problem}", file=sys.stderr)
            else:
                asked[name] = question
    return asked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", help="the src folder of another checkout")
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=9)
    asked = parser.parse_args()
    for row in beside.compare(__file__, asked.other, asked.only, asked.rounds):
        ratio = row.ours_ms / row.other_ms
        print(f"{row.task:50} {row.ours_ms:9.2f} ms  {row.other_ms:9.2f} ms  {ratio:5.2f}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if len(sys.argv) > 1:
        main()
    else:
        beside.work(questions(), lambda: None)

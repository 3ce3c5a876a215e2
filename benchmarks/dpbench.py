"""DPBench: log10 of the mean scaled error of prefix sums over its one-dimensional data sets, for every strategy.

`python benchmarks/dpbench.py [--draws 20] [--scales 1e3 1e5 1e7] [--epsilon 0.1] [--cells] [--without MWEM]`. The
data (`$PRIVET_DATA/dpbench/dpbench.npz`) are not shipped. Each set is folded to 1,024 cells and resampled to a number of
rows; the error is the length of the error of all answers over rows times cells. `--cells` asks for the cells instead of
prefix sums. A column with a plus has no negative counts, in the norm of what is asked.
"""

import argparse
import json
import math
import os
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402
from rivals.efpa import EFPA  # noqa: E402

from privet.workloads import (  # noqa: E402
    DAWA,
    MWEM,
    Automatic,
    Buckets,
    Cells,
    Hierarchical,
    Points,
    Prefix,
    RangeQueries,
)
from privet.workloads.inference import non_negative  # noqa: E402

SIZE = 1024
PUBLISHED = {  # at epsilon 0.1, by rows; 0.03 is their own uncertainty
    1_000: {"uniform": -2.14, "cells": -2.05, "H2": -2.27, "H4": -2.40, "best tree": -2.47},
    100_000: {"uniform": -2.16, "cells": -4.05, "H2": -4.28, "H4": -4.39, "best tree": -4.46},
}


def strategies(workload, rows):
    """Every column: its name, its strategy, and whether negative counts are removed in the workload's norm as well."""
    inner = Cells() if isinstance(workload, Points) else Hierarchical()
    return {
        "uniform": Buckets((SIZE,)),
        "cells": Cells(),
        "H2": Hierarchical(weights="uniform"),
        "H4": Hierarchical(branching=4, weights="uniform"),
        "best tree": Hierarchical(),
        "default": None,
        "DAWA": DAWA(inner=inner),
        "EFPA": EFPA(),
        "MWEM": MWEM(),
        "automatic, public": Automatic(rows=rows),
        "automatic, paid": Automatic(),
    }


def table(workload, rows, epsilon, draws, without=(), seed=0):
    """Column -> data set -> the errors of the draws; columns with "+" are non-negative."""
    arrays = np.load(Path(os.environ.get("PRIVET_DATA", "../shared/data")) / "dpbench" / "dpbench.npz")
    rng = np.random.default_rng(seed)
    asked = RangeQueries(workload=workload)
    mechanisms = {
        name: asked.for_budget(epsilon=epsilon, strategy=strategy)
        for name, strategy in strategies(workload, rows).items()
        if name not in without
    }
    found = {}
    for name in [each for each in arrays.files if each.startswith("d1_")]:
        shares = arrays[name].reshape(SIZE, -1).sum(axis=1).astype(float)
        for _ in range(draws):
            counts = rng.multinomial(rows, shares / shares.sum())
            truth = workload.answers(counts)
            for column, mechanism in mechanisms.items():
                cells = mechanism.simulate(counts, 1)[0].histogram
                moved = np.maximum(cells, 0.0) if isinstance(workload, Points) else non_negative(cells, workload)
                for label, answers in ((column, cells), (f"{column} +", moved)):
                    error = np.linalg.norm(workload.answers(answers) - truth) / (rows * SIZE)
                    found.setdefault(label, {}).setdefault(name, []).append(float(error))
    return found


def report(rows, errors, published):
    """The table of one number of rows: log10 of the mean error of the draws, averaged over the data sets.

    In brackets the mean of the logarithms of single draws, which is lower where the error of a draw varies much.
    """
    means = {label: {name: math.log10(np.mean(each)) for name, each in sets.items()} for label, sets in errors.items()}
    print(f"rows {rows:,}: mean log10 error over {len(means['cells'])} data sets")
    overall = {label: float(np.mean(list(sets.values()))) for label, sets in means.items()}
    for label, value in overall.items():
        known = published.get(label)
        single = np.mean([np.log10(each).mean() for each in errors[label].values()])
        beside = "" if known is None else f"  published {known:.2f}, {value - known:+.3f}"
        print(f"  {label:<22}{value:8.3f} ({single:.3f}){beside}")
    best = min(overall, key=overall.get)
    by_set = np.mean([min(sets[name] for sets in means.values()) for name in means["cells"]])
    print(f"  best of all: {best} {overall[best]:.3f}; the best of each data set, which nobody knows: {by_set:.3f}")
    for label in {"default +", "automatic, public +", "automatic, paid +"} & set(overall):
        print(f"  {label} is {overall[label] - overall[best]:+.3f} dex from the best of all", flush=True)
    return overall


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--scales", type=float, nargs="+", default=[1e3, 1e5, 1e7])
    parser.add_argument("--epsilon", type=float, default=0.1)
    parser.add_argument("--cells", action="store_true")
    parser.add_argument("--without", nargs="*", default=[], help="columns to leave out: MWEM takes longest")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    workload = Points(SIZE) if options.cells else Prefix(SIZE)
    known = PUBLISHED if options.epsilon == 0.1 and not options.cells else {}
    results = {}
    for scale in options.scales:
        means = table(workload, int(scale), options.epsilon, options.draws, options.without)
        results[int(scale)] = report(int(scale), means, known.get(int(scale), {}))
    if options.json:
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()

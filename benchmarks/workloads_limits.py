"""How far the workloads are from the best that is known: ours, the bound or the peer, and the ratio, setting by setting.

`python benchmarks/workloads_limits.py [gaussian] [streams] [pure] [automatic] [tables] [--large]`: all unless named.
The peers are closed forms and trees that are computed here; CPU seconds of one thread.
"""

import argparse
import math
import os
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

from privet.workloads import (  # noqa: E402
    DAWA,
    MWEM,
    AllRanges,
    Automatic,
    BinaryTreeCount,
    Hierarchical,
    Marginals,
    Points,
    Prefix,
    RangeQueries,
    SquareRootCount,
    TreeCount,
)


def line(task, ours, peer, name, seconds=None):
    took = "" if seconds is None else f"  {seconds:7.2f} s"
    print(f"{task:<44} {ours:10.4f}  {name:<26} {peer:10.4f}  ratio {ours / peer:6.3f}{took}", flush=True)


def root_coefficients(cells):
    j = np.arange(1.0, cells)
    return np.concatenate(([1.0], np.cumprod((2.0 * j - 1.0) / (2.0 * j))))


def gaussian(large):
    """Default plans at mu = 1: beside the bound of singular values where it is computed, and the best tree."""
    sizes = [256, 1_024, 1_025, 2_048, 2_049, 4_096, 65_536, *([2**20] if large else [])]
    for kind in (Prefix, AllRanges):
        for size in sizes:
            begin = time.process_time()
            plan = RangeQueries(workload=kind(size)).plan(mu=1.0)
            seconds = time.process_time() - begin
            if plan.bound is not None:
                line(f"{kind.__name__}({size:,}), Gaussian", plan.best.rmse, plan.bound, "bound on all", seconds)
            tree = RangeQueries(workload=kind(size)).plan(mu=1.0, strategy=Hierarchical()).best.rmse
            line(f"{kind.__name__}({size:,}), Gaussian", plan.best.rmse, tree, "best weighted tree", seconds)


def long_counters():
    """Square root counters beyond 65,536 steps beside the whole root."""
    for horizon in (65_536, 65_537, 10**6, 2**22):
        sums = np.cumsum(root_coefficients(horizon) ** 2)
        whole = math.sqrt(sums[-1] * sums.mean())
        counter = SquareRootCount.for_budget(mu=1.0, horizon=horizon)
        ours = counter.rmse
        state = counter._counting(1, None)
        begin = time.process_time()
        for _ in range(1_000):
            state.step(3)
        each = 1e3 * (time.process_time() - begin)
        line(f"{horizon:,} steps, Gaussian, {each:.0f} us a step", ours, whole, "whole square root")


def uniform_tree(horizon, children):
    """RMSE at epsilon 1 of the online tree of one branching: blocks measured when they end, equal noise, digits summed."""
    steps, digits, levels = np.arange(1, horizon + 1), 0, 0
    while steps.any():
        digits, steps, levels = digits + steps % children, steps // children, levels + 1
    return math.sqrt(2.0 * levels**2 * float(np.mean(digits)))


def pure_counters():
    """Counters at epsilon 1 beside the binary tree and the best tree of one branching."""
    for horizon in (256, 365, 1_000, 1_024, 1_025, 4_096, 10**5, 10**6):
        ours = TreeCount.for_budget(epsilon=1.0, horizon=horizon).rmse
        best = min(uniform_tree(horizon, children) for children in range(2, 65))
        line(f"{horizon:,} steps, pure", ours, best, "best tree of one branching")
        line(f"{horizon:,} steps, pure", ours, BinaryTreeCount.for_budget(epsilon=1.0, horizon=horizon).rmse, "binary")


def squares_of(workload, cells):
    """The mean square of all answers, without writing all ranges out."""
    if isinstance(workload, Points):
        return float(np.mean(cells**2))
    sums = np.cumsum(cells)
    if isinstance(workload, Prefix):
        return float(np.mean(sums**2))
    sums = np.append(0.0, sums) - np.append(0.0, sums).mean()
    return float(len(sums) * np.sum(sums**2) / workload.queries)


def automatic(size=1_024, draws=2, epsilon=0.1):
    """`Automatic` (rows public, rows paid for) beside the best of what it chooses from, on the sets of DPBench."""
    arrays = np.load(Path(os.environ.get("PRIVET_DATA", "../shared/data")) / "dpbench" / "dpbench.npz")
    sets = [arrays[name].reshape(size, -1).sum(axis=1) for name in arrays.files if name.startswith("d1_")]
    rng = np.random.default_rng(0)
    for kind in (Prefix, AllRanges):
        asked = RangeQueries(workload=kind(size))
        unbiased = asked.plan(epsilon=epsilon).best.rmse
        for product in (100, 300, 1_000, 3_000, 10_000):
            rows = int(product / epsilon)
            tried = {"public": Automatic(rows=rows), "paid": Automatic(), "DAWA": DAWA()}
            made = {name: asked.for_budget(epsilon=epsilon, strategy=each) for name, each in tried.items()}
            errors = {name: [] for name in made}
            for shares in sets:
                drawn = [rng.multinomial(rows, shares / shares.sum()) for _ in range(draws)]
                for name, mechanism in made.items():
                    off = [squares_of(asked.workload, mechanism.simulate(x, 1)[0].histogram - x) for x in drawn]
                    errors[name].append(math.sqrt(np.mean(off)))
            best = np.minimum.reduce([*errors.values(), np.full(len(sets), unbiased)])
            words = [f"{n} {np.exp(np.mean(np.log(e / best))):.2f} ({np.max(e / best):.2f})" for n, e in errors.items()]
            off = np.exp(np.mean(np.log(unbiased / best)))
            print(
                f"{kind.__name__}({size:,}), epsilon x rows {product:,}: {', '.join(words)}, unbiased {off:.2f}",
                flush=True,
            )


def tables():
    """Intervals of all pairs of binary attributes, and MWEM with a delta and with few rows."""
    for attributes in (10, 14, 20):
        workload = Marginals.all_ways((2,) * attributes, 2)
        released = RangeQueries(workload=workload).release(np.zeros((2,) * attributes, dtype=int), mu=1.0).value
        begin = time.process_time()
        found = released.answers(workload)
        print(f"{attributes} attributes, {len(found.value)} intervals: {time.process_time() - begin:.3f} s", flush=True)
    asked = RangeQueries(workload=Prefix(256))
    pure, loose = (asked.for_budget(epsilon=1.0, strategy=MWEM(rounds=10), **d) for d in ({}, {"delta": 1e-5}))
    scales = [float(each.strategy._parts(each.task, 10)[2].scale) for each in (loose, pure)]
    line("MWEM, scale of an answer, epsilon 1", *scales, "without delta")
    waves = [1.0 + a * np.sin(np.arange(256) / 40.7 * f) for a in (0.5, 0.9) for f in (1, 2)]
    rng, errors = np.random.default_rng(0), {3: [], 10: []}
    for shares in waves:
        x = rng.multinomial(1_000, shares / shares.sum())
        for rounds, strategy in ((3, MWEM()), (10, MWEM(rounds=10))):
            drawn = asked.for_budget(epsilon=0.1, strategy=strategy).simulate(x, 6)
            errors[rounds].append(math.sqrt(np.mean([np.mean(np.cumsum(y.histogram - x) ** 2) for y in drawn])))
    line("MWEM, 256 prefix sums, 1,000 rows, epsilon .1", np.mean(errors[3]), np.mean(errors[10]), "ten rounds")


PARTS = {"gaussian": gaussian, "streams": lambda large: long_counters(), "pure": lambda large: pure_counters()}
PARTS |= {"automatic": lambda large: automatic(), "tables": lambda large: tables()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all unless some are named")
    parser.add_argument("--large", action="store_true", help="2^20 cells as well")
    options = parser.parse_args()
    for name in options.parts or PARTS:
        print(f"# {name}")
        PARTS[name](options.large)


if __name__ == "__main__":
    main()

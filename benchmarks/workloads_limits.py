"""How far the workloads are from the best that is known: ours, the bound or the peer, and the ratio, setting by setting.

`python benchmarks/workloads_limits.py [gaussian] [streams] [--large]`; without names, all parts. The peers are closed
forms and trees that are computed here; CPU seconds of one thread.
"""

import argparse
import math
import os
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

from privet.workloads import (  # noqa: E402
    AllRanges,
    BinaryTreeCount,
    Hierarchical,
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


PARTS = {"gaussian": gaussian, "streams": lambda large: long_counters(), "pure": lambda large: pure_counters()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS])
    parser.add_argument("--large", action="store_true", help="2^20 cells as well")
    options = parser.parse_args()
    for name in options.parts or PARTS:
        print(f"# {name}")
        PARTS[name](options.large)


if __name__ == "__main__":
    main()

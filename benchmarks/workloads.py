"""Range and linear workloads: error per query beside the published figures of the peer, time and memory by domain size.

`python benchmarks/workloads.py [--json] [--large] [--dpbench]`. HDMM (the peer) is not installed anywhere that is kept
up: its figures were measured once by its authors' code and are stated beside ours. CPU time, one thread.
"""

import argparse
import importlib
import json
import math
import os
import resource
import subprocess
import sys
import time
import tracemalloc
from dataclasses import asdict, dataclass
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

from privet.workloads import (  # noqa: E402
    AllRanges,
    BinaryTreeCount,
    Hierarchical,
    Marginals,
    Optimised,
    PIdentity,
    Prefix,
    RangeQueries,
    ResidualTables,
    SquareRoot,
    SquareRootCount,
)
from privet.workloads.strategies.optimised import lower_bound  # noqa: E402


@dataclass
class Row:
    """One line: what, our figure, the target, what the peer reached."""

    task: str
    ours: float
    target: float
    peer: str
    seconds: float
    most_seconds: float

    @property
    def met(self) -> bool:
        return self.ours <= self.target and self.seconds <= self.most_seconds


def rmse(strategy, workload, norm):
    """RMSE per query at epsilon = 1 (Laplace) or sigma = sensitivity (Gaussian), and the CPU seconds of the design."""
    begin = time.process_time()
    design = strategy.design(workload, norm)
    seconds = time.process_time() - begin
    variance = (2.0 if norm == "l1" else 1.0) * float(design.sensitivity(norm)) ** 2
    return math.sqrt(variance * design.trace(workload) / workload.queries), seconds


def errors():
    """The rows of the table of errors."""
    importlib.import_module("scipy.optimize")  # what is loaded once is not the search
    yield Row("all ranges n=256, pure", *_row(PIdentity(), AllRanges(256), "l1", 8.10, "HDMM 8.10 in 1.8 s", 1.0))
    yield Row("all ranges n=1024, pure", *_row(PIdentity(), AllRanges(1024), "l1", 11.10, "HDMM 11.10 in 103 s", 8.0))
    yield Row("prefix n=256, pure", *_row(PIdentity(), Prefix(256), "l1", 7.40, "HDMM 7.39 in 4.1 s", 15.0))
    yield Row("prefix n=1024, pure", *_row(PIdentity(), Prefix(1024), "l1", 9.70, "HDMM: not done in 150 s", 15.0))
    yield Row(
        "prefix n=1024, Gaussian, no search",
        *_row(SquareRoot(tapered=True), Prefix(1024), "l2", 2.99, "bound 2.910", 0.5),
    )
    best = math.sqrt(lower_bound(Prefix(1024)) / 1024)
    yield Row(
        "prefix n=1024, Gaussian, optimised",
        *_row(Optimised(), Prefix(1024), "l2", 1.001 * best, f"dual {best:.4f}", 20.0),
    )
    yield Row("all ranges n=1024, Gaussian", *_row(Optimised(), AllRanges(1024), "l2", 3.60, "optimum 3.515", 15.0))
    for size, wanted in ((256, 8.8847), (1024, 12.4303), (4096, 16.152)):
        yield Row(
            f"all ranges n={size}, best tree", *_row(Hierarchical(), AllRanges(size), "l1", 1.005 * wanted, "-", 0.05)
        )
    yield Row("all ranges n=2^24, best tree", *_row(Hierarchical(), AllRanges(2**24), "l1", 45.663, "H16 50.74", 2.0))
    pairs = Marginals.all_ways((2,) * 100, 2)
    yield Row("all pairs of 100 binary attributes", *_row(ResidualTables(), pairs, "l2", math.inf, "-", 10.0))


def _row(strategy, workload, norm, target, peer, most):
    found, seconds = rmse(strategy, workload, norm)
    return found, target, peer, seconds, most


def growth(large):
    """Plan, noise, inference and answers by domain size."""
    sizes = [2**12, 2**16, 2**20, *([2**24] if large else [])]
    for size in sizes:
        counts = np.random.default_rng(0).poisson(50, size)
        begin = time.process_time()
        mechanism = RangeQueries(domain=size).for_budget(epsilon=1.0, strategy=Hierarchical())
        planned = time.process_time()
        found = mechanism.release(counts).value
        drawn = time.process_time()
        cells = found.histogram
        fitted = time.process_time()
        np.cumsum(cells)
        done = time.process_time()
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"k=2^{size.bit_length() - 1:<3} plan {planned - begin:7.3f} s  noise {drawn - planned:7.3f}  inference "
            f"{fitted - drawn:7.3f}  answers {done - fitted:7.3f}  peak {memory:7.0f} MB",
            flush=True,
        )


def streams():
    """Running counts: error at sigma = sensitivity (and epsilon = 1), CPU time and memory of a step, by horizon."""
    for horizon in (2**10, 2**14, 2**20):
        made = (
            BinaryTreeCount.for_budget(epsilon=1.0, horizon=horizon),
            BinaryTreeCount.for_budget(mu=1.0, horizon=horizon),
            SquareRootCount.for_budget(mu=1.0, horizon=horizon),
        )
        for counter in made:
            tracemalloc.start()
            stream = counter.start()
            memory = tracemalloc.get_traced_memory()[0] / 1024
            tracemalloc.stop()
            begin = time.process_time()
            for _step in range(1_000):
                stream.add(3)
            each = (time.process_time() - begin) / 1_000
            noise = "Laplace" if counter.norm == "l1" else "Gaussian"
            print(
                f"{counter.name:<18} {noise:<9} T=2^{horizon.bit_length() - 1:<3} RMSE {counter.rmse:9.4f}  worst "
                f"{counter.deviations().max():9.4f}  {1e6 * each:7.1f} us a step  {memory:8.1f} KB",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--large", action="store_true", help="2^24 cells as well")
    parser.add_argument("--dpbench", action="store_true", help="the DPBench data sets, if they are there")
    options = parser.parse_args()
    rows = []
    for row in errors():
        rows.append(asdict(row) | {"met": row.met})
        if not options.json:
            print(
                f"{row.task:<40} {row.ours:9.4f} (target {row.target:8.4f}; {row.peer:<24}) {row.seconds:7.2f} s "
                f"(at most {row.most_seconds:g}) {'met' if row.met else 'MISSED'}",
                flush=True,
            )
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    growth(options.large)
    streams()
    if options.dpbench:
        subprocess.run([sys.executable, Path(__file__).with_name("dpbench.py")], check=True)


if __name__ == "__main__":
    main()

"""How far the workloads are from the best that is known: ours, the bound or the peer, and the ratio, setting by setting.

`python benchmarks/workloads_limits.py [gaussian] [streams] [pure] [automatic] [automatic1] [rectangles]
[rectangles1] [rectangles_rho] [rectangles_rho1] [tables] [mwem] [records] [--large]`: all unless named.
The peers are closed forms and trees that are computed here; CPU seconds of one thread.
"""

import argparse
import math
import os
import time
from functools import partial
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

from privet.workloads import (  # noqa: E402
    DAWA,
    MWEM,
    AdaptiveGrid,
    AllRanges,
    Automatic,
    BinaryTreeCount,
    Cells,
    Hierarchical,
    Marginals,
    Points,
    Prefix,
    Product,
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


def compared(asked, sets, rows, promise, tried, draws, size_of, rng):
    """The root mean squared error of each strategy on each set; unbiased ones are computed."""
    made = {name: asked.for_budget(strategy=each, **promise) for name, each in tried.items()}
    errors = {name: [] for name in made}
    for shares in sets.values():
        drawn = [rng.multinomial(rows, shares.reshape(-1)).reshape(shares.shape) for _ in range(draws)]
        for name, mechanism in made.items():
            off = [size_of(mechanism.simulate(x, 1)[0].histogram - x) for x in drawn]
            errors[name].append(math.sqrt(np.mean(off)))
    return errors | {"unbiased": [asked.plan(**promise).best.rmse] * len(sets)}


def told(task, sets, errors):
    """Ratios to the best column of each set: geometric mean (worst set), of sets tuned on and of those kept apart."""
    best = np.minimum.reduce([np.array(each) for each in errors.values()])
    words = []
    for name, each in errors.items():
        ratios = np.array(each) / best
        parts = [ratios[[set_ in APART for set_ in sets]], ratios[[set_ not in APART for set_ in sets]]]
        kept, tuned = (f"{np.exp(np.mean(np.log(r))):.2f} ({np.max(r):.2f})" if len(r) else "-" for r in parts)
        words.append(f"{name} {tuned} | {kept}")
    print(f"{task}: {'; '.join(words)}", flush=True)


# what constants were not tuned on
APART = {"GrossCompenMDSalary1", "MEDCOST", "RejectStats_0_4096_no_outliers", "bids"}
APART |= {f"RejectStats_{i}_4096_no_outliers_filter_7_2" for i in (0, 4)}
APART |= {"MDSalary2D", "cabspottingE", "twitter", "towns", "diagonal"}


def read_sets(kind):
    """The sets of DPBench of one or two dimensions (`d1_`, `d2_`), as shares."""
    arrays = np.load(Path(os.environ.get("PRIVET_DATA", "../shared/data")) / "dpbench" / "dpbench.npz")
    return {name[3:]: arrays[name] / arrays[name].sum() for name in arrays.files if name.startswith(kind)}


def automatic(epsilon, size=1_024, draws=4):
    """`Automatic` (rows public, rows paid for) beside the best of what it chooses from, on the sets of DPBench."""
    sets = {name: shares.reshape(size, -1).sum(axis=1) for name, shares in read_sets("d1_").items()}
    rng = np.random.default_rng(0)
    for kind in (Prefix, AllRanges, Points):
        asked = RangeQueries(workload=kind(size))
        for product in (100, 300, 1_000, 3_000, 10_000, 100_000):
            rows = int(product / epsilon)
            dawa = DAWA(inner=Cells()) if kind is Points else DAWA()
            tried = {"public": Automatic(rows=rows), "paid": Automatic(), "DAWA": dawa, "grid": AdaptiveGrid()}
            found = compared(
                asked, sets, rows, {"epsilon": epsilon}, tried, draws, partial(squares_of, asked.workload), rng
            )
            told(f"{kind.__name__}({size:,}), epsilon x rows {product:,}", sets, found)


def two_dimensions(promises, side=256, draws=3):
    """`Automatic` beside the unbiased default and the grid itself, rectangles of real and made-up places."""
    rng = np.random.default_rng(1)
    sets = read_sets("d2_") | made_up(side)
    ranges = AllRanges(side).gram()

    def rectangles(off):
        return float(np.sum(off * (ranges @ off @ ranges)) / Product((AllRanges(side), AllRanges(side))).queries)

    def prefixes(off):
        return float(np.mean(off.cumsum(axis=0).cumsum(axis=1) ** 2))

    for promise in promises:
        for kind, size_of in ((AllRanges, rectangles), (Prefix, prefixes)):
            asked = RangeQueries(workload=Product((kind(side), kind(side))))
            for rows in (10**3, 10**4, 10**5, 10**6):
                found = compared(asked, sets, rows, promise, {"paid": Automatic()}, draws, size_of, rng)
                told(f"{kind.__name__}({side}) x 2, {promise}, {rows:,} rows", sets, found)
                for name, *each in zip(sets, found["paid"], found["unbiased"], strict=True):
                    print(f"    {name}: {each[0]:.1f}, unbiased {each[1]:.1f}, ratio {each[0] / each[1]:.2f}")


def made_up(side):
    """Even cells, clusters, a city, towns around it, and a diagonal line."""
    rng = np.random.default_rng(7)
    down, across = np.indices((side, side))

    def spots(many, width, weight, even):
        found = np.full((side, side), even / side**2)
        for i, j, w, part in zip(*rng.uniform(0, side, (2, many)), width, rng.dirichlet([weight] * many), strict=True):
            spot = np.exp(-((down - i) ** 2 + (across - j) ** 2) / (2 * w * w))
            found += (1.0 - even) * part * spot / spot.sum()
        return found / found.sum()

    line = np.eye(side) + 0.3 * np.eye(side, k=1) + 0.3 * np.eye(side, k=-1)
    return {
        "even": np.full((side, side), 1.0 / side**2),
        "clusters": spots(5, rng.uniform(3, 12, 5), 1.0, 0.0),
        "city": spots(30, rng.uniform(1, 25, 30), 0.5, 0.1),
        "towns": spots(60, 1 + rng.gamma(1, 10, 60), 0.3, 0.2),
        "diagonal": line / line.sum(),
    }


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


def from_records(rows=10_000):
    """All pairs of columns with three values each, released from records."""
    import pandas as pd

    import privet as pv

    rng = np.random.default_rng(0)
    for columns in (10, 30, 100):
        frame = pd.DataFrame({f"c{i}": rng.integers(0, 3, rows) for i in range(columns)})
        table = pv.Table(frame, columns={name: pv.Category([0, 1, 2]) for name in frame})
        ledger = pv.Ledger.create("memory:", epsilon=3.0, delta=1e-5, unit=table.unit)
        begin = time.process_time()
        found = ledger.release(table.marginals(*frame, way=2), epsilon=1.0, delta=1e-6).to_pandas()
        seconds, truth = time.process_time() - begin, pd.crosstab(frame["c0"], frame["c1"]).to_numpy().ravel()
        off = float(np.sqrt(np.mean((found["n"].to_numpy()[: len(truth)] - truth) ** 2)))
        held = (found["n_low"].to_numpy()[:9] <= truth) & (truth <= found["n_high"].to_numpy()[:9])
        words = f"{columns} columns, {len(found):,} counts with intervals: {seconds:.2f} s"
        print(f"{words}; first table off by {off:.0f}, {held.sum()} of 9 held", flush=True)


def mwem_grid(draws=4):
    """MWEM as it is beside one pass over its answers: 256 prefix sums of four waves and six sets of DPBench, two numbers of
    rows, with and without a delta; ratio of the errors, geometric mean (worst set), and the error of an unbiased plan."""
    asked, rng = RangeQueries(workload=Prefix(256)), np.random.default_rng(0)
    sets = [1.0 + a * np.sin(np.arange(256) / 40.7 * f) for a in (0.5, 0.9) for f in (1, 2)]
    sets += [shares.reshape(256, -1).sum(axis=1) for shares in list(read_sets("d1_").values())[:6]]
    for rows in (1_000, 100_000):
        for promise in [{"epsilon": e} | d for d in ({}, {"delta": 1e-5}) for e in (0.01, 0.1, 0.3, 1.0, 3.0, 10.0)]:
            found = []
            for shares in sets:
                x = rng.multinomial(rows, shares / shares.sum())
                for strategy in (MWEM(), MWEM(passes=1)):
                    drawn = asked.for_budget(strategy=strategy, **promise).simulate(x, draws)
                    found.append(math.sqrt(np.mean([np.mean(np.cumsum(y.histogram - x) ** 2) for y in drawn])))
            errors = np.log(np.array(found).reshape(-1, 2))
            ratio, (ours, one) = np.exp(errors[:, 0] - errors[:, 1]), np.exp(errors.mean(axis=0))
            words = f"MWEM, {rows:,} rows, {promise}: {ours:.0f}, one pass {one:.0f}"
            unbiased = asked.plan(**promise).best.rmse
            print(f"{words}, ratio {ours / one:.2f} (worst {ratio.max():.2f}); unbiased {unbiased:.0f}", flush=True)


PARTS = {"gaussian": gaussian, "streams": lambda large: long_counters(), "pure": lambda large: pure_counters()}
PARTS |= {"automatic": lambda large: automatic(0.1), "tables": lambda large: tables()}
PARTS |= {"automatic1": lambda large: automatic(1.0), "rectangles": lambda large: two_dimensions([{"epsilon": 0.1}])}
PARTS |= {"rectangles_rho": lambda large: two_dimensions([{"rho": 0.005}])}
PARTS |= {"rectangles1": lambda large: two_dimensions([{"epsilon": 1.0}], draws=2)}
PARTS |= {"rectangles_rho1": lambda large: two_dimensions([{"rho": 0.5}], draws=2)}
PARTS |= {"mwem": lambda large: mwem_grid(), "records": lambda large: from_records()}


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

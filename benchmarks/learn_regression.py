"""Linear regression on uniform features: R^2 and CPU time at default settings, beside diffprivlib where it is installed.

    python benchmarks/learn_regression.py [--seeds 3] [--peer] [--times] [--small]

Features are uniform on [-1, 1], the coefficients point in a random direction and move y within its bounds (-1, 1), and
normal noise on y is such that least squares without privacy explain .361 of 100 columns and .828 of 10. delta is 1/n^2.
`--peer` times diffprivlib in one process with ours, too; `--times` does nothing else. `--small` asks for the worst R^2 over
few records and small budgets instead: of such data, of targets far from the middle of their bounds, and of columns that
depend on each other or fill a hundredth of theirs.
"""

import argparse
import math
import time
import warnings

import numpy as np

CASES = ((100_000, 100, 0.361), (100_000, 10, 0.828), (2_000, 10, 0.828))


def uniform(n: int, d: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and targets: the best linear model explains `share` of the variance."""
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=d)
    direction /= np.linalg.norm(direction)
    rows = rng.uniform(-1.0, 1.0, size=(n, d))
    spread = 1.0 / (3.0 * d)
    return rows, rows @ direction / math.sqrt(d) + math.sqrt(spread / share - spread) * rng.normal(size=n)


KINDS = ("uniform", "shifted", "correlated", "scaled")


def small(n: int, d: int, kind: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Few records, of which a linear model explains .7; y has a standard deviation of .3 within bounds of (-1, 1)."""
    rng = np.random.default_rng(seed)
    rows = rng.uniform(-1.0, 1.0, size=(n, d))
    if kind == "correlated":
        rows = 0.3 * rows + 0.7 * rng.uniform(-1.0, 1.0, size=(n, 1))
    if kind == "scaled":
        rows *= np.logspace(0.0, -2.0, d)
    told = rows @ rng.normal(size=d)
    y = 0.25 * told / told.std() + 0.165 * rng.normal(size=n)
    return rows, np.clip(y + (0.6 if kind == "shifted" else 0.0), -1.0, 1.0)


def report_small(seeds: int) -> None:
    for kind in KINDS:
        for n in (200, 500, 2_000, 10_000):
            for d in (2, 10, 50):
                told = []
                for epsilon in (0.05, 0.1, 0.5, 1.0, 8.0):
                    data = [small(n, d, kind, seed) for seed in range(seeds)]
                    scores = [float(private(*each, epsilon).score(*each)) for each in data]  # type: ignore[attr-defined]
                    told.append(f"{epsilon}: {np.median(scores):.3f} ({min(scores):.3f})")
                print(f"{kind} n={n} d={d}, R2 by epsilon, median (worst): {', '.join(told)}", flush=True)


def private(rows: np.ndarray, y: np.ndarray, epsilon: float) -> object:
    from privet.learn import LinearRegression

    return LinearRegression(epsilon=epsilon, delta=len(y) ** -2.0, bounds=(-1, 1), bounds_y=(-1, 1)).fit(rows, y)


def peer(rows: np.ndarray, y: np.ndarray, epsilon: float) -> object:
    from diffprivlib.models import LinearRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return LinearRegression(epsilon=epsilon, bounds_X=(-1.0, 1.0), bounds_y=(-1.0, 1.0)).fit(rows, y)


def beside(n: int, d: int, share: float) -> None:
    """CPU times of both in turn, the plan of ours made before."""
    rows, y = uniform(n, d, share, 0)
    private(rows, y, 1.0)
    spent: dict[object, list[float]] = {private: [], peer: []}
    for fit in (private, peer) * 3:
        begun = time.process_time()
        fit(rows, y, 1.0)
        spent[fit].append(time.process_time() - begun)
    ours, theirs = min(spent[private]), min(spent[peer])
    print(f"{n} x {d}: ours {ours:.3f} s, diffprivlib {theirs:.3f} s, {theirs / ours:.1f} times", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--times", action="store_true", help="nothing but the times beside the peer")
    parser.add_argument("--small", action="store_true")
    chosen = parser.parse_args()
    if chosen.small:
        report_small(chosen.seeds)
        return
    for n, d, share in () if chosen.times else CASES:
        for epsilon in (0.1, 0.5, 1.0):
            scores, times = [], []
            for seed in range(chosen.seeds):
                rows, y = uniform(n, d, share, seed)
                begun = time.process_time()
                model = private(rows, y, epsilon)
                times.append(time.process_time() - begun)
                fresh = uniform(n, d, share, seed)  # the direction follows the seed, so the same rows: scored in sample
                scores.append(float(model.score(*fresh)))  # type: ignore[attr-defined]
            print(
                f"n={n} d={d} epsilon={epsilon}: R2 median {np.median(scores):.4f} min {min(scores):.4f} of {share}; ",
                f"{np.median(times):.3f} s CPU",
                flush=True,
            )
    if chosen.peer or chosen.times:
        for n, d, share in CASES[:2]:
            beside(n, d, share)


if __name__ == "__main__":
    main()

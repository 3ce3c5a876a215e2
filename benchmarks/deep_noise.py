"""The noise of a training step beside torch.randn and numpy's normal: milliseconds of CPU time, one thread, interleaved.

    python benchmarks/deep_noise.py [--numpy]

407,050 is the number of parameters of a network 784-512-10. The best of several rounds counts; the ratio is the result.
Loops are compiled where numba is installed, as in a process that has drawn 2^28 numbers; `--numpy`: as before that.
"""

import os
import sys
import time
from collections.abc import Callable, Iterable

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch

from privet import noise
from privet._compiled import Compiled
from privet.deep import StepNoise
from privet.mechanisms import Gaussian, Laplace

PARAMETERS = 407_050
ENTRIES = 40_000
ROUNDS = 15


def seconds(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def all_of(pieces: Iterable[object]) -> None:
    for _ in pieces:
        pass


def tasks() -> dict[str, Callable[[], object]]:
    rng = np.random.default_rng()
    step = StepNoise(clip=1.0, noise_multiplier=1.0, dimension=PARAMETERS)
    single = StepNoise(clip=1.0, noise_multiplier=1.0, dimension=PARAMETERS, single=True)
    strict = StepNoise(clip=1.0, noise_multiplier=1.0, dimension=PARAMETERS, strict=True)
    total = rng.normal(size=PARAMETERS).astype(np.float32)
    steps = (total / strict.grid.width).astype(np.int64)
    gaussian = Gaussian.for_budget(epsilon=1.0, delta=1e-5, sensitivity=1.0)
    laplace = Laplace.for_budget(epsilon=1.0, sensitivity=1.0)
    counts = rng.integers(0, 1000, PARAMETERS)
    entries = counts[:ENTRIES].tolist()
    keyed = noise.KeyedStream.fresh()
    return {
        "torch.randn": lambda: torch.randn(PARAMETERS),
        "numpy normal": lambda: rng.normal(size=PARAMETERS),
        "noise alone, as of a step": lambda: all_of(
            noise.gaussian_pieces(sigma=step._sigma, count=PARAMETERS, grid=step.grid)
        ),
        "StepNoise.release, as in a training": lambda: single.release(total),
        "StepNoise.release in doubles": lambda: step.release(total),
        "StepNoise.release, strict": lambda: strict.release(steps),
        "keyed noise": lambda: keyed.rounded_gaussian(0, PARAMETERS, sigma=step._sigma),
        "keyed coins of 60,000 records": lambda: keyed.coins(0, 60_000, q=0.01),
        "noise alone, as of Gaussian": lambda: noise.rounded_gaussian(sigma=gaussian._steps, size=PARAMETERS),
        "Gaussian.release of whole numbers": lambda: gaussian.release(counts),
        "Gaussian.release of floats": lambda: gaussian.release(total),
        "Laplace.release of a list of 40,000": lambda: laplace.release(entries),
    }


def main() -> None:
    torch.set_num_threads(1)
    if "--numpy" not in sys.argv:
        Compiled.WORTH = 0
    every = tasks()
    for task in every.values():
        task()  # tables are made, and loops compiled
    best = dict.fromkeys(every, float("inf"))
    for _ in range(ROUNDS):
        for name, task in every.items():
            best[name] = min(best[name], seconds(task))
    print(f"{'':40}{'ms':>8}{'/ randn':>9}{'/ numpy':>9}")
    for name, spent in best.items():
        ratios = spent / best["torch.randn"], spent / best["numpy normal"]
        print(f"{name:40}{1e3 * spent:8.2f}{ratios[0]:9.2f}{ratios[1]:9.2f}")


if __name__ == "__main__":
    main()

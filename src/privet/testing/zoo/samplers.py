"""Bugs in the randomness: shared, seeded or copied noise, laws with a wrong atom or a wrong support, float arithmetic."""

import numpy as np

from privet import noise
from privet._numerics import Array
from privet.testing.zoo.entry import ONE, STEP, Entry, laplace

_BIG = 2**28 + 16  # single precision knows multiples of 32 here; this one is a tie and goes down


def _shared(value: tuple[int, int], runs: int) -> Array:
    return np.asarray(value) + laplace(2 * STEP, runs, 1)


def _fresh(value: tuple[int, int], runs: int) -> Array:
    return np.asarray(value) + laplace(2 * STEP, runs, 2)


def _seeded(value: int, runs: int) -> Array:
    return value + np.asarray(noise.discrete_laplace(scale=STEP, size=1, source=noise.Seeded(2024))).repeat(runs)


def _secure(value: int, runs: int) -> Array:
    return value + laplace(STEP, runs)


def _forked(value: tuple[int, int], runs: int) -> Array:
    """The parent filled a pool of noise before it forked: each worker takes its first number from its own copy."""
    pool = laplace(2 * STEP, runs, 4)
    workers = [pool.copy() for _ in value]
    return np.stack([answer + worker[:, 0] for answer, worker in zip(value, workers, strict=True)], axis=1)


def _zero_twice(value: int, runs: int) -> Array:
    sign = 1 - 2 * np.asarray(noise.bernoulli(p=0.5, size=runs)).astype(np.int64)
    return value + sign * np.asarray(noise.geometric(scale=1, size=runs))


def _zero_once(value: int, runs: int) -> Array:
    return value + laplace(1, runs)


def _noise_clipped(value: int, runs: int) -> Array:
    return value + np.clip(laplace(STEP, runs), -3 * STEP, 3 * STEP)


def _output_clipped(value: int, runs: int) -> Array:
    return np.clip(value + laplace(STEP, runs), -3 * STEP, 4 * STEP)


def _one_sided(value: int, runs: int) -> Array:
    return value + np.asarray(noise.geometric(scale=STEP, size=runs))


def _float_laplace(value: float, runs: int) -> Array:
    return value + np.random.default_rng().laplace(0.0, 1.0, runs)


def _grid_laplace(value: float, runs: int) -> Array:
    grid = noise.Grid(-10)
    return np.asarray(grid.from_grid(grid.to_grid(value) + laplace(2**10, runs)))


def _off_grid(value: float, runs: int) -> Array:
    return value + laplace(1, runs)


def _on_grid(value: float, runs: int) -> Array:
    return np.floor(value + 0.5) + laplace(1, runs)


def _single_precision(value: int, runs: int) -> Array:
    return (np.float32(value) + laplace(1, runs).astype(np.float32)).astype(np.float64)


SAMPLERS = (
    Entry(
        number=5, name="Laplace noise in floats", feature="lowest bit", claim=ONE, left=0.0, right=1.0,
        story="The textbook sampler: which doubles can come out depends on the answer (Mironov 2012; diffprivlib 94).",
        broken=_float_laplace, sound=_grid_laplace,
    ),
    Entry(
        number=6, name="integer noise on an answer off the grid", feature="lowest bit", claim=ONE, left=4.0, right=4.84,
        story="Exact integer noise is added to a float, whose fraction passes through untouched.",
        broken=_off_grid, sound=_on_grid,
    ),
    Entry(
        number=10, name="one noise for two answers", feature="difference", claim=ONE, left=(0, 0), right=(STEP, -STEP // 2),
        story="Noise is drawn once and broadcast over a vector: differences of answers are exact.",
        broken=_shared, sound=_fresh,
    ),
    Entry(
        number=11, name="a fixed seed", feature="atom", claim=ONE, left=0, right=STEP,
        story="A seed that was set for a test stayed in the release: the noise is known.",
        broken=_seeded, sound=_secure,
    ),
    Entry(
        number=20, name="zero counted twice", feature="atom", claim=ONE, left=0, right=1,
        story="A sign and a geometric magnitude: plus zero and minus zero are the same number.",
        broken=_zero_twice, sound=_zero_once,
    ),
    Entry(
        number=21, name="truncated noise", feature="atom", claim=ONE, left=0, right=STEP,
        story="Noise is cut at three scales; some outputs are possible in one world only.",
        broken=_noise_clipped, sound=_output_clipped,
    ),
    Entry(
        number=31, name="one-sided noise", feature="threshold", claim=ONE, left=0, right=STEP,
        story="Geometric noise without a sign never goes below the answer.",
        broken=_one_sided, sound=_secure,
    ),
    Entry(
        number=35, name="noise lost in single precision", feature="atom", claim=ONE, left=_BIG, right=_BIG + 1,
        story="A float32 accumulator beyond 2^24 rounds the total first and then swallows the noise.",
        broken=_single_precision, sound=_zero_once,
    ),
    Entry(
        number=38, name="noise copied by a fork", feature="difference", claim=ONE, left=(0, 0), right=(-STEP // 2, STEP),
        story="Workers inherit the parent's buffered random numbers and all begin with the same ones.",
        broken=_forked, sound=_fresh,
    ),
)  # fmt: skip

"""Totals of clean records: exact integers on a public grid, and noise on that grid."""

import sys
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidParameter
from privet.mechanisms.families.additive import AdditiveMechanism
from privet.mechanisms.mechanism import Source
from privet.noise import LARGEST_SCALE, Grid, Steps

CHUNK = 2**16  # records of at most 2^42 steps: a chunk cannot leave int64
FINE = 40  # a record is rounded to 2^-40 of the width of its bounds
UNIT_GRID = Grid(-FINE)
_LARGEST = sys.float_info.max


def exact_total(steps: Array) -> int:
    """Sum of int64 steps (at most 2^42 each) as a Python integer, in any order the same.

    >>> exact_total(np.full(3, 2**42))
    13194139533312
    """
    return sum(int(steps[start : start + CHUNK].sum()) for start in range(0, len(steps), CHUNK))


def in_steps(clean: Array, bounds: tuple[float, float]) -> Array:
    """Records within the bounds as integers from 0 (lowest) to 2^FINE (highest).

    >>> in_steps(np.array([0.0, 5.0, 10.0]), (0.0, 10.0)).tolist() == [0, 2**39, 2**40]
    True
    """
    low, high = bounds
    return UNIT_GRID.nearest(np.clip((clean - low) / (high - low), 0.0, 1.0))


@lru_cache(maxsize=256)
def noise_grid(scale: float, grid: Grid) -> tuple[Grid, Fraction]:
    """A millionth of the noise, and no coarser than 2^50 steps of the totals (a rest of 50 bits is a double); and the
    scale in its steps.
    """
    fine = Grid.finer_than(scale, 20, coarsest=grid.exponent + 50)
    return fine, fine.length(scale)


def check_noise_grid(scale: float, grid: Grid) -> None:
    """Refuse noise that cannot be drawn for totals in steps of `grid`.

    >>> check_noise_grid(1.0, Grid(-40))
    """
    if noise_grid(scale, grid)[1] > LARGEST_SCALE:
        raise InvalidParameter("the noise must stay below 2^52 grid steps: the budget is too small for these bounds")


def noisy_totals(
    noise: AdditiveMechanism, totals: Sequence[int], grid: Grid, *, runs: int = 1, source: Source = None
) -> list[list[Fraction]]:
    """`runs` rows of totals, in steps of `grid`, plus noise, rounded half up to a grid of the noise, exactly."""
    fine, rows = noisy_steps(noise, totals, grid, runs=runs, source=source)
    return [[fine.times(each) for each in row] for row in rows]


def noisy_steps(
    noise: AdditiveMechanism, totals: Sequence[int], grid: Grid, *, runs: int = 1, source: Source = None
) -> tuple[Grid, list[list[int]]]:
    """The same as that grid, and whole steps of it."""
    fine, scale = noise_grid(noise.scale, grid)
    if len(totals) == 1:
        whole, rest = Grid(fine.exponent - grid.exponent).split(totals[0], 1)
        drawn = noise._noisy(rest, scale, source, size=runs)
        return fine, [[whole + k] for k in drawn.tolist()]
    held = np.empty(len(totals), dtype=object)
    held[:] = totals
    steps, drawn = _drawn(noise, held, grid, runs, source)
    wholes = steps.whole.tolist()
    return fine, [[whole + k for whole, k in zip(wholes, row, strict=True)] for row in drawn.tolist()]


def noisy_doubles(
    noise: AdditiveMechanism, totals: Array, grid: Grid, *, runs: int = 1, source: Source = None
) -> Array:
    """The same for two totals or more, an array of integers of whatever size, as doubles: each rounded once, and none
    beyond the largest.
    """
    fine, _ = noise_grid(noise.scale, grid)
    steps, drawn = _drawn(noise, totals.astype(object), grid, runs, source)
    with np.errstate(over="ignore"):
        made = np.ldexp(steps.plus(drawn), fine.exponent)
    return np.clip(made, -_LARGEST, _LARGEST)


def _drawn(noise: AdditiveMechanism, totals: Array, grid: Grid, runs: int, source: Source) -> tuple[Steps, Array]:
    """Totals in steps of the noise's grid, and what is drawn around what they leave, in `runs` rows."""
    fine, scale = noise_grid(noise.scale, grid)
    shift = fine.exponent - grid.exponent  # one step of the noise's grid is 2^shift steps of the totals
    # A total may have more bits than a double: its whole steps stay an integer, and only the rest enters the noise.
    wholes = totals >> shift if shift > 0 else totals << -shift
    rests = np.ldexp((totals - (wholes << shift)).astype(np.float64), -shift) if shift > 0 else np.zeros(len(totals))
    centers = np.broadcast_to(rests, (runs, len(totals)))
    drawn = np.asarray(noise._noisy(centers, scale, source))
    return Steps(wholes, None, rests), drawn

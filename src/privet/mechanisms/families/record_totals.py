"""Totals of clean records: exact integers on a public grid, and noise on that grid."""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from privet._numerics import Array
from privet.mechanisms.families.additive import AdditiveMechanism
from privet.mechanisms.families.values import split_ratio
from privet.mechanisms.mechanism import Source

CHUNK = 2**16  # records of at most 2^41 steps: a chunk cannot leave int64
FINE = 40  # a record is rounded to 2^-40 of the width of its bounds


def half_up(x: Array) -> Array:
    """floor(x + 1/2) without rounding in the addition.

    >>> half_up(np.array([0.5, 1.5, -0.5, 0.49999999999999994])).tolist()
    [1, 2, 0, 0]
    """
    whole = np.floor(x)
    return whole.astype(np.int64) + (x - whole >= 0.5)


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
    return half_up(np.ldexp(np.clip((clean - low) / (high - low), 0.0, 1.0), FINE))


def noise_grid(noise: AdditiveMechanism, exponent: int) -> int:
    return min(math.frexp(noise.scale)[1] - 21, exponent + 50)  # a rest of 50 bits is a double


def noisy_totals(
    noise: AdditiveMechanism, totals: Sequence[int], exponent: int, *, runs: int = 1, source: Source = None
) -> list[list[Fraction]]:
    """`runs` rows of totals times 2^exponent plus noise, rounded half up to a grid a millionth of the noise, exactly."""
    grid = noise_grid(noise, exponent)
    shift = grid - exponent
    if len(totals) == 1:
        whole, rest = split_ratio(totals[0], 1, shift)
        drawn = noise._noisy(rest, _grid_scale(noise.scale, grid), source, size=runs)
        return [[_fraction(whole + k, grid)] for k in drawn.tolist()]
    wholes = [total >> shift if shift > 0 else total << -shift for total in totals]
    rests = [
        math.ldexp(total - (whole << shift), -shift) if shift > 0 else 0.0
        for total, whole in zip(totals, wholes, strict=True)
    ]
    centers = np.broadcast_to(np.array(rests), (runs, len(totals)))
    drawn = np.asarray(noise._noisy(centers, _grid_scale(noise.scale, grid), source))
    return [[_fraction(whole + k, grid) for whole, k in zip(wholes, row, strict=True)] for row in drawn.tolist()]


@lru_cache(maxsize=256)
def _grid_scale(scale: float, grid: int) -> Fraction:
    return Fraction(scale) / Fraction(2) ** grid


def _fraction(steps: int, exponent: int) -> Fraction:
    return Fraction(steps << exponent) if exponent >= 0 else Fraction(steps, 1 << -exponent)

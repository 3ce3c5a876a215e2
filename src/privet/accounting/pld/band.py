"""Sums of many losses, of which only a few frequencies are left.

The transform of a long sum is negligible except near frequency 0. Where that is proved, only the few frequencies below the
cut are computed, directly from the nodes of each law, and delta is read off them in closed form: no array as long as the
window is ever made. The law of the sum is still the circular convolution on `length` nodes, as with the fast transform.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privet._cache import remember
from privet._numerics import TINY, UNIT_ROUNDOFF, Array
from privet.accounting.pld.rounding import GridLaw

_HEIGHTS = np.array([0.85, 0.65, 0.45, 0.25, 0.12, 0.05])  # layers of a peak, as shares of its top
_THICKNESS = _HEIGHTS - np.append(_HEIGHTS[1:], 0.0)  # each layer's share of the height
_BLOCK = 64  # nodes that are summed at once: speed only
_ONE_THREAD = 65_535  # multiplications in a matrix product up to which linear algebra starts no second thread
_CANDIDATES = 2.0 ** np.arange(3.0, 16.0, 0.5)  # numbers of low frequencies that are tried: speed only


@dataclass(frozen=True, eq=False)
class Tilted:
    """The tilted masses of one law, their sum, and layers of a peak inside them."""

    weight: Array
    total: float
    length: Array  # nodes of each layer, all of them neighbours on the lattice
    share: Array  # mass of each layer


@remember(4_000_000)
def tilted_law(law: GridLaw, t: float, log_moment: float) -> Tilted:
    """Tilt a law, and find a peak in it: uniform layers, one on another, that together lie below the law.

    Layers are runs of neighbouring nodes around the heaviest pair of neighbours on which the mass is at least a given
    height.
    """
    weight: Array = law.mass * np.exp(law.losses() * t - log_moment)
    total = float(weight.sum())
    pairs = np.minimum(weight[:-1], weight[1:]) * (law.places[1:] - law.places[:-1] == 1)
    if len(pairs) == 0:
        return Tilted(weight, total, np.ones(1), np.zeros(1))
    top = int(np.argmax(pairs))
    height = float(pairs[top])
    high = pairs >= (_HEIGHTS * height)[:, None]
    length = 1 + _run(high[:, top::-1]) + _run(high[:, top + 1 :])
    return Tilted(weight, total, length, _THICKNESS * height * length)


def _run(good: NDArray[np.bool_]) -> Array:
    """The number of entries of each row that are true before the first false one."""
    if good.shape[1] == 0:
        return np.zeros(len(good), dtype=np.int64)
    return np.where(good.all(axis=1), good.shape[1], np.argmin(good, axis=1))


def cut_frequency(parts: list[tuple[Tilted, int]], length: int, exponent: float) -> int | None:
    """A frequency from which on (up to half the length) the transform of the sum is below exp(-exponent); None if unknown.

    A uniform law on R neighbours has the transform D(w) = sin(R w/2) / (R sin(w/2)): decreasing up to w = 2 pi/R, and at
    most 1/(R sin(pi/R)) from there on. A law above such layers has a transform of at most total - sum share (1 - D).
    """
    candidates = _CANDIDATES[length / 4 > _CANDIDATES]
    if len(candidates) == 0:
        return None
    half = np.pi * np.floor(candidates)[:, None] / length  # w/2
    log_bound = np.zeros(len(candidates))
    for part, n in parts:
        runs = part.length.astype(float)
        beyond = np.where(runs > 1.0, 1.0 / (runs * np.sin(np.pi / np.maximum(runs, 2.0))), 1.0)
        inside = np.where(half * runs < np.pi, np.sin(half * runs) / (runs * np.sin(half)), 0.0)
        kernel = np.maximum(inside, beyond)
        bound = part.total - (part.share * (1.0 - kernel)).sum(axis=1)
        log_bound += n * np.log(np.maximum(bound * (1.0 + 1e-13), TINY))
    enough = np.flatnonzero(log_bound <= -exponent)
    return int(candidates[enough[0]]) if len(enough) else None


@remember(8_000_000)
def low_frequencies(law: GridLaw, part: Tilted, length: int, count: int) -> tuple[NDArray[np.complex128], float]:
    """The transform of a tilted law at frequencies 0 .. count - 1, and a bound on its error."""
    return waves_of(part.weight, (law.places - law.start) % length, length, count)


def waves_of(weight: Array, places: Array, length: int, count: int) -> tuple[NDArray[np.complex128], float]:
    """The sum over the nodes of weight exp(2 pi i k place / length) for k = 0 .. count - 1, and a bound on its error.

    Wave k = a + b m is the product of wave a < m and wave b m, so both tables are short. Each table is made of products of
    the waves 1, 2, 4, ... (times m), whose angles are reduced in whole numbers: each of these is off by at most 21 u, each
    product by 3 u more. Sums run over short blocks of nodes, then over the blocks.
    """
    inner = 1 << ((count.bit_length() + 1) // 2)
    outer = -(-count // inner)
    fine = _waves(weight, places, length, inner)
    coarse = _waves(np.ones(len(places)), (inner * places) % length, length, outer)
    total = np.zeros((outer, inner), dtype=np.complex128)
    size = max(1, min(_BLOCK, _ONE_THREAD // (inner * outer)))
    for start in range(0, len(places), size):
        block = slice(start, start + size)
        total += coarse[:, block] @ fine[:, block].T
    products = (inner - 1).bit_length() + (outer - 1).bit_length() + 1
    error = 24.0 * products + 3.0 * size + len(places) / size + 8.0  # 2 sqrt2 size: two parts of 2 size products
    return total.ravel()[:count], UNIT_ROUNDOFF * error * float(weight.sum())


def _waves(weight: Array, places: Array, length: int, count: int) -> NDArray[np.complex128]:
    """weight * exp(2 pi i k place / length), one row for each frequency k = 0 .. count - 1."""
    waves = np.empty((count, len(places)), dtype=np.complex128)
    waves[0] = weight
    doublings = 1 << np.arange((count - 1).bit_length())
    angles = (np.multiply.outer(doublings, places) % length) * (2.0 * np.pi / length)
    turns = np.empty(angles.shape, dtype=np.complex128)
    turns.real, turns.imag = np.cos(angles), np.sin(angles)
    for done, turn in zip(doublings.tolist(), turns, strict=True):
        more = min(done, count - done)
        np.multiply(waves[:more], turn, out=waves[done : done + more])
    return waves

"""Broken mechanisms that both papers, or their sources, are about: integer noise, so that no low bit gives a hint.

The variants of the sparse vector technique follow the numbering of Lyu, Su & Li 2017 ("Understanding the sparse vector
technique for differential privacy"), figure 1.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet import noise

Law = Callable[[Any, int], np.ndarray]
STEP = 10  # one unit of sensitivity


@dataclass(frozen=True, eq=False)
class Subject:
    """A mechanism with a claim of pure epsilon that it breaks, on a pair of neighbours that shows it."""

    name: str
    epsilon: float
    left: Any
    right: Any
    simulate: Law
    truthful: Callable[[Any], np.ndarray] | None = None  # the signs without noise, where one is defined


def _laplace(scale: float, *shape: int) -> np.ndarray:
    return np.asarray(noise.discrete_laplace(scale=scale, size=shape))


def _laplace_with(share: float) -> Law:
    return lambda value, runs: value + _laplace(share * STEP, runs)


def _noisy_max(scores: tuple[int, ...], runs: int) -> np.ndarray:
    """The largest noisy score itself, with the noise that pays for its index."""
    noisy = np.asarray(scores) + _laplace(2 * STEP, runs, len(scores))
    return noisy.max(axis=1)


def _sparse_vector(of_threshold: float, of_queries: float, most: int | None) -> Law:
    """Above-threshold at 0 over all queries: 1 above, 0 below, -1 after the last positive that is allowed."""

    def law(queries: tuple[int, ...], runs: int) -> np.ndarray:
        level = _laplace(of_threshold, runs, 1)
        noisy = np.asarray(queries) + (_laplace(of_queries, runs, len(queries)) if of_queries else 0)
        above = (noisy >= level).astype(np.int64)
        if most is None:
            return above
        before = np.cumsum(above, axis=1) - above
        return np.where(before < most, above, -1)

    return law


def _sparse_vector_with_values(queries: tuple[int, ...], runs: int) -> np.ndarray:
    """Lyu et al., algorithm 3: the noisy number in place of the first positive; -1000 below, -2000 after the end."""
    level = _laplace(2 * STEP, runs, 1)
    noisy = np.asarray(queries) + _laplace(2 * STEP, runs, len(queries))
    above = noisy >= level
    before = np.cumsum(above, axis=1) - above
    return np.where(before < 1, np.where(above, noisy, -1000), -2000)


def _k_rr(k: int, honest: float) -> Law:
    def law(value: int, runs: int) -> np.ndarray:
        lies = (value + 1 + np.asarray(noise.uniform_int(bound=k - 1, size=runs))) % k
        return np.where(np.asarray(noise.bernoulli(p=honest, size=runs)), value, lies)

    return law


def _signs(queries: tuple[int, ...]) -> np.ndarray:
    return np.asarray(queries) > 0


_ALL_UP = ((0,) * 5, (STEP,) * 5)
_HALF = ((STEP,) * 5 + (0,) * 5, (0,) * 5 + (STEP,) * 5)

SUBJECTS = (
    Subject("Laplace, half the noise", 1.0, 0, STEP, _laplace_with(0.5)),
    Subject("Laplace, 25% less noise", 1.0, 0, STEP, _laplace_with(0.75)),
    Subject("noisy max with its value", 1.0, *_ALL_UP, _noisy_max),
    Subject("SVT 3: noisy number released", 1.0, (0,) * 10, (STEP,) * 9 + (0,), _sparse_vector_with_values, _signs),
    Subject(
        "SVT 4: noise without the number of positives", 1.0, *_HALF, _sparse_vector(4 * STEP, 4 * STEP / 3, 3), _signs
    ),
    Subject("SVT 5: no noise on queries", 1.0, *_HALF, _sparse_vector(2 * STEP, 0.0, None), _signs),
    Subject("SVT 6: any number of positives", 1.0, *_HALF, _sparse_vector(2 * STEP, 2 * STEP, None), _signs),
    Subject("k-RR, honesty of two values for four", 1.0, 0, 1, _k_rr(4, math.e / (1.0 + math.e))),
)

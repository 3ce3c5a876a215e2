"""Bugs in choosing and reporting: exponential mechanism, noisy max, above-threshold, randomized response."""

import math
from typing import Any

import numpy as np

from privet import noise
from privet._numerics import Array
from privet.privacy import PureLoss, Unit
from privet.testing.zoo.entry import ONE, STEP, SWAP, Entry, Law, laplace, reports

_K, _MANY = 4, 16  # values of a response; with many, a lie that may be the truth shows less
_CHEAP = (0.5, 0.1)  # probability of reporting 1, by the truth


def _honest(k: int) -> float:
    return math.e / (math.e + k - 1)


def _lies_include_truth(value: int, runs: int) -> Array:
    lies = np.asarray(noise.uniform_int(bound=_MANY, size=runs))
    return reports(np.asarray(value), lies, np.asarray(noise.bernoulli(p=_honest(_MANY), size=runs)))


def _k_rr(k: int, honest: float) -> Law:
    def law(value: int, runs: int) -> Array:
        lies = (value + 1 + np.asarray(noise.uniform_int(bound=k - 1, size=runs))) % k
        return reports(np.asarray(value), lies, np.asarray(noise.bernoulli(p=honest, size=runs)))

    return law


def _unary(zero_to_one: float) -> Law:
    """Each of k bits; a true one survives with probability 1/2."""

    def law(value: int, runs: int) -> Array:
        chances = [0.5 if j == value else zero_to_one for j in range(_K)]
        return np.stack([np.asarray(noise.bernoulli(p=p, size=runs)) for p in chances], axis=1).astype(np.int64)

    return law


def _exponential(factor: float) -> Law:
    return lambda scores, runs: np.asarray(noise.choice_log(factor * np.asarray(scores, dtype=float), size=runs))


def _overflowing(scores: tuple[float, ...], runs: int) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        weights = np.exp(np.asarray(scores) / 2.0)
        shares = weights / weights.sum()
    shares = shares if np.all(np.isfinite(shares)) else np.full(len(scores), 1.0 / len(scores))
    return np.asarray(noise.choice_log(np.log(shares), size=runs))


def _max_and_value(scores: tuple[int, ...], runs: int) -> Array:
    noisy = np.asarray(scores) + laplace(2 * STEP, runs, len(scores))
    return np.stack((noisy.argmax(axis=1), noisy.max(axis=1)), axis=1)


def _max_then_value(scores: tuple[int, ...], runs: int) -> Array:
    """Half of the budget for the index, half for a fresh measurement of the winner."""
    winner = (np.asarray(scores) + laplace(4 * STEP, runs, len(scores))).argmax(axis=1)
    return np.stack((winner, np.asarray(scores)[winner] + laplace(2 * STEP, runs)), axis=1)


def _above(threshold: int, of_threshold: float, of_queries: float) -> Law:
    """Answers 0, ..., 0, 1 and then nothing more: the first noisy query above the noisy threshold."""

    def law(queries: tuple[int, ...], runs: int) -> Array:
        level: Any = threshold + (laplace(of_threshold, runs, 1) if of_threshold else 0)
        above = np.asarray(queries) + laplace(of_queries, runs, len(queries)) > level
        return ((np.cumsum(above, axis=1) == 1) & above).astype(np.int64)

    return law


def _free_answer(of_test: float, of_answer: float) -> Law:
    """One test against a threshold of 2 units; if it is passed, the answer with noise of its own."""

    def law(query: int, runs: int) -> Array:
        passed = query + laplace(of_test, runs) > 2 * STEP + laplace(of_test, runs)
        return np.stack((passed, np.where(passed, query + laplace(of_answer, runs), -1000)), axis=1)

    return law


def _perturbed_objective(rows: tuple[int, int], runs: int) -> Array:
    """argmin |x - a| + |x - b| + s x / 2 for a random sign s: flat between a and b, so the sign decides alone."""
    return np.where(np.asarray(noise.bernoulli(p=0.5, size=runs)), min(rows), max(rows))


def _private_median(rows: tuple[int, int], runs: int) -> Array:
    grid = np.arange(201)
    below, above = (
        np.sum(np.sign(side) > 0, axis=0) for side in (np.subtract.outer(grid, rows).T, np.subtract.outer(rows, grid))
    )
    return np.asarray(noise.choice_log(-np.abs(below - above) / 4.0, size=runs))


def _channel(*ones: float) -> Law:
    return lambda truth, runs: np.asarray(noise.bernoulli(p=ones[truth], size=runs)).astype(np.int64)


_PRICED = math.log((1.0 - _CHEAP[1]) / (1.0 - _CHEAP[0]))  # the smaller of the two log-ratios
_FAIR = 1.0 / (1.0 + math.exp(_PRICED))  # randomised response at this price

_FAR_BELOW = (-1000,) * 8  # answers that no threshold near 0 lets through

CHOICES = (
    Entry(
        number=12, name="lies that include the truth", feature="atom", claim=SWAP, left=5, right=7,
        story="k-ary randomized response draws its lies from all k values and keeps the old probability of honesty.",
        broken=_lies_include_truth, sound=_k_rr(_MANY, _honest(_MANY)),
    ),
    Entry(
        number=13, name="honesty of two values for four", feature="atom", claim=SWAP, left=0, right=1,
        story="k-ary randomized response is honest with e/(1 + e), the probability for k = 2.",
        broken=_k_rr(_K, math.e / (1.0 + math.e)), sound=_k_rr(_K, _honest(_K)),
    ),
    Entry(
        number=14, name="unary bits flipped one way", feature="atom", claim=SWAP, left=0, right=1,
        story="True ones are hidden half of the time, but no zero ever turns into a one.",
        broken=_unary(0.0), sound=_unary(1.0 / (1.0 + math.e)),
    ),
    Entry(
        number=15, name="exponential mechanism without the 1/2", feature="atom", claim=ONE,
        left=(1,) + (0,) * 19, right=(0,) + (1,) * 19,
        story="Weights exp(epsilon u) instead of exp(epsilon u / 2); seen only when many candidates move at once.",
        broken=_exponential(1.0), sound=_exponential(0.5),
    ),
    Entry(
        number=16, name="noisy max with its noisy value", feature="threshold", claim=ONE,
        left=(0,) * 5, right=(STEP,) * 5,
        story="The largest noisy score is released along with its index, at the price of the index.",
        broken=_max_and_value, sound=_max_then_value,
    ),
    Entry(
        number=17, name="threshold without noise", feature="index", claim=ONE,
        left=(*_FAR_BELOW, *(0,) * 20, 1000), right=(*_FAR_BELOW, *(STEP,) * 20, 1000),
        story="Above-threshold adds noise to its queries but compares them with the exact threshold.",
        broken=_above(2 * STEP, 0, 2 * STEP), sound=_above(2 * STEP, 2 * STEP, 4 * STEP),
    ),
    Entry(
        number=18, name="above-threshold with a free answer", feature="threshold", claim=PureLoss(0.5), left=0, right=STEP,
        story="The test against the threshold is paid for, the noisy answer that follows it is not.",
        broken=_free_answer(4 * STEP, STEP), sound=_free_answer(8 * STEP, 4 * STEP),
    ),
    Entry(
        number=19, name="above-threshold with too little query noise", feature="index", claim=ONE,
        left=(STEP, 0) * 10, right=(0, STEP) * 10,
        story="Query noise was made for queries that all move the same way; here every second one moves back.",
        broken=_above(2 * STEP, 2 * STEP, STEP / 2), sound=_above(2 * STEP, 2 * STEP, 4 * STEP),
    ),
    Entry(
        number=32, name="exponential weights overflow", feature="atom", claim=ONE,
        left=(1419.0, 1410.0, 1410.0), right=(1420.0, 1410.0, 1410.0),
        story="exp of a large score is infinite, shares become NaN, and a fallback chooses evenly (diffprivlib 107).",
        broken=_overflowing, sound=_exponential(0.5),
    ),
    Entry(
        number=33, name="objective perturbation of a median", feature="atom", claim=SWAP, left=(0, 100), right=(0, 101),
        story="Without strong convexity a random tilt of the objective returns one of the records themselves.",
        broken=_perturbed_objective, sound=_private_median,
    ),
    Entry(
        number=39, name="the cheap direction priced", feature="atom", claim=PureLoss(_PRICED, unit=Unit("replace")),
        left=0, right=1,
        story="The largest log-ratio is taken over outcomes in one order of the worlds only.",
        broken=_channel(*_CHEAP), sound=_channel(_FAIR, 1.0 - _FAIR),
    ),
)  # fmt: skip

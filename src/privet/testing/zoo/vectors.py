"""Bugs in long answers: one number among many, noise that is used twice, sums that were made to fit."""

import math

import numpy as np

from privet import noise
from privet._numerics import Array
from privet.privacy import GaussianLoss
from privet.testing.zoo.entry import ONE, STEP, Entry, Law, laplace

_LONG = 1000  # numbers of an answer: one wrong place is then hard to find
_FEW = 4_000  # runs of a long answer: more would only fill the memory


def _except_one(bins: int, odd: int, scale: float) -> Law:
    """Histograms with noise everywhere but in one bin, where it has another scale (0: none)."""

    def law(person: int, runs: int) -> Array:
        out = laplace(STEP, runs, bins)
        out[:, odd] = laplace(scale, runs) if scale else 0
        if person >= 0:
            out[:, person] += STEP
        return out

    return law


def _spread(scale: float) -> Law:
    return lambda shift, runs: shift + laplace(scale, runs, _LONG)


def _periodic(period: int) -> Law:
    """Two copies of one table, each with its own noise, or with the same."""

    def law(shift: int, runs: int) -> Array:
        values = np.zeros(24, dtype=np.int64)
        values[3] = shift
        out = laplace(STEP, runs, 24) if period == 24 else np.tile(laplace(STEP, runs, period), (1, 24 // period))
        return out + values

    return law


def _made_to_fit(exact: bool) -> Law:
    """A histogram of twelve bins whose total is corrected: to the exact total, or to a noisy one paid for by half."""

    def law(person: int, runs: int) -> Array:
        values = np.full(12, 5 * STEP)
        values[4] += STEP * person
        noisy = values + laplace(2 * STEP, runs, 12)
        total = values.sum() if exact else values.sum() + laplace(2 * STEP, runs)
        noisy[:, -1] += total - noisy.sum(axis=1)
        return noisy

    return law


def _antithetic(paired: bool) -> Law:
    """Noise and its mirror image in places 2 and 9: their sum has no noise at all."""

    def law(shift: int, runs: int) -> Array:
        drawn = laplace(2 * STEP, runs, 12)
        if paired:
            drawn[:, 9] = -drawn[:, 2]
        drawn[:, 2] += shift
        drawn[:, 9] += shift
        return drawn

    return law


def _clipped_by_coordinate(sigma: float) -> Law:
    return lambda shift, runs: shift + np.asarray(noise.rounded_gaussian(sigma=sigma, size=(runs, 16)))


def _prefix_sums(scale: float) -> Law:
    """All twenty prefix sums of a histogram, with the noise of one of them, or of all."""
    return lambda bins, runs: STEP * np.cumsum(bins) + laplace(scale, runs, len(bins))


def _scaled(share: Array) -> Law:
    """Ten weighted copies of one count; the noise follows the weights, or its square roots."""
    weights = np.arange(1, 11)
    return lambda count, runs: STEP * count * weights + np.stack([laplace(float(s), runs) for s in share], axis=1)


def _largest_gap(reuse: bool) -> Law:
    """A noisy vector, and its largest entry; the entry read off the noisy vector, or off the exact one."""

    def law(shift: int, runs: int) -> Array:
        values = np.array([0, 0, shift, 0, 0, 0])
        noisy = values + laplace(STEP, runs, 6)
        top = noisy.max(axis=1) if reuse else np.full(runs, values.max())
        return np.concatenate((noisy, top[:, None]), axis=1)

    return law


def _rotating(weak: float) -> Law:
    """In every run another one of forty bins, drawn at random, has too little noise; which one is told."""

    def law(shift: int, runs: int) -> Array:
        which = np.asarray(noise.uniform_int(bound=40, size=runs))
        out = shift + laplace(40 * STEP, runs, 40)
        out[np.arange(runs), which] = shift + laplace(weak, runs)
        return np.concatenate((which[:, None], out), axis=1)

    return law


VECTORS = (
    Entry(
        number=43, name="the twentieth bin has no noise", claim=ONE, left=-1, right=19,
        story="An off-by-one in the slice of bins that get noise; the first eight are fine.",
        broken=_except_one(40, 19, 0.0), sound=_except_one(40, 19, STEP),
    ),
    Entry(
        number=44, name="half the noise in one place of a thousand", claim=ONE, left=-1, right=617, runs=_FEW,
        story="A vector of 1,000 answers is made in blocks, and one block of one has another scale.",
        broken=_except_one(_LONG, 617, STEP / 2), sound=_except_one(_LONG, 617, STEP),
    ),
    Entry(
        number=45, name="l2 noise for a thousand numbers under Laplace", claim=ONE, left=0, right=1, runs=_FEW,
        story="One person moves 1,000 numbers by one each; the noise was made for the Euclidean length.",
        broken=_spread(round(math.sqrt(_LONG))), sound=_spread(_LONG),
    ),
    Entry(
        number=46, name="noise repeats after twelve numbers", claim=ONE, left=0, right=STEP,
        story="A buffer of noise is shorter than the answer and is read again from its beginning.",
        broken=_periodic(12), sound=_periodic(24),
    ),
    Entry(
        number=47, name="total made to fit the exact total", claim=ONE, left=0, right=1,
        story="Noisy bins are corrected so that they add up to the true number of people.",
        broken=_made_to_fit(exact=True), sound=_made_to_fit(exact=False),
    ),
    Entry(
        number=48, name="noise and its mirror image", claim=ONE, left=0, right=STEP,
        story="Antithetic noise halves the variance of a mean, and cancels in the sum of two answers.",
        broken=_antithetic(True), sound=_antithetic(False),
    ),
    Entry(
        number=49, name="each coordinate clipped, the norm forgotten", claim=GaussianLoss(1.0), left=0, right=STEP,
        story="Sixteen coordinates clipped to 1 have norm 4; the Gaussian noise was made for norm 1.",
        broken=_clipped_by_coordinate(STEP), sound=_clipped_by_coordinate(4 * STEP),
    ),
    Entry(
        number=50, name="prefix sums priced as a histogram", claim=ONE,
        left=(0,) * 20, right=(1,) + (0,) * 19,
        story="One person is in one bin, but in all twenty prefix sums behind it.",
        broken=_prefix_sums(5 * STEP), sound=_prefix_sums(20 * STEP),
    ),
    Entry(
        number=51, name="weights forgotten in the sensitivity", claim=ONE, left=0, right=1,
        story="Ten weighted counts; the noise of each grows with the root of its weight only.",
        broken=_scaled(10.0 * STEP * np.sqrt(np.arange(1, 11))), sound=_scaled(10.0 * STEP * np.arange(1, 11)),
    ),
    Entry(
        number=52, name="the exact largest value beside noisy ones", claim=ONE, left=0, right=STEP,
        story="A summary line shows the maximum, computed before the noise was added.",
        broken=_largest_gap(reuse=False), sound=_largest_gap(reuse=True),
    ),
    Entry(
        number=53, name="too little noise in a bin that changes", claim=ONE, left=0, right=STEP,
        story="A random bin is refined with less noise than was paid for, and the answer says which one.",
        broken=_rotating(STEP / 4), sound=lambda shift, runs: _rotating(40 * STEP)(shift, runs),
    ),
)  # fmt: skip

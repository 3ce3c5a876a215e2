"""Bugs in the amount of noise: a wrong scale, a sensitivity that was not thought through, a count that was forgotten."""

import math

import numpy as np

from privet import noise
from privet._numerics import Array
from privet.privacy import GaussianLoss, LaplaceLoss, PoissonSampled, PureLoss, Unit
from privet.testing.zoo.entry import ONE, STEP, SWAP, Entry, Law, clipped, laplace


def _shift(scale: float) -> Law:
    return lambda value, runs: value + laplace(scale, runs)


def _sum(scale: float) -> Law:
    return lambda rows, runs: sum(rows) + laplace(scale, runs)


def _vector(scale: float) -> Law:
    return lambda value, runs: np.asarray(value) + laplace(scale, runs, len(value))


def _normal(sigma: float) -> Law:
    return lambda value, runs: value + np.asarray(noise.rounded_gaussian(sigma=sigma, size=runs))


def _clamp_after(rows: tuple[int, ...], runs: int) -> Array:
    return np.clip(sum(rows) + laplace(STEP, runs), 0, 6 * STEP)


def _clamp_before(rows: tuple[int, ...], runs: int) -> Array:
    return np.clip(clipped(rows, STEP) + laplace(STEP, runs), 0, 6 * STEP)


def _true_mean(rows: tuple[int, ...], runs: int) -> Array:
    return (sum(rows) + laplace(STEP, runs)) * (2 // len(rows))  # halves are the grid: 2/n is whole for n = 1, 2


def _noisy_parts(rows: tuple[int, ...], runs: int) -> Array:
    return np.stack((sum(rows) + laplace(2 * STEP, runs), len(rows) + laplace(2.0, runs)), axis=1)


def _realised_batch(rows: tuple[int, ...], runs: int) -> Array:
    return (sum(rows) + np.asarray(noise.rounded_gaussian(sigma=STEP, size=runs))) * (2 // len(rows))


def _expected_batch(rows: tuple[int, ...], runs: int) -> Array:
    return sum(rows) + np.asarray(noise.rounded_gaussian(sigma=STEP, size=runs))


def _sampled(q: float) -> Law:
    def law(rows: tuple[int, ...], runs: int) -> Array:
        kept = sum((row * np.asarray(noise.bernoulli(p=q, size=runs)) for row in rows), np.zeros(runs, dtype=np.int64))
        return kept + laplace(STEP / 2, runs)

    return law


def _rows_counted(people: tuple[str, ...], runs: int) -> Array:
    return STEP * len(people) + laplace(STEP, runs)


def _people_counted(people: tuple[str, ...], runs: int) -> Array:
    return STEP * len(set(people)) + laplace(STEP, runs)


def _between(lower: int, upper: int, *, wrong: bool) -> Law:
    scale = lower * 2 if wrong else upper - lower

    def law(rows: tuple[int, ...], runs: int) -> Array:
        exact = np.full(runs, sum(rows))
        return exact + laplace(scale, runs) if scale else exact

    return law


_FINE, _MIDDLE = 2**16, 3 * 2**23  # too fine for atoms, and far from where an exponent changes
_SIX = tuple(STEP * (-2) ** power for power in range(6))


def _six(factor: float) -> Law:
    scales = factor * np.abs(_SIX)
    return lambda value, runs: np.asarray(value) + np.stack([laplace(float(s), runs) for s in scales], axis=1)


AMOUNTS = (
    Entry(
        number=1, name="Laplace scale halved", feature="threshold", claim=ONE, left=0, right=STEP,
        story="The scale is computed with the inverse of epsilon, or epsilon is doubled on the way.",
        broken=_shift(STEP / 2), sound=_shift(STEP),
    ),
    Entry(
        number=2, name="add/remove sensitivity, replace claim", feature="threshold", claim=SWAP,
        left=(_MIDDLE, -_FINE), right=(_MIDDLE, _FINE),
        story="A sum over [-1, 1] moves by 2 when a record is exchanged; the noise was made for 1.",
        broken=_sum(_FINE), sound=_sum(2 * _FINE),
    ),
    Entry(
        number=3, name="epsilon applied twice", feature="threshold", claim=PureLoss(2.0), left=0, right=STEP,
        story="The scale is divided by epsilon in the caller, and by epsilon once more in the sampler.",
        broken=_shift(STEP / 4), sound=_shift(STEP / 2),
    ),
    Entry(
        number=4, name="clamp after the noise only", feature="threshold", claim=ONE, left=(STEP,), right=(STEP, 4 * STEP),
        story="The noisy sum is clamped to the public range, single records are not.",
        broken=_clamp_after, sound=_clamp_before,
    ),
    Entry(
        number=8, name="sigma passed as a variance", feature="threshold", claim=GaussianLoss(4.0), left=0, right=STEP,
        story="A library takes the variance where the caller passes the standard deviation.",
        broken=_normal(math.sqrt(4 * STEP)), sound=_normal(4 * STEP),
    ),
    Entry(
        number=9, name="l2 sensitivity under Laplace noise", feature="projection", claim=ONE,
        left=(0,) * 8, right=(STEP,) * 8,
        story="Laplace noise needs the l1 norm; in eight dimensions the l2 norm is smaller by a factor of 2.8.",
        broken=_vector(round(STEP * math.sqrt(8))), sound=_vector(STEP * 8),
    ),
    Entry(
        number=24, name="mean divided by the true n", feature="threshold", claim=ONE, left=(0,), right=(0, 0),
        story="The noisy sum is divided by the exact number of records, so the noise shrinks with it.",
        broken=_true_mean, sound=_noisy_parts,
    ),
    Entry(
        number=26, name="sampling priced with q squared", feature="threshold",
        claim=PoissonSampled(LaplaceLoss(0.5), q=0.25), left=(), right=(STEP,),
        story="Amplification is applied in the sampler's wrapper and again in the accountant.",
        broken=_sampled(0.5), sound=_sampled(0.25),
    ),
    Entry(
        number=28, name="no bound on contributions", feature="threshold",
        claim=PureLoss(1.0, unit=Unit(person="name")), left=("ann", "bob"), right=("ann", "bob", "cy", "cy", "cy"),
        story="One person has three rows; the noise of a count hides one.",
        broken=_rows_counted, sound=_people_counted,
    ),
    Entry(
        number=29, name="no noise when the lower bound is 0", feature="atom", claim=ONE, left=(3,), right=(3, 7),
        story="The scale is computed from the lower bound; with bounds (0, 10) it is zero (diffprivlib 104, 105).",
        broken=_between(0, STEP, wrong=True), sound=_between(0, STEP, wrong=False),
    ),
    Entry(
        number=34, name="batch divided by its realised size", feature="threshold", claim=GaussianLoss(1.0),
        left=(0,), right=(0, STEP),
        story="Noise is added to the summed gradients, then the sum is divided by the true batch size (Opacus 571, 819).",
        broken=_realised_batch, sound=_expected_batch,
    ),
    Entry(
        number=37, name="composition forgotten", feature="projection", claim=ONE, left=(0,) * 6, right=_SIX,
        story="Six answers at epsilon 1/2 each are priced as two; no single one of them betrays it.",
        broken=_six(2.0), sound=_six(6.0),
    ),
)  # fmt: skip

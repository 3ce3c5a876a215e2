"""Sums and means of clipped vectors: the exact sensitivity, hostile rows, bars that cover."""

import math
from fractions import Fraction

import numpy as np
import pytest

from privet import mechanisms, privacy
from privet.errors import InvalidData, InvalidParameter, NoGuarantee
from privet.mechanisms import VectorMean, VectorSum
from privet.mechanisms.vectors import clipped_steps
from privet.noise import Grid

REPLACE = privacy.Unit("replace")


def norm_of(steps, exponent):
    """The exact squared length of a row."""
    return sum(int(k) ** 2 for k in steps) * Fraction(4) ** exponent


def hostile_rows(rng, dimension, clip):
    direction = rng.normal(size=(200, dimension))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    lengths = np.array(
        [0.0, 1e-300, 0.3, 1.0 - 1e-16, 1.0, 1.0 + 1e-16, 1.0 + 1e-9, 3.0, 1e150, 1e307 / max(clip, 1.0)]
    )
    rows = [direction[: len(lengths)] * lengths[:, None] * clip, direction * clip]
    special = np.zeros((6, dimension))
    special[0, 0], special[1, -1], special[2, 0] = np.nan, np.inf, -np.inf
    special[3] = np.nextafter(clip / math.sqrt(dimension), math.inf)
    special[4], special[5] = np.finfo(float).max, 5e-324
    return np.concatenate([*rows, special])


@pytest.mark.parametrize("clip", [1.0, 0.1, 3.7e-5, 12345.678])
@pytest.mark.parametrize("dimension", [1, 2, 7, 300])
def test_no_row_is_longer_than_the_norm(clip, dimension):
    rows = hostile_rows(np.random.default_rng(1), dimension, clip)
    exponent = math.frexp(clip)[1] - 30
    with np.errstate(over="ignore"):
        steps = clipped_steps(rows, clip, Grid(exponent))
    longest = max(norm_of(row, exponent) for row in steps)
    assert longest <= Fraction(clip) ** 2
    assert longest >= (Fraction(clip) * (1 - Fraction(dimension, 2**27))) ** 2
    assert not steps[-6:-3].any()  # not finite: nothing


def test_a_twin_that_rounds_half_up_is_caught():
    clip, exponent = 1.0, -29
    rows = hostile_rows(np.random.default_rng(1), 300, clip)
    finite = rows[np.isfinite(rows).all(axis=1) & (np.abs(rows).max(axis=1) < 1e100)]
    unit = finite / np.maximum(np.linalg.norm(finite, axis=1, keepdims=True), 1.0)
    twin = np.floor(np.ldexp(unit, -exponent) + 0.5).astype(np.int64)
    assert max(norm_of(row, exponent) for row in twin) > Fraction(clip) ** 2


def test_each_row_is_read_by_itself():
    rng = np.random.default_rng(2)
    rows = hostile_rows(rng, 5, 1.0)
    alone = np.concatenate([clipped_steps(row[None], 1.0, Grid(-29)) for row in rows])
    assert np.array_equal(alone, clipped_steps(rows, 1.0, Grid(-29)))


@pytest.mark.parametrize(
    ("made", "reach"),
    [
        (VectorSum.for_budget(rho=0.5, clip_norm=2.0, dimension=3), 2.0),
        (VectorSum.for_budget(rho=0.5, clip_norm=2.0, dimension=3, unit=REPLACE), 4.0),
        (VectorSum.for_budget(rho=0.5, clip_norm=2.0, dimension=3, max_rows=5), 10.0),
        (VectorSum.for_budget(rho=0.5, clip_norm=2.0, dimension=3, unit=privacy.Unit(group_size=3)), 6.0),
        (VectorMean.for_budget(rho=0.5, clip_norm=2.0, dimension=3), 2.0 * math.sqrt(2.0)),
        (VectorMean.for_budget(rho=0.5, clip_norm=2.0, dimension=3, n=10, unit=REPLACE), 4.0),
    ],
)
def test_noise_follows_the_sensitivity(made, reach):
    assert made.noise.scale == pytest.approx(reach, rel=1e-9)  # rho = 1/2 is one standard deviation
    assert made.noise.scale >= reach * (1.0 - 1e-15)


def test_sum_and_mean_are_right():
    rows = np.array([[3.0, 4.0], [0.3, 0.0], [np.nan, 1.0]] * 500)
    total = VectorSum.for_budget(mu=1e4, clip_norm=1.0, dimension=2).release(rows).value
    assert total == pytest.approx([0.6 * 500 + 150, 0.8 * 500], abs=0.01)
    mean = VectorMean.for_budget(mu=1e4, clip_norm=1.0, dimension=2).release(rows).value
    assert mean["mean"] == pytest.approx([0.3, 0.8 / 3], abs=1e-4)
    assert mean["count"] == pytest.approx(1500, abs=0.01)


@pytest.mark.parametrize(
    "made",
    [
        VectorMean.for_budget(epsilon=1.0, delta=1e-6, clip_norm=1.0, dimension=4),
        VectorMean.for_budget(epsilon=1.0, delta=1e-6, clip_norm=1.0, dimension=4, n=400, unit=REPLACE),
        VectorSum.for_budget(epsilon=1.0, delta=1e-6, clip_norm=1.0, dimension=4),
    ],
    ids=["mean", "mean-public-n", "sum"],
)
def test_bars_cover(made):
    rows = np.random.default_rng(3).normal(size=(400, 4)) * 0.2
    truth = clipped_steps(rows, 1.0, Grid(-29)).sum(axis=0) * 2.0**-29
    covered = 0
    for _ in range(400):
        release = made.release(rows)
        value = release.value["mean"] * 400 if isinstance(release.value, dict) else release.value
        radius = release.error.radius * (400 if isinstance(release.value, dict) else 1)
        covered += bool(np.all(np.abs(value - truth) <= radius * (1.0 + 1e-9)))
    assert covered >= 355  # 95% of 400 is 380; fewer than 355 happens once in 10^7


@pytest.mark.parametrize(
    "rows",
    [[[1.0, 2.0]], np.zeros(2), np.zeros((3, 3)), np.array([["a", "b"]]), np.zeros((1, 2), dtype=object), None],
)
def test_wrong_input_is_refused_by_type_and_shape(rows):
    with pytest.raises(InvalidData, match="records must"):
        VectorSum.for_budget(rho=0.5, clip_norm=1.0, dimension=2).release(rows)


def test_wrong_parameters():
    with pytest.raises(NoGuarantee):
        VectorSum.for_budget(epsilon=1.0, clip_norm=1.0, dimension=2)
    with pytest.raises(InvalidParameter, match="n="):
        VectorMean.for_budget(rho=0.5, clip_norm=1.0, dimension=2, unit=REPLACE)
    with pytest.raises(InvalidParameter, match="private"):
        VectorMean.for_budget(rho=0.5, clip_norm=1.0, dimension=2, n=5)
    small = mechanisms.Gaussian.for_budget(rho=0.5, sensitivity=1.0)
    with pytest.raises(InvalidParameter, match="smaller"):
        VectorSum(clip_norm=2.0, dimension=2, noise=small)
    with pytest.raises(InvalidParameter, match="smaller"):
        VectorMean(clip_norm=1.0, dimension=2, noise=small)
    with pytest.raises(InvalidData, match="public n"):
        VectorMean.for_budget(rho=0.5, clip_norm=1.0, dimension=1, n=2, unit=REPLACE).release(np.zeros((3, 1)))

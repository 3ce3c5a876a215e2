"""The laws of tightness over the region where training lives, and beside it."""

import random

import pytest

from privet import accounting, privacy, testing
from privet.testing.laws.tightness import region, sampled_gaussian
from tests.effort import part

GRID = region()
SAMPLE = random.Random(8).sample(GRID, 16)
HARD = [  # heavy tails: tiny rates with little noise, tiny deltas, unlike parts
    (sampled_gaussian(1e-6, 0.6, 100_000), 1e-9),
    (sampled_gaussian(1e-6, 0.4, 10), 1e-6),
    (sampled_gaussian(1e-5, 0.8, 99_999), 1e-10),
    (sampled_gaussian(1e-5, 1.0, 300_000), 1e-10),
    (sampled_gaussian(2.03e-6, 0.511, 4780), 7e-32),
    (sampled_gaussian(6.2e-6, 0.539, 13_504), 5e-4),
    (sampled_gaussian(3.3e-4, 2.99, 139), 3e-44),
    (
        privacy.Composed(
            (
                sampled_gaussian(0.0568, 5.5, 1996),
                sampled_gaussian(5e-5, 16.7, 14_000_000),
                sampled_gaussian(0.0063, 17.7, 2197),
            )
        ),
        6e-11,
    ),
]


@pytest.mark.parametrize(("q", "z", "steps", "delta"), SAMPLE)
def test_intervals_are_narrow(q, z, steps, delta):
    testing.check_narrow(sampled_gaussian(q, z, steps), delta)


@pytest.mark.parametrize(("q", "z", "steps", "delta"), SAMPLE[::4])
def test_delta_and_epsilon_agree(q, z, steps, delta):
    testing.check_inverse(sampled_gaussian(q, z, steps), delta)


def check_dearer_settings(q, z, steps, delta):
    testing.check_monotone([sampled_gaussian(q, z, n) for n in (steps // 2, steps, 2 * steps)], delta)
    testing.check_monotone([sampled_gaussian(rate, z, steps) for rate in (0.7 * q, q, 1.4 * q)], delta)
    testing.check_monotone([sampled_gaussian(q, noise, steps) for noise in (1.05 * z, z, 0.95 * z)], delta)


@pytest.mark.parametrize(("q", "z", "steps", "delta"), SAMPLE[1::8])
def test_larger_settings_cost_more(q, z, steps, delta):
    check_dearer_settings(q, z, steps, delta)


@pytest.mark.parametrize(("loss", "delta"), HARD)
def test_heavy_tails_are_narrow(loss, delta):
    testing.check_narrow(loss, delta)


def test_a_price_whose_total_variation_is_below_delta_costs_nothing():
    bound = accounting.epsilon(sampled_gaussian(7.7e-6, 0.565, 27), delta=1.1e-3)
    assert bound.lower == bound.upper == 0.0


@pytest.mark.slow
@pytest.mark.parametrize(("q", "z", "steps", "delta"), part(GRID, 140))
def test_the_whole_region(q, z, steps, delta):
    loss = sampled_gaussian(q, z, steps)
    testing.check_narrow(loss, delta)
    testing.check_inverse(loss, delta)


@pytest.mark.slow
@pytest.mark.parametrize(("q", "z", "steps", "delta"), part(GRID, 20))
def test_the_whole_region_is_monotone(q, z, steps, delta):
    check_dearer_settings(q, z, steps, delta)


def test_calibration_wastes_nothing():
    z = accounting.calibrate(lambda z: sampled_gaussian(1e-4, z, 10_000), epsilon=0.1, delta=1e-8)
    assert 0.855 < z < 0.866
    assert 0.99 < accounting.epsilon(sampled_gaussian(1e-4, z, 10_000), delta=1e-8).upper / 0.1 <= 1.0

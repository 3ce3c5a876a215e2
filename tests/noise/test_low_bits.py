"""Large scales draw high and low bits apart: the low ones must be there, and follow the density within a cell."""

import math

import numpy as np
import pytest

from privet import noise
from tests.noise.helpers import LAWS

LARGE = [2.0**33, 2.0**45]
PLAIN = [name for name in LAWS if not name.startswith("cks")]


@pytest.mark.parametrize("scale", LARGE)
@pytest.mark.parametrize("name", PLAIN)
def test_every_low_bit_is_random(name, scale):
    sampler, _, parameter = LAWS[name]
    single = np.array([sampler(**{parameter: scale}) for _ in range(64)])
    many = sampler(**{parameter: scale}, size=64)
    bits = np.arange(math.frexp(scale)[1] - 8)
    for draws in (single, many):
        ones = (np.abs(draws)[:, None] >> bits & 1).sum(axis=0)
        assert ones.min() > 4  # a fair bit falls short once in 10^13
        assert ones.max() < 60


@pytest.mark.parametrize("scale", [2.0**21 + 0.5, 2.0**33, 2.0**45])
@pytest.mark.parametrize("name", ["geometric", "discrete_laplace", "rounded_laplace"])
def test_low_part_follows_the_density(name, scale):
    """The remainder R of |X| by M has Pr[R = r] proportional to exp(-r / scale): its mean lies below (M - 1) / 2."""
    sampler, _, parameter = LAWS[name]
    n, cell = 1_000_000, 2 ** (math.frexp(scale)[1] - 6)
    rest = np.abs(sampler(**{parameter: scale}, size=n)) % cell / cell
    slope = cell / scale
    expected = 1.0 / slope - 1.0 / math.expm1(slope)
    noise_of_mean = math.sqrt(1.0 / 12.0 / n)
    assert abs(rest.mean() - expected) < 5.5 * noise_of_mean
    assert abs(0.5 - expected) > 8.0 * noise_of_mean  # so that uniform low bits would be seen


def test_low_part_of_single_draws():
    scale, n, cell = 2.0**33, 20_000, 2**33
    rest = np.array([noise.geometric(scale=scale) for _ in range(n)]) % cell / cell
    slope = cell / scale
    assert abs(rest.mean() - (1.0 / slope - 1.0 / math.expm1(slope))) < 5.5 * math.sqrt(1.0 / 12.0 / n)

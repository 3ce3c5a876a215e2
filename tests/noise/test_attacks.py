"""Known attacks and broken samplers: each succeeds where it should, and fails on the room's own noise."""

import math

import numpy as np
import pytest
from scipy import stats

from privet import noise, testing
from privet.errors import InvalidData
from privet.noise import Grid
from tests.noise.helpers import ALPHA

N = 20_000
GRID = Grid(-20)


def numpy_laplace(value):
    return value + np.random.default_rng().laplace(size=N)


def four_sums(value):
    """Sums of four float uniforms, as a defence against the precision attack; the last bits still follow the value."""
    rng = np.random.default_rng()
    a, b, c, d = 1.0 - rng.random((4, N))
    return value + (np.log(a) * np.cos(np.pi * b) + np.log(c) * np.cos(np.pi * d))


def on_the_grid(value):
    return GRID.from_grid(noise.rounded_laplace(scale=2**20, center=GRID.to_grid(value), size=N))


def lowest_bit(x):
    """The exponent of the lowest set bit; 0.0 has none and counts as a very high one."""
    mantissa, exponent = np.frexp(x)
    bits = np.abs(mantissa * 2.0**53).astype(np.int64)
    return np.where(bits == 0, 10_000, exponent - 53 + np.log2((bits & -bits) + (bits == 0)).astype(int))


EVENTS = {
    "lowest set bit": lambda x, c: lowest_bit(x) < c,
    "exponent": lambda x, c: np.frexp(x)[1] < c,
    "minus zero": lambda x, c: (x == 0.0) & np.signbit(x),
    "denormal": lambda x, c: (x != 0.0) & (np.abs(x) < 2.0**-1022),
}


def epsilon_seen(release):
    """A lower bound on epsilon for the values 0 and 1 from the events above, wrong with probability below ALPHA."""
    zero, one = release(0.0), release(1.0)
    cuts = range(-80, 3)
    best, level = 0.0, ALPHA / (4 * len(EVENTS) * len(cuts))
    for event in EVENTS.values():
        for cut in cuts:
            hits = [int(event(x, cut).sum()) for x in (zero, one)]
            for k, m in (hits, hits[::-1]):
                low = stats.beta.ppf(level, k, N - k + 1) if k else 0.0
                high = stats.beta.ppf(1 - level, m + 1, N - m) if m < N else 1.0
                best = max(best, math.log(low / high) if low > 0 else 0.0)
    return best


def test_the_precision_attack_works_on_float_laplace():
    assert epsilon_seen(numpy_laplace) > 5.0  # the claim is 1


def test_the_precision_attack_works_on_sums_of_floats():
    assert epsilon_seen(four_sums) > 3.0  # the claim is 1


def test_the_precision_attack_fails_on_the_grid():
    assert epsilon_seen(on_the_grid) <= 1.0
    release = on_the_grid(1.0)
    assert lowest_bit(release).min() >= GRID.exponent
    assert not np.any((release == 0) & np.signbit(release))


def test_the_lowest_bit_is_found():
    assert lowest_bit(np.array([1.0, 0.75, 3.0, 2.0**-60, 0.0])).tolist() == [0, -2, 0, -60, 10_000]


# --- broken twins of samplers, all caught by the same G-test ----------------------------------------------------


def count_zero_twice(n):
    magnitude = noise.geometric(scale=3, size=n)
    return np.where(noise.bernoulli(p=0.5, size=n), magnitude, -magnitude)


def cut_the_tail(n):
    x = noise.discrete_laplace(scale=3, size=n)
    return np.clip(x, -18, 18)


def forget_the_sign(n):
    return noise.geometric(scale=3, size=n)


def truncate_toward_zero(n):
    return np.trunc(np.random.default_rng().laplace(scale=3, size=n)).astype(np.int64)


def round_half_a_step_off(n):
    return np.floor(np.random.default_rng().laplace(scale=3, size=n)).astype(np.int64)


@pytest.mark.parametrize(
    "twin", [count_zero_twice, cut_the_tail, forget_the_sign, truncate_toward_zero, round_half_a_step_off]
)
def test_broken_laplace_twins_are_caught(twin):
    law = lambda k: testing.pmf_discrete_laplace(k, scale=3.0)  # noqa: E731
    testing.check_samples(noise.discrete_laplace(scale=3, size=200_000), law, alpha=ALPHA)
    with pytest.raises(AssertionError, match="do not follow"):
        testing.check_samples(twin(200_000), law, alpha=ALPHA)


def test_rounded_numpy_normal_is_not_the_discrete_gaussian():
    law = lambda k: testing.pmf_discrete_gaussian(k, sigma=0.8)  # noqa: E731
    rounded = np.rint(np.random.default_rng().normal(scale=0.8, size=200_000)).astype(np.int64)
    with pytest.raises(AssertionError, match="do not follow"):
        testing.check_samples(rounded, law, alpha=ALPHA)


def test_a_seeded_source_cannot_pass_for_a_secure_one():
    """Statistics cannot tell them apart; the flag can, and its class cannot be changed on the way."""
    source = noise.Seeded(1)
    testing.check_samples(
        noise.geometric(scale=3, size=100_000, source=source),
        lambda k: testing.pmf_geometric(k, scale=3.0),
        alpha=ALPHA,
    )
    assert source.insecure
    assert not isinstance(source, noise.Secure)


# --- the test itself ------------------------------------------------------------------------------------------------


def test_the_g_test_is_calibrated():
    """Under the law p-values are at least uniform (three looks are paid for)."""
    p = [
        testing.g_test(noise.geometric(scale=5, size=2_000), lambda k: testing.pmf_geometric(k, scale=5.0)).p_value
        for _ in range(400)
    ]
    assert np.mean(np.array(p) < 0.05) < 0.11  # five deviations above
    assert np.mean(np.array(p) < 0.9) > 0.3


def test_an_impossible_value_refutes():
    x = noise.geometric(scale=5, size=10_000)
    x[0] = -1
    assert testing.g_test(x, lambda k: testing.pmf_geometric(k, scale=5.0)).p_value < ALPHA


def test_one_stray_value_far_out_refutes():
    x = noise.discrete_gaussian(sigma=2, size=10_000)
    x[0] = 40
    assert testing.g_test(x, lambda k: testing.pmf_discrete_gaussian(k, sigma=2.0)).p_value < ALPHA


@pytest.mark.parametrize("samples", [[1.0] * 100, [1] * 10, ["a"] * 100])
def test_bad_samples_are_refused(samples):
    with pytest.raises(InvalidData, match="samples"):
        testing.g_test(samples, lambda k: testing.pmf_geometric(k, scale=5.0))

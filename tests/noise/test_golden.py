"""Published and recomputed figures: probabilities, moments, tails, and what the laws cost."""

import math
from fractions import Fraction

import numpy as np
import pytest

from privet import testing
from privet.noise.discrete_gaussian import DiscreteGaussianTails
from privet.noise.discrete_laplace import LaplaceTails
from privet.noise.geometric import GeometricTails

K = np.arange(-6000, 6001)


@pytest.mark.parametrize(
    ("t", "p0", "variance", "mean"),
    [
        (1, 0.46211715726000976, 1.8413471884155846, 0.85091812823932155),
        (2, 0.24491866240370913, 7.8353961780655275, 1.9190347513349437),
        (10, 0.049958374957879972, 199.83341663360945, 9.9833527572961096),
        (100, 0.0049999583337499958, 19999.833334166663, 99.998333352777573),
    ],
)
def test_discrete_laplace(t, p0, variance, mean):
    p = testing.pmf_discrete_laplace(K, scale=t)
    assert p[6000] == pytest.approx(p0, rel=1e-14)
    assert (p * K**2).sum() == pytest.approx(variance, rel=1e-12)
    assert (p * abs(K)).sum() == pytest.approx(mean, rel=1e-12)
    lo, hi = LaplaceTails(Fraction(t)).upper(1, 256)
    assert hi - lo <= 2
    assert 1 - 2 * lo / 2**256 == pytest.approx(p0, rel=1e-13)


@pytest.mark.parametrize(
    ("sigma", "p0", "variance"),
    [
        (0.5, 0.7865707070419479, 0.21501267508813849),
        (1.0, 0.39894227826686171, 0.99999978876772808),
        (2.0, 0.19947114020071634, 4.0),
        (10.0, 0.039894228040143268, 100.0),
    ],
)
def test_discrete_gaussian(sigma, p0, variance):
    p = testing.pmf_discrete_gaussian(K, sigma=sigma)
    assert p[6000] == pytest.approx(p0, rel=1e-14)
    assert (p * K**2).sum() == pytest.approx(variance, rel=1e-12)
    lo, hi = DiscreteGaussianTails(Fraction(sigma)).upper(1, 256)
    assert hi - lo <= 2
    assert 1 - 2 * lo / 2**256 == pytest.approx(p0, rel=1e-13)


@pytest.mark.parametrize(
    ("sigma", "mass"), [(1, 2.0561086e-18), (2, 8.2700489e-17), (10, 8.0565292e-16), (100, 1.194343e-15)]
)
def test_discrete_gaussian_beyond_eight_sigma(sigma, mass):
    lo, hi = DiscreteGaussianTails(Fraction(sigma)).upper(8 * sigma + 1, 192)
    assert 2 * lo / 2**192 == pytest.approx(mass, rel=1e-7)
    assert 2 * hi / 2**192 == pytest.approx(mass, rel=1e-7)


def test_geometric():
    p = testing.pmf_geometric(K, scale=10)
    assert p[6000] == pytest.approx(0.0951625820, abs=1e-10)
    assert p[6005] == pytest.approx(0.0577190236, abs=1e-10)
    assert (p * K).sum() == pytest.approx(9.50833194, abs=1e-8)


def test_geometric_bits_are_independent():
    """Bit i of a geometric number is Bernoulli(1 / (1 + exp(2^i / t))): what the split into high and low bits rests on."""
    t = 10.0
    p = testing.pmf_geometric(np.arange(2**12), scale=t)
    bits = (np.arange(2**12)[:, None] >> np.arange(12)) & 1
    one = 1.0 / (1.0 + np.exp(2.0 ** np.arange(12) / t))
    assert np.allclose(np.prod(np.where(bits, one, 1.0 - one), axis=1), p, rtol=1e-12, atol=0)


def delta(pmf, shift, epsilon):
    """Hockey-stick divergence of an integer law from its shift."""
    return np.maximum(pmf(K) - math.exp(epsilon) * pmf(K - shift), 0.0).sum()


def continuous(sigma, epsilon, shift):
    from privet._numerics import ndtr

    mu = shift / sigma
    return float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu))


CASES = [
    (1, 1, 1, 0.141351339406, 0.126936737507),
    (2, 1, 1, 0.00724877684595, 0.00682959498311),
    (4, 1, 1, 3.05545464927e-6, 2.92427210486e-6),
    (10, 0.5, 1, 6.93437034752e-9, 6.85658245584e-9),
    (10, 0.5, 10, 0.238089145338, 0.238421708135),
]


@pytest.mark.parametrize(("sigma", "epsilon", "shift", "discrete", "plain"), CASES)
def test_delta_of_discrete_and_rounded_gaussian(sigma, epsilon, shift, discrete, plain):
    assert continuous(sigma, epsilon, shift) == pytest.approx(plain, rel=1e-9)
    found = delta(lambda k: testing.pmf_discrete_gaussian(k, sigma=sigma), shift, epsilon)
    assert found == pytest.approx(discrete, rel=1e-9)
    rounded = delta(lambda k: testing.pmf_rounded_gaussian(k, sigma=sigma), shift, epsilon)
    assert rounded <= plain * (1 + 1e-9)
    if ((sigma**2 * epsilon / shift + shift / 2) * 2) % 2 == 1:  # the threshold falls between two cells
        assert rounded == pytest.approx(plain, rel=1e-9)


def test_discrete_gaussian_relative_to_the_continuous_one():
    for m, excess in ((1, 0.114), (2, -0.058), (4, -0.014), (16, -0.0009), (64, -5.6e-5), (256, -3.5e-6)):
        ratio = delta(lambda k, m=m: testing.pmf_discrete_gaussian(k, sigma=m), m, 1.0) / continuous(m, 1.0, m)
        assert ratio - 1.0 == pytest.approx(excess, rel=0.07)


def test_rounding_never_costs_for_any_centre():
    rng = np.random.default_rng(5)
    for sigma, epsilon, shift, center in rng.uniform([0.3, 0.1, 0.1, -0.5], [5.0, 2.0, 4.0, 0.5], (150, 4)):
        p = testing.pmf_rounded_gaussian(K[5900:6101], sigma=sigma, center=center)
        q = testing.pmf_rounded_gaussian(K[5900:6101], sigma=sigma, center=center + shift)
        spent = np.maximum(p - math.exp(epsilon) * q, 0.0).sum()
        assert spent <= continuous(sigma, epsilon, shift) + 1e-13


def test_tables_of_tails_agree_with_single_tails():
    for law in (GeometricTails(Fraction(7, 3)), LaplaceTails(Fraction(7, 3)), DiscreteGaussianTails(Fraction(7, 3))):
        column = law.column(64)
        for m in (1, 2, 5, len(column)):
            single, listed = law.upper(m, 64), column[m - 1]
            assert max(single[0], listed[0]) <= min(single[1], listed[1])
        assert column[-1][0] == 0

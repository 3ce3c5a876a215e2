"""Heads among n coins: enclosures against exact sums, draws against scipy's law, twins that are noticed."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy import stats

from privet import noise, testing
from privet.errors import InvalidParameter
from privet.noise.binomial import BinomialTails


@pytest.mark.parametrize("n", [1, 2, 3, 8, 16])
@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(1, 3), Fraction(2, 7), Fraction(1, 2**40)])
def test_enclosures_hold_the_exact_law(n, p):
    below = Fraction(0)
    for k in range(n + 1):
        below += comb(n, k) * p**k * (1 - p) ** (n - k)
        for bits in (4, 20, 64, 130):
            low, high = BinomialTails(n, p).cdf(k, bits)
            assert low <= below * 2**bits <= high
            assert high - low <= 2
    assert BinomialTails(n, p).cdf(-1, 64) == (0, 0)
    assert BinomialTails(n, p).cdf(n, 64) == (2**64, 2**64)


@pytest.mark.parametrize("k", [120_000, 125_829, 131_000])
def test_enclosures_of_many_coins_agree_with_scipy(k):
    low, high = BinomialTails(2**20, Fraction(12, 100)).cdf(k, 64)
    assert high - low <= 2
    assert low / 2**64 == pytest.approx(stats.binom.cdf(k, 2**20, 0.12), rel=1e-9, abs=1e-18)
    assert BinomialTails(2**20, Fraction(1, 2)).cdf(0, 64) == (0, 1)  # far out, and still possible
    assert BinomialTails(2**20, Fraction(1, 2)).cdf(2**20 - 1, 64) == (2**64 - 1, 2**64)


@pytest.mark.parametrize(
    ("n", "p"), [(1, 0.3), (7, 0.5), (200, 0.5), (20_000, 0.5), (100, 0.9), (1000, 0.03), (2**21 + 5, 0.25)]
)
def test_draws_follow_the_law(n, p):
    drawn = noise.binomial(n=np.full(30_000, n), p=p, source=noise.Seeded(4))
    testing.check_samples(drawn, lambda k: stats.binom.pmf(k, n, p))
    with pytest.raises(AssertionError, match="do not follow the law"):
        testing.check_samples(drawn, lambda k: stats.binom.pmf(k, n, p * 0.94))
    single = np.array([noise.binomial(n=n, p=p, source=noise.Seeded(seed)) for seed in range(1500)])
    testing.check_samples(single, lambda k: stats.binom.pmf(k, n, p))


def test_every_n_has_its_own_draw():
    many = np.array([[0, 1], [1000, 10**7]])
    drawn = noise.binomial(n=many, p=Fraction(1, 4), source=noise.Seeded(2))
    assert drawn.shape == many.shape
    assert drawn[0, 0] == 0
    assert abs(drawn[1, 1] - 2.5e6) < 6 * 1400
    assert noise.binomial(n=5, p=0) == 0
    assert noise.binomial(n=5, p=1) == 5
    assert type(noise.binomial(n=5, p=0.5)) is int


@pytest.mark.parametrize("n", [-1, 0.5, 2**51, [1.5]])
def test_what_is_no_number_of_coins_is_refused(n):
    with pytest.raises(InvalidParameter):
        noise.binomial(n=n, p=0.5)

"""Numbers of tries (Poisson, logarithmic, negative binomial) against their exact laws, computed elsewhere."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import special, stats

from privet import noise, testing
from privet.errors import InvalidParameter
from privet.noise.families.ratios import tails_of
from privet.noise.negative_binomial import NegativeBinomialTails
from privet.noise.poisson import PoissonTails

N = 60_000


def negative_binomial(k, eta, gamma):
    """scipy's law, without 0; its limit at eta = 0 is scipy's logarithmic law."""
    if eta == 0:
        return np.where(k >= 1, stats.logser.pmf(np.maximum(k, 1), 1.0 - gamma), 0.0)
    n = np.maximum(k, 1).astype(float)
    logs = special.gammaln(n + eta) - special.gammaln(n + 1.0) - special.gammaln(1.0 + eta) + np.log(abs(eta))
    return np.where(k >= 1, np.exp(logs + n * np.log1p(-gamma)) / abs(gamma**-eta - 1.0), 0.0)


@pytest.mark.parametrize(("eta", "gamma"), [(0, 0.02), (0, 0.5), (1, 0.1), (0.5, 0.25), (-0.5, 0.1), (3, 0.2)])
def test_negative_binomial(eta, gamma):
    source = noise.Seeded(11)
    drawn = noise.truncated_negative_binomial(eta=eta, gamma=gamma, size=N, source=source)

    def law(k):
        return negative_binomial(k, eta, gamma)

    assert drawn.min() == 1
    testing.check_samples(drawn, law)
    single = [noise.truncated_negative_binomial(eta=eta, gamma=gamma, source=source) for _ in range(2_000)]
    assert {type(value) for value in single} == {int}
    testing.check_samples(np.array(single), law)
    for twin in ((eta + 0.25, gamma), (eta, gamma * 1.25)):  # slightly another law is noticed
        with pytest.raises(AssertionError, match="do not follow the law"):
            testing.check_samples(drawn, lambda k, twin=twin: negative_binomial(k, *twin))


def test_the_logarithmic_law_is_the_limit_and_eta_1_the_geometric_one():
    drawn = noise.logarithmic(gamma=0.1, size=N, source=noise.Seeded(12))
    testing.check_samples(drawn, lambda k: negative_binomial(k, 0, 0.1))
    with pytest.raises(AssertionError, match="do not follow the law"):
        testing.check_samples(drawn - 1, lambda k: negative_binomial(k, 0, 0.1))  # counted from 0
    geometric = NegativeBinomialTails(Fraction(1), Fraction(1, 4))
    for m in (1, 2, 5, 20):
        low, high = geometric.upper(m, 80)
        assert low <= Fraction(3, 4) ** m * 2**80 <= high
        assert high - low <= 2


@pytest.mark.parametrize("mean", [0.3, 3.0, 10.0, 70.0])
def test_poisson(mean):
    source = noise.Seeded(13)
    few = 800 if mean < 32 else 400  # a law that is a tenth off lies 17 standard errors away
    drawn = noise.poisson(mean=mean, size=N if mean < 32 else few, source=source)
    testing.check_samples(drawn, lambda k: stats.poisson.pmf(k, mean))
    single = np.array([noise.poisson(mean=mean, source=source) for _ in range(few)])
    testing.check_samples(single, lambda k: stats.poisson.pmf(k, mean))
    with pytest.raises(AssertionError, match="do not follow the law"):
        testing.check_samples(drawn, lambda k: stats.poisson.pmf(k, mean * 1.1))


def test_tails_enclose_the_truth_and_close_in():
    """Against mpmath, down to tails of 1e-30; a law whose sum is cut off is noticed."""
    import mpmath

    mpmath.mp.prec = 300
    law = PoissonTails(Fraction(5, 2))
    for bits in (16, 64, 128):
        for m in (1, 3, 20, 30):
            exact = (1 - mpmath.gammainc(m, 2.5, regularized=True)) * mpmath.mpf(2) ** bits
            low, high = law.upper(m, bits)
            assert low <= exact <= high
            assert high - low <= 2
    total = sum(mpmath.exp(-2.5) * mpmath.mpf(2.5) ** k / mpmath.factorial(k) for k in range(8))  # the twin stops at 7
    low, high = law.upper(3, 64)
    cut = sum(mpmath.exp(-2.5) * mpmath.mpf(2.5) ** k / mpmath.factorial(k) for k in range(3, 8)) / total
    assert not low <= cut * mpmath.mpf(2) ** 64 <= high


def test_columns_end_below_a_unit_and_fall():
    column = tails_of(NegativeBinomialTails(Fraction(0), Fraction(1, 50)), 64)
    assert column[-1][0] == 0
    assert all(a[0] >= b[0] for a, b in itertools.pairwise(column))


@pytest.mark.parametrize(
    "call",
    [
        lambda: noise.poisson(mean=0.0),
        lambda: noise.poisson(mean=1e9),
        lambda: noise.poisson(mean=float("nan")),
        lambda: noise.logarithmic(gamma=0.0),
        lambda: noise.logarithmic(gamma=1e-9),
        lambda: noise.logarithmic(gamma=1.5),
        lambda: noise.truncated_negative_binomial(eta=-1.0, gamma=0.5),
        lambda: noise.truncated_negative_binomial(eta=100.0, gamma=0.5),
    ],
)
def test_parameters(call):
    with pytest.raises(InvalidParameter):
        call()

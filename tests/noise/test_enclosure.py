"""Enclosures against 700-bit arithmetic, and the lazily refined uniform on top of them."""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from privet import noise
from privet.noise.families.enclosure import cauchy_above, exp_neg, neg_log, normal_above, rational
from privet.noise.families.refined import Refined, invert, least
from tests.noise.helpers import Scripted, module

BITS = (3, 6, 8, 64, 128, 192, 256)


def real(x: Fraction):
    return mp.mpf(x.numerator) / x.denominator


FUNCTIONS = {
    "exp_neg": (exp_neg, lambda x: mp.exp(-real(x))),
    "normal_above": (normal_above, lambda x: mp.erfc(real(x) / mp.sqrt(2)) / 2),
    "cauchy_above": (cauchy_above, lambda x: mp.mpf(1) / 2 - mp.atan(real(x)) / mp.pi),
    "rational": (rational, real),
}


def arguments():
    rng = np.random.default_rng(11)
    sizes = rng.integers(1, 60, (400, 2))
    for top, bottom in sizes.tolist():
        yield Fraction(int(rng.integers(0, 2**top)), int(rng.integers(1, 2**bottom)))
    yield from (Fraction(0), Fraction(1), Fraction(1, 2**200), Fraction(3**80, 2**120), Fraction(0.1), Fraction(10**30))


def assert_encloses(function, truth, loosest=2):
    with mp.workprec(700):
        for number, x in enumerate(arguments()):
            bits = BITS[number % len(BITS)]
            lo, hi = function(x.numerator, x.denominator, bits)
            if x > 10**6 and function is not cauchy_above and function is not rational:
                assert (lo, hi) == (0, 1)
                continue
            assert lo <= mp.ldexp(truth(x), bits) <= hi, (x, bits)
            assert hi - lo <= loosest


@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_enclosures_hold_and_are_tight(name):
    assert_encloses(*FUNCTIONS[name])


@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_an_enclosure_off_by_one_unit_is_seen(name):
    function, truth = FUNCTIONS[name]
    with pytest.raises(AssertionError):
        assert_encloses(lambda n, d, bits: tuple(end + 2 for end in function(n, d, bits)), truth)


def test_logarithms():
    rng = np.random.default_rng(3)
    with mp.workprec(700):
        for length in (1, 6, 64, 128, 192):
            top = 1 << length
            some = [int(rng.integers(1, 2**30)) % top + 1 for _ in range(20)]
            for prefix in {1, top, top - 1, top // 2, *some} - {0}:
                for bits in (8, 128):
                    lo, hi = neg_log(prefix, length, bits)
                    assert lo <= mp.ldexp(-mp.log(mp.mpf(prefix) / top), bits) <= hi
                    assert hi - lo <= 2


def test_tiny_and_huge_arguments_are_quick():
    assert exp_neg(10**400, 1, 64) == (0, 1)
    assert normal_above(10**400, 1, 64) == (0, 1)
    lo, hi = exp_neg(1, 10**400, 64)
    assert (lo, hi) == (2**64 - 1, 2**64)


def test_refined_never_contradicts_itself():
    """All answers belong to one number: with U fixed by the later bits, every comparison agrees with it."""
    u = Refined(Scripted([2**63, 12345]))
    assert not u.below(lambda bits: rational(1, 2, bits))  # one word: U >= 1/2, exactly
    point = Fraction(2**63, 2**64) + Fraction(12345, 2**128)
    assert not u.below(lambda bits: rational(point.numerator, point.denominator, bits))
    assert u.below(lambda bits: rational(point.numerator + 1, point.denominator, bits))
    assert u.length == 128


def test_bernoulli_by_refinement_has_the_right_frequency():
    stream = noise.Secure().stream()
    heads = sum(Refined(stream, stream.bits(2), 2).below(lambda bits: rational(1, 3, bits)) for _ in range(30_000))
    assert abs(heads - 10_000) < 5.5 * (30_000 * 2 / 9) ** 0.5  # 4e-8


@pytest.mark.parametrize("guess", [-(10**9), -1, 0, 7, 8, 9, 10**9])
def test_least_finds_the_first(guess):
    assert least(lambda k: k >= 8, guess) == 8


def test_invert_reaches_into_both_tails():
    """U = 2^-200 and U = 1 - 2^-200 in the Gaussian law: far beyond what 64 bits can tell."""
    law = module("rounded_gaussian").NormalCells(Fraction(1))
    for word, sign in ((0, -1), (2**64 - 1, 1)):
        u = Refined(Scripted([word] * 4), word, 64)
        assert sign * invert(u, law.cdf, 0) >= 16

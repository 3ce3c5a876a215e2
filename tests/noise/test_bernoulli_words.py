"""Coins in words: exact laws, independence of neighbours, and twins that are noticed."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from privet import noise, testing
from privet.errors import InvalidParameter
from privet.noise.bernoulli_words import words_of


class Scripted:
    """A stream whose words are told."""

    def __init__(self, words):
        self.left = list(words)

    def words(self, count):
        return np.array([self.left.pop(0) for _ in range(count)], dtype=np.uint64)


@pytest.mark.parametrize("sixteenths", [8, 4, 6, 5, 15, 1])
def test_every_string_of_four_digits_is_compared_with_p(sixteenths):
    """Sixteen coins of one word hold all numbers of four digits: exactly 16 p of them are below p."""
    p = Fraction(sixteenths, 16)
    digits = [sum(1 << i for i in range(16) if i >> (3 - d) & 1) for d in range(4)]
    (found,) = words_of(Scripted([*digits, 2**64 - 1]), 1, *p.as_integer_ratio())
    heads = [i for i in range(16) if int(found) >> i & 1]
    assert heads == list(range(sixteenths))


@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(1, 3), Fraction(119, 1000), Fraction(1, 2**40), 0.73])
def test_heads_of_words_are_binomial(p):
    words = noise.bernoulli_words(p=p, size=20_000, source=noise.Seeded(7))
    heads = np.bitwise_count(words).astype(np.int64)
    testing.check_samples(heads, lambda k: stats.binom.pmf(k, 64, float(p)))
    if p > 1e-6:
        with pytest.raises(AssertionError, match="do not follow the law"):
            testing.check_samples(heads, lambda k: stats.binom.pmf(k, 64, float(p) * 0.98))


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(7, 8)])
def test_every_place_has_its_own_coin(p):
    """Each bit by itself, and pairs of neighbours in a word and between words: no place is favoured or tied."""
    n = 40_000
    words = noise.bernoulli_words(p=p, size=n, source=noise.Seeded(8))
    bits = np.unpackbits(words.view(np.uint8).reshape(n, 8), axis=1, bitorder="little").astype(float)
    sd = float(p * (1 - p)) ** 0.5
    assert np.abs(bits.mean(axis=0) - float(p)).max() < 5.0 * sd / n**0.5
    centred = (bits - float(p)) / sd
    assert np.abs(centred.T @ centred / n - np.eye(64)).max() < 6.0 / n**0.5
    assert np.abs((centred[1:] * centred[:-1]).mean(axis=0)).max() < 5.0 / n**0.5


def test_a_twin_that_stops_after_six_digits_is_noticed():
    """Undecided coins that count as tails: p = 1/3 becomes 21/64."""
    p = Fraction(1, 3)
    twin = np.bitwise_count(noise.bernoulli_words(p=Fraction(21, 64), size=40_000, source=noise.Seeded(9)))
    with pytest.raises(AssertionError, match="do not follow the law"):
        testing.check_samples(twin.astype(np.int64), lambda k: stats.binom.pmf(k, 64, float(p)))


def test_shapes_and_ends():
    assert noise.bernoulli_words(p=0, size=(2, 3)).sum() == 0
    assert noise.bernoulli_words(p=1, size=2).tolist() == [2**64 - 1] * 2
    assert type(noise.bernoulli_words(p=0.5)) is int
    with pytest.raises(InvalidParameter):
        noise.bernoulli_words(p=1.5, size=2)

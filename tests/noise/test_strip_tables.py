"""Chances and thresholds as whole numbers: each within the margin that is claimed, and the decisions those of the host."""

from fractions import Fraction

import numpy as np
import pytest

from privet.noise import KeyedStream, strip_tables
from privet.noise.families.enclosure import exp_neg, normal_density
from privet.noise.keyed import _OfPlaces, strips_of
from privet.noise.strips import ALL_PREFIXES, Strips

SIGMAS = [Fraction(1024), Fraction(2**21) - 1, Fraction(10**9, 7), Fraction(2**52)]
_ONE = 2**64
EDGES = [0, 1, 2**32, 2**63, _ONE - 2, _ONE - 1]


def unsigned(words):
    return [int(each) for each in words.view(np.uint64)]


def high(a, b):
    return a * b >> 64


def lack(place, share, fall, half, series):
    """What a device computes: half of what a chance lacks to 1."""
    far = high(place, _ONE - 1 - high(_ONE - 1 - place, share))
    fallen = high(far, fall)
    rest = 0
    for term in series:
        rest = (term - high(fallen, rest)) % _ONE
    return high(high(far, _ONE - 1 - high(fallen, rest)), half)


def exact_lack(law, strip, v):
    """The same to 2^-120, from densities: (f(c) - f(c + v)) / 2(f(c) - u)."""
    taken = law.buckets[strip] * law.leading / ALL_PREFIXES if strip < len(law.buckets) else Fraction(0)
    near, far = strip / law.leading, (strip + v) / law.leading
    ends = [Fraction(normal_density(x.numerator, x.denominator, 400)[0], 2**400) for x in (near, far)]
    return (ends[0] - ends[1]) / (2 * (ends[0] - taken))


def places(strip):
    coins = np.random.default_rng(strip)
    return [*EDGES, *(int(each) for each in coins.integers(0, 2**64, 4, dtype=np.uint64))]


def strips_to_try(law, most):
    last = len(law.buckets)
    return sorted({0, 1, 2, 30, 63, 64, 100, last - 2, last - 1, last, last + 1, most // 2 + last // 2, most - 1})


@pytest.mark.parametrize("sigma", SIGMAS)
def test_chances_are_off_by_less_than_half_of_the_margin(sigma):
    """For both ends of the cell that a place is."""
    law, made = Strips(sigma).law, strip_tables.strip_tables(Strips(sigma))
    columns = [unsigned(made[name]) for name in ("share", "fall", "half")]
    series, worst = unsigned(made["series"]), 0
    for strip in strips_to_try(law, len(columns[0])):
        for place in places(strip):
            found = lack(place, *(column[strip] for column in columns), series)
            for end in (place, place + 1):
                worst = max(worst, abs(found - exact_lack(law, strip, Fraction(end, _ONE)) * _ONE))
    assert worst < 8
    assert strip_tables.CLOSE >= 16
    assert worst > 0.5  # it is no test of nothing


@pytest.mark.parametrize("sigma", SIGMAS[1:3])
def test_a_table_that_is_off_by_a_billionth_is_seen(sigma):
    law, made = Strips(sigma).law, strip_tables.strip_tables(Strips(sigma))
    columns, series = [unsigned(made[name]) for name in ("share", "fall", "half")], unsigned(made["series"])
    strip, place = 100, 2**63 + 12345
    wanted = exact_lack(law, strip, Fraction(place, _ONE)) * _ONE
    for name in range(3):
        given = [column[strip] for column in columns]
        given[name] += given[name] >> 30
        assert abs(lack(place, *given, series) - wanted) > 1000 * strip_tables.CLOSE
    assert abs(lack(place, *(column[strip] for column in columns), series[3:-1]) - wanted) > 1000


@pytest.mark.parametrize("sigma", SIGMAS)
def test_thresholds_are_those_of_the_law(sigma):
    """Word by word where the law can be enclosed; and between those that the host holds, in floats."""
    strips = Strips(sigma)
    made = strip_tables.strip_tables(strips)
    low, top = made["low"].view(np.uint64), made["high"].view(np.uint64)
    for k in (0, 1, 5, 64, len(strips.law.buckets), len(low) - 2):
        exact = strips.law.cdf(k, 128)
        assert low[k] <= exact[0] >> 64 <= exact[1] >> 64 <= top[k]
    assert int((top - low).max()) <= 2
    lows, tops = strips._rest.thresholds()
    assert (lows <= low[: len(lows)]).all()
    assert (tops[:-1] >= top[: len(lows) - 1]).all()


@pytest.mark.parametrize("sigma", SIGMAS)
def test_prefixes_have_the_strips_of_rectangles(sigma):
    strips = Strips(sigma)
    found = strip_tables.strip_tables(strips)["strips"]
    bound = int(strips.bounded) >> 48
    many = np.bincount(found[:bound] - found.min(), minlength=2 * len(strips.law.buckets))
    assert many.tolist() == [*strips.law.buckets[::-1], *strips.law.buckets]


def test_what_it_decides_is_what_the_host_decides():
    """Of places with words of their own: the strip, and every try."""
    keyed, strips = KeyedStream(bytes(range(32))), strips_of(2**30 + 1)
    made = {name: unsigned(each) for name, each in strip_tables.strip_tables(strips).items() if name != "strips"}
    here = np.arange(3000)
    words = _OfPlaces(keyed, 0, here).block(0, here)
    found = []
    for row in words.tolist():
        strip = next(k for k, top in enumerate(made["high"]) if not top < row[0])
        assert row[0] < made["low"][strip]
        given = [made[name][strip] for name in ("share", "fall", "half")]
        for place, coin in zip(row[2::2], row[3::2], strict=True):
            lost, room = lack(place, *given, made["series"]), (_ONE - 1 - coin) >> 1
            heads = lost + strip_tables.CLOSE <= room
            assert heads or lost > room + strip_tables.CLOSE
            if heads:
                steps = (strip << strips.shift) + ((place >> (63 - strips.shift)) + 1 >> 1)
                found.append(-steps if row[1] & 1 else steps)
                break
        else:
            found.append(None)  # a later turn
    wanted = keyed.rest_of(0, here, strips)
    decided = [place for place, each in enumerate(found) if each is not None]
    assert len(decided) > 2700
    assert all(found[place] == wanted[place] for place in decided)


def test_half_a_chance_fits_into_a_word():
    """Whatever the scale: the fall over a strip is below .16, by which the series is short and products stay small."""
    for sigma in SIGMAS:
        law, made = Strips(sigma).law, strip_tables.strip_tables(Strips(sigma))
        assert max(unsigned(made["fall"])) < 0.16 * _ONE
        assert max(unsigned(made["half"])) < 0.56 * _ONE
        last = len(made["fall"]) - 1
        fall = Fraction(2 * last + 1) / (2 * law.leading**2)
        low, top = exp_neg(fall.numerator, fall.denominator, 80)
        assert Fraction(low, 2**80) > 0.85
        assert top < 2**80

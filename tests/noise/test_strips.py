"""Normal noise by strips: rectangles below the curve, what they leave, and both together the law."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from privet import noise
from privet.errors import InternalError, InvalidParameter
from privet.noise.families.coins import TO_UNIT
from privet.noise.families.enclosure import normal_density
from tests.noise.helpers import module

strips = module("strips")

SIGMAS = [Fraction(1025), Fraction(2**20), Fraction(2**21) - 1, Fraction(10**9, 7), Fraction(2**52)]
EDGES = stats.norm.ppf(np.linspace(0.0, 1.0, 257))[1:-1]


def p_value(values, sigma):
    """Of a test of goodness of fit, over 256 cells of equal probability; the rounding to whole numbers is smoothed out."""
    smooth = values + np.random.default_rng(1).uniform(-0.5, 0.5, len(values))
    return stats.chisquare(np.bincount(np.searchsorted(EDGES, smooth / sigma), minlength=256)).pvalue


@pytest.mark.parametrize("sigma", SIGMAS)
def test_rectangles_lie_below_the_curve_and_leave_little(sigma):
    law = strips.Strips(sigma).law
    assert 64 <= law.leading <= 128
    assert 0.005 < law.left / 2**16 < 0.015
    for strip, buckets in enumerate(law.buckets):
        far = (strip + 1) / law.leading
        low, _ = normal_density(far.numerator, far.denominator, 64)
        assert Fraction(buckets, 2**16) * law.leading <= Fraction(low, 2**64)


@pytest.mark.parametrize("sigma", SIGMAS)
def test_what_is_left_is_the_law_less_the_rectangles(sigma):
    law = strips.Strips(sigma).law
    floats = law.floats()
    for m in (1, 2, 3, 50, len(law.buckets) - 1, len(law.buckets), len(law.buckets) + 1, 500):
        low, high = law.upper(m, 80)
        assert low <= high <= low + 2
        inside = sum(law.buckets[m:])
        whole = 2.0 * stats.norm.sf(m / float(law.leading)) - 2.0 * inside / 2**16
        assert low / 2**80 == pytest.approx(whole / (law.left / 2**16), rel=1e-9, abs=1e-12)
        assert floats[m - 1] == pytest.approx(low / 2**80, abs=strips._TAIL_MARGIN / 8)
    assert floats[-1] < strips._TAIL_MARGIN
    assert law.column(16)[-1][0] == 0


@pytest.mark.parametrize("sigma", SIGMAS)
def test_coins_in_floats_are_those_that_are_enclosed(sigma, monkeypatch):
    """At the near end, the far end and between, for strips with large rectangles, the last one, and none."""
    sampler = strips.Strips(sigma)
    last = len(sampler.law.buckets)
    seen = []
    monkeypatch.setattr(strips, "compare", lambda stream, chance, margin, exact: seen.append((chance, margin, exact)))
    where = np.array([0, 0, 0, 1, 60, last - 1, last - 1, last, last + 1, 550])
    places = np.array([0, 2**63, 2**64 - 1, 7**22, 5**27, 0, 2**64 - 1, 3**40, 2**64 - 1, 2**62], dtype=np.uint64)
    sampler._kept(noise.Seeded(1).stream(), where, places)
    ((chance, margin, exact),) = seen
    for i in range(len(where)):
        low, high = exact(i)(64)
        assert low <= high <= low + 2**8
        assert abs(chance[i] - low * TO_UNIT) <= margin[i] / 8
    assert chance[0] == 1.0


def test_beyond_all_floats_the_enclosure_decides(monkeypatch):
    sampler = strips.Strips(Fraction(2**20))
    far = np.full(3, 64 * 40)  # forty standard deviations
    kept = [
        sampler._kept(noise.Seeded(i).stream(), far, np.array([0, 2**63, 2**64 - 1], dtype=np.uint64))
        for i in range(60)
    ]
    shares = np.mean(kept, axis=0)
    wanted = [1.0, math.exp(-0.5 * 40 / 64), math.exp(-40 / 64)]
    assert np.abs(shares - wanted).max() < 0.25
    assert shares[0] == 1.0


def test_words_of_a_rectangle_are_its_strip_and_the_place_half_up():
    sampler = strips.Strips(Fraction(2**20))  # a strip is 2^14 steps
    first, place = sampler.law.buckets[0], np.uint64(48)
    words = np.array([0, 2**34, 2**33, 2**33 - 1, 2**48 - 1], dtype=np.uint64)  # the first bucket is strip 0
    out = np.empty(5, dtype=np.int64)
    sampler.inside(words, out)
    assert out.tolist() == [0, 1, 1, 0, 2**14]
    second = np.uint64(first) << place
    sampler.inside(words + second, out)
    assert out.tolist() == [2**14, 2**14 + 1, 2**14 + 1, 2**14, 2**15]
    mirror = np.uint64(sum(sampler.law.buckets)) << place  # the first strip on the other side
    sampler.inside(words + mirror, out)
    assert out.tolist() == [-(2**14), 1 - 2**14, 1 - 2**14, -(2**14), 0]


@pytest.mark.parametrize("sigma", [1025, 2**21 - 1, 2**30 + 12345, Fraction(10**15, 3)])
def test_the_law_and_neither_half_nor_twice_of_it(sigma):
    drawn = noise.rounded_gaussian(sigma=sigma, size=150_000, source=noise.Seeded(11))
    assert p_value(drawn, float(sigma)) > 1e-4
    for wrong in (0.5, 2.0):
        assert p_value(drawn, wrong * float(sigma)) < 1e-9
    assert stats.chisquare(np.bincount(drawn & 15, minlength=16)).pvalue > 1e-4  # no gaps in the last digits


def test_no_draw_is_used_twice():
    """In pieces, what rectangles leave is handed out from a store: of 2^54 numbers none should come a second time."""
    drawn = noise.rounded_gaussian(sigma=2**52, size=150_000, source=noise.Seeded(4))
    assert len(np.unique(drawn)) == len(drawn)


@pytest.mark.parametrize("sigma", [3, 1025, 2**30])
def test_pieces_are_the_whole(sigma):
    whole = noise.rounded_gaussian(sigma=sigma, size=50_001, source=noise.Seeded(6))
    ends = 0
    for start, part, spare in noise.rounded_gaussian_pieces(sigma=sigma, count=50_001, source=noise.Seeded(6)):
        assert start == ends
        assert part.shape == spare.shape
        assert not np.shares_memory(part, spare)
        assert np.array_equal(whole[start : start + len(part)], part)
        spare[:] = -1  # whoever uses it changes nothing
        ends += len(part)
    assert ends == 50_001
    assert sum(len(part) for _, part, _ in noise.rounded_gaussian_pieces(sigma=sigma, count=0)) == 0
    with pytest.raises(InvalidParameter, match="count"):
        noise.rounded_gaussian_pieces(sigma=3, count=-1)


SHORT = [Fraction(1025), Fraction(2**20), Fraction(10**9, 7), Fraction(2**30) + 12345, Fraction(2**38) - 1]


@pytest.mark.parametrize("way", ["in_numpy", "by_one", "compiled"])
@pytest.mark.parametrize("sigma", SHORT)
def test_short_places_are_the_first_48_bits_of_a_word(sigma, way):
    """Rounded, they are what `inside` makes of any word that begins so; also at both ends of every piece of a strip."""
    compiled = way == "compiled"
    fill = pytest.importorskip("numba").njit(strips._fill.by_one) if compiled else getattr(strips._fill, way)
    sampler, many, unit = strips.Strips(sigma), 20_000, 2.0**-30
    words = noise.Seeded(4).stream().words(many).copy()
    half = np.uint64(63 - sampler.shift - 16)  # the bit of half a step, in the last 32 bits of the first 48
    ends = (np.uint64(1) << half) * np.arange(2000, dtype=np.uint64)
    words[:2000] = (words[:2000] >> np.uint64(48) << np.uint64(48)) | (ends << np.uint64(16) & np.uint64(2**48 - 1))
    words[2000:4000] = words[:2000] - np.uint64(1)
    prefixes = (words >> np.uint64(48)).astype(np.uint16)
    places = (words >> np.uint64(16) & np.uint64(2**32 - 1)).astype(np.uint32).view(np.int32)
    # counted from the middle of the strip: so the first of its places is the least of 32 bits
    places = places ^ np.int32(-(2**31))
    out, spare, found = np.empty(many), np.empty(many), np.empty(many, dtype=np.int64)
    bound, scale = int(sampler.bounded) >> 48, math.ldexp(unit, sampler.shift - 32)
    open_ = fill(prefixes, places, sampler._middles(unit), scale, bound, out, spare, found)
    wanted = np.empty(many, dtype=np.int64)
    outside = sampler.inside(words, wanted)
    assert 0 < len(outside) < 0.02 * many
    assert found[:open_].tolist() == outside.tolist()
    inside = np.setdiff1d(np.arange(many), outside)
    assert (np.rint(out[inside] / unit) == wanted[inside]).all()
    assert (out[inside] / unit * 2 % 1 != 0).all()  # neither whole nor half-way


@pytest.mark.parametrize("sigma", [1025, 2**21 - 1, 2**30 + 12345, 2**38 - 1])
def test_draws_in_doubles_have_the_law_and_neither_two_thirds_nor_three_halves_of_it(sigma):
    grid = noise.Grid(-3)
    pieces = noise.gaussian_pieces(sigma=sigma, count=150_000, grid=grid, source=noise.Seeded(12))
    drawn = np.rint(np.concatenate([part.copy() for _, part, _ in pieces]) / grid.width).astype(np.int64)
    assert len(drawn) == 150_000
    assert p_value(drawn, float(sigma)) > 1e-4
    for wrong in (2 / 3, 1.5):
        assert p_value(drawn, wrong * float(sigma)) < 1e-9
    assert stats.chisquare(np.bincount(drawn & 15, minlength=16)).pvalue > 1e-4  # no gaps in the last digits
    assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 0.02


def test_no_double_is_used_twice():
    """What rectangles leave is handed out from a store, also here: of 2^40 numbers none should come a second time."""
    pieces = noise.gaussian_pieces(sigma=2**38 - 1, count=150_000, grid=noise.Grid(0), source=noise.Seeded(4))
    drawn = np.concatenate([part.copy() for _, part, _ in pieces])
    assert len(np.unique(drawn)) >= len(drawn) - 3


def test_no_bit_serves_two_draws_or_both_place_and_strip_of_one(monkeypatch):
    """48 bits a draw, each used once: draws that shared some would keep the law of each of them."""
    plain, given, count = strips._fill.in_numpy, [], 40_001

    class Noted:
        @staticmethod
        def of(count):
            return lambda prefixes, places, *rest: given.append((prefixes, places)) or plain(prefixes, places, *rest)

    monkeypatch.setattr(strips, "_fill", Noted)
    for _ in noise.gaussian_pieces(sigma=2**30, count=count, grid=noise.Grid(0), source=noise.Seeded(6)):
        pass
    assert [sum(len(each[k]) for each in given) for k in (0, 1)] == [count, count]
    used = [part for piece in given for part in piece]
    assert not any(np.shares_memory(one, two) for i, one in enumerate(used) for two in used[:i])


@pytest.mark.parametrize(("sigma", "count"), [(3, 50_001), (1025, 5), (1025, 50_001), (2**30, 2**15)])
def test_pieces_of_doubles_cover_the_whole(sigma, count):
    wholes, grid = [], noise.Grid(-40)
    for scribble in (False, True):
        ends, found = 0, []
        pieces = noise.gaussian_pieces(sigma=sigma, count=count, grid=grid, source=noise.Seeded(6))
        for start, part, spare in pieces:
            assert start == ends
            assert part.shape == spare.shape
            assert not np.shares_memory(part, spare)
            found.append(part.copy())
            ends += len(part)
            if scribble:  # whoever uses that memory changes nothing
                part[:], spare[:] = -1.0, -1.0
        assert ends == count
        wholes.append(np.concatenate(found))
    assert (wholes[0] == wholes[1]).all()
    assert wholes[0].std() == pytest.approx(sigma * grid.width, rel=0.02 if count > 100 else 0.9)


def test_tables_of_two_grids_are_not_mixed_up():
    sampler = strips.Strips(Fraction(2**20))
    fine, coarse, again = (sampler._middles(2.0**exponent) for exponent in (-30, 4, -30))
    assert (coarse == fine * 2.0**34).all()
    assert (again == fine).all()


def test_what_does_not_fit_doubles_is_refused():
    assert not list(noise.gaussian_pieces(sigma=2**30, count=0, grid=noise.Grid(0)))[1:]
    for wrong in ({"sigma": 2**38}, {"count": -1}, {"grid": noise.Grid(-1000)}, {"grid": noise.Grid(950)}):
        with pytest.raises(InvalidParameter, match=next(iter(wrong))):
            noise.gaussian_pieces(**({"sigma": 2**30, "count": 3, "grid": noise.Grid(0)} | wrong))
    strips.refuse_far(np.array([2**48 - 1, 1 - 2**48]))
    for far in (2**48, -(2**48)):
        with pytest.raises(InternalError, match="a thousand standard deviations"):
            strips.refuse_far(np.array([0, far]))


def every_half_step(sampler, spoil=lambda prefixes, places: None):
    """How often each number of steps comes out of `placed`, over all prefixes and all half steps of a strip: what the first
    place of a half step does, and what its last one does. A number k is counted at k + 2^15.
    """
    half, found = 31 - sampler.shift, []
    bound, scale = int(sampler.bounded) >> 48, math.ldexp(1.0, sampler.shift - 32)
    prefixes = np.repeat(np.arange(2**16, dtype=np.uint16), 2 << sampler.shift)
    for last in (0, (1 << half) - 1):
        some = ((np.arange(2 << sampler.shift) << half) - 2**31 + last).astype(np.int32)
        places, out, spare = np.tile(some, 2**16), np.empty(len(prefixes)), np.empty(len(prefixes))
        spoil(prefixes, places)
        which = np.empty(len(prefixes), dtype=np.int64)
        open_ = strips._filled(prefixes, places, sampler._middles(1.0), scale, bound, out, spare, which)
        found.append(np.bincount(np.delete(np.rint(out).astype(np.int64), which[:open_]) + 2**15, minlength=2**16))
    return found


def planned(sampler):
    """The same numbers by what a rectangle is: two half steps for a number inside of a strip, one at each of its ends."""
    wanted, wide = np.zeros(2**16, dtype=np.int64), 1 << sampler.shift
    for strip, buckets in enumerate(sampler.law.buckets):
        for near in (2**15 + strip * wide, 2**15 - (strip + 1) * wide):
            wanted[near : near + wide] += buckets
            wanted[near + 1 : near + wide + 1] += buckets
    return wanted


@pytest.mark.parametrize("sigma", [pytest.param(Fraction(1025), marks=pytest.mark.slow), Fraction(4001, 2) + 40])
def test_all_prefixes_and_all_half_steps_are_the_rectangles(sigma):
    """Counted, not drawn: strips of sixteen steps are narrow enough to try everything that 48 bits can do to a number."""
    sampler = strips.Strips(sigma)
    wanted = planned(sampler)
    assert all((found == wanted).all() for found in every_half_step(sampler))
    assert wanted.sum() == (2**16 - sampler.law.left) * 2 << sampler.shift

    def stuck(prefixes, places):
        places |= 1 << 31 - sampler.shift

    def shared(prefixes, places):  # a bit that chooses the strip and the half step
        places[:] = places & ~np.int32(1 << 31 - sampler.shift) | (prefixes & 1).astype(np.int32) << 31 - sampler.shift

    def moved(prefixes, places):  # one prefix chooses the strip of the next
        prefixes[prefixes == sampler.law.buckets[0] - 1] += 1

    for twin in (stuck, shared, moved):
        assert any((found != wanted).any() for found in every_half_step(sampler, twin))


def test_what_is_left_is_the_law_less_the_rectangles_number_by_number(monkeypatch):
    """Enclosures of the law of every number against what is counted: nothing is above it, and draws fit what is left."""
    sampler, far, bits = strips.Strips(Fraction(4001, 2) + 40), 12_000, 60
    law = module("rounded_gaussian").NormalCells(sampler.sigma)
    low, high = np.array([law.upper(m, bits) for m in range(1, far + 2)]).T  # of numbers from m on
    counted = planned(sampler)[2**15 :] << bits - 17 - sampler.shift
    least = np.maximum(low[:-1] - high[1:], 0)  # of 1, 2, ...
    assert (counted[1 : far + 1] <= least).all()
    assert counted[0] <= (1 << bits) - 2 * high[0]
    left = np.append((1 << bits) - 2 * low[0], least) - counted[: far + 1]

    def p_value_of(drawn):
        seen = np.bincount(np.abs(drawn), minlength=far + 1)[: far + 1]
        mass = np.where(np.arange(far + 1) > 0, 2.0, 1.0) * left / 2.0**bits * (2**16 / sampler.law.left) * len(drawn)
        few = mass < 8.0
        seen, mass = (np.append(each[~few], each[few].sum()) for each in (seen, mass))
        return stats.chisquare(seen, mass * (seen.sum() / mass.sum())).pvalue

    assert p_value_of(sampler.outside(noise.Seeded(15).stream(), 300_000)) > 1e-4
    monkeypatch.setattr(strips.Strips, "_kept", lambda self, stream, where, places: np.ones(len(where), dtype=bool))
    assert p_value_of(sampler.outside(noise.Seeded(15).stream(), 300_000)) < 1e-9


def outside(count, seed):
    sampler = strips.Strips(Fraction(2**20))
    return sampler, sampler.outside(noise.Seeded(seed).stream(), count) / 2**14


def left_over_p_value(sampler, drawn):
    """Of what the rectangles leave, in four quarters of each of the first strips and of all others together."""
    law, quarters = sampler.law, 4 * len(sampler.law.buckets)
    x = np.arange(quarters + 1) / 4.0 / float(law.leading)
    mass = 2.0 * np.diff(stats.norm.cdf(x)) - np.repeat(law.buckets, 4) * (2.0 / 4.0 / 2**16)
    mass = np.append(mass, 2.0 * stats.norm.sf(x[-1])) / (law.left / 2**16)
    seen = np.bincount(np.minimum(np.floor(np.abs(drawn) * 4.0).astype(np.int64), quarters), minlength=quarters + 1)
    return stats.chisquare(seen, mass / mass.sum() * len(drawn)).pvalue


def test_what_is_left_has_its_own_law_place_by_place():
    sampler, drawn = outside(100_000, 5)
    assert left_over_p_value(sampler, drawn) > 1e-4
    assert abs(np.mean(drawn < 0.0) - 0.5) < 0.01


def test_the_exact_coin_has_the_same_law(monkeypatch):
    _, many = outside(100_000, 7)  # in floats
    monkeypatch.setattr(strips, "MARGIN", 0.2)  # two coins in five are decided by enclosures
    _, drawn = outside(1_000, 6)
    strip = np.floor(np.abs(drawn))
    share = np.mean(np.abs(drawn) - strip < 0.5)
    assert abs(share - np.mean(np.abs(many) % 1.0 < 0.5)) < 0.07
    assert abs(np.mean(strip < 60) - np.mean(np.abs(many) < 60)) < 0.07


def test_twins_are_seen(monkeypatch):
    sampler = strips.Strips(Fraction(2**20))
    monkeypatch.setattr(strips.Strips, "_kept", lambda self, stream, where, places: np.ones(len(where), dtype=bool))
    assert left_over_p_value(sampler, sampler.outside(noise.Seeded(5).stream(), 100_000) / 2**14) < 1e-9
    monkeypatch.setattr(strips.Strips, "outside", lambda self, stream, count: np.zeros(count, dtype=np.int64))
    assert p_value(sampler.sample(noise.Seeded(5).stream(), 150_000), 2.0**20) < 1e-9


@pytest.mark.parametrize(("size", "shape"), [(0, (0,)), ((2, 0), (2, 0)), ((300, 100), (300, 100)), (1, (1,))])
def test_shapes(size, shape):
    noise.rounded_gaussian(sigma=2**25, size=2**15)  # the table is there
    assert noise.rounded_gaussian(sigma=2**25, size=size).shape == shape


def test_the_widest_noise_stays_in_64_bits():
    drawn = noise.rounded_gaussian(sigma=2**52, size=100_000, source=noise.Seeded(2))
    assert p_value(drawn, 2.0**52) > 1e-4


@pytest.mark.parametrize("sigma", [3, 1024, 1025, 10**6])
@pytest.mark.parametrize("shape", [(1,), (5,), (2**14 + 1,), (3, 2**14), (0,)])
@pytest.mark.parametrize("center", [0, Fraction(1, 3)])
def test_draws_are_the_same_where_memory_is_given(sigma, shape, center):
    """Both sides of the scale from which strips are used, and of the size of their pieces."""
    out = np.full(shape, 77, dtype=np.int64)
    given = {"sigma": sigma, "center": center}
    assert noise.rounded_gaussian(**given, out=out, source=noise.Seeded(3)) is out
    assert np.array_equal(out, noise.rounded_gaussian(**given, size=shape, source=noise.Seeded(3)))


def test_memory_that_draws_do_not_fit_is_refused():
    frozen = np.empty(4, dtype=np.int64)
    frozen.flags.writeable = False
    for wrong in (np.empty(4), np.empty(8, dtype=np.int64)[::2], frozen, [0, 0], np.empty(4, dtype=np.int32)):
        with pytest.raises(InvalidParameter, match="out must be"):
            noise.rounded_gaussian(sigma=10**6, out=wrong)
    with pytest.raises(InvalidParameter, match="size and the shape"):
        noise.rounded_gaussian(sigma=10**6, size=3, out=np.empty(4, dtype=np.int64))

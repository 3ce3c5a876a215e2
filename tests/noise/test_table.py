"""Tables at the word size where everything rare happens often: 6 and 8 bits instead of 64."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from privet import noise, testing
from privet.errors import InternalError
from privet.noise import table as tables
from privet.noise.discrete_gaussian import DiscreteGaussianTails
from privet.noise.discrete_laplace import LaplaceTails
from privet.noise.geometric import GeometricTails
from privet.noise.rounded_gaussian import NormalCells
from privet.noise.table import InversionTable, from_floats, from_tails
from tests.firsts import slow
from tests.noise.helpers import ALPHA, LAWS, Scripted

LAWS_AT = [
    law(Fraction(scale))
    for law in (GeometricTails, LaplaceTails, DiscreteGaussianTails, NormalCells)
    for scale in (0.05, 0.3, 1, 2, 3, 6.5)
]
PMF = {
    GeometricTails: LAWS["geometric"],
    LaplaceTails: LAWS["discrete_laplace"],
    DiscreteGaussianTails: LAWS["discrete_gaussian"],
    NormalCells: LAWS["rounded_gaussian"],
}
CUT = 10**6  # what a table answers in these tests where it would look closer


def all_words(table, bits, guide):
    """The table's answer to every word, and CUT where it refines."""
    table._refine = lambda u, guess: CUT
    answers = []
    for word in range(2**bits):
        top, rest = word >> (bits - guide), word & (2 ** (bits - guide) - 1)
        stream = Scripted([top << (16 - guide), rest << (64 - bits + guide)])
        answers.append(int(table.sample(stream, 1)[0]))
    return answers


FINE = 128


@cache
def thresholds(law):
    """F(k) between two integers, for every k that a table of 8-bit words can know."""
    reach = len(law.column(8)) + 2
    return {k: law.cdf(k, FINE) for k in range(-reach, reach)}


def assert_cells(law, bits, guide, build=from_tails):
    """A word that is decided as k has its whole cell between F(k - 1) and F(k); one that is refined is cut by some F."""
    known = thresholds(law)
    for word, k in enumerate(all_words(build(law, word_bits=bits, guide_bits=guide), bits, guide)):
        begin, end = word << (FINE - bits), (word + 1) << (FINE - bits)
        if k == CUT:
            assert any(lo < end and hi > begin for lo, hi in known.values())
        else:
            assert end <= known[k][0]
            assert begin >= known[k - 1][1]


@pytest.mark.parametrize(("bits", "guide"), [(4, 2), (6, 3), (8, 5)])
@pytest.mark.parametrize("law", LAWS_AT, ids=repr)
def test_every_cell(law, bits, guide):
    assert_cells(law, bits, guide)


def overlooking(side_low, side_high):
    """Builders of broken guides: which threshold a bucket's ends are compared with decides whether a tie is seen."""

    def build(law, word_bits, guide_bits):
        table = from_tails(law, word_bits=word_bits, guide_bits=guide_bits)
        rest = np.uint64(word_bits - guide_bits)
        begin = np.arange(2**guide_bits, dtype=np.uint64) << rest
        first = np.searchsorted(table._high, begin, side=side_low)
        last = np.searchsorted(table._high, begin + (np.uint64(1) << rest) - np.uint64(1), side=side_high)
        table._guide = np.where(first == last, first + table._first, tables._CUT).astype(np.int32)
        return table

    return build


def assert_all_cells(build):
    for law in LAWS_AT:
        assert_cells(law, 6, 3, build)


def test_guides_by_two_searches():
    """The textbook guide (left at the begin, right at the end) is sound; with right at the begin a tie is overlooked."""
    assert_all_cells(overlooking("left", "right"))
    with pytest.raises(AssertionError):
        assert_all_cells(overlooking("right", "right"))


@pytest.mark.parametrize("bits", [slow(6), 8])  # the fewer bits, the more words go the exact way
@pytest.mark.parametrize("law", [law for law in LAWS_AT if law not in LAWS_AT[::6]], ids=repr)
def test_small_words_give_the_same_law(law, bits):
    count = 4_000 if isinstance(law, NormalCells) else 20_000  # whose exact path is slow
    check_law(law, from_tails(law, word_bits=bits, guide_bits=3).sample(noise.Secure().stream(), count))


def check_law(law, samples):
    _, pmf, parameter = PMF[type(law)]
    scale = float(law.sigma if parameter == "sigma" else law.scale)
    testing.check_samples(samples, lambda k: pmf(k, **{parameter: scale}), alpha=ALPHA)


def twin_without_refinement(table):
    table._refine = lambda u, guess: guess


def twin_that_always_rounds_down(table):
    table._refine = lambda u, guess: guess - 1 if guess > table._first else guess


@pytest.mark.parametrize("twin", [twin_without_refinement, twin_that_always_rounds_down])
@pytest.mark.parametrize("law", [LaplaceTails(Fraction(3)), DiscreteGaussianTails(Fraction(2))], ids=repr)
def test_missing_refinement_is_caught(law, twin):
    table = from_tails(law, word_bits=6, guide_bits=3)
    twin(table)
    with pytest.raises(AssertionError, match="do not follow"):
        check_law(law, table.sample(noise.Secure().stream(), 20_000))


def test_tails_reach_beyond_the_table():
    """8-bit words: the table ends where 1/256 is left; the samples do not. A twin that cuts the tail stays inside."""
    law = LaplaceTails(Fraction(3))
    table = from_tails(law, word_bits=8)
    inside = len(law.column(8))
    far = np.abs(table.sample(noise.Secure().stream(), 50_000)).max()
    assert far > inside + 3  # fails with probability below exp(-60)
    twin_without_refinement(table)
    assert np.abs(table.sample(noise.Secure().stream(), 50_000)).max() <= inside


def test_the_share_of_refined_words_is_as_predicted():
    """One word in 2^W for every distinct threshold: 31% of 6-bit and 11% of 8-bit words at t = 3, none seen at 64."""
    shares = []
    for bits in (6, 8):
        answers = all_words(from_tails(LaplaceTails(Fraction(3)), word_bits=bits, guide_bits=3), bits, 3)
        shares.append(answers.count(CUT) / 2**bits)
    assert shares[0] == pytest.approx(0.31, abs=0.02)
    assert shares[1] == pytest.approx(0.11, abs=0.01)


@pytest.mark.parametrize("word", [0, 2**64 - 1])
@pytest.mark.parametrize("law", LAWS_AT, ids=repr)
def test_extreme_words_are_refined(law, word):
    """The end words hold whole tails, at every scale (a one-sided law has no left tail)."""
    table = from_tails(law)
    table._refine = lambda u, guess: CUT
    found = int(table.sample(Scripted([word, word]), 1)[0])
    assert found == (CUT if word or law.symmetric else 0)


def test_tables_from_floats_enclose_integer_ones():
    for sigma in (0.05, 0.3, 1.0, 7.5, 30.0):
        for folded in (False, True):
            law = NormalCells(Fraction(sigma), folded)
            floats, exact = (
                {t._first + i: pair for i, pair in enumerate(zip(t._low.tolist(), t._high.tolist(), strict=True))}
                for t in (from_floats(law, law.floats()), from_tails(law))
            )
            for k in floats.keys() & exact.keys():
                assert floats[k][0] <= exact[k][0]
                assert floats[k][1] >= exact[k][1]


def test_float_tables_need_their_margin():
    """Perturb the float tails by less than the margin: every decision still agrees with the exact law. Without a margin
    some do not."""
    law = NormalCells(Fraction(3))
    rng = np.random.default_rng(1)
    tails = law.floats() * (1 + rng.uniform(-1, 1, len(law.floats())) * 2.0**-46)
    tails[-1] = 0.0  # far below the margin
    assert wrong_decisions(law, from_floats(law, tails)) == 0
    assert wrong_decisions(law, from_floats(law, tails, margin=2.0**-64)) > 0


def wrong_decisions(law, table):
    table._refine = lambda u, guess: CUT
    wrong = 0
    for k in range(-8, 8):
        edge = law.cdf(k, 64)[0]
        for word in (edge + d for d in (-(2**12), -(2**8), -2, 2, 2**8, 2**12)):
            k_found = int(table.sample(Scripted([word >> 48, (word << 16) % 2**64]), 1)[0])
            truth = k if word < edge else k + 1
            wrong += k_found not in (CUT, truth)
    return wrong


def test_a_table_that_ends_too_early_is_refused():
    law = GeometricTails(Fraction(3))
    lo, hi = np.array(law.column(64)[:-5], dtype=np.uint64).T
    with pytest.raises(InternalError, match="remaining tail"):
        InversionTable(law, lo, hi)

"""Shuffled reports: every small data set by the definition, the figures of the note, composition, refusals."""

import math
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

from privet import accounting, privacy
from privet.errors import InvalidParameter, MixedUnits
from privet.privacy.families import crowd as crowd_of, crowd_table
from privet.privacy.families.crowd_below import shown_by_counts, shown_by_sum
from privet.privacy.unit import Unit
from tests.firsts import ends
from tests.oracles.shuffled_reports import k_rr, shuffled_delta, shuffled_law

REPLACE = Unit("replace")
AWKWARD = (1.0, 1.1, 1.5)


def reports(k, e0):
    return privacy.KRRLoss(k, math.log(e0))


def upper(loss, gamma):
    return float(loss.upper_delta(np.array([math.log(gamma)]))[0])


# --- the definition ---------------------------------------------------------------------------------------------------


def test_the_oracle_in_fractions():
    """Two people, a coin of 3/4: shuffled, the pair (1, 0) says less than in order."""
    coin = k_rr(2, Fraction(3))
    assert shuffled_law(coin, (0, 1)) == {(0, 0): Fraction(3, 16), (0, 1): Fraction(10, 16), (1, 1): Fraction(3, 16)}
    assert shuffled_delta(coin, 1, Fraction(2)) == Fraction(1, 4)
    assert shuffled_delta(coin, 2, Fraction(2)) == Fraction(3, 16)


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("e0", [2.0, math.e, 20.0])
def test_never_below_any_data_set_of_up_to_four_people(k, e0):
    for n in range(1, 5 if k < 4 else 4):
        for gamma in (*AWKWARD, e0**0.7, e0**0.9):
            exact = shuffled_delta(k_rr(k, e0), n, gamma)
            blanket = upper(privacy.Shuffled(reports(k, e0), n), gamma)
            generic = upper(privacy.Shuffled(privacy.PureLoss(math.log(e0), unit=REPLACE), n), gamma)
            unlike = upper(privacy.Shuffled(reports(k, e0), n, dealt=True), gamma)
            assert exact <= blanket + 1e-12
            assert blanket <= generic * (1.0 + 1e-8) + 1e-12
            assert generic <= unlike * (1.0 + 1e-8) + 1e-12


def test_the_variable_covers_what_the_definition_says():
    for k, n in ((2, 4), (3, 3)):
        loss = privacy.Shuffled(reports(k, 3.0), n)
        for epsilon in (0.0, 0.2, 0.6, 1.0):
            assert shuffled_delta(k_rr(k, 3.0), n, math.exp(epsilon)) <= float(loss.profile(epsilon)) + 1e-12


def test_random_channels_lie_under_the_generic_bound():
    """Channels of which only the profile and the largest ratio are known, priced by their worst pair."""
    rng = np.random.default_rng(29)
    for _ in range(40):
        inputs, outputs, n = rng.integers(2, 4), rng.integers(2, 4), rng.integers(2, 4)
        rows = rng.choice([1.0, 1.7, 3.0], size=(inputs, outputs))
        rows = rows / rows.sum(axis=1, keepdims=True)
        ratio = max((rows[:, None, :] / rows[None, :, :]).max(), 1.0 + 1e-9)
        loss = privacy.Shuffled(privacy.PureLoss(math.log(ratio), unit=REPLACE), int(n))
        for gamma in (1.0, 1.1, 1.0 + 0.6 * (ratio - 1.0)):
            assert shuffled_delta(rows, int(n), gamma) <= upper(loss, gamma) + 1e-12


def test_a_known_profile_helps_and_stays_above_the_definition():
    """A unary code of two bits: the pair of one report is known, its blanket is not asked."""
    p, q = 0.5, 0.25  # ratio 3
    bit = {True: (1 - p, p), False: (1 - q, q)}
    rows = [[bit[x == 0][y // 2] * bit[x == 1][y % 2] for y in range(4)] for x in range(2)]
    known = privacy.FinitePairLoss(tuple(rows[0]), tuple(rows[1]), unit=REPLACE)
    assert known.pure() == pytest.approx(math.log(3.0))
    for n in (2, 3, 4):
        for gamma in (1.05, 1.5, 2.5):
            exact, bound = shuffled_delta(rows, n, gamma), upper(privacy.Shuffled(known, n), gamma)
            generic = upper(privacy.Shuffled(privacy.PureLoss(math.log(3.0), unit=REPLACE), n), gamma)
            assert exact <= bound + 1e-12
            assert bound < 0.75 * generic


def test_one_more_person_would_be_noticed():
    """A crowd counted with its own member twice: the bound falls below the definition."""
    loss = privacy.Shuffled(privacy.RandomizedResponseLoss(1.0), 3)
    assert upper(loss, 1.0) < shuffled_delta(k_rr(2, math.e), 2, 1.0)


# --- figures ----------------------------------------------------------------------------------------------------------

TABLE = [  # n, epsilon0, delta, unlike, generic, k-RR k = 10, lower of it, lower of binary answers
    (10**5, 4.0, 1e-6, 0.169770, 0.118153, 0.109909, None, 0.084714),
    (10**4, 2.0, 1e-6, 0.155045, 0.114400, 0.079804, 0.079792, 0.087016),
    (10**3, 1.0, 1e-6, 0.182412, 0.148671, 0.080161, 0.080095, 0.126614),
    (10**3, 3.0, 1e-4, 0.860110, 0.573599, 0.468178, 0.467717, 0.455910),
    (10**6, 1.0, 1e-8, 0.00612549, 0.00501163, None, None, 0.00410538),
    (10**6, 6.0, 1e-8, 0.189466, 0.131801, None, None, 0.094759),
]


@pytest.mark.parametrize(("n", "epsilon0", "delta", "unlike", "generic", "blanket", "lower", "binary"), TABLE)
def test_the_table_to_five_digits(n, epsilon0, delta, unlike, generic, blanket, lower, binary):
    answers = privacy.RandomizedResponseLoss(epsilon0)
    assert accounting.epsilon(privacy.Shuffled(answers, n, dealt=True), delta=delta).upper == pytest.approx(
        unlike, rel=2e-5
    )
    bound = accounting.epsilon(privacy.Shuffled(answers, n), delta=delta)
    assert bound.upper == pytest.approx(generic, rel=2e-5)
    assert bound.lower == pytest.approx(binary, rel=2e-5)
    assert epsilon0 < 2.0 or bound.upper <= 0.75 * unlike
    if blanket is not None:
        found = accounting.epsilon(privacy.Shuffled(privacy.KRRLoss(10, epsilon0), n), delta=delta)
        assert found.upper == pytest.approx(blanket, rel=2e-5)
        assert lower is None or found.lower == pytest.approx(lower, rel=2e-5)


def test_the_blanket_of_a_large_crowd():
    found = accounting.epsilon(privacy.Shuffled(privacy.KRRLoss(10, 4.0), 10**5), delta=1e-6)
    assert found.upper == pytest.approx(0.109909, rel=2e-5)
    assert found.slack <= 0.005 * found.upper


def test_the_pair_of_counts_is_no_upper_bound():
    """k = 3, n = 2, epsilon0 = 1, epsilon = 0.9: what two counts show, what the definition has, what the blanket says."""
    nodes = np.linspace(0.0, 1.0, 4001)
    counts = float(shown_by_counts(3, 1.0, 2, nodes).delta(0.9))
    exact = shuffled_delta(k_rr(3, math.e), 2, math.exp(0.9))
    assert counts == pytest.approx(0.011620, abs=2e-5)
    assert exact == pytest.approx(0.031585, abs=5e-7)
    assert exact <= upper(privacy.Shuffled(privacy.KRRLoss(3, 1.0), 2), math.exp(0.9)) <= exact * (1.0 + 1e-6)


def test_lower_ends_lie_under_the_definition():
    for epsilon in (0.0, 0.1, 0.4):
        gamma = math.exp(epsilon)
        counts = shown_by_counts(3, 1.0, 3, np.linspace(0.0, 1.0, 401))
        assert float(counts.delta(epsilon)) <= shuffled_delta(k_rr(3, math.e), 3, gamma) + 1e-9
        ones = shown_by_sum(1.0, 4)
        for side in (ones, ones.mirrored):
            assert float(side.delta(epsilon)) <= shuffled_delta(k_rr(2, math.e), 4, gamma) + 1e-9


@pytest.mark.parametrize("k", ends([2, 3, 10, 100]))
@pytest.mark.parametrize("epsilon0", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("n", [2, 20, 1000])
def test_upper_ends_are_above_lower_ends(k, epsilon0, n):
    loss = privacy.Shuffled(privacy.KRRLoss(k, epsilon0), n)
    for delta in (1e-9, 1e-3):
        bound = accounting.epsilon(loss, delta=delta)
        assert bound.lower <= bound.upper <= epsilon0 * (1.0 + 1e-12)
    assert loss.attained() is not None
    for epsilon in (0.0, 0.05, 0.5):
        shown = max(float(loss.attained().variable(way).delta(epsilon)) for way in ("remove", "add"))
        assert shown <= float(loss.profile(epsilon)) * (1.0 + 1e-8) + 1e-12


# --- how it is computed -----------------------------------------------------------------------------------------------


def test_lumps_and_blocks_are_on_the_safe_side_and_near(monkeypatch):
    """Both sides of the thresholds from which on counts are lumped and share a table."""
    whole = privacy.Shuffled(privacy.KRRLoss(3, 1.0), 3000)
    epsilons = np.array([0.0, 0.02, 0.06, 0.12])
    exact = whole.upper_delta(epsilons)
    monkeypatch.setattr(crowd_of, "_MANY", 1.0)
    lumped = whole.upper_delta(epsilons)
    monkeypatch.setattr(crowd_of, "_MOST_CELLS", 3000)
    blocks = whole.upper_delta(epsilons)
    for found in (lumped, blocks):
        assert np.all(found >= exact * (1.0 - 1e-9))
    assert np.allclose(lumped, exact, rtol=1e-5)
    assert np.allclose(blocks, exact, rtol=0.2)


def test_masses_along_a_threshold_are_those_of_the_binomial_law():
    c = np.arange(5.0, 400.0)
    b = np.floor(0.61 * (c + 1.0))
    for share in (0.5, 0.37):
        value, tail = crowd_of.along(c, b[None, :], np.array([[share]]))
        one_by_one = crowd_of.binomial(b, c, share)
        assert np.allclose(value[0], one_by_one[0], rtol=1e-11)
        assert np.allclose(tail[0], one_by_one[1], rtol=1e-10)


# --- all epsilons from one table ---------------------------------------------------------------------------------------


def tabled(rows, n, e0, top, bins):
    """Epsilons, and what the table says about delta there."""
    found = crowd_table.thrown(rows, n, e0, top, bins)
    gamma = (1.0 + found.ends) / (1.0 - found.ends)
    return np.log(gamma), (found.apart - found.ends * found.both) * (1.0 + gamma) / 2.0


def cover(k, e0):
    """Probabilities of an end and of the dip: k = 0 stands for a report of which only its epsilon is known."""
    return (2.0 / (e0 + 1.0), 0.0) if k == 0 else (2.0 / (e0 + k - 1.0), (k - 2.0) / (e0 + k - 1.0))


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("e0", [2.0, math.e, 20.0])
def test_the_table_of_up_to_four_people_is_never_below_any_data_set(k, e0):
    for n in range(2, 5 if k < 4 else 4):
        ends, level = cover(k, e0)
        rows = crowd_table.rows_above(n, e0, ends, ends, level)
        epsilons, deltas = tabled(rows, n, e0, (e0 - 1.0) / (e0 + 1.0), 8)
        for epsilon, delta in zip(epsilons, deltas, strict=True):
            assert shuffled_delta(k_rr(k, e0), n, math.exp(epsilon)) <= delta + 1e-12
        assert np.allclose(deltas, privacy.Shuffled(reports(k, e0), n).upper_delta(epsilons), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize(("k", "e0", "n"), [(0, 3.0, 500), (3, 3.0, 500), (10, math.e**2, 1000), (100, 20.0, 3000)])
def test_the_table_says_what_is_summed_epsilon_by_epsilon(k, e0, n):
    loss = privacy.Shuffled(reports(k, e0) if k else privacy.PureLoss(math.log(e0), unit=REPLACE), n)
    ends, level = cover(k, e0)
    rows = crowd_table.rows_above(n, e0, ends, ends, level)
    epsilons, deltas = tabled(rows, n, e0, 0.5 * (e0 - 1.0) / (e0 + 1.0), 64)
    exact = loss.upper_delta(epsilons)
    seen = exact > 1e-12
    assert seen.sum() > 10
    assert np.allclose(deltas[seen], exact[seen], rtol=1e-7)


@pytest.mark.parametrize(
    ("name", "value", "within"), [("_BLOCK", 0.01, 0.1), ("_SPACING", 0.05, 0.5), ("_GROUP", 1.0, 0.1)]
)
@pytest.mark.parametrize("k", [0, 5])
def test_every_coarsening_of_the_table_is_on_the_safe_side_and_near(monkeypatch, name, value, within, k):
    n, e0, (ends, level) = 1000, 3.0, cover(k, 3.0)
    exact = tabled(crowd_table.rows_above(n, e0, ends, ends, level), n, e0, 0.3, 64)[1]
    monkeypatch.setattr(crowd_table, name, value)
    monkeypatch.setattr(crowd_table, "_TABLE", 1.0)
    coarse = tabled(crowd_table.rows_above(n, e0, ends, ends, level), n, e0, 0.3, 64)[1]
    seen = exact > 1e-9
    assert np.all(coarse[seen] >= exact[seen] * (1.0 - 1e-9))
    assert np.allclose(coarse[seen], exact[seen], rtol=within)
    assert (k == 0 and name != "_BLOCK") or not np.array_equal(coarse, exact)


def test_what_lies_beyond_the_blocks_is_in_the_table(monkeypatch):
    n, e0, (ends, level) = 2000, 3.0, cover(5, 3.0)
    exact = tabled(crowd_table.rows_above(n, e0, ends, ends, level), n, e0, 0.3, 64)[1]
    monkeypatch.setattr(crowd_table, "_REACH", 0.0)
    wide = tabled(crowd_table.rows_above(n, e0, ends, ends, level), n, e0, 0.3, 64)[1]
    seen = exact > 1e-15
    assert np.all(wide[seen] >= exact[seen] * (1.0 - 1e-9))
    assert not np.allclose(wide, exact, rtol=1e-3)


def test_fewer_signs_than_people_at_the_ends_would_be_noticed():
    """A block with the signs of its first count: the table falls below what is summed epsilon by epsilon."""
    n, e0, (ends, level) = 500, 3.0, cover(3, 3.0)
    rows = crowd_table.rows_above(n, e0, ends, ends, level)
    exact = tabled(rows, n, e0, 0.3, 64)[1]
    assert np.all(tabled(rows._replace(signs=rows.signs - 1.0), n, e0, 0.3, 64)[1][1:] < exact[1:] * (1.0 - 1e-4))


@pytest.mark.parametrize("k", [3, 10])
def test_counts_below_are_those_of_the_law_and_blocks_lower_them(monkeypatch, k):
    n, e0 = 3000, 4.0
    lie = 1.0 / (e0 + k - 1.0)
    rest = max(0.0, 1.0 - (e0 + 1.0) * lie)
    nodes, deltas = tabled(crowd_table.rows_below(n, e0, lie, rest), n, e0, 0.2, 400)
    shown = shown_by_counts(k, math.log(e0), n, nodes).delta(nodes)
    assert np.allclose(deltas, shown, rtol=1e-4, atol=1e-9)
    monkeypatch.setattr(crowd_table, "_BLOCK", 0.02)
    monkeypatch.setattr(crowd_table, "_TABLE", 1.0)
    blocks = tabled(crowd_table.rows_below(n, e0, lie, rest), n, e0, 0.2, 400)[1]
    assert np.all(blocks <= deltas * (1.0 + 1e-9) + 1e-15)
    assert np.allclose(blocks, deltas, rtol=0.2, atol=1e-9)


def test_both_sides_of_the_size_from_which_on_there_is_a_table():
    """Answers hang together where the way they are computed changes, for every kind of crowd that has a table."""
    for of in (privacy.PureLoss(1.0, unit=REPLACE), privacy.KRRLoss(5, 1.0)):
        ends, level = cover(0 if of.kind == "pure" else 5, math.e)
        sizes = range(200, 6000, 50)
        first = next(n for n in sizes if crowd_table._top(n, math.e, ends, level) is not None)
        small, large = (accounting.epsilon(privacy.Shuffled(of, n), delta=1e-6) for n in (first - 50, first))
        assert 0.97 * math.sqrt((first - 50) / first) < large.upper / small.upper < 1.0
        assert 0.97 * math.sqrt((first - 50) / first) < large.lower / small.lower < 1.0


# --- prices -----------------------------------------------------------------------------------------------------------


def test_rounds_compose_by_every_accountant():
    crowd = privacy.Shuffled(privacy.KRRLoss(4, 1.0), 500)
    rounds = privacy.Repeated(crowd, 10)
    one, ten = accounting.epsilon(crowd, delta=1e-6), accounting.epsilon(rounds, delta=1e-6)
    assert one.upper < ten.upper < 10.0 * one.upper
    assert ten.lower <= ten.upper <= 1.02 * ten.lower
    assert accounting.Rdp().epsilon(rounds, 1e-6).upper < 10.0 * one.upper


def test_one_person_and_no_noise_to_hide_in():
    answers = privacy.KRRLoss(3, 1.0)
    assert privacy.Shuffled(answers, 1) == answers
    few = privacy.Shuffled(privacy.KRRLoss(3, 5.0), 2)
    assert accounting.epsilon(few, delta=1e-9).upper == pytest.approx(5.0, rel=1e-5)
    for epsilon in (0.0, 50.0, 800.0):
        loss = privacy.Shuffled(privacy.RandomizedResponseLoss(epsilon), 1000)
        assert accounting.epsilon(loss, delta=1e-9).upper == pytest.approx(epsilon)


@pytest.mark.parametrize(
    ("build", "told"),
    [
        (lambda: privacy.Shuffled(privacy.PureLoss(1.0), 10), MixedUnits),
        (lambda: privacy.Shuffled(privacy.ApproxLoss(1.0, 1e-6, unit=REPLACE), 10), InvalidParameter),
        (lambda: privacy.Shuffled(privacy.GaussianLoss(1.0, unit=REPLACE), 10), InvalidParameter),
        (lambda: privacy.Shuffled(privacy.KRRLoss(3, 1.0), 0), InvalidParameter),
        (lambda: privacy.Shuffled(privacy.KRRLoss(3, 1.0), 10**10), InvalidParameter),
        (lambda: privacy.Shuffled(privacy.Shuffled(privacy.KRRLoss(3, 1.0), 10), 10), InvalidParameter),
        (lambda: privacy.Shuffled(privacy.FixedSampled(privacy.KRRLoss(3, 1.0), 2, 5), 10), InvalidParameter),
        (lambda: privacy.Shuffled(privacy.KRRLoss(3, 1.0), 10, dealt="no"), InvalidParameter),
    ],
)
def test_what_is_refused(build, told):
    with pytest.raises(told):
        build()


def test_people_who_keep_randomisers_of_their_own_are_not_hidden():
    """Two who answer in words of their own: the multiset of the reports is the reports. Dealt out, they share the words."""
    e, n = math.exp(2.0), 3
    own: dict[int, dict[Any, float]] = {0: {}, 1: {}}
    dealt: dict[int, dict[Any, float]] = {0: {}, 1: {}}
    for value, laws in ((value, (own[value], dealt[value])) for value in (0, 1)):
        people = (value, *(0,) * (n - 1))
        for bits in product((0, 1), repeat=n):
            mass = math.prod((e if bit == held else 1.0) / (e + 1.0) for bit, held in zip(bits, people, strict=True))
            seen = tuple((slot, bit) for slot, bit in enumerate(bits))
            laws[0][seen] = laws[0].get(seen, 0.0) + mass
            for order in permutations(range(n)):  # slot i is dealt to the person order[i]
                shown = tuple((slot, bits[person]) for slot, person in enumerate(order))
                laws[1][shown] = laws[1].get(shown, 0.0) + mass / math.factorial(n)

    def delta(laws: dict[int, dict[Any, float]], epsilon: float) -> float:
        return sum(max(0.0, mass - math.exp(epsilon) * laws[1].get(seen, 0.0)) for seen, mass in laws[0].items())

    price = privacy.Shuffled(privacy.PureLoss(2.0, unit=privacy.Unit("replace")), n, dealt=True)
    for epsilon in (0.5, 1.0, 1.5):
        bound = float(price.variable("remove").delta(epsilon))
        assert delta(dealt, epsilon) <= bound * (1.0 + 1e-9)
        assert delta(own, epsilon) == pytest.approx((e - math.exp(epsilon)) / (e + 1.0))
        assert bound < delta(own, epsilon)  # which is why own randomisers have no price here


@pytest.mark.parametrize("epsilon0", [1e-16, 1e-8, 9e-6, 12.5, 20.0, 50.0, 800.0])
@pytest.mark.parametrize("dealt", [False, True])
def test_where_a_crowd_is_not_counted_the_price_is_that_of_one_report(epsilon0: float, dealt: bool):
    """Differences of curves lose their digits there: one was below the exact law, another never came to an end."""
    one = privacy.RandomizedResponseLoss(epsilon0)
    many = privacy.Shuffled(one, 2, dealt=dealt)
    at = np.array([0.0, epsilon0 / 2.0])
    assert many.variable("remove").delta(at).tolist() == one.variable("remove").delta(at).tolist()


@pytest.mark.parametrize("epsilon0", [1e-5, 1e-3, 12.0])
def test_at_both_ends_of_what_is_counted_the_bound_is_above_every_data_set(epsilon0: float):
    e0 = Fraction(math.exp(epsilon0))
    price = privacy.Shuffled(privacy.KRRLoss(3, epsilon0), 3).variable("remove")
    for share in (0.0, 0.5, 0.9):
        exact = float(shuffled_delta(k_rr(3, e0), 3, Fraction(math.exp(share * epsilon0))))
        assert exact * (1.0 - 1e-9) <= float(price.delta(share * epsilon0)) + 1e-16


def test_the_largest_crowd_has_a_price_in_a_moment():
    most = accounting.epsilon(privacy.Shuffled(privacy.KRRLoss(k=10, epsilon=2.0), n=10**9), delta=1e-9)
    assert 0.9998 * most.upper < most.lower <= most.upper < 3e-4


def test_the_largest_crowd_is_summed_epsilon_by_epsilon():
    """A hundred thousand counts at one epsilon: there were more pieces than epsilons."""
    most = privacy.Shuffled(privacy.KRRLoss(k=10, epsilon=2.0), n=10**9)
    deltas = most.upper_delta(np.array([0.0, 1e-4]))
    assert 0.0 < deltas[1] < deltas[0] < 1e-3

"""Divergences of finite distributions: exact where the input is, against sums over all events and 40-digit values."""

import functools
import math
import operator
from fractions import Fraction
from itertools import chain, combinations, pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from mpmath import mp, mpf

from privet import privacy
from privet.accounting.pld.rounding import lower_law, upper_law
from privet.errors import InvalidParameter
from privet.privacy import divergences
from privet.privacy.atoms import sum_of_atoms
from privet.privacy.divergences import (
    contraction,
    hockey_stick,
    is_approximate_dp,
    push_forward,
    renyi,
    total_variation,
)
from tests.privacy.finite_laws import HALF, THIRD, exact, laws, tuples_of_laws

FAIR_COIN = (("3/4", "1/4"), ("1/4", "3/4"))


def channels(inputs, outputs):
    return st.tuples(*[laws(outputs)] * inputs)


gammas = st.integers(0, 72).map(lambda n: Fraction(n, 12))
gammas_from_one = st.integers(12, 72).map(lambda n: Fraction(n, 12))


def events(outcomes):
    return chain.from_iterable(combinations(range(outcomes), size) for size in range(outcomes + 1))


def best_event(p, q, gamma):
    return max(sum((p[i] - gamma * q[i] for i in event), Fraction(0)) for event in events(len(p)))


def best_outcome(p, q, gamma):
    """A broken twin of the hockey stick: outcomes one by one instead of events."""
    return max(max(a - gamma * b for a, b in zip(p, q, strict=True)), Fraction(0))


def renyi_reference(p, q, alpha):
    with mp.workdps(60):
        total = mpf(0)
        for a, b in zip(p, q, strict=True):
            ratio = a / b
            total += mpf(a.numerator) / a.denominator * (mpf(ratio.numerator) / ratio.denominator) ** (alpha - 1)
        return mp.log(total) / (alpha - 1)


# --- hockey stick and total variation --------------------------------------------------------------------------------


@given(tuples_of_laws(2), gammas)
def test_the_hockey_stick_is_the_best_event(pair, gamma):
    value = hockey_stick(*pair, gamma)
    assert isinstance(value, Fraction)
    assert value == best_event(*pair, gamma)


def test_the_check_over_events_rejects_the_pointwise_twin():
    p, q = exact([1, 1, 0, 0]), exact([0, 0, 1, 1])
    assert best_outcome(p, q, 1) == Fraction(1, 2) != best_event(p, q, 1) == hockey_stick(p, q, 1) == 1


@given(tuples_of_laws(2), gammas.filter(lambda gamma: gamma > 0))
def test_the_other_direction_is_the_mirror_image(pair, gamma):
    p, q = pair
    assert hockey_stick(q, p, gamma) == 1 - gamma + gamma * hockey_stick(p, q, 1 / gamma)


def test_the_mirror_image_rejects_a_forgotten_factor():
    gamma = Fraction(3, 2)
    right = 1 - gamma + gamma * hockey_stick(HALF, THIRD, 1 / gamma)
    forgotten = 1 - gamma + hockey_stick(HALF, THIRD, 1 / gamma)
    assert hockey_stick(THIRD, HALF, gamma) == right != forgotten


@settings(max_examples=25)
@given(tuples_of_laws(2), gammas)
def test_floats_agree_with_fractions(pair, gamma):
    in_floats = [[float(x) for x in law] for law in pair]
    for value in (hockey_stick(*in_floats, float(gamma)), hockey_stick(np.array(in_floats[0]), in_floats[1], gamma)):
        assert isinstance(value, float)
        assert value == pytest.approx(float(hockey_stick(*pair, gamma)), rel=1e-13, abs=1e-15)
    assert total_variation(*in_floats) == pytest.approx(float(total_variation(*pair)), rel=1e-13, abs=1e-15)


def test_float_sums_do_not_lose_small_terms():
    n = 10_000  # a running sum in double precision loses digits here
    p = [0.5] + [0.5 / n] * n
    q = [1.0] + [0.0] * n
    running = functools.reduce(operator.add, [0.5 / n] * n)  # Python's own sum has kept small terms since 3.12
    assert hockey_stick(p, q, 1.0) == math.fsum([0.5 / n] * n) != running


def test_one_inexact_number_makes_the_result_a_float():
    assert isinstance(hockey_stick(HALF, THIRD, 1), Fraction)
    assert isinstance(hockey_stick(HALF, THIRD, 1.0), float)
    assert isinstance(hockey_stick(HALF, (0.25, 0.75), 1), float)
    assert isinstance(hockey_stick(("1/2", "0.5"), (np.int64(0), 1), "3/2"), Fraction)


@given(tuples_of_laws(2))
def test_total_variation_is_the_hockey_stick_at_one_and_symmetric(pair):
    p, q = pair
    assert total_variation(p, q) == hockey_stick(p, q, 1) == hockey_stick(q, p, 1)


@given(tuples_of_laws(3))
def test_total_variation_is_a_distance(triple):
    p, q, r = triple
    assert total_variation(p, r) <= total_variation(p, q) + total_variation(q, r)
    assert (total_variation(p, q) == 0) == (p == q)


def test_gamma_zero_sees_all_of_p():
    assert hockey_stick(HALF, THIRD, 0) == 1


# --- Rényi -----------------------------------------------------------------------------------------------------------


@given(tuples_of_laws(2, zeros=False), st.sampled_from([0.3, 0.5, 0.999, 1.001, 1.5, 2.0, 7.5, 40.0]))
def test_renyi_agrees_with_forty_digits(pair, alpha):
    assert renyi(*pair, alpha) == pytest.approx(float(renyi_reference(*pair, alpha)), rel=1e-11, abs=1e-15)


@settings(max_examples=25)
@given(tuples_of_laws(2))
def test_renyi_in_floats_agrees_with_fractions(pair):
    in_floats = [[float(x) for x in law] for law in pair]
    for alpha in (0.5, 1.0, 3.0, math.inf):
        assert renyi(*in_floats, alpha) == pytest.approx(renyi(*pair, alpha), rel=1e-9, abs=1e-14)


@settings(max_examples=25)
@given(tuples_of_laws(2))
def test_renyi_grows_with_the_order(pair):
    values = [renyi(*pair, alpha) for alpha in (0.25, 0.5, 0.99, 1.0, 1.01, 2.0, 10.0, 300.0, math.inf)]
    assert all(low <= high * (1 + 1e-9) + 1e-15 for low, high in pairwise(values))


def test_renyi_at_one_is_continuous():
    kl = 0.5 * math.log(1.5) + 0.5 * math.log(0.75)
    assert renyi(HALF, THIRD, 1) == pytest.approx(kl, rel=1e-14)
    for alpha in (1 - 1e-12, 1 + 1e-12):
        assert renyi(HALF, THIRD, alpha) == pytest.approx(kl, rel=1e-10)


def test_infinity_is_a_legal_divergence():
    p, q = (0.5, 0.5, 0.0), (0.5, 0.0, 0.5)
    assert [renyi(p, q, alpha) for alpha in (1.0, 2.0, math.inf)] == [math.inf] * 3
    assert renyi(p, q, 0.5) == pytest.approx(2 * math.log(2))  # shared mass sqrt(1/4) = 1/2
    assert renyi((1, 0), (0, 1), 0.5) == math.inf
    tiny = Fraction(1, 10**30)
    assert renyi((tiny, 1 - tiny, 0), (tiny, 0, 1 - tiny), 0.5) == pytest.approx(60 * math.log(10))


def test_mass_that_is_not_shared_counts_below_order_one():
    p, q = exact([4, 5, 1, 0]), exact([5, 4, 0, 1])
    shared = 2 * math.sqrt(0.4 * 0.5)  # the tenth that the other law never shows contributes nothing
    assert renyi(p, q, 0.5) == pytest.approx(-2 * math.log(shared), rel=1e-14)


def test_a_small_loss_keeps_its_digits():
    shift = Fraction(1, 10**12)
    p = (HALF[0] + shift, HALF[1] - shift)
    assert renyi(p, HALF, math.inf) == pytest.approx(2e-12, rel=1e-11, abs=0)
    assert renyi([0.5 + 2**-40, 0.5 - 2**-40], HALF, math.inf) == pytest.approx(2**-39, rel=1e-11, abs=0)


def test_the_largest_loss_survives_probabilities_below_the_smallest_float():
    tiny = Fraction(1, 10**400)
    q = (tiny, 1 - tiny)
    assert renyi(HALF, q, math.inf) == pytest.approx(400 * math.log(10) - math.log(2), rel=1e-14)
    assert renyi(HALF, q, 2.0) == pytest.approx(400 * math.log(10) - 2 * math.log(2), rel=1e-14)


@given(tuples_of_laws(2, zeros=False), st.sampled_from([1.5, 2.0, 8.0]))
def test_the_price_of_a_finite_pair_is_not_below_its_renyi_divergence(pair, alpha):
    loss = privacy.FinitePairLoss(*pair)
    truth = max(renyi(*pair, alpha), renyi(*reversed(pair), alpha))
    priced = float(loss.rdp(np.array([alpha])).values[0])
    assert truth * (1 - 1e-10) - 1e-13 <= priced <= truth * (1 + 1e-6) + 1e-12


@settings(max_examples=25)
@given(tuples_of_laws(2), st.floats(-2.0, 3.0))
def test_the_profile_of_a_finite_pair_is_its_hockey_stick(pair, epsilon):
    loss = privacy.FinitePairLoss(*pair)
    gamma = math.exp(epsilon)
    assert float(loss.profile(epsilon, "remove")) == pytest.approx(hockey_stick(*pair, gamma), abs=1e-12)
    assert float(loss.profile(epsilon, "add")) == pytest.approx(hockey_stick(*reversed(pair), gamma), abs=1e-12)


@pytest.mark.parametrize("apart", [7, 8, 9, 20])
def test_outcomes_with_nearly_the_same_loss_are_enclosed(apart):
    """Losses 1e-14 apart are listed as one: the rarer outcome alone is seen above the other, and must not be forgotten."""
    ratios, q = (Fraction(2), 2 * (1 + Fraction(apart, 10**15))), (Fraction(1, 4), Fraction(1, 1000))
    p = [r * mass for r, mass in zip(ratios, q, strict=True)]
    loss = privacy.FinitePairLoss((*p, 1 - sum(p)), (*q, 1 - sum(q)))
    for ulps in (2, 4, 8, 12):
        epsilon = math.log(ratios[1]) - ulps * math.ulp(0.5)
        with mp.workdps(40):
            gamma = mp.exp(mpf(epsilon))
            excess = [
                mpf(a.numerator) / a.denominator - gamma * b.numerator / b.denominator
                for a, b in zip(p, q, strict=True)
            ]
            low, high = loss.variable("remove").enclose(epsilon)
            assert low <= sum(max(each, mpf(0)) for each in excess) <= high


def test_what_listed_losses_miss_is_charged_for_every_copy():
    pair = privacy.FinitePairLoss(("1/2", "1/2"), ("1/3", "2/3"))
    one = pair.variable("remove")
    assert one.blur == 1e-14
    assert sum_of_atoms([(one, 3)], 100).blur > 3e-14
    sampled = privacy.PoissonSampled(pair, q=0.5)
    for loss in (pair, sampled):
        assert upper_law(loss, "remove", 1e-3, 1e-16).shift >= 1e-14
        assert lower_law(loss, "add", 1e-3, 1e-16).shift >= 1e-14


# --- channels --------------------------------------------------------------------------------------------------------

small_channel = st.tuples(st.integers(2, 4), st.integers(2, 4)).flatmap(
    lambda shape: st.tuples(laws(shape[0]), laws(shape[0]), channels(*shape))
)


@settings(max_examples=25)
@given(small_channel, gammas_from_one)
def test_a_channel_contracts_by_its_coefficient(case, gamma):
    p, q, channel = case
    before = hockey_stick(p, q, gamma)
    after = hockey_stick(push_forward(p, channel), push_forward(q, channel), gamma)
    assert after <= contraction(channel, gamma) * before


@settings(max_examples=25)
@given(small_channel, gammas_from_one)
def test_no_smaller_coefficient_will_do(case, gamma):
    _, _, channel = case
    n = len(channel)
    points = [tuple(int(i == j) for j in range(n)) for i in range(n)]
    pairs = [
        (hockey_stick(push_forward(a, channel), push_forward(b, channel), gamma), hockey_stick(a, b, gamma))
        for a in points
        for b in points
        if a != b
    ]
    assert max(after for after, _ in pairs) == contraction(channel, gamma)
    assert all(before == 1 for _, before in pairs)


def test_the_contraction_check_rejects_a_coefficient_of_neighbouring_rows_only():
    gamma, channel = Fraction(2), (exact([6, 2]), exact([4, 4]), exact([2, 6]))
    broken = max(hockey_stick(a, b, gamma) for a, b in pairwise(channel))  # skips the pair 0, 2
    p, q = (1, 0, 0), (0, 0, 1)
    after = hockey_stick(push_forward(p, channel), push_forward(q, channel), gamma)
    assert broken * hockey_stick(p, q, gamma) < after <= contraction(channel, gamma) * hockey_stick(p, q, gamma)


def test_the_contraction_check_rejects_one_direction_only():
    gamma, channel = Fraction(3, 2), (THIRD, (1, 0))
    one_way = hockey_stick(channel[0], channel[1], gamma)
    other_way = hockey_stick(channel[1], channel[0], gamma)
    assert one_way != other_way
    assert contraction(channel, gamma) == max(one_way, other_way) == contraction(channel[::-1], gamma)


@settings(max_examples=25)
@given(small_channel, gammas_from_one)
def test_contraction_in_floats_agrees_with_fractions(case, gamma):
    channel = case[2]
    table = np.array([[float(x) for x in row] for row in channel])
    value = contraction(table, float(gamma))
    assert isinstance(value, float)
    assert value == pytest.approx(float(contraction(channel, gamma)), rel=1e-12, abs=1e-15)


def test_contraction_below_one_would_be_wrong_and_is_refused():
    gamma = Fraction(1, 2)
    rows = (exact([3, 1]), exact([1, 3]))
    coefficient = max(hockey_stick(a, b, gamma) for a in rows for b in rows)
    after = hockey_stick(push_forward(HALF, rows), push_forward(HALF, rows), gamma)
    assert after == gamma > coefficient * hockey_stick(HALF, HALF, gamma)
    with pytest.raises(InvalidParameter, match="gamma must be at least 1"):
        contraction(rows, gamma)


def test_a_constant_channel_forgets_everything():
    assert contraction((HALF, HALF, HALF), 1) == 0
    assert contraction((HALF,), 1) == 0


@settings(max_examples=25)
@given(small_channel)
def test_push_forward_is_a_distribution_and_linear(case):
    p, q, channel = case
    pushed = push_forward(p, channel)
    assert sum(pushed) == 1
    mixed = push_forward([(a + b) / 2 for a, b in zip(p, q, strict=True)], channel)
    assert mixed == tuple((a + b) / 2 for a, b in zip(pushed, push_forward(q, channel), strict=True))
    in_floats = push_forward([float(x) for x in p], [[float(x) for x in row] for row in channel])
    assert in_floats == pytest.approx([float(x) for x in pushed], abs=1e-15)


# --- the checker of (epsilon, delta) ---------------------------------------------------------------------------------


@given(tuples_of_laws(2), st.integers(0, 12).map(lambda n: Fraction(n, 12)))
def test_the_checker_at_epsilon_zero_is_total_variation(pair, delta):
    assert is_approximate_dp(*pair, 0, delta) == (total_variation(*pair) <= delta)


@settings(max_examples=25)
@given(tuples_of_laws(2), st.floats(0.0, 2.0))
def test_the_checker_turns_at_the_profile(pair, epsilon):
    worst = max(hockey_stick(*pair, math.exp(epsilon)), hockey_stick(*reversed(pair), math.exp(epsilon)))
    assert is_approximate_dp(*pair, epsilon, min(1.0, worst + 1e-12))
    assume(worst > 1e-6)
    assert not is_approximate_dp(*pair, epsilon, worst - 1e-12)


def test_the_checker_looks_both_ways():
    p, q = (Fraction(1), Fraction(0)), (Fraction(9, 10), Fraction(1, 10))
    epsilon = 0.2  # p <= e^epsilon q everywhere, but q shows what p never shows
    assert hockey_stick(p, q, math.exp(epsilon)) == 0 < hockey_stick(q, p, math.exp(epsilon))
    assert not is_approximate_dp(p, q, epsilon, 0.05)
    assert not is_approximate_dp(q, p, epsilon, 0.05)
    assert is_approximate_dp(p, q, epsilon, "1/10")


def test_the_checker_never_says_yes_by_rounding():
    epsilon = math.log(3)
    for delta in (0, 1e-18):
        assert not is_approximate_dp(*FAIR_COIN, epsilon * (1 - 1e-15), delta)
    assert is_approximate_dp(*FAIR_COIN, epsilon * (1 + 1e-15), 0)
    assert is_approximate_dp(HALF, HALF, 1e-300, 0)
    assert is_approximate_dp((0, 1), (1, 0), 1e6, 1)
    assert not is_approximate_dp((0, 1), (1, 0), 1e6, 0.999)


# --- refusals --------------------------------------------------------------------------------------------------------

BAD_LAWS = [
    (),
    (0.5, 0.6),
    (0.5, 0.5 + 1e-8),
    ("1/2", "1/3"),
    (Fraction(1, 2), Fraction(1, 2) + Fraction(1, 10**30)),
    (1.5, -0.5),
    (1 + Fraction(1, 10**400), -Fraction(1, 10**400)),
    (math.nan, 1.0),
    (math.inf, 0.0),
    (True, False),
    ("one", 0),
    ("1/0", 0),
    (None, 1),
    "10",
    0.5,
]


@pytest.mark.parametrize("bad", BAD_LAWS, ids=repr)
def test_what_is_no_distribution_is_refused(bad):
    for call in (
        lambda: hockey_stick(bad, HALF, 1),
        lambda: hockey_stick(HALF, bad, 1),
        lambda: total_variation(bad, HALF),
        lambda: renyi(bad, HALF, 2.0),
        lambda: contraction((bad, HALF), 1),
        lambda: push_forward(bad, (HALF, HALF)),
        lambda: push_forward(HALF, (HALF, bad)),
        lambda: is_approximate_dp(bad, HALF, 1.0, 0.1),
    ):
        with pytest.raises(InvalidParameter):
            call()


def test_lengths_must_agree():
    three = exact([1, 1, 1])
    for call in (
        lambda: hockey_stick(HALF, three, 1),
        lambda: renyi(three, HALF, 1),
        lambda: contraction((HALF, three), 1),
        lambda: push_forward(three, (HALF, HALF)),
        lambda: contraction((), 1),
        lambda: contraction("ab", 1),
    ):
        with pytest.raises(InvalidParameter):
            call()


@pytest.mark.parametrize("gamma", [-1, Fraction(-1, 10**400), -0.5, math.nan, math.inf, "gamma", None, True])
def test_a_bad_gamma_is_refused(gamma):
    for call in (lambda: hockey_stick(HALF, THIRD, gamma), lambda: contraction((HALF, THIRD), gamma)):
        with pytest.raises(InvalidParameter):
            call()


@pytest.mark.parametrize("alpha", [0, -1.0, math.nan, -math.inf, "2", None])
def test_a_bad_order_is_refused(alpha):
    with pytest.raises(InvalidParameter):
        renyi(HALF, THIRD, alpha)


def test_a_bad_claim_is_refused():
    for epsilon, delta in ((-0.1, 0.1), (math.nan, 0.1), (math.inf, 0.1), (0.1, -0.1), (0.1, 1.1), (0.1, math.nan)):
        with pytest.raises(InvalidParameter):
            is_approximate_dp(HALF, THIRD, epsilon, delta)


def test_everything_public_is_tested_here():
    public = {
        name for name, value in vars(divergences).items() if getattr(value, "__module__", "") == divergences.__name__
    }
    assert {name for name in public if not name.startswith("_")} <= set(globals())

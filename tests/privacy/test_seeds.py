"""The lectures' statements about privacy, their examples and counter-examples, through the public interface.

Where a statement is checked by a helper (over all events, over all tests, ...), a broken twin of the mechanism or of
the check shows that the helper can say no.
"""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from privet import accounting, privacy
from privet.errors import InvalidParameter, MixedUnits, NoGuarantee
from privet.privacy import divergences
from tests.privacy.finite_laws import HALF, THIRD, exact, laws, tuples_of_laws

FAIR_COIN = ((Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4)))


gammas = st.integers(12, 60).map(lambda n: Fraction(n, 12))  # from 1 to 5


def k_rr_channel(k, odds):
    """k-ary randomized response with e^epsilon = odds."""
    return [exact([odds if x == y else 1 for y in range(k)]) for x in range(k)]


def product_law(*parts):
    return tuple(math.prod(outcome, start=Fraction(1)) for outcome in product(*parts))


def worst(p, q, gamma):
    return max(divergences.hockey_stick(p, q, gamma), divergences.hockey_stick(q, p, gamma))


# --- approximate privacy is about events; the privacy loss variable is something else -------------------------------


def holds_for_every_event(p, q, gamma, delta):
    return all(
        sum(a[i] for i in event) <= gamma * sum(b[i] for i in event) + delta
        for a, b in ((p, q), (q, p))
        for size in range(len(p) + 1)
        for event in combinations(range(len(p)), size)
    )


def holds_for_every_outcome(p, q, gamma, delta):
    """The broken twin: right for pure privacy, wrong for delta > 0."""
    return all(x <= gamma * y + delta for a, b in ((p, q), (q, p)) for x, y in zip(a, b, strict=True))


def test_the_converse_fails_a_loss_above_zero_with_probability_one_half():
    loss = privacy.FinitePairLoss(HALF, THIRD)
    assert divergences.is_approximate_dp(HALF, THIRD, 0, Fraction(1, 6))
    assert not divergences.is_approximate_dp(HALF, THIRD, 0, Fraction(1, 6) - Fraction(1, 10**20))
    for direction in ("remove", "add"):
        assert float(loss.profile(0.0, direction)) == pytest.approx(1 / 6, rel=1e-14)
    bound = accounting.delta(loss, epsilon=0.0)
    assert bound.lower <= 1 / 6 <= bound.upper == pytest.approx(1 / 6, rel=1e-6)
    above = loss.variable("remove").probability_above(0.0)
    assert above == 0.5
    assert not 1 - above >= 5 / 6  # "loss <= 0 with probability at least 5/6" is false


@pytest.mark.parametrize("m", [2, 5, 40])
def test_the_data_set_with_a_random_number_is_not_private_at_all(m):
    p, q = exact([1] * m + [0] * m), exact([0] * m + [1] * m)
    assert divergences.hockey_stick(p, q, 1) == 1
    assert not divergences.is_approximate_dp(p, q, 0, Fraction(1, m))
    assert not divergences.is_approximate_dp(p, q, 50.0, 1 - Fraction(1, 10**9))
    assert holds_for_every_outcome(p, q, 1, Fraction(1, m))  # what misleads: no single outcome gives it away
    loss = privacy.FinitePairLoss(p, q)
    assert float(loss.profile(0.0)) == 1.0
    assert loss.pure() == math.inf
    assert float(loss.rdp(np.array([2.0])).values[0]) == math.inf


@settings(max_examples=25)
@given(tuples_of_laws(2, most=5), gammas, st.integers(0, 12).map(lambda n: Fraction(n, 12)))
def test_the_hockey_stick_decides_the_definition(pair, gamma, delta):
    assert holds_for_every_event(*pair, gamma, delta) == (worst(*pair, gamma) <= delta)


def test_the_pointwise_twin_is_rejected_by_the_definition():
    m = 4
    p, q = exact([1] * m + [0] * m), exact([0] * m + [1] * m)
    assert holds_for_every_outcome(p, q, 1, Fraction(1, m))
    assert not holds_for_every_event(p, q, 1, Fraction(1, m))
    assert holds_for_every_event(p, q, 1, 1)


@settings(max_examples=25)
@given(tuples_of_laws(2), gammas)
def test_for_pure_privacy_single_outcomes_are_enough(pair, gamma):
    assert holds_for_every_outcome(*pair, gamma, 0) == holds_for_every_event(*pair, gamma, 0)


@given(tuples_of_laws(2), gammas)
def test_a_loss_bounded_with_probability_one_minus_delta_implies_privacy(pair, gamma):
    p, q = pair
    tail = sum((a for a, b in zip(p, q, strict=True) if a > gamma * b), Fraction(0))  # Pr[L > ln gamma], exactly
    assert divergences.hockey_stick(p, q, gamma) <= tail
    variable = privacy.FinitePairLoss(p, q).variable("remove")
    epsilon = math.log(gamma) + 1e-9  # a little above, so that an atom at ln gamma is on the same side in floats
    assert float(variable.delta(epsilon)) <= variable.probability_above(epsilon) + 1e-12
    assert variable.probability_above(epsilon) <= float(tail) + 1e-12


def test_accountants_agree_that_disjoint_laws_are_not_private():
    assert accounting.delta(privacy.FinitePairLoss((1, 0), (0, 1)), epsilon=0.0).upper == 1.0


def test_releasing_everything_with_probability_delta_is_zero_delta_private():
    delta = Fraction(1, 1000)
    p, q = (1 - delta, delta, 0), (1 - delta, 0, delta)
    assert divergences.is_approximate_dp(p, q, 0, delta)
    assert not divergences.is_approximate_dp(p, q, 30.0, delta * Fraction(999, 1000))  # no epsilon buys it off
    assert privacy.FinitePairLoss(p, q).variable("remove").p_only == pytest.approx(1e-3)


# --- local privacy and contraction ----------------------------------------------------------------------------------


def test_randomized_response_with_a_fair_coin_is_ln_three():
    loss = privacy.RandomizedResponseLoss.from_lie_probability(0.25)
    assert loss.epsilon == pytest.approx(math.log(3), rel=1e-15)
    assert round(loss.epsilon, 10) == 1.0986122887
    assert loss.lie_probability == pytest.approx(0.25)
    assert divergences.contraction(FAIR_COIN, 3) == 0 < divergences.contraction(FAIR_COIN, Fraction(299, 100))
    assert privacy.FinitePairLoss(*FAIR_COIN).pure() == pytest.approx(math.log(3), rel=1e-14)
    for epsilon in (0.0, 0.5, 1.0):
        truth = divergences.hockey_stick(*FAIR_COIN, math.exp(epsilon))
        assert float(loss.profile(epsilon)) == pytest.approx(truth, rel=1e-13)
        assert accounting.delta(loss, epsilon=epsilon).upper == pytest.approx(truth, rel=1e-6)


@pytest.mark.parametrize(("k", "odds"), [(2, 3), (3, 4), (5, Fraction(7, 2)), (16, 8)])
def test_k_rr_is_locally_private_exactly_where_its_contraction_vanishes(k, odds):
    channel = k_rr_channel(k, odds)
    assert divergences.contraction(channel, odds) == 0
    just_below = odds * (1 - Fraction(1, 10**12))
    assert divergences.contraction(channel, just_below) > 0
    loss = privacy.KRRLoss(k=k, epsilon=math.log(odds))
    assert loss.pure() == math.log(odds)
    for gamma in (Fraction(1), Fraction(3, 2), (1 + odds) / Fraction(2)):
        truth = float(divergences.contraction(channel, gamma))
        assert float(loss.profile(math.log(gamma))) == pytest.approx(truth, rel=1e-12)


def test_a_channel_that_lies_too_rarely_is_caught_by_its_contraction():
    channel = k_rr_channel(4, 3)
    truthful = [*channel[:3], exact([1, 1, 1, 4])]  # the last input is treated with odds 4 instead of 3
    assert divergences.contraction(channel, 3) == 0
    assert divergences.contraction(truthful, 3) == Fraction(1, 14)


def test_golden_values_of_k_rr():
    assert round(float(privacy.KRRLoss(k=1024, epsilon=2.0).profile(0.0)), 10) == 0.0062006250
    three = privacy.Repeated(privacy.KRRLoss(k=3, epsilon=math.log(4)), 5)
    assert accounting.epsilon(three, delta=1e-6).upper == pytest.approx(6.9314642118, abs=2e-6)


@settings(max_examples=25)
@given(st.integers(2, 4).flatmap(lambda n: st.tuples(laws(n), laws(n), st.tuples(*[laws(3)] * n))), gammas)
def test_post_processing_never_costs_and_contracts(case, gamma):
    p, q, channel = case
    before = divergences.hockey_stick(p, q, gamma)
    after = divergences.hockey_stick(*(divergences.push_forward(law, channel) for law in (p, q)), gamma)
    assert after <= divergences.contraction(channel, gamma) * before <= before


# --- hypothesis testing ---------------------------------------------------------------------------------------------


def every_test(p, q):
    """(false alarm, missed detection) of every deterministic rejection region; the null hypothesis is p."""
    for size in range(len(p) + 1):
        for region in combinations(range(len(p)), size):
            yield sum((p[i] for i in region), Fraction(0)), 1 - sum((q[i] for i in region), Fraction(0))


def inside_the_region(p, q, gamma, delta):
    """P_MD + gamma P_FA >= 1 - delta and the mirrored condition, over all tests."""
    return all(md + gamma * fa >= 1 - delta and fa + gamma * md >= 1 - delta for fa, md in every_test(p, q))


@settings(max_examples=25)
@given(tuples_of_laws(2), gammas)
def test_errors_of_every_test_stay_in_the_region_and_touch_it(pair, gamma):
    delta = worst(*pair, gamma)
    assert inside_the_region(*pair, gamma, delta)
    if delta > 0:
        assert not inside_the_region(*pair, gamma, delta * Fraction(999, 1000))


def test_the_region_rejects_a_forgotten_factor_and_a_missing_mirror():
    p, q = FAIR_COIN
    assert inside_the_region(p, q, 3, 0)
    assert not inside_the_region(p, q, 1, 0)  # e^epsilon forgotten
    p, q = (Fraction(1), Fraction(0)), (Fraction(9, 10), Fraction(1, 10))
    one_sided = all(fa + 2 * md >= 1 for fa, md in every_test(p, q))
    assert one_sided
    assert not inside_the_region(p, q, 2, 0)  # the other condition is violated: q shows what p never does


@pytest.mark.parametrize(
    ("loss", "p", "q"),
    [
        (privacy.RandomizedResponseLoss(math.log(3)), *FAIR_COIN),
        (privacy.KRRLoss(k=4, epsilon=math.log(3)), *k_rr_channel(4, 3)[:2]),
        (privacy.FinitePairLoss(HALF, THIRD), HALF, THIRD),
        (privacy.PureLoss(math.log(3)), *FAIR_COIN),
    ],
    ids=["randomized response", "k-RR", "the pair of the lecture", "pure"],
)
def test_the_trade_off_curve_is_below_every_test(loss, p, q):
    pairs = [(float(fa), float(md)) for fa, md in (*every_test(p, q), *every_test(q, p))]
    certified = accounting.tradeoff(loss, np.array([fa for fa, _ in pairs]))
    assert all(floor <= md + 1e-12 for floor, (_, md) in zip(certified, pairs, strict=True))
    best = max(1 - fa - md for fa, md in pairs)
    assert accounting.advantage(loss).upper == pytest.approx(best, rel=1e-6)


def test_a_trade_off_curve_of_half_the_price_is_refuted_by_a_test():
    pairs = [(float(fa), float(md)) for fa, md in every_test(*FAIR_COIN)]
    claimed = accounting.tradeoff(privacy.PureLoss(math.log(3) / 2), np.array([fa for fa, _ in pairs]))
    assert any(floor > md + 0.01 for floor, (_, md) in zip(claimed, pairs, strict=True))


# --- groups ---------------------------------------------------------------------------------------------------------


def test_group_privacy_of_pure_losses():
    group = privacy.Grouped(privacy.PureLoss(0.5), 3)
    assert group.pure() == 1.5
    assert group.unit.group_size == 3
    assert accounting.epsilon(group, delta=0.0).upper == 1.5


@pytest.mark.parametrize(
    ("epsilon", "delta", "size", "total", "failure"),
    [(0.5, 1e-6, 3, 1.5, "5.367003099e-06"), (1.0, 1e-5, 2, 2.0, "3.718281828e-05")],
)
def test_group_privacy_of_approximate_losses(epsilon, delta, size, total, failure):
    group = privacy.Grouped(privacy.ApproxLoss(epsilon, delta), size)
    assert group.approximate().epsilon == total
    assert f"{group.approximate().delta:.9e}" == failure
    basic = accounting.Basic().delta(group, total)
    assert basic.upper == pytest.approx(sum(delta * math.exp(i * epsilon) for i in range(size)), rel=1e-12)
    with pytest.raises(NoGuarantee):
        accounting.Basic().epsilon(group, size * delta)  # the forgotten factor: k delta is not enough


def test_the_default_accountant_prices_groups_of_approximate_losses():
    group = privacy.Grouped(privacy.ApproxLoss(0.5, 1e-6), 3)
    assert accounting.delta(group, epsilon=1.5).upper == pytest.approx(5.367003099e-6, rel=1e-9)
    assert accounting.epsilon(group, delta=5.3671e-6).upper <= 1.5 * (1 + 1e-9)


def chain_bound(p, q, r, gamma_1, gamma_2, *, factor=True):
    first = divergences.hockey_stick(p, q, gamma_1)
    return first + (gamma_1 if factor else 1) * divergences.hockey_stick(q, r, gamma_2)


@given(tuples_of_laws(3), gammas, gammas)
def test_the_chain_bound_of_groups(triple, gamma_1, gamma_2):
    p, _, r = triple
    assert divergences.hockey_stick(p, r, gamma_1 * gamma_2) <= chain_bound(*triple, gamma_1, gamma_2)


def test_the_chain_bound_rejects_a_forgotten_factor_and_swapped_orders():
    p, q, r = exact([10, 0]), exact([5, 5]), exact([2, 8])
    truth = divergences.hockey_stick(p, r, 2 * Fraction(3, 2))
    assert truth == Fraction(2, 5)
    assert truth <= chain_bound(p, q, r, 2, Fraction(3, 2)) == Fraction(2, 5)
    assert truth > chain_bound(p, q, r, 2, Fraction(3, 2), factor=False)
    # the factor belongs to the first link, not to the second
    swapped = divergences.hockey_stick(p, q, 2) + Fraction(3, 2) * divergences.hockey_stick(q, r, Fraction(3, 2))
    assert truth > swapped


@settings(max_examples=25)
@given(st.integers(2, 4).flatmap(lambda n: st.tuples(laws(n), st.tuples(*[laws(n)] * n))), gammas)
def test_the_formula_for_groups_holds_along_a_markov_chain(case, gamma):
    start, channel = case
    second = divergences.push_forward(start, channel)
    third = divergences.push_forward(second, channel)
    link = max(worst(start, second, gamma), worst(second, third, gamma))
    assert worst(start, third, gamma**2) <= link * (1 + gamma)  # (gamma^2 - 1)/(gamma - 1), also at gamma = 1


@settings(max_examples=20)
@given(st.lists(st.integers(1, 9), min_size=3, max_size=5))
def test_the_price_of_a_group_covers_a_chain_of_equal_links(weights):
    p, q, r = (exact(weights[shift:] + weights[:shift]) for shift in range(3))  # one rotation a link: equal curves
    link = privacy.FinitePairLoss(p, q)
    group = privacy.Grouped(link, 2)
    assert group.pure() * (1 + 1e-12) >= privacy.FinitePairLoss(p, r).pure()
    for epsilon in (0.0, 0.2, 0.7, 1.5):
        truth = float(worst(p, r, math.exp(epsilon)))
        assert float(group.profile(epsilon)) >= truth * (1 - 1e-12)
        lecture = float(link.profile(epsilon / 2)) * (1 + math.exp(epsilon / 2))
        assert truth <= lecture + 1e-12


def test_a_group_priced_as_one_record_is_refuted_by_a_chain():
    p, q, r = exact([4, 2, 1, 1, 2]), exact([2, 4, 2, 1, 1]), exact([1, 2, 4, 2, 1])
    once, group = privacy.FinitePairLoss(p, q), privacy.Grouped(privacy.FinitePairLoss(p, q), 2)
    truth = float(worst(p, r, 2))
    assert truth == pytest.approx(0.2)
    assert float(once.profile(math.log(2))) < 1e-12 < truth <= float(group.profile(math.log(2)))


# --- composition ----------------------------------------------------------------------------------------------------


def test_basic_composition_adds_up():
    parts = (privacy.ApproxLoss(0.5, 1e-6), privacy.ApproxLoss(0.25, 2e-6), privacy.PureLoss(0.125))
    total = privacy.Composed(parts).approximate()
    assert total.epsilon == 0.875
    assert total.delta == pytest.approx(3e-6, rel=1e-12)
    assert accounting.Basic().epsilon(privacy.Composed(parts), 3e-6).upper == 0.875
    assert accounting.epsilon(privacy.Composed(parts), delta=3e-6).upper <= 0.875 * (1 + 1e-9)


@settings(max_examples=25)
@given(tuples_of_laws(2, most=3), tuples_of_laws(2, most=3), gammas, gammas)
def test_basic_composition_holds_for_pairs(one, two, gamma_1, gamma_2):
    p, q = product_law(one[0], two[0]), product_law(one[1], two[1])
    allowed = worst(*one, gamma_1) + worst(*two, gamma_2)
    assert worst(p, q, gamma_1 * gamma_2) <= allowed


def test_basic_composition_rejects_the_price_of_one_part():
    p, q = FAIR_COIN
    twice = product_law(p, p), product_law(q, q)
    assert worst(*twice, 9) == 0
    assert worst(*twice, 3) == Fraction(9, 16) - 3 * Fraction(1, 16)  # max instead of sum would claim 0


@pytest.mark.parametrize("times", [1, 2, 3, 6])
def test_the_accountant_encloses_the_exact_product(times):
    p, q = product_law(*[HALF] * times), product_law(*[THIRD] * times)
    loss = privacy.Repeated(privacy.FinitePairLoss(HALF, THIRD), times)
    for epsilon in (0.0, 0.1, 0.5):
        truth = float(worst(p, q, math.exp(epsilon)))
        bound = accounting.delta(loss, epsilon=epsilon)
        assert bound.lower <= truth * (1 + 1e-12) + 1e-15
        assert truth <= bound.upper * (1 + 1e-12)
        assert bound.upper <= truth * (1 + 1e-3) + 1e-9


def test_both_directions_of_a_composition_have_the_same_total_variation():
    loss = privacy.Repeated(privacy.FinitePairLoss(HALF, THIRD), 3)
    truth = float(divergences.total_variation(product_law(*[HALF] * 3), product_law(*[THIRD] * 3)))
    assert float(loss.profile(0.0, "remove")) == pytest.approx(truth, rel=1e-12)
    assert float(loss.profile(0.0, "add")) == pytest.approx(truth, rel=1e-12)


def test_parallel_composition_is_the_dearest_block():
    blocks = [privacy.PureLoss(0.5), privacy.PureLoss(1.0), privacy.PureLoss(0.25)]
    together = privacy.Parallel(blocks)
    assert together.pure() == 1.0
    assert accounting.epsilon(together, delta=0.0).upper == 1.0
    assert privacy.Composed(blocks).pure() == 1.75
    with pytest.raises(MixedUnits):  # under replace a record may move from one block to another
        privacy.Parallel([privacy.KRRLoss(k=2, epsilon=0.5), privacy.KRRLoss(k=2, epsilon=1.0)])
    assert privacy.to_replace(together).pure() == 2.0


def test_parallel_composition_holds_for_disjoint_blocks_and_fails_for_shared_ones():
    p, q = FAIR_COIN
    untouched = exact([2, 3])
    assert worst(product_law(p, untouched), product_law(q, untouched), 3) == 0
    assert worst(product_law(p, p), product_law(q, q), 3) > 0  # both blocks saw the record


def test_advanced_composition_and_its_corollary():
    assert accounting.advanced_epsilon(0.1, 100, 1e-6, sharp=False) == pytest.approx(6.3082, abs=5e-5)
    by_hand = 0.1 * math.sqrt(2 * 100 * math.log(1e6)) + 100 * 0.1 * (math.exp(0.1) - 1)
    assert accounting.advanced_epsilon(0.1, 100, 1e-6, sharp=False) == pytest.approx(by_hand, rel=1e-14)
    assert accounting.advanced_epsilon(0.1, 100, 1e-6) == pytest.approx(5.7561, abs=5e-5)
    corollary = accounting.per_step_epsilon_corollary(1.0, 100, 1e-6)
    inverse = accounting.per_step_epsilon(1.0, 100, 1e-6)
    assert round(corollary, 8) == 0.00951199
    assert round(inverse, 8) == 0.01837567
    assert accounting.advanced_epsilon(corollary, 100, 1e-6, sharp=False) < 1.0
    assert accounting.advanced_epsilon(inverse, 100, 1e-6, sharp=False) == pytest.approx(1.0, rel=1e-12)


def test_the_corollary_is_refused_where_it_is_false():
    broken = 1.0 / math.sqrt(8 * 1 * math.log(1 / 0.75))  # the formula at T = 1, delta' = 0.75
    assert accounting.advanced_epsilon(broken, 1, 0.75, sharp=False) > 1.0
    for total, delta in ((1.0, 0.75), (1.5, 1e-6)):
        with pytest.raises(InvalidParameter):
            accounting.per_step_epsilon_corollary(total, 1, delta)


def test_advanced_composition_is_above_the_exact_one_and_below_basic():
    loss = privacy.Repeated(privacy.RandomizedResponseLoss(0.1), 100)
    exact_value = accounting.epsilon(loss, delta=1e-6)
    advanced = accounting.Advanced().epsilon(loss, 1e-6).upper
    assert exact_value.upper == pytest.approx(4.774567588108, rel=1e-9)
    assert exact_value.upper < advanced < accounting.Basic().epsilon(loss, 1e-6).upper == pytest.approx(10.0)


# --- (epsilon, delta) is a curve ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "epsilons", "deltas"),
    [
        (
            privacy.GaussianLoss(1.0),
            (0, 0.5, 1, 2, 3),
            (0.3829249225, 0.2384217081, 0.1269367375, 0.02092363582, 0.001537185369),
        ),
        (
            privacy.LaplaceLoss(2.0),
            (0, 0.125, 0.25, 0.5, 1),
            (0.2211992169, *(-math.expm1((e - 0.5) / 2) for e in (0.125, 0.25)), 0.0, 0.0),
        ),
    ],
    ids=["gaussian", "laplace"],
)
def test_epsilon_and_delta_are_a_curve_and_not_a_point(loss, epsilons, deltas):
    assert loss.profile(np.array(epsilons, dtype=float)) == pytest.approx(deltas, rel=1e-8, abs=1e-15)
    bounds = [accounting.delta(loss, epsilon=epsilon) for epsilon in epsilons]
    for bound, delta in zip(bounds, deltas, strict=True):
        assert bound.lower <= delta * (1 + 1e-8) + 1e-15
        assert delta * (1 - 1e-8) - 1e-15 <= bound.upper
        assert bound.upper <= delta * (1 + 1e-3) + 1e-12
    for epsilon, delta in zip(epsilons, deltas, strict=True):  # every point of the curve is promised, and back again
        if delta > 0:
            assert accounting.epsilon(loss, delta=delta).upper == pytest.approx(epsilon, rel=1e-3, abs=1e-6)


def test_gaussian_noise_has_no_pure_price_and_laplace_has():
    with pytest.raises(NoGuarantee):
        accounting.epsilon(privacy.GaussianLoss(1.0), delta=0.0)
    assert accounting.epsilon(privacy.LaplaceLoss(2.0), delta=0.0).upper == 0.5

"""Edge cases, refusals, and what a result may say."""

import math

import numpy as np
import pytest

from privet import audit, noise, privacy
from privet.errors import InvalidData, InvalidParameter, MixedUnits, NoGuarantee, PrivetError, ReusedData

ONE = [audit.Counts(tp=tp, fp=fp, n=1) for tp in (0, 1) for fp in (0, 1)]
CORNERS = [*ONE, *(audit.Counts(tp=tp, fp=fp, n=20) for tp in (0, 20) for fp in (0, 20))]
NO_NUMBER = [math.nan, math.inf, -1.0, 2.0, "0.1", True, None]


@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.5, 1.0])
@pytest.mark.parametrize("two_sided", [False, True])
def test_corners_give_finite_bounds_below_the_ceiling(delta, two_sided):
    for counts in CORNERS:
        bounds = [audit.point_lower(counts, delta=delta, two_sided=two_sided)]
        if delta > 0.0:
            bounds.append(audit.gaussian_lower(counts, delta=delta, two_sided=two_sided))
        for bound in bounds:
            assert 0.0 <= bound.lower <= bound.ceiling < math.inf
            if delta == 1.0:
                assert bound.lower == 0.0
        assert 0.0 <= audit.credible_lower(counts, delta=delta).value < 1e3


def test_one_run_of_each_world_refutes_nothing():
    for counts in ONE:
        assert audit.point_lower(counts, delta=0.0).lower == 0.0
        assert audit.curve_test(counts, claim=privacy.PureLoss(0.0)).verdict == "not refuted"


def test_a_rate_below_delta_gives_nothing():
    assert audit.point_lower(audit.Counts(tp=50, fp=0, n=1_000), delta=0.07).lower == 0.0
    assert audit.point_lower(audit.Counts(tp=50, fp=0, n=1_000), delta=0.0).lower > 1.0


def test_fewer_hits_in_d_give_no_gaussian_bound():
    bound = audit.gaussian_lower(audit.Counts(tp=1, fp=9, n=10), delta=1e-5)
    assert bound.lower == 0.0
    assert "GDP" in bound.assumption
    assert "assuming" in str(bound)


def test_worlds_may_be_run_unequally_often():
    counts = audit.Counts(tp=400, fp=1_000, n=1_000, n_out=10_000)
    assert audit.point_lower(counts, delta=1e-5).lower > 1.122151
    assert counts.swapped().swapped() == counts


def test_the_ceiling_is_what_perfect_counts_would_give():
    for n in (1, 50, 100_000):
        best = audit.point_lower(audit.Counts(tp=n, fp=0, n=n), delta=1e-5, alpha=0.01)
        assert best.lower == best.ceiling == audit.largest_refutable(n, 0.01, delta=1e-5)
    assert abs(audit.largest_refutable(100_000) - math.log(100_000 / 3.69)) < 0.01


def test_gaussian_needs_a_positive_delta():
    with pytest.raises(InvalidParameter, match="delta = 0"):
        audit.gaussian_lower(audit.Counts(tp=5, fp=1, n=10), delta=0.0)


@pytest.mark.parametrize("bad", NO_NUMBER)
def test_bad_levels_and_deltas_are_refused(bad):
    counts, guesses = audit.Counts(tp=5, fp=1, n=10), audit.Guesses(correct=5, made=5, canaries=5)
    for call in (
        lambda: audit.point_lower(counts, delta=0.0, alpha=bad),
        lambda: audit.point_lower(counts, delta=bad),
        lambda: audit.gaussian_lower(counts, delta=1e-5, alpha=bad),
        lambda: audit.credible_lower(counts, delta=bad),
        lambda: audit.curve_test(counts, claim=privacy.PureLoss(1.0), alpha=bad),
        lambda: audit.curve_test(counts, claim=bad),
        lambda: audit.one_run_lower(guesses, delta=bad),
        lambda: audit.one_run_fdp_lower(guesses, delta=1e-5, alpha=bad),
        lambda: audit.BettingTest(epsilon=1.0, delta=bad),
        lambda: audit.Split(share=bad),
        lambda: audit.largest_refutable(10, bad),
    ):
        with pytest.raises(InvalidParameter):
            call()


@pytest.mark.parametrize(
    "fields",
    [(11, 0, 10), (0, 11, 10), (5, 0, 10, 0), (-1, 0, 10), (0, 0, 0), (1.5, 0, 10), (True, 0, 10)],
)
def test_impossible_counts_are_refused(fields):
    with pytest.raises(InvalidParameter):
        audit.Counts(*fields)


@pytest.mark.parametrize("fields", [(11, 10, 20), (5, 30, 20), (0, 0, 0), (-1, 5, 10), (1, 2.5, 10)])
def test_impossible_guesses_are_refused(fields):
    with pytest.raises(InvalidParameter):
        audit.Guesses(*fields)


# --- verdicts -----------------------------------------------------------------------------------------------------


def test_no_result_ever_calls_a_mechanism_private():
    counts, guesses = audit.Counts(tp=5, fp=5, n=10), audit.Guesses(correct=5, made=10, canaries=10)
    texts = [
        str(audit.point_lower(counts, delta=0.0)),
        str(audit.gaussian_lower(counts, delta=1e-5)),
        str(audit.curve_test(counts, claim=privacy.PureLoss(1.0))),
        str(audit.one_run_lower(guesses, delta=0.0)),
        str(audit.credible_lower(counts, delta=0.0)),
    ]
    assert not any(word in text for text in texts for word in ("private", "safe", "passed"))
    assert "out of reach" in texts[0]


def test_a_credible_bound_has_no_verdict_and_meets_no_selection():
    bound = audit.credible_lower(audit.Counts(tp=9, fp=1, n=10), delta=0.0)
    assert not isinstance(bound, audit.LowerBound)
    assert not any(hasattr(bound, name) for name in ("verdict", "lower", "strength", "selected", "alpha"))


def test_a_bound_speaks_about_the_neighbours_that_were_run():
    bound = audit.point_lower(audit.Counts(tp=900, fp=10, n=1_000), delta=0.0)
    assert bound.verdict(privacy.PureLoss(1.0)) == "violated"
    assert bound.verdict(privacy.PureLoss(9.0)) == "not refuted"
    with pytest.raises(MixedUnits):
        bound.verdict(privacy.PureLoss(1.0, unit=privacy.Unit("replace")))
    with pytest.raises(NoGuarantee):
        bound.verdict(privacy.GaussianLoss(1.0))  # says nothing at delta = 0, so there is nothing to refute


def test_real_noise_against_its_own_price_and_a_better_one():
    """Secure noise: false alarms have level 1e-7; a test of the false price gives log10 p = -33, deviation 4."""
    first, second = (noise.discrete_laplace(scale=2, size=20_000) + value for value in (1, 0))
    sample = audit.Sample(first, second)
    for scale, verdict in ((2.0, "not refuted"), (4.0, "violated")):
        for statistic in (audit.Curve(privacy.DiscreteLaplaceLoss(scale)), audit.Curve(privacy.PureLoss(1.0 / scale))):
            assert audit.Split().run(sample, statistic, alpha=1e-7).result.verdict == verdict
    test = audit.BettingTest.of(privacy.DiscreteLaplaceLoss(2.0), delta=0.0, alpha=1e-7, both=True)
    assert test.feed(first >= 1, second >= 1) == "not refuted"


# --- one run ------------------------------------------------------------------------------------------------------


def test_bounds_of_one_run_stay_finite_and_below_their_ceiling():
    for m, r, v, delta in (
        (1, 1, 1, 0.0),
        (1, 1, 0, 0.0),
        (10, 0, 0, 0.1),
        (100, 100, 100, 0.9),
        (10**6, 10**6, 10**6, 0.0),
    ):
        bound = audit.one_run_lower(audit.Guesses(correct=v, made=r, canaries=m), delta=delta)
        assert 0.0 <= bound.lower <= bound.ceiling < 20.0
    assert audit.one_run_lower(audit.Guesses(correct=100, made=100, canaries=100), delta=0.9).lower == 0.0


def test_delta_times_canaries_above_one_is_no_reason_to_give_up():
    guesses = audit.Guesses(correct=60_000, made=100_000, canaries=100_000)
    assert audit.one_run_lower(guesses, delta=2e-5).lower > 0.3
    assert audit.one_run_p_value(guesses, epsilon=0.5, delta=2e-5) == 1.0


def test_one_run_reads_scores_and_coins():
    coins = audit.Coins.draw(400, source=noise.Seeded(1))
    scores = np.where(coins.included, 3.0, -3.0)
    bound = audit.one_run(scores, coins, delta=1e-5, top=50, bottom=50)
    assert bound.counts == audit.Guesses(correct=100, made=100, canaries=400, commitment=coins.commitment)
    assert bound.lower == audit.one_run(scores, coins.included, delta=1e-5, top=50, bottom=50).lower > 3.0
    assert audit.one_run(-scores, coins, delta=1e-5, top=50, bottom=50).lower == 0.0
    assert audit.one_run_fdp(scores, coins, delta=1e-5, top=50, bottom=50).lower > bound.lower


@pytest.mark.parametrize(
    ("scores", "included", "top", "bottom"),
    [
        ([1.0, math.nan], [True, False], 1, 1),
        ([1.0, 2.0], [True], 1, 0),
        ([1.0, 2.0], [1, -1], 1, 1),
        ([1.0, 2.0], [0.5, 1.0], 1, 1),
        ([], [], 1, 0),
        ([1.0, 2.0], [True, False], 2, 1),
        ([1.0, 2.0], [True, False], 0, 0),
        ([1.0, 2.0], [True, False], -1, 1),
        (["a", "b"], [True, False], 1, 1),
    ],
)
def test_bad_canaries_are_refused(scores, included, top, bottom):
    with pytest.raises((InvalidData, InvalidParameter)):
        audit.one_run(np.array(scores), np.array(included), delta=0.0, top=top, bottom=bottom)


def test_one_run_curve_agrees_with_the_bound_on_mu():
    guesses = audit.Guesses(correct=95, made=100, canaries=1_000)
    for mu, verdict in ((0.7868, "violated"), (0.7869, "not refuted")):
        assert audit.one_run_curve(guesses, claim=privacy.GaussianLoss(1.0 / mu)).verdict == verdict


def test_one_run_curve_reads_any_price():
    """A sampled price that is nearly the Gaussian one, through the table: its verdicts lie within 4% of mu."""
    guesses = audit.Guesses(correct=95, made=100, canaries=1_000)
    for mu, verdict in ((0.755, "violated"), (0.788, "not refuted")):
        claim = privacy.PoissonSampled(privacy.GaussianLoss(1.0 / mu), q=0.9999999)
        assert audit.one_run_curve(guesses, claim=claim).verdict == verdict
    assert audit.one_run_curve(guesses, claim=privacy.PureLoss(1.0)).verdict == "violated"


# --- sequential ---------------------------------------------------------------------------------------------------


def test_betting_stops_and_stays_stopped():
    test = audit.BettingTest(epsilon=0.1, alpha=0.01)
    assert test.feed(np.ones(1_000), np.zeros(1_000)) == "violated"
    used = test.pairs
    assert test.feed(np.zeros(50), np.ones(50)) == "violated"
    assert (test.pairs, test.p_value <= 0.01) == (used, True)


def test_no_pairs_no_wealth():
    test = audit.BettingTest(epsilon=1.0)
    assert test.feed(np.zeros(0), np.zeros(0)) == "not refuted"
    assert (test.pairs, test.wealth, test.p_value) == (0, 1.0, 1.0)


@pytest.mark.parametrize(
    "first", [np.array([0.5]), np.array([math.nan]), np.zeros((2, 0)), np.array(["yes"]), np.zeros((1, 1, 1))]
)
def test_betting_wants_yes_or_no(first):
    with pytest.raises(InvalidData):
        audit.BettingTest(epsilon=1.0).feed(first, first)


def test_betting_on_a_price_takes_its_epsilon():
    test = audit.BettingTest.of(privacy.GaussianLoss(3.730632), delta=1e-5)
    assert abs(test.epsilon - 1.0) < 1e-5
    with pytest.raises(InvalidParameter):
        audit.BettingTest(epsilon=701.0)


# --- selection ----------------------------------------------------------------------------------------------------


def worlds(shift: float, n: int = 2_000, seed: int = 3) -> audit.Sample:
    rng = np.random.default_rng(seed)
    return audit.Sample(rng.normal(size=n) + shift, rng.normal(size=n))


def test_split_finds_pair_and_order():
    pairs = [worlds(0.0), worlds(-1.5, seed=4)]
    found = audit.Split().run(pairs, audit.Point(delta=1e-5))
    assert (found.choice.pair, found.looks, found.result.counts.n) == (1, 1, 1_000)
    assert found.result.lower > 1.0
    assert "tested on the rest" in str(found.result)


def test_split_with_the_claim_as_the_null():
    found = audit.Split().run(worlds(1.0), audit.Curve(privacy.GaussianLoss(4.0)))
    assert found.result.verdict == "violated"
    assert audit.Split().run(worlds(1.0), audit.Curve(privacy.GaussianLoss(1.0))).result.verdict == "not refuted"


def test_bonferroni_pays_for_every_look():
    sample = worlds(1.0)
    one = audit.Fixed(audit.AtLeast(0.5)).run(sample, audit.Point(delta=0.0), alpha=0.01)
    four = audit.Bonferroni([audit.AtLeast(cut) for cut in (0.5, 50.0, 60.0, 70.0)])
    found = four.run(sample, audit.Point(delta=0.0), alpha=0.04)
    assert found.result.lower == one.result.lower
    assert (found.looks, found.result.alpha) == (4, 0.04)
    tested = four.run(sample, audit.Curve(privacy.PureLoss(0.5)), alpha=0.04).result
    once = audit.Fixed(audit.AtLeast(0.5)).run(sample, audit.Curve(privacy.PureLoss(0.5))).result
    assert abs(tested.p_value / once.p_value - 4.0) < 1e-9


def test_a_handmade_choice_is_held_to_what_it_has_seen():
    sample = worlds(1.0)
    choice = audit.Choice(audit.AtLeast(0.5), seen=(sample.part(0.0, 0.3),))
    with pytest.raises(ReusedData):
        audit.Bonferroni([choice]).run(sample, audit.Point(delta=0.0))
    assert audit.Bonferroni([choice]).run(sample.part(0.3, 1.0), audit.Point(delta=0.0)).result.lower > 0.0


def test_special_values_do_not_break_thresholds():
    first = np.array([np.nan, np.inf, -np.inf, 1.0, 1.0, -0.0, 0.0, 2.0] * 50)
    found = audit.Split().run(audit.Sample(first, np.zeros(400)), audit.Point(delta=0.0))
    assert math.isfinite(found.choice.event.threshold)
    assert audit.Sample(np.array([-0.0]), np.array([0.0])).count(audit.AtLeast(0.0)).tp == 1


def test_deterministic_outputs_can_be_split():
    same = audit.Sample(np.zeros(100), np.ones(100))
    assert audit.Split().run(same, audit.Point(delta=0.0)).result.lower > 2.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: audit.Sample(np.zeros(0), np.zeros(3)),
        lambda: audit.Sample(np.zeros(1), np.zeros(1)).part(0.0, 0.4),
        lambda: audit.Sample(np.zeros(4), np.zeros(4)).part(0.5, 0.5),
        lambda: audit.Bonferroni([]),
        lambda: audit.Bonferroni(["x > 1"]),
        lambda: audit.Split(events=[]),
        lambda: audit.Split().run([], audit.Point(delta=0.0)),
        lambda: audit.Split().run(audit.Sample(np.full(4, np.nan), np.full(4, np.nan)), audit.Point(delta=0.0)),
        lambda: audit.Split().run(audit.Sample(np.zeros((4, 2)), np.zeros((4, 2))), audit.Point(delta=0.0)),
        lambda: audit.Fixed(lambda x: True, pair=3).run(worlds(1.0), audit.Point(delta=0.0)),
        lambda: audit.AtLeast(math.nan),
        lambda: audit.Coins.draw(0),
        lambda: audit.Coins.verify("00", None),
    ],
)
def test_impossible_selections_are_refused(call):
    with pytest.raises(PrivetError):
        call()

"""The exponential mechanism: golden values, exact ratios, its sampler, its error theorem, and twins that break it."""

import itertools
import math
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from privet import privacy
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms import Exponential, Sensitivity
from privet.privacy import Unit
from tests.mechanisms.goodness import fits

VACCINES, PRICES = [10.0, 15.0], [2.1, 3.9, 0.0]


def rational_law(scores, base):
    """Probabilities proportional to base^score, as fractions: base stands for exp(1/scale)."""
    weights = [base**score for score in scores]
    return [weight / sum(weights) for weight in weights]


def worst_ratio(law, scores, moves):
    pairs = itertools.product(itertools.product(scores, repeat=3), itertools.product(moves, repeat=3))
    laws = [(law(u), law([a + b for a, b in zip(u, move, strict=True)])) for u, move in pairs]
    return max(p / q for left, right in laws for p, q in zip(left, right, strict=True))


@pytest.mark.parametrize(("epsilon", "chosen"), [(0.5, 0.77729986), (1.0, 0.92414182), (2.0, 0.99330715)])
def test_vaccine(epsilon, chosen):
    law = Exponential.for_budget(epsilon=epsilon, sensitivity=1.0).exact_probabilities(VACCINES)
    assert law[1] == pytest.approx(chosen, abs=5e-9)


@pytest.mark.parametrize(
    ("epsilon", "sensitivity", "law"),
    [
        (1.0, 4.1, (0.33117677, 0.41247041, 0.25635282)),
        (10.0, 4.1, (0.09942013, 0.89290172, 0.00767815)),
        (1.0, 1.0, (0.26249883, 0.64564293, 0.09185825)),
    ],
)
def test_pricing(epsilon, sensitivity, law):
    mechanism = Exponential.for_budget(epsilon=epsilon, sensitivity=sensitivity, candidates=(2.1, 3.9, 4.1))
    assert mechanism.exact_probabilities(PRICES) == pytest.approx(law, abs=6e-9)
    draws = mechanism.simulate(PRICES, 20_000)
    assert fits([(2.1, 3.9, 4.1).index(price) for price in draws], mechanism.exact_probabilities(PRICES))


def test_hundred_candidates():
    mechanism = Exponential.for_budget(epsilon=1.0, sensitivity=1.0)
    scores = np.zeros(100)
    scores[17] = 20.0
    assert mechanism.exact_probabilities(scores)[17] == pytest.approx(0.995526, abs=5e-7)
    bound = 100 * math.exp(-20.0 / mechanism.scale)
    assert bound == pytest.approx(0.0045, abs=5e-5)
    assert mechanism.error(1.0 - bound, candidates=100).radius == pytest.approx(20.0)


def test_both_forms_of_the_error_theorem():
    mechanism = Exponential.for_budget(epsilon=0.5, sensitivity=2.0)
    assert mechanism.scale == 8.0
    s = math.log(20.0)
    assert mechanism.error(0.95, candidates=50, optimal=5).radius == pytest.approx(8.0 * (math.log(50 / 5) + s))
    assert mechanism.error(0.95, candidates=50).radius == pytest.approx(8.0 * math.log(50 / 0.05))
    assert mechanism.error(0.95, candidates=1).radius == 0.0
    assert mechanism.release(np.zeros(50)).error == mechanism.error(0.95, candidates=50)
    with pytest.raises(InvalidParameter, match="candidates="):
        mechanism.error(0.95)
    with pytest.raises(InvalidParameter, match="score"):
        _ = mechanism.release(np.zeros(50)).interval


@pytest.mark.parametrize("optimal", [1, 10])
def test_the_error_theorem_holds_where_it_is_strained(optimal):
    mechanism = Exponential.for_budget(epsilon=1.0, sensitivity=1.0)
    gap = mechanism.error(0.9, candidates=100, optimal=optimal).radius
    scores = np.where(np.arange(100) < optimal, gap, 0.0)
    miss = mechanism.exact_probabilities(scores)[optimal:].sum()
    assert 0.05 < miss <= 0.1


def test_worst_ratio_is_exactly_the_claim():
    base = Fraction(7, 5)  # exp(epsilon/2)
    ratio = worst_ratio(lambda u: rational_law(u, base), range(-6, 7, 3), (-1, 0, 1))
    assert ratio < base**2  # approached, as the scores spread, never passed
    spread = [rational_law(u, base) for u in ([200, 0, 0], [199, 1, 1])]
    assert base**2 * Fraction(999, 1000) < spread[1][1] / spread[0][1] < base**2


def test_worst_ratio_of_monotonic_scores_is_half():
    base = Fraction(7, 5)
    ratio = worst_ratio(lambda u: rational_law(u, base), range(-6, 7, 3), (0, 1))
    assert ratio < base
    assert ratio > base * Fraction(9, 10)


def test_price_is_that_of_what_runs():
    plain = Exponential.for_budget(epsilon=0.7, sensitivity=0.3)
    counts = Exponential.for_budget(epsilon=0.7, sensitivity=0.3, monotonic=True)
    for mechanism, reach in ((plain, 2), (counts, 1)):
        exact = reach * Fraction(0.3) / Fraction(mechanism.scale)
        assert exact <= Fraction(mechanism.loss.pure()) <= Fraction(0.7)
        assert mechanism.loss.zcdp().rho == pytest.approx(0.7**2 / 8)
    assert plain.scale == pytest.approx(2 * counts.scale)
    assert isinstance(plain.loss, privacy.ExponentialLoss)


@pytest.mark.parametrize("budget", [{"rho": 0.02}, {"mu": 0.5}, {"epsilon": 0.5, "delta": 1e-4}])
def test_other_budgets(budget):
    looser = Exponential.for_budget(**budget, sensitivity=1.0)
    assert looser.scale < Exponential.for_budget(epsilon=0.35, sensitivity=1.0).scale


def test_monotonic_is_refused_where_it_cannot_hold():
    for unit in (Unit("replace"), Unit(group_size=2)):
        with pytest.raises(InvalidParameter, match="monotonic"):
            Exponential.for_budget(epsilon=1.0, sensitivity=1, monotonic=True, unit=unit)
    assert Exponential.for_budget(epsilon=1.0, sensitivity=1, monotonic=True, unit=Unit("zero_out")).monotonic


def test_twin_that_uses_the_monotonic_formula_under_replace_is_caught():
    twin = Exponential(scale=1.0, sensitivity=Sensitivity(1, norm="score"), monotonic=True)  # claims 1
    left, right = twin.exact_probabilities([30, 0, 0]), twin.exact_probabilities([29, 1, 0])
    assert np.log(right / left).max() > 1.9 > twin.loss.pure() == 1.0


def test_a_wrong_norm_is_refused():
    with pytest.raises(InvalidParameter, match="score"):
        Exponential.for_budget(epsilon=1.0, sensitivity=Sensitivity(1, norm="l1"))


@pytest.mark.parametrize("scores", [[0.0, 1.0, 3.0, -40.0], [5], [0] * 10, [1e300, -1e300, 1e300], [2**60, -(2**60)]])
def test_sampler_fits_its_law(scores):
    mechanism = Exponential.for_budget(epsilon=1.0, sensitivity=1.0)
    assert fits(mechanism.simulate(scores, 40_000), mechanism.exact_probabilities(scores))


@pytest.mark.parametrize("factor", [2 / 3, 3 / 2])
def test_sampler_of_another_scale_is_noticed(factor):
    mechanism = Exponential.for_budget(epsilon=1.0, sensitivity=1.0)
    other = replace(mechanism, scale=factor * mechanism.scale)
    assert not fits(other.simulate([0.0, 1.0, 3.0], 100_000), mechanism.exact_probabilities([0.0, 1.0, 3.0]))


def test_a_million_equal_scores_and_the_clock():
    mechanism = Exponential.for_budget(epsilon=1.0, sensitivity=1.0)
    scores = np.zeros(10**6)
    seconds = []
    for _ in range(3):
        start = time.process_time()
        assert 0 <= mechanism.release(scores).value < 10**6
        seconds.append(time.process_time() - start)
    assert min(seconds) < 1.0  # 0.04 on a quiet core


@pytest.mark.parametrize("container", [list, np.array])
def test_no_score_is_refused_because_of_its_value(container):
    """A missing score counts as the lowest of the others, an infinite one as an end: nobody moves apart by that."""
    mechanism = Exponential.for_budget(epsilon=1.0, sensitivity=1.0)
    for scores, expected in (
        ([math.nan, 1.0, 3.0], [1.0, 1.0, 3.0]),
        ([math.inf, 0.0], [2.0**1000, 0.0]),
        ([-math.inf, 7.0], [-(2.0**1000), 7.0]),
        ([math.nan, math.nan], [0.0, 0.0]),
    ):
        assert mechanism._prepare(container(scores)).tolist() == expected
        assert mechanism.release(container(scores)).value in range(3)
    assert mechanism._prepare([None, True, "x", 2**70]).tolist() == [1, 1, 1, 2**70]


@pytest.mark.parametrize("bad", [[], 3.0, "ab", {"a": 1}, np.array([["a"]]), np.zeros((2, 2)), np.array([1j])])
def test_bad_scores(bad):
    with pytest.raises(InvalidData):
        Exponential.for_budget(epsilon=1.0, sensitivity=1.0).release(bad)


def test_candidates_are_public_and_fixed():
    mechanism = Exponential.for_budget(epsilon=1.0, sensitivity=1.0, candidates=["A", "B"])
    assert mechanism.release([1e9, 0]).value == "A"
    assert mechanism.error(0.95).radius == pytest.approx(2 * math.log(2 / 0.05))
    with pytest.raises(InvalidData, match="one score for each"):
        mechanism.release([1.0])
    with pytest.raises(InvalidParameter, match="contradicts"):
        mechanism.error(0.95, candidates=3)
    for bad in ([], "AB", 3):
        with pytest.raises(InvalidParameter):
            Exponential.for_budget(epsilon=1.0, sensitivity=1.0, candidates=bad)


def test_integers_of_any_width_are_scores():
    mechanism = Exponential.for_budget(epsilon=1.0, sensitivity=1.0)
    for kind in (np.uint8, np.int8, np.float32, np.uint64):
        values = np.array([0, 100], dtype=kind)
        assert np.allclose(mechanism.exact_probabilities(values), mechanism.exact_probabilities([0, 100]))
    assert mechanism.exact_probabilities([10**30, 0])[0] == 1.0


def loss_between(mechanism: Exponential, one: list[float], other: list[float]) -> float:
    """The largest privacy loss between two lists of scores, from the exact law."""
    p, q = (mechanism.exact_probabilities(scores) for scores in (one, other))
    return float(np.max(np.abs(np.log(p) - np.log(q))))


def test_which_scores_are_missing_must_not_depend_on_the_data():
    """The limit of the rule: with the same scores missing the price holds, from a missing one to a number nothing does."""
    choose = Exponential.for_budget(epsilon=1.0, sensitivity=1.0)
    assert loss_between(choose, [0.0, math.nan, 30.0], [1.0, math.nan, 29.0]) <= 1.0 + 1e-12
    assert loss_between(choose, [0.0, math.nan, 30.0], [0.0, 31.0, 30.0]) > 10.0
    assert "missing must not depend on the data" in " ".join(Exponential.__doc__.split())


def test_a_null_record_that_votes_is_an_exchange():
    """monotonic under zero-out rests on a null record that acts as an absent one; one that votes moves scores both ways."""
    sensitivity = Sensitivity(1.0, norm="score", unit=Unit("zero_out"))
    choose = Exponential.for_budget(epsilon=1.0, sensitivity=sensitivity, monotonic=True)
    with_record, absent, votes = [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0]
    assert loss_between(choose, with_record, absent) <= choose.loss.pure() == 1.0
    assert loss_between(choose, with_record, votes) > 1.4

"""Top-k: peeling is one-shot Gumbel, the price is a composition, the order is part of the law."""

import itertools
import math

import numpy as np
import pytest

from privet import accounting, privacy
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms import TopK, top_k
from tests.mechanisms.goodness import fits

SCORES = [0.0, 1.0, 3.0, -2.0]
PAIRS = list(itertools.permutations(range(4), 2))


def codes(draws):
    return [PAIRS.index(tuple(draw)) for draw in np.asarray(draws).tolist()]


def law(mechanism, scores=SCORES):
    return [mechanism.exact_probability(scores, pair) for pair in PAIRS]


def test_sampler_fits_the_law_of_ordered_pairs():
    mechanism = TopK.for_budget(epsilon=2.0, sensitivity=1.0, k=2)
    assert sum(law(mechanism)) == pytest.approx(1.0)
    assert fits(codes(mechanism.simulate(SCORES, 40_000)), law(mechanism))


def test_one_shot_gumbel_is_the_same_law():
    mechanism = TopK.for_budget(epsilon=2.0, sensitivity=1.0, k=2)
    gumbel = np.random.default_rng(1).gumbel(scale=mechanism.scale, size=(50_000, 4))
    ranked = np.argsort(-(gumbel + SCORES), axis=1)[:, :2]
    assert fits(codes(ranked), law(mechanism))
    assert not fits(codes(np.sort(ranked, axis=1)), law(mechanism))  # the order counts


def test_twin_that_peels_with_replacement_is_caught():
    mechanism = TopK.for_budget(epsilon=2.0, sensitivity=1.0, k=2)
    weights = np.exp(np.array(SCORES) / mechanism.scale)
    twice = np.random.default_rng(2).choice(4, p=weights / weights.sum(), size=(2_000, 2))
    assert (twice[:, 0] == twice[:, 1]).any()
    chosen = mechanism.simulate(SCORES, 2_000)
    assert not (chosen[:, 0] == chosen[:, 1]).any()


def test_worst_ratio_stays_within_k_epsilon():
    mechanism = TopK.for_budget(epsilon=2.0, sensitivity=1.0, k=2)
    left, right = law(mechanism, [9, 9, 0, 0]), law(mechanism, [8, 8, 1, 1])
    ratio = np.abs(np.log(np.array(left) / right)).max()
    assert 1.5 < ratio <= mechanism.loss.pure() <= 2.0


def test_price_is_a_composition():
    mechanism = TopK.for_budget(epsilon=1.0, sensitivity=1.0, k=4)
    assert mechanism.loss == privacy.Repeated(privacy.ExponentialLoss(0.25), 4)
    assert TopK.for_budget(rho=0.02, sensitivity=1.0, k=4).loss.zcdp().rho == pytest.approx(0.02, rel=1e-12)


def test_delta_buys_a_smaller_scale():
    pure, approximate = (TopK.for_budget(epsilon=1.0, delta=d, sensitivity=1.0, k=50) for d in (0.0, 1e-6))
    assert approximate.scale < 0.4 * pure.scale
    assert 0.99 < accounting.epsilon(approximate.loss, delta=1e-6).upper <= 1.0


def test_never_more_noise_than_the_pure_epsilon_needs():
    for epsilon, delta in [(0.1, 1e-6), (1.0, 1e-3), (3.0, 1e-9)]:
        mechanism = TopK.for_budget(epsilon=epsilon, delta=delta, sensitivity=1.0, k=2)
        assert mechanism.scale <= 2.0 * 2 / epsilon


def test_a_large_delta_is_the_business_of_the_composed_curve():
    mechanism = TopK.for_budget(epsilon=0.01, delta=1e-3, sensitivity=1.0, k=3)
    assert 0.99 * 0.01 < accounting.epsilon(mechanism.loss, delta=1e-3).upper <= 0.01


@pytest.mark.parametrize("name", ["bounded_range_rdp", "epsilon_of_repeats"])
def test_a_price_at_a_smaller_range_would_be_noticed(name, monkeypatch):
    honest = getattr(top_k, name)
    monkeypatch.setattr(top_k, name, lambda wide, *rest, **options: honest(0.98 * wide, *rest, **options))
    costly = TopK.for_budget(epsilon=0.1, delta=1e-2, sensitivity=1.0, k=7)
    many = TopK.for_budget(epsilon=1.0, delta=1e-6, sensitivity=1.0, k=20)
    prices = [
        accounting.epsilon(costly.loss, delta=1e-2).upper / 0.1,
        accounting.epsilon(many.loss, delta=1e-6).upper,
    ]
    assert max(prices) > 1.0


def test_error_holds_for_every_rank():
    mechanism = TopK.for_budget(epsilon=2.0, sensitivity=1.0, k=2)
    bar = mechanism.error(0.9, candidates=4)
    assert bar.radius == pytest.approx(mechanism.scale * math.log(4 * 2 / 0.1))
    scores = np.array([2 * bar.radius, bar.radius, 0.0, 0.0])
    true = np.sort(scores)[::-1][:2]
    miss = sum(
        mechanism.exact_probability(scores, pair)
        for pair in PAIRS
        if np.any(true - scores[list(pair)] > bar.radius - 1e-9)
    )
    assert 0.0 < miss <= 0.1


def test_names_and_refusals():
    named = TopK.for_budget(epsilon=100.0, sensitivity=1.0, k=2, candidates=("a", "b", "c"))
    assert named.release([0.0, 500.0, 900.0]).value == ("c", "b")
    with pytest.raises(InvalidParameter, match="k must not exceed"):
        TopK.for_budget(epsilon=1.0, sensitivity=1.0, k=4, candidates=("a", "b", "c"))
    with pytest.raises(InvalidData, match="at least k"):
        TopK.for_budget(epsilon=1.0, sensitivity=1.0, k=4).release([1.0, 2.0])
    for k in (0, -1, 1.5, True):
        with pytest.raises(InvalidParameter):
            TopK.for_budget(epsilon=1.0, sensitivity=1.0, k=k)

"""Every mechanism with a finite or integer output against its law from the paper: draws, and the whole privacy curve."""

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from mpmath import mp, mpf

from privet import mechanisms as m, noise
from privet.errors import InvalidParameter
from privet.mechanisms import quantile as quantile_room
from privet.privacy import Unit
from tests.mechanisms import paper_laws as laws
from tests.mechanisms.goodness import fits

EPSILONS = (0.0, 0.1, 0.4, 0.7, 0.95)
SMALL = 1e-12  # of the curves, which are doubles


def check_curve(pairs, loss, epsilons=EPSILONS, slack=SMALL):
    """The claim is at least the exact delta of every pair in both directions; returns the largest share that is used."""
    used = 0.0
    claims = [(e, float(loss.profile(e))) for e in (fraction * loss.pure() for fraction in epsilons)]
    for p, q in pairs:
        for left, right in ((p, q), (q, p)):
            assert laws.log_ratio(left, right) <= mpf(loss.pure()) + slack
            for e, claim in claims:
                exact = laws.hockey(left, right, e)
                assert exact <= claim + slack, (e, float(exact), claim)
                used = max(used, float(exact) / claim) if claim else used
    return used


SELECTIONS = [
    (m.Exponential, {}, laws.exponential),
    (m.PermuteAndFlip, {}, laws.permute_and_flip),
    (m.NoisyMax, {"noise": "laplace"}, laws.noisy_max),
    (m.NoisyMax, {"noise": "gumbel"}, laws.exponential),
    (m.NoisyMax, {"noise": "exponential"}, laws.permute_and_flip),
]
SELECTION_IDS = ["exponential", "pf", "max-laplace", "max-gumbel", "max-exponential"]


@pytest.mark.parametrize(("kind", "options", "law"), SELECTIONS, ids=SELECTION_IDS)
def test_selection_draws_the_law_of_the_paper(kind, options, law):
    mechanism = kind.for_budget(epsilon=1.3, sensitivity=0.7, **options)
    for scores in ([0.0, 1.0, 1.0], [3.0, -2.0, 2.5, 3.0], [1e6, 1e6 + 0.3, 1e6 - 1.0]):
        exact = law(scores, mechanism.scale)
        assert abs(mp.fsum(exact.values()) - 1) < 1e-15
        assert fits(mechanism.simulate(scores, 1_000), [float(exact[i]) for i in range(len(scores))])
    wrong = law([0.0, 3.0, 1.0], 1.5 * mechanism.scale)
    assert not fits(mechanism.simulate([0.0, 3.0, 1.0], 3_000), [float(p) for p in wrong.values()])


@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize(("kind", "options", "law"), [SELECTIONS[i] for i in (0, 1, 2)], ids=["exp", "pf", "laplace"])
def test_selection_costs_no_more_than_it_says(kind, options, law, monotonic):
    """All neighbours of all small score vectors: two candidates far apart and close, three in {0, 1, 2}."""
    if law is laws.noisy_max:
        bases = [(0, 0), (0, 2), (0, 1, 1)]
    else:
        bases = [*product(range(4), repeat=2), *combinations_with_replacement(range(3), 3), (0, 9), (0, 20, 20)]
    mechanism = kind.for_budget(epsilon=1.0, sensitivity=1, monotonic=monotonic, **options)
    memo = {}

    def of(scores):
        key = tuple(score - max(scores) for score in scores)
        return memo.setdefault(key, law(key, mechanism.scale))

    pairs = [(of(base), of(other)) for base in bases for other in laws.neighbours(base, monotonic)]
    used = check_curve(pairs, mechanism.loss)
    assert used > 0.85 if kind is m.Exponential else used > 0.2
    far = [(base, other) for base in ((0, 14), (0, 14, 14)) for other in laws.neighbours(base, monotonic)]
    less = [[law(scores, 0.9 * mechanism.scale) for scores in pair] for pair in far]
    with pytest.raises(AssertionError):  # a tenth less noise is too little for the same price
        check_curve(less, mechanism.loss)


@pytest.mark.parametrize("monotonic", [False, True])
def test_top_k_is_peeling_and_costs_what_is_composed(monotonic):
    mechanism = m.TopK.for_budget(epsilon=1.5, sensitivity=1, k=2, monotonic=monotonic)
    scores = (2, 1, 0)
    law = laws.top_k(scores, mechanism.scale, 2)
    codes = {sequence: code for code, sequence in enumerate(law)}
    drawn = [codes[tuple(row)] for row in mechanism.simulate(scores, 20_000, source=noise.Seeded(1)).tolist()]
    assert fits(drawn, [float(p) for p in law.values()])
    for base in combinations_with_replacement(range(3), 3):
        p = laws.top_k(base, mechanism.scale, 2)
        for other in laws.neighbours(base, monotonic):
            assert laws.log_ratio(p, laws.top_k(other, mechanism.scale, 2)) <= mechanism.loss.pure() + SMALL


def test_monotone_scores_are_refused_where_an_exchange_moves_two_of_them():
    for kind in (m.Exponential, m.PermuteAndFlip, m.NoisyMax):
        for unit in (Unit("replace"), Unit(group_size=2)):
            with pytest.raises(InvalidParameter, match="monotonic"):
                kind.for_budget(epsilon=1.0, sensitivity=1, monotonic=True, unit=unit)


@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 6.0])
def test_reports_are_exact_in_law_and_price(k, epsilon):
    mechanism = m.KRR.for_budget(k=k, epsilon=epsilon) if k > 2 else m.RandomizedResponse.for_budget(epsilon=epsilon)
    pairs = [
        (laws.response(a, k, mechanism.truth), laws.response(b, k, mechanism.truth)) for a in range(k) for b in range(a)
    ]
    numbers = [({x: mpf(v.numerator) / v.denominator for x, v in law.items()} for law in pair) for pair in pairs]
    assert check_curve([tuple(pair) for pair in numbers], mechanism.loss) > 1 - 1e-9
    ratio = mechanism.truth / mechanism.lie
    assert mp.log(mpf(ratio.numerator) / ratio.denominator) <= mpf(mechanism.loss.pure()) <= mpf(epsilon)
    drawn = mechanism.simulate(k - 1, 40_000, source=noise.Seeded(5))
    assert fits(drawn, [float(p) for p in laws.response(k - 1, k, mechanism.truth).values()])


STREAMS = {  # the values under two neighbours: first many "below" move up while the "above" moves down
    False: [((1,) * 10 + (0, 0), (0,) * 10 + (1, 1)), ((1, 0, 1, 0, 1), (0, 1, 0, 1, 0)), ((1, 1), (0, 0))],
    True: [((1,) * 10 + (0, 0), (0,) * 12), ((1, 1, 1), (0, 0, 0)), ((0, 1, 0), (0, 0, 0))],
}


@pytest.mark.parametrize(("positives", "monotonic"), [(1, False), (2, False), (1, True), (2, True)])
def test_thresholds_draw_and_cost_what_the_paper_says(positives, monotonic):
    """On a grid of a millionth the law differs from the continuous one by less than 1e-5."""
    options = {"sensitivity": 1, "threshold": 0, "positives": positives, "monotonic": monotonic}
    mechanism = m.AboveThreshold.for_budget(epsilon=2.0, **options)

    def law(values, query_scale=mechanism.query_scale):
        return laws.above_threshold(values, 0, mechanism.threshold_scale, query_scale, positives)

    def worst(query_scale):
        pairs = [
            [law([v + shift for v in side], query_scale) for side in pair]
            for pair in STREAMS[monotonic]
            for shift in (-3, 0, 3)
        ]
        return max(laws.log_ratio(*pair[::step]) for pair in pairs for step in (1, -1))

    exact = law((-1, 2, 0))
    codes = {answers: code for code, answers in enumerate(exact)}
    drawn = [codes[tuple(row)] for row in mechanism.simulate([-1, 2, 0], 20_000, source=noise.Seeded(2)).tolist()]
    assert fits(drawn, list(exact.values()))
    assert not fits(drawn, list(law((-1, 2, 0), 1.5 * mechanism.query_scale).values()))
    assert 0.8 * mechanism.loss.pure() < worst(mechanism.query_scale) <= mechanism.loss.pure() + 1e-5
    assert worst(mechanism.query_scale / 2) > mechanism.loss.pure() + 0.05


def test_numbers_beside_positive_answers_are_fresh_and_paid_for():
    mechanism = m.AboveThreshold.for_budget(epsilon=3.0, sensitivity=1, threshold=0, positives=2, answer_share=0.5)
    signs = 1 / mpf(mechanism.threshold_scale) + 4 / mpf(mechanism.query_scale)
    assert signs + 2 / mpf(mechanism.answer_scale) <= mechanism.loss.pure() <= 3.0
    pairs = mechanism.simulate([-50.0, 60.0, 70.0, 80.0], 300, source=noise.Seeded(4))
    for answers, values in pairs:
        assert answers.tolist() == [0, 1, 1, -1]
        assert np.isnan(values).tolist() == [True, False, False, True]
    errors = np.array([values[1] for _, values in pairs]) - 60.0
    assert abs(np.abs(errors).mean() / mechanism.answer_scale - 1.0) < 0.35  # six standard errors of the mean


DATA = [(), (0,), (3,), (1, 1), (0, 4), (0, 0, 4), (2, 2, 2), (1, 2, 3, 3), (0, 0, 0, 4, 4)]


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(1, 10), Fraction(3, 4)])
def test_quantile_law_and_price_over_all_neighbours(q, relation):
    mechanism = m.Quantile.for_budget(epsilon=1.0, q=q, bounds=(0, 4), step=1, unit=Unit(relation))
    memo = {}

    def law(records):
        return memo.setdefault(tuple(sorted(records)), laws.quantile(records, 5, q, mechanism.scale))

    pairs = []
    for records in DATA:
        if relation == "replace":
            others = [(*records[:i], new, *records[i + 1 :]) for i in range(len(records)) for new in range(5)]
        else:
            others = [(*records, new) for new in range(5)]
        pairs += [(law(records), law(other)) for other in others]
    assert check_curve(pairs, mechanism.loss) > 0.4


@pytest.mark.parametrize("near", [64, 0.3])
def test_quantile_draws_its_law_also_far_from_the_rank(near, monkeypatch):
    """With a tiny window nearly all points are drawn through the pool with rejection; the law must not notice."""
    monkeypatch.setattr(quantile_room, "_NEAR", near)
    for q, records in product(
        (Fraction(1, 2), Fraction(9, 10)), ((), (5,), (0, 0, 11), (3, 3, 3, 3, 7, 8), tuple(range(12)) * 2)
    ):
        mechanism = m.Quantile.for_budget(epsilon=0.5, q=q, bounds=(0, 11), step=1)
        exact = laws.quantile(records, 12, q, mechanism.scale)
        drawn = mechanism.simulate(np.array(records, dtype=float), 3_000, source=noise.Seeded(len(records)))
        assert fits(drawn, [float(p) for p in exact.values()])


@pytest.mark.parametrize("scale", [0.4, 1.0, 3.5])
@pytest.mark.parametrize("moved", [1, 2])
def test_integer_noise_against_its_exact_curve(scale, moved):
    mechanism = m.DiscreteLaplace(scale=scale, sensitivity=moved)
    p, q = (laws.discrete_laplace(center, scale, 90 * math.ceil(scale)) for center in (0, moved))
    cut = 80 * math.ceil(scale)
    inner = [{k: law[k] for k in range(-cut, cut + moved)} for law in (p, q)]
    for fraction in EPSILONS:
        e = fraction * mechanism.loss.pure()
        assert float(laws.hockey(*inner, e)) == pytest.approx(float(mechanism.loss.profile(e)), rel=1e-9, abs=1e-15)
    bounded = m.Geometric(scale=scale, sensitivity=moved, bounds=(0, 4))
    pairs = [
        [laws.clamped(laws.discrete_laplace(center, scale, 300), 0, 4) for center in (value, value + moved)]
        for value in (-1, 0, 2, 4)
    ]
    check_curve(pairs, bounded.loss)
    drawn = bounded.simulate(1, 20_000, source=noise.Seeded(9))
    assert fits(drawn, [float(x) for x in laws.clamped(laws.discrete_laplace(1, scale, 300), 0, 4).values()])
    count = m.Count.for_budget(epsilon=1 / scale)
    drawn = np.clip(count.simulate([True, 1.0, 0, None], 20_000, source=noise.Seeded(8)), 0, 4)
    assert fits(
        drawn, [float(x) for x in laws.clamped(laws.discrete_laplace(2, count.noise.scale, 300), 0, 4).values()]
    )


@pytest.mark.parametrize("sigma", [0.7, 1.0, 2.5])
def test_two_discrete_gaussians_against_their_price(sigma):
    """In two dimensions only the zCDP line is claimed; (1, 1) is a shift of length sqrt 2, (2, 0) one of length 2."""
    one = laws.discrete_gaussian(0, sigma, 40)
    for shift in ((1, 1), (2, 0), (1, 0)):
        moved = math.sqrt(sum(s * s for s in shift))
        mechanism = m.DiscreteGaussian(scale=sigma, sensitivity=max(moved, 1.0) * (1 + 2**-50), dimension=2)
        p = {(a, b): one[a] * one[b] for a in range(-25, 26) for b in range(-25, 26)}
        q = {(a, b): one[a - shift[0]] * one[b - shift[1]] for a, b in p}
        for e in (0.2, 1.0, 3.0):
            assert float(laws.hockey(p, q, e)) <= float(mechanism.loss.profile(e)) * (1 + 1e-9)
        if shift[1] == 0:
            single = m.DiscreteGaussian(scale=sigma, sensitivity=shift[0])
            a, b = ({k: one[k - c] for k in range(-30, 31)} for c in (0, shift[0]))
            for e in (0.2, 1.0, 3.0):
                assert float(laws.hockey(a, b, e)) == pytest.approx(float(single.loss.profile(e)), rel=1e-9)

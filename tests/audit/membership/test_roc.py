"""True positives at few false ones and the area under the curve: intervals that cover, whatever the scores."""

import numpy as np
import pytest
from scipy import stats

from privet.audit.statistics.roc import FEW, Area, RateAt, area, rate_at, thresholds
from privet.errors import InvalidData, InvalidParameter


def coverage(draw, truth, runs, few=0.1, alpha=0.05):
    rates = areas = 0
    for _ in range(runs):
        inside, outside = draw()
        rates += truth[0] in rate_at(few, inside, outside, alpha=alpha).tpr
        areas += truth[1] in area(inside, outside, alpha=alpha).auc
    return rates / runs, areas / runs


def test_intervals_cover_chance_where_members_are_like_others():
    rng = np.random.default_rng(1)
    for few, others in ((0.1, 60), (0.01, 900)):
        rate, auc = coverage(lambda n=others: (rng.normal(size=80), rng.normal(size=n)), (few, 0.5), 250, few)
        assert min(rate, auc) >= 0.94


def test_intervals_cover_the_truth_where_they_are_not():
    rng = np.random.default_rng(2)
    truth = (stats.norm.sf(stats.norm.isf(0.1) - 1.0), stats.norm.cdf(1.0 / np.sqrt(2.0)))
    rate, auc = coverage(lambda: (rng.normal(1.0, size=150), rng.normal(size=150)), truth, 250)
    assert min(rate, auc) >= 0.94


def test_an_interval_of_the_members_alone_would_be_too_narrow():
    """The planted bug: the threshold is taken for the true one, and its own luck is forgotten."""
    rng = np.random.default_rng(3)
    missed = 0
    for _ in range(250):
        inside, outside = rng.normal(size=4000), rng.normal(size=60)
        hits = int((inside > np.sort(outside)[-7]).sum())
        low, high = stats.beta.ppf(0.025, hits, 4001 - hits), stats.beta.ppf(0.975, hits + 1, 4000 - hits)
        missed += not low <= 0.1 <= high
    assert missed > 100


@pytest.mark.parametrize("scores", [np.zeros(500), np.repeat([0.0, 1.0], 250), np.full(500, np.inf)])
def test_ties_and_constant_scores_find_nobody_and_cover_chance(scores):
    for few in FEW:
        at = rate_at(few, scores, scores)
        assert few in at.tpr
    assert area(scores, scores).auc.value == 0.5


def test_perfect_scores_have_honest_ends():
    found = area(np.ones(50), np.zeros(50)).auc
    assert (found.value, found.high) == (1.0, 1.0)
    assert 0.9 < found.low < 0.95
    assert rate_at(0.1, np.ones(400), np.zeros(400)).tpr.low > 0.95


def test_too_few_others_say_nothing_from_below():
    at = rate_at(1e-3, np.ones(4000), np.zeros(4000))
    assert (at.tpr.value, at.tpr.low, at.reachable) == (1.0, 0.0, False)
    more = rate_at(1e-3, np.ones(4000), np.zeros(4400))
    assert more.reachable
    assert more.tpr.low > 0.99


def test_ranks_are_those_of_the_beta_law():
    for others in (1, 5, 40, 1000):
        first, last = thresholds(0.1, others, 0.05)
        if first:
            assert stats.beta.sf(0.1, first, others - first + 1) <= 0.0125 + 1e-12
        else:
            assert stats.beta.sf(0.1, 1, others) > 0.0125
        assert first + 1 > others or stats.beta.sf(0.1, first + 1, others - first) > 0.0125
        if last <= others:
            assert stats.beta.cdf(0.1, last, others - last + 1) <= 0.0125 + 1e-12


def test_each_end_has_a_quarter_of_the_level():
    """The others, for the ranks of two thresholds, have the rest: intervals of members alone at the whole level would do in
    most draws, and no coverage of a few hundred would notice."""
    rng = np.random.default_rng(6)
    at = rate_at(0.1, rng.normal(1.0, size=300), rng.normal(size=500), alpha=0.05)
    assert at.tpr.low == pytest.approx(stats.beta.ppf(0.0125, at.strict, 301 - at.strict))
    assert at.tpr.high == pytest.approx(stats.beta.ppf(1.0 - 0.0125, at.loose + 1, 300 - at.loose))


def test_one_record_on_each_side_is_enough_for_an_answer():
    assert 0.1 in rate_at(0.1, np.ones(1), np.zeros(1)).tpr
    assert 0.5 in area(np.ones(1), np.zeros(1)).auc


def test_figures_follow_from_their_counts():
    rng = np.random.default_rng(4)
    inside, outside = rng.normal(0.5, size=300), rng.normal(size=700)
    at, under = rate_at(0.01, inside, outside), area(inside, outside)
    assert RateAt(**vars(at)).tpr == at.tpr
    assert Area(**vars(under)).auc == under.auc
    assert under.auc.value == pytest.approx(stats.mannwhitneyu(inside, outside).statistic / (300 * 700))


@pytest.mark.parametrize("bad", [np.array([np.nan]), np.zeros((2, 2)), np.array(["a"])])
def test_scores_that_are_none_are_refused(bad):
    with pytest.raises(InvalidData):
        area(bad, np.zeros(3))
    with pytest.raises(InvalidData):
        rate_at(0.1, np.zeros(3), bad)


def test_no_scores_are_refused():
    with pytest.raises(InvalidParameter):
        area(np.zeros(0), np.zeros(3))

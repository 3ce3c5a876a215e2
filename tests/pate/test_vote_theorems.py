"""Published bounds: the golden values of both papers, every condition, and where the exact figures are better."""

import math

import numpy as np
import pytest

from privet import pate
from privet._private import Private
from privet.errors import InvalidData, InvalidParameter
from privet.pate.figures import ORDERS
from privet.pate.vote_law import ConfidentVotes, NormalVotes, exact_renyi
from privet.pate.vote_theorems import (
    epsilon_of,
    gn_theorem,
    ln_theorem,
    log_losing_laplace,
    log_losing_normal,
    threshold_theorem,
)
from privet.privacy import Unit

WHOLE = np.arange(2.0, 501.0)


def rest(top, teachers=250, classes=10):
    return np.array([[top] + [(teachers - top) // (classes - 1)] * (classes - 1)])


@pytest.mark.parametrize(
    ("top", "log_q", "classic", "tight"),
    [
        (250, -10.019228, 0.423123, 0.285558),
        (237, None, 0.503939, None),
        (225, -7.919896, 0.610829, 0.443795),
        (200, -5.971880, 1.050902, 0.839937),
        (150, None, 3.047866, 2.644109),
    ],
)
def test_the_table_of_normal_noise(top, log_q, classic, tight):
    chance = log_losing_normal(rest(top), 40.0)
    total = 286 * gn_theorem(chance, 40.0, WHOLE)[0]
    assert log_q is None or chance[0] == pytest.approx(log_q, abs=1e-6)
    assert epsilon_of(total, WHOLE, 1e-5, classic=True) == pytest.approx(classic, abs=1e-6)
    assert tight is None or epsilon_of(total, WHOLE, 1e-5) == pytest.approx(tight, abs=1e-6)


@pytest.mark.parametrize(
    ("top", "log_q", "classic", "tight"),
    [
        (250, -9.014921, 0.263419, 0.168588),
        (225, -7.762648, 0.342450, 0.230701),
        (200, -6.475217, 0.482415, 0.346715),
        (150, -3.947416, 1.337636, 1.124274),
        (125, -2.760922, 2.647711, 2.384426),
        (25, -0.105361, 5.302585, 4.752728),
    ],
)
def test_the_table_of_laplace_noise(top, log_q, classic, tight):
    chance = log_losing_laplace(rest(top), 0.05)
    total = 100 * ln_theorem(chance, 0.05, WHOLE)[0]
    assert chance[0] == pytest.approx(log_q, abs=1e-6)
    assert epsilon_of(total, WHOLE, 1e-5, classic=True) == pytest.approx(classic, abs=1e-6)
    assert epsilon_of(total, WHOLE, 1e-5) == pytest.approx(tight, abs=1e-6)


@pytest.mark.parametrize(
    ("votes", "classic", "tight"),
    [([100, 0], 0.538879, 0.373444), ([80, 20], 1.450281, 1.173168), ([60, 40], 8.847047, 8.394324)],
)
def test_labels_of_a_discriminator(votes, classic, tight):
    total = 100 * ln_theorem(log_losing_laplace(np.array([votes]), 0.1), 0.1, WHOLE)[0]
    assert epsilon_of(total, WHOLE, 1e-5, classic=True) == pytest.approx(classic, abs=1e-6)
    assert epsilon_of(total, WHOLE, 1e-5) == pytest.approx(tight, abs=1e-6)


def test_thresholds_and_answers_of_the_page():
    far = np.full((1, 2), 125)
    thresholds = 640 * threshold_theorem(np.array([200.0]), 200.0, 150.0, WHOLE)[0]
    answers = 286 * gn_theorem(log_losing_normal(far, 40.0), 40.0, WHOLE)[0]
    assert epsilon_of(thresholds, WHOLE, 1e-5, classic=True) == pytest.approx(0.823620, abs=1e-6)
    assert epsilon_of(thresholds, WHOLE, 1e-5) == pytest.approx(0.660319, abs=1e-6)
    assert epsilon_of(thresholds + answers, WHOLE, 1e-5, classic=True) == pytest.approx(3.175866, abs=1e-6)
    assert epsilon_of(thresholds + answers, WHOLE, 1e-5) == pytest.approx(2.757887, abs=1e-6)


@pytest.mark.parametrize(("top", "second", "value"), [(250, 0, 2.8234e-4), (200, 10, 4.1404e-4), (150, 12, 9.5250e-4)])
def test_silence_and_ten_classes(top, second, value):
    counts = np.array([top, second] + [(250 - top - second) // 8] * 8)
    assert exact_renyi(ConfidentVotes(200.0, 150.0, 40.0), counts, np.array([20.0]))[0] == pytest.approx(
        value, rel=3e-5
    )


def test_chances_of_silence_and_classes_sum_to_one():
    for top in (0, 3, 30):
        counts = np.array([top, 2, 1])
        assert np.exp(ConfidentVotes(5.0, 2.0, 1.5).log_chances(counts)).sum() == pytest.approx(1.0)


def test_silence_and_classes_are_what_is_drawn():
    asked = pate.ConfidentGNMax(threshold=4.0, sigma1=2.0, sigma2=2.0, queries=1, answers=1, classes=3)
    counts = [4, 3, 1]
    drawn = np.asarray(asked.simulate(pate.Votes([counts], teachers=8), 1_500)).ravel()
    seen = np.bincount(drawn + 1, minlength=4)
    chances = np.exp(ConfidentVotes(4.0, 2.0, 2.0).log_chances(np.array(counts)))
    assert ((seen - 1_500 * chances) ** 2 / (1_500 * chances)).sum() < 30.0
    wrong = np.exp(ConfidentVotes(4.0, 4.0, 2.0).log_chances(np.array([6, 1, 1])))
    assert ((seen - 1_500 * wrong) ** 2 / (1_500 * wrong)).sum() > 30.0


def test_conditions_send_back_to_the_plain_bound():
    sigma, orders = 4.0, np.array([2.0, 30.0])
    sure = log_losing_normal(np.array([[60, 0]]), sigma)
    found = gn_theorem(sure, sigma, orders)
    assert found[0, 0] < 0.01 * orders[0] / sigma**2  # inside: order <= mu1
    assert sigma * math.sqrt(-sure[0]) + 1.0 < 60
    beyond = np.array([sigma * math.sqrt(-sure[0]) + 1.001])
    assert gn_theorem(sure, sigma, beyond)[0, 0] == beyond[0] / sigma**2
    for unsure in (0.0, -1e-9, math.log(0.9), -0.01):
        assert gn_theorem(np.array([unsure]), sigma, orders)[0] == pytest.approx(orders / sigma**2)
    gamma = 0.5
    limit = -math.log1p(math.exp(2 * gamma))
    for log_q, inside in ((limit - 1e-9, True), (limit + 1e-9, False), (-0.2, False), (-40.0, True)):
        plain = np.minimum(2 * gamma**2 * orders, 2 * gamma)
        value = ln_theorem(np.array([log_q]), gamma, orders)[0]
        assert (value <= plain).all()
        assert inside or value == pytest.approx(plain, rel=1e-15)
        assert log_q > -30 or (value < 1e-3 * plain).any()


@pytest.mark.parametrize("gap", [0, 1, 30, 1_000, 10_000])
def test_bounds_are_numbers_at_any_gap(gap):
    counts = np.array([[gap, 0, 0]])
    for found in (
        gn_theorem(log_losing_normal(counts, 1.0), 1.0, ORDERS),
        ln_theorem(log_losing_laplace(counts, 1.0), 1.0, ORDERS),
    ):
        assert np.isfinite(found).all()
        assert (found >= 0.0).all()


def test_bounds_fall_with_the_gap():
    counts = np.array([[250 - n, n] for n in range(126)])
    for bound in (
        gn_theorem(log_losing_normal(counts, 20.0), 20.0, WHOLE[:60]),
        ln_theorem(log_losing_laplace(counts, 0.1), 0.1, WHOLE[:60]),
    ):
        assert (np.diff(bound, axis=0) >= -1e-12).all()


def test_the_theorem_is_exceeded_in_reverse_and_ours_is_not():
    order, counts = np.array([2.0]), np.array([[30, 0]])
    theorem = gn_theorem(log_losing_normal(counts, 4.0), 4.0, order)[0, 0]
    assert theorem == pytest.approx(7.64558761e-7, rel=1e-8)
    assert exact_renyi(NormalVotes(4.0), counts[0], order)[0] > 2.0 * theorem


def test_exact_figures_are_below_the_published_ones():
    rows = [[250] + [0] * 9, [225, 9] + [2] * 8, [200, 10] + [5] * 8, [150, 12] + [11] * 8]
    votes = pate.Votes(rows * 20, teachers=250)
    asked = pate.GNMax(sigma=40.0, queries=80, classes=10)
    exact = asked.data_dependent_epsilon(votes, delta=1e-5).exact_value
    tight, classic = (asked.published_epsilon(votes, delta=1e-5, classic=each) for each in (False, True))
    assert isinstance(tight, Private)
    assert exact < tight.exact_value < classic.exact_value
    laplace = pate.LNMax(gamma=0.05, queries=80, classes=10)
    assert (
        laplace.data_dependent_epsilon(votes, delta=1e-5).exact_value
        < laplace.published_epsilon(votes, delta=1e-5).exact_value
    )
    gumbel = pate.GumbelMax(scale=20.0, queries=80, classes=10)
    assert (
        gumbel.data_dependent_epsilon(votes, delta=1e-5).exact_value
        <= gumbel.published_epsilon(votes, delta=1e-5).exact_value
    )


def test_confident_figures():
    rows = [[250] + [0] * 9, [200, 10] + [5] * 8, [60, 30] + [20] * 8]
    votes = pate.Votes(rows * 10, teachers=250)
    asked = pate.ConfidentGNMax(threshold=200, sigma1=150.0, sigma2=40.0, queries=30, answers=25, classes=10)
    labels = asked.release(votes).value
    exact = asked.data_dependent_epsilon(votes, delta=1e-5).exact_value
    tight, classic = (
        asked.published_epsilon(votes, labels, delta=1e-5, classic=each).exact_value for each in (False, True)
    )
    assert exact < tight < classic
    with pytest.raises(InvalidData, match="released"):
        asked.published_epsilon(votes, labels[:-1], delta=1e-5)
    with pytest.raises(InvalidParameter, match="one teacher"):
        pate.ConfidentGNMax(
            threshold=1, sigma1=1.0, sigma2=1.0, queries=30, answers=3, classes=10, unit=Unit("replace")
        ).data_dependent_epsilon(votes, delta=1e-5)
    adaptive = pate.Votes(rows * 10, teachers=250, adaptive=True)
    with pytest.raises(InvalidParameter, match="earlier answers"):
        asked.published_epsilon(adaptive, labels, delta=1e-5)


def test_ten_thousand_queries_at_once():
    """Rows and orders are one array: no loop over queries."""
    counts = np.random.default_rng(0).multinomial(250, [0.5] + [0.5 / 9] * 9, size=10_000)
    found = gn_theorem(log_losing_normal(counts, 40.0), 40.0, np.linspace(1.5, 100.0, 50))
    assert found.shape == (10_000, 50)
    assert found[17] == pytest.approx(
        gn_theorem(log_losing_normal(counts[17:18], 40.0), 40.0, np.linspace(1.5, 100, 50))[0]
    )

"""Exact laws and data-dependent figures: the golden values of the page, both directions, far gaps, and brute force."""

import math

import numpy as np
import pytest
from mpmath import mp

from privet import accounting, pate
from privet._private import Private
from privet.errors import InvalidParameter
from privet.pate import figures
from privet.pate.vote_law import (
    ConfidentVotes,
    GumbelVotes,
    LaplaceVotes,
    NormalVotes,
    exact_renyi,
    neighbours,
    renyi,
)
from privet.pate.vote_theorems import epsilon_of

ORDERS = np.arange(2.0, 501.0)


def tight(rdp, delta=1e-5):
    return float(np.min(rdp + np.log1p(-1 / ORDERS) - (math.log(delta) + np.log(ORDERS)) / (ORDERS - 1)))


@pytest.mark.parametrize(
    ("counts", "epsilon"),
    [
        ([250] + [0] * 9, 0.203472),
        ([225, 9] + [2] * 8, 0.299027),
        ([200, 10] + [5] * 8, 0.437719),
        ([150, 12] + [11] * 8, 0.951560),
    ],
)
def test_normal_votes_of_the_page(counts, epsilon):
    assert tight(286 * exact_renyi(NormalVotes(40.0), np.array(counts), ORDERS)) == pytest.approx(epsilon, abs=6e-7)


@pytest.mark.parametrize(
    ("law", "epsilon"),
    [
        (NormalVotes(10.0), 5.458278),
        (NormalVotes(20.0), 2.487807),
        (NormalVotes(40.0), 1.158172),
        (LaplaceVotes(0.05), 2.133159),
        (LaplaceVotes(0.1), 4.647966),
        (LaplaceVotes(0.2), 10.580968),
        (GumbelVotes(20.0), 2.152153),
    ],
)
def test_two_classes_at_their_worst(law, epsilon):
    worst = np.max([exact_renyi(law, np.array([n, 100 - n]), ORDERS) for n in range(101)], axis=0)
    assert tight(100 * worst) == pytest.approx(epsilon, abs=6e-7)


@pytest.mark.parametrize(
    ("counts", "epsilon"),
    [
        ([250] + [0] * 9, 0.009759),
        ([225, 9] + [2] * 8, 0.292143),
        ([200, 10] + [5] * 8, 0.427099),
        ([150, 12] + [11] * 8, 0.932703),
    ],
)
def test_the_forward_direction_of_the_page(counts, epsilon):
    law, held = NormalVotes(40.0), np.array(counts)
    forward = renyi(law.log_chances(held), law.around(held), ORDERS).max(axis=0)
    assert tight(286 * forward) == pytest.approx(epsilon, abs=6e-7)


@pytest.mark.parametrize(("counts", "epsilon"), [([100, 0], 0.347596), ([80, 20], 0.901989), ([60, 40], 3.134554)])
def test_labels_of_a_discriminator(counts, epsilon):
    assert tight(100 * exact_renyi(LaplaceVotes(0.1), np.array(counts), ORDERS)) == pytest.approx(epsilon, abs=1e-6)


@pytest.mark.parametrize("law", [NormalVotes(3.0), NormalVotes(0.5), ConfidentVotes(8.0, 2.0, 3.0), LaplaceVotes(0.5)])
@pytest.mark.parametrize("counts", [[9, 4], [6, 6, 1], [0, 11, 2, 0], [40, 0, 0], [5, 4, 3, 2, 1, 0, 0]])
def test_all_neighbours_at_once_are_each_of_them(law, counts):
    held = np.array(counts)
    one_by_one = np.array([law.log_chances(other) for other in neighbours(held)])
    assert law.around(held) == pytest.approx(one_by_one, rel=1e-10, abs=1e-13)
    assert np.exp(law.around(held)).sum(axis=1) == pytest.approx(np.ones(len(one_by_one)))


def test_figures_are_the_least_over_all_orders():
    rows = np.random.default_rng(1).multinomial(60, [0.6, 0.2, 0.1, 0.1], size=12)
    votes = pate.Votes(rows, teachers=60)
    for sigma in (3.0, 12.0, 40.0):
        total = sum(exact_renyi(NormalVotes(sigma), row, figures.ORDERS) for row in rows)
        asked = pate.GNMax(sigma=sigma, queries=12, classes=4)
        ceiling = float(accounting.epsilon(asked.loss, delta=1e-5).upper)
        told = asked.data_dependent_epsilon(votes, delta=1e-5).exact_value
        assert told == pytest.approx(min(epsilon_of(total, figures.ORDERS, 1e-5), ceiling), rel=1e-9)


def test_one_direction_is_not_enough():
    law, order = NormalVotes(4.0), np.array([2.0])
    here, there = law.log_chances(np.array([30, 0])), law.log_chances(np.array([29, 1]))
    assert renyi(here, there, order)[0] == pytest.approx(2.66524669e-7, rel=1e-7)
    assert renyi(there, here, order)[0] == pytest.approx(1.74148085e-6, rel=1e-7)
    assert exact_renyi(law, np.array([30, 0]), order)[0] >= 1.74148085e-6


@pytest.mark.parametrize("gap", [0, 1, 40, 120, 200])
def test_far_gaps_against_sixty_digits(gap):
    """Up to fifty deviations: two classes have a closed form."""
    found = NormalVotes(4.0).log_chances(np.array([gap, 0]))[1]
    with mp.workdps(60):
        exact = mp.log(mp.erfc(mp.mpf(gap) / (2 * 4)) / 2)
    assert found == pytest.approx(float(exact), rel=1e-10)


def test_three_classes_against_plain_integration():
    with mp.workdps(30):
        chance = mp.quad(
            lambda z: mp.npdf(z) * mp.ncdf(z + mp.mpf(1 - 5) / 3) * mp.ncdf(z + mp.mpf(1 - 4) / 3),
            [-12, -4, 0, 4, 12],
        )
        assert NormalVotes(3.0).log_chances(np.array([5, 4, 1]))[2] == pytest.approx(float(mp.log(chance)), rel=1e-9)
        laplace = mp.quad(
            lambda z: mp.exp(-abs(z)) / 2 * _laplace(z - mp.mpf(4) / 3) * _laplace(z - 1),
            [-60, 0, 1, mp.mpf(4) / 3, 60],
        )
        found = LaplaceVotes(1 / 3).log_chances(np.array([5, 4, 1]))[2]
        assert found == pytest.approx(float(mp.log(laplace)), rel=1e-8)


def _laplace(x):
    return mp.exp(x) / 2 if x < 0 else 1 - mp.exp(-x) / 2


def test_neighbours_are_all_there_up_to_equal_classes():
    found = {tuple(sorted(each)) for each in neighbours(np.array([3, 1, 1, 0]))}
    every = set()
    for a in range(4):
        for b in range(4):
            moved = np.array([3, 1, 1, 0])
            moved[a] -= 1
            moved[b] += 1
            if a != b and moved.min() >= 0:
                every.add(tuple(sorted(moved)))
    assert found == every


@pytest.mark.parametrize("made", [{"sigma": 4.0}, {"gamma": 0.2}, {"scale": 5.0}])
def test_figures_are_private_and_never_above_the_price(made):
    kind = {"sigma": pate.GNMax, "gamma": pate.LNMax, "scale": pate.GumbelMax}[next(iter(made))]
    aggregator = kind(**made, queries=3, classes=3)
    ceiling = float(accounting.epsilon(aggregator.loss, delta=1e-5).upper)
    figures = []
    for rows in ([[30, 0, 0]] * 3, [[20, 5, 5]] * 3, [[10, 10, 10]] * 3):
        figure = aggregator.data_dependent_epsilon(pate.Votes(rows, teachers=30), delta=1e-5)
        assert isinstance(figure, Private)
        figures.append(figure.exact_value)
    assert max(figures) <= ceiling
    assert min(figures) < 0.7 * ceiling


def test_figures_of_adaptive_queries_are_refused():
    votes = pate.Votes([[3, 1]], teachers=4, adaptive=True)
    with pytest.raises(InvalidParameter, match="earlier answers"):
        pate.GNMax(sigma=1.0, queries=1, classes=2).data_dependent_epsilon(votes, delta=1e-5)

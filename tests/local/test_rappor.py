"""RAPPOR: both answers, both prices, and what regression makes of them."""

import math
from fractions import Fraction

import numpy as np
import pytest

from privet import local
from privet.errors import InvalidData, InvalidParameter
from tests.local.members import log_of


@pytest.mark.parametrize(("epsilon", "f"), [(1.0, 0.755081), (5.0, 0.151716), (8.0, 0.035972), (12.0, 0.004945)])
def test_the_permanent_parameter_of_the_page(epsilon, f):
    assert round(float(local.RAPPOR(k=2, epsilon=epsilon).f), 6) == f


def test_both_epsilons_of_the_page():
    """f = 1/2, p = 1/2, q = 3/4, two hashes: 4.394449 for ever, 1.074286 for one report."""
    protocol = local.RAPPOR(k=2, epsilon=4 * log_of(3), hashes=2, from_zero=Fraction(1, 2), from_one=Fraction(3, 4))
    assert protocol.f == Fraction(1, 2)
    assert round(protocol.loss.pure(), 6) == 4.394449
    assert round(protocol.first_report_epsilon, 6) == 1.074286


def test_one_report_alone_costs_what_its_channel_says():
    protocol = local.RAPPOR(
        k=4, epsilon=3.0, width=4, cohorts=2, from_zero=Fraction(1, 4), from_one=Fraction(3, 4), seed=2
    )
    assert local.epsilon_of(protocol.channel()) == protocol.first_report_epsilon
    assert protocol.first_report_epsilon < protocol.loss.pure()


def test_a_permanent_answer_is_kept_and_reports_of_it_are_fresh():
    protocol = local.RAPPOR(k=3, epsilon=2.0, from_zero=Fraction(1, 4), from_one=Fraction(3, 4))
    kept = protocol.permanent(np.zeros(2000, dtype=int))
    one, two = protocol.instantaneous(kept), protocol.instantaneous(kept)
    assert kept.shape == one.shape == (2000, 3)
    assert not np.array_equal(one, two)
    assert np.array_equal(one[:, 0], kept[:, 0])  # the cohort stays
    flips = np.bitwise_count(one[:, 1:] ^ kept[:, 1:]).sum() / (2000 * 128)
    assert abs(flips - 0.25) < 0.005  # both ways: a quarter of the ones and of the zeros
    ones = kept[:, 1:]
    back = np.bitwise_count(ones & ~one[:, 1:]).sum() / np.bitwise_count(ones).sum()
    assert abs(back - 0.25) < 0.01  # ones are turned into zeros as well


@pytest.mark.parametrize("hashes", [1, 2])
def test_estimates_are_unbiased_and_their_variance_is_said(hashes):
    protocol = local.RAPPOR(k=6, epsilon=4.0, hashes=hashes, width=32, cohorts=4)
    people = np.array([500, 250, 150, 100, 0, 0])
    told = [protocol.estimate(protocol.simulate_counts(people)) for _ in range(150)]
    raw = np.array([each.raw for each in told])
    variance = np.mean([each.variance for each in told], axis=0)
    assert np.all(np.abs(raw.mean(axis=0) - people / 1000) < 5.0 * np.sqrt(raw.var(axis=0) / 150))
    assert np.all(np.abs(np.log(raw.var(axis=0) / variance)) < 1.0)
    reports = protocol.privatize(np.repeat(np.arange(6), 20 * people))
    straight = protocol.estimate(reports)
    assert np.all(np.abs(straight.raw - people / 1000) < 6.0 * np.sqrt(straight.variance) + 0.02)


def test_values_that_no_cohort_tells_apart_are_not_estimated():
    protocol = local.RAPPOR(k=6, epsilon=2.0, width=3, cohorts=1)
    with pytest.raises(InvalidData, match="tell all values apart"):
        protocol.estimate(protocol.privatize([0, 1, 2]))
    with pytest.raises(InvalidParameter, match="from_zero must be smaller"):
        local.RAPPOR(k=3, epsilon=1.0, from_zero=0.5, from_one=0.5)
    assert math.isinf(local.epsilon_of(((0, 1), (Fraction(1, 2), Fraction(1, 2)))))  # bits never flipped back

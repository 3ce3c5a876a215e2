"""Randomized response, binary and k-ary: exact ratios, rounding towards privacy, unbiased estimates, twins."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import binom

from privet import privacy
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms import KRR, RandomizedResponse
from privet.mechanisms.families.response import epsilon_of_truth, truth_for
from privet.privacy import Unit
from tests.mechanisms.goodness import fits


def channel(mechanism, k):
    """The table Pr[report | value], as fractions."""
    return [[mechanism.truth if x == y else mechanism.lie for y in range(k)] for x in range(k)]


def worst_ratio(table):
    rows = range(len(table))
    return max(table[a][y] / table[b][y] for a in rows for b in rows for y in range(len(table[0])))


def no_more_than(ratio, epsilon):
    """ratio <= exp(epsilon), in decimals far beyond floats."""
    from mpmath import mp, mpf

    with mp.workdps(1_200):
        return mpf(ratio.numerator) / ratio.denominator <= mp.exp(mpf(epsilon))


def test_warner_is_ln_3():
    survey = RandomizedResponse.warner()
    assert survey.truth == Fraction(3, 4)
    assert survey.loss.epsilon == 1.0986122886681098
    assert worst_ratio(channel(survey, 2)) == 3
    assert RandomizedResponse.for_budget(epsilon=1.0986122886681098).truth == Fraction(3, 4)


@pytest.mark.parametrize(
    ("k", "epsilon", "truth", "lie"),
    [
        (2, 1.0, 0.731058579, 0.268941421),
        (4, 1.0, 0.475366886, 0.174877705),
        (1024, 2.0, 0.00717113216, 0.000970507202),
    ],
)
def test_golden_probabilities(k, epsilon, truth, lie):
    mechanism = KRR.for_budget(k=k, epsilon=epsilon)
    assert float(mechanism.truth) == pytest.approx(truth, rel=4e-9)
    assert float(mechanism.lie) == pytest.approx(lie, rel=4e-9)


@pytest.mark.parametrize("epsilon", [1e-50, 1e-12, 1e-6, 0.1, 1.0, math.log(3.0), 5.0, 30.0, 700.0, 2000.0])
@pytest.mark.parametrize("k", [2, 3, 1000])
def test_the_fraction_that_runs_is_priced_and_rounded_towards_privacy(k, epsilon):
    mechanism = KRR.for_budget(k=k, epsilon=epsilon)
    ratio = worst_ratio(channel(mechanism, min(k, 3)))
    assert ratio == mechanism.truth / mechanism.lie
    assert mechanism.truth + (k - 1) * mechanism.lie == 1
    assert no_more_than(ratio, mechanism.loss.epsilon)  # the claim covers what runs
    assert 0.999999 * epsilon <= mechanism.loss.epsilon <= epsilon  # and stays within the budget
    assert not no_more_than(
        ratio, math.nextafter(mechanism.loss.epsilon, 0.0)
    )  # by less than one unit in the last place


def test_twin_that_rounds_to_nearest_is_caught():
    nearest = [Fraction(1.0 / (1.0 + math.exp(-e))) for e in np.linspace(0.5, 3.0, 200)]
    beyond = [not no_more_than(p / (1 - p), e) for p, e in zip(nearest, np.linspace(0.5, 3.0, 200), strict=True)]
    assert any(beyond)
    ours = [truth_for(e, 2) for e in np.linspace(0.5, 3.0, 200)]
    assert all(no_more_than(p / (1 - p), e) for p, e in zip(ours, np.linspace(0.5, 3.0, 200), strict=True))


def test_other_budgets():
    assert (
        RandomizedResponse.for_budget(epsilon=0.5, delta=0.01).truth > RandomizedResponse.for_budget(epsilon=0.5).truth
    )
    zcdp = KRR.for_budget(k=5, rho=0.1).loss
    assert 0.0999 < zcdp.zcdp().rho <= 0.1
    assert KRR.for_budget(k=5, mu=1.0).loss.gdp() <= 1.0


@pytest.mark.parametrize("value", [0, 2])
def test_sampler_fits_the_channel(value):
    mechanism = KRR.for_budget(k=4, epsilon=1.0)
    law = [float(x) for x in channel(mechanism, 4)[value]]
    reports = mechanism.release(np.full(100_000, value)).value
    assert fits(reports, law)
    for epsilon in (2 / 3, 3 / 2):
        assert not fits(KRR.for_budget(k=4, epsilon=epsilon).release(np.full(100_000, value)).value, law)


@pytest.mark.parametrize("value", [False, True])
def test_binary_sampler_fits_the_channel(value):
    reports = RandomizedResponse.warner().release(np.full(100_000, value)).value
    assert reports.dtype == bool
    assert fits(reports == value, [0.25, 0.75])
    assert not fits(reports == value, [0.27, 0.73])


def test_twin_that_lies_over_all_k_values_is_caught():
    """The lie may hit the truth: then the law differs from the priced one, in the table and in the draws."""
    mechanism = KRR.for_budget(k=4, epsilon=1.0)
    twin = mechanism.truth + (1 - mechanism.truth) / 4, (1 - mechanism.truth) / 4
    assert twin[0] / twin[1] > mechanism.truth / mechanism.lie
    assert not no_more_than(twin[0] / twin[1], mechanism.loss.epsilon)
    rng = np.random.default_rng(0)
    draws = np.where(rng.random(100_000) < float(mechanism.truth), 0, rng.integers(4, size=100_000))
    assert not fits(draws, [float(x) for x in channel(mechanism, 4)[0]])


def test_warner_estimate():
    survey = RandomizedResponse.warner()
    for share in (0.2, 0.4, 0.9):
        reports = np.arange(1000) < 1000 * share
        assert survey.estimate(reports).value == pytest.approx(2 * share - 0.5)
    # True share .3 of a random sample of 10,000: 40% of reports say yes.
    assert 4 * binom.var(10_000, 0.4) / 10_000**2 == pytest.approx(9.6e-5)
    people = np.arange(10_000) < 3_000
    estimates = [survey.estimate(survey.release(people).value).value for _ in range(300)]
    assert abs(np.mean(estimates) - 0.3) < 5.5 * math.sqrt(7.5e-5 / 300)  # noise alone: 4 * 3/16 / n
    assert 0.6 < np.var(estimates) / 7.5e-5 < 1.5


@pytest.mark.parametrize(("n", "ones"), [(200, 0), (200, 100), (200, 37), (1000, 1000), (30, 15), (5, 2)])
@pytest.mark.parametrize("epsilon", [0.5, 1.0986, 4.0])
def test_error_bar_against_the_exact_law(n, ones, epsilon):
    mechanism = RandomizedResponse.for_budget(epsilon=epsilon)
    p = float(mechanism.truth)
    counts = np.convolve(binom.pmf(np.arange(ones + 1), ones, p), binom.pmf(np.arange(n - ones + 1), n - ones, 1 - p))
    estimates = (np.arange(n + 1) / n - (1 - p)) / (2 * p - 1)
    for confidence in (0.5, 0.95, 0.99):
        bar = mechanism.error(confidence, people=n)
        covered = counts[np.abs(estimates - ones / n) <= bar.radius].sum()
        assert covered >= confidence - 0.005
        if n * p * (1 - p) > 25:
            assert covered <= confidence + 2 * counts.max()  # one count more on each side than needed


def test_krr_estimate_is_unbiased_and_its_bar_holds():
    mechanism = KRR.for_budget(k=5, epsilon=1.5)
    people = np.repeat(np.arange(5), [4000, 3000, 2000, 1000, 0])
    results = [mechanism.estimate(mechanism.release(people).value) for _ in range(200)]
    values = np.array([result.value for result in results])
    truth = np.array([0.4, 0.3, 0.2, 0.1, 0.0])
    assert np.allclose(values.sum(axis=1), 1.0)
    assert np.abs(values.mean(axis=0) - truth).max() < 5.5 * results[0].error.radius / 2.5 / math.sqrt(200)
    misses = (np.abs(values - truth).max(axis=1) > results[0].error.radius).sum()
    assert misses <= binom.isf(1e-6, 200, 0.05)
    low, high = results[0].error.interval(values[0])
    assert np.all(low < high)


def test_types_and_shapes():
    survey = RandomizedResponse.warner()
    assert type(survey.release(True).value) is bool
    assert type(survey.release(1).value) is int
    assert survey.release(np.zeros((2, 3), dtype=np.uint8)).value.dtype == np.int64
    assert survey.simulate(1, 7).shape == (7,)
    assert KRR.for_budget(k=3, epsilon=1.0).simulate([0, 1, 2], 7).shape == (7, 3)


@pytest.mark.parametrize("bad", ["yes", None, [[1], [0, 1]], {"a": 1}, np.array(["yes"])])
def test_what_is_no_number_by_its_type_is_refused(bad):
    with pytest.raises(InvalidData):
        RandomizedResponse.warner().release(bad)


@pytest.mark.parametrize("make", [list, np.array])
def test_no_value_is_refused(make):
    """Rounded half up, clamped to the public values; what is no number counts as 0."""
    channel = KRR.for_budget(k=4, epsilon=1.0)
    assert channel._prepare(make([2.0, -1.0, 9.0, 0.5, math.nan, math.inf])).tolist() == [2, 0, 3, 1, 0, 3]
    assert channel._prepare([Fraction(5, 2), None, "x", 10**400, True]).tolist() == [3, 0, 0, 3, 1]
    assert RandomizedResponse.warner().release(1.0).value in (0, 1)


@pytest.mark.parametrize("make", [list, tuple, np.array, pd.Series, pd.Categorical, pl.Series, pa.array])
def test_labels_are_read_from_any_column(make):
    party = KRR.for_budget(labels=("red", "green", "none"), epsilon=1.0)
    assert party._prepare(make(["none", "red", "green", "green"])).tolist() == [2, 0, 1, 1]
    reports = party.release(make(["none"] * 50)).value
    assert set(reports.tolist()) <= set(party.labels)


def test_labels_are_the_same_channel():
    """A label is its place: the same law, the same estimate; what is no label counts as the first."""
    party, plain = KRR.for_budget(labels=("red", "green", "none"), epsilon=1.0), KRR.for_budget(k=3, epsilon=1.0)
    assert (party.loss, party.truth) == (plain.loss, plain.truth)
    reports = party.release(["green"] * 100_000).value
    law = [float(plain.lie), float(plain.truth), float(plain.lie)]
    codes = np.array([party.labels.index(each) for each in reports])
    assert fits(codes, law)
    assert np.array_equal(party.estimate(reports).value, plain.estimate(codes).value)
    assert party._prepare(["?", None, 1, "none"]).tolist() == [0, 0, 0, 2]
    assert type(party.release("green").value) is str
    assert "labels" not in plain.to_dict()
    assert party.to_dict()["labels"] == ["red", "green", "none"]


@pytest.mark.parametrize("bad", [3, None, b"red", {"red": 1}, {"red"}, np.zeros(2), np.array([["red"]]), iter(["red"])])
def test_what_holds_no_labels_by_its_type_is_refused(bad):
    with pytest.raises(InvalidData):
        KRR.for_budget(labels=("red", "green"), epsilon=1.0).release(bad)


def test_bad_labels():
    for labels in ("red", ("red",), ("red", "red"), (0, 1), (), 3):
        with pytest.raises(InvalidParameter):
            KRR.for_budget(labels=labels, epsilon=1.0)
    for bad in ({}, {"k": 3, "labels": ("red", "green")}):
        with pytest.raises(InvalidParameter):
            KRR.for_budget(**bad, epsilon=1.0)


def test_bad_parameters():
    for k in (1, 0, -3, 2.5, True):
        with pytest.raises(InvalidParameter):
            KRR.for_budget(k=k, epsilon=1.0)
    for truth in (Fraction(1), 0.4, math.nan, 1.5, "3/4", True):
        with pytest.raises(InvalidParameter):
            RandomizedResponse(truth=truth)
    with pytest.raises(InvalidParameter, match="replace"):
        RandomizedResponse(truth=0.75, unit=Unit())
    for epsilon in (0.0, -1.0, math.inf, math.nan, 5e-324, 1e5):
        with pytest.raises(InvalidParameter):
            RandomizedResponse.for_budget(epsilon=epsilon)


def test_a_report_that_says_nothing_is_free_and_useless():
    coin = RandomizedResponse(truth=Fraction(1, 2))
    assert coin.loss == privacy.RandomizedResponseLoss(0.0)
    assert coin.release([0, 1]).error is None
    with pytest.raises(InvalidData):
        coin.estimate([0, 1])
    assert epsilon_of_truth(Fraction(1, 2), 2) == 0.0

"""Intervals cover as often as they say: under the exact law, never less, and hardly more."""

import math
from fractions import Fraction

import numpy as np
import pytest

from privet import noise
from privet.workloads import AllRanges, Cells, Hierarchical, Prefix, RangeQueries, SquareRoot, Wavelet
from privet.workloads.families.noise_law import NoiseLaw
from tests.firsts import slow

DRAWS = 100_000
LEVELS = (0.8, 0.95, 0.99)
SUMS = {
    "one": np.ones(1),
    "three": np.ones(3),
    "fading": np.array([1.0, 0.5, 0.25, 0.1]),
    "many": np.ones(50),
    "mixed": np.random.default_rng(1).normal(size=30),
}


def share(hits):
    return float(np.mean(hits))


@pytest.mark.parametrize("scale", [Fraction(1, 4), Fraction(1), slow(Fraction(10)), Fraction(1000)], ids=str)
@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_coverage_of_sums(kind, scale, name):
    weights = SUMS[name]
    draw = noise.discrete_laplace if kind == "laplace" else noise.rounded_gaussian
    drawn = draw(**{"scale" if kind == "laplace" else "sigma": scale}, size=(DRAWS // 5, len(weights)))
    sums = np.abs(np.asarray(drawn) @ weights)
    law = NoiseLaw(kind, ((len(weights), scale),))
    for level in LEVELS:
        radius = law.radius(weights, level)
        slack = 5.5 * math.sqrt(level * (1.0 - level) / len(sums))  # one in 10^7 for each
        assert share(sums <= radius) >= level - slack
        if scale >= 10:  # finer laws have atoms, which cover more
            assert share(sums <= 0.95 * radius) <= level + slack


@pytest.mark.parametrize("scale", ["0.14", "0.25", "0.5", "1", "3"])
@pytest.mark.parametrize("level", [0.9, 0.99, 0.999, 0.9999, 1.0 - 1e-9])
def test_one_noise_against_its_exact_law(scale, level):
    """Steps may be many standard deviations apart: the radius is that of the steps."""
    b = Fraction(scale)
    reach = math.floor(NoiseLaw("laplace", ((1, b),)).radius(np.ones(1), level) + 1e-9)
    a = math.exp(-1.0 / float(b))
    assert 2.0 * a ** (reach + 1) / (1.0 + a) <= 1.0 - level


def test_normal_quantiles_would_cover_too_rarely():
    """The broken twin: one Laplace noise within 1.96 standard deviations 93.7% of the time, and 2.58 97.4%."""
    drawn = np.abs(np.asarray(noise.discrete_laplace(scale=100, size=DRAWS)))
    deviation = math.sqrt(2.0) * 100.0
    assert share(drawn <= 1.96 * deviation) < 0.945
    assert share(drawn <= 2.5758 * deviation) < 0.98


@pytest.mark.parametrize("strategy", [Cells(), Hierarchical(), Hierarchical(weights="uniform"), Wavelet()], ids=str)
def test_coverage_of_answers_through_the_mechanism(strategy):
    """Noise drawn by the mechanism itself, answers rebuilt, held against the truth."""
    truth = np.arange(24)
    mechanism = RangeQueries(workload=AllRanges(24)).for_budget(epsilon=0.7, strategy=strategy)
    runs = mechanism.simulate(truth, 3_000)
    for first, last in ((0, 0), (5, 18), (0, 23)):
        radius = runs[0].answer(first, last).radius
        query = np.zeros(24)
        query[first : last + 1] = 1.0
        row = mechanism.design.coefficients(query)
        found = np.array([row @ run.measured for run in runs])
        assert found[0] == pytest.approx(runs[0].answer(first, last).value)
        hits = share(np.abs(found - truth[first : last + 1].sum()) <= radius)
        assert hits >= 0.95 - 5.5 * math.sqrt(0.95 * 0.05 / 3_000)
        assert hits <= 0.99


def test_gaussian_answers_cover_too():
    truth = np.arange(24)
    mechanism = RangeQueries(workload=Prefix(24)).for_budget(rho=0.5, strategy=SquareRoot())
    runs = mechanism.simulate(truth, 3_000)
    query = (np.arange(24) >= 3) & (np.arange(24) <= 20)
    found = np.array([run.measured for run in runs]) @ mechanism.design.coefficients(query.astype(float))
    hits = share(np.abs(found - truth[query].sum()) <= runs[0].answer(3, 20).radius)
    assert 0.95 - 5.5 * math.sqrt(0.95 * 0.05 / 3_000) <= hits <= 0.98


def test_simultaneous_intervals_are_wider():
    found = RangeQueries(workload=Prefix(16)).release(np.arange(16), epsilon=1.0).value
    single, all_ = (found.answers(Prefix(16), simultaneous=both).radius for both in (False, True))
    assert np.all(all_ > single)


def test_an_empty_range_is_zero_without_noise():
    found = RangeQueries(domain=8).release(np.arange(8), epsilon=1.0).value
    assert (found.answer(5, 4).value, found.answer(5, 4).radius) == (0.0, 0.0)

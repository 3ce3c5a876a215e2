"""Intervals of variances, covariances and correlations hold what they say on all kinds of data, and not much more often."""

import math

import numpy as np
import pytest

from privet.queries import second_moments
from privet.queries.second_moments import (
    Corners,
    Triple,
    correlation_interval,
    covariance_interval,
    mean_box,
    tail_aside,
    variance_interval,
)

RUNS = 4_000
SPARE = 4.0 * math.sqrt(0.05 * 0.95 / RUNS)  # four deviations of a share of .05; the noise is seeded
STEPS = 100
ONE = np.array([1.0, 0.0, 0.0]), np.array([1.0, 1.0, 0.0])
TWO = np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, 0.0, 1.0, 0.0])
LAWS = [("laplace", 1.0), ("laplace", 0.1), ("gaussian", 1.0), ("gaussian", 0.1)]  # of a row that adds 1


def columns(name, n):
    """Pairs of columns of whole steps from 0 to STEPS."""
    rng = np.random.default_rng(3)
    even, other = rng.uniform(0.0, STEPS, (2, n))
    low = STEPS * rng.beta(2.0, 8.0, n)
    made = {
        "even": (even, (even + other) / 2.0),
        "ends": (STEPS * rng.integers(0, 2, n), low),
        "edge": (rng.exponential(1.0, n), STEPS - rng.exponential(2.0, n)),
        "same": (low, low),
        "opposite": (even, STEPS - even),
        "constant": (np.full(n, 37.0), even),
    }[name]
    return [np.clip(np.rint(each), 0, STEPS) for each in made]


def exact(t, u=None):
    """The sums of a column with itself, or of two, as whole numbers."""
    n = STEPS
    if u is None:
        return np.array([(t * t).sum(), (2 * t * (n - t)).sum(), ((n - t) ** 2).sum()])
    return np.array([(t * u).sum(), (t * (n - u)).sum(), ((n - t) * u).sum(), ((n - t) * (n - u)).sum()])


def drawn(cells, law, rng):
    kind, scale = law
    shape = (len(cells), RUNS)
    noise = rng.laplace(0.0, scale, shape) if kind == "laplace" else rng.normal(0.0, scale, shape)
    return np.rint(cells[:, None] + noise)


def law_of(law, rows_of_noise):
    """Noise on sums to which a row adds STEPS squared; the second number says how many rows one noise is worth."""
    return law[0], STEPS**2 * rows_of_noise / law[1]


def held(name, n, law):
    """How often the intervals of a variance, a covariance and a correlation hold the truth."""
    rng = np.random.default_rng(17)
    t, u = columns(name, n)
    law = law_of(law, 1.0)
    one, two = (Corners(drawn(exact(each), law, rng), *ONE) for each in (t, u))
    both = Corners(drawn(exact(t, u), law, rng), *TWO)
    aside = tail_aside(0.95)
    boxes = [mean_box(each, law, aside / 2.0) for each in (one, two)]
    weak = boxes[0][1] | boxes[1][1] | (both.cells.sum(axis=0) <= 0.0)
    found = {"variance": (*variance_interval(one, law, 0.95)[:2], np.var(t) / STEPS**2)}
    low, high = covariance_interval(both, (boxes[0][0], boxes[1][0]), law, 0.95 + aside)
    covariance = np.mean((t - t.mean()) * (u - u.mean())) / STEPS**2
    found["covariance"] = (np.where(weak, -0.25, low), np.where(weak, 0.25, high), covariance)
    if t.std() * u.std() > 0.0:
        tops = (np.full(RUNS, float(STEPS**2)),) * 3
        ends = correlation_interval(Triple(both, one, two, tops), (np.zeros(RUNS), np.zeros(RUNS)), law, 0.95)
        found["correlation"] = (*ends, covariance * STEPS**2 / (t.std() * u.std()))
    return {what: float(np.mean((low <= at + 1e-12) & (at - 1e-12 <= high))) for what, (low, high, at) in found.items()}


@pytest.mark.parametrize("law", [LAWS[0], *(pytest.param(law, marks=pytest.mark.slow) for law in LAWS[1:])], ids=str)
@pytest.mark.parametrize("n", [60, *(pytest.param(n, marks=pytest.mark.slow) for n in (400, 10, 20_000))])
@pytest.mark.parametrize("name", ["even", "ends", "edge", "same", "opposite", "constant"])
def test_intervals_hold_on_all_kinds_of_data(name, n, law):
    assert min(held(name, n, law).values()) >= 0.95 - SPARE


@pytest.mark.parametrize("law", [("laplace", 1.0), ("gaussian", 1.0)], ids=str)
def test_with_many_rows_they_hold_hardly_more_often(law):
    found = held("even", 20_000, law)
    assert max(found.values()) <= 0.97


@pytest.mark.parametrize("law", [("laplace", 1.0), ("gaussian", 1.0)], ids=str)
def test_a_radius_that_is_a_fifth_too_short_is_seen(law, monkeypatch):
    sound = second_moments.own_radii
    monkeypatch.setattr(second_moments, "own_radii", lambda *of: 0.8 * sound(*of))
    assert max(held("even", 20_000, law).values()) < 0.95 - SPARE


@pytest.mark.parametrize("rows", [0.0, 3.0, 11.0, 13.0, 40.0])
def test_below_the_noise_nothing_is_said(rows):
    """Twelve rows are five deviations of the noise of three sums, each worth a row."""
    scale = float(STEPS**2)
    cells = np.full((3, 1), rows * STEPS**2 / 3.0)
    low, high, weak = variance_interval(Corners(cells, *ONE), ("laplace", scale), 0.95)
    assert bool(weak[0]) == (rows < 5.0 * math.sqrt(6.0))
    if weak[0]:
        assert (low[0], high[0]) == (0.0, 0.25)


def test_rounding_is_in_correlations():
    """Values between two steps and hardly any noise: what is off is the rounding, whichever way it goes."""
    rng = np.random.default_rng(2)
    for half in (0.5, 5.0):
        for _ in range(50):
            x = rng.uniform(0.0, STEPS, 40)
            y = np.clip(x + rng.normal(0.0, rng.choice([0.1, 10.0, 60.0]), 40), 0.0, STEPS)
            t, u = (np.clip(np.rint(each / (2 * half)) * 2 * half, 0, STEPS) for each in (x, y))
            sums = [Corners(1e6 * exact(*each)[:, None], *at) for each, at in (((t, u), TWO), ((t,), ONE), ((u,), ONE))]
            tops = (np.full(1, 1e6 * STEPS**2),) * 3
            slack = (np.full(1, half / STEPS),) * 2
            low, high = correlation_interval(Triple(*sums, tops), slack, ("laplace", 1.0), 0.95)
            assert low[0] - 1e-9 <= np.corrcoef(x, y)[0, 1] <= high[0] + 1e-9
            assert high[0] - low[0] < 2.0

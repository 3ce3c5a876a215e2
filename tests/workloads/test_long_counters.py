"""Square root counters whose far coefficients come in runs: what is measured, what comes back, and what it is worth."""

import math
from fractions import Fraction

import numpy as np
import pytest

from privet.privacy import Unit
from privet.workloads import SquareRootCount
from privet.workloads.streams import square_root_count

OWN = 32  # in the place of 4,096: a sixteenth of it is 2


@pytest.fixture
def short(monkeypatch):
    """Runs that begin after 32 coefficients."""
    monkeypatch.setattr(square_root_count, "_OWN", OWN)
    square_root_count._lengths.cache_clear()
    yield
    square_root_count._lengths.cache_clear()


def matrix(counter):
    below = np.arange(counter.horizon)[:, None] - np.arange(counter.horizon)
    whole = np.append(counter._whole, np.zeros(counter.horizon, dtype=np.int64))
    return np.where((below >= 0) & (below < counter.band), whole[np.clip(below, 0, None)], 0)


@pytest.mark.parametrize("band", [OWN - 1, OWN, OWN + 1, OWN + 3, 90, 150])
def test_what_is_measured_is_the_matrix(short, band, monkeypatch):
    counter = SquareRootCount(horizon=150, scale=1.0, band=band)
    counts = np.random.default_rng(band).integers(0, 50, 150)
    seen = []
    monkeypatch.setattr(SquareRootCount, "_noise", lambda *_: np.zeros(1, dtype=np.int64))
    state = counter._counting(1, None)
    sums = []
    for number, each in enumerate(counts.tolist()):
        before = state.found.copy()
        sums.append(state.step(each)[0])
        seen.append(int(state.exact[number % len(state.own) + len(state.own)]))
        assert before.shape == state.found.shape
    assert seen == counts.tolist()
    assert sums == pytest.approx(np.cumsum(counts), abs=1e-6)


@pytest.mark.parametrize("band", [OWN, OWN + 1, 90, 150])
def test_every_measurement_is_its_row(short, band, monkeypatch):
    """The noise is handed what it is added to: nothing but the row times the counts."""
    counter = SquareRootCount(horizon=150, scale=1.0, band=band)
    counts = np.random.default_rng(band).integers(0, 50, 150)
    drawn = np.random.default_rng(1).integers(-(2**40), 2**40, 150)
    it = iter(drawn.tolist())
    monkeypatch.setattr(SquareRootCount, "_noise", lambda *_: np.array([next(it)], dtype=np.int64))
    state = counter._counting(1, None)
    sums = np.array([state.step(each)[0] for each in counts.tolist()])
    rows = matrix(counter).astype(float)
    assert sums == pytest.approx(np.cumsum(np.linalg.solve(rows, rows @ counts + drawn)), rel=1e-6)


@pytest.mark.parametrize("band", [OWN, OWN + 1, 90, 150])
def test_prices_and_errors_are_those_of_the_matrix(short, band):
    for unit in (Unit(), Unit("replace")):
        counter = SquareRootCount(horizon=150, scale=1.0, band=band, unit=unit)
        rows = matrix(counter)
        gram = rows.T @ rows
        reach = np.max(np.diag(gram))
        if unit.relation == "replace":
            reach = max(reach, np.max(np.diag(gram)[:, None] + np.diag(gram) - 2 * gram))
        assert counter.sensitivity.value**2 >= Fraction(int(reach), 4**22)
        assert float(counter.sensitivity) == pytest.approx(math.sqrt(int(reach)) / 2**22, rel=1e-12)
        lengths = np.linalg.norm(np.tri(150) @ np.linalg.inv(rows / 2**22), axis=1)
        assert counter.deviations() == pytest.approx(lengths, rel=1e-9)


def test_simulated_errors_are_those_that_were_said(short):
    counter = SquareRootCount(horizon=120, scale=3.0)
    off = np.asarray(counter.simulate([2] * 120, 4_000)) - 2.0 * np.arange(1, 121)
    assert np.sqrt(np.mean(off**2)) == pytest.approx(counter.rmse, rel=0.03)


@pytest.mark.parametrize("horizon", [4_096, 4_097, 65_536, 65_537, 10**6])
def test_long_counters_are_within_a_hundredth_of_the_whole_root(horizon):
    j = np.arange(1.0, horizon)
    squares = np.cumsum(np.concatenate(([1.0], np.cumprod((2.0 * j - 1.0) / (2.0 * j)))) ** 2)
    counter = SquareRootCount.for_budget(mu=1.0, horizon=horizon)
    assert counter.rmse == pytest.approx(math.sqrt(squares[-1] * squares.mean()), rel=0.01)


def test_coefficients_never_rise():
    whole = square_root_count.whole_coefficients(10**5)
    assert np.all(np.diff(whole) <= 0)
    assert whole[-1] > 0
    assert len(set(whole[4_096:].tolist())) < 60

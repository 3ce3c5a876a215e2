"""Intervals of distributions, quantiles, covariances and discovered keys, through a ledger, hold what they say as often as
the law of their noise predicts, drawn anew by numpy."""

import math

import numpy as np
import pytest

import privet as pv
from privet.queries import histogram_answers, second_moments, table_answers

pytestmark = pytest.mark.slow
SPARE = 4.0 * math.sqrt(0.05 * 0.95 / 2_000)  # four deviations for two thousand intervals
CELLS, DRAWS = 16, 40_000
AGES = np.random.default_rng(5).integers(0, 4 * CELLS, 1_500)
COUNTS = np.bincount(AGES // 4, minlength=CELLS)
WAYS = {"pure": {"epsilon": 1.0}, "normal": {"rho": 0.1}}
SHARES = tuple(round(0.1 * i, 1) for i in range(1, 10))


def ledger_for(table, way):
    budget = pv.Budget(rho=1e4) if "rho" in way else pv.Budget(epsilon=1e5, delta=0.5)
    return pv.Ledger.create("memory:", budget=budget, unit=table.unit)


def ages():
    return pv.Table({"age": AGES}, columns={"age": pv.Int(0, 4 * CELLS - 1)}, name="t")


def whole_number_noise(rng, kind, scale, shape):
    if kind == "gaussian":
        return np.rint(rng.normal(0.0, scale, shape))
    stop = 1.0 - math.exp(-1.0 / scale)
    return rng.geometric(stop, shape) - rng.geometric(stop, shape)


def noise_of_cells(answers):
    """Many draws of what noise adds to each cell, from the coefficients of the design and the scales of its groups."""
    rng, design = np.random.default_rng(11), answers.design
    weights = np.array([design.coefficients(row) for row in np.eye(CELLS)])
    scales = [float(scale) for size, scale in answers._law.groups for _ in range(size)]
    drawn = np.stack([whole_number_noise(rng, answers._law.kind, scale, DRAWS) for scale in scales])
    return weights @ drawn, weights, np.array(scales)


def bins_that_hold(way, runs):
    """How many intervals of bins hold their count, and what the law says about the first of these releases."""
    table = ages()
    ledger, held, expected = ledger_for(table, way), 0, None
    for _ in range(runs):
        made = ledger.release(table.cdf("age", bins=CELLS), **way).value
        told = made.columns()
        held += int(np.sum((told["count_low"] <= COUNTS) & (told["count_high"] >= COUNTS)))
        if expected is None:
            wide = (told["count_high"] - told["count_low"]) / 2.0
            expected = float(np.mean(np.abs(noise_of_cells(made.answers)[0]) <= wide[:, None] + 1e-9))
    return held / (runs * CELLS), expected


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_bins_of_a_distribution(way):
    found, expected = bins_that_hold(way, 125)
    assert found == pytest.approx(expected, abs=SPARE)
    assert expected >= 0.95


def test_bins_see_a_radius_that_is_a_tenth_too_short(monkeypatch):
    sound = histogram_answers._radius
    monkeypatch.setattr(histogram_answers, "_radius", lambda *of: 0.9 * sound(*of))
    assert bins_that_hold(WAYS["pure"], 125)[1] < 0.95


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_quantiles_of_one_release(way):
    """The bin of the exact quantile is between the ends; how often, follows from all cells at once."""
    table = ages()
    ledger, held, runs = ledger_for(table, way), 0, 222
    first = np.array([int(np.flatnonzero(np.cumsum(COUNTS) >= q * COUNTS.sum())[0]) for q in SHARES])
    for _ in range(runs):
        low, high = ledger.release(table.quantiles("age", SHARES, bins=CELLS), **way).value.interval("value")
        held += int(np.sum((low <= 4 * first) & (high >= 4 * first + 3)))
    made = ledger.release(table.cdf("age", bins=CELLS), **way).value
    noise, _, _ = noise_of_cells(made.answers)
    expected = []
    for q, place in zip(SHARES, first, strict=True):
        over = np.cumsum(COUNTS[:, None] + noise, axis=0) - q * (COUNTS[:, None] + noise).sum(axis=0)
        wide = made._spreads(q)[:, None]
        begins, ends = np.argmax(over >= -wide, axis=0), CELLS - 1 - np.argmax((over <= wide)[::-1], axis=0)
        expected.append(np.mean((begins <= place) & (np.minimum(ends + 1, CELLS - 1) >= place)))
    assert held / (runs * len(SHARES)) == pytest.approx(np.mean(expected), abs=SPARE)
    assert min(expected) >= 0.95


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("correlations", [False, True])
def test_covariances(way, correlations):
    """Of three columns six entries, of which three are 1 as correlations."""
    rng = np.random.default_rng(2)
    x = rng.normal(50.0, 20.0, (1_500, 3)).clip(0.0, 100.0).round()
    x[:, 1] = ((x[:, 0] + x[:, 1]) / 2.0).round()
    table = pv.Table(dict(zip("abc", x.T, strict=True)), columns=dict.fromkeys("abc", pv.Int(0, 100)), name="t")
    question = (table.correlation if correlations else table.covariance)("a", "b", "c")
    truth = np.corrcoef(x.T) if correlations else np.cov(x.T, ddof=0)
    upper = np.triu_indices(3, 1 if correlations else 0)
    ledger, held, runs = ledger_for(table, way), np.zeros(len(upper[0])), 334
    for _ in range(runs):
        made = ledger.release(question, **way).value
        held += ((made.lower <= truth) & (truth <= made.upper))[upper]
    assert (held / runs).min() >= 0.95 - 4.0 * math.sqrt(0.05 * 0.95 / runs)
    assert held.mean() / runs >= 0.95


def test_covariances_see_a_bound_that_is_forgotten(monkeypatch):
    sound = second_moments.own_radii
    monkeypatch.setattr(second_moments, "own_radii", lambda *of: 0.7 * sound(*of))
    with pytest.raises(AssertionError):
        test_covariances(WAYS["pure"], False)


def selected_that_hold(factor):
    """Keys with few and with many persons, 50 of each; of those that are shown, how many intervals hold, and the law."""
    plain = pv.Table({"k": []}, columns={"k": pv.Text()}, name="t").group_by("k", discover=True)
    found = plain.agg(n=pv.count_persons()).for_budget(epsilon=1.0, delta=1e-3).selection
    sizes = {f"{name}{i}": found.threshold + more for name, more in (("a", -2), ("b", 1), ("c", 40)) for i in range(50)}
    frame = {"k": np.repeat(list(sizes), list(sizes.values()))}
    table = pv.Table(frame, columns={"k": pv.Text()}, name="t")
    query = table.group_by("k", discover=True).agg(n=pv.count_persons())
    ledger, held, shown = ledger_for(table, {}), dict.fromkeys("abc", 0), dict.fromkeys("abc", 0)
    for _ in range(40):
        answer = ledger.release(query, epsilon=1.0, delta=1e-3).value
        for key, low, high in zip(answer["k"].tolist(), *answer.interval("n"), strict=True):
            shown[key[0]] += 1
            held[key[0]] += int(low <= sizes[key] <= high)
    z = np.arange(-400, 401)
    a, wide = math.exp(-1.0 / found.scale), factor * table_answers.radius("laplace", found.scale, (1.0,), 0.95)
    mass = (1 - a) / (1 + a) * a ** np.abs(z)
    law = {}
    for name, more in (("a", -2), ("b", 1), ("c", 40)):
        seen = z + more >= 0
        law[name] = float(mass[seen & (np.abs(z) <= wide)].sum() / mass[seen].sum())
    return {name: held[name] / shown[name] for name in held}, law, shown


def test_discovered_keys_hold_before_they_are_selected():
    """Far above the threshold as often as stated; near it those that are shown read too high, as their note says."""
    found, law, shown = selected_that_hold(1.0)
    for name in found:
        assert found[name] == pytest.approx(law[name], abs=4.0 * math.sqrt(0.25 / shown[name]))
    assert law["c"] >= 0.95 > law["a"]


def test_discovered_keys_see_a_shorter_radius():
    found, law, shown = selected_that_hold(0.5)
    assert abs(found["c"] - law["c"]) > 4.0 * math.sqrt(0.05 * 0.95 / shown["c"])

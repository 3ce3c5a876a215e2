"""Intervals hold what they say, at the level that they say; the vectors that are shared are worth it."""

import math

import numpy as np
import pytest

import privet as pv
from privet import noise
from privet.queries import intervals
from privet.queries.intervals import radii, radius, ratio_interval
from tests.queries.repeated import answers, covered

RUNS = 8_000
SPARE = 4.0 * math.sqrt(0.05 * 0.95 / RUNS)  # four deviations of a share of .05; the noise is seeded
X = np.round(np.random.default_rng(3).beta(2.0, 5.0, 3_000) * 40.0 - 10.0, 2)
FRAME = {"x": X, "i": np.random.default_rng(4).integers(0, 100, 3_000)}
COLUMNS = {"x": pv.Float(-10.0, 30.0), "i": pv.Int(0, 99)}
ASKED = {
    "n": (pv.count(), 3_000.0),
    "total": (pv.sum("x"), float(X.sum())),
    "mean": (pv.mean("x"), float(X.mean())),
    "variance": (pv.variance("x"), float(X.var())),
    "deviation": (pv.std("x"), float(X.std())),
    "whole": (pv.mean("i"), float(FRAME["i"].mean())),
}
WAYS = {"pure": {"epsilon": 0.5}, "much noise": {"epsilon": 0.02}, "little noise": {"epsilon": 40.0}, "mu": {"mu": 0.3}}


@pytest.mark.parametrize(("tail", "scale", "half"), [(0.026780, 1.0, 3), (0.037593, 2.0, 6), (0.047300, 10.0, 30)])
def test_half_widths_of_whole_number_noise(tail, scale, half):
    assert radius("laplace", scale, (1.0,), 0.95) == half
    a = math.exp(-1.0 / scale)
    assert 2 * a ** (half + 1) / (1 + a) == pytest.approx(tail, abs=1e-6)
    assert radius("laplace", scale, (1.0,), 1 - tail - 1e-6) == half  # the level is exactly the tail


def test_half_widths_of_normal_noise():
    wide = radius("gaussian", 1_000.0, (1.0,), (1 - 0.05) ** (1 / 100))  # one of a hundred at once
    assert wide / 1_000.0 == pytest.approx(3.473979, abs=1e-3)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("name", ASKED)
def test_intervals_cover(name, way):
    request, truth = ASKED[name]
    table = pv.Table(FRAME, columns=COLUMNS, name="t")
    made = table.agg(**{name: request}).for_budget(**way)
    found = answers(table, made, RUNS, 5, FRAME)
    share = covered(found, name, truth)
    assert share >= 0.95 - SPARE
    if name == "n" and made.parts[0].name == "discrete_laplace":
        scale = made.parts[0].scale
        a, half = math.exp(-1.0 / scale), radius("laplace", scale, (1.0,), 0.95)
        assert share == pytest.approx(1 - 2 * a ** (half + 1) / (1 + a), abs=SPARE)
    if name == "mean" and way == WAYS["pure"]:
        assert share <= 0.97  # and no wide berth


def test_rounding_to_steps_is_in_the_intervals():
    """Values between two steps, and hardly any noise: the rounding is all that is off."""
    x = np.tile([0.1 + 2.0**-7 * 0.49, 0.9 - 2.0**-7 * 0.49], 500)
    table = pv.Table({"x": x}, columns={"x": pv.Float(0.0, 1.0, tick=2.0**-6)}, name="t")
    made = table.agg(m=pv.mean("x"), v=pv.variance("x"), d=pv.std("x")).for_budget(epsilon=1e4)
    found = answers(table, made, 100, 1, {"x": x})
    for name, truth in (("m", x.mean()), ("v", x.var()), ("d", x.std())):
        assert covered(found, name, float(truth)) == 1.0
    assert found.interval("d")[1][0] - found.interval("d")[0][0] < 2.0**-5


def test_coverage_sees_an_interval_of_half_the_width(monkeypatch):
    table = pv.Table(FRAME, columns=COLUMNS, name="t")
    made = table.agg(mean=pv.mean("x")).for_budget(epsilon=0.5)
    sound = intervals.radii
    monkeypatch.setattr(intervals, "radii", lambda *arguments: sound(*arguments) / 2)
    assert covered(answers(table, made, RUNS, 5, FRAME), "mean", float(X.mean())) < 0.95 - SPARE


@pytest.mark.parametrize("scale", [0.3, 1.0, 5.0, 70.0])
def test_radii_hold_sums_of_whole_number_noise(scale):
    rng_weights = [(1.0, 1.0), (1.0, 0.3), (0.5, 0.5, 0.5), (1.0, 0.01, 0.2)]
    drawn = np.asarray(noise.discrete_laplace(scale=scale, size=(3, RUNS), source=noise.Seeded(9)))
    for weights in rng_weights:
        sums = np.abs(np.array(weights) @ drawn[: len(weights)])
        for level in (0.9, 0.95, 0.99):
            single = float(radii("laplace", scale, np.array([weights]), level)[0])
            for wide in (single, radius("laplace", scale, weights, level)):
                spare = 4.0 * math.sqrt(level * (1 - level) / RUNS)
                assert np.mean(sums <= wide + 1e-9) >= level - spare


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 1.0 - 1e-7])
def test_an_interval_of_a_ratio_holds_every_share_that_fits(kind, confidence):
    """Beside all cells of the grid, one after the other."""
    rng, scale = np.random.default_rng(5), 30.0
    for weights in ((np.array([0.0, 1.0]), np.array([1.0, 1.0])), (np.array([0.0, 0.0, 1.0]), np.ones(3))):
        bottom = scale * 10.0 ** rng.uniform(0.0, 3.0, 1_000)
        top = bottom * rng.uniform(-0.1, 1.1, 1_000)
        low, high, weak = ratio_interval(top, bottom, weights, (kind, scale), confidence)
        grid = np.linspace(0.0, 1.0, 257)
        wide = radii(kind, scale, weights[0] - grid[:, None] * weights[1], confidence)
        wide = np.maximum(wide[:-1], wide[1:])
        first = np.maximum((top[:, None] - wide) / bottom[:, None], grid[:-1])
        last = np.minimum((top[:, None] + wide) / bottom[:, None], grid[1:])
        some = first <= last
        told = some.any(axis=1) & ~weak
        assert told.sum() > 300
        least, most = np.where(some, first, 1.0).min(axis=1), np.where(some, last, 0.0).max(axis=1)
        np.testing.assert_allclose(low[told], least[told], rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(high[told], most[told], rtol=0.0, atol=1e-12)
        assert (low[weak] == 0.0).all()
        assert (high[weak] == 1.0).all()


def test_too_few_rows_say_nothing():
    table = pv.Table({"x": X[:3]}, columns={"x": COLUMNS["x"]}, name="t")
    made = table.agg(m=pv.mean("x"), v=pv.variance("x")).for_budget(epsilon=0.01)
    found = answers(table, made, 50, 2, {"x": X[:3]})
    low, high = found.interval("m")
    assert (low == -10.0).mean() > 0.9
    assert (high == 30.0).mean() > 0.9
    assert np.all((found["v"] >= 0.0) & (found["v"] <= 400.0))


def squared_error(values: np.ndarray, truth: float) -> float:
    return float(np.mean((values - truth) ** 2))


def laplace(scale: float, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).laplace(0.0, scale, RUNS)


def test_a_mean_has_half_the_squared_error_of_a_split_budget():
    """A sum around the middle and a count, each with half of epsilon: at most half the range, and one, for a row."""
    table = pv.Table(FRAME, columns=COLUMNS, name="t")
    for epsilon in (0.2, 1.0):
        made = table.agg(m=pv.mean("x")).for_budget(epsilon=epsilon)
        ours = squared_error(answers(table, made, RUNS, 6, FRAME)["m"], X.mean())
        sums = (X - 10.0).sum() + laplace(20.0 / (epsilon / 2), 1)
        split = squared_error(10.0 + sums / (len(X) + laplace(1.0 / (epsilon / 2), 2)), X.mean())
        assert ours / split == pytest.approx(0.5, abs=0.03)  # .5 exactly, as both errors are nearly linear in the noise
        weights = np.array([1.0 - 0.3, -0.3])
        assert 2 * weights @ weights / (8 * (0.25 + (0.3 - 0.5) ** 2)) == pytest.approx(0.5)


def test_a_variance_has_a_third_of_the_squared_error_of_a_split_budget():
    table = pv.Table(FRAME, columns=COLUMNS, name="t")
    made = table.agg(v=pv.variance("x")).for_budget(epsilon=1.0)
    ours = squared_error(answers(table, made, RUNS, 7, FRAME)["v"], X.var())
    u = (X - 10.0) / 20.0  # from -1 to 1; its square from 0 to 1
    n = len(u) + laplace(3.0, 3)
    first, second = (u.sum() + laplace(3.0, 4)) / n, ((u**2).sum() + laplace(3.0, 5)) / n
    split = squared_error(400.0 * (second - first**2), X.var())
    assert ours <= 0.34 * split


def held_by(scale, wide, share=None):
    """Pr[|Z| <= wide] of whole-number Laplace noise, or Pr[|(1 - t) Z - t Z'| <= wide] of two at a share t: their law."""
    a, most = math.exp(-1.0 / scale), math.ceil(40.0 * scale)
    z = np.arange(-most, most + 1)
    mass = (1 - a) / (1 + a) * a ** np.abs(z)
    if share is None:
        return float(mass[np.abs(z) <= wide].sum())
    upto = np.concatenate([[0.0], np.cumsum(mass)])
    first, last = np.ceil(((1 - share) * z - wide) / share), np.floor(((1 - share) * z + wide) / share)
    first, last = (np.clip(each + most, 0, 2 * most + 1).astype(int) for each in (first, last + 1))
    return float(mass @ (upto[last] - upto[first]))


@pytest.mark.slow
def test_intervals_cover_through_the_ledger():
    """Two hundred paid releases of ten groups: two thousand intervals of each number, which hold it as often as the exact
    law of the noise predicts; of a variance, whose interval is made of two, at least as often."""
    groups, runs = 10, 200
    frame = {"g": np.repeat(np.arange(groups), 300), "i": FRAME["i"]}
    table = pv.Table(frame, columns={"g": pv.Int(0, groups - 1), "i": COLUMNS["i"]}, name="t").group_by("g")
    parts = frame["i"].reshape(groups, 300)
    truth = {"n": np.full(groups, 300), "s": parts.sum(axis=1), "m": parts.mean(axis=1), "v": parts.var(axis=1)}
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e6), unit=pv.Rows().unit)
    held = dict.fromkeys(truth, 0)
    asked = ({"n": pv.count(), "s": pv.sum("i")}, {"m": pv.mean("i")}, {"v": pv.variance("i")})
    queries = [table.agg(**each) for each in asked]
    for query in queries * runs:
        answer = ledger.release(query, epsilon=1.0).value
        for name, _ in query.outputs:
            low, high = answer.interval(name)
            held[name] += int(np.sum((low - 1e-9 <= truth[name]) & (truth[name] <= high + 1e-9)))
    found = {name: often / (groups * runs) for name, often in held.items()}
    counts, sums = (part.scale for part in queries[0].for_budget(epsilon=1.0).parts)
    expected = {"n": held_by(counts, radius("laplace", counts, (1.0,), 0.95))}
    expected["s"] = held_by(sums, radius("laplace", sums, (1.0,), 0.95))
    (part,) = queries[1].for_budget(epsilon=1.0).parts
    shares = (truth["m"] / 99.0).tolist()
    wide = [float(radii("laplace", part.scale, np.array([[1 - t, t]]), 0.95)[0]) for t in shares]
    expected["m"] = float(np.mean([held_by(part.scale, w, t) for w, t in zip(wide, shares, strict=True)]))
    spare = 4 * math.sqrt(0.05 * 0.95 / (groups * runs))
    assert found == pytest.approx({**expected, "v": found["v"]}, abs=spare)
    assert all(each >= 0.95 for each in expected.values())
    assert found["v"] >= 0.95 - spare

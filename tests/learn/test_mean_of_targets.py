"""The mean of targets that a linear regression buys: what it costs, how far it moves, and what fits of few records gain."""

import math
from dataclasses import replace

import numpy as np
import pytest

from privet import noise
from privet.errors import InvalidParameter
from privet.learn import LinearRegression
from privet.learn.losses import Squared
from privet.learn.problem import ArrayRecords, Interval, Task
from privet.learn.solvers import BoostedSSP, SufficientStatistics, SymmetricGaussian
from privet.learn.solvers.exact_totals import WholeRows
from privet.learn.solvers.level import Mean, again_share, level_reach, nearer, shrunk_mean
from privet.mechanisms import Ball, Gaussian
from privet.privacy import Guarantee, Unit

UNITS = [Unit(), Unit("replace")]


def task(unit):
    return Task(features=1, row_norm=1.0, target=Interval(-1.0, 1.0), unit=unit)


def few(n, columns, epsilon, middle, deviation, seeds=15):
    """R2 of fits to targets within (-1, 1), of this mean and deviation, of which a linear model explains .7."""
    scores = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        rows = rng.uniform(-1, 1, size=(n, columns))
        told = 0.84 * rows @ np.full(columns, (3.0 / columns) ** 0.5) + 0.55 * rng.normal(size=n)
        y = np.clip(middle + deviation * told, -1, 1)
        facts = {"epsilon": epsilon, "delta": n**-2.0, "bounds": (-1, 1), "bounds_y": (-1, 1)}
        scores.append(LinearRegression(**facts, source=noise.Seeded(seed)).fit(rows, y).score(rows, y))
    return scores


@pytest.mark.parametrize(("n", "epsilon", "columns"), [(200, 1.0, 5), (2_000, 0.1, 20)])
@pytest.mark.parametrize("middle", [0.0, 0.5])
def test_too_little_data_for_slopes_predicts_about_the_mean(n, epsilon, columns, middle):
    scores = few(n, columns, epsilon, middle, 0.3, seeds=9)
    assert np.median(scores) >= -0.02
    assert min(scores) >= -0.1


def test_all_that_is_left_buys_the_mean_where_slopes_are_out_of_reach():
    """A mean that has a fifth of the budget, whatever the records, gives -.2 and -.1."""
    assert min(few(2_000, 10, 0.1, 0.0, 0.2)) >= -0.06
    assert np.median(few(1_000, 10, 0.1, 0.5, 0.3)) >= -0.04


def test_a_mean_that_is_known_well_keeps_the_constant_within_its_noise():
    """Where the noise of the mean is no prior for the constant the median is .32, and it was .1 without the second sum."""
    assert np.median(few(1_000, 1, 0.3, 0.6, 0.12)) >= 0.4


@pytest.mark.parametrize(("n", "releases"), [(50, 2), (1_500, 6), (40_000, 5)])
@pytest.mark.parametrize("unit", UNITS, ids=["add_remove", "replace"])
def test_a_mean_that_is_bought_again_is_paid_by_the_others(n, releases, unit, monkeypatch):
    parts = []
    for kind in (Gaussian, SymmetricGaussian):
        prepare = kind._prepare
        monkeypatch.setattr(
            kind, "_prepare", lambda self, value, prepare=prepare: parts.append(self) or prepare(self, value)
        )
    plan = BoostedSSP().plan(task(unit), Squared(), Guarantee(mu=0.05 * (1 + (unit.relation == "replace"))))
    plan.release(ArrayRecords(np.linspace(-1, 1, n)[:, None], np.full(n, 0.3)), source=noise.Seeded(3))
    squares = [part.loss.gaussian() ** 2 for part in parts]
    whole = plan.loss.gaussian()
    assert len(parts) == releases
    assert whole * (1.0 - 1e-9) <= math.sqrt(sum(squares)) <= whole
    assert math.sqrt(sum(squares) + squares[1]) > whole * (1.0 + 1e-3)  # a mean for nothing would be noticed


@pytest.mark.parametrize("counted", [False, True])
def test_the_second_sum_of_targets_moves_by_its_sensitivity(counted, monkeypatch):
    """By 1, or 5/4 with their number, for a record that comes, by 2 for one that is exchanged; for a mean that is given."""
    part, seen, prepare = Gaussian.for_budget(mu=1.0, sensitivity=2.0), [], Gaussian._prepare
    monkeypatch.setattr(
        Gaussian, "_prepare", lambda self, value: seen.append([float(v) for v in value]) or prepare(self, value)
    )
    public = task(Unit())
    for mean in (-0.9, 0.0, 0.9):
        seen.clear()
        for goals in ([1.0], [-1.0], []):
            data = WholeRows(public, ArrayRecords(np.ones((len(goals), 1)), np.array(goals)))
            nearer(part, public, data, Mean(mean, 1.0, 5.0, 1.0), noise.Seeded(1), len(goals) if counted else None)
        high, low, nothing = (np.array(each) for each in seen)
        assert not nothing.any()
        most = float(level_reach(Unit())) if counted else 1.0
        assert max(np.linalg.norm(high), np.linalg.norm(low)) == pytest.approx(most, rel=1e-12)
        assert np.linalg.norm(high - low) == pytest.approx(2.0 - abs(mean), abs=1e-5)


def test_a_number_of_records_that_is_bought_again_is_weighed_with_the_first():
    """Its noise was as large as the number: without the second one a tenth of these were below -2."""
    scores = few(500, 10, 0.1, 0.5, 0.3)
    assert np.quantile(scores, 0.2) >= -0.5
    assert np.median(scores) >= -0.12


@pytest.mark.parametrize("unit", UNITS, ids=["add_remove", "replace"])
def test_a_pure_fit_buys_the_mean_from_five_columns_on(unit):
    """Both sides of five columns, without an intercept none; the two releases cost the promise and no more."""
    for columns, bought in ((4, False), (5, True)):
        plain = Task(features=columns, row_norm=1.0, target=Interval(-1.0, 1.0), unit=unit)
        plan = SufficientStatistics().plan(plain, Squared(), Guarantee(1.0))
        assert (plan.level is not None) == bought
        assert 1.0 - 1e-6 <= plan.loss.pure() <= 1.0
        if plan.level is not None:
            assert float(plan.level.sensitivity.value) >= float(level_reach(unit))
            assert plan.level.loss.pure() == pytest.approx(0.15)
            small = Ball.for_budget(epsilon=0.15, sensitivity=1.0, unit=unit)
            with pytest.raises(InvalidParameter, match="smaller reach"):
                replace(plan, level=small)
    assert SufficientStatistics().plan(replace(plain, intercept=False), Squared(), Guarantee(1.0)).level is None
    assert SufficientStatistics().plan(plain, Squared(), Guarantee(1.0, 1e-6)).level is None


def test_a_pure_fit_of_targets_far_from_the_middle_predicts_about_their_mean():
    """Without the mean the middle was predicted: a median of -4."""
    scores = []
    for seed in range(9):
        rng = np.random.default_rng(seed)
        rows = rng.uniform(-1, 1, size=(600, 11))
        y = np.clip(0.6 + 0.08 * rows @ np.ones(11) + 0.16 * rng.normal(size=600), -1, 1)
        model = LinearRegression(epsilon=0.5, bounds=(-1, 1), bounds_y=(-1, 1), source=noise.Seeded(seed))
        scores.append(model.fit(rows, y).score(rows, y))
    assert np.median(scores) >= -0.3


def test_how_much_of_the_rest_the_mean_takes():
    many, few_records = Mean(0.3, 0.01, 10_000.0), Mean(0.3, 0.2, 100.0)
    assert again_share(many, 10.0, 100.0) == 0.0
    assert again_share(few_records, 10.0, 100.0) == 1.0
    middle = Mean(0.3, 0.1, 300.0)
    taken = again_share(middle, 10.0, 30.0)
    assert 1 / math.sqrt(0.1**-2 + taken * (300.0 / 10.0) ** 2) == pytest.approx(0.05, abs=0.01)
    assert again_share(Mean(0.3, 0.1, 300.0), 30.0, 30.0) == 0.5  # at most, as long as slopes are within reach


def test_a_mean_counts_as_far_as_it_stands_out_of_its_noise():
    assert shrunk_mean(0.5, 1e-4) == pytest.approx(0.5, abs=1e-6)
    assert 0.4 < shrunk_mean(0.5, 0.15) < 0.5
    assert shrunk_mean(0.5, 0.4) == shrunk_mean(0.0, 0.1) == shrunk_mean(0.1, 0.1) == 0.0
    assert shrunk_mean(-0.5, 0.01) == -shrunk_mean(0.5, 0.01)


@pytest.mark.parametrize("ends", [(0.0, 5e-324), (-5e-324, 0.0), (1.0, 1.0), (-1.7e308, 1.7e308)])
def test_bounds_that_leave_nothing_to_divide_by_are_refused(ends: tuple[float, float]) -> None:
    """Half of the smallest double is 0: a target would be NaN, and so would every sum that it is in."""
    with pytest.raises(InvalidParameter, match="bounds_y"):
        Interval(*ends)
    assert Interval(0.0, 1e-323).encoded(np.array([0.0, 1.0]))[0].tolist() == [-1.0, 1.0]

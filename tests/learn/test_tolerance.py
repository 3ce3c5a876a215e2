"""Whether a fit fails must not depend on the data: how near a minimum has to be is decided by public facts."""

import numpy as np
import pytest

import privet as pv
from privet import learn, noise
from privet.errors import InvalidParameter
from privet.learn.losses import Logistic, Softmax
from privet.learn.problem import Classes, Task
from privet.learn.solvers import ObjectivePerturbation, OutputPerturbation
from privet.learn.solvers.tolerance import least_tolerance, linear_grid
from privet.privacy import Guarantee

FACTS = {"row_norm": 1.0, "classes": [0, 1], "fit_intercept": False}


@pytest.mark.parametrize("solver", [OutputPerturbation, ObjectivePerturbation])
@pytest.mark.parametrize("n", [0, 1, 2, 100, 101])
def test_a_tolerance_that_rounding_may_exceed_is_refused_before_it_is_paid(solver, n):
    """With 2e-13, 100 records had a model and 101 had an error: whether one is there was told for sure."""
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=3.0, delta=1e-5))
    model = learn.LogisticRegression(
        epsilon=1.0, delta=1e-6, solver=solver(strength=10.0, tolerance=2e-13), ledger=ledger, **FACTS
    )
    with pytest.raises(InvalidParameter, match="tolerance must be at least"):
        model.fit(np.ones((n, 1)), np.ones(n, dtype=int))
    assert not [entry for entry in ledger.entries() if entry.kind == "reserve"]


@pytest.mark.parametrize("n", [100, 101, 3_000])
def test_the_least_tolerance_is_reached(n):
    least = least_tolerance(Logistic())
    solver = OutputPerturbation(strength=10.0, tolerance=least)
    model = learn.LogisticRegression(epsilon=1.0, delta=1e-6, solver=solver, **FACTS)
    assert np.isfinite(model.fit(np.ones((n, 1)), np.ones(n, dtype=int)).coef_).all()


def test_plans_below_the_least_are_refused_however_they_are_made():
    task = Task(features=3, row_norm=1.0, target=Classes((0, 1)))
    for target in (Guarantee(1.0), Guarantee(1.0, 1e-6)):
        plan = ObjectivePerturbation().plan(task, Logistic(), target)
        from dataclasses import replace

        with pytest.raises(InvalidParameter, match="tolerance"):
            replace(plan, tolerance=1e-12)


@pytest.mark.parametrize("size", [1, 10, 1_000, 10_000])
@pytest.mark.parametrize("spread", [1e-3, 1.0, 1e4, 1e9])
def test_grids_are_as_fine_as_noise_allows_and_rounding_is_a_share_of_the_tolerance(size, spread):
    for loss in (Logistic(), Softmax(5)):
        tolerance = max(1e-7, least_tolerance(loss, spread, size))
        grid = linear_grid(tolerance, spread, size)
        assert grid.width * size**0.5 <= tolerance / 4.0
        assert spread / grid.width < 2.0**40  # what noise can be drawn in


def test_ordinary_fits_have_the_usual_tolerance():
    task = Task(features=30, row_norm=1.0, target=Classes((0, 1)))
    assert ObjectivePerturbation().plan(task, Logistic(), Guarantee(1.0, 1e-6)).tolerance == 1e-7
    assert ObjectivePerturbation().plan(task, Logistic(), Guarantee(1.0)).tolerance == pytest.approx(1e-7, rel=5.0)


@pytest.mark.slow
def test_ten_million_records():
    """A million records and two columns were too many once, and rounding was to end it at thirty million."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(10**7, 2))
    labels = (rows[:, 0] + rng.logistic(size=len(rows)) > 0).astype(int)
    facts = {"row_norm": 3.0, "classes": [0, 1], "solver": ObjectivePerturbation(), "source": noise.Seeded(1)}
    model = learn.LogisticRegression(epsilon=1.0, delta=1e-9, **facts)
    np.testing.assert_allclose(model.fit(rows, labels).coef_, [[1.0, 0.0]], atol=0.03)

"""Pure fits run, of every estimator: from one to a thousand columns, and at any epsilon."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn import linear_model

import privet as pv
from privet import learn
from privet.errors import InvalidParameter
from privet.learn.problem import ArrayRecords
from tests.learn.whole_room import ESTIMATORS, made, rows_for

EPSILONS = [0.01, 0.1, 1.0, 8.0]
PRODUCTS = ("linear", "ridge", "lasso", "elastic net", "pca")


def fitted(name: str, columns: int, epsilon: float) -> pv.Ledger:
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=10.0))
    made(name, columns, epsilon=epsilon, ledger=ledger).fit(*rows_for(name, 12, columns))
    return ledger


@pytest.mark.parametrize("columns", [1, 10])
@pytest.mark.parametrize("epsilon", [0.01, 8.0])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_pure_fits_run(name, epsilon, columns):
    ledger = fitted(name, columns, epsilon)
    assert [entry.kind for entry in ledger.entries() if entry.kind in ("reserve", "release")] == ["reserve", "release"]


@pytest.mark.slow
@pytest.mark.parametrize("columns", [1, 10, 100, 1_000])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_pure_fits_run_at_every_size(name, columns):
    """What releases the products of a thousand columns releases half a million numbers: once is enough."""
    for epsilon in EPSILONS if columns < 1_000 or name not in PRODUCTS else [0.01]:
        assert fitted(name, columns, epsilon).verify()


def test_pure_penalties_are_those_of_scikit_learn():
    """With noise that is small beside 20,000 records, what is fitted is what scikit-learn fits, corners included."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, size=(20_000, 4))
    y = rows @ [1.0, -0.5, 0.01, 0.0] + 0.3
    for plain, facts in ((linear_model.Lasso, {"alpha": 0.02}), (linear_model.ElasticNet, {"alpha": 0.05})):
        private = getattr(learn, plain.__name__)(epsilon=100.0, bounds=(-1, 1), bounds_y=(-2, 2), **facts).fit(rows, y)
        expected = plain(**facts).fit(rows, y)
        assert private.coef_ == pytest.approx(expected.coef_, abs=2e-3)
        assert private.intercept_ == pytest.approx(expected.intercept_, abs=2e-3)
        assert private.coef_[2:].tolist() == [0.0, 0.0]


def test_pure_components_stand_out_of_their_noise():
    rows = np.random.default_rng(0).uniform(-1, 1, size=(20_000, 3)) * [1.0, 0.5, 0.001]
    model = learn.PCA(epsilon=1.0, bounds=(-1, 1)).fit(rows)
    assert np.abs(np.diagonal(model.components_)[:2]) == pytest.approx([1.0, 1.0], abs=0.01)
    assert model.above_noise_.tolist() == [True, True, False]
    few = learn.PCA(epsilon=0.01, bounds=(-1, 1)).fit(rows[:100])
    assert not few.above_noise_.any()


def test_the_edge_of_pure_noise_is_where_its_eigenvalues_end():
    plan = learn.PCA(epsilon=1.0, row_norm=1.0)._plan(40, pv.privacy.Unit(), pv.privacy.Guarantee(1.0))
    nothing = ArrayRecords(np.zeros((0, 40)))
    tops = [np.linalg.eigvalsh(plan.release(nothing).value)[-1] for _ in range(10)]
    assert np.mean(tops) == pytest.approx(plan.edge, rel=0.1)


def test_a_pure_gram_with_less_noise_than_its_half_needs_is_refused():
    plan = learn.PCA(epsilon=1.0, row_norm=1.0)._plan(2, pv.privacy.Unit(), pv.privacy.Guarantee(1.0))
    with pytest.raises(InvalidParameter, match="smaller reach"):
        replace(plan, noise=pv.mechanisms.Ball.for_budget(epsilon=1.0, sensitivity=0.9))


def test_noise_of_a_pure_fit_is_what_its_plan_says():
    """The grid follows the noise: nine columns at epsilon 0.1 are no coarser than the noise is large."""
    model = learn.LogisticRegression(epsilon=0.1, row_norm=2.0, classes=[0, 1])
    plan = model._plan(20, pv.privacy.Unit(), pv.privacy.Guarantee(0.1))
    assert plan._rounding <= plan.tolerance / 4.0
    assert plan._grid.width < 1e-9 * plan.scale
    assert plan.loss.pure() <= 0.1
    drawn = np.array([plan._linear(1, pv.noise.Seeded(k))[0] * plan._grid.width for k in range(200)])
    assert np.linalg.norm(drawn, axis=1).mean() == pytest.approx(21 * plan.scale, rel=0.1)  # Gamma(d, scale)

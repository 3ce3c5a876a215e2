"""Pure fits run, of every estimator: from one to a thousand columns, and at any epsilon."""

import numpy as np
import pytest

import privet as pv
from privet import learn
from privet.errors import InvalidParameter, NoGuarantee
from tests.learn.whole_room import ESTIMATORS, made, rows_for

PURE = [name for name in ESTIMATORS if name not in ("lasso", "elastic net", "pca")]
EPSILONS = [0.01, 0.1, 1.0, 8.0]


def fitted(name: str, columns: int, epsilon: float) -> pv.Ledger:
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=10.0))
    made(name, columns, epsilon=epsilon, ledger=ledger).fit(*rows_for(name, 12, columns))
    return ledger


@pytest.mark.parametrize("columns", [1, 10, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("epsilon", [0.01, 8.0])
@pytest.mark.parametrize("name", PURE)
def test_pure_fits_run(name, epsilon, columns):
    ledger = fitted(name, columns, epsilon)
    assert [entry.kind for entry in ledger.entries() if entry.kind in ("reserve", "release")] == ["reserve", "release"]


@pytest.mark.slow
@pytest.mark.parametrize("columns", [1, 10, 100, 1_000])
@pytest.mark.parametrize("name", PURE)
def test_pure_fits_run_at_every_size(name, columns):
    """Least squares of a thousand columns release half a million numbers: once is enough."""
    for epsilon in EPSILONS if columns < 1_000 or name not in ("linear", "ridge") else [0.01]:
        assert fitted(name, columns, epsilon).verify()


@pytest.mark.parametrize("name", sorted(set(ESTIMATORS) - set(PURE)))
def test_what_has_no_pure_fit_says_so_before_it_is_paid(name):
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=10.0))
    with pytest.raises((NoGuarantee, InvalidParameter), match="delta"):
        made(name, 2, epsilon=1.0, ledger=ledger).fit(*rows_for(name, 12, 2))
    assert not [entry for entry in ledger.entries() if entry.kind == "reserve"]


def test_noise_of_a_pure_fit_is_what_its_plan_says():
    """The grid follows the noise: nine columns at epsilon 0.1 are no coarser than the noise is large."""
    model = learn.LogisticRegression(epsilon=0.1, row_norm=2.0, classes=[0, 1])
    plan = model._plan(20, pv.privacy.Unit(), pv.privacy.Guarantee(0.1))
    assert plan._rounding <= plan.tolerance / 4.0
    assert plan._grid.width < 1e-9 * plan.scale
    assert plan.loss.pure() <= 0.1
    drawn = np.array([plan._linear(1, pv.noise.Seeded(k))[0] * plan._grid.width for k in range(200)])
    assert np.linalg.norm(drawn, axis=1).mean() == pytest.approx(21 * plan.scale, rel=0.1)  # Gamma(d, scale)

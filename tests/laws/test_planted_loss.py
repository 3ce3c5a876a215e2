"""A loss whose `lipschitz` is understated tenfold, and an estimator on it: laws alone must catch both.

They were planted once and passed every test there was, since lists in tests were kept by hand. Here they enter the
registries, as those of an author would, and what runs over every registered member runs over them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from privet import testing
from privet.learn.estimators import EstimatorExample, estimator
from privet.learn.estimators.example_records import numbered
from privet.learn.estimators.linear import LinearModel
from privet.learn.estimators.regressor import LinearRegressor
from privet.learn.losses import Huber, Loss, LossExample, loss as loss_module
from tests.laws.test_estimators import not_registered


@dataclass(frozen=True)
class TrimmedSquares(Loss):
    """Huber's loss; `understated` divides the bound on its slopes."""

    understated: float = 10.0

    @property
    def lipschitz(self):
        return 0.2 / self.understated

    @property
    def smoothness(self):
        return 1.0

    def value(self, margins, targets):
        return Huber(0.2).value(margins, targets)

    def slope(self, margins, targets):
        return Huber(0.2).slope(margins, targets)

    def wide_slope(self, margins, targets):
        return Huber(0.2).wide_slope(margins, targets)

    def curvature(self, margins, targets):
        return Huber(0.2).curvature(margins, targets)

    @classmethod
    def examples(cls):
        yield LossExample(cls(), (0.0,))


@dataclass(kw_only=True, eq=False, repr=False)
class TrimmedRegressor(LinearRegressor, LinearModel):
    """An estimator on it."""

    understated: float = 10.0

    def _loss(self):
        return TrimmedSquares(self.understated)

    def _fit_exactly(self, rows, targets):
        self.coef_, self.intercept_ = np.zeros(rows.shape[1]), 0.0

    @classmethod
    def examples(cls):
        yield EstimatorExample("trimmed", cls(bounds=(-1.0, 1.0), bounds_y=(-1.0, 1.0)), numbered)


@pytest.fixture
def planted(monkeypatch) -> Iterator[None]:
    """Both registered, for the time of a test."""
    for registry, member in ((loss_module.register, TrimmedSquares), (estimator.register, TrimmedRegressor)):
        monkeypatch.setattr(registry, "_members", registry.members())
        registry(member)


def caught(subject: str, members: dict) -> set[tuple[str, str]]:
    """Which laws fail at which members that are registered and new; the suite runs over all others."""
    new = {name: kind for name, kind in members.items() if kind.__module__ == __name__}
    return {(law, name) for name in new for example in new[name].examples() for law in broken_laws(subject, example)}


def broken_laws(subject: str, example) -> set[str]:
    broken = set()
    for law in testing.laws_of(subject):
        try:
            law(example)
        except AssertionError:
            broken.add(law.__name__)
    return broken


@pytest.mark.usefixtures("planted")
def test_the_planted_loss_is_caught():
    found = caught("training loss", loss_module.registered_losses())
    assert found == {("check_slope_stays_within_lipschitz", "trimmed_squares")}


@pytest.mark.usefixtures("planted")
def test_the_planted_estimator_is_caught():
    found = caught("estimator", estimator.registered_estimators())
    assert found == {("check_loss_keeps_its_constants", "trimmed_regressor")}


def test_with_the_right_constant_neither_is():
    model = TrimmedRegressor(bounds=(-1.0, 1.0), bounds_y=(-1.0, 1.0), understated=1.0)
    assert broken_laws("training loss", LossExample(TrimmedSquares(1.0), (0.0,))) == set()
    assert broken_laws("estimator", EstimatorExample("trimmed", model, numbered)) == set()


def test_left_out_of_the_registry_the_estimator_is_named():
    assert not_registered(__name__) == ["TrimmedRegressor"]

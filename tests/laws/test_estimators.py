"""Every law of estimators over every registered one, and twins that break each of them."""

import inspect
from dataclasses import dataclass, replace

import numpy as np
import pytest

from privet import learn, testing
from privet.errors import InvalidParameter
from privet.learn.estimators import EstimatorExample, PrivateEstimator, registered_estimators
from privet.privacy import PureLoss
from tests.firsts import first_of_each

EXAMPLES = [example for kind in registered_estimators().values() for example in kind.examples()]


@pytest.mark.parametrize("check_law", testing.laws_of("estimator"), ids=lambda law: law.__name__)
@pytest.mark.parametrize("example", first_of_each(EXAMPLES, lambda example: example.kind))
def test_law(check_law, example):
    check_law(example)


def not_registered(room: str = "privet.") -> list[str]:
    """Estimators of a room that can be fitted, and that no law would meet."""
    found, rest = set(), [PrivateEstimator]
    while rest:
        rest += (below := rest.pop().__subclasses__())
        found |= {each for each in below if each.__module__.startswith(room)}
    complete = {each for each in found if not each.__name__.startswith("_") and not abstract(each)}
    return sorted(each.__name__ for each in complete - set(registered_estimators().values()))


def abstract(kind: type) -> bool:
    """Whether a fit is not written out; examples are what someone who forgets to register forgets as well."""
    names = {name for each in kind.__mro__ for name in vars(each)} - {"examples"}
    return any(getattr(inspect.getattr_static(kind, name), "__isabstractmethod__", False) for name in names)


def test_every_estimator_is_registered():
    testing.load_rooms()
    assert not_registered() == []


def test_an_estimator_that_is_not_registered_is_named():
    assert not_registered(__name__) == ["Bare", "Twin"]


def test_titles_differ():
    assert len({str(example) for example in EXAMPLES}) == len(EXAMPLES)
    assert {example.kind for example in EXAMPLES} == set(registered_estimators())


(SCALER_EXAMPLE,) = learn.StandardScaler.examples()


@dataclass(kw_only=True, eq=False, repr=False)
class Twin(learn.StandardScaler):
    """The scaler with something changed: what a law must see."""

    change: str = ""

    def _paid(self, plan, records, asked):
        if self.change == "pays twice":
            super()._paid(plan, records, asked)
        return super()._paid(plan, records, asked)

    def _read(self, X, y):
        if self.change == "takes one dimension" and np.ndim(X) == 1:
            X = np.reshape(X, (-1, 1))
        rows, targets = super()._read(X, y)
        if self.change == "keeps a number of records":
            self.many_ = len(rows)
        return rows, targets

    def _plan(self, columns, unit, promise):
        if self.change == "looks late" and self.bounds is None:
            return replace_bounds(self)._plan(columns, unit, promise)
        if self.change == "spends more":
            return super()._plan(columns, unit, type(promise)(1.5, promise.delta))
        return super()._plan(columns, unit, promise)

    def _set(self, value, plan):
        super()._set(value, plan)
        if self.bounds is None:
            raise InvalidParameter("public bounds of the columns are needed")
        if self.change == "refuses groups late" and plan.task.unit.group_size > 1:
            raise InvalidParameter("groups are not for this scaler")

    def fit(self, X, y=None, **named):
        super().fit(X, y, **named)
        if self.change == "says less":
            self.privacy_ = replace(self.privacy_, loss=PureLoss(0.1))
        return self


class Bare(Twin):
    """One without examples."""

    examples = PrivateEstimator.examples


def replace_bounds(model):
    return type(model)(bounds=(-1.0, 1.0))


BROKEN = {
    "pays twice": "check_fit_is_paid_once",
    "says less": "check_fit_is_paid_once",
    "spends more": "check_fit_is_paid_once",
    "takes one dimension": "check_mistakes_are_unpaid",
    "looks late": "check_mistakes_are_unpaid",
    "refuses groups late": "check_units_are_kept_or_refused",
    "keeps a number of records": "check_what_is_fitted_was_released",
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_estimator_is_seen(what):
    example = EstimatorExample("twin", Twin(bounds=(-1.0, 1.0), change=what), SCALER_EXAMPLE.records)
    with pytest.raises(AssertionError, match="twin"):
        getattr(testing, BROKEN[what])(example)


@pytest.mark.parametrize("check_law", testing.laws_of("estimator"), ids=lambda law: law.__name__)
def test_a_sound_twin_passes(check_law):
    check_law(EstimatorExample("twin", Twin(bounds=(-1.0, 1.0)), SCALER_EXAMPLE.records))

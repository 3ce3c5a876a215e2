"""Laws of estimators: a fit is paid once and says what it cost, public mistakes are free, what is fitted was released, and
the constants of the losses that are fitted hold.

An example is `learn.estimators.EstimatorExample`: an estimator with public facts, and a maker of records.
"""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from privet.errors import BudgetExceeded, PrivetError, ReleaseFailed
from privet.ledger import Budget, Ledger
from privet.privacy import Guarantee, Unit, from_json
from privet.testing.law import law_of
from privet.testing.laws.training_losses import check_bend_stays_within_smoothness, check_slope_stays_within_lipschitz
from privet.testing.same import same_value

_N, _COLUMNS = 40, 3  # of the records that are fitted: little, as laws ask who is paid and what is told
_EPSILON, _DELTA = 1.0, 1e-5  # of the promise: any that every estimator can keep
_UNITS = (Unit(), Unit("replace"), Unit(group_size=2))


def _ledger(unit: Unit | None = None, epsilon: float = 9.0) -> Ledger:
    return Ledger.create("memory:", budget=Budget(epsilon=epsilon, delta=1e-3), unit=unit or Unit())


def _made(example: Any, **more: Any) -> Any:
    """A fresh estimator of the example, with a promise."""
    from sklearn.base import clone

    return clone(example.estimator).set_params(**{"epsilon": _EPSILON, "delta": _DELTA, **more})


def _charges(ledger: Ledger) -> list[Any]:
    return [entry for entry in ledger.entries() if entry.kind == "reserve"]


@law_of("estimator")
def check_fit_is_paid_once(example: Any) -> None:
    """A fit is charged once, for the price that `privacy_` says, and that price keeps the promise; a second one again.

    >>> from privet.learn import StandardScaler
    >>> check_fit_is_paid_once(next(iter(StandardScaler.examples())))
    """
    ledger = _ledger()
    model = _made(example, ledger=ledger)
    for fits in (1, 2):
        model.fit(*example.records(_N, _COLUMNS))
        charges = _charges(ledger)
        assert len(charges) == fits, f"{example}: {fits} fits and {len(charges)} charges"
        said = model.privacy_
        assert from_json(charges[-1].loss) == said.loss, f"{example}: privacy_ says another price"
        assert said.paid is not None, f"{example}: privacy_ does not say who paid"
        assert said.promise == Guarantee(_EPSILON, _DELTA), f"{example}: privacy_ says another promise"
        assert said.promise.covers(said.loss), f"{example}: the price is not within the promise"


@law_of("estimator")
def check_mistakes_are_unpaid(example: Any) -> None:
    """A mistake that public facts show is refused with a sentence and without a charge, and leaves nothing fitted.

    >>> from privet.learn import StandardScaler
    >>> check_mistakes_are_unpaid(next(iter(StandardScaler.examples())))
    """
    for what, facts, data in _mistakes(example):
        ledger = _ledger()
        model = _made(example, ledger=ledger, **facts)
        _refused(f"{example}, {what}", model, data, ledger)
    poor = _ledger(epsilon=_EPSILON / 2.0)
    model = _made(example, ledger=poor)
    problem = _refused(f"{example}, a budget that is too small", model, example.records(_N, _COLUMNS), poor)
    assert isinstance(problem, BudgetExceeded), f"{example}: a budget that is too small was not the reason"


def _mistakes(example: Any) -> Iterator[tuple[str, dict[str, Any], tuple[Any, ...]]]:
    """Mistakes that this estimator can be asked for: parameters that it has, and records of a wrong shape."""
    data = example.records(_N, _COLUMNS)
    parameters = example.estimator.get_params(deep=False)
    facts: dict[str, dict[str, Any]] = {
        "a negative epsilon": {"epsilon": -1.0},
        "a delta of one": {"delta": 1.0},
        "two promises": {"rho": 0.1},
        "another unit than the ledger's": {"unit": Unit("replace")},
        "bad_rows": {"bad_rows": "drop"},
        "no bounds": {"bounds": None},
        "bounds upside down": {"bounds": (1.0, -1.0)},
        "no classes": {"classes": None},
        "no bounds of y": {"bounds_y": None},
        "a solver that is a text": {"solver": "objective"},
    }
    yield from ((what, wrong, data) for what, wrong in facts.items() if set(wrong) <= set(parameters))
    yield "one dimension", {}, (data[0][:, 0], *data[1:])
    yield "no columns", {}, (data[0][:, :0], *data[1:])
    yield "texts", {}, (np.full(data[0].shape, "x"), *data[1:])
    if len(data) == 2:
        yield "no targets", {}, data[:1]
        yield "too few targets", {}, (data[0], data[1][:-1])


def _refused(what: str, model: Any, data: tuple[Any, ...], ledger: Ledger) -> Exception:
    """The refusal of a fit, which must come before its payment."""
    try:
        model.fit(*data)
    except ReleaseFailed:
        raise AssertionError(f"{what}: found after the payment") from None
    except (PrivetError, ValueError, TypeError) as problem:
        refusal = problem
    else:
        raise AssertionError(f"{what}: not refused")
    assert len(str(refusal)) > 15, f"{what}: nothing is said"
    assert not _charges(ledger), f"{what}: refused after the payment"
    fitted = [name for name in vars(model) if name.endswith("_")]
    assert not fitted, f"{what}: refused, and {', '.join(fitted)} are there"
    return refusal


@law_of("estimator")
def check_units_are_kept_or_refused(example: Any) -> None:
    """Under either relation, and for groups, a fit is priced for the ledger's unit, or refused before it is paid.

    >>> from privet.learn import StandardScaler
    >>> check_units_are_kept_or_refused(next(iter(StandardScaler.examples())))
    """
    fitted = 0
    for unit in _UNITS:
        ledger = _ledger(unit)
        model = _made(example, ledger=ledger)
        what = f"{example} under {unit.describe()}"
        try:
            model.fit(*example.records(_N, _COLUMNS))
        except ReleaseFailed:
            raise AssertionError(f"{what}: found after the payment") from None
        except PrivetError:
            assert not _charges(ledger), f"{what}: refused after the payment"
            continue
        fitted += 1
        assert model.privacy_.unit == model.privacy_.loss.unit == unit, f"{what}: priced for another unit"
    assert fitted, f"{example}: no unit can be fitted for"


@law_of("estimator")
def check_what_is_fitted_was_released(example: Any) -> None:
    """Whatever a fit leaves in the model follows from its release and public facts: a fit that is read back from the
    ledger, with other records at hand, leaves the same.

    >>> from privet.learn import StandardScaler
    >>> check_what_is_fitted_was_released(next(iter(StandardScaler.examples())))
    """
    ledger = _ledger()
    first, again = _made(example, ledger=ledger), _made(example, ledger=ledger)
    first.fit(*example.records(_N, _COLUMNS), key="law")
    again.fit(*example.records(_N + 7, _COLUMNS), key="law")
    assert len(_charges(ledger)) == 1, f"{example}: a stored fit was paid again"
    left, right = _left_in(first), _left_in(again)
    differing = sorted(name for name in {*left, *right} if not same_value(left.get(name), right.get(name)))
    assert not differing, f"{example}: {', '.join(differing)} depend on records beyond the release"


def _left_in(model: Any) -> dict[str, Any]:
    """The traces of a fit in a model, and in models within it: all but parameters and `privacy_`, which says whether
    the fit was read back."""
    parameters = {*model.get_params(deep=False), "privacy_"}
    left = {name: value for name, value in vars(model).items() if name not in parameters}
    return {name: _left_in(value) if hasattr(value, "get_params") else value for name, value in left.items()}


@law_of("estimator")
def check_loss_keeps_its_constants(example: object) -> None:
    """The losses in the plan of a fit have the slopes and curvatures that they say, since noise is set by these: also where
    an author wrote a loss beside an estimator and registered neither.

    >>> from privet.learn import HuberRegressor
    >>> check_loss_keeps_its_constants(next(iter(HuberRegressor.examples())))
    """
    from privet.learn.losses import LossExample

    model = _made(example)
    plan = model._plan(_COLUMNS, Unit(), Guarantee(_EPSILON, _DELTA))
    for loss in _losses_in(plan):
        targets = (-1.0, 0.0, 1.0) if loss.outputs == 1 else tuple(map(float, range(loss.outputs)))
        try:
            check_slope_stays_within_lipschitz(LossExample(loss, targets))
            check_bend_stays_within_smoothness(LossExample(loss, targets))
        except AssertionError as broken:
            raise AssertionError(f"{example}: {broken}") from None


def _losses_in(plan: object) -> Iterator[Any]:
    """Losses among the fields of a plan, and of the plans in it."""
    from privet.learn.losses import Loss

    if isinstance(plan, Loss):
        yield plan
    elif isinstance(plan, tuple):
        for each in plan:
            yield from _losses_in(each)
    elif is_dataclass(plan):
        for each in fields(plan):
            yield from _losses_in(getattr(plan, each.name))

"""The common ground of linear models: public facts about rows, coefficients, and the choice of a solver."""

import math
from abc import abstractmethod
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from privet._numerics import Array
from privet._validate import above, count, finite
from privet.errors import InvalidData, InvalidParameter
from privet.learn.estimators.choice import chosen_solver
from privet.learn.estimators.estimator import PrivateEstimator
from privet.learn.estimators.reading import read_rows
from privet.learn.losses import Loss
from privet.learn.problem import Classes, Interval, Records, Target, Task
from privet.learn.solvers import BoughtNorm, Solver
from privet.mechanisms import Mechanism
from privet.mechanisms.families.columns import is_labelled
from privet.privacy import Guarantee, Unit


@dataclass(kw_only=True, eq=False, repr=False)
class LinearModel(PrivateEstimator):
    """Base of the linear models. Rows are bounded by `row_norm`, the l2 length to which longer ones are clipped, or by
    `bounds`, (low, high) for all columns or a list of lows and a list of highs: then columns are moved and scaled to
    [-1, 1] first, and coefficients are given in the units of the data. One of them must be given: they are public facts,
    and reading them off the data would tell about it. `row_norm="private"` buys the norm of arrays with 5% of the promise:
    the power of two above a noisy quartile of the lengths of rows. A norm is a length from 0: rows far
    from 0 beside what they vary by (years, kelvins) spend it on where they lie, and fit better with `bounds`, or less
    a public middle. `n_rows`, the number of records where that is public or was paid for, helps to choose the solver.
    """

    row_norm: float | Literal["private"] | None = None
    bounds: Any = None
    fit_intercept: bool = True
    solver: Solver | None = None
    n_rows: int | None = None

    @abstractmethod
    def _target(self) -> Target:
        """The target of predictions, from public facts."""

    @abstractmethod
    def _loss(self) -> Loss:
        """The loss that is minimised, on targets as `_target` encodes them."""

    def _default_solver(self, task: Task, promise: Guarantee) -> tuple[Solver, str]:
        """The solver for these public facts, and why it is the one."""
        n_rows = None if self.n_rows is None else count("n_rows", self.n_rows, 1)
        return chosen_solver(task, self._loss(), promise, n_rows)

    def confidence_intervals(self, level: float = 0.95) -> Array:
        """Refused: of the linear models only regressions by squares (`LinearRegression`, `Ridge`), and `LogisticRegression`
        with `intervals=True`, release what intervals of coefficients are made of."""
        raise InvalidParameter(
            f"{type(self).__name__} has no intervals: how far its coefficients vary with the sample depends on the "
            "curvature of its loss, which is not among what was released; LinearRegression, Ridge and LogisticRegression "
            "have them"
        )

    def _task(self, columns: int, unit: Unit) -> Task:
        centers, scales, norm = facts_of_rows(self.row_norm, self.bounds, columns)
        return Task(
            features=columns,
            row_norm=norm,
            intercept=bool(self.fit_intercept),
            centers=centers,
            scales=scales,
            target=self._target(),
            unit=unit,
        )

    def _plan(self, columns: int, unit: Unit, promise: Guarantee) -> "Mechanism[Records, Any]":
        task = self._task(columns, unit)
        if self.solver is not None and not isinstance(self.solver, Solver):
            raise InvalidParameter("solver must be a solver object, such as learn.solvers.ObjectivePerturbation()")
        solver = self._default_solver(task, promise)[0] if self.solver is None else self.solver
        return solver.plan(task, self._loss(), promise)

    def _array_plan(self, columns: int, unit: Unit, promise: Guarantee) -> "Mechanism[Records, Any]":
        if not _is_bought(self.row_norm):
            return self._plan(columns, unit, promise)
        if self.bounds is not None:
            raise InvalidParameter('bounds= bound the rows already: leave row_norm="private" out')
        made = copy(self)
        made.row_norm = 1.0  # stands for the norm, which is not known yet; the price is the same for all
        return BoughtNorm.planned(lambda share: made._plan(columns, unit, share), unit, promise)

    def _is_exact(self) -> bool:
        exact = super()._is_exact()
        if exact and _is_bought(self.row_norm):
            raise InvalidParameter('epsilon=inf clips no rows, and buys nothing: leave row_norm="private" out')
        return exact

    def _notes(self, plan: Any, promise: Guarantee) -> tuple[str, ...]:
        if self.solver is not None:
            return ("the solver was given",)
        return (f"chosen because of {self._default_solver(plan.task, promise)[1]}",)

    def _set(self, value: object, plan: Any) -> None:
        self.coef_, self.intercept_ = plan.task.raw(value)

    def _row_margins(self, rows: Array) -> Array:
        """Margins of rows, column by column: that of a row depends on no other."""
        coef, intercept = np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_)
        out = np.repeat(intercept[None, :].astype(np.float64), len(rows), axis=0)
        for j in range(rows.shape[1]):
            out += rows[:, j, None] * coef[:, j]
        return out

    def _margins(self, X: object) -> Array:
        """The margin of each row: X w + intercept."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        rows = read_rows(self, X, reset=False)
        return np.asarray(rows @ np.asarray(self.coef_).T + self.intercept_)


def _is_bought(row_norm: object) -> bool:
    return isinstance(row_norm, str) and row_norm == "private"


def facts_of_rows(row_norm: object, bounds: object, columns: int) -> tuple[Any, Any, float]:
    """Centres, scales and row norm from what the user says; it is an error to give neither `row_norm` nor `bounds`."""
    if _is_bought(row_norm):
        raise InvalidParameter(
            'row_norm="private" is bought by fit(X, y) of linear models on arrays: give a number here, or bounds='
        )
    if isinstance(row_norm, str):
        raise InvalidParameter('row_norm must be a positive number, or "private"')
    if bounds is None:
        if row_norm is None:
            raise InvalidParameter(
                "give row_norm=, the public l2 length to which rows are clipped, or bounds=(low, high), public bounds of "
                'the columns: read off the data they would tell about it; row_norm="private" buys a norm'
            )
        return None, None, above("row_norm", row_norm, 0.0)
    lows, highs = column_ends(bounds, columns)
    centers = tuple((lows / 2.0 + highs / 2.0).tolist())  # halved first: a sum may be too large for a double
    scales = tuple((highs / 2.0 - lows / 2.0).tolist())
    # columns within [-1, 1] make rows of at most this length
    return centers, scales, math.sqrt(columns) if row_norm is None else above("row_norm", row_norm, 0.0)


def column_ends(bounds: Any, columns: int) -> tuple[Array, Array]:
    """Lows and highs of the columns from what the user says."""
    wrong = InvalidParameter("bounds must be (low, high), each a number or one number for each column")
    if isinstance(bounds, str | set | frozenset | dict):
        raise wrong
    try:
        low, high = bounds
        ends = [np.broadcast_to(np.asarray(end, dtype=np.float64), (columns,)) for end in (low, high)]
    except (TypeError, ValueError, OverflowError):
        raise wrong from None
    if any(map(is_labelled, (bounds, low, high))):
        raise InvalidParameter("bounds are read in the order of the columns, not by labels: give lists of numbers")
    for each in np.concatenate(ends)[~np.isfinite(np.concatenate(ends))]:
        finite("bounds", float(each))  # raises: it has the words for NaN and infinity
    with np.errstate(over="ignore"):
        widths = ends[1] - ends[0]
    if not ((widths > 0.0) & np.isfinite(widths)).all():
        raise InvalidParameter("each low of the bounds must be below its high, and their distance a number")
    return ends[0], ends[1]


def known_classes(classes: object) -> Classes:
    """The classes as given; missing ones are an error: reading them off y would tell about it."""
    if classes is None:
        raise InvalidParameter("give classes=, the public list of labels: read off y it would tell who is in the data")
    single = getattr(classes, "ndim", 1) == 0
    if single or isinstance(classes, str) or not isinstance(classes, Iterable):
        raise InvalidParameter("classes must be a list of labels")
    return Classes(tuple(classes) if not isinstance(classes, np.ndarray) else tuple(classes.tolist()))


def known_interval(bounds_y: Any) -> Interval:
    """The bounds of y as given; missing ones are an error."""
    if bounds_y is None:
        raise InvalidParameter(
            "give bounds_y=(low, high), public bounds of y: read off the data they would tell about it"
        )
    try:
        low, high = bounds_y
    except (TypeError, ValueError):
        raise InvalidParameter("bounds_y must be (low, high)") from None
    return Interval(low, high)


def check_labels(classes: Classes, targets: Array) -> None:
    """Refuse labels that are not among the classes; which and how many is not said."""
    if targets.dtype.kind not in classes.kinds or classes.encoded(targets)[1].any():
        raise InvalidData(
            'y holds labels that are not among classes=; bad_rows="zero" counts such records as zero rows'
        )


def check_numbers(targets: Array) -> None:
    """Refuse targets that are no numbers, or not finite."""
    if targets.dtype.kind not in "biuf":
        raise InvalidData("Unknown label type: y must hold numbers alone")
    if not np.isfinite(targets.astype(np.float64)).all():
        raise InvalidData('y contains NaN or infinity; bad_rows="zero" counts such records as zero rows')

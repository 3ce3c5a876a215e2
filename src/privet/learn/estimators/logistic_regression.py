"""Private logistic regression."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from privet._calls import door
from privet._numerics import Array, special
from privet.errors import InvalidParameter
from privet.learn.estimators.classifier import LinearClassifier
from privet.learn.estimators.estimator import EstimatorExample, register
from privet.learn.estimators.example_records import labelled
from privet.learn.estimators.linear import LinearModel, known_classes
from privet.learn.estimators.margin_intervals import Of, margin_intervals
from privet.learn.losses import Logistic, Loss, Softmax
from privet.learn.problem import Records, Task
from privet.learn.solvers import CurvatureFit, ObjectivePerturbation, Solver
from privet.mechanisms import Mechanism
from privet.privacy import Guarantee, Unit


@door
@final
@register
@dataclass(kw_only=True, eq=False, repr=False)
class LogisticRegression(LinearClassifier, LinearModel):
    """Logistic regression with differential privacy.

    Public facts: `classes`, and `row_norm` or `bounds`. `C` is scikit-learn's inverse of the regulariser and counts at
    `epsilon=inf` only: with privacy, the solver chooses the strength from public facts, or has it as an argument.
    `intervals=True` buys the curvature of the loss with a tenth of the promise: then there are `confidence_intervals`.

    **Guarantee:** that of the plan, in `privacy_`.
    **Reference:** Chaudhuri, Monteleoni & Sarwate 2011; Redberg, Koskela & Wang 2023.

    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(2_000, 2))
    >>> labels = (rows[:, 0] > 0).astype(int)
    >>> model = LogisticRegression(epsilon=1.0, delta=1e-6, row_norm=3.0, classes=[0, 1]).fit(rows, labels)
    >>> bool(model.score(rows, labels) > 0.9), model.privacy_.epsilon
    (True, 1.0)
    >>> model = LogisticRegression(epsilon=1.0, delta=1e-6, row_norm=3.0, classes=[0, 1], intervals=True)
    >>> low, high = model.fit(rows, labels).confidence_intervals(0.95)[0]
    >>> bool(low < high)
    True
    """

    called = "logistic"

    intervals: bool = False

    def _loss(self) -> Loss:
        classes = known_classes(self.classes)
        return Logistic() if len(classes.labels) == 2 else Softmax(len(classes.labels))

    def _default_solver(self, task: Task, promise: Guarantee) -> tuple[Solver, str]:
        if self.intervals:
            return ObjectivePerturbation(), "intervals: objective perturbation, whose noise has a known law"
        return super()._default_solver(task, promise)

    def _plan(self, columns: int, unit: Unit, promise: Guarantee) -> "Mechanism[Records, Any]":
        plan = super()._plan
        if not self.intervals:
            return plan(columns, unit, promise)
        if len(known_classes(self.classes).labels) != 2:
            raise InvalidParameter("intervals=True is for two classes: a margin each for more has no least curvature")
        return CurvatureFit.planned(lambda share: plan(columns, unit, share), promise)

    def _array_plan(self, columns: int, unit: Unit, promise: Guarantee) -> "Mechanism[Records, Any]":
        if self.intervals and self.row_norm == "private":
            raise InvalidParameter(
                'intervals=True needs row_norm= as a number, or bounds=: "private" buys no curvature'
            )
        return super()._array_plan(columns, unit, promise)

    def _set(self, value: Any, plan: Any) -> None:
        self._released, self._facts = value, plan
        super()._set(value["coefficients"] if isinstance(plan, CurvatureFit) else value, plan)

    def confidence_intervals(self, level: float = 0.95, *, of: Of = "population") -> Array:
        """An interval (low, high) for every coefficient, and for the intercept last if there is one: computed from what
        was released, so free of charge. A fit with `intervals=True` has them, and for `of="sample"` one by
        `OutputPerturbation` with a delta.

        "population": of the model that the records come from, if it is logistic in the (clipped) rows and records are
        independent. "sample": of the regularised minimum that the same fit without noise would find, whatever the data are.

        **Error:** each holds its coefficient with probability at least `level`, to first order in how far noise and
        sampling move it. Where the data do not stand out of the noise, an interval is the whole line.
        **Reference:** docs/proofs/learn/curvature_fit.md.
        """
        released = getattr(self, "_released", None)
        if released is None:
            raise InvalidParameter("intervals are those of a private fit: call fit with an epsilon first")
        return margin_intervals(released, self._facts, level, of)

    def _copy(self, plain: object) -> None:
        super()._copy(plain)
        self._released = None

    def _fit_exactly(self, rows: object, targets: object) -> None:
        from sklearn.linear_model import LogisticRegression as Plain

        plain = Plain(C=self.C, fit_intercept=bool(self.fit_intercept), tol=1e-10, max_iter=10_000)
        self._copy(plain.fit(rows, targets))

    def predict_proba(self, X: object) -> Array:
        """The probability of each class."""
        margins = self.decision_function(X)
        if margins.ndim > 1:
            return np.asarray(special().softmax(margins, axis=1))
        second = np.asarray(special().expit(margins))
        return np.column_stack([1.0 - second, second])

    def predict_log_proba(self, X: object) -> Array:
        """Logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @classmethod
    def examples(cls) -> Iterable[EstimatorExample]:
        yield EstimatorExample("logistic", cls(bounds=(-1.0, 1.0), classes=[0, 1]), labelled(2))
        yield EstimatorExample("softmax", cls(bounds=(-1.0, 1.0), classes=[0, 1, 2, 3, 4]), labelled(5))

"""Private logistic regression."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from sklearn.base import ClassifierMixin

from privet._numerics import Array, special
from privet.learn.estimators.choice import chosen_solver
from privet.learn.estimators.linear import LinearModel, check_labels, known_classes
from privet.learn.losses import Logistic, Loss, Softmax
from privet.learn.problem import Target, Task
from privet.learn.solvers import Solver
from privet.privacy import Guarantee


@final
@dataclass(kw_only=True, eq=False, repr=False)
class LogisticRegression(ClassifierMixin, LinearModel):
    """Logistic regression with differential privacy.

    Public facts: `classes`, and `row_norm` or `bounds`. `C` is scikit-learn's inverse of the regulariser and counts at
    `epsilon=inf` only: with privacy, the solver chooses the strength from public facts, or has it as an argument.

    **Guarantee:** that of the plan, in `privacy_`.
    **Reference:** Chaudhuri, Monteleoni & Sarwate 2011; Redberg, Koskela & Wang 2023.

    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(2_000, 2))
    >>> labels = (rows[:, 0] > 0).astype(int)
    >>> model = LogisticRegression(epsilon=1.0, delta=1e-6, row_norm=3.0, classes=[0, 1]).fit(rows, labels)
    >>> bool(model.score(rows, labels) > 0.9), model.privacy_.epsilon
    (True, 1.0)
    """

    classes: Any = None
    C: float = 1.0

    def _target(self) -> Target:
        return known_classes(self.classes)

    def _loss(self) -> Loss:
        classes = known_classes(self.classes)
        return Logistic() if len(classes.labels) == 2 else Softmax(len(classes.labels))

    def _default_solver(self, task: Task, promise: Guarantee) -> Solver:
        return chosen_solver(task, self._loss(), promise)[0]

    def _check_targets(self, targets: Array) -> None:
        if self.classes is not None:
            check_labels(known_classes(self.classes), targets)

    def _set(self, value: Any, plan: Any) -> None:
        coef, intercept = plan.task.raw(value)
        self.coef_, self.intercept_ = np.atleast_2d(coef), np.atleast_1d(intercept)
        self.classes_ = plan.task.target.array

    def _fit_exactly(self, rows: Any, targets: Any) -> None:
        from sklearn.linear_model import LogisticRegression as Plain

        plain = Plain(C=self.C, fit_intercept=bool(self.fit_intercept), tol=1e-10, max_iter=10_000).fit(rows, targets)
        self.coef_, self.intercept_, self.classes_ = plain.coef_, plain.intercept_, plain.classes_

    def decision_function(self, X: Any) -> Array:
        """Margins: positive where the second class is likelier; one column for each class where there are more than two."""
        margins = self._margins(X)
        return margins[:, 0] if margins.shape[1] == 1 else margins

    def predict(self, X: Any) -> Array:
        """The likelier class of each row."""
        margins = self.decision_function(X)
        places = (margins > 0.0).astype(int) if margins.ndim == 1 else margins.argmax(axis=1)
        return np.asarray(self.classes_[places])

    def predict_proba(self, X: Any) -> Array:
        """The probability of each class."""
        margins = self.decision_function(X)
        if margins.ndim > 1:
            return np.asarray(special().softmax(margins, axis=1))
        second = np.asarray(special().expit(margins))
        return np.column_stack([1.0 - second, second])

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

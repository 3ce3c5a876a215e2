"""The common ground of linear classifiers: public classes, and predictions from margins (X w + intercept)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin

from privet._numerics import Array
from privet.learn.estimators.linear import check_labels, known_classes
from privet.learn.problem import Target


@dataclass(kw_only=True, eq=False, repr=False)
class LinearClassifier(ClassifierMixin):
    """The part of a linear classifier that `LinearModel` lacks: both are bases of each of them, this one first.

    `classes` is the public list of labels: read off y it would leak.
    """

    classes: Any = None
    C: float = 1.0  # scikit-learn's regulariser and its default, for epsilon=inf, where scikit-learn itself fits

    _without_privacy: ClassVar[tuple[str, ...]] = ("C",)

    if TYPE_CHECKING:  # it comes from LinearModel

        def _margins(self, X: object) -> Array: ...

    def _target(self) -> Target:
        return known_classes(self.classes)

    def _check_targets(self, targets: Array) -> None:
        if self.classes is not None:
            check_labels(known_classes(self.classes), targets)

    def _set(self, value: object, plan: Any) -> None:
        """The fitted attributes: what was released, in the units of the data, and the classes."""
        coef, intercept = plan.task.raw(value)
        self.coef_, self.intercept_ = np.atleast_2d(coef), np.atleast_1d(intercept)
        self.classes_ = plan.task.target.array

    def _copy(self, plain: Any) -> None:
        """The same attributes from a model that scikit-learn has fitted (epsilon=inf)."""
        self.coef_, self.classes_ = plain.coef_, plain.classes_
        self.intercept_ = np.atleast_1d(plain.intercept_)

    def decision_function(self, X: object) -> Array:
        """Margins: positive where the second class is likelier; one column for each class where there are more than two."""
        margins = self._margins(X)
        return margins[:, 0] if margins.shape[1] == 1 else margins

    def predict(self, X: object) -> Array:
        """The likelier class of each row."""
        margins = self.decision_function(X)
        places = (margins > 0.0).astype(int) if margins.ndim == 1 else margins.argmax(axis=1)
        return np.asarray(self.classes_[places])

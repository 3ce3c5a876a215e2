"""A private linear support vector machine."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from privet._calls import door
from privet.errors import InvalidParameter
from privet.learn.estimators.classifier import LinearClassifier
from privet.learn.estimators.estimator import EstimatorExample, register
from privet.learn.estimators.example_records import labelled
from privet.learn.estimators.linear import LinearModel, known_classes
from privet.learn.losses import HuberHinge, Loss
from privet.learn.problem import Target


@door
@final
@register
@dataclass(kw_only=True, eq=False, repr=False)
class LinearSVC(LinearClassifier, LinearModel):
    """A linear support vector machine for two classes, with differential privacy. Its hinge is rounded off within
    `half_width` of the corner: with a corner, a fit would show single records, whatever the noise on its objective.

    At `epsilon=inf` this is scikit-learn's `LinearSVC(loss="hinge")`, with `C`.

    **Guarantee:** that of the plan, in `privacy_`.
    **Reference:** Chaudhuri, Monteleoni & Sarwate 2011.

    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(2_000, 2))
    >>> labels = np.where(rows[:, 0] > 0, "yes", "no")
    >>> model = LinearSVC(epsilon=1.0, delta=1e-6, row_norm=3.0, classes=["no", "yes"]).fit(rows, labels)
    >>> bool(model.score(rows, labels) > 0.9)
    True
    """

    called = "svm"

    half_width: float = 0.5

    def _target(self) -> Target:
        classes = known_classes(self.classes)
        if len(classes.labels) > 2:
            raise InvalidParameter("LinearSVC takes two classes; for more, take LogisticRegression")
        return classes

    def _loss(self) -> Loss:
        return HuberHinge(self.half_width)

    def _fit_exactly(self, rows: object, targets: object) -> None:
        from sklearn.svm import LinearSVC as Plain

        plain = Plain(loss="hinge", C=self.C, fit_intercept=bool(self.fit_intercept), max_iter=100_000, random_state=0)
        self._copy(plain.fit(rows, targets))

    @classmethod
    def examples(cls) -> Iterable[EstimatorExample]:
        yield EstimatorExample("svm", cls(bounds=(-1.0, 1.0), classes=[0, 1]), labelled(2))

"""The student: the only model that leaves, trained on public rows and released labels."""

import copy
from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from privet._calls import door
from privet._numerics import Array
from privet._validate import count, fraction
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms import Release
from privet.pate.spreading import spread

_UNLABELLED = -1  # the sign of a row without a label, as aggregators write it
_LESSONS = 10  # trainings at most; each goes on from what the last was sure of. Quality and time only


@door
@final
class Student:
    """A model of the public pool and the labels that were released for it: post-processing, so that it costs nothing more,
    and even its parameters are safe.

    `model` is any estimator of scikit-learn, or a `StudentNetwork` where torch is there. Rows without a label (-1) are left
    out. With `neighbours` they get one by spreading the released labels over the graph of that many nearest neighbours in
    the pool; the mass of each class is that of the released labels, and a label that all neighbours speak against is
    turned. With `sure` they get one by self-training: the model labels what it gives a chance above that, and is trained
    again, until nothing is added.

    >>> from sklearn.linear_model import LogisticRegression
    >>> pool = np.array([[0.0], [1.0], [9.0], [10.0]])
    >>> Student(LogisticRegression(), classes=["low", "high"]).fit(pool, [0, -1, -1, 1]).predict([[2.0], [8.0]]).tolist()
    ['low', 'high']
    """

    def __init__(
        self, model: Any, *, classes: Sequence[Any], neighbours: int | None = None, sure: float | None = None
    ) -> None:
        if not (hasattr(model, "fit") and hasattr(model, "predict")):
            raise InvalidParameter("model must have fit and predict, as the estimators of scikit-learn have")
        if neighbours is not None:
            count("neighbours", neighbours, 1)
        if sure is not None:
            fraction("sure", sure)
            if neighbours is not None:
                raise InvalidParameter(
                    "give either neighbours or sure: labels are spread, or the student teaches itself"
                )
            if not hasattr(model, "predict_proba"):
                raise InvalidParameter("a student who teaches itself needs a model with predict_proba")
        self.model, self.classes, self.neighbours, self.sure = model, tuple(classes), neighbours, sure

    @door
    def fit(self, pool: Any, labels: Any) -> Any:
        """The trained model, with the classes by their names. `labels` is a release of an aggregator, or its value."""
        rows, told = np.asarray(pool), np.asarray(labels.value if isinstance(labels, Release) else labels)
        if rows.ndim != 2 or told.shape != (len(rows),) or told.dtype.kind not in "iu":
            raise InvalidData("labels must be whole numbers, one for each row of the pool")
        if told.size and not (told.min() >= _UNLABELLED and told.max() < len(self.classes)):
            raise InvalidData("labels are places in the list of classes, or -1")
        known = told != _UNLABELLED
        if len(np.unique(told[known])) < 2:
            raise InvalidData("a student needs labels of two classes or more")
        if self.neighbours is not None:
            told = spread(rows, told, len(self.classes), self.neighbours)
            known = told != _UNLABELLED
        names = np.empty(len(self.classes), dtype=object)
        names[:] = self.classes
        model = self.model.fit(rows[known], np.array(names[told[known]].tolist()))
        return model if self.sure is None else self._taught(model, rows, told, names)

    def _taught(self, model: Any, rows: Array, told: Array, names: Array) -> Any:
        """The model, trained again on what it is sure of: released labels stay."""
        told = told.copy()
        for _ in range(_LESSONS):
            open_rows = np.flatnonzero(told == _UNLABELLED)
            chances = model.predict_proba(rows[open_rows]) if len(open_rows) else np.zeros((0, 1))
            sure = chances.max(axis=1) > self.sure if len(open_rows) else np.zeros(0, dtype=bool)
            if not sure.any():
                break
            places = np.array([self.classes.index(each) for each in model.classes_.tolist()])
            told[open_rows[sure]] = places[chances[sure].argmax(axis=1)]
            known = told != _UNLABELLED
            model = model.fit(rows[known], np.array(names[told[known]].tolist()))
        return model

    def guesses(self, pool: Any) -> Callable[[Array], Array]:
        """A function of labels, as `InteractiveGNMax` takes one: the chances of each class in each row of the pool, by a
        copy of the model that was trained on these labels. As long as they name fewer than two classes it knows nothing.

        >>> from sklearn.linear_model import LogisticRegression
        >>> student = Student(LogisticRegression(), classes=["low", "high"]).guesses(np.array([[0.0], [1.0], [9.0]]))
        >>> student(np.array([0, -1, 1])).argmax(axis=1).tolist()
        [0, 0, 1]
        """
        if not hasattr(self.model, "predict_proba"):
            raise InvalidParameter("a student who guesses needs a model with predict_proba")
        return _Guesses(self, np.asarray(pool))


class _Guesses:
    """The chances that a student gives to classes, by the labels that are known so far."""

    def __init__(self, student: Student, pool: Array) -> None:
        self.student, self.pool = student, pool

    def __call__(self, labels: Array) -> Array:
        classes = self.student.classes
        chances = np.full((len(self.pool), len(classes)), 1.0 / len(classes))
        if len(np.unique(labels[labels != _UNLABELLED])) < 2:
            return chances
        learner = Student(
            copy.deepcopy(self.student.model),
            classes=classes,
            neighbours=self.student.neighbours,
            sure=self.student.sure,
        )
        model = learner.fit(self.pool, labels)
        places = [classes.index(each) for each in model.classes_.tolist()]
        chances[:] = 0.0
        chances[:, places] = model.predict_proba(self.pool)
        return np.clip(chances, 0.0, 1.0)

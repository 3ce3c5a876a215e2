"""A learned feature: how strongly the numbers of a run look like one world rather than the other."""

from dataclasses import dataclass

import numpy as np

from privet._numerics import Array

__all__ = ["Classifier", "train"]

_FEWEST = 100  # runs of each world to learn from


@dataclass(frozen=True, eq=False)
class Classifier:
    """A linear score over numeric features, frozen after training so that it can be replayed.

    >>> model = Classifier(("value[0]",), np.zeros(1), np.ones(1), np.array([2.0]))
    >>> model({"value[0]": np.array([0.0, np.expm1(1.0)])}).tolist()
    [0.0, 2.0]
    """

    names: tuple[str, ...]
    mean: Array
    spread: Array
    weights: Array

    def __call__(self, columns: dict[str, Array]) -> Array:
        """The score of each run; a feature that an output lacks counts as 0."""
        score = np.zeros(len(next(iter(columns.values()))))
        for name, mean, spread, weight in zip(self.names, self.mean, self.spread, self.weights, strict=True):
            if name in columns:
                score += (_moderate(columns[name]) - mean) / spread * weight
        return score


def train(left: dict[str, Array], right: dict[str, Array]) -> Classifier | None:
    """Learn to tell the worlds apart from some runs, which must not be tested on.

    None when one number says everything (thresholds see all of it) or the runs are few.

    >>> train({"value[0]": np.zeros(200)}, {"value[0]": np.ones(200)}) is None
    True
    """
    names = tuple(name for name in left if name in right and name.startswith(("value", "sum", "largest")))
    if len(names) < 3 or min(len(left[names[0]]), len(right[names[0]])) < _FEWEST:
        return None
    sides = [np.stack([_moderate(side[name]) for name in names], axis=1) for side in (left, right)]
    inputs = np.concatenate(sides)
    mean, spread = inputs.mean(axis=0), inputs.std(axis=0) + 1e-12
    from sklearn.linear_model import LogisticRegression

    labels = np.repeat([1, 0], [len(side) for side in sides])
    model = LogisticRegression(max_iter=200).fit((inputs - mean) / spread, labels)
    return Classifier(names, mean, spread, model.coef_[0])


def _moderate(column: Array) -> Array:
    """Finite and of moderate size, so that one huge number does not blind the fit."""
    return np.sign(column) * np.log1p(np.abs(np.nan_to_num(column, nan=0.0, posinf=1e300, neginf=-1e300)))

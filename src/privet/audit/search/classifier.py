"""Learned features: how strongly a run looks like one world rather than the other, by its numbers or by its time."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from privet._numerics import Array

__all__ = ["Classifier", "Learned", "TimeGivenValue", "learn"]

_FEWEST = 100  # runs of each world to learn from
_MOST = 20_000
_BINS = 24


class Learned(ABC):
    """A number a run, by a rule that was learned from other runs and frozen, so that it can be replayed."""

    @abstractmethod
    def __call__(self, columns: dict[str, Array]) -> Array:
        """The number of each run."""


@dataclass(frozen=True, eq=False)
class Classifier(Learned):
    """A linear score over numeric features.

    >>> model = Classifier(("value[0]",), np.zeros(1), np.ones(1), np.array([2.0]))
    >>> model({"value[0]": np.array([0.0, 1.0])}).tolist()
    [0.0, 2.0]
    """

    names: tuple[str, ...]
    middle: Array
    spread: Array
    weights: Array

    def __call__(self, columns: dict[str, Array]) -> Array:
        """The score of each run; a feature that an output lacks counts as 0."""
        score = np.zeros(len(columns["form"]) if "form" in columns else len(next(iter(columns.values()))))
        for name, middle, spread, weight in zip(self.names, self.middle, self.spread, self.weights, strict=True):
            if name in columns:
                score += weight * _moderate((columns[name] - middle) / spread)
        return score


@dataclass(frozen=True, eq=False)
class TimeGivenValue(Learned):
    """Whether a run took longer than runs with such a value take, in the direction that speaks for the left world.

    Time alone may look alike in both worlds, and still tell the noise; together with the output it tells the input.

    >>> model = TimeGivenValue(np.array([0.0]), np.array([1.0, 1.0]), np.array([1.0, -1.0]))
    >>> model({"value[0]": np.array([-1.0, 1.0]), "time": np.array([np.e, np.e])}).tolist()
    [1.0, -1.0]
    """

    edges: Array
    usual: Array
    sign: Array

    def __call__(self, columns: dict[str, Array]) -> Array:
        """The score of each run; without a number or a time it is 0."""
        if "value[0]" not in columns or "time" not in columns:
            return np.zeros(len(columns["form"]))
        cell = np.searchsorted(self.edges, columns["value[0]"], "right")
        return self.sign[cell] * np.log(np.maximum(columns["time"], 1e-12) / self.usual[cell])


def learn(left: dict[str, Array], right: dict[str, Array], *, kinds: frozenset[str]) -> dict[str, Learned]:
    """Learn to tell the worlds apart from some runs, which must not be tested on; the new features by name.

    >>> learn({"value[0]": np.zeros(200)}, {"value[0]": np.ones(200)}, kinds=frozenset({"projection"}))
    {}
    """
    found: dict[str, Learned | None] = {}
    if "projection" in kinds:
        found["classifier"] = _classifier(left, right)
    if "time" in kinds:
        found["time given value"] = _time_given_value(left, right)
    return {name: model for name, model in found.items() if model is not None}


def _classifier(left: dict[str, Array], right: dict[str, Array]) -> Classifier | None:
    """None when one number says everything (thresholds see all of it) or the runs are few."""
    names = tuple(name for name in left if name in right and name.startswith(("value", "sum", "largest")))
    names = tuple(name for name in names if " - " not in name)
    if len(names) < 3 or min(len(left[names[0]]), len(right[names[0]])) < _FEWEST:
        return None
    sides = [np.stack([side[name][:_MOST] for name in names], axis=1) for side in (left, right)]
    inputs = np.concatenate(sides)
    low, middle, high = np.quantile(np.nan_to_num(inputs, nan=0.0, posinf=0.0, neginf=0.0), (0.25, 0.5, 0.75), axis=0)
    spread = np.where(high > low, high - low, 1.0)
    from sklearn.linear_model import LogisticRegression

    labels = np.repeat([1, 0], [len(side) for side in sides])
    model = LogisticRegression(max_iter=200).fit(_moderate((inputs - middle) / spread), labels)
    return Classifier(names, middle, spread, model.coef_[0])


def _moderate(column: Array) -> Array:
    """Finite and of moderate size, so that one huge number does not blind the fit."""
    return np.clip(np.nan_to_num(column, nan=0.0, posinf=8.0, neginf=-8.0), -8.0, 8.0)


def _time_given_value(left: dict[str, Array], right: dict[str, Array]) -> TimeGivenValue | None:
    if "value[0]" not in left.keys() & right.keys() or "time" not in left.keys() & right.keys():
        return None
    pooled = np.concatenate((left["value[0]"], right["value[0]"]))
    pooled = pooled[np.isfinite(pooled)]
    if pooled.size < _FEWEST:
        return None
    edges = np.unique(np.quantile(pooled, np.linspace(0.0, 1.0, _BINS + 1)[1:-1]))
    usual, sign = np.ones(edges.size + 1), np.zeros(edges.size + 1)
    cells = [np.searchsorted(edges, side["value[0]"], "right") for side in (left, right)]
    for cell in range(edges.size + 1):
        times = [side["time"][place == cell] for side, place in zip((left, right), cells, strict=True)]
        if min(len(times[0]), len(times[1])) > 4:
            slow = [max(float(np.median(side)), 1e-12) for side in times]
            usual[cell], sign[cell] = np.sqrt(slow[0] * slow[1]), np.sign(slow[0] - slow[1])
    return TimeGivenValue(edges, usual, sign)

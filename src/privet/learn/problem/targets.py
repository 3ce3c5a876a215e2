"""Targets of models, as public facts: classes, numbers within bounds, counts."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet._validate import above, finite, items, set_frozen
from privet.errors import InvalidParameter


class Target(ABC):
    """The way from targets to numbers that a loss takes, from public facts alone."""

    @property
    @abstractmethod
    def kinds(self) -> str:
        """The letters of numpy's `dtype.kind` that targets may have: "biuf" for truth values, whole numbers and floats."""

    @abstractmethod
    def encoded(self, targets: Array) -> tuple[Array, Array]:
        """Two arrays: each target as a number, and True for each that is no target (not among the classes, NaN). Records
        without a target count as rows of zeros, so that the number in their place does not matter."""


@final
@dataclass(frozen=True)
class Classes(Target):
    """Public labels. Two of them become -1 and 1; more become 0, 1, 2, ...

    >>> Classes(["no", "yes"]).encoded(np.array(["yes", "no", "maybe"]))[0].tolist()
    [1.0, -1.0, 1.0]
    """

    labels: tuple[Any, ...]

    def __post_init__(self) -> None:
        labels = items("classes", self.labels)
        plain = [each.item() if isinstance(each, np.generic) else each for each in labels]
        if any(not isinstance(each, bool | int | float | str) or each != each for each in plain):
            raise InvalidParameter("classes must be texts, whole numbers or truth values")
        if len(plain) < 2:
            raise InvalidParameter("classes must hold at least two labels")
        if len({str} & {type(each) for each in plain}) and any(not isinstance(each, str) for each in plain):
            raise InvalidParameter("classes must be all texts or all numbers")
        ordered = sorted(set(plain))
        if len(ordered) != len(plain):
            raise InvalidParameter("classes must be different from each other")
        set_frozen(self, labels=tuple(ordered))

    @property
    def array(self) -> Array:
        """The labels, sorted, as scikit-learn's `classes_`."""
        return np.array(self.labels)

    @property
    def kinds(self) -> str:
        # O is for objects, U for texts of a fixed width, T for texts of any length
        return "OUT" if isinstance(self.labels[0], str) else "biufO"

    def encoded(self, targets: Array) -> tuple[Array, Array]:
        if targets.dtype.kind == "T":  # numpy's texts of any length are compared as Python's own
            targets = targets.astype(object)
        places = np.full(len(targets), -1, dtype=np.int64)
        for i, label in enumerate(self.labels):
            places[np.asarray(targets == label, dtype=bool)] = i
        unknown = places < 0
        if len(self.labels) == 2:  # unknown ones become 1, which does not matter
            return np.where(places == 0, -1.0, 1.0), unknown
        return np.where(unknown, 0, places).astype(np.float64), unknown


class NumericTarget(Target):
    """Base of the targets that are numbers; NaN counts as no target. Still abstract."""

    @property
    @final
    def kinds(self) -> str:
        return "biuf"

    @final
    def encoded(self, targets: Array) -> tuple[Array, Array]:
        values = targets.astype(np.float64)
        missing = np.isnan(values)
        return np.where(missing, 0.0, self._clipped(values)), missing

    @abstractmethod
    def _clipped(self, values: Array) -> Array:
        """The numbers that the loss takes for these values; NaN stays NaN."""


@final
@dataclass(frozen=True)
class Interval(NumericTarget):
    """Numbers within public bounds, mapped to [-1, 1]; what lies outside is clipped.

    >>> Interval(0.0, 10.0).encoded(np.array([0.0, 5.0, 12.0]))[0].tolist()
    [-1.0, 0.0, 1.0]
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        low, high = finite("bounds_y", self.low), finite("bounds_y", self.high)
        if not 0.0 < (high - low) / 2.0 < math.inf:  # `half`: divided by 0 or infinity, targets would be NaN or 0
            raise InvalidParameter("bounds_y must be (low, high) with low < high")
        set_frozen(self, low=low, high=high)

    @property
    def middle(self) -> float:
        """The middle of the bounds, of halves: the sum of the bounds may overflow."""
        return self.low / 2.0 + self.high / 2.0

    @property
    def half(self) -> float:
        """Half the distance between the bounds."""
        return (self.high - self.low) / 2.0

    def _clipped(self, values: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):  # a warning would tell about values
            return np.clip((np.clip(values, self.low, self.high) - self.middle) / self.half, -1.0, 1.0)


@final
@dataclass(frozen=True)
class Counts(NumericTarget):
    """Numbers from 0 to a public largest one, as they are; what lies outside is clipped.

    >>> Counts(10.0).encoded(np.array([3.0, 12.0]))[0].tolist()
    [3.0, 10.0]
    """

    largest: float

    def __post_init__(self) -> None:
        set_frozen(self, largest=above("bounds_y", self.largest, 0.0))

    def _clipped(self, values: Array) -> Array:
        return np.clip(values, 0.0, self.largest)


@final
@dataclass(frozen=True)
class NoTarget(Target):
    """The target of models that learn from rows alone: a 0 for each row, and no row is without a target.

    >>> NoTarget().kinds
    ''
    """

    @property
    def kinds(self) -> str:
        return ""

    def encoded(self, targets: Array) -> tuple[Array, Array]:
        return np.zeros(len(targets)), np.zeros(len(targets), dtype=bool)

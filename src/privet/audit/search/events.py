"""Events: yes-or-no questions about one run, proposed from some runs and tested on others."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from privet._numerics import Array

__all__ = ["Event", "propose"]

_THRESHOLDS = 96
_ATOMS = 24


@dataclass(frozen=True)
class Event:
    """A question about one feature: at least, at most, or equal to a number.

    >>> Event("value[0]", "at most", 1.0)(np.array([0.0, 2.0])).tolist()
    [True, False]
    """

    feature: str
    relation: Literal["at least", "at most", "equal to"]
    threshold: float

    def __call__(self, column: Array) -> Array:
        """Which runs answer yes. NaN answers no to everything but the `special` and `form` features."""
        with np.errstate(invalid="ignore"):
            if self.relation == "equal to":
                return column == self.threshold
            return column >= self.threshold if self.relation == "at least" else column <= self.threshold

    def __str__(self) -> str:
        return f"{self.feature} {self.relation} {self.threshold:.17g}"


def propose(left: dict[str, Array], right: dict[str, Array]) -> Iterator[Event]:
    """Thresholds at quantiles of both worlds together, and the most frequent atoms.

    >>> columns = {"value[0]": np.array([1.0, 1.0, 2.0])}
    >>> [str(event) for event in propose(columns, columns)][:2]
    ['value[0] at least 1', 'value[0] at most 1']
    """
    for name in left:
        if name not in right:
            continue
        pooled = np.concatenate((left[name], right[name]))
        pooled = pooled[~np.isnan(pooled)]
        if pooled.size == 0:
            continue
        for threshold in _cuts(pooled):
            yield Event(name, "at least", float(threshold))
            yield Event(name, "at most", float(threshold))
        values, counts = np.unique(pooled, return_counts=True)
        if values.size < pooled.size:  # a continuous column has no atoms worth a look
            for index in np.argsort(-counts, kind="stable")[:_ATOMS]:
                if counts[index] > 1:
                    yield Event(name, "equal to", float(values[index]))


def _cuts(pooled: Array) -> Array:
    """Quantiles, denser in the tails, where pure guarantees break first; data points themselves, so ties count."""
    tails = np.geomspace(4.0 / pooled.size, 0.5, _THRESHOLDS // 2) if pooled.size > 8 else np.array([0.5])
    levels = np.unique(np.concatenate((tails, 1.0 - tails)))
    ordered = np.sort(pooled)
    places = np.clip((levels * pooled.size).astype(int), 0, pooled.size - 1)
    cuts: Array = np.unique(ordered[places])
    return cuts

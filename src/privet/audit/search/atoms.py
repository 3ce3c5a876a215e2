"""Learned features of outputs with few values: which values speak for which world."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from privet._numerics import Array
from privet.audit.search.classifier import FEWEST, MOST, Learned, logistic, moderate

_OFTEN = 0.02  # of the runs: a value that deserves a weight of its own
_FLAGS, _MOST_FLAGS = 16, 128  # of one column, and of all: the most frequent first. Time and power only
_ROWS = 8_192  # whole answers that have a score of their own
_SHARE = 0.1  # of the runs: whole answers that come again must make up so much
_PRIOR = 1.0  # runs of each world by which a score is drawn towards 0: a few sightings are mostly luck
_LIMIT = 8.0  # standard deviations beyond which a column counts as that far: one outlier would be all that is seen


@dataclass(frozen=True, eq=False)
class Flags(Learned):
    """A weight for each frequent value of a column, and a linear score for what is none of them.

    An answer that says `below`, `stopped` or a number is linear in none of its columns.

    >>> flags = Flags((("value[0]", 0.0, 1.0, ((-1.0, 3.0),)), ("value[1]", 2.0, 1.0, ())), (0.5, 1.0))
    >>> flags({"value[0]": np.array([-1.0, 2.0]), "value[1]": np.array([2.0, 3.0])}).tolist()
    [3.0, 2.0]
    """

    parts: tuple[tuple[str, float, float, tuple[tuple[float, float], ...]], ...]  # column, middle, spread, weights
    slopes: tuple[float, ...]

    def __call__(self, columns: dict[str, Array]) -> Array:
        """The score of each run; a column that an output lacks counts as 0."""
        score = np.zeros(len(next(iter(columns.values()))))
        for (name, middle, spread, weights), slope in zip(self.parts, self.slopes, strict=True):
            if name in columns:
                column = columns[name]
                for value, weight in weights:
                    score += weight * (column == value)
                score += slope * _apart_from(column, [value for value, _ in weights], middle, spread)
        return score


@dataclass(frozen=True, eq=False)
class Odds(Learned):
    """A score for each frequent whole answer: the logarithm of its odds between the worlds; 0 for all others.

    >>> Odds("row", np.array([3.0, 5.0]), np.array([-1.0, 2.0]))({"row": np.array([5.0, 4.0, 3.0])}).tolist()
    [2.0, 0.0, -1.0]
    """

    name: str
    values: Array  # sorted
    scores: Array

    def __call__(self, columns: dict[str, Array]) -> Array:
        """The score of each run."""
        if self.name not in columns:
            return np.zeros(len(next(iter(columns.values()))))
        column = columns[self.name]
        place = np.minimum(np.searchsorted(self.values, column), len(self.values) - 1)
        return np.where(self.values[place] == column, self.scores[place], 0.0)


def _apart_from(column: Array, atoms: Iterable[float], middle: float, spread: float) -> Array:
    """The distance of the numbers from the middle; 0 for atoms and for what is missing."""
    return np.where(np.isin(column, list(atoms)), 0.0, moderate((column - middle) / spread, _LIMIT))


def flags_of(left: dict[str, Array], right: dict[str, Array]) -> Flags | None:
    """Fitted by logistic regression; None where no column has three frequent values or two and a rest, or runs are few."""
    names = [n for n in left if n in right and n.startswith("value") and " - " not in n and " given " not in n]
    if len(names) < 2 or min(len(side[names[0]]) for side in (left, right)) < FEWEST:
        return None
    pooled = {name: np.concatenate((left[name][:MOST], right[name][:MOST])) for name in names}
    found = {name: _frequent(column) for name, column in pooled.items()}
    if not any(len(atoms) > 2 or (atoms and rest) for atoms, rest in found.values()):
        return None
    inputs: list[Array] = []
    parts: list[tuple[str, float, float, list[float]]] = []
    for name, (atoms, _) in found.items():
        if len(inputs) + len(atoms) + 1 > _MOST_FLAGS:
            break
        column = pooled[name]
        rest = column[np.isfinite(column) & ~np.isin(column, atoms)]
        low, middle, high = np.quantile(rest, (0.25, 0.5, 0.75)).tolist() if rest.size else (0.0, 0.0, 1.0)
        spread = high - low if high > low else 1.0
        parts.append((name, middle, spread, atoms))
        inputs += [(column == atom).astype(float) for atom in atoms]
        inputs.append(_apart_from(column, atoms, middle, spread))
    label = np.repeat([1, 0], [len(side[names[0]][:MOST]) for side in (left, right)])
    weights = iter(logistic(np.stack(inputs, axis=1), label).tolist())
    weighted, slopes = [], []
    for name, middle, spread, atoms in parts:
        weighted.append((name, middle, spread, tuple((atom, next(weights)) for atom in atoms)))
        slopes.append(next(weights))
    return Flags(tuple(weighted), tuple(slopes))


def _frequent(column: Array) -> tuple[list[float], bool]:
    """The frequent values, and whether a good part of the runs has others."""
    values, times = np.unique(column[~np.isnan(column)], return_counts=True)
    order = np.argsort(-times, kind="stable")[:_FLAGS]
    often = order[times[order] >= _OFTEN * len(column)]
    return values[often].tolist(), bool(times[often].sum() < (1.0 - _OFTEN) * times.sum())


def odds_of(left: dict[str, Array], right: dict[str, Array]) -> Odds | None:
    """None where hardly any whole answer is seen twice, or runs are few.

    However many answers there are, each that is seen more than once has a score: where they are many, none of them tells
    much by itself, and all those that speak for one world do together.
    """
    if "row" not in left or "row" not in right or min(len(left["row"]), len(right["row"])) < FEWEST:
        return None
    sides = [side["row"][:MOST] for side in (left, right)]
    values, times = np.unique(np.concatenate(sides), return_counts=True)
    often = np.argsort(-times, kind="stable")[:_ROWS]
    kept = np.sort(often[times[often] > 1])
    if times[kept].sum() < _SHARE * times.sum():
        return None
    seen = [np.bincount(np.searchsorted(values, side), minlength=len(values))[kept] for side in sides]
    rates = [(times + _PRIOR) / (len(side) + 2.0 * _PRIOR) for times, side in zip(seen, sides, strict=True)]
    scores = np.log(rates[0]) - np.log(rates[1])
    return Odds("row", values[kept], np.round(scores, 6))

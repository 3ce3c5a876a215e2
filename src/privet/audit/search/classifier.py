"""Learned features: how strongly a run looks like one world rather than the other, by its numbers or by its time."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from privet._numerics import Array, special

FEWEST = 100  # runs of each world to learn from
MOST = 20_000  # scouting runs of a world that are learned from: time against power
_BINS = 24  # of a column, by quantiles: time against power
_NEWTON, _CURVED = 25, 8_000  # steps; rows that the curvature is measured on
# Of a tree: levels, cuts of a column, and the fewest runs of a leaf: more would learn the scouting runs by heart.
_DEPTH, _TREE_BINS, _LEAF = 3, 24, 40
_SHARP = 0.02  # of the quartiles' distance: the least width of the step from one side to the other
_SHOWN = 3  # columns that are named as the heaviest
_WIDEST = 96  # columns that a tree looks at: time and power only


class Learned(ABC):
    """A number a run, by a rule that was learned from other runs and frozen, so that it can be replayed."""

    @abstractmethod
    def __call__(self, columns: dict[str, Array]) -> Array:
        """The number of each run."""

    def heaviest(self) -> tuple[str, ...]:
        """The columns that weigh most, for words; none where that cannot be said."""
        return ()


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
    limit: float = 8.0  # how far out a feature still counts more and more

    def __call__(self, columns: dict[str, Array]) -> Array:
        """The score of each run; a feature that an output lacks counts as 0."""
        score = np.zeros(len(columns["form"]) if "form" in columns else len(next(iter(columns.values()))))
        for name, middle, spread, weight in zip(self.names, self.middle, self.spread, self.weights, strict=True):
            if name in columns:
                score += weight * moderate((columns[name] - middle) / spread, self.limit)
        return score

    def heaviest(self) -> tuple[str, ...]:
        """The columns with the largest weights."""
        order = np.argsort(-np.abs(self.weights), kind="stable")[:_SHOWN]
        return tuple(self.names[i] for i in order if self.weights[i] != 0.0)


@dataclass(frozen=True, eq=False)
class Tree(Learned):
    """Questions one after the other, at most three deep: `column > cut`, or `column == cut` for names; then a score.

    >>> tree = Tree((("value[0]", 1.0, False),), (-1.0, 2.0))
    >>> tree({"value[0]": np.array([0.0, 3.0, np.nan])}).tolist()
    [-1.0, 2.0, -1.0]
    """

    questions: tuple[tuple[str, float, bool] | None, ...]  # of the inner nodes in the order of a heap
    scores: tuple[float, ...]  # of the leaves

    def __call__(self, columns: dict[str, Array]) -> Array:
        """The score of the leaf that each run comes to; a missing number answers no."""
        runs = len(next(iter(columns.values())))
        node = np.zeros(runs, dtype=np.int64)
        for _ in range(int(np.log2(len(self.scores)))):
            answer = np.zeros(runs, dtype=bool)
            for index in np.unique(node).tolist():
                question = self.questions[index]
                if question is not None and question[0] in columns:
                    answer |= (node == index) & _answer(columns[question[0]], question[1], question[2])
            node = 2 * node + 1 + answer
        return np.asarray(self.scores)[node - (len(self.scores) - 1)]

    def heaviest(self) -> tuple[str, ...]:
        """The columns of the first questions."""
        return tuple(dict.fromkeys(question[0] for question in self.questions if question is not None))[:_SHOWN]


def _answer(column: Array, cut: float, equal: bool) -> Array:
    with np.errstate(invalid="ignore"):
        return np.asarray(column == cut if equal else column > cut)


@dataclass(frozen=True, eq=False)
class TimeGivenValue(Learned):
    """The event that a run took longer than runs with such a value take, in the direction that speaks for the left
    world.

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


def classifiers(left: dict[str, Array], right: dict[str, Array]) -> tuple[Classifier | None, Classifier | None]:
    """None when one number says everything (thresholds see all of it) or the runs are few.

    The first is linear, which is best for Gaussian noise. The second asks of each number on which side of the middle
    between the worlds it lies, and grades only what lies between their medians: the likelihood of Laplace noise.
    """
    names = tuple(name for name in left if name in right and name.startswith(("value", "sum", "largest", "smallest")))
    names = tuple(name for name in names if " - " not in name and " given " not in name)[:_WIDEST]
    if alone(names) or min(len(left[names[0]]), len(right[names[0]])) < FEWEST:
        return None, None
    sides = [np.stack([side[name][:MOST] for name in names], axis=1) for side in (left, right)]
    labels = np.repeat([1, 0], [len(side) for side in sides])
    inputs = np.concatenate(sides)
    low, middle, high = np.quantile(np.nan_to_num(inputs, nan=0.0, posinf=0.0, neginf=0.0), (0.25, 0.5, 0.75), axis=0)
    spread = np.where(high > low, high - low, 1.0)
    linear = _fitted(names, inputs, labels, middle, spread, 8.0)
    centres = [np.median(np.nan_to_num(side, nan=0.0, posinf=0.0, neginf=0.0), axis=0) for side in sides]
    between = np.maximum(0.5 * np.abs(centres[0] - centres[1]), _SHARP * spread)
    return linear, _fitted(names, inputs, labels, 0.5 * (centres[0] + centres[1]), between, 1.0)


def _fitted(
    names: tuple[str, ...], inputs: Array, labels: Array, middle: Array, spread: Array, limit: float
) -> Classifier:
    weights = logistic(moderate((inputs - middle) / spread, limit), labels)
    return Classifier(names, middle, spread, weights, limit)


def logistic(inputs: Array, labels: Array) -> Array:
    """The weights of a logistic regression with a unit ridge (none on the constant, which is not returned), by Newton.

    >>> logistic(np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0, 1, 1, 1])).round(2).tolist()
    [0.42]
    """
    rows = np.column_stack((inputs, np.ones(len(inputs))))
    ridge = np.append(np.ones(inputs.shape[1]), 1e-9)
    weights, stride = np.zeros(rows.shape[1]), -(-len(rows) // _CURVED)

    def loss(at: Array) -> float:
        score = rows @ at
        return float(np.sum(np.logaddexp(0.0, score) - labels * score) + 0.5 * np.sum(ridge * at * at))

    value = loss(weights)
    for _ in range(_NEWTON):
        rate = special().expit(rows @ weights)
        slope = rows.T @ (rate - labels) + ridge * weights
        if np.abs(slope).max() < 1e-5 * len(rows):
            break
        some, bent = rows[::stride], (rate * (1.0 - rate))[::stride, None]
        bend = stride * ((some * bent).T @ some) + np.diag(ridge)
        step = np.linalg.solve(bend, slope)
        size = 1.0
        while (lower := loss(weights - size * step)) > value and size > 1e-3:
            size *= 0.5
        if lower >= value:
            break
        weights, value = weights - size * step, lower
    return weights[:-1]


def alone(names: Iterable[str]) -> bool:
    """True if one number says everything: then thresholds, windows and atoms see all of it."""
    return len({name for name in names if name.startswith(("value", "text"))} - {"value.error"}) < 2


def tree(left: dict[str, Array], right: dict[str, Array]) -> Tree | None:
    """Grown by the gain in information; None when there is one number only, or too few runs."""
    names = [
        n for n in left if n in right and n != "time" and not n.startswith(("row", "exponent")) and " given " not in n
    ]
    names = names[:_WIDEST]
    if alone(names) or min(len(left["form"]), len(right["form"])) < 4 * _LEAF:
        return None
    columns = {name: np.concatenate((left[name][:MOST], right[name][:MOST])) for name in names}
    label = np.repeat([True, False], [min(len(side["form"]), MOST) for side in (left, right)])
    cells = _Cells(columns)
    inner, leaves = 2**_DEPTH - 1, 2**_DEPTH
    questions: list[tuple[str, float, bool] | None] = [None] * inner
    node = np.zeros(len(label), dtype=np.int64)
    for index in range(inner):
        here = node == index
        questions[index] = _best_question(cells, here, label)
        question = questions[index]
        answer = np.zeros(len(label), dtype=bool)
        if question is not None:
            answer = _answer(columns[question[0]], question[1], question[2])
        node = np.where(here, 2 * node + 1 + answer, node)
    if questions[0] is None:
        return None
    scores = []
    for leaf in range(leaves):
        here = node == leaf + inner
        yes, no = int(np.sum(here & label)), int(np.sum(here & ~label))
        scores.append(round(float(np.log((yes + 1.0) / (no + 1.0))), 6))
    return Tree(tuple(questions), tuple(scores))


_NAMED = ("form", "text", "wording", "message", "standard")
_LUCK = 4.0  # in nats: a question that gains less may gain it by luck


def _cells(column: Array, named: bool) -> tuple[Array, Array, bool]:
    """The cell of each run, and the cut below each cell but the first (for names: the name of each cell)."""
    known = column[~np.isnan(column)]
    if named:
        values, times = np.unique(known, return_counts=True)
        cuts = values[np.argsort(-times, kind="stable")[:8]]
        cells = np.zeros(len(column), dtype=np.int64)
        for number, value in enumerate(cuts, start=1):
            cells[column == value] = number
        return cells, cuts, True
    if not known.size:
        return np.zeros(len(column), dtype=np.int64), np.empty(0), False
    places = np.linspace(0, known.size - 1, _TREE_BINS + 1).astype(int)[:-1]
    cuts = np.unique(np.sort(known)[places])
    cells = np.searchsorted(cuts, column, "left")  # column > cuts[c - 1] exactly from cell c on
    return np.where(np.isnan(column), 0, cells), cuts, False


class _Cells:
    """The cells of every column side by side, so that all questions of a node are weighed at once."""

    def __init__(self, columns: dict[str, Array]) -> None:
        known = {name: _cells(column, name.startswith(_NAMED)) for name, column in columns.items()}
        self.names = [name for name, (_, cuts, _) in known.items() if len(cuts)]
        found = [known[name] for name in self.names]
        self.cuts = [cuts for _, cuts, _ in found]
        self.named = np.array([named for _, _, named in found], dtype=bool)
        self.width = 1 + max((len(cuts) for cuts in self.cuts), default=0)
        self.asked = np.arange(1, self.width) <= np.array([len(cuts) for cuts in self.cuts])[:, None]
        self._places = np.array([place + self.width * row for row, (place, _, _) in enumerate(found)])

    def yes(self, side: Array) -> Array:
        """Of these runs, how many say yes: a row each column, a place each cut."""
        shape = len(self.names), self.width
        counts = np.bincount(self._places[:, side].reshape(-1), minlength=shape[0] * shape[1]).reshape(shape)
        above = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1]
        return np.where(self.named[:, None], counts, above)[:, 1:]


def _best_question(cells: _Cells, here: Array, label: Array) -> tuple[str, float, bool] | None:
    sides = [np.flatnonzero(here & label), np.flatnonzero(here & ~label)]
    totals = [len(side) for side in sides]
    if not cells.names or min(totals) == 0 or sum(totals) < 2 * _LEAF:
        return None
    gain = np.where(cells.asked, _information(cells.yes(sides[0]), cells.yes(sides[1]), totals), -np.inf)
    row, cut = np.unravel_index(int(np.argmax(gain)), gain.shape)
    if gain[row, cut] <= _LUCK:
        return None
    return cells.names[row], float(cells.cuts[row][cut]), bool(cells.named[row])


def _information(a: Array, b: Array, totals: list[int]) -> Array:
    """The log-likelihood that a yes-or-no question gains, in nats."""

    def part(x: Array, y: Array) -> Array:
        n = np.maximum(x + y, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(x > 0, x * np.log(x / n), 0.0) + np.where(y > 0, y * np.log(y / n), 0.0)

    a, b = a.astype(float), b.astype(float)
    whole = part(np.array(float(totals[0])), np.array(float(totals[1])))
    return np.asarray(part(a, b) + part(totals[0] - a, totals[1] - b) - whole)


def moderate(column: Array, limit: float) -> Array:
    """Finite and of moderate size, so that one huge number does not blind the fit."""
    return np.clip(np.nan_to_num(column, nan=0.0, posinf=limit, neginf=-limit), -limit, limit)


def time_given_value(left: dict[str, Array], right: dict[str, Array]) -> TimeGivenValue | None:
    if "value[0]" not in left.keys() & right.keys() or "time" not in left.keys() & right.keys():
        return None
    pooled = np.concatenate((left["value[0]"], right["value[0]"]))
    pooled = pooled[np.isfinite(pooled)]
    if pooled.size < FEWEST:
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

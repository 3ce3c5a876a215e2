"""Events: yes-or-no questions about one run, proposed from some runs and tested on others."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from privet._numerics import Array

Relation = Literal["at least", "at most", "equal to", "between"]
RELATIONS: tuple[Relation, ...] = get_args(Relation)
Depth = Callable[[Array, Array, int, int], Array]  # of counts in both worlds, of so many runs
_THRESHOLDS = 96  # cuts of a column, closer in the tails: time against power
_ATOMS = 24  # single values of a column that are tried: time against power
KINDS = (
    "threshold", "atom", "difference", "projection", "index", "lowest bit", "exponent", "special", "form", "length",
    "time",
)  # fmt: skip
_PROJECTIONS = ("sum", "largest", "smallest", "classifier", "tree", "score")
_NAMES = ("form", "text", "wording", "message", "standard", "row")  # numbered as they come: their order means nothing
_WINDOWS = 64  # quantiles between which windows lie: more find narrower ones, and take longer
_SPANS = (1, 2, 3, 5, 8, 13, 21, 34)  # widths of intervals, in cuts: as many as keep all intervals few


def kind_of(feature: str, relation: Relation) -> str:
    """The kind of feature that an event looks at, one of `KINDS`: how a bug shows itself.

    >>> kind_of("value[0]", "at most"), kind_of("value[0]", "equal to"), kind_of("value[1] - value[0]", "at least")
    ('threshold', 'atom', 'difference')
    """
    if " - " in feature:
        return "difference"
    if feature.startswith(("value", "nearest")):
        return "atom" if relation == "equal to" else "threshold"
    if feature.startswith(("row", "member")):
        return "atom"
    if feature.startswith(_PROJECTIONS):
        return "projection"
    if feature.startswith("time"):
        return "time"
    if feature.startswith(_NAMES):
        return "form"
    return next(kind for kind in (*KINDS, "index") if feature.startswith(_STEMS.get(kind, kind)))


_STEMS = {"index": "first true"}


@dataclass(frozen=True)
class Event:
    """A question about one feature: at least, at most, or equal to a number, or between two numbers, ends included.

    >>> Event("value[0]", "at most", 1.0)(np.array([0.0, 2.0])).tolist()
    [True, False]
    """

    feature: str
    relation: Relation
    threshold: float
    upper: float | None = None

    def __call__(self, column: Array) -> Array:
        """Which runs answer yes. NaN answers no; the feature `special` counts NaN."""
        with np.errstate(invalid="ignore"):
            if self.relation == "equal to":
                return column == self.threshold
            if self.upper is not None:
                return (column >= self.threshold) & (column <= self.upper)
            return column >= self.threshold if self.relation == "at least" else column <= self.threshold

    @property
    def kind(self) -> str:
        """The kind of feature it looks at: one of `KINDS`."""
        return kind_of(self.feature, self.relation)

    def __str__(self) -> str:
        more = "" if self.upper is None else f" and {_plain(self.upper)}"
        return f"{self.feature} {self.relation} {_plain(self.threshold)}{more}"


def _plain(number: float) -> str:
    """As short as names the same double."""
    if not np.isfinite(number):
        return repr(number)
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)


@dataclass(frozen=True, eq=False)
class Tally:
    """Many events of one feature and relation, with how many runs of each world answered yes."""

    feature: str
    relation: Relation
    thresholds: Array
    left: Array
    right: Array
    uppers: Array | None = None

    @property
    def kind(self) -> str:
        """The kind of feature that these events look at: one of `KINDS`."""
        return kind_of(self.feature, self.relation)

    def event(self, index: int) -> Event:
        """One of them."""
        upper = None if self.uppers is None else float(self.uppers[index])
        return Event(self.feature, self.relation, float(self.thresholds[index]), upper)


def tally(left: dict[str, Array], right: dict[str, Array], depth: Depth | None = None) -> Iterator[Tally]:
    """Thresholds and windows at quantiles of both worlds together and the most frequent atoms, counted in both worlds.

    `depth` says how far counts lie outside a claim: with it the atoms that lie furthest are there too, however rare.

    >>> columns = {"value[0]": np.array([1.0, 1.0, 2.0])}
    >>> [(t.relation, t.thresholds.tolist(), t.left.tolist()) for t in tally(columns, columns)]
    [('at least', [1.0, 2.0], [3, 1]), ('at most', [1.0, 2.0], [2, 3]), ('equal to', [1.0, 2.0], [2, 1])]
    """
    for name in (name for name in left if name in right):
        a, b = (np.sort(side[name][~np.isnan(side[name])]) for side in (left, right))
        pooled = np.sort(np.concatenate((a, b)), kind="stable")
        if pooled.size == 0:
            continue
        if not name.startswith(_NAMES):
            cuts = _cuts(pooled)
            below = [(np.searchsorted(s, cuts, "left"), np.searchsorted(s, cuts, "right")) for s in (a, b)]
            yield Tally(name, "at least", cuts, a.size - below[0][0], b.size - below[1][0])
            yield Tally(name, "at most", cuts, below[0][1], below[1][1])
            if len(cuts) > 4:
                yield from _windows(name, pooled, a, b)
        atoms = _atoms(pooled, a, b, (len(left[name]), len(right[name])), depth)
        counts = [np.searchsorted(s, atoms, "right") - np.searchsorted(s, atoms, "left") for s in (a, b)]
        yield Tally(name, "equal to", atoms, *counts)


def _windows(name: str, pooled: Array, a: Array, b: Array) -> Iterator[Tally]:
    """Two-sided windows between quantiles, narrow and wide ones."""
    light = _lightened(pooled)
    cuts = np.unique(light[np.linspace(0, light.size - 1, _WINDOWS + 1).astype(int)])
    starts = np.concatenate([np.arange(max(len(cuts) - span, 0)) for span in _SPANS])
    ends = starts + np.repeat(_SPANS, [max(len(cuts) - span, 0) for span in _SPANS])
    low, high = cuts[starts], cuts[ends]
    counts = [np.searchsorted(s, cuts, "right")[ends] - np.searchsorted(s, cuts, "left")[starts] for s in (a, b)]
    yield Tally(name, "between", low, counts[0], counts[1], high)


def _cuts(pooled: Array) -> Array:
    """Quantiles, denser in the tails, where pure guarantees break first; data points themselves, so ties count."""
    pooled = _lightened(pooled)
    tails = np.geomspace(min(0.5, 4.0 / pooled.size), 0.5, _THRESHOLDS // 2)
    levels = np.concatenate((tails, 1.0 - tails))
    places = np.clip((levels * pooled.size).astype(int), 0, pooled.size - 1)
    ends = np.array([0, pooled.size - 1])
    cuts: Array = np.unique(pooled[np.concatenate((places, ends))])
    return cuts


def _lightened(pooled: Array) -> Array:
    """Frequent values less often: between values that most runs show, the others would have no quantile of their own."""
    most = max(1, pooled.size // _WINDOWS)
    new = np.flatnonzero(np.concatenate(([True], pooled[1:] != pooled[:-1])))
    times = np.diff(np.append(new, pooled.size))
    return pooled if times.max() <= 4 * most else np.repeat(pooled[new], np.minimum(times, most))


def _atoms(pooled: Array, a: Array, b: Array, runs: tuple[int, int], depth: Depth | None) -> Array:
    """The values seen most often, those seen most unequally often, and those that lie furthest outside the claim; none
    that is seen only once.
    """
    values, counts = np.unique(pooled, return_counts=True)
    values = values[counts > 1]
    hits = [np.searchsorted(s, values, "right") - np.searchsorted(s, values, "left") for s in (a, b)]
    orders = [hits[0] + hits[1], np.abs(hits[0] * b.size - hits[1] * a.size)]
    if depth is not None and values.size > _ATOMS:
        orders += [depth(hits[0], hits[1], *runs), depth(hits[1], hits[0], *runs[::-1])]
    atoms: Array = np.unique(np.concatenate([values[np.argsort(-order, kind="stable")[:_ATOMS]] for order in orders]))
    return atoms

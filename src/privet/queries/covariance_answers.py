"""Covariances of several columns from one noisy vector: non-negative sums over pairs of columns, then arithmetic."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple, final

import numpy as np

from privet._numerics import Array, root_up
from privet._validate import flag, instance, items, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms import (
    Algorithm,
    DiscreteLaplace,
    Example,
    Form,
    Gaussian,
    Kept,
    Mechanism,
    Sensitivity,
    Source,
    register,
    storable,
)
from privet.privacy import Guarantee, PrivacyLoss, Unit
from privet.queries.intervals import Law, spread
from privet.queries.measured import tick_of
from privet.queries.question import TableAlgorithm
from privet.queries.second_moments import (
    Corners,
    Triple,
    correlation_interval,
    covariance_interval,
    mean_box,
    tail_aside,
    variance_interval,
)
from privet.tables import Bounded, Cell, Data, Int, KeySet, Node, Ref, Rows, Source as PrivateSource, Term, Ticks

CONFIDENCE = 0.95  # of the intervals that come with every answer


@final
@dataclass(frozen=True)
class Pair:
    """The sums of two columns, or of one with itself: t and u, scaled to [0, 1], are split into corners, and a row adds to
    each corner the share of it that the row is near: t u, t (1-u), (1-t) u and (1-t)(1-u); of one column t^2, 2 t (1-t)
    and (1-t)^2. They are non-negative and add up to `top` for every row.

    `left` and `right` are the places of the corners in the two columns.
    """

    first: int
    second: int
    top: int
    left: tuple[float, ...]
    right: tuple[float, ...]


class Design(NamedTuple):
    """The sums that an engine makes of some columns, and how they are read."""

    plan: Bounded
    pairs: tuple[Pair, ...]
    widths: tuple[float, ...]  # of the columns, in their own units
    slack: tuple[float, ...]  # half a step of each column

    def sensitivity(self, unit: Unit, norm: str) -> Sensitivity:
        """The distance by which one unit of privacy moves the vector: a row adds at most the tops in l1, their root of
        squares in l2."""
        tops, reach = [pair.top for pair in self.pairs], self.plan.reach
        if norm == "l1":
            return Sensitivity(Fraction(sum(tops) * reach.l1(unit)), norm="l1", unit=unit)
        squares = sum(top * top for top in tops) * reach.l2_squared(unit)
        return Sensitivity(Fraction(root_up(Fraction(squares))), norm="l2", unit=unit)


def design_of(rows: Node, names: tuple[str, ...]) -> Design:
    """The cells of all pairs of columns; rows in which one of them is missing are left out."""
    columns = [rows.columns[name] for name in names]
    ticks = [tick_of(column, 2) for column in columns]
    steps = [math.floor((c.span[1] - c.span[0]) / tick + 0.5) for c, tick in zip(columns, ticks, strict=True)]
    for name, many in zip(names, steps, strict=True):
        if many < 1:
            raise InvalidParameter(f"column {name!r} has one value only: its covariances are 0, and cost nothing")
    present = tuple(Ref(name) for name in names)
    as_ticks = [Ticks(Ref(n), float(c.span[0]), t) for n, c, t in zip(names, columns, ticks, strict=True)]
    terms = [Term((), present), *(Term((each,), present) for each in as_ticks)]
    chosen = [(i, j) for i in range(len(names)) for j in range(i, len(names))]
    most = max(steps[i] * steps[j] for i, j in chosen)
    cells: list[Cell] = []
    pairs: list[Pair] = []
    for i, j in chosen:
        product, n, m = len(terms), steps[i], steps[j]
        terms.append(Term((as_ticks[i], as_ticks[j]), present))
        factor = most // (n * m)  # so that every pair has noise of nearly the same weight
        made = _of_one(i + 1, product, n) if i == j else _of_two(i + 1, j + 1, product, n, m)
        cells += [Cell(tuple((t, factor * f) for t, f in parts), factor * n * m) for parts in made]
        ends = ((1.0, 0.0, 0.0), (1.0, 1.0, 0.0)) if i == j else ((1.0, 1.0, 0.0, 0.0), (1.0, 0.0, 1.0, 0.0))
        pairs.append(Pair(i, j, factor * n * m, *ends))
    plan = Bounded(rows, (), KeySet((), ((),)), tuple(terms), tuple(cells))
    widths = tuple(many * tick for many, tick in zip(steps, ticks, strict=True))
    slack = tuple(0.0 if isinstance(c, Int) and t == 1.0 else t / 2.0 for c, t in zip(columns, ticks, strict=True))
    return Design(plan, tuple(pairs), widths, slack)


Parts = tuple[tuple[int, int], ...]


def _of_one(one: int, square: int, n: int) -> list[Parts]:
    return [((square, 1),), ((one, 2 * n), (square, -2)), ((0, n * n), (one, -2 * n), (square, 1))]


def _of_two(one: int, two: int, product: int, n: int, m: int) -> list[Parts]:
    both = ((product, 1),)
    rest = ((0, n * m), (one, -m), (two, -n), (product, 1))
    return [both, ((one, m), (product, -1)), ((two, n), (product, -1)), rest]


@final
@storable("queries.covariance")
@dataclass(frozen=True, eq=False)
class Covariance:
    """A matrix of covariances, or of correlations, with an interval for every entry. It has no negative eigenvalue.

    >>> one = Covariance(("a",), np.array([[4.0]]), np.array([[3.0]]), np.array([[5.0]]))
    >>> one["a", "a"], one.interval("a", "a")
    (4.0, (3.0, 5.0))
    """

    names: tuple[str, ...]
    matrix: Array
    lower: Array
    upper: Array
    confidence: float = CONFIDENCE

    def _place(self, pair: object) -> tuple[int, int]:
        if not isinstance(pair, tuple) or len(pair) != 2 or any(name not in self.names for name in pair):
            raise InvalidParameter(f"give two of the columns {', '.join(self.names)}")
        return self.names.index(pair[0]), self.names.index(pair[1])

    def __getitem__(self, pair: tuple[str, str]) -> float:
        return float(self.matrix[self._place(pair)])

    def interval(self, first: str, second: str) -> tuple[float, float]:
        """Both ends of the interval of an entry."""
        place = self._place((first, second))
        return float(self.lower[place]), float(self.upper[place])

    def to_arrays(self) -> dict[str, Any]:
        """A row for every entry: the two columns, the value and its ends."""
        many = len(self.names)
        names = np.array(self.names)
        ends = {"value_low": self.lower.ravel(), "value_high": self.upper.ravel()}
        return {"first": np.repeat(names, many), "second": np.tile(names, many), "value": self.matrix.ravel(), **ends}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> "Covariance":
        """Back from `to_arrays`."""
        names = tuple(str(each) for each in dict.fromkeys(arrays["first"].tolist()))
        shape = len(names), len(names)
        matrix, low, high = (np.asarray(arrays[each]).reshape(shape) for each in ("value", "value_low", "value_high"))
        return cls(names, matrix, low, high)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Covariance):
            return NotImplemented
        mine, theirs = self.to_arrays(), other.to_arrays()
        return all(np.array_equal(mine[name], theirs[name]) for name in mine)

    def __hash__(self) -> int:
        return hash(self.names)

    def __str__(self) -> str:
        width = max(12, *(len(name) + 2 for name in self.names))
        lines = [" " * width + "".join(name.rjust(width) for name in self.names)]
        for name, row in zip(self.names, self.matrix, strict=True):
            lines.append(name.rjust(width) + "".join(f"{each:,.6g}".rjust(width) for each in row))
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)


@final
@register
@dataclass(frozen=True, kw_only=True)
class CovarianceAnswers(TableAlgorithm, Algorithm[Data, Covariance]):
    """The covariance matrix of several columns (of the rows themselves), or their correlations.

    **Guarantee:** that of the noise on one vector of whole numbers: for every pair of columns sums that are non-negative
    and add up to a public constant for every row.
    **Sensitivity:** l1, rows of a person times the sum of these constants; l2, with the root of the sum of their squares.
    **Error:** an interval for every entry, from the law of the noise. Rows in which a column is missing are left out.
    **Reference:** the non-negative sums are Bernstein's polynomials of two variables.
    **Proof:** docs/proofs/queries/covariance_answers.md.
    """

    name = "covariance_answers"

    columns: tuple[str, ...]
    design: Design
    part: Mechanism[Any, Any]
    correlations: bool = False
    about: Unit = field(default=Unit())
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, columns=tuple(items("columns", self.columns)))
        flag("correlations", self.correlations)
        design, about = instance("design", self.design, Design), instance("about", self.about, Unit)
        rows = design.plan.rows
        if not all(isinstance(name, str) and name in rows.columns for name in self.columns) or not self.columns:
            raise InvalidParameter(f"columns must be names of columns: {', '.join(rows.columns)}")
        if design != design_of(rows, self.columns) or about != rows.unit.unit:
            raise InvalidParameter("the design and the unit must be those of the columns of the plan")
        norm = "l1" if isinstance(self.part, DiscreteLaplace) else "l2"
        needed = self.design.sensitivity(self.about, norm)
        if not isinstance(self.part, DiscreteLaplace | Gaussian) or self.part.sensitivity.value < needed.value:
            raise InvalidParameter("the part has less noise than the reach of the plan needs")
        if self.part.sensitivity.unit != about:
            raise InvalidParameter("the part is priced for another unit than about=")

    @property
    def loss(self) -> PrivacyLoss:
        return self.part.loss

    @property
    def form(self) -> Form:
        return Kept("queries.covariance")

    def plans(self) -> tuple[Bounded, ...]:
        return (self.design.plan,)

    def weight(self) -> float:
        return spread(self.part) / min(pair.top for pair in self.design.pairs)

    def _run(self, prepared: Any, source: Source) -> Covariance:
        found = self._exact_sums(prepared, self.design.plan, source)
        exact = np.array([int(cell[0]) for cell in found.cells], dtype=np.int64)
        noisy = np.rint(np.asarray(self.part.release(exact, source=source).value, dtype=np.float64))
        return self._matrix(noisy)

    def _matrix(self, noisy: Array) -> Covariance:
        """From the noisy sums alone: entries with their intervals, then the nearest matrix that a covariance can be."""
        value, low, high = read_pairs(self.design, noisy, self._law, CONFIDENCE)
        scale = np.array(self.design.widths)
        roots, vectors = np.linalg.eigh(value)
        nearest = (vectors * np.maximum(roots, 0.0)) @ vectors.T
        nearest = (nearest + nearest.T) / 2.0
        if self.correlations:
            return self._correlations(nearest, noisy)
        units = scale[:, None] * scale[None, :]
        return Covariance(
            self.columns, nearest * units, np.minimum(low, nearest) * units, np.maximum(high, nearest) * units
        )

    @property
    def _law(self) -> Law:
        return "laplace" if isinstance(self.part, DiscreteLaplace) else "gaussian", float(self.part.scale)  # type: ignore[attr-defined]

    def _correlations(self, nearest: Array, noisy: Array) -> Covariance:
        """Entries divided by the roots of the diagonal; their intervals are read off the noisy sums at once."""
        spread = np.sqrt(np.maximum(np.diag(nearest), 0.0))
        units = spread[:, None] * spread[None, :]
        value = np.clip(np.where(units > 0.0, nearest / np.where(units > 0.0, units, 1.0), 0.0), -1.0, 1.0)
        low, high = read_correlations(self.design, noisy, self._law, CONFIDENCE)
        np.fill_diagonal(value, 1.0)
        return Covariance(self.columns, value, np.minimum(low, value), np.maximum(high, value))

    @classmethod
    def examples(cls) -> Iterable[Example]:
        columns = (("a", Int(0, 4)), ("b", Int(0, 2)))
        design = design_of(PrivateSource("t", columns, Rows()), ("a", "b"))
        part = DiscreteLaplace.for_budget(epsilon=1.0, sensitivity=design.sensitivity(Unit(), "l1"))
        left = {"a": np.tile([0, 4, 4], 40), "b": np.tile([0, 2, 0], 40)}
        right = {name: column[:-1] for name, column in left.items()}
        made = cls(columns=("a", "b"), design=design, part=part)
        yield Example(made, Data({"t": left}), Data({"t": right}), Guarantee(1.0), cost="costly")


def _sums_of(design: Design, noisy: Array, of_one: bool) -> tuple[Corners, Array, Array, Array]:
    """The sums of all pairs of a kind side by side, the places of their columns, and what a row adds to them."""
    ends = np.cumsum([len(pair.left) for pair in design.pairs])
    held = [
        (pair, noisy[end - len(pair.left) : end])
        for pair, end in zip(design.pairs, ends, strict=True)
        if (pair.first == pair.second) == of_one
    ]
    first, second, tops = (np.array([getattr(pair, name) for pair, _ in held]) for name in ("first", "second", "top"))
    one = held[0][0]
    sums = Corners(np.stack([cells for _, cells in held], axis=1), np.array(one.left), np.array(one.right))
    return sums, first, second, tops


def read_pairs(design: Design, noisy: Array, law: Law, confidence: float) -> tuple[Array, Array, Array]:
    """Covariances of columns scaled to [0, 1], from their noisy sums, and both ends of the interval of each."""
    many = len(design.widths)
    value, low, high = (np.zeros((many, many)) for _ in range(3))
    ones, place, _, _ = _sums_of(design, noisy, True)
    least, most, weak = variance_interval(ones, law, confidence)
    value[place, place], low[place, place], high[place, place] = np.where(weak, 0.125, ones.entry()), least, most
    if many > 1:
        twos, first, second, _ = _sums_of(design, noisy, False)
        box, few = mean_box(ones, law, tail_aside(confidence) / 2.0)
        level = confidence + tail_aside(confidence)
        least, most = covariance_interval(twos, (box.of(first), box.of(second)), law, level)
        weak = few[first] | few[second] | (twos.cells.sum(axis=0) <= 0.0)
        read = np.where(weak, 0.0, twos.entry()), np.where(weak, -0.25, least), np.where(weak, 0.25, most)
        for made, each in zip((value, low, high), read, strict=True):
            made[first, second] = made[second, first] = each
    slack = np.array(design.slack) / np.array(design.widths)
    wide = (slack[:, None] + slack[None, :]) / 2.0  # values were rounded to steps of their columns
    least_there = np.where(np.eye(many, dtype=bool), 0.0, -0.25)
    return value, np.maximum(low - wide, least_there), np.minimum(high + wide, 0.25)


def read_correlations(design: Design, noisy: Array, law: Law, confidence: float) -> tuple[Array, Array]:
    """Both ends of the interval of every correlation."""
    many = len(design.widths)
    low, high = np.eye(many), np.eye(many)
    if many > 1:
        ones, _, _, alone = _sums_of(design, noisy, True)
        twos, first, second, tops = _sums_of(design, noisy, False)
        sums = Triple(twos, ones.of(first), ones.of(second), (tops, alone[first], alone[second]))
        slack = np.array(design.slack) / np.array(design.widths)
        ends = correlation_interval(sums, (slack[first], slack[second]), law, confidence)
        for made, each in zip((low, high), ends, strict=True):
            made[first, second] = made[second, first] = each
    return low, high

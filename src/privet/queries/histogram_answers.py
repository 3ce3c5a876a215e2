"""Questions about one histogram of a table: exact cells from an engine, and a workload answered with the least error."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet._cache import kept_property
from privet._numerics import Array
from privet._validate import above, finite, flag, fraction, instance, items, open_fraction, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms import (
    Algorithm,
    Example,
    Form,
    Kept,
    ListOf,
    OneOf,
    Sensitivity,
    Source,
    TopK,
    register,
    storable,
)
from privet.privacy import Guarantee, PrivacyLoss, Unit
from privet.queries.answer import Answer
from privet.queries.question import TableAlgorithm
from privet.tables import (
    Both,
    Bounded,
    Category,
    Compare,
    Data,
    Derive,
    Float,
    KeySet,
    Pattern,
    Ref,
    Rows,
    Source as PrivateSource,
)
from privet.tables.columns import day_number
from privet.workloads import Answers, Estimate, LinearQueries, RangeQueries, Rows as Matrix, Workload

# deviations that hold a sum of noises with probability .95: a single Laplace noise needs 2.12, a normal one 1.95997
_FACTOR = {"laplace": 2.15, "gaussian": 1.96}
_ANY_LAW = 4.48  # as many for any law of finite variance, by Chebyshev's inequality
_CONFIDENCE = 0.95  # of the intervals that come with every answer


@final
@storable("queries.distribution")
@dataclass(frozen=True, eq=False)
class Distribution:
    """The distribution of a column: counts of every range, shares and quantiles, each from the same release.

    `between` takes values of the column, both ends included; a bin that a range cuts is counted as a whole. `whole` says
    that the column holds whole numbers, `days` that these are days since 1970.
    """

    answers: Answers
    start: float
    width: float
    whole: bool = False
    days: bool = False

    def columns(self) -> dict[str, Any]:
        """A row for every bin: its first and its last value, how many rows it has, and the ends of their interval."""
        ends = [self._ends(cell) for cell in range(self.answers.design.cells)]
        first, last = (np.array([each[i] for each in ends]) for i in (0, 2))
        if self.days:
            first, last = (each.astype(np.int64).astype("datetime64[D]") for each in (first, last))
        counts, radius = np.asarray(self.answers.histogram, dtype=float), self._radii()
        return {
            "first": first,
            "last": last,
            "count": counts,
            "count_low": counts - radius,
            "count_high": counts + radius,
        }

    def _repr_html_(self) -> str:
        told = self.columns()
        keys = {"value": told["first"]} if self.whole and self.width == 1.0 else {n: told[n] for n in ("first", "last")}
        low, high = ({"count": told[f"count_{side}"]} for side in ("low", "high"))
        return Answer(keys, {"count": told["count"]}, low, high, _CONFIDENCE)._repr_html_()

    def to_arrays(self) -> dict[str, Any]:
        """The fields, for a store."""
        return {name: getattr(self, name) for name in ("answers", "days", "start", "whole", "width")}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> "Distribution":
        """Back from `to_arrays`."""
        return cls(**arrays)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Distribution) and self.to_arrays() == other.to_arrays()

    def __hash__(self) -> int:
        return hash((self.answers, self.start, self.width))

    def _cell(self, value: Any) -> int:
        cells = self.answers.design.cells
        number = float(day_number(value)) if self.days and not isinstance(value, int | float) else float(value)
        return int(min(max(np.floor((number - self.start) / self.width), 0), cells - 1))

    def _ends(self, cell: int) -> tuple[float, float, float]:
        """The first value of a bin, its middle and its last one."""
        first = self.start + self.width * cell
        if self.whole:
            return first, first + np.floor((self.width - 1.0) / 2.0), first + self.width - 1.0
        return first, first + self.width / 2.0, first + self.width

    def between(self, low: Any, high: Any, *, confidence: float = _CONFIDENCE) -> Estimate:
        """The number of rows between two values."""
        first, last = self._cell(low), self._cell(high)
        if last < first or high < low:
            return Estimate(0.0, 0.0, open_fraction("confidence", confidence))
        return self.answers.answer(first, last, confidence=confidence)

    def share_below(self, value: object) -> float:
        """The share of the rows up to and with a value."""
        return float(self.answers.cdf()[self._cell(value)])

    def quantile(self, q: float) -> float:
        """The value below which the share q of the rows lies: the middle of its bin."""
        return float(self._quantile(fraction("q", q))[0])

    def quantiles(self, shares: tuple[float, ...]) -> Answer:
        """Several quantiles, with intervals."""
        rows = [self._quantile(fraction("q", q)) for q in shares]
        value, low, high = (np.array([row[i] for row in rows]) for i in range(3))
        if self.days:
            value, low, high = (each.astype(np.int64).astype("datetime64[D]") for each in (value, low, high))
        return Answer(
            {"q": np.array(shares, dtype=float)}, {"value": value}, {"value": low}, {"value": high}, _CONFIDENCE
        )

    def _quantile(self, q: float) -> tuple[float, float, float]:
        """The cells that the noise allows: rows up to a cell, less q of all rows, must be compatible with crossing 0."""
        cells = self.answers.design.cells
        histogram = np.asarray(self.answers.histogram, dtype=float)
        over = np.cumsum(histogram) - q * histogram.sum()
        spread = self._spreads(q)
        possible_from = np.flatnonzero(over >= -spread)
        possible_to = np.flatnonzero(over <= spread)
        low = int(possible_from[0]) if len(possible_from) else cells - 1
        high = min(int(possible_to[-1]) + 1, cells - 1) if len(possible_to) else 0
        place = min(max(self.answers.quantile(q), min(low, high)), max(low, high))
        ends = min(low, place), max(high, place)
        return self._ends(place)[1], self._ends(ends[0])[0], self._ends(ends[1])[2]

    def _spreads(self, q: float) -> Array:
        """The distance by which rows up to a cell, less q of all rows, may be off: a radius for each cell."""
        square, mixed, whole, steps, all_steps = self._noise
        deviation = np.sqrt(np.maximum(square - 2.0 * q * mixed + q * q * whole, 0.0))
        return _radius(self.answers._law.kind, deviation, steps + q * all_steps)

    def _radii(self) -> Array:
        """The distance by which each bin may be off."""
        cells, variances = self.answers.design.cells, self._variances
        square, steps, query = np.empty(cells), np.empty(cells), np.zeros(cells)
        for x in range(cells):
            query[x] = 1.0
            each = np.asarray(self.answers.design.coefficients(query))
            square[x], steps[x], query[x] = each**2 @ variances, np.abs(each).sum(), 0.0
        return _radius(self.answers._law.kind, np.sqrt(square), steps)

    @property
    def _variances(self) -> Array:
        """Of the noise on every measurement."""
        laws = zip(self.answers.design.groups, self.answers._law.variances(), strict=True)
        return np.concatenate([np.full(size, variance) for (size, _), variance in laws])

    @kept_property
    def _noise(self) -> tuple[Array, Array, float, Array, float]:
        """Of the rows up to each cell: the variance, the covariance with all rows, and the weights of the noises."""
        design, cells = self.answers.design, self.answers.design.cells
        variances = self._variances
        total = np.asarray(design.coefficients(np.ones(cells)))
        square, mixed, steps, query = np.empty(cells), np.empty(cells), np.empty(cells), np.zeros(cells)
        for x in range(cells):
            query[x] = 1.0
            each = np.asarray(design.coefficients(query))
            weighted = each * variances
            square[x], mixed[x], steps[x] = weighted @ each, weighted @ total, np.abs(each).sum()
        return square, mixed, float((total * variances) @ total), steps, float(np.abs(total).sum())

    def __str__(self) -> str:
        cells = f"{self.answers.design.cells:,} cells from {self.start:g}"
        return f"distribution over {cells}; ask between, quantile, share_below"


def _radius(kind: str, deviation: Array, steps: Array) -> Array:
    """Half a step for each noise; with hardly any noise that is far, and Chebyshev's bound is nearer."""
    return np.minimum(_FACTOR[kind] * deviation + steps / 2.0, _ANY_LAW * deviation)


@final
@register
@dataclass(frozen=True, kw_only=True)
class HistogramAnswers(TableAlgorithm, Algorithm[Data, Any]):
    """Linear queries over one histogram of a table: filtered counts, all ranges, quantiles.

    **Guarantee:** that of `LinearQueries` on the exact cells, for all rows of a person together.
    **Sensitivity:** the cells move by at most the rows of one person, anywhere.
    **Error:** an interval for every answer, from the law of the noise.
    **Proof:** docs/proofs/queries/histogram_answers.md.
    """

    name = "histogram_answers"

    plan: Bounded
    queries: LinearQueries
    labels: tuple[str, ...] = ()  # of filtered counts
    shares: tuple[float, ...] | None = None  # of quantiles
    start: float = 0.0
    width: float = 1.0
    whole: bool = False
    days: bool = False
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("plan", self.plan, Bounded)
        instance("queries", self.queries, LinearQueries)
        set_frozen(self, labels=items("labels", self.labels), start=finite("start", self.start))
        set_frozen(self, width=above("width", self.width, 0.0))
        for name in ("whole", "days"):
            flag(name, getattr(self, name))
        if self.shares is not None:
            set_frozen(self, shares=tuple(fraction("shares", each) for each in items("shares", self.shares)))
        if self.at is not None:
            set_frozen(self, at=open_fraction("at", self.at))
        if self.plan.keys is None or len(self.plan.keys) != self.queries.workload.cells:
            raise InvalidParameter("the queries must be about cells that are the public keys of the plan")
        if self.queries.max_rows < self.plan.reach.most_rows or self.queries.unit != self.plan.rows.unit.unit:
            raise InvalidParameter("the queries must be priced for all rows of a person in the plan")

    @property
    def loss(self) -> PrivacyLoss:
        return self.queries.loss

    @property
    def form(self) -> Form:
        return Kept("queries.answer" if self.labels or self.shares else "queries.distribution")

    def plans(self) -> tuple[Bounded, ...]:
        return (self.plan,)

    def weight(self) -> float:
        return self.queries.rmse

    def _run(self, prepared: Any, source: Source) -> Any:
        cells = self._exact_sums(prepared, self.plan, source).rows.reshape(self.queries.workload.shape)
        answers = self.queries.release(cells, source=source).value
        if self.labels:
            return self._counts(answers)
        made = Distribution(answers, self.start, self.width, self.whole, self.days)
        return made.quantiles(self.shares) if self.shares else made

    def _counts(self, answers: Answers) -> Answer:
        noisy, wide = _answered(answers, self.queries.workload)
        values = {
            name: np.rint(np.maximum(noisy[i : i + 1], 0.0)).astype(np.int64) for i, name in enumerate(self.labels)
        }
        lower = {name: np.maximum(np.floor(noisy - wide)[i : i + 1], 0.0) for i, name in enumerate(self.labels)}
        upper = {name: np.maximum(np.ceil(noisy + wide)[i : i + 1], 0.0) for i, name in enumerate(self.labels)}
        return Answer({}, values, lower, upper, _CONFIDENCE)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        columns = (("sex", Category(["f", "m"])), ("bmi", Float(10.0, 60.0)))
        women, slim = Compare(Ref("sex"), "=", "f"), Compare(Ref("bmi"), "<", 25.0)
        cells = Pattern((women, Both(women, slim)))
        rows = Derive(PrivateSource("people", columns, Rows()), "cell", cells)
        plan = Bounded(rows, ("cell",), KeySet(("cell",), ((1,), (3,))))
        asked = RangeQueries(workload=Matrix([[1, 1], [0, 1]])).plan(epsilon=1.0).mechanism
        left = {"sex": np.array(["m", "f", "f"]), "bmi": np.array([20.0, 30.0, 21.0])}
        right = {name: column[:2] for name, column in left.items()}
        made = cls(plan=plan, queries=asked, labels=("women", "slim women"))
        yield Example(made, Data({"people": left}), Data({"people": right}), Guarantee(1.0), cost="costly")


def _answered(answers: Answers, workload: Workload) -> tuple[Array, Array]:
    """All answers of a workload with a radius each."""
    values = np.asarray(workload.answers(answers._cells), dtype=float)
    each = [answers.linear(workload.query(i), confidence=_CONFIDENCE).radius for i in range(workload.queries)]
    return values, np.array(each)


@final
@register
@dataclass(frozen=True, kw_only=True)
class TopValues(TableAlgorithm, Algorithm[Data, list[Any]]):
    """The most frequent values of a column, in order, without their counts.

    **Guarantee:** that of `TopK` on the exact counts; one person moves each count by at most the rows of one group.
    **Proof:** docs/proofs/queries/histogram_answers.md.
    """

    name = "top_values"

    plan: Bounded
    choice: TopK
    about: Unit = field(default=Unit())
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("plan", self.plan, Bounded)
        instance("choice", self.choice, TopK)
        instance("about", self.about, Unit)
        if self.at is not None:
            set_frozen(self, at=open_fraction("at", self.at))
        if self.plan.keys is None:
            raise InvalidParameter("the plan needs public keys: the most frequent values are taken from that list")
        if self.choice.sensitivity.value < self.plan.reach.most_rows_per_key:
            raise InvalidParameter("the choice must be priced for all rows of a person in a group of the plan")
        if self.choice.sensitivity.unit != self.about:
            raise InvalidParameter("the choice must be priced for the unit about=")

    @property
    def loss(self) -> PrivacyLoss:
        return self.choice.loss

    @property
    def form(self) -> Form:
        assert self.plan.keys is not None
        return ListOf(OneOf(tuple(key[0] for key in self.plan.keys.rows)))

    def plans(self) -> tuple[Bounded, ...]:
        return (self.plan,)

    def weight(self) -> float:
        assert self.plan.keys is not None
        groups = len(self.plan.keys)
        return groups * float(self.choice.sensitivity.value) * self.choice.k * math.log(1 + groups) / self.loss.pure()

    def _run(self, prepared: Any, source: Source) -> list[Any]:
        counts = self._exact_sums(prepared, self.plan, source).rows
        assert self.plan.keys is not None
        return [self.plan.keys.rows[int(i)][0] for i in self.choice.release(counts, source=source).value]

    @classmethod
    def examples(cls) -> Iterable[Example]:
        wards = PrivateSource("visits", (("ward", Category(["A", "B", "C"])),), Rows())
        plan = Bounded(wards, ("ward",), KeySet(("ward",), (("A",), ("B",), ("C",))))
        made = cls(plan=plan, choice=TopK.for_budget(epsilon=1.0, sensitivity=1, monotonic=True, k=1))
        left, right = {"ward": np.array(["A", "A", "B"])}, {"ward": np.array(["A", "A"])}
        yield Example(made, Data({"visits": left}), Data({"visits": right}), Guarantee(1.0), cost="costly")
        moved = Unit("replace")
        choice = TopK.for_budget(epsilon=1.0, sensitivity=Sensitivity(Fraction(1), norm="score", unit=moved), k=1)
        one, other = (Data({"visits": {"ward": np.repeat(["A", "B"], [n, 401 - n])}}) for n in (200, 201))
        close = cls(plan=plan, choice=choice, about=moved)  # one row decides which ward is first
        yield Example(close, one, other, Guarantee(1.0), cost="costly")

"""Several quantiles of a column in every group, from one noisy histogram for each of them."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from privet._cache import kept_property
from privet._numerics import Array, ndtri
from privet._validate import above, finite, flag, instance, items, open_fraction, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms import Algorithm, ErrorBar, Example, Form, Kept, Source, register
from privet.privacy import Guarantee, PrivacyLoss, Unit, to_replace
from privet.queries.answer import Answer
from privet.queries.histogram_answers import Distribution
from privet.queries.quantile_part import with_bins
from privet.queries.question import TableAlgorithm
from privet.queries.table_answers import key_array
from privet.tables import Bounded, Category, Data, Int, KeySet, Rows, Source as PrivateSource
from privet.workloads import Answers, Hierarchical, LinearQueries, Prefix

_CONFIDENCE = 0.95  # of the intervals that come with every answer
_MARGIN = 1.015  # what a sum of noises may need beyond a single one: as for one distribution


@final
@register
@dataclass(frozen=True, kw_only=True)
class GroupQuantiles(TableAlgorithm, Algorithm[Data, Answer]):
    """Quantiles of a column in every group of a table, and an interval for each; those of one group hold together.

    The histogram of every group is measured by itself, always in the same way, and all quantiles of the group are read
    off it.

    **Guarantee:** that of one measurement for all rows of a person, whatever groups they are in; under replace, of two.
    **Sensitivity:** rows of a person are shared out among the groups, and so are their distances.
    **Error:** an interval for every quantile, from the law of the noise.
    **Proof:** docs/proofs/queries/group_quantiles.md.
    """

    name = "group_quantiles"

    plan: Bounded
    queries: LinearQueries
    shares: tuple[float, ...]
    start: float
    width: float
    stop: float
    whole: bool = False
    days: bool = False
    about: Unit = field(default=Unit())
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("plan", self.plan, Bounded)
        instance("queries", self.queries, LinearQueries)
        instance("about", self.about, Unit)
        set_frozen(self, shares=tuple(open_fraction("shares", each) for each in items("shares", self.shares)))
        set_frozen(self, start=finite("start", self.start), width=above("width", self.width, 0.0))
        set_frozen(self, stop=finite("stop", self.stop))
        for name in ("whole", "days"):
            flag(name, getattr(self, name))
        if self.at is not None:
            set_frozen(self, at=open_fraction("at", self.at))
        if not self.shares:
            raise InvalidParameter("shares must name one quantile or more, such as 0.5")
        if not self.plan.bins or self.plan.bins != self.queries.workload.cells:
            raise InvalidParameter("the plan must have bins, and the queries must be about those")
        if self.about != self.plan.rows.unit.unit:
            raise InvalidParameter("about must be the unit of the plan, whom its rows are about")
        added = Unit(person=self.about.person)
        if self.queries.max_rows < self.plan.reach.most_rows or self.queries.unit != added:
            raise InvalidParameter("the queries must be priced for adding all rows of a person in the plan")

    @property
    def loss(self) -> PrivacyLoss:
        return self._price_of(self.queries.loss)

    def _price_of(self, one: PrivacyLoss) -> PrivacyLoss:
        """Of all groups together: of one measurement. Old and new rows may lie in different groups, where what they share
        does not cancel: a replacement is two."""
        return one if self.about.relation == "add_remove" else to_replace(one)

    @property
    def form(self) -> Form:
        return Kept("queries.answer")

    def plans(self) -> tuple[Bounded, ...]:
        return (self.plan,)

    def weight(self) -> float:
        assert self.plan.keys is not None
        return self.queries.rmse * len(self.plan.keys)

    def _run(self, prepared: Any, source: Source) -> Answer:
        rows = self._exact_sums(prepared, self.plan, source).rows.reshape(-1, self.plan.bins)
        with self._priced(lambda parts: self._price_of(parts[0])):
            noisy = [self.queries.release(row, source=source).value for row in rows]
        return self._answer(noisy)

    def _answer(self, noisy: list[Answers]) -> Answer:
        """A row for each group and share, from what was measured alone."""
        assert self.plan.keys is not None
        groups, many = len(self.plan.keys), len(self.shares)
        histograms = np.stack([np.asarray(each.histogram, dtype=float) for each in noisy])
        chosen = np.array([[each.quantile(q) for q in self.shares] for each in noisy], dtype=np.int64)
        cells = np.empty((3, groups, many), dtype=np.int64)
        for place, (q, radius) in enumerate(zip(self.shares, self._radii, strict=True)):
            cells[:, :, place] = _interval(histograms, q, radius, chosen[:, place])
        listed = [key for key in self.plan.keys.rows for _ in self.shares]
        keys = {name: key_array([key[i] for key in listed]) for i, name in enumerate(self.plan.key_names)}
        keys["q"] = np.tile(np.array(self.shares, dtype=float), groups)
        low, value, high = (self._value(cells[i].reshape(-1), i) for i in range(3))
        return Answer(keys, {"value": value}, {"value": low}, {"value": high}, _CONFIDENCE)

    @kept_property
    def _radii(self) -> list[Array]:
        """For each share the distances that its interval allows, cell by cell: worked out once, without data."""
        blank = self.queries._answers(np.zeros(self.queries.design.measurements, dtype=np.int64))
        return joint_radii(Distribution(blank, self.start, self.width), self.shares)

    def _value(self, cells: Array, end: int) -> Array:
        """The first value of bins (0), their middle (1) or their last one (2)."""
        inside = (0.0, math.floor((self.width - 1.0) / 2.0), self.width - 1.0) if self.whole else (0.0, 0.5, 1.0)
        step = 1.0 if self.whole else self.width
        made = np.clip(self.start + self.width * cells + step * inside[end], self.start, self.stop)
        return np.asarray(np.floor(made).astype(np.int64).astype("datetime64[D]") if self.days else made)

    def _error_given(self, drawn: Answer, prepared: Any) -> ErrorBar | None:
        if self.days:
            return None
        up, down = drawn.upper["value"] - drawn["value"], drawn["value"] - drawn.lower["value"]
        return ErrorBar({"value": up}, _CONFIDENCE, "the quantiles of a group", below={"value": down}, joint=False)

    def _notes(self, drawn: Answer) -> tuple[str, ...]:
        return (
            "the intervals of one group hold together",
            "intervals cover noise; rows beyond the limits of a person are not in them",
        )

    @classmethod
    def examples(cls) -> Iterable[Example]:
        rows = PrivateSource("visits", (("ward", Category(["A", "B"])), ("age", Int(0, 3))), Rows())
        plan, bins, start, width = with_bins(rows, ("ward",), KeySet(("ward",), (("A",), ("B",))), "age")
        asked = LinearQueries.for_budget(epsilon=1.0, workload=Prefix(bins), strategy=Hierarchical(weights="uniform"))
        made = cls(plan=plan, queries=asked, shares=(0.5,), start=start, width=width, stop=3.0, whole=True)
        left = {"ward": np.array(["A", "A", "B"]), "age": np.array([0, 1, 3])}
        right = {name: column[:2] for name, column in left.items()}
        yield Example(made, Data({"visits": left}), Data({"visits": right}), Guarantee(1.0), cost="costly")


def joint_radii(one: Distribution, shares: tuple[float, ...]) -> list[Array]:
    """The distances by which rows up to each cell, less a share of all rows, may be off: all shares of a group together
    with the confidence of an answer. They depend on what is measured and not on what was found."""
    square, mixed, whole, steps, all_steps = one._noise
    tail = (1.0 - _CONFIDENCE) / len(shares)
    factor = -ndtri(tail / 2.0)
    if one.answers._law.kind == "laplace":
        factor = _MARGIN * max(-math.log(tail) / math.sqrt(2.0), factor)
    made = []
    for q in shares:
        deviation = np.sqrt(np.maximum(square - 2.0 * q * mixed + q * q * whole, 0.0))
        made.append(np.minimum(factor * deviation + (steps + q * all_steps) / 2.0, deviation / math.sqrt(tail)))
    return made


def _interval(histograms: Array, q: float, radius: Array, chosen: Array) -> tuple[Array, Array, Array]:
    """The first cell, the chosen one and the last one that the noise allows, group by group: rows up to a cell, less q of
    all rows, must be compatible with crossing 0."""
    over = np.cumsum(histograms, axis=1) - q * histograms.sum(axis=1, keepdims=True)
    cells = over.shape[1]
    begin, end = over >= -radius, (over <= radius)[:, ::-1]
    low = np.where(begin.any(axis=1), begin.argmax(axis=1), cells - 1)
    high = np.where(end.any(axis=1), np.minimum(cells - end.argmax(axis=1), cells - 1), 0)
    place = np.clip(chosen, np.minimum(low, high), np.maximum(low, high))
    return np.minimum(low, place), place, np.maximum(high, place)

"""Grouped aggregates of a table: exact bounded sums from an engine, noise on whole numbers, answers with intervals."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np

from privet._numerics import Array
from privet._validate import instance, items, open_fraction, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms import Algorithm, DiscreteLaplace, ErrorBar, Example, Gaussian
from privet.mechanisms.form import Form, Kept
from privet.mechanisms.mechanism import Mechanism, Source, register
from privet.privacy import Composed, Guarantee, PrivacyLoss, Unit, to_replace
from privet.queries.aggregates import Aggregate, Count, CountPersons, Mean, Quantile, Sum, Variance
from privet.queries.answer import Answer
from privet.queries.discovered_keys import DiscoveredKeys
from privet.queries.intervals import radius, ratio_interval, spread
from privet.queries.measured import Family, compiled, family_of
from privet.queries.quantile_part import QuantilePart
from privet.queries.question import TableAlgorithm
from privet.tables.bounded import Aggregates, Bounded
from privet.tables.columns import Category, Column, Float, Int, Text
from privet.tables.data import Data
from privet.tables.keys import KeySet
from privet.tables.person import Person, Rows
from privet.tables.plan import Source as PrivateSource
from privet.workloads.families.noise_law import Kind

_CONFIDENCE = 0.95


class Noisy(NamedTuple):
    """A family's noisy vector, and the law of its noise."""

    family: Family
    values: Array
    kind: Kind
    scale: float


@final
@register
@dataclass(frozen=True, kw_only=True)
class TableAnswers(TableAlgorithm, Algorithm[Data, Answer]):
    """Answers about the groups of a table: one noisy vector for each family of sums, one choice for each quantile.

    Rows of a person are bounded by the limits of the unit before anything is added up; sums are whole numbers of public
    steps, so that they are exact in every order and on every engine.

    **Guarantee:** the composition of its parts; each part is priced by the reach of the plan.
    **Sensitivity:** of `measured.Family` and `QuantilePart`.
    **Error:** an interval for every number, from the law of the noise; what the limits leave out is not in it.
    **Reference:** McSherry 2009; Wilson et al. 2020.
    **Proof:** docs/proofs/queries/table_answers.md.
    """

    name = "table_answers"

    plan: Bounded
    families: tuple[Family, ...]
    outputs: tuple[tuple[str, Aggregate], ...]
    parts: tuple[Mechanism[Any, Any], ...]
    quantiles: tuple[QuantilePart, ...] = ()
    selection: DiscoveredKeys | None = None
    about: Unit = field(default=Unit())
    at: float | None = None

    def __post_init__(self) -> None:
        self._check_kinds()
        if self.about != self.plan.rows.unit.unit:
            raise InvalidParameter("about must be the unit of the plan, whom its rows are about")
        if len(self.parts) != len(self.families):
            raise InvalidParameter("every one of the families needs a mechanism among the parts")
        for family, part in zip(self.families, self.parts, strict=True):
            norm = "l1" if isinstance(part, DiscreteLaplace) else "l2"
            needed = family.sensitivity(self.plan.reach, self.about, norm)
            if not isinstance(part, DiscreteLaplace | Gaussian) or part.sensitivity.value < needed.value:
                raise InvalidParameter("one of the parts has less noise than the reach of the plan needs")
            if part.sensitivity.unit != self.about:
                raise InvalidParameter("one of the parts is priced for another unit than about=")
        if (self.selection is None) != (self.plan.keys is not None):
            raise InvalidParameter("the plan has public keys, or a selection of keys is paid for, and not both")
        self._check_selection()
        for each in self.quantiles:
            if each.choice.sensitivity.value < each.moved:
                raise InvalidParameter("the choices of quantiles must be priced for all rows of a person")

    def _check_kinds(self) -> None:
        instance("plan", self.plan, Bounded)
        instance("about", self.about, Unit)
        instance("selection", self.selection, DiscoveredKeys, type(None))
        for name, kind in (("families", Family), ("parts", Mechanism), ("quantiles", QuantilePart), ("outputs", tuple)):
            held = items(name, getattr(self, name))
            if not all(isinstance(each, kind) for each in held):
                raise InvalidParameter(f"{name} must hold objects of type {kind.__name__} alone")
            set_frozen(self, **{name: held})
        for each in self.outputs:
            if len(each) != 2 or not isinstance(each[0], str) or not isinstance(each[1], Aggregate):
                raise InvalidParameter('outputs must be pairs of a name and an aggregate, such as ("n", Count())')
        if self.at is not None:
            set_frozen(self, at=open_fraction("at", self.at))

    def _check_selection(self) -> None:
        found, reach = self.selection, self.plan.reach
        if found is None:
            return
        often, most = (reach.most_rows_per_key, reach.most_rows) if reach.repeated else (1, reach.most_keys)
        assert found.total is not None
        if found.keys < reach.most_keys or found.rows < often or found.total < most or found.unit != self.about:
            raise InvalidParameter(
                "the selection of keys must be priced for all groups of the plan that one person appears in, and about them"
            )

    @property
    def loss(self) -> PrivacyLoss:
        losses: list[PrivacyLoss] = [] if self.selection is None else [self.selection.loss]
        losses += [part.loss for part in self.parts]
        losses += [self._price_of(each.choice.loss) for each in self.quantiles]
        return losses[0] if len(losses) == 1 else Composed(losses)

    def _price_of(self, one: PrivacyLoss) -> PrivacyLoss:
        """A choice in every group: all of them together cost one, since the rows of a person are shared out among groups;
        under replace, a group of two."""
        return one if self.about.relation == "add_remove" else to_replace(one)

    @property
    def form(self) -> Form:
        return Kept("queries.answer")

    def plans(self) -> tuple[Bounded, ...]:
        return (self.plan, *(each.plan for each in self.quantiles))

    def weight(self) -> float:
        groups = 1 if self.plan.keys is None else len(self.plan.keys)
        noises = [] if self.selection is None else [math.sqrt(2.0) * self.selection.scale]
        for family, part in zip(self.families, self.parts, strict=True):
            size = max(abs(family.lower), abs(family.upper)) if family.kind == "signed" else family.top
            noises.append(groups * spread(part) / size)
        for each in self.quantiles:
            moved = float(each.choice.sensitivity.value) / each.request.q.denominator
            noises.append(groups * 2.0 * moved * math.log(1 + each.bins) / each.choice.loss.pure())
        return max(noises)

    def _run(self, prepared: Any, source: Source) -> Answer:
        found = self._exact_sums(prepared, self.plan, source)
        keys, selected, counts = self._keys(found, source)
        noisy = [self._noisy(i, found, selected, source) for i in range(len(self.families))]
        made = _Answers(self, keys, noisy, counts)
        for each in self.quantiles:
            made.chosen[each.name] = self._chosen(each, prepared, source)
        return made.answer()

    def _keys(self, found: Aggregates, source: Source) -> tuple[tuple[tuple[Any, ...], ...], Any, Any]:
        """The groups that are answered for, where they stand among those that were found, and their noisy counts."""
        if self.selection is None:
            assert self.plan.keys is not None
            return self.plan.keys.rows, slice(None), None
        assert found.found is not None
        passed = self.selection.release({"keys": found.found, "counts": found.persons}, source=source).value
        places = {key: i for i, key in enumerate(found.found)}
        # in another world a key may be shown that these data do not have: it is a group without rows
        return (
            tuple(passed["keys"]),
            np.array([places.get(k, -1) for k in passed["keys"]], dtype=np.int64),
            passed["counts"],
        )

    def _noisy(self, i: int, found: Aggregates, selected: Any, source: Source) -> Noisy:
        family, part = self.families[i], self.parts[i]
        exact = family.exact(found)
        if not isinstance(selected, slice):
            padded = np.concatenate([exact, np.zeros((len(exact), 1), dtype=np.int64)], axis=1)
            exact = padded[:, selected]
        drawn = np.asarray(part.release(exact, source=source).value) if exact.size else exact
        kind: Kind = "laplace" if isinstance(part, DiscreteLaplace) else "gaussian"
        return Noisy(family, np.rint(drawn).astype(np.float64), kind, part.scale)  # type: ignore[attr-defined]

    def _chosen(self, each: QuantilePart, data: Data, source: Source) -> Array:
        scores = each.scores(self._exact_sums(data, each.plan, source, coin=f"salt of {each.name}"))
        with self._priced(lambda parts: self._price_of(parts[0])):
            return np.array([each.choice.release(row, source=source).value for row in scores], dtype=np.int64)

    def _error_given(self, drawn: Answer, prepared: Any) -> ErrorBar | None:
        if not len(drawn):
            return None
        up = {
            n: np.maximum(drawn.upper[n] - drawn.values[n], 0.0) for n in drawn.lower if _has_distance(drawn.values[n])
        }
        down = {n: np.maximum(drawn.values[n] - drawn.lower[n], 0.0) for n in up}
        return ErrorBar(up, _CONFIDENCE, "each number", below=down, joint=False) if up else None

    def _notes(self, drawn: Answer) -> tuple[str, ...]:
        notes = [
            "counts below 0 are shown as 0",
            "intervals cover noise; rows beyond the limits of a person are not in them",
        ]
        if self.selection is not None:
            notes.append("keys were selected by their noisy counts: intervals hold for a key before it is selected")
        if self.quantiles:
            notes.append("one quantile has no interval: how far off it is depends on data that were not paid for")
        return tuple(notes)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        columns = (("ward", Category(["A", "B"])), ("age", Int(0, 100)))
        left = {"ward": np.array(["A", "A", "B"]), "age": np.array([30, 100, 0])}
        keys = KeySet(("ward",), (("A",), ("B",)))
        asked: Any = (("n", Count()), ("age", Mean("age")))
        plan, families = compiled(PrivateSource("visits", columns, Rows()), ("ward",), keys, (Count(), Mean("age")))
        part = DiscreteLaplace.for_budget(epsilon=1.0, sensitivity=families[0].sensitivity(plan.reach, Unit(), "l1"))
        by_row = cls(plan=plan, families=families, outputs=asked, parts=(part,))
        yield _example(by_row, left, 2, Guarantee(1.0))
        person = PrivateSource("visits", columns, Person("who", max_groups=1, max_rows_per_group=2, relation="replace"))
        plan, families = compiled(person, ("ward",), keys, (CountPersons(),))
        moved = families[0].sensitivity(plan.reach, person.unit.unit, "l2")
        people = Gaussian.for_budget(mu=0.5, sensitivity=moved)
        outputs: Any = (("people", CountPersons()),)
        by_person = cls(plan=plan, families=families, outputs=outputs, parts=(people,), about=person.unit.unit)
        two = {**left, "who": np.array([1, 2, 2])}
        other = {**two, "ward": np.array(["A", "B", "B"])}
        yield Example(by_person, Data({"visits": two}), Data({"visits": other}), Guarantee(mu=0.5), cost="costly")
        texts = PrivateSource("visits", (("city", Text()),), Rows())
        plan, _ = compiled(texts, ("city",), None, ())
        found = DiscoveredKeys.for_budget(epsilon=1.0, delta=1e-3)
        discovered = cls(plan=plan, families=(), outputs=outputs, parts=(), selection=found, at=1e-3)
        yield _example(discovered, {"city": np.array(["Rome"] * 40 + ["Bonn"])}, 40, Guarantee(1.0, 1e-3), "protected")
        just = {
            "city": np.array(["Rome"] * 400 + ["Bonn"] * found.threshold)
        }  # with the last row a city is large enough
        yield _example(discovered, just, len(just["city"]) - 1, Guarantee(1.0, 1e-3), "protected")


def _example(made: TableAnswers, data: Any, fewer: int, target: Guarantee, lengths: Any = "public") -> Example:
    less = {name: column[:fewer] for name, column in data.items()}
    return Example(made, Data({"visits": data}), Data({"visits": less}), target, cost="costly", lengths=lengths)


def _has_distance(column: Array) -> bool:
    return column.dtype.kind in "if"


class _Answers:
    """The columns of an answer, computed from noisy vectors alone."""

    def __init__(self, query: TableAnswers, keys: Any, noisy: list[Noisy], counts: Any) -> None:
        self.query, self.keys, self.noisy, self.counts = query, keys, noisy, counts
        self.columns: dict[str, Column] = query.plan.rows.columns
        self.chosen: dict[str, Array] = {}
        self.values: dict[str, Array] = {}
        self.lower: dict[str, Array] = {}
        self.upper: dict[str, Array] = {}
        self.notes: dict[str, str] = {}

    def answer(self) -> Answer:
        for name, request in self.query.outputs:
            self._put(name, request)
        listed = {name: key_array([key[i] for key in self.keys]) for i, name in enumerate(self.query.plan.names)}
        return Answer(listed, self.values, self.lower, self.upper, _CONFIDENCE, self.notes)

    def _put(self, name: str, request: Aggregate) -> None:
        if isinstance(request, Quantile):
            part = next(each for each in self.query.quantiles if each.name == name)
            self.values[name], self.notes[name] = part.values(self.chosen[name]), part.note
            return
        if isinstance(request, CountPersons) and self.counts is not None:
            value, low, high = self._selected_counts()
        else:
            place = family_of(request, self.query.families)
            if place is None:
                value, low, high = (np.full(len(self.keys), end) for end in constant(request, self.columns))
            else:
                value, low, high = answered(self.noisy[place], request, self.columns, _CONFIDENCE)
        self.values[name], self.lower[name], self.upper[name] = value, low, high

    def _selected_counts(self) -> tuple[Array, Array, Array]:
        selection = self.query.selection
        assert selection is not None
        return counted(
            np.asarray(self.counts, dtype=np.float64), radius("laplace", selection.scale, (1.0,), _CONFIDENCE)
        )


def constant(request: Aggregate, columns: dict[str, Column]) -> tuple[float, float, float]:
    """Of a column that is a single step wide, or whose sum is always 0: no noise, and what the step hides."""
    if isinstance(request, Sum):
        return 0.0, 0.0, 0.0
    assert isinstance(request, Mean | Variance)
    low, high = (float(end) for end in columns[request.column].span)
    if isinstance(request, Mean):
        return (low + high) / 2.0, low, high
    most = (high - low) / 2.0
    return 0.0, 0.0, most if request.root else most**2


def answered(
    noisy: Noisy, request: Aggregate, columns: dict[str, Column], confidence: float
) -> tuple[Array, Array, Array]:
    """What a request is answered with, and both ends of the interval. A preview asks this of a vector without noise."""
    family, law = noisy.family, (noisy.kind, noisy.scale)
    if isinstance(request, Count | CountPersons):
        weights = np.full(family.width, 1.0 / family.top)
        return counted(weights @ noisy.values, radius(*law, tuple(weights), confidence))
    if isinstance(request, Sum):
        weights = sum_weights(family)
        value, wide = weights @ noisy.values, radius(*law, tuple(weights), confidence)
        return value, value - wide, value + wide
    assert isinstance(request, Mean | Variance)
    column = columns[request.column]
    span = float(column.span[0]), float(column.span[1])
    half = rounded_by(family, column)
    if isinstance(request, Mean):
        return _mean(noisy, span, half, confidence)
    return _variance(noisy, span, half, request.root, confidence)


def evenly(family: Family, rows: int) -> Array:
    """The exact vector of a group of so many rows whose values lie evenly between the bounds: what previews are about. The
    mean of each of the d + 1 moments, which are Bernstein's polynomials, is then 1/(d + 1).
    """
    if family.kind != "moments":
        return np.full((1, 1), 0.0 if family.kind == "signed" else float(rows))
    shares = [1.0 / (family.degree + 1)] * (family.degree + 1) + [0.0] * family.missing
    return float(family.top) * rows * np.array(shares)[:, None]


def rounded_by(family: Family, column: Column) -> float:
    """How far a value may be from its whole number of steps."""
    return 0.0 if not isinstance(column, Float) and family.tick == 1.0 else family.tick / 2.0


def counted(noisy: Array, wide: Any) -> tuple[Array, Array, Array]:
    """Noisy counts as whole numbers, and both ends of their intervals; none is below 0."""
    value = np.rint(np.maximum(noisy, 0.0)).astype(np.int64)
    return value, np.maximum(np.floor(noisy - wide), 0.0), np.maximum(np.ceil(noisy + wide), 0.0)


def sum_weights(family: Family) -> Array:
    """The sum of a column as a combination of what its family holds."""
    if family.kind == "signed":
        return np.array([family.tick])
    d, n = family.degree, round(family.top ** (1.0 / family.degree))
    # the mean step is j/d of n in the j-th sum, and every row adds n^d in all
    weights = [(family.start + family.tick * n * j / d) / family.top for j in range(d + 1)]
    return np.array(weights + [0.0] * family.missing)


def _forms(family: Family, power: int) -> tuple[Array, Array]:
    """(t/n)^power and 1, each times n^d and summed over rows, as combinations of the sums of a family."""
    d = family.degree
    top = [math.comb(j, power) / math.comb(d, power) for j in range(d + 1)]
    return np.array(top + [0.0] * family.missing), np.array([1.0] * (d + 1) + [0.0] * family.missing)


def _share(noisy: Noisy, power: int, confidence: float) -> tuple[Array, Array, Array, Array]:
    """The mean of (t/n)^power with its interval, and where there are too few rows to say anything."""
    top, bottom = _forms(noisy.family, power)
    above, below = top @ noisy.values, bottom @ noisy.values
    low, high, weak = ratio_interval(above, below, (top, bottom), (noisy.kind, noisy.scale), confidence)
    share = np.clip(np.where(weak, 0.5, above / np.where(weak, 1.0, below)), 0.0, 1.0)
    return share, low, high, weak


def _mean(noisy: Noisy, span: tuple[float, float], half: float, confidence: float) -> tuple[Array, Array, Array]:
    """`half` is how far rounding to steps may move a mean."""
    share, low, high, _ = _share(noisy, 1, confidence)
    family = noisy.family
    width = family.tick * round(family.top ** (1.0 / family.degree))
    ends = [np.clip(family.start + width * each + shift, *span) for each, shift in ((low, -half), (high, half))]
    return np.clip(family.start + width * share, *span), ends[0], ends[1]


def _variance(
    noisy: Noisy, span: tuple[float, float], half: float, rooted: bool, confidence: float
) -> tuple[Array, Array, Array]:
    """By the means of t and t^2; their intervals hold together, half of the tail each. Rounding to steps moves a standard
    deviation by at most `half`."""
    level = 1.0 - (1.0 - confidence) / 2.0
    first, low, high, weak = _share(noisy, 1, level)
    second, less, more, _ = _share(noisy, 2, level)
    family = noisy.family
    width, most = family.tick * round(family.top ** (1.0 / family.degree)), (span[1] - span[0]) / 2.0
    value = width * np.sqrt(np.where(weak, 0.125, np.clip(second - first**2, 0.0, 0.25)))
    smallest = width * np.sqrt(np.where(weak, 0.0, np.clip(less - high**2, 0.0, 0.25))) - half
    largest = width * np.sqrt(np.where(weak, 0.25, np.clip(more - low**2, 0.0, 0.25))) + half
    made = [np.clip(each, 0.0, most) for each in (value, smallest, largest)]
    return (made[0], made[1], made[2]) if rooted else (made[0] ** 2, made[1] ** 2, made[2] ** 2)


def key_array(values: list[Any]) -> Array:
    """A column of keys as an array that can be stored: numbers, texts, days, and None where a key is missing."""
    import datetime

    kinds = {type(each) for each in values if each is not None}
    if None in values and kinds - {str}:
        values = [None if each is None else str(each) for each in values]
        kinds = {str}
    if kinds <= {datetime.date} and kinds:
        return np.array(values, dtype="datetime64[D]")
    if kinds == {str} or not kinds:
        if None in values or not kinds:
            held = np.empty(len(values), dtype=object)
            held[:] = values
            return held
        return np.array(values)
    return np.array(values)

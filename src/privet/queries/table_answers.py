"""Grouped aggregates of a table: exact bounded sums from an engine, noise on whole numbers, answers with intervals."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet._validate import instance, items, open_fraction, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms import (
    Algorithm,
    DiscreteLaplace,
    ErrorBar,
    Example,
    Form,
    Gaussian,
    Kept,
    Mechanism,
    Source,
    register,
)
from privet.privacy import Composed, Guarantee, PrivacyLoss, Unit, to_replace
from privet.queries.aggregate import Aggregate
from privet.queries.aggregates import Count, CountPersons, Mean
from privet.queries.answer import Answer
from privet.queries.bins import bin_label
from privet.queries.discovered_keys import DiscoveredKeys
from privet.queries.family import Family, Noisy
from privet.queries.intervals import radius, spread
from privet.queries.measured import compiled, family_of
from privet.queries.quantile_part import QuantilePart
from privet.queries.question import TableAlgorithm
from privet.queries.reading import Read, counted
from privet.tables import (
    Aggregates,
    Bounded,
    Category,
    Column,
    Data,
    Int,
    KeySet,
    Person,
    Rows,
    Source as PrivateSource,
    Text,
)
from privet.workloads.families.noise_law import Kind

_CONFIDENCE = 0.95  # of the intervals that come with every answer


@final
@register
@dataclass(frozen=True, kw_only=True)
class TableAnswers(TableAlgorithm, Algorithm[Data, Answer]):
    """Answers about the groups of a table: one noisy vector for each family of sums, one choice for each quantile.

    Rows of a person are bounded by the limits of the unit before anything is added up; sums are whole numbers of public
    steps, so that they are exact in every order and on every engine.

    **Guarantee:** the composition of its parts; each part is priced by the reach of the plan.
    **Sensitivity:** of `family.Family` and `QuantilePart`.
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
        super().__post_init__()
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
        apart = [plan for family in self.families if (plan := family.plan_of(self.plan)) is not self.plan]
        return (self.plan, *apart, *(each.plan for each in self.quantiles))

    def weight(self) -> float:
        groups = 1 if self.plan.keys is None else len(self.plan.keys)
        noises = [] if self.selection is None else [math.sqrt(2.0) * self.selection.scale]
        for family, part in zip(self.families, self.parts, strict=True):
            noises.append(groups * spread(part) / family.size)
        for each in self.quantiles:
            moved = float(each.choice.sensitivity.value) / each.request.q.denominator
            noises.append(groups * 2.0 * moved * math.log(1 + each.bins) / each.choice.loss.pure())
        return max(noises)

    def _run(self, prepared: Any, source: Source) -> Answer:
        found = self._exact_sums(prepared, self.plan, source)
        keys, selected, counts = self._keys(found, source)
        noisy = [
            self._noisy(i, self._found(family, found, prepared, source), selected, source)
            for i, family in enumerate(self.families)
        ]
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

    def _found(self, family: Family, found: Aggregates, data: Data, source: Source) -> Aggregates:
        """The exact sums of a family: those of the query, unless it has a plan of its own."""
        plan = family.plan_of(self.plan)
        if plan is self.plan:
            return found
        return self._exact_sums(data, plan, source, coin=f"salt of values of {family.column}")

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
        return Answer(listed, self.values, self.lower, self.upper, _CONFIDENCE, self.notes, self._labels())

    def _labels(self) -> dict[str, Array]:
        """Texts in the place of the numbers of bins, as people read them."""
        made = {}
        for i, name in enumerate(self.query.plan.names):
            label = bin_label(self.query.plan.rows, name)
            if label is not None:
                made[name] = key_array([None if key[i] is None else label(int(key[i])) for key in self.keys])
        return made

    def _put(self, name: str, request: Aggregate) -> None:
        part = next((each for each in self.query.quantiles if each.name == name), None)
        if part is not None:
            self.values[name], self.notes[name] = part.values(self.chosen[name]), part.note
            return
        self.values[name], self.lower[name], self.upper[name] = self._read(request)

    def _read(self, request: Aggregate) -> Read:
        if request.by_selection and self.counts is not None:
            return self._selected_counts()
        place = family_of(request, self.query.families)
        if place is None:
            return Read(*(np.full(len(self.keys), end) for end in request.constant(self.columns)))
        return request.read(self.noisy[place], self.columns, _CONFIDENCE)

    def _selected_counts(self) -> Read:
        selection = self.query.selection
        assert selection is not None
        return counted(
            np.asarray(self.counts, dtype=np.float64), radius("laplace", selection.scale, (1.0,), _CONFIDENCE)
        )


def key_array(values: list[Any]) -> Array:
    """A column of keys as an array that can be stored: numbers, texts, days, and None where a key is missing."""
    import datetime

    kinds = {type(each) for each in values if each is not None}
    if None in values and kinds in ({int}, {bool}):  # numbers beside what is missing stay numbers
        held = np.empty(len(values), dtype=object)
        held[:] = values
        return held
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

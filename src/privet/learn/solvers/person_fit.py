"""A fit about persons: at most so many rows of each are kept, and the price is that of a group of rows."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, final

import numpy as np

from privet._validate import above, count, instance, set_frozen
from privet.errors import InvalidData, InvalidParameter
from privet.learn.encoding import Encoding
from privet.learn.problem import Task
from privet.learn.problem.person_sums import MOST_ROWS
from privet.learn.problem.table_records import TableRecords
from privet.learn.solvers.noisy_gd import NoisyGD, NoisyGDFit
from privet.learn.solvers.sufficient_statistics import StatisticsFit
from privet.mechanisms import Algorithm, Example, Form, Mechanism, Source, register
from privet.privacy import ApproxLoss, Composed, Guarantee, PrivacyLoss, Unit, per_person, to_replace
from privet.tables import Data, Int, Person, Salts, Source as Table
from privet.tables.data import drawn_salts

_ANY: Salts = (0, 0, 0, 0, 0)  # for what is asked of records before any of them is read
Planner = Callable[[Unit, Guarantee], Mechanism[Any, Any]]


@final
@register
@dataclass(frozen=True, kw_only=True)
class PersonFit(Algorithm[Any, Any]):
    """A fit of rows, at most `max_rows` of each person, chosen by salted numbers (`privet.tables.mix`).

    **Guarantee:** the price of `rows`, a fit that is private for max_rows rows that come or go, or for one, and then for
    a group of them; of twice as many where a person is replaced, who may have another number of rows. A fit that clips the
    sum of each person (`by_person=True`) has the price of one row, of two where a person is replaced. Where
    `rows_epsilon` is given, the fit of one row counts as (rows_epsilon, rows_delta): what has no closed form for groups.
    **Sensitivity:** what is kept of a person depends on that person's rows and on the salts alone.
    **Reference:** Dwork & Roth 2014, theorem 2.2; Desfontaines & Pejó 2020.
    **Proof:** docs/proofs/learn/person_fit.md.
    """

    name = "person_fit"

    rows: Mechanism[Any, Any]
    about: Unit
    max_rows: int
    rows_epsilon: float | None = None
    rows_delta: float | None = None
    at: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("rows", self.rows, Mechanism)
        instance("about", self.about, Unit)
        set_frozen(self, max_rows=count("max_rows", self.max_rows, 1))
        if self.about.person is None or self.about.relation not in ("add_remove", "replace"):
            raise InvalidParameter("about must name the column of persons, who come and go or are replaced")
        if self.rows.loss.unit not in (Unit(), Unit(group_size=self.max_rows)):
            raise InvalidParameter(
                "the fit of rows must be planned for adding or removing one row, or max_rows of them"
            )
        if self.links == 1 and self.max_rows > MOST_ROWS:
            raise InvalidParameter(f"sums are taken over at most {MOST_ROWS} rows of a person: give a smaller max_rows")
        if (self.rows_epsilon is None) != (self.rows_delta is None):
            raise InvalidParameter("give rows_epsilon and rows_delta together")
        if self.rows_epsilon is not None and self.rows_delta is not None:
            above("rows_epsilon", self.rows_epsilon, 0.0)
            if not Guarantee(self.rows_epsilon, self.rows_delta).covers(self.rows.loss):
                raise InvalidParameter("the fit of rows costs more than rows_epsilon and rows_delta say")

    @classmethod
    def planned(cls, plan: Planner, about: Unit, max_rows: int, promise: Guarantee) -> "PersonFit":
        """The fit that keeps the promise: planned for groups of `max_rows` rows where the solver can do that, else for
        single rows and a share of the promise.
        """
        facts: dict[str, Any] = {"about": about, "max_rows": max_rows, "at": promise.delta or None}
        try:
            return cls(rows=plan(Unit(group_size=max_rows), coming_or_going(promise, about)), **facts)
        except InvalidParameter:
            # Some solvers are for single rows alone, some take no promise in mu, as which `coming_or_going` may halve one.
            # For them only an epsilon can be shared among rows.
            most = count("max_rows", max_rows, 1) * (2 if about.relation == "replace" else 1)
            if promise.epsilon is None or most == 1:
                raise
        row = promise.for_each_of(most)
        if row.delta:
            facts |= {"rows_epsilon": row.epsilon, "rows_delta": row.delta}
        return cls(rows=plan(Unit(), row), **facts)

    @property
    def links(self) -> int:
        """The number of steps, each as large as one row, that lead from data with a person to data without: one for
        each row that is kept, or a single one where the sum of a person's rows is clipped as a row is.
        """
        return 1 if isinstance(self.rows, NoisyGDFit | StatisticsFit) and self.rows.by_person else self.max_rows

    @property
    def task(self) -> Task:
        """The public facts of the rows."""
        return self.rows.task  # type: ignore[attr-defined]

    @property
    def loss(self) -> PrivacyLoss:
        return self._restated((self.rows.loss,))

    def _restated(self, parts: Sequence[PrivacyLoss]) -> PrivacyLoss:
        """The price about persons of parts that were priced about rows."""
        assert self.about.person is not None
        whole: PrivacyLoss = parts[0] if len(parts) == 1 else Composed(tuple(parts))
        if self.rows_epsilon is not None and self.rows_delta is not None:
            whole = ApproxLoss(self.rows_epsilon, self.rows_delta)
        made = per_person(whole, person=self.about.person, rows=self.links)
        made = to_replace(made) if self.about.relation == "replace" else made
        return made if self.rows_epsilon is None else ApproxLoss(*made.approximate(), unit=made.unit)

    @property
    def form(self) -> Form:
        return self.rows.form

    def _admit(self, value: object) -> None:
        if not isinstance(value, TableRecords) or not value.scan.persons:
            raise InvalidData("a fit about persons is run on a table about persons")
        if value.scan.most_rows > self.max_rows:
            raise InvalidData("the table keeps more rows of a person than the fit was planned for")
        if value.scan.rows.unit.unit != self.about:
            raise InvalidData("the table is about other persons, or another relation, than the fit was planned for")
        self.rows.check(value.salted(_ANY))

    def _run(self, prepared: Any, source: Source) -> Any:
        records = prepared.salted(self._coins("salt", drawn_salts, source))
        try:
            with self._priced(self._restated):
                return self.rows.release(records, source=source).value
        finally:
            records.close()

    @classmethod
    def examples(cls) -> Iterable[Example]:
        from privet.learn.losses import Logistic
        from privet.learn.problem import Classes

        def plan(unit: Unit, promise: Guarantee, by_person: bool = False) -> Mechanism[Any, Any]:
            task = Task(features=1, row_norm=1.0, intercept=False, target=Classes((0, 1)), unit=unit)
            return NoisyGD(steps=2, clip_norm=0.5, by_person=by_person).plan(task, Logistic(), promise)

        promise, both = Guarantee(2.0, 1e-5), {"x": [1, 1, 1, 1], "y": [1, 1, 1, 1], "id": [7, 8, 8, 8]}
        one = {"x": [1], "y": [1], "id": [7]}
        person = Person("id", max_rows=2)
        made = cls.planned(plan, person.unit, 2, promise)
        yield Example(made, _few(person, both), _few(person, one), promise, cost="costly", detects=0.25)
        # A replacement is a removal and an addition. Rows of x = 0 have no gradient, so the sums move as if the person were
        # removed only. With opposite rows they would move by both steps, and `audit.replay`, which holds each sum to its
        # own sensitivity, that of one step, would object.
        other = {**both, "x": [1, 0, 0, 0]}
        moved = Person("id", max_rows=2, relation="replace")
        made = cls.planned(plan, moved.unit, 2, Guarantee(mu=1.0))
        yield Example(made, _few(moved, both), _few(moved, other), Guarantee(mu=1.0), cost="costly", detects=0.25)
        made = cls.planned(partial(plan, by_person=True), person.unit, 2, promise)
        yield Example(made, _few(person, both), _few(person, one), promise, cost="costly", detects=0.25)


def _few(person: Person, data: dict[str, list[int]]) -> TableRecords:
    columns = {"x": Int(-1, 1), "y": Int(0, 1)}
    held = Data({"few": {name: np.array(values) for name, values in data.items()}})
    return TableRecords(Table("few", tuple(columns.items()), person), held, Encoding(columns, "y"))


def coming_or_going(promise: Guarantee, about: Unit) -> Guarantee:
    """The price that a person who comes or goes may have: half of it (in mu) where one person is replaced by another.

    >>> coming_or_going(Guarantee(mu=0.5), Unit("replace", person="id")).mu <= 0.25
    True
    """
    if about.relation == "add_remove":
        return promise
    return (promise.as_mu() if promise.delta else promise).for_each_of(2)  # with a delta, groups are exact in mu alone

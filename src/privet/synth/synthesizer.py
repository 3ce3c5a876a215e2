"""The abstract synthesizer: a fit that checks public facts, plans, pays, and only then looks at the data."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack, final

from privet import noise
from privet._calls import door
from privet._validate import items, set_frozen
from privet.errors import InvalidParameter
from privet.ledger import current, pay
from privet.mechanisms import Mechanism
from privet.privacy import Guarantee, Promise, spelt_out
from privet.synth.constraints import Constraint
from privet.synth.privacy import SynthesisPrivacy
from privet.synth.synthetic_model import SyntheticModel
from privet.synth.task import Task
from privet.tables import Coded, Coding, Data, Described, Node, Person, Rows, Source
from privet.tables.coding import BINS
from privet.tables.columns import as_columns

if TYPE_CHECKING:
    from privet.ledger import Ledger

Schema = Any
"""A table, or its columns by name, or columns with the unit as `tables.read_schema` gives them."""


@dataclass(frozen=True, kw_only=True)
class Synthesizer(ABC):
    """Base of all synthesizers: how columns are coded, what is public, and the one way to fit.

    `columns` are those that are modelled (all unless they are named; the column that names persons is none of them).
    `bins` and `cuts` are those of `tables.Coding.of`. `rows` is the number of rows where that is public. `constraints`
    are public facts that every model keeps.
    """

    columns: Sequence[str] | None = None
    bins: int | Mapping[str, int] = field(default=BINS)
    cuts: Mapping[str, Sequence[Any]] | None = None
    rows: int | None = None
    constraints: Sequence[Constraint] = ()

    def __post_init__(self) -> None:
        if self.columns is not None:
            set_frozen(self, columns=tuple(items("columns", self.columns)))
        set_frozen(self, constraints=tuple(items("constraints", self.constraints)))

    @abstractmethod
    def _plan(self, task: Task, promise: Guarantee) -> "Mechanism[Data, SyntheticModel]":
        """The plan for a promise, from public facts alone. What cannot be done is refused here."""

    def _open_table(self) -> Described | None:
        """The table that is taken to be public, where there is one."""
        return None

    @final
    def task(self, schema: Schema) -> Task:
        """The public facts of a table or a schema."""
        rows = _rows_of(schema)
        named = rows.unit.column if isinstance(rows.unit, Person) else None
        wanted = tuple(name for name in rows.columns if name != named) if self.columns is None else self.columns
        unknown = [name for name in wanted if name not in rows.columns]
        if unknown or len(set(wanted)) != len(wanted) or not wanted:
            raise InvalidParameter(
                f"columns must be names of the table's columns, each once; {', '.join(map(str, unknown)) or 'not so'}"
            )
        if named in wanted:
            raise InvalidParameter(f"column {named!r} names persons: leave it out, no model may know it")
        chosen = {name: rows.columns[name] for name in wanted}
        coding = Coding.of(chosen, bins=self.bins, cuts=self.cuts)
        return Task(Coded(rows, coding), self.rows, tuple(self.constraints))

    @final
    @spelt_out
    @door
    def plan(self, schema: Schema, **promise: Unpack[Promise]) -> Any:
        """The plan of a fit, from public facts alone: `loss`, `describe()`; no data are looked at, nothing is paid.

        `schema` is a table, or columns by name, or what `tables.read_schema` gives.
        """
        return self._plan(self.task(schema), Guarantee(**promise))

    @final
    @door
    @spelt_out
    def fit(
        self,
        table: Described,
        *,
        ledger: "Ledger | None" = None,
        key: str | None = None,
        about: str | None = None,
        source: noise.Source | None = None,
        **promise: Unpack[Promise],
    ) -> SyntheticModel:
        """The model of a table: public facts are checked, the plan is made and paid for, and only then it is run.

        It is paid by `ledger`, else by the ledger in force, else by nobody. Fitting again is paid again; under the same
        `key` the model is read back from the ledger, free of charge. `about` names the version of the data in public
        words. `source` is for tests: `noise.Seeded(7)` gives the same noise again, and the model is marked as insecure.
        """
        if not isinstance(table, Described):
            raise InvalidParameter(
                "fit takes a pv.Table, whose schema says what is public: pv.Table(data, columns=...)"
            )
        open_ = self._open_table()
        if open_ is not None and open_.data.holds_same(table.data):
            raise InvalidParameter("public= is the table that is fitted: what is private in one place is so everywhere")
        promised = Guarantee(**promise)
        plan = self._plan(self.task(table), promised)
        if source is None:
            release = pay(plan, table.data, ledger=ledger, key=key, about=about)
        elif ledger is not None or key is not None or about is not None or current() is not None:
            raise InvalidParameter("a seeded source is for tests: leave ledger=, key= and about= out")
        else:
            release = plan.release(table.data, source=source)
        model: SyntheticModel = release.value
        model.privacy_ = SynthesisPrivacy.of(release, plan, promised)
        return model


def _rows_of(schema: Schema) -> Node:
    """The rows of a table, or those that a schema describes."""
    if isinstance(schema, Described):
        return schema.rows
    columns, unit = schema if isinstance(schema, tuple) and len(schema) == 2 else (schema, Rows())
    if not isinstance(columns, Mapping) or not isinstance(unit, Rows | Person):
        raise InvalidParameter("give a pv.Table, its columns by name, or what tables.read_schema gives")
    return Source("table", as_columns(dict(columns)), unit)

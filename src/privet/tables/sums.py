"""The sums of a plan as aggregates over rows, and the columns that they are made of."""

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from privet.tables.bounded import Bounded, Term, Ticks
from privet.tables.expressions import Expression, Ref
from privet.tables.person import Person

if TYPE_CHECKING:
    from privet.tables.values import Values

_SMALL = 2**31  # what 32 bits hold


class Total(NamedTuple):
    """A sum over rows, and how many of them had a value.

    >>> Total("sum(c1)", "count(c1)").present
    'count(c1)'
    """

    added: str
    present: str


class Sums:
    """Sums over rows. `first` are the columns that are made of what the rows hold, `second` those that are made of
    these.

    `unmoved` are the aliases of numbers that were not moved into their bounds. Their steps are instead, which takes less
    than to ask on which side of a bound each number is: |t - low| - |t - high| is twice the moved step, less both ends.

    >>> from privet.tables.bounded import Bounded
    >>> from privet.tables.dialect import DuckDB
    >>> from privet.tables.keys import KeySet
    >>> from privet.tables.person import Rows
    >>> from privet.tables.plan import Source
    >>> from privet.tables.values import Values
    >>> plan = Bounded(Source("t", (), Rows()), (), KeySet((), ((),)))
    >>> Sums(plan, Values(DuckDB()), {}, set(), lambda: "c1").term(Term((), ()))
    'CAST(count(*) AS BIGINT)'
    """

    def __init__(
        self, plan: Bounded, values: "Values", aliases: Mapping[str, str], unmoved: set[str], name: Callable[[], str]
    ) -> None:
        self.plan, self.values, self.aliases, self.unmoved, self.name = plan, values, aliases, unmoved, name
        self.first: dict[str, str] = {}  # each value once, however many sums it is in
        self.second: dict[str, str] = {}

    def term(self, term: Term) -> str:
        """The sum of a term."""
        d = self.values.dialect
        present = list(dict.fromkeys(term.present))
        if not term.factors and len(present) <= 1:
            return d.whole(f"count({self._seen(present[0]) if present else '*'})")
        value = " * ".join(map(self._steps, term.factors)) or d.number(1)
        # what has a factor that is missing is missing itself, and adds nothing; so only the others are looked at
        factors = {each.of for each in term.factors}
        others = [self._seen(each) for each in present if each not in factors]
        if others:
            value = f"CASE WHEN {' AND '.join(f'{each} IS NOT NULL' for each in others)} THEN {value} END"
        return self._sum(value, term.factors)

    def total(self, steps: Ticks) -> Total:
        """The sum of the steps of a value."""
        value = self._steps(steps)
        return Total(self._sum(value, (steps,)), self.values.dialect.whole(f"count({value})"))

    def _sum(self, value: str, factors: tuple[Ticks, ...]) -> str:
        d = self.values.dialect
        if not any(map(self._is_open, factors)):
            small = isinstance(self.plan.rows.unit, Person) and self._most(factors) < _SMALL
            return d.small_total(value) if small else d.total(value)
        (steps,) = factors  # such a number is in no product
        low, high = steps.ends(self.plan.rows.columns)
        many = f"count({value})"
        moved = d.divided(f"({d.total(value)} + {d.number(low + high)} * {many})", "2")
        # doubles round the sum of more rows of a person than the limit: it stays what so many rows can have
        return f"least(greatest({moved}, {d.number(low)} * {many}), {d.number(high)} * {many})"

    def _most(self, factors: tuple[Ticks, ...]) -> int:
        """The largest size of a product of steps, by public bounds."""
        return math.prod(max(map(abs, each.ends(self.plan.rows.columns))) for each in factors)

    def _is_open(self, steps: Ticks) -> bool:
        return isinstance(steps.of, Ref) and self.aliases[steps.of.name] in self.unmoved

    def _steps(self, steps: Ticks) -> str:
        """A column of steps; of numbers outside of their bounds twice the moved steps, less both ends."""
        columns = self.plan.rows.columns
        if not self._is_open(steps):
            return self._put(self.second, self.values.ticks(steps, columns, self.aliases))
        held = self._put(self.first, self.values.unmoved_steps(steps, columns, self.aliases))
        return self._put(self.second, self.values.dialect.between_ends(held, *steps.ends(columns)))

    def _seen(self, what: Expression) -> str:
        """A column that is missing where a value is. Where its steps are there for a sum, these do."""
        plan = self.plan
        for each in (*(each for term in plan.terms for each in term.factors), *(each.ticks for each in plan.signed)):
            if each.of == what:
                return self._steps(each)
        return self._put(self.second, self.values.expression(what, plan.rows.columns, self.aliases))

    def _put(self, place: dict[str, str], sql: str) -> str:
        if sql not in place:
            place[sql] = self.name()
        return place[sql]

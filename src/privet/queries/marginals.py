"""The question for tables of counts over several columns: planned without data, and without the cells of all columns."""

from dataclasses import dataclass, field
from itertools import combinations
from math import prod
from typing import Unpack, final

from privet._validate import count
from privet.errors import InvalidParameter
from privet.privacy import Promise
from privet.queries.marginal_answers import MarginalAnswers
from privet.queries.question import TableQuestion
from privet.tables import Bounded, Coded, Coding, Data, Node, Person
from privet.tables.columns import MOST_KEYS, known_column
from privet.tables.plan import in_groups
from privet.workloads import Marginals, NoiseNorm, Plan, ResidualTables, Strategy
from privet.workloads.plan import candidates, make_plan

_NORMS: tuple[NoiseNorm, NoiseNorm] = ("l1", "l2")
_SEARCHED = 256  # cells up to which strategies are searched for
_LISTED = 2**24  # cells up to which all columns are counted together


@final
@dataclass(frozen=True, eq=False)
class MarginalQuestion(TableQuestion):
    """Tables of counts over sets of columns, as a question for a ledger."""

    coded: Coded
    workload: Marginals
    data: Data = field(repr=False)

    def bounded(self) -> Bounded:
        return self.coded.bounded

    def told(self, **promise: Unpack[Promise]) -> str:
        """The strategy of least error, in a line."""
        plan = self.preview(**promise)
        return f"{plan.workload.describe()}: RMSE {plan.best.rmse:.4g} ({plan.mechanism.strategy.describe()})"

    def for_budget(self, **promise: Unpack[Promise]) -> MarginalAnswers:
        """The mechanism of least error within the promise; no data are looked at."""
        queries = self.preview(**promise).mechanism
        return MarginalAnswers(coded=self.coded, queries=queries, at=queries.at)

    def preview(self, **promise: Unpack[Promise]) -> Plan:
        """The plan of the workload: every strategy with its error; no data are looked at."""
        facts = {"unit": self.unit, "max_rows": self.coded.most_rows}
        tried: list[Strategy] | None = None
        if self.workload.cells > _LISTED:
            tried = [ResidualTables()]  # the one that needs no more than the tables themselves
        elif self.workload.cells > _SEARCHED:  # what is searched for takes seconds there, for a tenth less error
            every = [each for norm in _NORMS for each in candidates(self.workload, norm)]
            tried = [each for each in dict.fromkeys(every) if not each.searched]
        return make_plan(self.workload, tried, facts, promise)


def marginal_question(rows: Node, data: Data, names: tuple[str, ...], way: int) -> MarginalQuestion:
    """All tables of `way` columns out of these."""
    if not names or len(set(names)) != len(names):
        raise InvalidParameter("name the columns of a table of counts, each once")
    for name in names:
        if known_column(rows.columns, name, " to count by").domain is None:
            raise InvalidParameter(
                f"column {name!r} has no public list of values: describe it as pv.Category([...]), or put it into bins"
            )
    if not 1 <= count("way", way, 1) <= len(names):
        raise InvalidParameter(f"way must be from 1 to {len(names)}, the number of columns")
    coding = Coding.of({name: rows.columns[name] for name in names})
    chosen = tuple(combinations(range(len(names)), way))
    if sum(prod(coding.sizes[i] for i in each) for each in chosen) > MOST_KEYS:
        raise InvalidParameter(
            f"these tables have more than {MOST_KEYS} cells together: take fewer columns or wider bins"
        )
    unit = rows.unit
    kept = in_groups(rows, unit.max_groups) if isinstance(unit, Person) and unit.max_groups is not None else rows
    return MarginalQuestion(Coded(kept, coding), Marginals(coding.sizes, chosen), data)

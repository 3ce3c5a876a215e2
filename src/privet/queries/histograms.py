"""Questions that are answered from one histogram: each plans its cells and its workload without any data."""

from dataclasses import dataclass, field
from itertools import combinations
from math import prod
from typing import Any, Unpack, final

from privet._validate import count, fraction, open_fraction
from privet.errors import InvalidParameter
from privet.mechanisms import DiscreteLaplace, Gaussian, Sensitivity, TopK
from privet.privacy import Guarantee, Promise, Unit
from privet.queries.atoms import possible_patterns
from privet.queries.found_bounds import BoundsFinder, grid_of, moved_by
from privet.queries.group_quantiles import GroupQuantiles
from privet.queries.histogram_answers import HistogramAnswers, TopValues
from privet.queries.marginal_answers import MarginalAnswers
from privet.queries.quantile_part import bin_count, binned, with_bins
from privet.queries.question import TableQuestion
from privet.tables import (
    Bounded,
    Coded,
    Coding,
    Column,
    Condition,
    Data,
    Derive,
    Float,
    Int,
    KeySet,
    Node,
    Pattern,
    Person,
    in_groups,
    in_one_group,
)
from privet.tables.columns import known_column
from privet.tables.keys import all_keys
from privet.workloads import (
    AllRanges,
    Cells,
    Hierarchical,
    Marginals,
    NoiseNorm,
    Plan,
    Prefix,
    ResidualTables,
    Rows,
    Wavelet,
    Workload,
)
from privet.workloads.plan import candidates, make_plan

_PATTERN = "(pattern)"
_BINS = 4096  # fine enough that noise, not the bin, decides an error; a tree of them is planned in milliseconds
_GROUP_BINS = 1024  # of each group: fewer, since there are as many for every group
_SEARCHED = 256  # cells up to which strategies are searched for: changes the error by a tenth, privacy not at all
_LISTED = 2**24  # cells up to which tables of counts may be measured by the cells of all columns
_MOST = 2**22  # cells of all tables of counts that are asked for: an answer names the columns of each
_NORMS: tuple[NoiseNorm, NoiseNorm] = ("l1", "l2")


@final
@dataclass(frozen=True, eq=False, repr=False)
class HistogramQuestion(TableQuestion):
    """A workload over the cells of a table, as a question for a ledger."""

    plan: Bounded
    workload: Workload
    data: Data = field(repr=False)
    facts: dict[str, Any] = field(default_factory=dict)

    def bounded(self) -> Bounded:
        return self.plan

    def told(self, **promise: Unpack[Promise]) -> str:
        """The strategy of least error, in a line."""
        plan = self.preview(**promise)
        return f"{plan.workload.describe()}: RMSE {plan.best.rmse:.4g} ({plan.mechanism.strategy.describe()})"

    def for_budget(self, **promise: Unpack[Promise]) -> HistogramAnswers:
        """The mechanism of least error within the promise; no data are looked at."""
        queries = self.preview(**promise).mechanism
        return HistogramAnswers(plan=self.plan, queries=queries, at=queries.at, **self.facts)

    def preview(self, **promise: Unpack[Promise]) -> Plan:
        """The plan of the workload: every strategy with its error; no data are looked at."""
        return _least_error(self.workload, {"unit": self.unit, "max_rows": self.plan.reach.most_rows}, promise)


@final
@dataclass(frozen=True, eq=False, repr=False)
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
        if self.workload.cells > _LISTED:  # the one strategy that needs no more than the tables themselves
            return make_plan(self.workload, [ResidualTables()], facts, promise)
        return _least_error(self.workload, facts, promise)


@final
@dataclass(frozen=True, eq=False, repr=False)
class TopQuestion(TableQuestion):
    """The most frequent values of a column, as a question for a ledger."""

    plan: Bounded
    k: int
    data: Data = field(repr=False)

    def bounded(self) -> Bounded:
        return self.plan

    def told(self, **promise: Unpack[Promise]) -> str:
        """The form of the answer: no number that could be off."""
        return "the values in order, without counts"

    def for_budget(self, **promise: Unpack[Promise]) -> TopValues:
        """The mechanism within the promise."""
        moved = Sensitivity(self.plan.reach.most_rows_per_key, norm="score", unit=self.unit)  # type: ignore[arg-type]
        added = self.unit.relation == "add_remove"
        if self.k == 1 and promise.get("epsilon") is not None:
            promise = {"epsilon": promise["epsilon"]}  # a single choice has no use for a delta, which would be charged
        choice = TopK.for_budget(sensitivity=moved, monotonic=added, k=self.k, **promise)
        return TopValues(plan=self.plan, choice=choice, about=self.unit, at=choice.at)

    def preview(self, **promise: Unpack[Promise]) -> TopValues:
        """The query that would be paid for, with its price as `loss`; no data are looked at."""
        return self.for_budget(**promise)


@final
@dataclass(frozen=True, eq=False, repr=False)
class GroupQuantileQuestion(TableQuestion):
    """Several quantiles of a column in every group, as a question for a ledger."""

    plan: Bounded
    shares: tuple[float, ...]
    data: Data = field(repr=False)
    facts: dict[str, Any] = field(default_factory=dict)

    def bounded(self) -> Bounded:
        return self.plan

    def told(self, **promise: Unpack[Promise]) -> str:
        """The strategy of least error, in a line."""
        plan = self.preview(**promise)
        return f"quantiles by group: RMSE {plan.best.rmse:.4g} ({plan.mechanism.strategy.describe()})"

    def for_budget(self, **promise: Unpack[Promise]) -> GroupQuantiles:
        """The mechanism of least error within the promise; no data are looked at."""
        queries = self.preview(**promise).mechanism
        return GroupQuantiles(
            plan=self.plan, queries=queries, shares=self.shares, about=self.unit, at=queries.at, **self.facts
        )

    def preview(self, **promise: Unpack[Promise]) -> Plan:
        """The plan of the histogram of one group: strategies with their errors; no data are looked at."""
        added = Unit(person=self.unit.person)
        target = Guarantee(**promise)
        if self.unit.relation == "replace":  # two of them: one that goes, and one that comes
            target = target.for_each_of(2)
        facts = {"unit": added, "max_rows": self.plan.reach.most_rows}
        # what is measured and solved for every group anew: only what takes time in proportion to the bins
        tried = [Cells(), Hierarchical(), Wavelet()]
        return make_plan(Prefix(self.plan.bins), tried, facts, target.keywords())


@final
@dataclass(frozen=True, eq=False, repr=False)
class BoundsQuestion(TableQuestion):
    """The bounds of a column, as a question for a ledger."""

    rows: Node
    column: str
    data: Data = field(repr=False)
    failing: float = 0.01

    def bounded(self) -> Bounded:
        return grid_of(self.rows, self.column)

    def told(self, **promise: Unpack[Promise]) -> str:
        """The least bin that is seen, in a line."""
        made = self.preview(**promise)
        seen = f"bins of {2 * made.beyond - 1:,} rows are seen"
        return f"bounds of {self.column}: {seen} (chance of failing {self.failing:g})"

    def for_budget(self, **promise: Unpack[Promise]) -> BoundsFinder:
        """The mechanism within the promise; no data are looked at."""
        plan = grid_of(self.rows, self.column)
        if promise.get("epsilon") is not None:  # Laplace noise has no use for a delta, which would be charged
            given: Promise = {"epsilon": promise["epsilon"]}
            part: Any = DiscreteLaplace.for_budget(sensitivity=moved_by(plan.reach, self.unit, "l1"), **given)
        else:
            part = Gaussian.for_budget(sensitivity=moved_by(plan.reach, self.unit, "l2"), **promise)
        return BoundsFinder(plan=plan, part=part, failing=self.failing, about=self.unit)

    def preview(self, **promise: Unpack[Promise]) -> BoundsFinder:
        """The query that would be paid for: its price is `loss`, and no bin without rows reaches `beyond`."""
        return self.for_budget(**promise)


def bounds_question(rows: Node, data: Data, column: str, failing: float) -> BoundsQuestion:
    """The bounds of a column of numbers."""
    kind = known_column(rows.columns, column)
    if not isinstance(kind, Int | Float):
        raise InvalidParameter(f"bounds are found of columns of numbers, and {column!r} holds {kind.describe()}")
    return BoundsQuestion(rows, column, data, open_fraction("failing", failing))


def filtered_counts(rows: Node, data: Data, conditions: dict[str, Condition]) -> HistogramQuestion:
    """Counts with conditions, from the cells of their common partition."""
    if not conditions:
        raise InvalidParameter("give at least one condition, such as old=visits['age'] >= 65")
    for condition in conditions.values():
        condition.check(rows.columns)
    asked = tuple(conditions.values())
    patterns = possible_patterns(asked, rows)
    if not len(patterns):
        raise InvalidParameter("no row can meet any of these conditions")
    derived = Derive(in_one_group(rows), _PATTERN, Pattern(asked))
    codes = [int(sum(2**i for i, holds in enumerate(row) if holds)) for row in patterns]
    plan = Bounded(derived, (_PATTERN,), KeySet((_PATTERN,), tuple((code,) for code in codes)))
    return HistogramQuestion(plan, Rows(patterns.T.astype(float)), data, {"labels": tuple(conditions)})


def _with_quantiles(rows: Node, column: str) -> Column:
    kind = known_column(rows.columns, column)
    if not (kind.numeric or kind.kind == "date"):
        raise InvalidParameter(f"ranges and quantiles are asked of columns of numbers or days; {column!r:.60} is none")
    return kind


def _over_bins(rows: Node, column: str, bins: int | None) -> tuple[Bounded, int, dict[str, Any]]:
    kind = _with_quantiles(rows, column)
    derived, cells, start, width = binned(in_one_group(rows), column, _BINS if bins is None else bin_count(bins))
    name = next(reversed(derived.columns))
    plan = Bounded(derived, (name,), KeySet((name,), tuple((i,) for i in range(cells))))
    facts = {"start": start, "width": width, "whole": not isinstance(kind, Float), "days": kind.kind == "date"}
    return plan, cells, facts


def range_question(rows: Node, data: Data, column: str, bins: int | None) -> HistogramQuestion:
    """All ranges of a column."""
    plan, cells, facts = _over_bins(rows, column, bins)
    return HistogramQuestion(plan, AllRanges(cells), data, facts)


def quantile_question(
    rows: Node, data: Data, column: str, shares: tuple[float, ...], bins: int | None
) -> HistogramQuestion:
    """Quantiles and the distribution function of a column."""
    plan, cells, facts = _over_bins(rows, column, bins)
    wanted = tuple(fraction("q", each) for each in shares)
    return HistogramQuestion(plan, Prefix(cells), data, facts | ({"shares": wanted} if wanted else {}))


def group_quantile_question(
    rows: Node, names: tuple[str, ...], keys: KeySet, column: str, shares: tuple[Any, ...], bins: int | None, data: Data
) -> GroupQuantileQuestion:
    """Several quantiles of a column in every group."""
    kind = _with_quantiles(rows, column)
    if "q" in names or "value" in names:
        raise InvalidParameter("the answer has columns q and value: give the key of that name another one with derive")
    wanted = tuple(open_fraction("q", each) for each in shares)
    if not wanted or len(set(wanted)) != len(wanted):
        raise InvalidParameter("name the quantiles, each once, such as [0.25, 0.5, 0.75]")
    plan, _, start, width = with_bins(rows, names, keys, column, _GROUP_BINS if bins is None else bin_count(bins))
    facts: dict[str, Any] = {"start": start, "width": width, "stop": float(kind.span[1])}
    facts |= {"whole": not isinstance(kind, Float), "days": kind.kind == "date"}
    return GroupQuantileQuestion(plan, wanted, data, facts)


def top_question(rows: Node, data: Data, column: str, k: int) -> TopQuestion:
    """The k most frequent values of a column."""
    keys = all_keys(rows.columns, (column,))
    if not 1 <= count("k", k, 1) <= len(keys):
        raise InvalidParameter(f"k must be from 1 to {len(keys)}, the number of values")
    return TopQuestion(Bounded(rows, (column,), keys), k, data)


def marginal_question(rows: Node, data: Data, names: tuple[str, ...], way: int) -> MarginalQuestion:
    """All tables of `way` columns out of these."""
    for name in names:
        if known_column(rows.columns, name, " to count by").domain is None:
            raise InvalidParameter(
                f"column {name!r} has no public list of values: describe it as pv.Category([...]), or put it into bins"
            )
    if not names or len(set(names)) != len(names):
        raise InvalidParameter("name the columns of a table of counts, each once")
    if not 1 <= count("way", way, 1) <= len(names):
        raise InvalidParameter(f"way must be from 1 to {len(names)}, the number of columns")
    coding = Coding.of({name: rows.columns[name] for name in names})
    chosen = tuple(combinations(range(len(names)), way))
    if sum(prod(coding.sizes[i] for i in each) for each in chosen) > _MOST:
        raise InvalidParameter(f"these tables have more than {_MOST} cells together: take fewer columns or wider bins")
    unit = rows.unit
    kept = in_groups(rows, unit.max_groups) if isinstance(unit, Person) and unit.max_groups is not None else rows
    return MarginalQuestion(Coded(kept, coding), Marginals(coding.sizes, chosen), data)


def _least_error(workload: Workload, facts: dict[str, Any], promise: Promise) -> Plan:
    """The plan of a workload: every strategy with its error."""
    tried = None
    if workload.cells > _SEARCHED:  # what is searched for takes seconds there, for a tenth less error
        every = [each for norm in _NORMS for each in candidates(workload, norm)]
        tried = [each for each in dict.fromkeys(every) if not each.searched]
    return make_plan(workload, tried, facts, promise)

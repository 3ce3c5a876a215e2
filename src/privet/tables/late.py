"""Columns that are read late: keys once a group and not on every row, values only after they have become steps."""

from privet.tables.bounded import Bounded, Ticks
from privet.tables.columns import Float, Int
from privet.tables.expressions import Columns, Cut, Ref
from privet.tables.plan import MOST_ROWS, Derive, Source, Where

_EXACT = 2**53  # doubles hold every whole number up to here


def summed(plan: Bounded) -> frozenset[str]:
    """The columns that sums are made of."""
    return frozenset().union(
        *(each.names() for term in plan.terms for each in (*term.present, *(t.of for t in term.factors))),
        *(each.ticks.of.names() for each in plan.signed),
    )


def never_missing(plan: Bounded) -> list[str]:
    """The columns without whose value a row of a person does not count: keys, but for those of which a missing value is a
    group. What lies in no bin, or is no value, is no group, whatever its column says.

    Of a key that is cut at edges it is the column that is cut: an engine would write the tree of edges out into its filter,
    and at each of them what a text is read by, which took DuckDB minutes to plan.
    """
    columns, bins = plan.rows.columns, plan.names[-1:] if plan.bins or plan.distinct else ()
    return [_decided_by(plan, name) for name in plan.names if not columns[name].null or name in bins]


def _decided_by(plan: Bounded, name: str) -> str:
    node, above = plan.rows, set[str]()
    while isinstance(node, Where | Derive):
        if isinstance(node, Derive):
            if node.name == name:
                cut = node.expression.of if isinstance(node.expression, Cut) else None
                return cut.name if isinstance(cut, Ref) and cut.name not in above | {name} else name
            above.add(node.name)
        node = node.input
    return name


def only_grouped_by(plan: Bounded) -> frozenset[str]:
    """The keys that are columns of the table itself, and that nothing else looks at."""
    others = _looked_at(plan)
    return frozenset() if others is None else frozenset(plan.names) - others - summed(plan)


def only_added_up(plan: Bounded) -> frozenset[str]:
    """The numbers of the table itself whose steps are added up by themselves, and that nothing else looks at: whether they
    are moved into their bounds before they become steps or after is the same, for steps keep their order."""
    others = _looked_at(plan)
    if others is None:
        return frozenset()
    asked = [(*term.present, *(each.of for each in term.factors)) for term in plan.terms]
    others |= set(plan.names).union(*(what.names() for each in asked for what in each if not isinstance(what, Ref)))
    others |= set().union(*(each.of.names() for term in plan.terms if len(term.factors) > 1 for each in term.factors))
    steps = [each for term in plan.terms for each in term.factors] + [each.ticks for each in plan.signed]
    others |= set().union(*(each.of.names() for each in steps if not _fits(each, plan.rows.columns)))
    return frozenset(each.of.name for each in steps if isinstance(each.of, Ref)) - others


def _fits(steps: Ticks, columns: Columns) -> bool:
    """True if doubles hold them and add them up without rounding, in every order, by public limits alone."""
    column = steps.of.column(columns)
    if not isinstance(steps.of, Ref) or not isinstance(column, Int | Float):
        return False
    if isinstance(column, Int) and not (
        steps.tick == 1.0 and steps.start.is_integer() and max(map(abs, column.span)) < _EXACT
    ):
        return False
    low, high = steps.ends(columns)
    return max(high - low, abs(low), abs(high)) * MOST_ROWS <= _EXACT


def _looked_at(plan: Bounded) -> frozenset[str] | None:
    """The columns that filters and derived columns look at; None where rows are not those of one table."""
    node, others = plan.rows, frozenset[str]()
    while isinstance(node, Where | Derive):
        others |= node.condition.names() if isinstance(node, Where) else node.expression.names() | {node.name}
        node = node.input
    return others if isinstance(node, Source) else None

"""Features of persons, one row each: sums, counts and last values as a caller asks for them, with the bounds declared."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from privet._validate import instance, items
from privet.errors import InvalidParameter
from privet.queries.aggregates import Count, Sum, with_columns
from privet.queries.selection import plain_number
from privet.tables import Feature, Node, PerPerson


@final
@dataclass(frozen=True)
class Last:
    """The last value of a column among the rows of a person, in the order of another column."""

    column: str
    by: str


def last(column: object, *, by: object) -> Last:
    """The last value of each person in a column, in the order of the column `by`, such as a day: for `table.per_person`.

    >>> last("ward", by="day")
    Last(column='ward', by='day')
    """
    names: list[Any] = [getattr(each, "name", each) for each in (column, by)]
    return Last(instance("column", names[0], str), instance("by", names[1], str))


def with_features(rows: Node, asked: Mapping[str, Any], bounds: object) -> Node:
    """The table of one row for each person, with the features asked for under their names."""
    declared = {} if bounds is None else bounds
    if not isinstance(declared, Mapping) or not all(name in asked for name in declared):
        raise InvalidParameter(
            'bounds must be a mapping such as {"total": (0, 5000)}, about features that are asked for'
        )
    # what is summed may be an expression, which becomes a column first; the last value is always that of a plain column
    rows, aggregates = with_columns(rows, {name: each for name, each in asked.items() if not isinstance(each, Last)})
    features: dict[str, Feature] = {}
    for name, each in asked.items():
        if isinstance(each, Last):
            features[name] = Feature("last", each.column, each.by)
            continue
        aggregate = aggregates[name]
        if not isinstance(aggregate, Count | Sum):
            raise InvalidParameter(
                f"{name} must be a feature of a person: pv.count(), pv.sum(...) or pv.last(..., by=...), got "
                f"{type(each).__name__}"
            )
        if name not in declared:
            raise InvalidParameter(
                f"what may {name} of one person be? Give bounds={{{name!r}: (lower, upper)}}: they are public, and noise "
                "follows from them"
            )
        ends = list(map(plain_number, items(f"the bounds of {name}", declared[name])))
        if len(ends) != 2:
            raise InvalidParameter(f"the bounds of {name} are two numbers, such as (0, 5000)")
        column = None if isinstance(aggregate, Count) else aggregate.column
        features[name] = Feature("count" if column is None else "sum", column, bounds=(ends[0], ends[1]))
    return PerPerson(rows, tuple(features.items()))

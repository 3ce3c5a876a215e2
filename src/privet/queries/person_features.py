"""Features of persons as they are asked for: sums, counts and last values, with the bounds that are declared for them."""

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
    """The last value that a person has in a column, in the order of the column `by`, such as a day: a feature of persons,
    for `table.per_person`.

    >>> last("ward", by="day")
    Last(column='ward', by='day')
    """
    names: list[Any] = [getattr(each, "name", each) for each in (column, by)]
    return Last(instance("column", names[0], str), instance("by", names[1], str))


def with_features(rows: Node, asked: Mapping[str, Any], bounds: object) -> Node:
    """One row for each person, with these features."""
    declared = {} if bounds is None else bounds
    if not isinstance(declared, Mapping) or not all(name in asked for name in declared):
        raise InvalidParameter(
            'bounds must be a mapping such as {"total": (0, 5000)}, about features that are asked for'
        )
    added = {name: each for name, each in asked.items() if not isinstance(each, Last)}
    rows, made = with_columns(rows, added)
    features: dict[str, Feature] = {}
    for name, each in asked.items():
        if isinstance(each, Last):
            features[name] = Feature("last", each.column, each.by)
            continue
        given = made[name]
        if not isinstance(given, Count | Sum):
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
        of = None if isinstance(given, Count) else given.column
        features[name] = Feature("count" if of is None else "sum", of, bounds=(ends[0], ends[1]))
    return PerPerson(rows, tuple(features.items()))

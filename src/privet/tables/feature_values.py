"""Features of a person in SQL, for any dialect: sums of whole steps, and what comes last."""

from collections.abc import Mapping

from privet.tables.bounded import Ticks
from privet.tables.columns import Column, Float
from privet.tables.expressions import Ref
from privet.tables.features import Feature
from privet.tables.values import Values


class FeatureValues:
    """Features as aggregates over the rows of a person.

    >>> from privet.tables.dialect import DuckDB
    >>> FeatureValues(Values(DuckDB())).value(Feature("count", bounds=(0, 9)), {}, {}, "")[:14]
    'least(greatest'
    """

    def __init__(self, values: Values) -> None:
        self.values = values

    def value(self, feature: Feature, columns: Mapping[str, Column], aliases: Mapping[str, str], mark: str) -> str:
        """The feature of the rows of one person; of a last value, `mark` is what comes last."""
        d = self.values.dialect
        if feature.kind == "last":
            value, by = aliases[str(feature.column)], aliases[str(feature.by)]
            return f"max(CASE WHEN {by} = {mark} THEN {value} END)"
        if feature.kind == "count":
            assert feature.bounds is not None
            return self._within(d.whole("count(*)"), int(feature.bounds[0]), int(feature.bounds[1]))
        name = str(feature.column)
        column = columns[name]
        if not isinstance(column, Float):
            assert feature.bounds is not None
            return self._within(d.total(aliases[name]), int(feature.bounds[0]), int(feature.bounds[1]))
        assert column.tick is not None
        steps = self.values.ticks(Ticks(Ref(name), 0.0, column.tick), columns, aliases)
        # whole steps below 2^52, times a power of two: exact
        return f"({d.as_double(self._within(d.total(steps), *feature.ends(column)))} * {d.number(column.tick)})"

    def _within(self, sql: str, low: int, high: int) -> str:
        d = self.values.dialect
        return f"least(greatest({sql}, {d.number(low)}), {d.number(high)})"


def last_mark(feature: Feature, aliases: Mapping[str, str]) -> str:
    """The mark of what comes last among the rows that have a value.

    >>> last_mark(Feature("last", "cost", "day"), {"cost": "c1", "day": "c2"})
    'max(CASE WHEN c1 IS NOT NULL THEN c2 END)'
    """
    return f"max(CASE WHEN {aliases[str(feature.column)]} IS NOT NULL THEN {aliases[str(feature.by)]} END)"

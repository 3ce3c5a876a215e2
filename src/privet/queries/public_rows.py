"""Public tables that a private one is joined with: their columns are read off their values, which everybody knows."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from privet._validate import items
from privet.errors import InvalidParameter
from privet.tables import Bool, Category, Column, Date, Float, Int, Text


def public_rows(given: Any) -> dict[str, list[Any]]:
    """A public table as lists: of a mapping of columns, or of a data frame.

    >>> public_rows({"ward": ("A", "B")})
    {'ward': ['A', 'B']}
    """
    names = list(given) if isinstance(given, Mapping) else list(getattr(given, "columns", ()))
    if not names or not all(isinstance(name, str) for name in names):
        raise InvalidParameter("a public table is a mapping of columns, or a data frame")
    return {
        name: [each.item() if hasattr(each, "item") else each for each in items(name, given[name])] for name in names
    }


def public_column(values: list[Any], mine: Column | None) -> Column:
    """The column that describes public values, read off them; one that tables are joined on is of the private kind.

    >>> public_column(["A", "B", "A"], None)
    Category(values=('A', 'B'), null=False)
    """
    there = [each for each in values if each is not None]
    kinds = {type(each) for each in there}
    if not there or (isinstance(mine, Text) and kinds == {str}):
        return Text()
    if kinds == {str} and not isinstance(mine, Date):
        return Category(list(dict.fromkeys(there)))
    if kinds == {bool}:
        return Bool()
    if kinds == {int}:
        return Category(list(dict.fromkeys(there))) if isinstance(mine, Category) else Int(min(there), max(there))
    if kinds <= {int, float}:
        return Float(min(there), max(there))
    if kinds <= {date, str}:
        ends = [Date(each, each).lower for each in there]
        return Date(min(ends), max(ends))
    raise InvalidParameter("the columns of a public table hold numbers, texts, days, or yes and no: one kind each")

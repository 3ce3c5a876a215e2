"""Expressions over several numbers of a row: products, and numbers moved into other bounds."""

from dataclasses import dataclass
from typing import final

from privet._validate import finite
from privet.errors import InvalidParameter
from privet.tables.columns import Column, Float, Int
from privet.tables.expressions import Columns, Expression

_LARGEST = 2.0**52  # whole numbers below it are exact in every engine's doubles
_SMALLEST = 2.0**-300  # of a factor: the product of two is then no subnormal number
SETTLE = 2.0**-400  # digits below 2^-452 of a factor are dropped: no product of two can then vanish in an engine


@final
@dataclass(frozen=True)
class Times(Expression):
    """The product of two columns of numbers, such as a value and its weight; missing where one of them is.

    >>> from privet.tables.expressions import Ref
    >>> Times(Ref("hours"), Ref("weight")).column({"hours": Int(-1, 60), "weight": Float(0.0, 2.5)}).span
    (-2.5, 150.0)
    """

    left: Expression
    right: Expression

    def column(self, columns: Columns) -> Column:
        one, two = _number(self.left.column(columns)), _number(self.right.column(columns))
        whole = not isinstance(one, Float) and not isinstance(two, Float)
        ends = [a * b for a in one.span for b in two.span]
        if max(map(abs, ends)) >= _LARGEST:
            raise InvalidParameter("this product leaves the range of numbers: its bounds must stay below 2^52")
        if not whole and any(0.0 < abs(end) < _SMALLEST for each in (one, two) for end in each.span):
            raise InvalidParameter("the bounds of factors must be 0, or above 2^-300 in size")
        null = one.null or two.null
        return Int(min(ends), max(ends), null=null) if whole else Float(min(ends) + 0.0, max(ends) + 0.0, null=null)

    def names(self) -> frozenset[str]:
        return self.left.names() | self.right.names()


@final
@dataclass(frozen=True)
class Clip(Expression):
    """A column of numbers moved into other bounds: what lies outside becomes the nearer one.

    >>> from privet.tables.expressions import Ref
    >>> Clip(Ref("cost"), 0, 500).column({"cost": Int(-10, 10_000)})
    Int(lower=0, upper=500, null=False)
    """

    of: Expression
    lower: int | float
    upper: int | float

    def __post_init__(self) -> None:
        if finite("lower", self.lower) > finite("upper", self.upper):
            raise InvalidParameter("the lower bound must not be above the upper one")

    def column(self, columns: Columns) -> Column:
        inner = _number(self.of.column(columns))
        if isinstance(inner, Float) or isinstance(self.lower, float) or isinstance(self.upper, float):
            return Float(float(self.lower), float(self.upper), null=inner.null)
        return Int(self.lower, self.upper, null=inner.null)

    def names(self) -> frozenset[str]:
        return self.of.names()


def _number(column: Column) -> Column:
    if not column.numeric:
        raise InvalidParameter(f"only numbers have products and bounds, and this is {column.describe()}")
    return column

"""Features of a person: one number out of all rows that are about them, within declared bounds."""

from dataclasses import dataclass
from math import ceil, floor
from typing import final

from privet.errors import InvalidParameter
from privet.tables.columns import Bool, Column, Date, Float, Int, Time, known_column
from privet.tables.expressions import Columns

KINDS = ("count", "sum", "last")


@final
@dataclass(frozen=True)
class Feature:
    """The number of rows of a person, the sum of a column over them, or its last value in the order of another column.
    Counts and sums are moved into `bounds`; what a column is, its last value is too. Of several rows that come last the
    greatest value counts; rows without a value do not.

    >>> Feature("sum", "cost", bounds=(0, 900)).declared({"cost": Int(0, 50)})
    Int(lower=0, upper=900, null=False)
    """

    kind: str
    column: str | None = None
    by: str | None = None
    bounds: tuple[int | float, int | float] | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidParameter(f"features of a person are {', '.join(KINDS)}, got {self.kind!r:.40}")
        if (self.bounds is None) != (self.kind == "last") or (self.column is None) != (self.kind == "count"):
            raise InvalidParameter("counts and sums of a person need bounds, and all but counts a column")
        if (self.by is None) != (self.kind != "last"):
            raise InvalidParameter("a last value needs the column that says what comes last")

    def names(self) -> frozenset[str]:
        """The columns that it reads."""
        return frozenset(each for each in (self.column, self.by) if each is not None)

    def declared(self, columns: Columns) -> Column:
        """The column that describes it, or an error from public facts."""
        if self.kind == "count":
            return self._whole()
        assert self.column is not None
        inner = known_column(columns, self.column)
        if self.kind == "last":
            by = known_column(columns, str(self.by))
            if not isinstance(inner, Int | Float | Bool | Date) or not isinstance(by, Int | Float | Bool | Date | Time):
                raise InvalidParameter(
                    "a last value is of numbers, days, yes or no, in the order of numbers, days, times"
                )
            return inner
        assert self.bounds is not None
        if not inner.numeric:
            raise InvalidParameter(f"column {self.column!r} holds {inner.describe()}, which cannot be added up")
        if not isinstance(inner, Float):
            return self._whole()
        made = Float(float(self.bounds[0]), float(self.bounds[1]))
        self.ends(inner)
        return made

    def _whole(self) -> Int:
        assert self.bounds is not None
        low, high = self.bounds
        if any(not float(each).is_integer() for each in self.bounds):
            raise InvalidParameter("counts, and sums of whole numbers, have bounds that are whole numbers")
        return Int(int(low), int(high))

    def ends(self, inner: Float) -> tuple[int, int]:
        """The bounds of a sum of fractions in steps of their column: those inside of the declared ones."""
        assert self.bounds is not None
        assert inner.tick is not None
        low, high = ceil(self.bounds[0] / inner.tick), floor(self.bounds[1] / inner.tick)
        if max(abs(low), abs(high)) >= 2**52 or low > high:
            raise InvalidParameter(
                "the bounds of a sum must hold steps of its column, less than 2^52: give it a coarser tick"
            )
        return low, high

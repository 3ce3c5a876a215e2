"""Parts of days and times: the month of a day, the hour of a time."""

from dataclasses import dataclass
from typing import final

from privet.errors import InvalidParameter
from privet.tables.columns import Column, Date, Int, Time
from privet.tables.expressions import Columns, Expression

PARTS = ("year", "quarter", "month", "week", "day", "weekday")
TIME_PARTS = (*PARTS, "date", "hour", "minute")


@final
@dataclass(frozen=True)
class Part(Expression):
    """The year, quarter, month, week (of ISO 8601, 1 to 53), day of the month or weekday (0 for Monday) of a date or a
    time; of a time also its date, the hour of the day (0 to 23) and the minute of the hour.

    >>> from privet.tables.expressions import Ref
    >>> Part(Ref("day"), "month").column({"day": Date("2024-01-01", "2024-12-31")})
    Int(lower=1, upper=12, null=False)
    """

    of: Expression
    part: str

    def __post_init__(self) -> None:
        if self.part not in TIME_PARTS:
            raise InvalidParameter(f"a time has the parts {', '.join(TIME_PARTS)}, got {self.part!r:.40}")

    def column(self, columns: Columns) -> Column:
        inner = self.of.column(columns)
        if not isinstance(inner, Date | Time) or (isinstance(inner, Date) and self.part not in PARTS):
            kinds = "a date or a time" if self.part in PARTS else "a time (pv.Time)"
            raise InvalidParameter(f"the {self.part} is a part of {kinds}, and this is {inner.describe()}")
        if self.part == "date":
            assert isinstance(inner, Time)
            return Date(inner.lower.date(), inner.upper.date(), null=inner.null)
        ends = {"year": (inner.lower.year, inner.upper.year), "quarter": (1, 4), "month": (1, 12), "week": (1, 53)}
        ends |= {"day": (1, 31), "weekday": (0, 6), "hour": (0, 23), "minute": (0, 59)}
        return Int(*ends[self.part], null=inner.null)

    def names(self) -> frozenset[str]:
        return self.of.names()

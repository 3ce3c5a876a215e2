"""The count of records that satisfy a condition."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from privet._numerics import exact_ratio
from privet.errors import InvalidData
from privet.mechanisms.counting import CountingMechanism
from privet.mechanisms.families.columns import admit_column, holds_booleans, is_number, is_typed, read_column
from privet.mechanisms.mechanism import Example, register
from privet.privacy import Guarantee, Unit

_CONDITION = (
    "a count takes a condition, one yes or no for each record: pass column >= 65, say. For the number of all records take "
    "RowCount; to protect a number that was counted elsewhere, Geometric"
)


@final
@register
@dataclass(frozen=True, kw_only=True)
class Count(CountingMechanism):
    """The number of records for which a condition is true: a boolean column, or a list of yes and no.

    In a list, True and numbers other than 0 are true. What is missing or no number is not. `RowCount` counts all
    records; to protect a count made elsewhere take `Geometric`. The noise is discrete Laplace, or Gaussian rounded to
    integers where a delta makes that smaller.

    **Guarantee:** that of the noise, for every list of records.
    **Sensitivity:** 1 under add/remove and under replace, times `max_rows`.
    **Error:** the exact integer quantile.
    **Reference:** Ghosh, Roughgarden & Sundararajan 2009.

    >>> mechanism = Count.for_budget(epsilon=1.0)
    >>> print(mechanism.error(0.95))
    +-3 (95%)
    >>> ages = np.array([23, 61, 70])
    >>> type(mechanism.release(ages >= 65).value)
    <class 'int'>
    """

    name = "count"

    def _admit(self, value: object) -> None:
        if is_number(value) or isinstance(value, range):
            raise InvalidData(_CONDITION)
        admit_column(value)
        if (is_typed(value) and not holds_booleans(value)) or getattr(value, "ndim", 1) != 1:
            raise InvalidData(_CONDITION)

    def _prepare(self, value: Any) -> int:
        if is_typed(value):
            values, absent = read_column(value)
            return int(np.count_nonzero(values if absent is None else values & ~absent))
        return sum(1 for item in value if (exact_ratio(item) or (0, 1))[0] != 0)

    def _notes(self, drawn: int) -> tuple[str, ...]:
        return ("missing records not counted; the bar covers noise alone",)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls.for_budget(epsilon=1.0), [True, False, True], [True, False], Guarantee(1.0))
        private = cls.for_budget(epsilon=0.5, delta=1e-6, unit=Unit("replace"))
        yield Example(private, [1, 0, None], [1, 0, 1], Guarantee(0.5, 1e-6))
        yield Example(cls.for_budget(rho=0.1, max_rows=4), [], [1, 1, 1, 1], Guarantee(rho=0.1))

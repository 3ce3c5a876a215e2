"""The number of records."""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms.counting import CountingMechanism
from privet.mechanisms.families.columns import is_number, is_view
from privet.mechanisms.mechanism import Example, register
from privet.privacy import Guarantee

_ROWS = (
    "records come as a list, a column or a table, one row for each; to protect a number that was counted elsewhere take "
    "Geometric"
)


@final
@register
@dataclass(frozen=True, kw_only=True)
class RowCount(CountingMechanism):
    """The number of records in a list, a column or a whole table; what they hold does not matter, missing or not.

    **Guarantee:** that of the noise, for every table.
    **Sensitivity:** 1 under add/remove, times `max_rows`. Under replace the number of records is public: count it.
    **Error:** the exact integer quantile.
    **Reference:** Ghosh, Roughgarden & Sundararajan 2009.

    >>> mechanism = RowCount.for_budget(epsilon=1.0)
    >>> 80 < mechanism.release(["a"] * 100).value < 120
    True
    """

    name = "row_count"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise.unit.relation != "add_remove":
            raise InvalidParameter(
                "the number of records is public unless records are added or removed: use it as it is"
            )

    def _admit(self, value: object) -> None:
        text = isinstance(value, str | bytes | bytearray | Mapping | Set)
        rows = isinstance(value, Iterable) or hasattr(value, "__len__") or hasattr(value, "num_rows")
        single = is_number(value) or (isinstance(value, np.ndarray) and value.ndim == 0)
        if text or single or not rows or is_view(value):
            raise InvalidData(_ROWS)
        if hasattr(value, "__len__") and not hasattr(value, "num_rows"):
            try:
                len(value)
            except TypeError:  # a sparse matrix, a lazy table: they have no length to speak of
                raise InvalidData(_ROWS) from None

    def _prepare(self, value: Any) -> int:
        if hasattr(value, "num_rows"):
            return int(value.num_rows)
        return len(value) if hasattr(value, "__len__") else sum(1 for _ in value)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls.for_budget(epsilon=1.0), ["x", None, 3], ["x", None], Guarantee(1.0))
        yield Example(cls.for_budget(rho=0.1, max_rows=4), [], [1, 2, 3, 4], Guarantee(rho=0.1))

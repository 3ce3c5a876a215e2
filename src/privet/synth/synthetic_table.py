"""Rows that were drawn from a model, in the types of the schema."""

from typing import Any, final

from privet._markup import grid, note, told
from privet._numerics import Array
from privet.mechanisms.frames import Framed
from privet.tables import Coding

_SHOWN = 10  # rows


@final
class SyntheticTable(Framed):
    """Synthetic rows: columns by name, and their codes. They may be copied and published as often as you like.

    >>> import numpy as np
    >>> from privet.tables import Bool
    >>> rows = SyntheticTable(Coding.of({"ill": Bool()}), np.array([[0], [1]]), {"ill": np.array([False, True])})
    >>> len(rows), rows["ill"].tolist(), rows.to_arrow().num_rows
    (2, [False, True], 2)
    """

    def __init__(self, coding: Coding, codes: Array, columns: dict[str, Any]) -> None:
        self.coding, self.codes, self._columns = coding, codes, columns

    def columns(self) -> dict[str, Any]:
        """The columns as arrays; missing values are masked."""
        return dict(self._columns)

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        return f"<synthetic table: {len(self):,} rows of {', '.join(self._columns)}>"

    def _repr_html_(self) -> str:
        shown = min(len(self), _SHOWN)
        rows = zip(*([told(each) for each in column[:shown]] for column in self._columns.values()), strict=True)
        below = f"{len(self):,} synthetic rows" + (f", the first {shown} of them" if shown < len(self) else "")
        return grid(list(self._columns), rows) + note(below)

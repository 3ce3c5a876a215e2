"""Tables of a model as people read them: values and bins in the place of codes, and an interval for every count."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, final

import numpy as np

from privet._cache import kept_property
from privet._figure import require_plotting, save_figure
from privet._markup import Interval, Shown, grid, note, told, with_ends
from privet._numerics import Array
from privet.errors import InvalidParameter
from privet.mechanisms import ErrorBar
from privet.mechanisms.frames import Framed
from privet.mechanisms.picture import picture
from privet.tables import Coding

_SHOWN = 20  # rows
_NAMES = ("count", "rows", "number", "model_count", "model_rows")  # of the counts: the first that no column has


@final
class CountTable(Shown, Framed):
    """Expected counts of all combinations of some columns: `counts` with an axis for each of `coding`'s columns, `error`
    the bar around them (None where nothing that was measured bounds it), `price` what the model promises, in words.

    As a frame it has a row for each combination: values of the schema's types, bins as texts, the count, and the ends of
    its interval, which never reach below 0.

    >>> from privet.tables import Int
    >>> coding = Coding.of({"age": Int(0, 99)}, cuts={"age": [18, 65]})
    >>> print(CountTable(coding, np.array([20.0, 70.5, 9.5]), ErrorBar(np.array([4.0, 5.0, 10.0]), 0.95)))
         age            count
     [0, 18)      20 [16, 24]
    [18, 65)  70.5 [65.5, 75.5]
    [65, 99]     9.5 [0, 19.5]
    95% intervals, all of them at once
    """

    def __init__(self, coding: Coding, counts: Array, error: ErrorBar | None, price: str = "") -> None:
        if np.shape(counts) != coding.sizes:
            raise InvalidParameter("a table has an axis for each column, and an entry for each code")
        self.coding, self.counts, self.error, self.price = coding, np.asarray(counts, dtype=float), error, price

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """The texts of bins, for the columns that have some."""
        cut = enumerate(self.coding.edges)
        return {self.coding.names[place]: self.coding.labels(place) for place, edges in cut if edges is not None}

    @property
    def name(self) -> str:
        """The name of the counts among the columns: `count`, unless a column of the table is called so."""
        taken = {end for each in self.coding.names for end in (each, each.removesuffix("_low").removesuffix("_high"))}
        return next(each for each in (*_NAMES, *(f"count_{i}" for i in range(len(taken) + 1))) if each not in taken)

    @kept_property
    def _ends(self) -> tuple[Array, Array] | None:
        """The ends of every count's interval, where each has one."""
        if self.error is None or not self.error.around:
            return None
        low, high = self.error.interval(self.counts)
        return np.maximum(low, 0.0), np.asarray(high)

    def columns(self) -> dict[str, Any]:
        """A row for each combination, the last column changing first; missing values are masked."""
        codes = np.indices(self.counts.shape).reshape(self.counts.ndim, -1)
        made: dict[str, Any] = {}
        for place, name in enumerate(self.coding.names):
            made[name] = self._keys(place)[codes[place]]
        made[self.name] = self.counts.reshape(-1)
        if self._ends is not None:
            made[f"{self.name}_low"], made[f"{self.name}_high"] = (each.reshape(-1) for each in self._ends)
        return made

    def _keys(self, place: int) -> Array:
        """The value of each code of a column; bins as texts."""
        column, size = self.coding.listed[place][1], self.coding.sizes[place]
        if self.coding.edges[place] is None:
            part = self.coding.subset([self.coding.names[place]])
            return part.decode(np.arange(size)[:, None])[self.coding.names[place]]
        texts = np.array(self.coding.labels(place))
        return np.ma.MaskedArray(texts, np.arange(size) == size - 1) if column.null else texts

    def __len__(self) -> int:
        return self.counts.size

    def _rows(self) -> Iterator[list[str]]:
        labels = [self.coding.labels(place) for place in range(self.counts.ndim)]
        for cell in islice(np.ndindex(self.counts.shape), _SHOWN):
            texts = [each[code] for each, code in zip(labels, cell, strict=True)]
            value: str | Interval = told(float(self.counts[cell]))
            if self._ends is not None:
                value = with_ends(float(self.counts[cell]), *(float(each[cell]) for each in self._ends))
            yield [*texts, value]

    def _notes(self) -> list[str]:
        more = [f"{len(self) - _SHOWN:,} more rows"] if len(self) > _SHOWN else []
        if self.error is None:
            return [*more, "no error bar: no measured table holds these columns"]
        told_as = f"{100.0 * self.error.confidence:.4g}%"
        if self._ends is not None:
            return [*more, f"{told_as} intervals, all of them at once"]
        return [*more, f"{self.error.of}: at most {told(self.error.radius)} ({told_as})"]

    def __str__(self) -> str:
        rows = [[*self.coding.names, self.name], *self._rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        return "\n".join([*lines, *self._notes()])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return grid([*self.coding.names, self.name], self._rows()) + "".join(map(note, self._notes()))

    def plot(self, path: str | Path | None = None) -> Any:
        """A picture of all counts with their intervals. A figure of matplotlib, which a notebook shows; with a `path` it is
        also written there (.png, .svg, .pdf)."""
        target = None if path is None else Path(path)
        require_plotting(target)
        figure = picture(self, self.error, self.price, self.name)
        if target is not None:
            save_figure(figure, target)
        return figure

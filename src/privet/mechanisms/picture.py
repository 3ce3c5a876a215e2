"""The picture of a release: every number with its interval, by group, bin or value; drawn from what was released alone."""

import importlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from privet._amount import is_number
from privet._figure import PALETTE, Axes, Figure, accent, label, new_figure, new_panels, title
from privet._markup import told
from privet._numerics import Array
from privet.errors import InvalidParameter, PrivetError
from privet.mechanisms.display import confidence_in_words
from privet.mechanisms.error_bar import ErrorBar
from privet.mechanisms.frames import columns_of

_MOST_NAMES = 60  # groups with a name of their own that fit into one picture
_MOST_PANELS = 6  # more are too small to be read
_MOST_SERIES = len(PALETTE)
_ALL = "(all)"  # stands in an answer of several tables where a table does not have a key


class Series(NamedTuple):
    """The contents of one picture: names of groups by key, a number for each, and the ends of its interval.

    >>> Series("n", {"ward": np.array(["A"])}, np.array([3]), None, None).name
    'n'
    """

    name: str
    keys: dict[str, Array]
    values: Array
    low: Array | None
    high: Array | None
    labelled: frozenset[str] = frozenset()  # keys that are bins: texts with an order

    def kept(self, rows: Array) -> "Series":
        """Some of the rows, with the keys that have a value in them."""
        keys = {name: column[rows] for name, column in self.keys.items()}
        keys = {name: _numbers(column) for name, column in keys.items() if set(column.tolist()) != {_ALL}}
        low, high = (None if end is None else end[rows] for end in (self.low, self.high))
        return self._replace(keys=keys, values=self.values[rows], low=low, high=high)


def picture(value: object, bar: ErrorBar | None, price: str, of: str | None) -> Figure:
    """The figure of a released value; `of` names one of its columns or parts."""
    if of is not None and isinstance(value, Mapping) and of in value and not is_number(value[of]):
        value, of = value[of], None
    if isinstance(value, Mapping) and value and not all(is_number(each) for each in value.values()):
        raise InvalidParameter(f"this release has several parts: draw one, as in plot(of={next(iter(value))!r})")
    every = _series(value, bar)
    chosen = [each for each in every if of is None or each.name == of]
    if not chosen:
        raise InvalidParameter(f"there is no {of!r:.60} to draw; there is {', '.join(each.name for each in every)}")
    panels = [panel for each in chosen for panel in _tables(each)]
    if len(panels) > _MOST_PANELS:
        raise InvalidParameter(
            f"{len(panels)} tables do not fit into one picture: ask for fewer columns, or draw release.to_pandas()"
        )
    figure, axes = _axes_for(panels)
    for one, panel in zip(axes, panels, strict=True):
        _draw(one, panel)
        one.margins(y=0.08)
    title(
        axes[0],
        ", ".join(dict.fromkeys(each.name for each in chosen)) + _by(chosen[0]),
        f"{_level(bar, value, chosen)}; {price}",
    )
    return figure


def _by(series: Series) -> str:
    return f" by {', '.join(series.keys)}" if series.keys and len(series.values) > 1 else ""


def _axes_for(panels: list[Series]) -> tuple[Figure, list[Axes]]:
    tallest = max(len(each.values) if _named(each) else 0 for each in panels)
    height = max(3.4, 1.6 + 0.24 * tallest)
    if len(panels) == 1:
        figure, axes = new_figure(height=max(height, 4.2 if tallest == 0 else height))
        return figure, [axes]
    return new_panels(len(panels), width=max(3.4, 8.0 / len(panels)), height=height, together=False)


def _series(value: object, bar: ErrorBar | None) -> list[Series]:
    """The columns of numbers with their intervals, each with the keys of its rows."""
    if isinstance(value, str | bytes) or (isinstance(value, list | tuple) and not all(map(is_number, value))):
        raise InvalidParameter("there are no numbers in this release: nothing can be drawn; print it")
    if isinstance(value, Mapping) and value and all(is_number(each) for each in value.values()):
        return [_by_name(value, bar)]
    wide = getattr(value, "columns_with_intervals", None)
    try:
        columns = wide() if callable(wide) else columns_of(value)
    except PrivetError:
        raise InvalidParameter(f"a release of type {type(value).__name__} is no table: nothing can be drawn") from None
    labelled = frozenset(getattr(value, "labels", None) or ())
    ends = {name: _ends_of(name, columns) for name in columns}
    shown = [name for name in columns if ends[name] is not None]
    taken = {f"{name}{side}" for name in columns for side in ("_low", "_high", "_note")} & set(columns)
    taken |= {"low", "high", "raw", "variance"} & set(columns) if "value" in columns else set()
    if not shown:  # numbers without intervals: all but the first column, which names them
        numbers = [name for name, each in columns.items() if each.dtype.kind in "iuf" and name not in taken]
        shown = numbers if len(columns) == len(numbers) == 1 else numbers[-1:]
    shown += [name for name in columns if f"{name}_note" in columns and name not in shown]
    keys = {name: _plain(each) for name, each in columns.items() if name not in taken and name not in shown}
    if not shown:
        raise InvalidParameter(f"there are no numbers in this release ({type(value).__name__}): nothing can be drawn")
    if not keys and len(columns[shown[0]]) > 1:
        keys = {"entry": np.arange(len(columns[shown[0]]))}
    return [_one(name, columns, ends[name], _merged(keys), labelled, bar, value) for name in shown]


def _one(
    name: str, columns: dict[str, Array], ends: Any, keys: dict[str, Array], labelled: Any, bar: Any, value: object
) -> Series:
    low, high = ends or _around(value, bar)
    return Series(name, keys, np.ma.getdata(columns[name]), low, high, labelled)


def _around(value: object, bar: ErrorBar | None) -> tuple[Any, Any]:
    """The ends by the bar of the release, where the value does not carry its own."""
    if bar is None or not bar.around or isinstance(bar.radius, Mapping):
        return None, None
    try:
        low, high = bar.interval(value)
    except PrivetError:
        return None, None
    return np.atleast_1d(low), np.atleast_1d(high)


def _by_name(value: Mapping[Any, Any], bar: ErrorBar | None) -> Series:
    names = list(value)
    numbers = np.array([float(each) for each in value.values()])
    low, high = numbers.copy(), numbers.copy()
    for place, name in enumerate(names):
        if bar is not None and bar.around and (isinstance(bar.radius, Mapping) or bar.of == name):
            first, last = bar.interval(value)
            inside = not isinstance(first, Mapping) or name in first
            if inside:
                low[place], high[place] = (first[name], last[name]) if isinstance(first, Mapping) else (first, last)
    return Series("value", {"name": np.array([str(name) for name in names])}, numbers, low, high)


def _ends_of(name: str, columns: dict[str, Array]) -> tuple[Array, Array] | None:
    for low, high in ((f"{name}_low", f"{name}_high"), *([("low", "high")] if name == "value" else [])):
        if low in columns and high in columns:
            return np.ma.getdata(columns[low]), np.ma.getdata(columns[high])
    return None


def _plain(column: Array) -> Array:
    return column if not np.ma.isMA(column) else np.array(column.tolist(), dtype=object)


def _numbers(column: Array) -> Array:
    """Whole numbers that stand in an answer as texts, as numbers again."""
    if column.dtype.kind not in "OU" or not all(
        isinstance(x, str) and x.lstrip("-").isdecimal() for x in column.tolist()
    ):
        return column
    return np.array([int(each) for each in column.tolist()])


def _merged(keys: dict[str, Array]) -> dict[str, Array]:
    """First and last of a bin as one key: its first value, on which an axis of numbers can stand."""
    return {"value": keys["first"]} if set(keys) == {"first", "last"} and keys["first"].dtype.kind in "iufM" else keys


def _tables(series: Series) -> list[Series]:
    """The tables that lie below each other in one answer: rows with values of the same keys belong together."""
    if not series.keys:
        return [series]
    held = [
        tuple(isinstance(each, str) and each == _ALL for each in row)
        for row in zip(*(c.tolist() for c in series.keys.values()), strict=True)
    ]
    return [
        series.kept(np.array([place for place, each in enumerate(held) if each == kind]))
        for kind in dict.fromkeys(held)
    ]


def _named(series: Series) -> bool:
    """Have groups names of their own, rather than places on an axis of numbers or an order?"""
    return not _ordered(series)


def _ordered(series: Series) -> bool:
    if len(series.keys) != 1:
        return False
    ((name, column),) = series.keys.items()
    return name in series.labelled or column.dtype.kind in "iufM"


def _draw(axes: Axes, series: Series) -> None:
    if len(series.keys) == 1 and _ordered(series):
        ((name, column),) = series.keys.items()
        if name in series.labelled or len(column) <= _MOST_NAMES // 2:
            _bars(axes, series, name, [told(each) for each in column.tolist()])
        else:
            _band(axes, series, name, column)
        return
    if len(series.values) > _MOST_NAMES:
        raise InvalidParameter(
            f"{len(series.values):,} groups do not fit into one picture (at most {_MOST_NAMES}): draw some of them from "
            "release.to_pandas()"
        )
    _rows(axes, series)


def _reach(series: Series, rows: Any = slice(None)) -> Any:
    """Distances down and up, as matplotlib takes them; never negative."""
    if series.low is None or series.high is None:
        return None
    values = series.values[rows].astype(float)
    return np.maximum(
        np.stack([values - series.low[rows].astype(float), series.high[rows].astype(float) - values]), 0.0
    )


def _counted(series: Series) -> bool:
    """Bars begin at 0, which makes sense for counts alone."""
    return len(series.values) > 1 and (series.name in ("n", "count") or series.values.dtype.kind in "iu")


def _bars(axes: Axes, series: Series, name: str, labels: list[str]) -> None:
    place = np.arange(len(labels))
    if _counted(series):
        axes.bar(place, series.values, width=0.85, color=accent, alpha=0.35)
    axes.errorbar(place, series.values, _reach(series), fmt="o", color=accent, markersize=4, capsize=3, linewidth=1.4)
    crowded = sum(map(len, labels)) > 70
    axes.set_xticks(place, labels, rotation=60 if crowded else 0, ha="right" if crowded else "center")
    axes.grid(False, axis="x")
    label(axes, name, series.name)


def _band(axes: Axes, series: Series, name: str, column: Array) -> None:
    order = np.argsort(column, kind="stable")
    if series.low is not None and series.high is not None:
        axes.fill_between(
            column[order], series.low[order], series.high[order], color=accent, alpha=0.25, linewidth=0, step="mid"
        )
    axes.step(column[order], series.values[order], where="mid", color=accent, linewidth=1.6)
    if column.dtype.kind == "M":
        dates = importlib.import_module("matplotlib.dates")
        axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(axes.xaxis.get_major_locator()))
    label(axes, name, series.name)


def _rows(axes: Axes, series: Series) -> None:
    """A line for every group, read from above; of two keys the second in colours where it has few values."""
    *first, last = series.keys.items() if series.keys else [("", np.array([series.name]))]
    colours = list(dict.fromkeys(told(each) for each in last[1].tolist()))
    if not first or len(colours) > _MOST_SERIES:
        first, colours = [*first, last], [""]
        groups = [""] * len(series.values)
    else:
        groups = [told(each) for each in last[1].tolist()]
    names = [
        " / ".join(each) for each in zip(*([told(x) for x in column.tolist()] for _, column in first), strict=True)
    ]
    places = {name: place for place, name in enumerate(dict.fromkeys(names))}
    for i, colour in enumerate(colours):
        rows = np.array([place for place, each in enumerate(groups) if each == colour])
        shift = (i - (len(colours) - 1) / 2.0) * 0.6 / max(len(colours), 1)
        heights = np.array([places[names[row]] for row in rows]) + shift
        if _counted(series):
            thick = 0.75 if len(colours) == 1 else 0.5 / len(colours)
            axes.barh(heights, series.values[rows], height=thick, color=PALETTE[i], alpha=0.3)
        axes.errorbar(
            series.values[rows],
            heights,
            xerr=_reach(series, rows),
            fmt="o",
            color=PALETTE[i],
            markersize=4,
            capsize=3,
            linewidth=1.4,
            label=colour,
        )
    if len(colours) > 1:
        axes.legend(
            frameon=False, fontsize=9, title=last[0], title_fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0)
        )
    axes.set_yticks(list(places.values()), list(places))
    axes.invert_yaxis()
    axes.grid(False, axis="y")
    label(axes, series.name, " / ".join(name for name, _ in first))


def _level(bar: ErrorBar | None, value: object, series: list[Series]) -> str:
    """Words on the intervals that are drawn."""
    if all(each.low is None for each in series):
        return "no intervals"
    if bar is not None and bar.around:
        return confidence_in_words(bar)
    return f"{100.0 * getattr(value, 'confidence', 0.95):.4g}% intervals, each by itself"

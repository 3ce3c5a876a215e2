"""The error bar of a release: how far it may be from the truth, in the units of the data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

import numpy as np

from privet._markup import Shown
from privet._validate import finite, flag, open_fraction, set_frozen
from privet.errors import InvalidParameter, SerialisationError

Extent = Any
"""A distance: one number, an array with one for each cell, or a mapping with one of these for each column."""

_EXTENTS = ("radius", "below", "bias", "bias_below")


@dataclass(frozen=True, eq=False)
class ErrorBar(Shown):
    """With probability at least `confidence`, what `of` names is at most `radius` away from the exact answer.

    `radius` is one number, an array with a number for each cell, or a mapping from columns to either. `below` is how far
    the exact answer may lie below the value, where that is another distance: then `radius` is the one above. All cells
    lie within their bars at once with that probability, unless `joint` is False: then each cell by itself does.

    `bias` bounds what no noise explains: how far the answer on clipped data may be from the one on the data as they were
    (`bias_below`: on the lower side, where that differs). It is certain and stands apart; `interval` adds it.

    `expected` is the expected error where a closed form is known. `around` is False when the radius is not in the units
    of the value: the shortfall of a score, a rank, a share. Everything here follows from public parameters.

    **Error:** the statement is about the noise alone, not about sampling error of the data.

    >>> bar = ErrorBar(2.0, confidence=0.95, of="the value")
    >>> str(bar), bar.interval(10.0)
    ('+-2 (95%)', (8.0, 12.0))
    >>> cells = ErrorBar([1.0, 2.5], 0.9, below=[0.0, 2.5])
    >>> print(cells)
    -0 to 2.5 +1 to 2.5 (90%, 2 cells)
    >>> [end.tolist() for end in cells.interval(np.array([10.0, 20.0]))]
    [[10.0, 17.5], [11.0, 22.5]]
    >>> print(ErrorBar({"n": 3.0, "mean": [0.5, 1.5]}, 0.95, bias={"mean": 0.25}))
    n: +-3, mean: +-0.5 to 1.5 (bias at most 0.25) (95%)
    """

    radius: Extent
    confidence: float
    of: str = "the value"
    expected: float | None = None
    around: bool = True
    below: Extent = None
    bias: Extent = None
    bias_below: Extent = None
    joint: bool = True

    def __post_init__(self) -> None:
        open_fraction("confidence", self.confidence)
        flag("around", self.around)
        flag("joint", self.joint)
        given = {name: _clean(name, getattr(self, name)) for name in _EXTENTS if getattr(self, name) is not None}
        set_frozen(self, **given)
        if self.radius is None:
            raise InvalidParameter("radius must be a number, an array or a mapping")
        if len(given) == 1:
            return
        if self.bias is None and self.bias_below is not None:
            raise InvalidParameter("bias_below needs bias, the bound on the upper side: give 0.0 where there is none")
        for name, other in (("below", self.radius), ("bias", self.radius), ("bias_below", self.bias)):
            _fits(name, getattr(self, name), other)

    def interval(self, value: object, *, bias: bool = True) -> tuple[Any, Any]:
        """The interval around a released value (number or array; of several named values, or of an object with such an
        attribute, around the one in `of`). With one bar for each column, two mappings with the ends of the columns that
        have one.

        It covers the exact answer on the data as they were; `bias=False` gives that of the noise alone, which covers the
        answer on the clipped data.
        """
        if not self.around:
            raise InvalidParameter(f"this error bar is about {self.of}; there is no interval around the value itself")
        if isinstance(self.radius, Mapping):
            ends = {name: self._ends(_column(value, name), name, bias) for name in self.radius}
            return {name: low for name, (low, _) in ends.items()}, {name: high for name, (_, high) in ends.items()}
        if isinstance(value, Mapping):
            value = _column(value, self.of)
        elif not isinstance(value, np.ndarray) and self.of.isidentifier():
            value = getattr(value, self.of, value)
        return self._ends(value, None, bias)

    def _ends(self, value: Any, column: str | None, bias: bool) -> tuple[Any, Any]:
        down, up = self._reach(column, bias)
        if isinstance(value, list | tuple):
            value = np.asarray(value)
        if isinstance(value, np.ndarray) and value.dtype.kind in "bu":
            value = value.astype(np.float64)  # a difference of unsigned numbers has no sign
        for reach in (down, up):
            if isinstance(reach, np.ndarray) and reach.shape != np.shape(value):
                raise InvalidParameter(
                    "the error bar has other cells than the value; is it the bar of another release?"
                )
        try:
            return value - down, value + up
        except (TypeError, ValueError):
            raise InvalidParameter(
                f"the bar goes around numbers, and this is a {type(value).__name__}; pass release.value, or ask for "
                "release.interval"
            ) from None

    def _reach(self, column: str | None, bias: bool) -> tuple[Any, Any]:
        """The distances down and up, of one column or of the value."""

        def of(extent: Extent) -> Any:
            return extent.get(column) if isinstance(extent, Mapping) else extent

        up = of(self.radius)
        down = up if of(self.below) is None else of(self.below)
        more = of(self.bias) if bias else None
        if more is None:
            return down, up
        return down + (more if of(self.bias_below) is None else of(self.bias_below)), up + more

    def scaled(self, factor: float, *, more: object = 0.0) -> "ErrorBar":
        """The bar of `factor` times the value, rounded outwards; `more` (what a product was rounded by) widens it.

        >>> print(ErrorBar(2.0, 0.95, below=1.0).scaled(-3.0))
        -6 +3 (95%)
        """
        if not self.around or isinstance(self.radius, Mapping):
            raise InvalidParameter(f"this error bar is about {self.of}: a multiple of the value has no such bar")
        down, up = self._reach(None, bias=False)
        low, high = self._reach(None, bias=True)
        ends = [(down, low - down), (up, high - up)]
        (below, bias_below), (above, bias) = ends if factor >= 0 else reversed(ends)

        def wide(extent: object) -> Any:
            return np.nextafter(np.abs(factor) * extent, np.inf) * (1.0 + 2.0**-50) + more

        biased = bool(np.any(bias) or np.any(bias_below))
        return ErrorBar(
            wide(above),
            self.confidence,
            of=self.of,
            expected=None if self.expected is None else abs(factor) * self.expected,
            below=None if below is above else wide(below),
            bias=wide(bias) if biased else None,
            bias_below=wide(bias_below) if biased else None,
            joint=self.joint,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain fields, for JSON. What was added to the form later is there only where it says something."""
        held = ((f.name, getattr(self, f.name), f.default) for f in fields(self))
        return {name: _plain(item) for name, item, default in held if name in _ALWAYS or item is not default}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> "ErrorBar":
        """Back from `to_dict`."""
        try:
            return cls(**{name: _read(item) if name in _EXTENTS else item for name, item in fields.items()})
        except (TypeError, ValueError, KeyError, AttributeError, InvalidParameter) as problem:
            raise SerialisationError(f"this is not an error bar: {problem}") from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ErrorBar):
            return NotImplemented
        return self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Any, ...]:
        return tuple(_hashable(getattr(self, f.name)) for f in fields(self))

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return ErrorBar.from_dict, (self.to_dict(),)  # a mapping that nobody can change has no pickle of its own

    def __str__(self) -> str:
        level = f"({100.0 * self.confidence:.4g}%{'' if self.joint else ' each'}"
        if isinstance(self.radius, Mapping):
            text = ", ".join(f"{name}: {self._told(name)}" for name in self.radius) + f" {level})"
        else:
            cells = f", {self.radius.size} cells" if isinstance(self.radius, np.ndarray) else ""
            text = f"{self._told(None, level + cells + ')')}"
        return text if self.around else f"[{self.of}: {text}]"

    def _told(self, column: str | None, level: str = "") -> str:
        down, up = self._reach(column, bias=False)
        same = down is up or np.array_equal(down, up)
        bar = " ".join(filter(None, (f"+-{_span(up)}" if same else f"-{_span(down)} +{_span(up)}", level)))
        wide = self._reach(column, bias=True)
        low, high = wide[0] - down, wide[1] - up
        if not (np.any(low) or np.any(high)):
            return bar
        if np.array_equal(low, high):
            most = f"at most {float(np.max(high)):.4g}"
        else:
            most = f"at most -{float(np.max(low)):.4g} +{float(np.max(high)):.4g}"
        return f"{bar} (bias {most})"


_ALWAYS = ("radius", "confidence", "of", "expected", "around")  # the form that privet 0.1 wrote


def _clean(name: str, extent: Extent) -> Extent:
    """The extent as a float, a read-only array, or a mapping of these that nobody can change."""
    if isinstance(extent, Mapping):
        if not extent or not all(isinstance(column, str) for column in extent):
            raise InvalidParameter(f"{name} must name its columns by texts, and name at least one")
        if any(isinstance(each, Mapping) for each in extent.values()):
            raise InvalidParameter(f"{name} must hold numbers or arrays for its columns")
        return MappingProxyType({column: _clean(f"{name} of {column}", each) for column, each in extent.items()})
    if isinstance(extent, list | tuple | np.ndarray) and np.ndim(extent):
        try:
            cells = np.array(extent, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidParameter(f"{name} must hold one number for each cell") from None
        if not np.all(np.isfinite(cells) & (cells >= 0.0)):
            raise InvalidParameter(f"{name} must be finite and at least 0 in every cell")
        cells += 0.0  # no negative zero
        cells.setflags(write=False)
        return cells
    number = finite(name, extent.item() if isinstance(extent, np.ndarray) else extent)  # computed: of any size
    if number < 0.0:
        raise InvalidParameter(f"{name} must be at least 0, got {number}")
    return number


def _fits(name: str, part: Extent, whole: Extent) -> None:
    """A part is given by column where the whole is, for columns and cells that the whole has."""
    if part is None:
        return
    if isinstance(part, Mapping) != isinstance(whole, Mapping):
        raise InvalidParameter(f"{name} must be given by column exactly where radius is")
    if isinstance(part, Mapping):
        unknown = [column for column in part if column not in whole]
        if unknown:
            raise InvalidParameter(f"{name} names columns without a bar: {', '.join(unknown)}")
        for column, each in part.items():
            _fits(f"{name} of {column}", each, whole[column])
    elif np.ndim(part) and np.ndim(whole) and np.shape(part) != np.shape(whole):
        raise InvalidParameter(f"{name} must have one number for each cell of the bar")


def _column(value: Any, name: str) -> Any:
    try:
        return value[name]
    except (KeyError, TypeError, IndexError, ValueError):
        raise InvalidParameter(f"the error bar is about {name!r}, which this value does not have") from None


def _plain(item: object) -> Any:
    if isinstance(item, Mapping):
        return {"columns": [[name, _plain(each)] for name, each in item.items()]}  # in their order, whoever sorts keys
    if isinstance(item, np.ndarray):
        return {"cells": item.reshape(-1).tolist(), "shape": list(item.shape)}
    return item


def _read(item: object) -> Any:
    if isinstance(item, dict) and "columns" in item:
        return {name: _read(each) for name, each in item["columns"]}
    if isinstance(item, dict):
        return np.array(item["cells"], dtype=np.float64).reshape(item["shape"])
    return item


def _hashable(item: object) -> Any:
    if isinstance(item, Mapping):
        return tuple((name, _hashable(each)) for name, each in item.items())
    return (item.shape, item.tobytes()) if isinstance(item, np.ndarray) else item


def _span(extent: object) -> str:
    """A distance, or the smallest and the largest one of many."""
    if not isinstance(extent, np.ndarray):
        return f"{extent:.4g}"
    if not extent.size:
        return "0"
    low, high = float(extent.min()), float(extent.max())
    return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"

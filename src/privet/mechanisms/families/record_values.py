"""Records as clean numbers: public bounds, what counts as missing, reading by type alone."""

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from privet._numerics import Array, exact_ratio
from privet._validate import at_least, finite
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms.families.columns import admit_column, dimensions, is_number, is_typed, moment, read_column
from privet.privacy import Unit

Missing = float | Literal["drop"]
_SHAPE = "records must be a one-dimensional array or list of numbers, one entry per record"


def public_bounds(bounds: object) -> tuple[float, float]:
    """A pair lowest < highest of public numbers.

    >>> public_bounds((0, 10))
    (0.0, 10.0)
    """
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise InvalidParameter("bounds must be a pair (lowest, highest) of public numbers, never read from the data")
    low, high = (finite("bounds", moment(end)) for end in bounds)
    if low == high:
        raise InvalidParameter("bounds must differ: with equal ones every record is the same public constant")
    if low > high:
        raise InvalidParameter(f"bounds must satisfy lowest < highest, got ({low:g}, {high:g})")
    at_least("width of the bounds", high - low, 0.0)
    at_least("size of the bounds", max(abs(low), abs(high)), 0.0)
    return low, high


def admit_records(value: object) -> None:
    """Refuse what is no list or column of numbers, by type, dtype and shape alone.

    >>> admit_records([1, None, "x"])
    """
    if is_number(value):
        raise InvalidData(_SHAPE)
    admit_column(value)
    if is_typed(value) and dimensions(value) != 1:
        raise InvalidData(_SHAPE)


def as_records(value: Any) -> Array:
    """Records as doubles, each read by itself: the nearest double, NaN for what is no number. One dimension.

    >>> as_records([1, None, 2.5, True, "x"]).tolist()
    [1.0, nan, 2.5, 1.0, nan]
    """
    admit_records(value)
    if not is_typed(value):
        items = value if isinstance(value, list | tuple) else list(value)
        return np.fromiter(map(_number, items), dtype=np.float64, count=len(items))
    values, absent = read_column(value)
    if values.ndim != 1:
        raise InvalidData(_SHAPE)
    with np.errstate(over="ignore"):  # a long double beyond the doubles is infinite, and then clamped
        records = values.astype(np.float64, copy=False)
    return records if absent is None else np.where(absent, np.nan, records)


def _number(item: Any) -> float:
    """The nearest double. What stands in a list is data, and so is its type: none may take much longer than another."""
    kind = type(item)
    return item if kind is float else _BY_TYPE.get(kind, _of_any)(item)


def _of_int(item: int) -> float:
    return float(item) if -_OVERFLOWS < item < _OVERFLOWS else math.copysign(math.inf, item > 0 or -1)


def _of_ratio(item: Fraction) -> float:
    return _quotient(item.numerator, item.denominator)


def _of_decimal(item: Decimal) -> float:
    return math.nan if item.is_nan() else float(item)


def _of_none(item: object) -> float:
    return math.nan


def _of_any(item: object) -> float:
    ratio = exact_ratio(item)
    return math.nan if ratio is None else _quotient(*ratio)


def _quotient(top: int, bottom: int) -> float:
    longer = top.bit_length() - bottom.bit_length()
    if longer < 1024:
        return top / bottom
    if longer == 1024:  # near the largest double, on either side
        try:
            return top / bottom
        except OverflowError:
            pass
    return math.inf if top > 0 else -math.inf


_OVERFLOWS = 2**1024 - 2**970  # the least integer whose nearest double would be the next power of two
_BY_TYPE: dict[type, Callable[[Any], float]] = {
    int: _of_int,
    Fraction: _of_ratio,
    Decimal: _of_decimal,
    **dict.fromkeys((bool, np.bool_, np.float64, np.float32, np.int64, np.int32), float),
    **dict.fromkeys((type(None), str, bytes, list, tuple, dict, object), _of_none),
}


def clean_records(value: object, bounds: tuple[float, float], missing: Missing) -> Array:
    """Records as doubles within the bounds, the missing ones replaced or left out.

    >>> clean_records([None, 7, -math.inf], (0.0, 5.0), 1.0).tolist()
    [1.0, 5.0, 0.0]
    >>> clean_records([None, 7, -math.inf], (0.0, 5.0), "drop").tolist()
    [5.0, 0.0]
    """
    return clean_doubles(as_records(value), bounds, missing)


def clean_doubles(records: Array, bounds: tuple[float, float], missing: Missing) -> Array:
    """As `clean_records`, for records that have been read.

    >>> clean_doubles(np.array([math.nan, 7.0]), (0.0, 5.0), "drop").tolist()
    [5.0]
    """
    absent = np.isnan(records)
    kept = records[~absent] if missing == "drop" else np.where(absent, missing, records)
    return np.clip(kept, *bounds)


def public_missing(missing: Missing | None, bounds: tuple[float, float], unit: Unit) -> Missing:
    """The fate of a missing record: "drop", or the public number that stands for it.

    Under add/remove the default is "drop": a record that is left out moves nothing. Under replace records are exchanged
    one for one, so each must count as something: by default the middle of the bounds.

    >>> public_missing(None, (0.0, 10.0), Unit()), public_missing(None, (0.0, 10.0), Unit("replace"))
    ('drop', 5.0)
    """
    low, high = bounds
    if missing is None:
        return "drop" if unit.relation == "add_remove" else low + (high - low) / 2.0
    if isinstance(missing, str) and missing == "drop":
        if unit.relation != "add_remove":
            raise InvalidParameter(
                'missing="drop" would change the number of records, which replace keeps: give a public number within the '
                "bounds that a missing record counts as"
            )
        return "drop"
    constant = finite("missing", moment(missing))
    if not low <= constant <= high:
        raise InvalidParameter("missing must lie within the bounds: it stands for a record")
    return constant


def missing_note(missing: Missing | None) -> str:
    """The note of a release about missing records.

    >>> missing_note("drop")
    'missing records left out; the bar covers noise alone'
    """
    how = "left out" if missing == "drop" else f"counted as {missing:g}"
    return f"missing records {how}; the bar covers noise alone"

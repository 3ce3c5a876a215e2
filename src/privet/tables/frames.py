"""Data in memory as columns of numpy: pandas, Polars, Arrow, or a mapping of arrays. The kind of a column follows its
dtype, which is schema. Elements of lists and of object columns are data: they are read as the declared column says, and
what does not fit counts as missing."""

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from numbers import Rational
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidData
from privet.tables.columns import EPOCH, Bool, Category, Column, Date, Text, Time, is_unicode
from privet.tables.dialect import Raw
from privet.tables.texts import HUGE, day_in, number_in, second_in, truth_in


class RawColumn(NamedTuple):
    """A column as it is held: its kind, its values, and which of them are missing.

    >>> raw_column("a", [1, None]).missing.tolist()
    [False, True]
    """

    kind: Raw
    values: Array
    missing: Array


# What pandas reads a column as in which it finds no value (and a column of numbers). Where categories or days are declared
# it is not refused, since a neighbour with one value has another type: no number is one, in a list of objects either.
_VALUELESS = {"float64", "Int64", "Float64", "int64[pyarrow]", "double[pyarrow]"}
_FARTHEST = 2**53  # whole numbers beyond are no longer told apart by doubles
_KINDS: dict[str, Raw] = {"i": "int", "u": "int", "f": "float", "b": "bool", "M": "days", "U": "text", "T": "text"}


def is_frame(data: object) -> bool:
    """True if these are columns in memory.

    >>> is_frame({"a": [1]}), is_frame("visits.parquet")
    (True, False)
    """
    return isinstance(data, Mapping) or (hasattr(data, "iloc") and hasattr(data, "columns")) or is_arrow(data)


def is_arrow(data: object) -> bool:
    """True if a frame hands out Arrow: a table or a batch of Arrow, or a Polars frame.

    >>> is_arrow({"a": [1]})
    False
    """
    polars = hasattr(data, "to_arrow") and hasattr(data, "columns")  # a Series has no columns
    return hasattr(data, "__arrow_c_stream__") and (hasattr(data, "column_names") or polars)


def frame_names(data: Any) -> list[str]:
    """The names of the columns."""
    schema = getattr(data, "schema", None)
    names = schema.names if hasattr(data, "column_names") and schema is not None else None
    if names is None:
        names = list(data) if isinstance(data, Mapping) else list(data.columns)
    if len(names) == 0:
        raise InvalidData("a table needs at least one column")
    if not all(isinstance(name, str) for name in names) or len(set(names)) != len(list(names)):
        raise InvalidData("the columns of a table need names, which are texts and differ")
    if isinstance(data, Mapping) and len({_length(data[name]) for name in names} - {None}) > 1:
        raise InvalidData("the columns of a table must have one length")
    return list(names)


def _length(column: Any) -> int | None:
    """The length of a column; None for what has no length, and is refused by its type where it is read."""
    try:
        return len(column)
    except TypeError:
        return None


def raw_columns(data: Any, wanted: Mapping[str, Column | None]) -> dict[str, RawColumn]:
    """These columns of a frame; None for one that names persons.

    >>> raw_columns({"a": np.array([1, 2])}, {"a": None})["a"].kind
    'int'
    """
    made = {name: raw_column(name, data[name], column) for name, column in wanted.items()}
    if len({len(each.values) for each in made.values()}) > 1:
        raise InvalidData("the columns of a table must have one length")
    return made


def raw_kind(name: str, held: Any, column: Column | None = None) -> Raw:
    """The kind of a column by its dtype, without a look at its values.

    >>> raw_kind("a", np.array([1.5])), raw_kind("a", [1.5])
    ('float', 'text')
    """
    try:
        empty = held[:0]
    except Exception:  # of its type, whatever it holds
        empty = None
    if empty is None:
        told = type(held).__name__
        raise InvalidData(f"column {name!r} must be a list, an array or a series, got {told}", column=name)
    return raw_column(name, empty, column).kind


def raw_column(name: str, held: object, column: Column | None = None) -> RawColumn:
    """One column: an array, a list, a Series of pandas or Polars, or a column of Arrow.

    >>> raw_column("name", ["ann", 3, None]).missing.tolist()
    [False, False, True]
    """
    if isinstance(held, list | tuple):
        objects = np.empty(len(held), dtype=object)
        objects[:] = list(held)
        return _objects(objects, column)
    if hasattr(held, "to_arrow") or hasattr(held, "is_null"):
        return _of_arrow(name, held.to_arrow() if hasattr(held, "to_arrow") else held, column)
    if hasattr(held, "dtype") and not isinstance(held, np.ndarray):
        return _of_pandas(name, held, column)
    return _of_array(name, held if isinstance(held, np.ma.MaskedArray) else np.asarray(held), column)


def _of_pandas(name: str, column: Any, declared: Column | None) -> RawColumn:
    if str(column.dtype) in _VALUELESS and _is_no_number(declared):
        return _objects(np.full(len(column), None, dtype=object), declared)
    read = _of_dtype(name, column, declared)
    return _whole(read) if read.kind == "float" and isinstance(declared, Text) else read


def _of_dtype(name: str, column: Any, declared: Column | None) -> RawColumn:
    if isinstance(column.dtype, np.dtype):
        return _of_array(name, column.to_numpy(), declared)
    if not hasattr(column, "iloc"):  # an index, or an array of pandas' own
        import pandas

        column = pandas.Series(column)
    if hasattr(column.dtype, "pyarrow_dtype"):
        return _of_arrow(name, column.array.__arrow_array__(), declared)
    if str(column.dtype) == "category":
        return _of_categories(name, column, declared)
    missing = np.asarray(column.isna(), dtype=bool)
    kind = str(getattr(column.dtype, "kind", "O"))
    if "str" in str(column.dtype):
        return _texts(column.to_numpy(dtype=object).tolist())
    if str(column.dtype).startswith(("period", "interval")):  # stretches, which no column holds
        return RawColumn("other", np.zeros(len(column)), missing)
    if kind == "O":
        return _objects(column.to_numpy(dtype=object), declared)
    if kind == "M":
        return _of_array(name, column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy(), declared)
    if kind not in "iufb":
        return RawColumn("other", np.zeros(len(column)), missing)
    dtype = {"b": np.bool_, "f": np.float64, "u": np.uint64, "i": np.int64}[kind]
    plain = column.to_numpy(dtype=dtype, na_value=dtype(0)) if missing.any() else column.to_numpy(dtype=dtype)
    return _of_array(name, plain, declared)._replace(missing=missing)


def _is_no_number(declared: Column | None) -> bool:
    return isinstance(declared, Date | Time) or (isinstance(declared, Category) and declared.texts)


def _whole(read: RawColumn) -> RawColumn:
    """The whole numbers among floats, which pandas makes of all as soon as one is missing: as texts they are the same."""
    known = ~read.missing & (np.abs(read.values) < _FARTHEST)
    numbers = np.where(known, read.values, 0.5)
    whole = numbers == np.floor(numbers)
    return RawColumn("int", np.where(whole, numbers, 0.0).astype(np.int64), ~whole)


def _of_categories(name: str, column: Any, declared: Column | None) -> RawColumn:
    """Each row's category; not by a cast, which fails where one is missing."""
    listed, codes = column.cat.categories, column.cat.codes.to_numpy()
    if not len(listed):  # the type itself says that there is no value
        return _objects(np.full(len(codes), None, dtype=object), declared)
    one = _of_pandas(name, listed.to_series(), declared)
    missing = codes < 0
    places = np.where(missing, 0, codes)
    return RawColumn(one.kind, one.values[places], missing | one.missing[places])


def _of_arrow(name: str, column: Any, declared: Column | None) -> RawColumn:
    if hasattr(column, "combine_chunks"):
        column = column.combine_chunks()
    kind, missing = str(column.type), np.asarray(column.is_null())
    if kind.startswith("dictionary"):
        return _of_arrow(name, column.dictionary_decode(), declared)
    if kind == "null":  # no value at all, which is of any kind: a neighbour with one has its type
        return _objects(np.full(len(column), None, dtype=object), declared)
    if "<" in kind or "interval" in kind:  # of several parts, whose names may be those of numbers and texts
        return RawColumn("other", np.zeros(len(column)), missing)
    if "string" in kind or "utf8" in kind:
        return _texts(column.to_pylist())
    if kind.startswith(("date", "timestamp")):
        unit = "D" if "day" in kind else kind.split("[")[1].split(",")[0].rstrip("]")
        steps = column.cast("int32").cast("int64") if unit == "D" else column.cast("int64")
        moments = steps.fill_null(0).to_numpy(zero_copy_only=False).astype(f"datetime64[{unit}]")
        return _of_array(name, moments, declared)._replace(missing=missing)
    if kind.startswith("decimal"):
        if column.type.scale == 0:
            return RawColumn("wide", np.array([int(each or 0) for each in column.to_pylist()], dtype=object), missing)
        plain = column.cast("float64").fill_null(0.0).to_numpy(zero_copy_only=False)
        return RawColumn("decimal", plain, missing)
    if kind not in ("bool", "float", "double", "halffloat") and "int" not in kind:
        return RawColumn("other", np.zeros(len(column)), missing)
    values = column.fill_null(False if kind == "bool" else 0).to_numpy(zero_copy_only=False)
    return _of_array(name, values, declared)._replace(missing=missing)


def _of_array(name: str, column: Array, declared: Column | None) -> RawColumn:
    if column.ndim != 1:
        raise InvalidData(f"column {name!r} must have one dimension", column=name)
    missing = np.ma.getmaskarray(column) if isinstance(column, np.ma.MaskedArray) else np.zeros(len(column), dtype=bool)
    plain = np.ma.getdata(column)
    kind = plain.dtype.kind
    if kind == "O":
        held = plain.copy()
        held[missing] = None
        return _objects(held, declared)
    unit = "s" if isinstance(declared, Time) else "D"
    if kind not in _KINDS or (kind == "M" and not _holds(plain.dtype, unit)):
        return RawColumn("other", np.zeros(len(plain)), missing)
    if kind == "M":
        absent = missing | np.isnat(plain)
        steps = plain.astype(f"datetime64[{unit}]").astype(np.int64)
        return RawColumn("seconds" if unit == "s" else "days", steps, absent)
    if kind in "UT":
        return _texts([None if gone else each for each, gone in zip(plain.tolist(), missing, strict=True)])
    if kind == "f" and plain.dtype.itemsize not in (4, 8):
        plain = plain.astype(np.float64)
    if not plain.dtype.isnative:
        plain = plain.astype(plain.dtype.newbyteorder("="))
    if plain.strides[0] < 0:  # DuckDB reads forwards only
        plain = np.ascontiguousarray(plain)
    return RawColumn("wide" if plain.dtype == np.uint64 else _KINDS[kind], plain, missing)


def _texts(values: list[Any]) -> RawColumn:
    kept = np.empty(len(values), dtype=object)
    kept[:] = [each if isinstance(each, str) and is_unicode(each) else None for each in values]
    return RawColumn("text", kept, np.array([each is None for each in kept], dtype=bool))


def _objects(values: Array, column: Column | None) -> RawColumn:
    """Elements of unknown types, read as the declared column says."""
    if isinstance(column, Text) or (isinstance(column, Category) and column.texts):
        return _texts(list(values))
    if column is None:  # persons: whole numbers, texts, identifiers and bytes, as texts
        return _texts([_person_text(each) for each in values])
    if isinstance(column, Date | Time):
        days = isinstance(column, Date)
        steps = [_day(each) if days else _second(each) for each in values]
        absent = np.array([each is None for each in steps], dtype=bool)
        numbers = np.array([each or 0 for each in steps], dtype=np.int64)
        return RawColumn("days" if days else "seconds", numbers, absent)
    numbers = np.array([_double(each, isinstance(column, Bool)) for each in values], dtype=np.float64)
    return RawColumn("float", numbers, np.isnan(numbers))


def _person_text(value: object) -> str | None:
    """The name of a person as a text: numbers as they are written without a fraction, so that 7, 7.0 and "7"
    are one."""
    if isinstance(value, bool | np.bool_ | np.timedelta64) or value is None:  # numpy calls a length of time an integer
        return None
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Decimal):  # looked at without arithmetic, which overflows far above
        small = value.is_finite() and (not value or value.adjusted() < 100)
        return str(int(value)) if small and value == int(value) else None
    if isinstance(value, Rational | np.integer):
        whole = int(value.numerator)
        return str(whole) if value.denominator == 1 and abs(whole) < 10**100 else None
    if isinstance(value, float | np.floating):
        return str(int(value)) if np.isfinite(value) and float(value).is_integer() else None
    return value if isinstance(value, str) else None


def _double(value: Any, truth: bool) -> float:
    if isinstance(value, str):
        read = truth_in(value) if truth else number_in(value)
        return np.nan if read is None else read
    try:
        return float(value)
    except OverflowError:
        return -HUGE if value < 0 else HUGE
    except Exception:  # whatever an object's own conversion raises: it is no number
        return np.nan


def _in_utc(value: datetime) -> datetime | None:
    try:
        offset = value.utcoffset()
        moment = value if offset is None else value - offset
        moment.toordinal()
    except (OverflowError, ValueError):  # the edges of the calendar, and pandas' missing time
        return None
    return moment


def _holds(moments: np.dtype[Any], unit: str) -> bool:
    """True if moments of this dtype can be counted in seconds or days: numpy refuses units that are far finer."""
    try:
        np.zeros(0, dtype=moments).astype(f"datetime64[{unit}]")
    except (OverflowError, TypeError):
        return False
    return True


def _moment(value: np.datetime64, unit: str) -> int | None:
    known = not np.isnat(value) and _holds(value.dtype, unit)
    return int(value.astype(f"datetime64[{unit}]").astype(np.int64)) if known else None


def _second(value: object) -> int | None:
    day = _day(value) if isinstance(value, date) else None
    if isinstance(value, datetime):
        moment = _in_utc(value)
        return None if moment is None or day is None else day * 86_400 + _second_of_day(moment)
    if isinstance(value, np.datetime64):
        return _moment(value, "s")
    return second_in(value) if day is None else day * 86_400


def _second_of_day(moment: datetime) -> int:
    return moment.hour * 3600 + moment.minute * 60 + moment.second


def _day(value: object) -> int | None:
    if isinstance(value, datetime):
        moment = _in_utc(value)
        return None if moment is None else moment.toordinal() - EPOCH
    if isinstance(value, date):
        return value.toordinal() - EPOCH
    if isinstance(value, np.datetime64):
        return _moment(value, "D")
    return day_in(value)

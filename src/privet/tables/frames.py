"""Data in memory as columns of numpy: pandas, Polars, Arrow, or a mapping of arrays. The kind of a column follows its
dtype, which is schema. Elements of lists and of object columns are data: they are read as the declared column says, and
what does not fit counts as missing."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, NamedTuple

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidData
from privet.tables.columns import EPOCH, Bool, Category, Column, Date, Text
from privet.tables.dialect import Raw


class RawColumn(NamedTuple):
    """A column as it is held: its kind, its values, and which of them are missing.

    >>> raw_column("a", [1, None]).missing.tolist()
    [False, True]
    """

    kind: Raw
    values: Array
    missing: Array


_KINDS: dict[str, Raw] = {"i": "int", "u": "int", "f": "float", "b": "bool", "M": "time", "U": "text", "T": "text"}


def is_frame(data: Any) -> bool:
    """Whether these are columns in memory.

    >>> is_frame({"a": [1]}), is_frame("visits.parquet")
    (True, False)
    """
    return isinstance(data, Mapping) or any(hasattr(data, name) for name in ("to_arrow", "iloc", "column_names"))


def frame_names(data: Any) -> list[str]:
    """The names of the columns."""
    names = getattr(data, "column_names", None)
    if names is None:
        names = list(data) if isinstance(data, Mapping) else list(data.columns)
    if not all(isinstance(name, str) for name in names) or len(set(names)) != len(list(names)):
        raise InvalidData("the columns of a table need names, which are texts and differ")
    return list(names)


def raw_columns(data: Any, wanted: Mapping[str, Column | None]) -> dict[str, RawColumn]:
    """These columns of a frame; None for one that names persons.

    >>> raw_columns({"a": np.array([1, 2])}, {"a": None})["a"].kind
    'int'
    """
    made = {name: raw_column(name, data[name], column) for name, column in wanted.items()}
    if len({len(each.values) for each in made.values()}) > 1:
        raise InvalidData("the columns of a table must have one length")
    return made


def raw_column(name: str, held: Any, column: Column | None = None) -> RawColumn:
    """One column: an array, a list, a Series of pandas or Polars, or a column of Arrow.

    >>> raw_column("name", ["ann", 3, None]).missing.tolist()
    [False, False, True]
    """
    if isinstance(held, list | tuple):
        objects = np.empty(len(held), dtype=object)
        objects[:] = list(held)
        return _objects(objects, column)
    if hasattr(held, "to_arrow") or hasattr(held, "combine_chunks"):
        return _of_arrow(name, held.to_arrow() if hasattr(held, "to_arrow") else held, column)
    if hasattr(held, "dtype") and not isinstance(held, np.ndarray):
        return _of_pandas(name, held, column)
    return _of_array(name, held if isinstance(held, np.ma.MaskedArray) else np.asarray(held), column)


def _of_pandas(name: str, column: Any, declared: Column | None) -> RawColumn:
    missing = np.asarray(column.isna(), dtype=bool)
    kind = str(getattr(column.dtype, "kind", "O"))
    text = "str" in str(column.dtype) or "string" in str(column.dtype)
    if str(column.dtype) == "category":
        return _of_pandas(name, column.astype(column.cat.categories.dtype), declared)
    if text or kind == "O":
        return _objects(column.to_numpy(dtype=object), declared)
    if kind == "M":
        plain = column.dt.tz_convert("UTC").dt.tz_localize(None) if getattr(column.dtype, "tz", None) else column
        return RawColumn("time", plain.to_numpy(dtype="datetime64[us]"), missing)
    if kind not in "iufb":
        return RawColumn("other", np.zeros(len(column)), missing)
    dtype = {"b": np.bool_, "f": np.float64, "u": np.uint64, "i": np.int64}[kind]
    filled = column.fillna(False if kind == "b" else 0) if missing.any() and kind != "f" else column
    return RawColumn(_KINDS[kind], filled.to_numpy(dtype=dtype), missing)


def _of_arrow(name: str, column: Any, declared: Column | None) -> RawColumn:
    if hasattr(column, "combine_chunks"):
        column = column.combine_chunks()
    kind, missing = str(column.type), np.asarray(column.is_null())
    if "dictionary" in kind:
        return _of_arrow(name, column.dictionary_decode(), declared)
    if "string" in kind or "utf8" in kind:
        return _texts(column.to_pylist())
    if kind.startswith("date"):
        days = [0 if each is None else each.toordinal() - EPOCH for each in column.to_pylist()]
        return RawColumn("date", np.array(days, dtype="datetime64[D]"), missing)
    if kind.startswith("timestamp"):
        moments = column.cast("int64") if hasattr(column, "cast") else column
        unit = kind.split("[")[1].split(",")[0].rstrip("]")
        filled = moments.fill_null(0).to_numpy(zero_copy_only=False)
        return RawColumn("time", filled.astype(f"datetime64[{unit}]"), missing)
    if kind.startswith("decimal"):
        column, kind = column.cast("float64"), "decimal"
    if kind not in ("bool", "decimal", "float", "double", "halffloat") and "int" not in kind:
        return RawColumn("other", np.zeros(len(column)), missing)
    values = column.fill_null(False if kind == "bool" else 0).to_numpy(zero_copy_only=False)
    return RawColumn("decimal" if kind == "decimal" else _KINDS[values.dtype.kind], values, missing)


def _of_array(name: str, column: Array, declared: Column | None) -> RawColumn:
    if column.ndim != 1:
        raise InvalidData(f"column {name!r} must have one dimension", column=name)
    missing = np.ma.getmaskarray(column) if isinstance(column, np.ma.MaskedArray) else np.zeros(len(column), dtype=bool)
    plain = np.ma.getdata(column)
    if plain.dtype.kind == "O":
        return _objects(plain, declared)
    if plain.dtype.kind == "M":
        return RawColumn("time", plain, missing | np.isnat(plain))
    if plain.dtype.kind not in _KINDS:
        return RawColumn("other", np.zeros(len(plain)), missing)
    return RawColumn(_KINDS[plain.dtype.kind], plain.astype(object) if plain.dtype.kind == "U" else plain, missing)


def _texts(values: list[Any]) -> RawColumn:
    kept = np.empty(len(values), dtype=object)
    kept[:] = [each if isinstance(each, str) else None for each in values]
    return RawColumn("text", kept, np.array([each is None for each in kept], dtype=bool))


def _objects(values: Array, column: Column | None) -> RawColumn:
    """Elements of unknown types, read as the declared column says."""
    if isinstance(column, Text) or (isinstance(column, Category) and column.texts):
        return _texts(list(values))
    if column is None:  # persons: whole numbers and texts, as texts
        return _texts([_person_text(each) for each in values])
    if isinstance(column, Date):
        days = [_day(each) for each in values]
        absent = np.array([each is None for each in days], dtype=bool)
        return RawColumn("date", np.array([each or 0 for each in days], dtype="datetime64[D]"), absent)
    numbers = np.array([_double(each, isinstance(column, Bool)) for each in values], dtype=np.float64)
    return RawColumn("float", numbers, np.isnan(numbers))


def _person_text(value: Any) -> str | None:
    if isinstance(value, bool | np.bool_) or value is None:
        return None
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        return str(int(value)) if np.isfinite(value) and float(value).is_integer() else None
    return value if isinstance(value, str) else None


def _double(value: Any, truth: bool) -> float:
    if truth and isinstance(value, str):
        return {"true": 1.0, "false": 0.0}.get(value.lower(), np.nan)
    try:
        return float(value) if not isinstance(value, str) or "_" not in value else np.nan
    except (TypeError, ValueError, OverflowError):
        return np.nan


def _day(value: Any) -> int | None:
    if isinstance(value, datetime):
        offset = value.utcoffset()
        moment = value if offset is None else value - offset
        return moment.toordinal() - EPOCH
    if isinstance(value, date):
        return value.toordinal() - EPOCH
    try:
        return date.fromisoformat(value.strip()[:10]).toordinal() - EPOCH if isinstance(value, str) else None
    except ValueError:
        return None

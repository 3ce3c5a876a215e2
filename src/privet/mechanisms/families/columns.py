"""Inputs: which containers hold numbers, and how each is read. The rule is public; values play no part in it.

The type of a container and the dtype of a typed column are schema, hence public: what holds no numbers is refused by
them. The type of a single element of a list is data: what is no number there counts as missing.

| input | read as |
|---|---|
| numpy, pandas, Polars and Arrow columns of numbers or booleans, nullable ones too | the numbers; True is 1 |
| their dates and times, durations | seconds since 1970-01-01 UTC; seconds |
| lists, tuples and other sequences | every element by itself |
| tables, sparse matrices, dicts, sets, text, columns of text or of Python objects | refused |
| as records: a pandas Series indexed by text, categories, intervals or several keys, or from `value_counts` | refused |
"""

from array import array
from collections.abc import Iterable, Mapping, Set
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from privet._numerics import Array, exact_ratio, is_masked
from privet.errors import InvalidData

_TABLE = "this is a whole table, and a mechanism takes one column of it: pass table['column'], or a condition on it"
_MAPPING = (
    "a dict has labels, which a mechanism does not see: pass list(d.values()), and candidates=list(d) where a "
    "choice is made"
)
_SET = "a set keeps one of several equal records: pass a list"
_TEXT = "text holds no numbers: pass a column of numbers, or count a condition such as column == 'A'"
_OBJECTS = (
    "a column of Python objects (so pandas 2 holds texts) has no public type: convert it first, by .astype(float), count a "
    "condition such as column == 'A', or pass a list"
)
_LABELLED = (
    "this Series is labelled, and its labels would be lost: pass series.to_numpy(), and candidates=list(series.index) "
    "where a choice is made"
)
_GROUPED = (
    "this Series is labelled by its index, as value_counts() and groupby() label their results: where each entry is one "
    "record, pass series.to_numpy(); for noisy counts of labels give the column itself to Histogram"
)
_LENGTHLESS = (
    "the number of values is public and is checked before anything is paid: pass list(values), which has a length"
)
_VIEW = "groups and windows of a table are neither a table nor a column: pass the column itself"
_SPARSE = "a sparse matrix is no column of numbers: pass matrix.toarray(), or one column of that"
_KIND = "this column holds neither numbers nor booleans nor dates: pass one that does"
_WIDE = "integers of 128 bits are wider than any number that numpy has: cast the column first, by .cast(pl.Int64)"
_TYPED = (np.ndarray, memoryview, array)
_STEPS = {"D": (86_400, 1), "s": (1, 1), "ms": (1, 1_000), "us": (1, 1_000_000), "ns": (1, 1_000_000_000)}


class Column(NamedTuple):
    """Numbers of one dtype, and which of them are missing (None: none can be, but for NaN)."""

    values: Array
    absent: Array | None


def is_number(value: object) -> bool:
    """True if this is a single number, by its type: NaN is one.

    >>> is_number(3), is_number(np.float32("nan")), is_number("3"), is_number([3])
    (True, True, False, False)
    """
    return isinstance(value, int | float) or exact_ratio(value) is not None or _nan_by_type(value)


def as_element(value: object) -> Any:
    """An item of a stream as an element of a list: the number, or None for whatever is none. What an element is, is
    data, and a refusal would tell.

    >>> as_element(3), as_element("3"), as_element([3])
    (3, None, None)
    """
    return value if is_number(value) else None


def _nan_by_type(value: object) -> bool:
    return isinstance(value, np.floating | Decimal)


def is_typed(value: object) -> bool:
    """True if the container has a dtype of its own: a column, not a list of anything.

    >>> is_typed(np.zeros(2)), is_typed([0.0, 0.0])
    (True, False)
    """
    if isinstance(value, list | tuple | Mapping) or is_number(value):
        return False
    return isinstance(value, _TYPED) or _library(value) != "" or hasattr(value, "__array__")


def holds_booleans(value: object) -> bool:
    """True if a typed container holds booleans, by its schema.

    >>> holds_booleans(np.array([True])), holds_booleans(np.array([1]))
    (True, False)
    """
    return column_kind(value) == "bool"


def holds_floats(value: object) -> bool:
    """True if a typed container holds numbers that need not be whole, by its schema.

    >>> holds_floats(np.array([1.0])), holds_floats(np.array([1]))
    (True, False)
    """
    return column_kind(value) not in ("bool", "whole")


def holds_no_text(value: object) -> bool:
    """True if a typed container holds numbers, booleans, times or bytes, by its schema: no text can stand in it.

    >>> holds_no_text(np.array([1.0])), holds_no_text(np.array(["a"])), holds_no_text(np.array([b"a"]))
    (True, False, True)
    """
    dtype = getattr(value, "dtype", None)
    octets = isinstance(dtype, np.dtype) and dtype.kind == "S"
    return octets or column_kind(value) in ("bool", "whole", "float", "time", "span")


def is_labelled(value: object) -> bool:
    """True if a Series carries labels: an index other than 0, 1, 2, ... of its own making.

    >>> is_labelled(np.zeros(2))
    False
    """
    index = getattr(value, "index", None) if _library(value) == "pandas" else None
    return index is not None and not callable(index) and type(index).__name__ != "RangeIndex"


def is_grouped(value: object) -> bool:
    """True if a Series looks like one number per label rather than one per record: its index holds text, categories,
    intervals or several keys, or it bears the name that `value_counts` gives. Index dtype and names are schema.

    >>> is_grouped(np.zeros(2))
    False
    """
    if not is_labelled(value):
        return False
    index: Any = getattr(value, "index", None)
    if getattr(index, "nlevels", 1) > 1 or getattr(value, "name", None) in ("count", "proportion"):
        return True
    dated = type(index.dtype).__name__ == "PeriodDtype"
    return not dated and _pandas_kind(index.dtype) not in ("bool", "whole", "float", "time", "span")


def _library(value: object) -> str:
    """The data frame library that a container is of, "" for none. Single values of pandas and Arrow are no containers;
    of Polars whatever it makes is one, since a `LazyFrame` has no length."""
    root = type(value).__module__.partition(".")[0]
    known = root == "polars" or (root in ("pandas", "pyarrow") and hasattr(value, "__len__"))
    return root if known else ""


def admit_column(value: object, *, labels: bool = True) -> None:
    """Refuse what holds no numbers, by type and dtype alone, and a Series of one number per label. With `labels=False`
    every labelled Series is refused.

    >>> admit_column([1, None, "x"])
    >>> admit_column(np.array(["x"]))
    Traceback (most recent call last):
    privet.errors.InvalidData: text holds no numbers: pass a column of numbers, or count a condition such as column == 'A'
    """
    if isinstance(value, str | bytes | bytearray):
        raise InvalidData(_TEXT)
    if isinstance(value, Mapping):
        raise InvalidData(_MAPPING)
    if isinstance(value, Set):
        raise InvalidData(_SET)
    if is_table(value):
        raise InvalidData(_TABLE)
    if is_view(value):
        raise InvalidData(_VIEW)
    if type(value).__module__.startswith("scipy.sparse"):  # it hands out rows, none of which is a number
        raise InvalidData(_SPARSE)
    container = isinstance(value, Iterable) or (hasattr(value, "__array__") and not isinstance(value, np.generic))
    if not labels and container and not hasattr(value, "__len__"):
        raise InvalidData(_LENGTHLESS)
    if is_typed(value):
        kind = column_kind(value)
        if kind in _REFUSED:
            raise InvalidData(_REFUSED[kind])
        if not labels and is_labelled(value):
            raise InvalidData(_LABELLED)
        if is_grouped(value):
            raise InvalidData(_GROUPED)
    elif not isinstance(value, Iterable):
        raise InvalidData("a column or a list of numbers is needed, and this is neither")


def is_table(value: object) -> bool:
    """True if this is a whole table, of whichever library, by its type.

    >>> is_table(np.zeros(2)), is_table(np.zeros(2, dtype=[("a", int)]))
    (False, True)
    """
    if isinstance(value, np.ndarray):
        return value.dtype.names is not None
    name = type(value).__name__
    return (_library(value) != "" and name in ("DataFrame", "LazyFrame", "Table", "RecordBatch", "GroupBy")) or (
        hasattr(value, "columns") and hasattr(value, "__len__")
    )


def is_view(value: object) -> bool:
    """True if this is something about a table of pandas or Arrow that is neither a table nor a column: groups, windows,
    readers. They can be iterated over, but not record by record.

    >>> is_view(np.zeros(2)), is_view([1])
    (False, False)
    """
    if type(value).__module__.partition(".")[0] not in ("pandas", "pyarrow"):
        return False
    return isinstance(value, Iterable) and not any(kind.__name__ in _HOLDERS for kind in type(value).__mro__)


_HOLDERS = {"DataFrame", "Series", "Index", "ExtensionArray", "Table", "RecordBatch", "Array", "ChunkedArray"}
_REFUSED = {"text": _TEXT, "object": _OBJECTS, "wide": _WIDE, "other": _KIND}


def dimensions(value: object) -> int:
    """The number of dimensions that a typed container has: 1 for a column, 0 for a number in the clothes of an array.

    >>> dimensions(np.zeros((2, 3))), dimensions(np.array(1.0))
    (2, 0)
    """
    known = getattr(value, "ndim", None)
    if isinstance(known, int):
        return known
    return 1 if isinstance(value, _TYPED) or _library(value) else _foreign(value).ndim


def column_kind(value: object) -> str:
    """The kind of values in a typed container, from its schema alone: "bool", "whole", "float", "time", "span", or what
    is refused.

    >>> column_kind(np.zeros(3)), column_kind(np.array(["x"]))
    ('float', 'text')
    """
    library = _library(value)
    if library == "polars":
        return _polars_kind(value)
    if library == "pyarrow":
        return _arrow_kind(value.type) if hasattr(value, "type") else "other"
    dtype = getattr(value, "dtype", None)
    if library == "pandas":
        return _pandas_kind(dtype)
    return _numpy_kind(dtype if isinstance(dtype, np.dtype) else _foreign(value).dtype)


def _numpy_kind(dtype: Any) -> str:
    step = np.datetime_data(dtype)[0] if dtype.kind in "mM" else ""
    if step == "as" or (dtype.kind == "m" and step in ("Y", "M", "generic")):
        return "other"  # months and years have no fixed length, and numpy has no seconds of attoseconds
    kinds = {"b": "bool", "i": "whole", "u": "whole", "f": "float", "M": "time", "m": "span"}
    return kinds.get(dtype.kind, {"O": "object", "U": "text", "S": "text", "T": "text"}.get(dtype.kind, "other"))


def _pandas_kind(dtype: Any) -> str:
    if isinstance(dtype, np.dtype):
        return _numpy_kind(dtype)
    if hasattr(dtype, "pyarrow_dtype"):
        return _arrow_kind(dtype.pyarrow_dtype)
    if hasattr(dtype, "numpy_dtype"):  # nullable numbers and booleans
        return _numpy_kind(np.dtype(dtype.numpy_dtype))
    name = type(dtype).__name__
    if name == "SparseDtype":
        return _pandas_kind(dtype.subtype)
    return "time" if name == "DatetimeTZDtype" else "text" if name in ("StringDtype", "CategoricalDtype") else "other"


def _polars_kind(series: object) -> str:
    import polars as pl

    dtype = getattr(series, "dtype", None)
    if dtype is None:
        return "other"
    if dtype == pl.Boolean:
        return "bool"
    if dtype in (getattr(pl, "Int128", None), getattr(pl, "UInt128", None)):
        return "wide"
    if dtype.is_numeric():
        return "whole" if dtype.is_integer() else "float"
    if dtype in (pl.Date, pl.Datetime) or dtype == pl.Duration:
        return "span" if dtype == pl.Duration else "time"
    if dtype == pl.Object:
        return "object"
    return "text" if dtype in (pl.String, pl.Categorical, pl.Enum, pl.Binary) else "other"


def _arrow_kind(kind: object) -> str:
    import pyarrow as pa

    test = pa.types
    if test.is_boolean(kind):
        return "bool"
    if test.is_integer(kind):
        return "whole"
    if test.is_floating(kind) or test.is_decimal(kind):
        return "float"
    if test.is_timestamp(kind) or test.is_date(kind):
        return "time"
    if test.is_duration(kind):
        return "span"
    text = test.is_string(kind) or test.is_large_string(kind) or test.is_dictionary(kind) or test.is_binary(kind)
    return "text" if text else "other"


def read_column(value: Any) -> Column:
    """The numbers of a typed container that `admit_column` let pass: booleans, integers or floats, and what is missing.

    >>> read_column(np.array(["1970-01-02", "NaT"], dtype="datetime64[D]")).values.tolist()
    [86400.0, nan]
    """
    library, kind = _library(value), column_kind(value)
    if library == "polars":
        column = _read_polars(value, kind)
    elif library == "pyarrow":
        column = _read_arrow(value, kind)
    elif library == "pandas":
        column = _read_pandas(value, kind)
    elif is_masked(value):
        column = Column(np.asarray(value.data), np.ma.getmaskarray(value))
    else:
        column = Column(_foreign(value), None)
    values = column.values
    if values.dtype.kind in "Mm":
        values = _seconds(values)
    if values.dtype.kind not in "biuf":
        raise InvalidData(_KIND)
    return Column(values, column.absent)


def _foreign(value: object) -> Array:
    try:
        return np.asarray(value)
    except Exception:  # another library's reason may quote a value
        raise InvalidData("this container does not give up its numbers: pass a numpy array or a list") from None


def _seconds(values: Array) -> Array:
    """Dates and times as seconds since 1970, durations as seconds; NaT is NaN."""
    span = values - np.datetime64(0, "s") if values.dtype.kind == "M" else values
    seconds: Array = span / np.timedelta64(1, "s")
    return seconds


def _read_pandas(value: Any, kind: str) -> Column:
    dtype = value.dtype
    if isinstance(dtype, np.dtype):
        return Column(np.asarray(value), None)
    if hasattr(dtype, "pyarrow_dtype"):
        import pyarrow as pa

        return _read_arrow(pa.array(value), kind)
    absent = np.asarray(value.isna())
    if hasattr(dtype, "numpy_dtype"):
        filled = value.fillna(False if kind == "bool" else 0)
        return Column(np.asarray(filled.to_numpy(dtype=dtype.numpy_dtype)), absent)
    if kind == "time":  # with a time zone: the same moments in UTC
        return Column(np.asarray(value.to_numpy(dtype=f"datetime64[{dtype.unit}]")), absent)
    return Column(np.asarray(value), None)  # sparse


def _read_polars(series: Any, kind: str) -> Column:
    import polars as pl

    absent = series.is_null().to_numpy()
    if kind in ("time", "span"):
        steps = _STEPS[
            "D" if series.dtype == pl.Date else series.dtype.time_unit
        ]  # in UTC, whatever zone it is shown in
        return Column(series.to_physical().fill_null(0).to_numpy() * float(steps[0]) / steps[1], absent)
    if series.dtype.is_decimal():
        series = series.cast(pl.Float64)
    return Column(series.fill_null(False if kind == "bool" else 0).to_numpy(), absent)


def _read_arrow(column: Any, kind: str) -> Column:
    import pyarrow as pa
    from pyarrow import compute

    absent, steps = np.asarray(column.is_null()), None
    if kind in ("time", "span"):
        short = pa.types.is_date32(column.type)
        steps = _STEPS["D" if short else "ms" if pa.types.is_date64(column.type) else column.type.unit]
        column = column.cast(pa.int32() if short else pa.int64())
    elif pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    filled = np.asarray(compute.fill_null(column, False if kind == "bool" else pa.scalar(0, column.type)))
    return Column(filled if steps is None else filled * float(steps[0]) / steps[1], absent)


def moment(value: object) -> object:
    """A public date or time as seconds since 1970-01-01 UTC, the way columns of them are read; else as it is.

    >>> moment(date(1970, 1, 2)), moment(np.datetime64("1970-01-02")), moment(5)
    (86400.0, 86400.0, 5)
    """
    if isinstance(value, np.datetime64) and _numpy_kind(value.dtype) == "time":
        return float(_seconds(np.asarray(value)))
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time(0))
    if isinstance(value, datetime) and value == value:  # pandas' missing time is a datetime, and no moment
        aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return aware.timestamp()
    return value

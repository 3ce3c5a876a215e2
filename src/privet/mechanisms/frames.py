"""A released value as a data frame of pandas, Polars or Arrow, which are loaded when they are asked for."""

import importlib
from typing import Any

import numpy as np

from privet.errors import InvalidParameter, MissingExtra
from privet.mechanisms.stored import arrays_of


def columns_of(value: object) -> dict[str, Any]:
    """A value as columns of one length: what its `columns()` says where it has such a method, a mapping of arrays as it is,
    an array or a number as the column `value`, a matrix as columns 0, 1, ...

    >>> {name: column.tolist() for name, column in columns_of({"n": np.array([3, 4])}).items()}
    {'n': [3, 4]}
    >>> columns_of(2.5)["value"].tolist()
    [2.5]
    """
    told = getattr(type(value), "columns", None)  # of a data frame this is no method
    named = told(value) if callable(told) else arrays_of(value)
    if named is None and isinstance(value, np.ndarray) and value.ndim == 2:
        named = {str(i): value[:, i] for i in range(value.shape[1])}
    if named is None and isinstance(value, list | tuple):
        named = {"value": _column(list(value))}
    if named is None:
        named = {"value": value if isinstance(value, np.ndarray) else _column([value])}
    columns = {str(name): each if isinstance(each, np.ndarray) else _column(each) for name, each in named.items()}
    if any(column.ndim == 0 for column in columns.values()):
        columns = {name: column.reshape(1) if column.ndim == 0 else column for name, column in columns.items()}
    if any(column.ndim != 1 for column in columns.values()) or len({len(c) for c in columns.values()}) > 1:
        raise InvalidParameter("this value is no table: its columns have several dimensions or different lengths")
    return columns


class Framed:
    """Base of what people take elsewhere as a table; `columns()` says what is in it.

    >>> class Two(Framed):
    ...     def columns(self) -> dict[str, Any]:
    ...         return {"n": [3, 4]}
    >>> Two().to_arrow().num_rows
    2
    """

    def columns(self) -> dict[str, Any]:
        """The columns by name, all of one length."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """A pandas data frame."""
        return to_pandas(self)

    def to_polars(self) -> Any:
        """A Polars data frame."""
        return to_polars(self)

    def to_arrow(self) -> Any:
        """An Arrow table."""
        return to_arrow(self)


def _column(value: object) -> Any:
    if not isinstance(value, list | tuple):
        value = [value]
    array = np.array(value) if all(isinstance(x, bool | int | float) for x in value) else None
    if array is not None and array.dtype.kind in "biuf":
        return array
    if value and all(type(x) is str for x in value):
        return np.array(value)
    held = np.empty(len(value), dtype=object)
    held[:] = value
    return held


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingExtra(f"this needs {name}; run: pip install {name}") from None


def to_arrow(value: object) -> Any:
    """An Arrow table of a value.

    >>> to_arrow({"n": np.ma.MaskedArray([3, 4], mask=[False, True])}).to_pydict()
    {'n': [3, None]}
    """
    arrow = _library("pyarrow")
    made = {}
    for name, column in columns_of(value).items():
        mask = np.ma.getmaskarray(column) if isinstance(column, np.ma.MaskedArray) else None
        plain = np.ma.getdata(column)
        if plain.dtype.kind == "U":
            plain = plain.astype(object)
        made[name] = arrow.array(plain, mask=mask, from_pandas=False)
    return arrow.table(made)


def to_pandas(value: object) -> Any:
    """A pandas data frame of a value. Whole numbers with missing values keep being whole numbers.

    >>> to_pandas({"n": np.ma.MaskedArray([3, 4], mask=[False, True])})["n"].isna().tolist()
    [False, True]
    """
    pandas = _library("pandas")
    made = {}
    for name, column in columns_of(value).items():
        plain = np.ma.getdata(column)
        if isinstance(column, np.ma.MaskedArray) and np.ma.getmaskarray(column).any():
            series = pandas.Series(plain).convert_dtypes() if plain.dtype.kind in "iub" else pandas.Series(plain)
            made[name] = series.mask(np.ma.getmaskarray(column))
        else:
            made[name] = pandas.Series(plain)
    return pandas.DataFrame(made)


def to_polars(value: object) -> Any:
    """A Polars data frame of a value.

    >>> to_polars({"n": np.array([3, 4])}).shape
    (2, 1)
    """
    polars = _library("polars")
    made = []
    for name, column in columns_of(value).items():
        plain = np.ma.getdata(column)
        series = polars.Series(name, plain.tolist() if plain.dtype.kind in "UO" else plain)
        if isinstance(column, np.ma.MaskedArray):
            absent = polars.Series(np.ma.getmaskarray(column))
            series = polars.select(polars.when(absent).then(None).otherwise(series).alias(name)).to_series()
        made.append(series)
    return polars.DataFrame(made)

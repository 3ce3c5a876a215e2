"""Inputs of estimators as arrays, read through scikit-learn's public validation; errors quote no value."""

import math
import re
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d, validate_data

from privet._numerics import Array
from privet.errors import InvalidData, InvalidType, PrivetError
from privet.learn.estimators.kinds import check_kinds

_VALUES = (
    "could not convert",
    "invalid literal",
    "unable to parse",
    "ufunc",
    "must be real number",
    "setting an array",
)

_TYPES = ("argument must be", "np.matrix is not supported", "Feature names are only supported")

# scikit-learn shows the array itself in two of its complaints: of dimensions, and of complex numbers
_QUOTED = re.compile(r"\narray=.*(?=\nReshape your data)|(?<=Complex data not supported)\n.*", re.DOTALL)


def read_rows(estimator: object, rows: object, *, reset: bool, finite: bool = True, least: int = 1) -> Any:
    """X as float64 or float32, dense or CSR, with scikit-learn's checks of shape, type and feature names; `least` is how
    many records there have to be. Unless all have to be `finite`, an object that is no number is NaN: what type a single
    element has is data, and no reason to refuse all of them."""
    if not reset and hasattr(estimator, "encoding_") and hasattr(rows, "columns"):
        raise InvalidData(
            "the model was fitted on a table, whose rows were encoded: give model.encoding_.of(frame).rows, not the frame"
        )
    rows = _unmasked(rows) if finite else _numbers(_unmasked(rows))
    check_kinds(rows, objects=finite)
    try:
        return validate_data(
            estimator,
            rows,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=finite,
            ensure_min_samples=least,
        )
    except PrivetError:
        raise
    except (ValueError, TypeError, OverflowError) as problem:
        told = _public(problem, "X")
    raise told  # after the handler: an error that is raised in it would keep the other one, and what that quotes


def rows_to_move(estimator: Any, rows: object) -> Array:
    """X for a fitted step of a pipeline, whose rows may be private. With `bad_rows="zero"` none is refused: a row that is
    not finite comes out without numbers, for the next step to make zeros of."""
    quiet = estimator.bad_rows == "zero"
    read = dense(read_rows(estimator, rows, reset=False, finite=not quiet, least=0 if quiet else 1))
    return np.where(np.isfinite(read).all(axis=1, keepdims=True), read, math.nan) if quiet else read


def read_targets(targets: object, *, numbers: bool = False, quiet: bool = False) -> Array:
    """y in one dimension, of whatever type; elements of objects that are neither numbers nor texts are None. `quiet` reads
    objects as `numbers`, where those are asked for: the type of one element is data, and what is no number is NaN."""
    try:
        if quiet and isinstance(targets, list | tuple):  # one by one: a text among numbers would make texts of all
            targets = _objects([each[0] if len(_cells(each) or ()) == 1 else each for each in targets])
        read = np.asarray(column_or_1d(_unmasked(targets), warn=True))
        if read.dtype.kind != "O":
            return read
        plain = [_plain(each) for each in read.tolist()]
        if numbers and quiet:
            return np.array([_number(each) for each in plain], dtype=np.float64)
        made = np.array(plain) if plain else np.zeros(0)  # numbers in an array of objects are numbers
        return made if made.dtype.kind in "biuf" and made.ndim == 1 else _objects(plain)
    except (ValueError, TypeError, OverflowError) as problem:
        told = _public(problem, "y")
    raise told


def _plain(value: object) -> Any:
    """A number or a text as Python's own, anything else as None: what pandas calls NA cannot be compared, for one."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Decimal | Fraction):
        return _number(value)
    return value if isinstance(value, bool | int | float | str) else None


def _number(value: Any) -> float:
    if value is None or isinstance(value, str):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except ValueError:  # a signalling NaN
        return math.nan


def _numbers(rows: Any) -> Any:
    """X with the numbers of its objects: of a list or an array of two dimensions, or of each column of a data frame."""
    if isinstance(rows, list | tuple):
        return _listed(list(rows))
    if isinstance(rows, np.ndarray):
        return _floats(rows) if rows.dtype == object and rows.ndim == 2 else rows
    if hasattr(rows, "iloc") and getattr(rows, "ndim", 0) == 2:
        places = [place for place, kind in enumerate(rows.dtypes) if getattr(kind, "kind", "") == "O"]
        rows = rows.copy() if places else rows
        for place in places:
            rows.isetitem(place, _floats(rows.iloc[:, place].to_numpy(dtype=object)))
    return rows


def _listed(rows: list[Any]) -> Any:
    """Rows of a list, of the length that most of them have; what another record is instead is data: a row without numbers.
    Shapes that no row makes alone are left to scikit-learn, which says what it expects.
    """
    try:
        held = np.array(rows, dtype=object)
    except (ValueError, TypeError):  # rows of several lengths
        held = np.zeros(0)
    if held.ndim == 2 or not rows:
        return _floats(held) if held.ndim == 2 else rows
    cells = [_cells(each) for each in rows]
    lengths = Counter(len(each) for each in cells if each is not None)
    if held.ndim > 2 or not lengths:
        return np.zeros((len(rows), 1, 1) if held.ndim > 2 else len(rows))
    width = max(lengths, key=lambda length: (lengths[length], length))
    read = [[math.nan] * width if each is None or len(each) != width else each for each in cells]
    return np.array([[_number(_plain(each)) for each in row] for row in read], dtype=np.float64)


def _cells(row: object) -> list[Any] | None:
    return list(row) if isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim == 1) else None


def _floats(held: Array) -> Array:
    return np.array([_number(_plain(each)) for each in held.ravel().tolist()], dtype=np.float64).reshape(held.shape)


def _objects(values: list[Any]) -> Array:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


def read_made(estimator: object, made: object, fitted: str) -> Array:
    """The output of a transformer, for the way back: numbers in as many columns as the attribute `fitted` is long."""
    check_is_fitted(estimator)
    columns = len(getattr(estimator, fitted))
    try:
        read = check_array(made, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False, ensure_2d=False)
    except (ValueError, TypeError, OverflowError) as problem:
        told = _public(problem, "X")
    else:
        if read.ndim in (1, 2) and read.shape[-1] == columns:
            return dense(read)
        told = InvalidData(f"X must have {columns} columns, those that this model makes")
    raise told


def dense(rows: object) -> Array:
    """Rows as an array."""
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)


def _unmasked(values: object) -> Any:
    """Values with missing ones where they are masked: scikit-learn would read what lies under the mask."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    numbers = values.dtype.kind in "biuf"
    held = np.array(values.data, dtype=np.float64 if numbers else object)
    held[np.ma.getmaskarray(values)] = np.nan if numbers else None
    return held


def _public(problem: Exception, name: str) -> InvalidData:
    """The same complaint, unless it may quote what is in the data."""
    said = _QUOTED.sub("", str(problem))
    if isinstance(problem, TypeError):
        types_alone = any(word in said for word in _TYPES) or "sparse" in said.lower()
        return InvalidType(said if types_alone else f"{name} is of a type that cannot be read as numbers")
    if said.startswith("Input X contains"):
        return InvalidData(f'{said.splitlines()[0]} bad_rows="zero" counts such records as rows of zeros')
    if any(word in said for word in _VALUES):
        return InvalidData(f"{name} must hold numbers alone: encode texts and dates with a public encoding first")
    return InvalidData(said)

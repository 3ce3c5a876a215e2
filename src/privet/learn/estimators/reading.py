"""Inputs of estimators as arrays, read through scikit-learn's public validation; errors quote no value."""

import re
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d, validate_data

from privet._numerics import Array
from privet.errors import InvalidData, InvalidType, PrivetError

_VALUES = (
    "could not convert",
    "invalid literal",
    "unable to parse",
    "ufunc",
    "must be real number",
    "setting an array",
)

# scikit-learn shows the array itself in two of its complaints: of dimensions, and of complex numbers
_QUOTED = re.compile(r"\narray=.*(?=\nReshape your data)|(?<=Complex data not supported)\n.*", re.DOTALL)


def read_rows(estimator: Any, rows: Any, *, reset: bool, finite: bool = True) -> Any:
    """X as float64 or float32, dense or CSR, with scikit-learn's checks of shape, type and feature names."""
    try:
        return validate_data(
            estimator,
            rows,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=finite,
        )
    except PrivetError:
        raise
    except (ValueError, TypeError, OverflowError) as problem:
        raise _public(problem, "X") from None


def read_targets(targets: Any) -> Array:
    """y in one dimension, of whatever type."""
    try:
        read = np.asarray(column_or_1d(targets, warn=True))
        if read.dtype.kind != "O":
            return read
        numbers = np.array(read.tolist())  # numbers in an array of objects are numbers
        return numbers if numbers.dtype.kind in "biuf" and numbers.ndim == 1 else read
    except (ValueError, TypeError, OverflowError) as problem:
        raise _public(problem, "y") from None


def _public(problem: Exception, name: str) -> InvalidData:
    """The same complaint, unless it may quote what is in the data."""
    said = _QUOTED.sub("", str(problem))
    if isinstance(problem, TypeError):
        types_alone = "argument must be" in said or "sparse" in said.lower()
        return InvalidType(said if types_alone else f"{name} is of a type that cannot be read as numbers")
    if said.startswith("Input X contains"):
        return InvalidData(f'{said.splitlines()[0]} bad_rows="zero" counts such records as rows of zeros')
    if any(word in said for word in _VALUES):
        return InvalidData(f"{name} must hold numbers alone: encode texts and dates with a public encoding first")
    return InvalidData(said)

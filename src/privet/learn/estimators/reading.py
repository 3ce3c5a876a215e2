"""Inputs of estimators as arrays, read through scikit-learn's public validation; errors quote no value."""

import re
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d, validate_data

from privet._numerics import Array
from privet.errors import InvalidData, PrivetError

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
        return np.asarray(column_or_1d(targets, warn=True))
    except (ValueError, TypeError, OverflowError) as problem:
        raise _public(problem, "y") from None


def _public(problem: Exception, name: str) -> InvalidData:
    """The same complaint, unless it may quote what is in the data."""
    said = _QUOTED.sub("", str(problem))
    if any(word in said for word in _VALUES):
        return InvalidData(f"{name} must hold numbers alone: encode texts and dates with a public encoding first")
    return InvalidData(said)

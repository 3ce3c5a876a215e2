"""Outputs as plain containers of arrays, and their equality bit for bit."""

import copy
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cached_property
from inspect import getattr_static
from typing import Any, TypeVar

import numpy as np

from privet.audit.search.unwrap import arrays_of, frame, is_table
from privet.mechanisms import Mechanism

_M = TypeVar("_M", bound=Mechanism[Any, Any])


def opened(value: object) -> Any:
    """An output as laws look at it: mappings as dictionaries, tables and models as dictionaries of their arrays.

    >>> import pandas
    >>> opened(pandas.DataFrame({"n": [1, 2]}))["n"].tolist()
    [1, 2]
    """
    if is_table(value):
        return opened(frame(value))
    if isinstance(value, Mapping):
        return {key: opened(item) for key, item in value.items()}
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(opened(item) for item in value)
    arrays = arrays_of(value)
    return value if arrays is None else opened(arrays)


def same_value(left: object, right: object) -> bool:
    """Equality of outputs bit for bit: arrays, mappings, nested tuples, tables and models through their arrays.

    >>> same_value(np.array([1.0, 0.0]), np.array([1.0, -0.0]))
    False
    """
    left, right = opened(left), opened(right)
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        a, b = np.asarray(left), np.asarray(right)
        if a.dtype == b.dtype == object:
            return a.shape == b.shape and all(map(same_value, a.reshape(-1).tolist(), b.reshape(-1).tolist()))
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(left, tuple | list) and isinstance(right, tuple | list):
        return len(left) == len(right) and all(map(same_value, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same_value(item, right[key]) for key, item in left.items())
    if isinstance(left, float) and isinstance(right, float):
        return left.hex() == right.hex()
    return bool(left == right)


def form_of(value: object, *, lengths: bool = True) -> Any:
    """Everything about an output but its values; without `lengths` also without sizes and keys. Where those are protected,
    a dictionary inside of an output (the design that was chosen, say) may hold something else in every release.

    >>> form_of({"a": np.zeros(3)}) == form_of({"a": np.ones(3)}) != form_of({"a": np.ones(4)})
    True
    """
    kind, value = type(value).__name__, opened(value)
    if isinstance(value, np.ndarray):
        return "array", value.dtype.kind if value.dtype.kind in "US" else value.dtype, value.shape[not lengths :]
    if isinstance(value, dict):
        forms = {
            key: form_of(item, lengths=lengths) if lengths or not isinstance(item, dict) else "dict"
            for key, item in value.items()
        }
        return (kind, forms) if lengths else (kind, {repr(form) for form in forms.values()} if forms else "any")
    if isinstance(value, tuple | list):
        found = [form_of(item, lengths=lengths) for item in value]
        return (kind, found) if lengths else kind
    return kind


def copied(mechanism: _M) -> _M:
    """A mechanism with a memory of its own; the same one where it cannot be copied.

    >>> from privet.mechanisms import Laplace
    >>> laplace = Laplace.for_budget(epsilon=1.0, sensitivity=1.0)
    >>> copied(laplace) == laplace, copied(laplace) is laplace
    (True, False)
    """
    try:
        return copy.deepcopy(mechanism)
    except Exception:
        return mechanism


def memory_of(mechanism: Mechanism[Any, Any]) -> dict[str, Any]:
    """Everything that a mechanism holds, but for mechanisms inside, which have memories of their own, and for properties
    that are computed once from the rest.

    >>> from privet.mechanisms import Laplace
    >>> laplace = Laplace.for_budget(epsilon=1.0, sensitivity=1.0)
    >>> before = memory_of(laplace)
    >>> laplace.loss.pure(), memory_of(laplace) == before, sorted(before)
    (1.0, True, ['at', 'scale', 'sensitivity'])
    """
    return {name: _held(held) for name, held in _own(mechanism).items()}


def _held(value: object) -> Any:
    if isinstance(value, Mechanism):
        return None
    if isinstance(value, dict):
        return {key: _held(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_held(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type) and hasattr(value, "__dict__"):
        return {name: _held(item) for name, item in _own(value).items()}
    return value


def _own(value: object) -> dict[str, Any]:
    computed = {name for name in vars(value) if isinstance(getattr_static(type(value), name, None), cached_property)}
    return {name: held for name, held in vars(value).items() if name not in computed}

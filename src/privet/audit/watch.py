"""Watching one run of somebody's code: what it returns, prints, warns of and raises."""

import io
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

_DEEPEST = 12


@dataclass(frozen=True, eq=False)
class Ending:
    """The end of a run, with everything that an observer could see."""

    result: Any
    exception: str | None
    printed: str
    warned: tuple[str, ...]


def run_watched(pipeline: Callable[[Any], Any], data: object) -> Ending:
    """Run it once and keep what it showed; an exception, or an attempt to end the program, is an ending too.

    >>> run_watched(lambda value: print(value), 3).printed
    '3\\n'
    """
    printed, exception, result = io.StringIO(), None, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with redirect_stdout(printed), redirect_stderr(printed):
            try:
                result = pipeline(data)
            except (Exception, SystemExit) as problem:
                exception = f"{type(problem).__name__}: {problem}"
    warned = tuple(f"{w.category.__name__}: {w.message}" for w in caught)
    return Ending(result, exception, printed.getvalue(), warned)


def differing(left: Any, right: Any, where: str = "result", depth: int = 0) -> list[str]:
    """The places where two results differ; NaN is NaN, and -0.0 is not 0.0.

    >>> differing({"a": [1, 2]}, {"a": [1, 3]})
    ["result['a'][1]"]
    """
    if left is right:
        return []
    if depth < _DEEPEST and type(left) is type(right):
        if isinstance(left, dict):
            if list(left) != list(right):
                return [where]
            return [d for key in left for d in differing(left[key], right[key], f"{where}[{key!r}]", depth + 1)]
        if isinstance(left, tuple | list):
            if len(left) != len(right):
                return [where]
            pairs = enumerate(zip(left, right, strict=True))
            return [d for j, (a, b) in pairs for d in differing(a, b, f"{where}[{j}]", depth + 1)]
        held = _held(left)
        if held is not None:
            return [
                d
                for name in held
                for d in differing(held[name], getattr(right, name, None), f"{where}.{name}", depth + 1)
            ]
    return [] if text_of(left) == text_of(right) else [where]


def _held(value: Any) -> dict[str, Any] | None:
    """The fields of a record, or the attributes of a plain object; of a release what may have been computed from data."""
    if type(value).__name__ == "Release" and hasattr(value, "loss"):
        return {"value": value.value, "error": value.error, "provenance": value.provenance}
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in fields(value)}
    plain = getattr(type(value), "__repr__", None) is object.__repr__ and hasattr(value, "__dict__")
    return dict(vars(value)) if plain else None


def text_of(value: object) -> str:
    """A text that tells any two values apart that an observer can tell apart.

    >>> text_of(np.array([1.0])) == text_of(np.array([1]))
    False
    """
    if isinstance(value, np.ndarray) and value.dtype != object:
        return f"{value.dtype}{value.shape}{value.tobytes().hex()}"
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, np.ndarray | list | tuple):
        return f"{type(value).__name__}[{','.join(map(text_of, value))}]"
    if hasattr(value, "columns") and hasattr(value, "to_numpy"):
        return f"{list(value.columns)}{text_of(np.asarray(value.to_numpy(), dtype=object))}"
    return repr(value)

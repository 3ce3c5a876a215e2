"""Everything that an observer can read of a value: numbers inside arrays, frames and models, not only what is printed.

Printed texts are cut (an array of more than 1,000 numbers, a long column) and fitted models print their settings alone, so
a comparison of texts would pass over whatever a pipeline hides there.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from io import BytesIO, StringIO
from itertools import count
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from privet._private import Private

_DEEPEST = 60  # of values within values: beyond it Python's own stack would end
# Types of these modules have no more than they print.
_PLAIN_MODULES = frozenset(["builtins", "datetime", "decimal", "enum", "fractions", "pathlib", "uuid", "zoneinfo"])
_OPAQUE_MODULES = frozenset(["_thread", "_contextvars", "_weakref", "weakref"])  # locks and the like hold nothing
_UNREADABLE = count()  # no two are alike, so that a pipeline that returns such a thing is not judged
_SCALARS = (int, float, str, bool, bytes, type(None))


def differing(left: object, right: object, where: str = "result") -> list[str]:
    """The places where two results differ; NaN is NaN, and -0.0 is not 0.0.

    >>> differing({"a": [1, 2]}, {"a": [1, 3]})
    ["result['a'][1]"]
    """
    return list(_differing(left, right, where, frozenset()))


def _differing(left: object, right: object, where: str, above: frozenset[tuple[int, int]]) -> Iterator[str]:
    pair = id(left), id(right)
    if left is right or pair in above:  # a value may hold itself
        return
    if type(left) is not type(right) or len(above) >= _DEEPEST:
        if text_of(left) != text_of(right):
            yield where
        return
    if type(left) in _SCALARS:  # most of what is compared
        if repr(left) != repr(right):
            yield where
        return
    parts, others = parts_of(left), parts_of(right)
    if parts is None or others is None:
        if text_of(left) != text_of(right):
            yield where
    elif list(parts) != list(others):
        yield where
    else:
        for (name, part), other in zip(parts.items(), others.values(), strict=True):
            yield from _differing(part, other, where + name, above | {pair})


def parts_of(value: Any) -> dict[str, Any] | None:
    """The parts of a value by how one gets at them; None for what has none, such as a number or an array.

    >>> parts_of({"a": 1}), parts_of([2]), parts_of(3)
    ({"['a']": 1}, {'[0]': 2}, None)
    """
    if isinstance(value, dict):
        held = {f"[{key!r}]": each for key, each in value.items()}
        return held if type(value) is dict else held | _beside(value)
    if isinstance(value, list | tuple):
        held = {f"[{i}]": each for i, each in enumerate(value)}
        return held if type(value) in (list, tuple) else held | _beside(value)
    if type(value).__name__ == "Release" and hasattr(value, "loss"):
        return {".value": value.value, ".error": value.error, ".provenance": value.provenance}
    if isinstance(value, FunctionType | MethodType):
        return _function(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {f".{each.name}": getattr(value, each.name, None) for each in fields(value)} | _beside(value)
    try:
        found = _columns(value)
        return _state(value) if found is None else found
    except Exception:  # a frame on a cluster, a text that fails: nobody may say that two of these are equal
        return {" (not readable)": next(_UNREADABLE)}


def _beside(value: Any) -> dict[str, Any]:
    """The parts that a container carries besides what it holds: attributes, what it answers to other keys."""
    found = {f".{name}": held for name, held in getattr(value, "__dict__", {}).items()}
    return found | ({".default_factory": value.default_factory} if isinstance(value, defaultdict) else {})


def _function(value: FunctionType | MethodType) -> dict[str, Any]:
    """The parts of a function: its code, and the values that it keeps. Where it lies in memory says nothing."""
    if isinstance(value, MethodType):
        return {".__self__": value.__self__, ".__func__": value.__func__}
    code = value.__code__
    cells = {}
    for name, cell in zip(code.co_freevars, value.__closure__ or (), strict=True):
        try:
            cells[f" (keeps {name})"] = cell.cell_contents
        except ValueError:  # not filled yet
            cells[f" (keeps {name})"] = None
    kept = {".__defaults__": (value.__defaults__, value.__kwdefaults__), **cells, **_beside(value)}
    return {" (code)": _text_of_code(code), **kept}


def _text_of_code(code: CodeType) -> str:
    constants = [_text_of_code(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts]
    return repr((code.co_filename, code.co_firstlineno, code.co_qualname, code.co_code, code.co_names, constants))


def _columns(value: Any) -> dict[str, Any] | None:
    """The parts of arrays with a mask, of objects, and of frames and their columns."""
    if isinstance(value, np.ma.MaskedArray):
        return {".data": np.asarray(value.data), ".mask": np.ma.getmaskarray(value)}
    if isinstance(value, np.ndarray):
        return {".shape": value.shape, ".flat": value.ravel().tolist()} if value.dtype.hasobject else None
    if hasattr(value, "to_pydict"):  # Arrow
        return {".schema": value.schema.to_string(show_schema_metadata=True), ".to_pydict()": value.to_pydict()}
    if hasattr(value, "to_numpy"):  # pandas and Polars
        held = {".to_numpy()": np.asarray(value.to_numpy()), ".attrs": getattr(value, "attrs", None)}
        return {
            ".columns": list(getattr(value, "columns", [])),
            ".index": _index(value),
            ".types": _types(value),
            **held,
        }
    return None


def _index(value: Any) -> Any:
    index: Any = getattr(value, "index", None)  # of Polars and Arrow a method, if there is one
    if not hasattr(index, "to_numpy"):
        return None
    return {"values": index.to_numpy(), "names": list(index.names), "freq": str(getattr(index, "freqstr", None))}


def _types(value: Any) -> list[Any]:
    """The types of the columns, and the categories that a type lists, present or not."""
    held: Any = getattr(value, "dtypes", getattr(value, "dtype", None))
    each: list[Any] = [held] if isinstance(held, np.dtype) or not isinstance(held, Iterable) else list(held)
    return [(str(kind), [str(one) for one in _categories(kind)]) for kind in each]


def _categories(kind: Any) -> Any:
    found = getattr(kind, "categories", None)
    return () if found is None or callable(found) else found


def _state(value: Any) -> dict[str, Any] | None:
    """Whatever a copy of an object would carry: its attributes, or what it would be pickled with."""
    if isinstance(value, Private | type | ModuleType) or type(value).__module__ in _PLAIN_MODULES:
        return None
    if isinstance(value, np.generic) or _is_tensor(value):
        return None
    printed: dict[str, Any] = {}
    if getattr(type(value), "__repr__", None) is not object.__repr__:
        printed[" as printed"] = repr(value)
    if isinstance(value, BytesIO | StringIO):
        return {".getvalue()": value.getvalue(), **vars(value)}
    if "<locals>" in type(value).__qualname__:  # a class made in a run: its methods may keep what the run knew
        methods = {name: getattr(part, "fget", part) for name, part in vars(type(value)).items()}
        printed |= {f" (method {name})": part for name, part in methods.items() if isinstance(part, FunctionType)}
    if hasattr(value, "__dict__"):
        return {**printed, **{f".{name}": held for name, held in vars(value).items()}}
    try:
        made = value.__reduce_ex__(4)
    except Exception:  # whatever cannot be copied is compared by what it prints
        return None
    if not isinstance(made, tuple):
        return None
    listed = [list(part) if i in (3, 4) and part is not None else part for i, part in enumerate(made[1:], 1)]
    return {**printed, **{f" (pickled {i})": part for i, part in enumerate(listed)}}


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "detach") and hasattr(value, "cpu") and hasattr(value, "dtype")


def text_of(value: object, above: frozenset[int] = frozenset()) -> str:
    """A text that tells any two values apart that an observer can tell apart.

    >>> text_of(np.array([1.0])) == text_of(np.array([1]))
    False
    """
    if type(value) in _SCALARS:
        return repr(value)
    if isinstance(value, np.generic):
        return repr(value.item())
    if type(value).__module__ in _OPAQUE_MODULES:
        return type(value).__name__
    if _is_tensor(value):
        return _text_of_tensor(value)
    if isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray) and not value.dtype.hasobject:
        return f"{value.dtype}{value.shape}{value.tobytes().hex()}"
    parts = parts_of(value) if id(value) not in above and len(above) < _DEEPEST else None
    if parts is None:
        return repr(value)
    inside = ",".join(f"{name}:{text_of(part, above | {id(value)})}" for name, part in parts.items())
    return f"{type(value).__name__}[{inside}]"


def _text_of_tensor(value: Any) -> str:
    held = value.detach().cpu()
    if held.layout is not None and "strided" not in str(held.layout):
        held = held.to_dense()
    wide = held.float() if str(held.dtype) in ("torch.bfloat16", "torch.float16") else held
    return f"{value.dtype}{tuple(value.shape)}{np.asarray(wide.numpy()).tobytes().hex()}"

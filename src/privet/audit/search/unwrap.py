"""Ways to take an unknown object apart, by what it can do; None where a way does not lead in."""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

MOST_LEAVES = 20_000  # of one nested output, beside whole arrays of numbers


def _tensor(value: Any) -> Any:
    if hasattr(value, "detach") and hasattr(value, "cpu"):
        return value.detach().cpu().numpy()
    return None


def arrays_of(value: Any) -> Any:
    """What tables and models of our own hand out: a mapping of arrays, by name.

    >>> arrays_of(3) is None
    True
    """
    if isinstance(value, type) or not callable(getattr(type(value), "to_arrays", None)):
        return None
    return dict(value.to_arrays())


def frame(value: Any) -> Any:
    """pandas, Polars and Arrow tables and columns, sparse matrices: as plain containers of columns.

    >>> import pandas
    >>> frame(pandas.Series([1, 2], index=["a", "b"]))
    {'a': 1, 'b': 2}
    """
    # a frame answers for its columns too: asking its kind is quicker, and no column is taken for a method
    of = type(value) if is_table(value) else value
    if hasattr(of, "to_pydict"):
        return value.to_pydict()
    if hasattr(of, "to_pylist"):
        return value.to_pylist()
    if hasattr(of, "columns") and hasattr(of, "to_dict"):
        if hasattr(of, "index"):
            columns = {str(name): value[name].to_numpy() for name in value.columns}
            return (
                {"index": value.index.to_numpy(), **columns} if type(value.index).__name__ != "RangeIndex" else columns
            )
        return {name: value[name].to_numpy() for name in value.columns}
    if hasattr(of, "collect") and hasattr(of, "lazy"):
        return value.collect()
    if hasattr(of, "index") and hasattr(of, "to_numpy") and hasattr(value.index, "to_numpy"):
        keys, numbers = value.index.to_numpy(), value.to_numpy()
        plain = type(value.index).__name__ == "RangeIndex"
        return numbers if plain else dict(zip(keys.tolist(), numbers.tolist(), strict=True))
    if hasattr(of, "tocoo") and hasattr(of, "toarray"):
        return value.toarray()
    return value.to_numpy() if hasattr(of, "to_numpy") else None


def is_table(value: Any) -> bool:
    """Whether it is a table or a column of a library that is known for them.

    >>> import pandas
    >>> is_table(pandas.Series([1])), is_table([1])
    (True, False)
    """
    return type(value).__module__.partition(".")[0] in ("pandas", "polars", "pyarrow")


def _dataclass(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return None


def _array_like(value: Any) -> Any:
    if hasattr(value, "__array__") and not isinstance(value, type):
        found = np.asarray(value)
        return found if found.dtype != object or found.ndim else None
    if hasattr(value, "as_py"):
        return value.as_py()
    if isinstance(value, Sequence):
        return list(value)
    return None


def _iterated(value: Any) -> Any:
    if isinstance(value, Iterable) and not isinstance(value, type):
        return list(itertools.islice(value, MOST_LEAVES))
    return None


def is_function(value: Any) -> bool:
    """Whether it is a function or a method, not an object that can be called.

    >>> is_function(len)
    True
    """
    return callable(value) and hasattr(value, "__qualname__")


def _function(value: Any) -> Any:
    """A function by what it holds: closure, defaults, the arguments of a partial, the object of a method."""
    if hasattr(value, "func") and hasattr(value, "keywords"):
        return {"func": value.func, "args": value.args, "keywords": value.keywords}
    if not is_function(value) or isinstance(value, type):
        return None
    held = {"self": getattr(value, "__self__", None), "defaults": getattr(value, "__defaults__", None)}
    cells = getattr(value, "__closure__", None) or ()
    found = {name: part for name, part in held.items() if part is not None and not isinstance(part, ModuleType)}
    return found | {f"cell {j}": cell.cell_contents for j, cell in enumerate(cells)} or None


def _attributes(value: Any) -> Any:
    """Plain objects by their attributes."""
    if isinstance(value, type) or is_function(value):
        return None
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    names = [*getattr(value, "__dict__", {}), *(n for n in slots if hasattr(value, n) and not n.startswith("__"))]
    found = {name: getattr(value, name) for name in names}
    if found:
        return found
    if hasattr(value, "__float__") or hasattr(value, "__index__"):
        return float(value)
    return None


WAYS: tuple[Callable[[Any], Any], ...] = (
    _tensor, arrays_of, frame, _dataclass, _array_like, _iterated, _function, _attributes,
)  # fmt: skip

"""Ways to take an unknown object apart, by what it can do; None where a way does not lead in."""

import contextlib
import dataclasses
import io
import itertools
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

MOST_LEAVES = 20_000  # of one nested output, beside whole arrays of numbers
_DENSE = 16_384  # cells of a sparse matrix that are looked at one by one, empty ones included
_CELLS = 512  # entries of a larger one that are named by their place
_MOST_READ = 1 << 20  # characters or bytes of a file


def _tensor(value: object) -> Any:
    """Tensors by what they can do, without a word to their library: no gradient, in memory, dense, of a type numpy has."""
    if not (hasattr(value, "detach") and hasattr(value, "cpu")) or isinstance(value, type):
        return None
    plain = value.detach().cpu()
    if getattr(plain, "is_quantized", False):
        plain = plain.dequantize()
    if getattr(plain, "is_sparse", False) or getattr(plain, "is_sparse_csr", False):
        if getattr(plain, "shape", None) is not None and np.prod([float(n) for n in plain.shape]) > 100 * _DENSE:
            entries = plain.to_sparse_coo().coalesce()
            return {"shape": tuple(plain.shape), "indices": entries.indices(), "values": entries.values()}
        plain = plain.to_dense()
    for lazy in ("resolve_conj", "resolve_neg"):
        plain = getattr(plain, lazy)() if hasattr(plain, lazy) else plain
    try:
        return plain.numpy()
    except TypeError:  # half of a float has no type in numpy, but every one of its numbers is a float
        return plain.float().numpy()


def arrays_of(value: Any) -> Any:
    """The arrays of tables and models of our own: a mapping of arrays, by name.

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
        return _sparse(value)
    return value.to_numpy() if hasattr(of, "to_numpy") else None


def _sparse(value: Any) -> Any:
    """All cells of a small matrix; of a large one what is stored, by its place. That a 0 is stored tells something too."""
    entries = value.tocoo()
    if np.prod([float(n) for n in value.shape]) <= _DENSE:
        return {"cells": value.toarray(), "stored": int(entries.nnz)}
    order = np.lexsort(entries.coords[::-1])
    at, numbers = [axis[order] for axis in entries.coords], entries.data[order]
    named = dict(zip(zip(*(axis.tolist() for axis in at), strict=True), numbers.tolist(), strict=True))
    cells = named if len(named) <= _CELLS else {}
    return {"shape": value.shape, "places": at, "numbers": numbers, "cells": cells}


def about(value: object) -> dict[str, Any]:
    """The facts of a table besides its cells: types and categories of columns, names of an index, notes that hang on
    it.

    >>> import pandas
    >>> about(pandas.Series(["a"], dtype=pandas.CategoricalDtype(["a", "b"]), name="x"))
    {'name': 'x', 'categories': [['a', 'b']]}
    """
    found: dict[str, Any] = {}
    if (
        schema := getattr(value, "schema", None)
    ) is not None:  # Polars and Arrow: types, and what is written beside them
        found["schema"] = str(schema)
        found["metadata"] = {str(k): str(v) for k, v in (getattr(schema, "metadata", None) or {}).items()}
    if isinstance(name := getattr(value, "name", None), str | int):
        found["name"] = name
    found["attrs"] = dict(getattr(value, "attrs", None) or {})
    index = getattr(value, "index", None)
    found["index"] = [str(name) for name in getattr(index, "names", []) if name is not None]
    found["steps"] = [str(step)] if (step := getattr(index, "freqstr", None)) is not None else []
    dtypes = getattr(value, "dtypes", getattr(value, "dtype", None))
    dtypes = [dtypes] if not isinstance(dtypes, Iterable) or isinstance(dtypes, str) else list(dtypes)
    every = [getattr(dtype, "categories", None) for dtype in dtypes]
    found["categories"] = [list(kinds) for kinds in every if isinstance(kinds, Iterable)]
    return {key: part for key, part in found.items() if isinstance(part, int) or part}


def is_table(value: object) -> bool:
    """True if it is a table or a column of a library that is known for them.

    >>> import pandas
    >>> is_table(pandas.Series([1])), is_table([1])
    (True, False)
    """
    return type(value).__module__.partition(".")[0] in ("pandas", "polars", "pyarrow")


def _dataclass(value: object) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return None


def _array_like(value: object) -> Any:
    if (hasattr(value, "__array__") or hasattr(value, "__array_interface__")) and not isinstance(value, type):
        found = np.asarray(value)
        return found if found.dtype != object or found.ndim else None
    if hasattr(value, "as_py"):
        return value.as_py()
    if isinstance(value, Sequence):
        return list(value)
    return None


def _file(value: object) -> Any:
    """The content of a file in memory or on a disc, wherever its reader stands."""
    if not isinstance(value, io.IOBase):
        return None
    if isinstance(value, io.StringIO | io.BytesIO):
        return value.getvalue()
    if not (value.seekable() and value.readable()):
        return None
    stands = value.tell()
    value.seek(0)
    found = value.read(_MOST_READ)
    value.seek(stands)
    return found


def _iterated(value: object) -> Any:
    if isinstance(value, Iterable) and not isinstance(value, type):
        return list(itertools.islice(value, MOST_LEAVES))
    return None


def is_function(value: object) -> bool:
    """True if it is a function or a method, not an object that can be called.

    >>> is_function(len)
    True
    """
    return callable(value) and hasattr(value, "__qualname__")


def _function(value: Any) -> Any:
    """A function by what it holds: closure, defaults, constants, arguments of a partial, the object of a method."""
    if hasattr(value, "func") and hasattr(value, "keywords"):
        return {"func": value.func, "args": value.args, "keywords": value.keywords}
    if not is_function(value) or isinstance(value, type):
        return None
    names = ("__self__", "__defaults__", "__kwdefaults__", "__dict__")
    held = {name.strip("_"): getattr(value, name, None) for name in names}
    constants = getattr(getattr(value, "__code__", None), "co_consts", ())
    held["constants"] = [each for each in constants if isinstance(each, str | bytes | int | float | complex | tuple)]
    cells = getattr(value, "__closure__", None) or ()
    found = {name: part for name, part in held.items() if part and not isinstance(part, ModuleType)}
    for j, cell in enumerate(cells):
        with contextlib.suppress(ValueError):  # a cell that is not filled yet holds nothing
            found[f"cell {j}"] = cell.cell_contents
    return found or None


def attributes(value: object) -> dict[str, Any]:
    """The values that an object carries by name: its attributes, and its slots.

    >>> import types
    >>> attributes(types.SimpleNamespace(a=1)), attributes(3)
    ({'a': 1}, {})
    """
    if isinstance(value, type) or is_function(value):
        return {}
    found = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            inner = f"_{kind.__name__.lstrip('_')}{name}" if name[:2] == "__" and name[-2:] != "__" else name
            if name not in ("__dict__", "__weakref__") and hasattr(value, inner):
                found[name] = getattr(value, inner)
    if isinstance(value, defaultdict) and value.default_factory is not None:
        found["default_factory"] = value.default_factory  # what it answers to any other key
    if isinstance(value, deque) and value.maxlen is not None:
        found["maxlen"] = value.maxlen
    return found


def _attributes(value: Any) -> Any:
    """Plain objects by what they carry; those of compiled libraries by what they would be saved as."""
    if isinstance(value, type) or is_function(value):
        return None
    if found := attributes(value):
        return found
    if hasattr(value, "__float__") or hasattr(value, "__index__"):
        return float(value)
    if own := getattr(value, "__getstate__", lambda: None)():
        return own
    if isinstance(reduced := value.__reduce_ex__(2), str):
        return None
    _, given, *rest = reduced
    kept = [part for part in given if not isinstance(part, type)]
    state = [part for part in rest if part is not None]
    return {"made of": kept, "state": state} if kept or state else None


WAYS: tuple[Callable[[Any], Any], ...] = (
    _tensor, arrays_of, frame, _file, _dataclass, _array_like, _iterated, _function, _attributes,
)  # fmt: skip
OUTSIDE = frozenset({_dataclass, _array_like, _iterated})  # ways that show a part: other attributes may hold more

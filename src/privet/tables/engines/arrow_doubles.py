"""A stream of Arrow that holds numbers alone, as arrays of numpy, through Arrow's C interface: pyarrow is not needed."""

import ctypes
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidData

_Batch = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Array(ctypes.Structure):
    pass


_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", ctypes.c_void_p),
    ("release", _Batch),
    ("private_data", ctypes.c_void_p),
]


class _Stream(ctypes.Structure):
    _fields_: ClassVar[Any] = [
        ("get_schema", ctypes.c_void_p),
        ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
        ("get_last_error", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    ]


def exact_doubles(capsule: object, width: int, call: Callable[[Callable[[], Any]], Any]) -> Iterator[Array]:
    """The batches of a stream whose columns are `width` doubles without missing values: not releasable."""
    for columns in exact_numbers(capsule, [np.dtype(np.float64)] * width, call):
        yield np.stack(columns, axis=1)


def exact_numbers(
    capsule: object, kinds: list[np.dtype[Any]], call: Callable[[Callable[[], Any]], Any]
) -> Iterator[list[Array]]:
    """The batches of a stream whose columns are numbers of these kinds without missing values: not releasable. The capsule
    owns the stream, and lets go of it at its own end. `call` runs the engine's work for one batch."""
    point = ctypes.pythonapi.PyCapsule_GetPointer
    point.restype, point.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = point(capsule, b"arrow_array_stream")
    stream = ctypes.cast(address, ctypes.POINTER(_Stream)).contents
    while True:
        batch = _Array()
        if call(partial(stream.get_next, address, ctypes.addressof(batch))):
            raise InvalidData("the engine ended its stream early")
        if not batch.release:
            return
        try:
            made = _columns(batch, kinds)
        finally:
            batch.release(ctypes.addressof(batch))
        if made and len(made[0]):
            yield made


def _columns(batch: _Array, kinds: list[np.dtype[Any]]) -> list[Array]:
    if batch.n_children != len(kinds):
        raise InvalidData("the engine has sent other columns than it was asked for")
    made = []
    for place, kind in enumerate(kinds):
        column = batch.children[place].contents
        if column.null_count > 0 or column.n_buffers != 2:
            raise InvalidData("the engine has sent other columns than it was asked for")
        held = np.empty(batch.length, dtype=kind)
        if batch.length:
            start = column.buffers[1] + (column.offset + batch.offset) * kind.itemsize
            ctypes.memmove(held.ctypes.data, start, batch.length * kind.itemsize)
        made.append(held)
    return made

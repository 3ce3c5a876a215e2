"""A cache that counts bytes: grid laws may be tiny or huge."""

from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

__all__ = ["remember"]

P = ParamSpec("P")
R = TypeVar("R")


class _Remembering(Generic[P, R]):
    """A function with a memory of its latest results, up to a number of bytes."""

    def __init__(self, function: Callable[P, R], most_bytes: int) -> None:
        self.function, self.most_bytes, self.used = function, most_bytes, 0
        self.results: OrderedDict[Any, tuple[R, int]] = OrderedDict()
        wraps(function)(self)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        key = (args, tuple(sorted(kwargs.items())))
        if key in self.results:
            self.results.move_to_end(key)
            return self.results[key][0]
        result = self.function(*args, **kwargs)
        size = _size(result)
        if size <= self.most_bytes // 4:
            self.results[key] = (result, size)
            self.used += size
            while self.used > self.most_bytes:
                self.used -= self.results.popitem(last=False)[1][1]
        return result

    def cache_clear(self) -> None:
        """Forget everything."""
        self.results.clear()
        self.used = 0


def _size(value: object) -> int:
    """Bytes of the arrays inside, and a little for the rest."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, tuple):
        return sum(_size(item) for item in value)
    inner = getattr(value, "__dict__", {})
    return 200 + sum(_size(item) for item in inner.values())


def remember(most_bytes: int) -> Callable[[Callable[P, R]], _Remembering[P, R]]:
    """Decorator: keep the latest results of a pure function, at most `most_bytes` in all.

    >>> @remember(1000)
    ... def square(x: int) -> int:
    ...     return x * x
    >>> square(3), square(3), len(square.results)
    (9, 9, 1)
    """
    return lambda function: _Remembering(function, most_bytes)

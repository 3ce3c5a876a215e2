"""A cache that counts bytes: grid laws may be tiny or huge."""

from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

__all__ = ["remember"]


def _size(value: object) -> int:
    """Bytes of the arrays inside, and a little for the rest."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, tuple):
        return sum(_size(item) for item in value)
    inner = getattr(value, "__dict__", {})
    return 200 + sum(_size(item) for item in inner.values())


def remember(most_bytes: int) -> Callable[[Callable[..., Any]], Any]:
    """Decorator: keep the latest results of a pure function, at most `most_bytes` in all.

    >>> @remember(1000)
    ... def square(x: int) -> int:
    ...     return x * x
    >>> square(3), square(3)
    (9, 9)
    >>> square.cache_clear()
    """

    def decorate(function: Callable[..., Any]) -> Any:
        results: OrderedDict[Any, tuple[Any, int]] = OrderedDict()
        held = 0  # bytes

        @wraps(function)
        def remembering(*args: Any) -> Any:
            nonlocal held
            known = results.get(args)
            if known is not None:
                results.move_to_end(args)
                return known[0]
            result = function(*args)
            size = _size(result)
            if size <= most_bytes // 4:
                results[args] = (result, size)
                held += size
                while held > most_bytes:
                    held -= results.popitem(last=False)[1][1]
            return result

        def clear() -> None:
            nonlocal held
            results.clear()
            held = 0

        remembering.cache_clear = clear  # type: ignore[attr-defined]
        return remembering

    return decorate

"""A cache that counts bytes: the arrays behind a price may be tiny or huge."""

from collections import OrderedDict
from collections.abc import Callable
from functools import cached_property, wraps
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

_T = TypeVar("_T")
_known: list[Callable[[], None]] = []


class kept_property(cached_property[_T]):
    """A property that is computed once and kept in the object, without the lock that `cached_property` has up to Python
    3.11: it is one for all objects, and a process that is forked off while a thread holds it would wait for ever. Two
    threads may compute the same value, which does no harm.

    >>> class Circle:
    ...     @kept_property
    ...     def area(self) -> float:
    ...         return 3.14
    >>> Circle().area
    3.14
    """

    if not TYPE_CHECKING:  # the types are those of `cached_property`

        def __get__(self, instance: object, owner: type[Any] | None = None) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self.attrname] = self.func(instance)
            return value


def _size(value: object) -> int:
    """Bytes of the arrays inside, and a little for the rest."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, tuple):
        return sum(map(_size, value))
    inner = getattr(value, "__dict__", None)
    return 200 + sum(map(_size, inner.values())) if inner else 200


def remember(most_bytes: int) -> Callable[[Callable[..., Any]], Any]:
    """Decorator: keep the latest results of a pure function, at most `most_bytes` in all.

    Arguments are hashable; one that has a `token` is known by that, and is not kept alive by the cache.
    Safe for threads: the book-keeping is done under a lock, the function itself runs outside it (two threads may then
    compute the same result, which does no harm).

    >>> @remember(1000)
    ... def square(x: int) -> int:
    ...     return x * x
    >>> square(3), square(3)
    (9, 9)
    >>> square.cache_clear()
    """

    def decorate(function: Callable[..., Any]) -> Any:
        results: OrderedDict[Any, tuple[Any, int]] = OrderedDict()
        lock = Lock()
        held = 0  # bytes

        @wraps(function)
        def remembering(*args: object) -> Any:
            nonlocal held
            key = tuple([getattr(arg, "token", arg) for arg in args])  # a token stands for arrays, without holding them
            with lock:
                known = results.get(key)
                if known is not None:
                    results.move_to_end(key)
                    return known[0]
            result = function(*args)
            size = _size(result)
            if size <= most_bytes // 4:
                with lock:
                    before = results.pop(key, None)  # another thread may have been quicker
                    held += size - (before[1] if before else 0)
                    results[key] = (result, size)
                    while held > most_bytes:
                        held -= results.popitem(last=False)[1][1]
            return result

        def clear() -> None:
            nonlocal held
            with lock:
                results.clear()
                held = 0

        def size() -> int:
            return held

        remembering.cache_clear = clear  # type: ignore[attr-defined]
        remembering.cache_bytes = size  # type: ignore[attr-defined]
        _known.append(clear)
        return remembering

    return decorate


def forget() -> None:
    """Empty every cache made by `remember`.

    >>> forget()
    """
    for clear in _known:
        clear()

"""Silence around a mechanism that runs on private data: its warnings may quote a value."""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_running = 0
_IGNORE = ("ignore", None, Warning, None, 0)


@contextmanager
def quiet() -> Iterator[None]:
    """No warning is shown, recorded or turned into an error while a mechanism runs.

    Filters belong to the process, so warnings of other threads are silent in that time too. The filter is added when the
    first mechanism begins and removed when the last one ends: `warnings.catch_warnings` would, with several threads, put
    back the filters of another one.

    >>> import warnings
    >>> with quiet():
    ...     warnings.warn("nobody hears this", UserWarning)
    """
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    global _running
    with _lock:
        _running += 1
        if warnings.filters[:1] != [_IGNORE]:
            warnings.simplefilter("ignore")


def _leave() -> None:
    global _running
    with _lock:
        _running -= 1
        if _running == 0 and _IGNORE in warnings.filters:
            warnings.filters.remove(_IGNORE)  # type: ignore[attr-defined]

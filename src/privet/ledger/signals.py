"""Ctrl-C in the middle of a transaction: it waits until the transaction has ended, in one way or the other.

Python runs the handler of a signal between any two steps of the main thread. An exception from there could fall between
"the lock is taken" and "the lock is noted as taken", and no `try` sees that. So handlers wait while a lock is held. A
transaction is short; where it waits for others it asks by itself (`give_way`).
"""

import signal
import threading
from collections.abc import Callable
from importlib import import_module
from types import FrameType
from typing import Any

_NAMES = ("SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGTERM", "SIGBREAK", "SIGINT")
_NUMBERS = tuple(int(getattr(signal, name)) for name in _NAMES if hasattr(signal, name))
_plain: Any = import_module("_signal")  # the same without names for numbers: this is on the path of every charge
_getsignal, _signal = _plain.getsignal, _plain.signal
_MAIN = threading.main_thread()
_held: "list[HeldSignals]" = []  # innermost last; only the main thread touches it


class HeldSignals:
    """While open, handlers that are written in Python wait. Only the main thread runs them, so others do nothing here.

    >>> old = signal.signal(signal.SIGUSR1, lambda number, frame: print("handled"))
    >>> with HeldSignals():
    ...     signal.raise_signal(signal.SIGUSR1)
    ...     print("not yet")
    not yet
    handled
    >>> signal.signal(signal.SIGUSR1, old) is None
    False
    """

    __slots__ = ("_noted", "_old")

    def __init__(self) -> None:
        self._old: list[tuple[int, Callable[[int, FrameType | None], Any]]] = []
        self._noted: list[tuple[int, FrameType | None]] = []

    def __enter__(self) -> "HeldSignals":
        if threading.get_ident() != _MAIN.ident:
            return self
        try:
            for number in _NUMBERS:
                handler = _getsignal(number)
                if callable(handler):
                    self._old.append((number, handler))
                    _signal(number, self._note)
        except BaseException:
            self._restore()
            raise
        _held.append(self)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._noted.append((number, frame))

    def __exit__(self, *error: object) -> None:
        if self._old:
            _held.remove(self)
            self._restore()
            self.flush()

    def _restore(self) -> None:
        raised: BaseException | None = None
        for number, handler in self._old:
            try:
                _signal(number, handler)
            except BaseException as problem:  # the handler that was just put back has run already
                raised = problem
                _signal(number, handler)
        if raised is not None:
            raise raised

    def flush(self) -> None:
        """Run the handlers that have waited; the first that raises ends this."""
        while self._noted:
            number, frame = self._noted.pop(0)
            dict(self._old)[number](number, frame)


def give_way() -> None:
    """Called where nothing is half done, in the middle of waiting: handlers that wait run now and may raise.

    >>> give_way()
    """
    if _held and threading.current_thread() is _MAIN:
        for each in reversed(list(_held)):
            each.flush()

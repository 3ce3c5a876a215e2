"""The progress of long work: one hook, silent unless a front end listens. Public numbers only, never
data."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from privet._validate import count
from privet.errors import InvalidParameter

Listener = Callable[[str, int, int], None]  # what is done, how much of it, of how much

_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


class Track:
    """One piece of work that is counted while it goes on, in whole numbers: nothing else can be told.

    >>> work = Track("runs", 3)
    >>> work.advance(2)
    >>> work.done
    2
    """

    def __init__(self, what: str, total: int) -> None:
        if not isinstance(what, str):
            raise InvalidParameter("what is done must be told in a text")
        self.what, self.total, self.done = what, count("total", total), 0

    def advance(self, by: int = 1) -> None:
        """So much more is done."""
        self.done += count("by", by)
        self._tell()

    def revise(self, total: int) -> None:
        """It is more, or less, than was thought."""
        self.total = count("total", total)
        self._tell()

    def _tell(self) -> None:
        listener = _LISTENER.get()
        if listener is not None:
            listener(self.what, self.done, self.total)


def track(what: str, total: int) -> Track:
    """Count work that is about to begin; nothing is shown unless somebody listens.

    `what` and the numbers must be public: how many runs were asked for, not how many rows a table has.

    >>> track("runs", 10).total
    10
    """
    work = Track(what, total)
    work._tell()
    return work


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """While open, work in this context tells the listener how far it has come.

    >>> with listening(print):
    ...     track("runs", 2).advance()
    runs 0 2
    runs 1 2
    """
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)

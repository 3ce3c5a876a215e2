"""Where code runs: who pays for what it releases, which audit watches, of which algorithm it is a part.

One record in one context variable. A task of asyncio has that of whoever made it; a thread begins with none, and gets it
by `carry`.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, replace
from typing import Any, Generic, NoReturn, ParamSpec, TypeVar, final

from privet.errors import LedgerError

P = ParamSpec("P")
T = TypeVar("T")


@final
class Paying:
    """One `with ledger:` block that is open, or one release that is paid for and runs (then `payer` is None)."""

    __slots__ = ("open", "payer")

    def __init__(self, payer: Any) -> None:
        self.payer, self.open = payer, True


@final
class Watch:
    """One audit that watches, and the work that was carried to other threads under it, by number."""

    __slots__ = ("_counts", "_lock", "observer", "refused")

    def __init__(self, observer: Any) -> None:
        self.observer, self.refused = observer, False
        self._counts: dict[tuple[int, ...], int] = {}
        self._lock = threading.Lock()

    def next_lane(self, above: tuple[int, ...]) -> tuple[int, ...]:
        """The next one below a lane, by order of handing out, which is the same in every run."""
        with self._lock:
            number = self._counts[above] = self._counts.get(above, -1) + 1
        return (*above, number)


@final
@dataclass(frozen=True, slots=True)
class Here:
    """Facts that are true where some code runs. It holds for the process in which it was said."""

    process: int = 0
    paying: tuple[Paying, ...] = ()  # the last one decides
    watch: Watch | None = None
    lane: tuple[int, ...] = ()  # () in the main piece of work, numbers for work carried to other threads
    body: Any = None  # of the innermost algorithm that runs
    together: tuple[Any, ...] = ()  # groups of parts that are priced as one
    sealed: bool = False  # code of the user looks at private records inside of a release: nothing is released here


_NOWHERE = Here()
_HERE: ContextVar[Here] = ContextVar("privet_here", default=_NOWHERE)


def here() -> Here:
    """The record of this context. A copy of the memory at a fork never learns what ends in the other process: there is
    nothing here then.

    >>> here().paying, here().lane
    ((), ())
    """
    found = _HERE.get()
    return found if found.process == os.getpid() else _NOWHERE


def change(**fields: Any) -> None:
    """Set fields of the record of this context.

    >>> change(lane=())
    """
    _HERE.set(replace(here(), process=os.getpid(), **fields))


@contextmanager
def changed(**fields: Any) -> Iterator[None]:
    """While open, fields of the record differ.

    >>> with changed(lane=(7,)):
    ...     here().lane
    (7,)
    """
    before = here()
    known = {name: getattr(before, name) for name in fields}
    try:
        change(**fields)
        yield
    finally:
        try:
            change(**known)
        except BaseException:  # an interruption: first what it left undone
            change(**known)
            raise


def carry(work: Callable[P, T]) -> "Carried[P, T]":
    """A piece of work for another thread that belongs to what runs here: paid with it, watched with it, ended with it.

    For authors of algorithms and of pipelines that are audited. Each piece is carried by itself and done once.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from privet.mechanisms import carry
    >>> with ThreadPoolExecutor(2) as pool:
    ...     [job.result() for job in [pool.submit(carry(abs), number) for number in (-1, -2)]]
    [1, 2]
    """
    return Carried(work)


@final
class Carried(Generic[P, T]):
    """The function that `carry` returns."""

    def __init__(self, work: Callable[P, T]) -> None:
        known, self._context, self._left = here(), copy_context(), [work]
        if known.watch is not None:
            self._context.run(change, lane=known.watch.next_lane(known.lane))

    def __call__(self, *args: P.args, **options: P.kwargs) -> T:
        """Do it."""
        try:
            work = self._left.pop()
        except IndexError:
            raise LedgerError("this piece of work was done already; carry every piece by itself") from None
        return self._context.run(work, *args, **options)

    def __reduce__(self) -> NoReturn:
        raise LedgerError(
            "work that was carried belongs to a release or an audit of this process, and cannot go to another one; use "
            "threads"
        )

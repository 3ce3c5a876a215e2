"""The one door of every release: an audit that watches, else the ledger that pays, else nobody.

Code whose context carries a ledger is charged. While a ledger is in force (or an audit watches) in this process or in
one above it, every other release is refused: where it is not clear who pays, nobody draws.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from inspect import isasyncgen, isasyncgenfunction, iscoroutine, iscoroutinefunction, isgenerator, isgeneratorfunction
from typing import Any, Generic, ParamSpec, Self, TypeVar, final

from privet.errors import InvalidParameter, LedgerError
from privet.mechanisms.here import Here, Paying, Watch, change, changed, here
from privet.mechanisms.in_force import Flag
from privet.mechanisms.release import Release

P = ParamSpec("P")
T = TypeVar("T")
Run = Callable[[], Release[Any]]
Observer = Callable[[Any, Any, Run], Release[Any]]

_FLAG = Flag()
_STRANGER = (
    "a ledger is in force in this process, or in the one that started it, and this thread, task or process does not carry "
    "it; nothing was released. Hand the work out as ledger.task(f), or use ledger.release(mechanism, data); within an "
    "algorithm or an audit, threads get their work as mechanisms.carry(f)"
)
_SEALED = (
    "a data set, table, model, loss or optimizer asked for a release while it was used inside of another one; nothing was "
    "drawn: how often it is asked follows from private records. Release before, and hand in what came out"
)
_LATER = "it would run after the task has ended, where nobody pays; make a list, or a function that waits, of it"


class Payer(ABC):
    """A payer, which can stand in a `with` statement and pay for every release inside: a ledger, a slice of a run.

    >>> class Free(Payer):
    ...     def pay_for(self, mechanism, value, run, source=None):
    ...         return run()
    >>> with Free() as free:
    ...     in_force() is free
    True
    >>> in_force() is None
    True
    """

    @abstractmethod
    def pay_for(self, mechanism: Any, value: Any, run: Run, source: Any = None) -> Release[Any]:
        """Charge a release, then run it."""

    @property
    def charged(self) -> "Payer | None":
        """The ledger that is charged: a ledger itself, that of a slice's run; None where there is none."""
        return None

    @staticmethod
    def refuse_sealed() -> None:
        """Refuse to pay where nothing may be released."""
        if here().sealed:
            raise LedgerError(_SEALED)

    def task(self, work: Callable[P, T]) -> "Task[P, T]":
        """A function that does the same work, with this in force: for a thread, a pool, joblib or another process.

        Other processes open the ledger by its address, so it has to be a file or a server; one in memory goes to threads
        only. Nothing needs to be in force where it is made.

        >>> import privet as pv
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
        >>> step = pv.mechanisms.Laplace.for_budget(epsilon=0.1, sensitivity=1.0)
        >>> with ThreadPoolExecutor(2) as pool:
        ...     made = list(pool.map(ledger.task(step.release), [1, 2, 3]))
        >>> len({release.paid["entry"] for release in made})
        3
        """
        if not callable(work):
            raise InvalidParameter(f"task takes a function, got {type(work).__name__}")
        if isgeneratorfunction(work) or iscoroutinefunction(work) or isasyncgenfunction(work):
            raise InvalidParameter(f"task takes a function that returns its result: {_LATER}")
        return Task(self, work)

    def __enter__(self) -> Self:
        self.refuse_sealed()
        block = Paying(self)
        try:
            _FLAG.raised(block)
            change(paying=(*(each for each in here().paying if each.open), block))
        except BaseException:
            _end(block)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        block = None
        try:
            block = self._block()
            _end(block)
        except BaseException:  # an interruption: first what it left undone
            _end(block or self._block())
            raise

    def _block(self) -> Paying | None:
        """The innermost block of this payer; one of another thread or task, where a block ends in another than it began."""
        everywhere = (each for each in _FLAG.users if isinstance(each, Paying))
        mine = [each for each in (*everywhere, *here().paying) if each.payer is self and each.open]
        return mine[-1] if mine else None


@final
@dataclass(frozen=True)
class Task(Generic[P, T]):
    """Work with its payer: what `ledger.task(f)` returns."""

    payer: Payer
    work: Callable[P, T]

    def __call__(self, *args: P.args, **options: P.kwargs) -> T:
        """Do the work; what it releases is paid."""
        with self.payer:
            made = self.work(*args, **options)
        if isgenerator(made) or iscoroutine(made) or isasyncgen(made):
            raise LedgerError(f"a task returned a {type(made).__name__}: {_LATER}")
        return made


def _end(paying: Paying | None) -> None:
    """Nothing is paid by it any more, here and wherever it was carried to. May be done twice."""
    if paying is not None:
        paying.open = False
        _FLAG.lowered(paying)
        _leave(paying)


def _leave(paying: Paying) -> None:
    known = here().paying
    if paying in known:
        change(paying=tuple(each for each in known if each is not paying))


@contextmanager
def paid_for() -> Iterator[None]:
    """While open, releases are parts of a whole that is paid for.

    >>> with paid_for():
    ...     pay(None, 0, lambda: "drawn")
    'drawn'
    """
    whole = Paying(None)
    try:
        change(paying=(*here().paying, whole))
        yield
    finally:
        whole.open = False  # first: for whatever was started inside and goes on
        try:
            _leave(whole)
        except BaseException:  # an interruption: first what it left undone
            _leave(whole)
            raise


@final
class outside:  # reads as a word of a `with` statement; a generator that is closed late would end it late
    """While open, code of the user runs that was handed to a release: a callback, an input that is read. What it releases
    is no part of that release, and is paid for as if it stood around it. Inside of a larger algorithm, whose author's code
    it is, it is a part of that one.

    Blocks that end inside have ended; one that stays open (in a generator that waits) pays for nothing here.

    >>> with paid_for(), outside():
    ...     asked_here() is None  # nobody pays outside
    True
    """

    def __enter__(self) -> None:
        known, self._process = here(), os.getpid()
        self._body = known.body
        larger = None if known.body is None or not known.body.open else known.body.larger
        wholes = len(known.paying)
        while larger is None and wholes and known.paying[wholes - 1].payer is None:
            wholes -= 1
        self._around, self._wholes = known.paying[:wholes], known.paying[wholes:]
        change(paying=self._around, body=larger)

    def __exit__(self, *_: object) -> None:
        if os.getpid() != self._process:  # a copy of the memory, which learns of no end
            return
        still = here().paying
        around = tuple(each for each in self._around if each in still)
        wholes = tuple(each for each in self._wholes if each.open)
        change(paying=(*around, *wholes), body=self._body)


def reading() -> AbstractContextManager[None]:
    """While open, code of a container gives up what it holds, which is outside of the release that reads it. Within an
    algorithm it is a part, as everything is.

    >>> with paid_for(), reading():
    ...     asked_here() is None
    True
    """
    known = here()
    a_part = known.body is not None and known.body.open
    inside = not a_part and known.paying and known.paying[-1].payer is None
    return outside() if inside else nullcontext()


def sealed() -> AbstractContextManager[None]:
    """While open, code of the user looks at private records inside of a release, and is refused releases of its own: how
    many there are would tell of the records, in a ledger for everybody to read.

    >>> with sealed():
    ...     in_force()
    Traceback (most recent call last):
    privet.errors.LedgerError: a data set, table, model, loss or optimizer asked for a release while it was used inside of
     another one; nothing was drawn: how often it is asked follows from private records. Release before, and hand in what
     came out
    """
    return changed(sealed=True)


def _last(known: Here) -> Paying | None:
    """Who decides here: None where nobody pays, an error where somebody should and cannot."""
    if known.sealed:
        raise LedgerError(_SEALED)
    if not known.paying:
        _refuse_strangers(known)
        return None
    last = known.paying[-1]
    if last.open:
        return last
    what = "a release that is paid for" if last.payer is None else "a `with ledger:` block"
    raise LedgerError(
        f"this was started inside {what} that has ended; nothing was released. Wait for threads and tasks inside"
    )


def _refuse_strangers(known: Here) -> None:
    users = _FLAG.users
    if known.watch is not None:  # another audit is no concern of this one
        users = tuple(each for each in users if not isinstance(each, Watch))
    if users or _FLAG.above():
        for each in users:
            if isinstance(each, Watch):
                each.refused = True
        raise LedgerError(_STRANGER)


def in_force() -> Payer | None:
    """Who pays for a release here: None where no ledger is in force, an error where one is and this does not carry it.

    >>> in_force() is None
    True
    """
    known = here()
    _last(known)
    payers = [each.payer for each in known.paying if each.payer is not None]
    return payers[-1] if payers else None


def asked_here() -> Payer | None:
    """Who has to be asked for a release here: nobody inside a whole that is paid for, or where an audit watches.

    >>> asked_here() is None
    True
    """
    known = here()
    last = None if known.watch is not None else _last(known)
    return None if last is None else last.payer


def refuse_unpaid_runs(who: str = "simulate") -> None:
    """Refuse to simulate or to audit where a ledger is in force: the runs would be releases that nobody pays for.

    >>> refuse_unpaid_runs()
    """
    last = _last(here())
    if last is not None and last.payer is not None:
        raise LedgerError(
            f"{who} draws outputs that nobody pays for, and a ledger is in force here; nothing was drawn. It is for tests "
            "and audits on made-up data: call it outside of the `with ledger:` block"
        )


@contextmanager
def observed(observer: Observer) -> Iterator[Watch]:
    """While open, every release goes through `observer(mechanism, value, run)`: how an audit records and replays. Nobody
    pays for what it draws, so a release is refused where a ledger is in force, unless it is part of a paid whole; and so
    is one that the audit would not see.

    >>> from privet.mechanisms import Laplace
    >>> with observed(lambda mechanism, value, run: Release(value, mechanism.loss, insecure=True)):
    ...     Laplace.for_budget(epsilon=1.0, sensitivity=1.0).release(5.0).value
    5.0
    """
    watch = Watch(observer)
    try:
        _FLAG.raised(watch)
        with changed(watch=watch, lane=()):
            yield watch
    finally:
        _FLAG.lowered(watch)


def draw_coins(what: str, draw: Callable[[Any], Any], source: Any) -> Any:
    """`draw(source)`, for coins that an algorithm declares; an audit that watches hands in a source of its own.

    >>> draw_coins("a partition", lambda source: "heads", None)
    'heads'
    """
    watch = here().watch
    thrown = None if watch is None else getattr(watch.observer, "coins", None)
    return draw(source) if thrown is None else thrown(what, draw, source)


def pay(mechanism: Any, value: Any, run: Run, source: Any = None) -> Release[Any]:
    """Run a release: watched by an audit, else paid by the ledger in force, else as it is. What is part of a whole that
    is paid for costs nothing more.
    """
    try:
        watch = here().watch
        if watch is not None:
            refuse_unpaid_runs("an audit")
            made: Release[Any] = watch.observer(mechanism, value, run)
            return made
        payer = asked_here()
        return run() if payer is None else payer.pay_for(mechanism, value, run, source)
    finally:
        del value, run  # frames outlive an error, and the data with them

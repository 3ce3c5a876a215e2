"""The one door of every release: an audit that watches, else the ledger that pays, else nobody.

Who pays is the innermost `with ledger:` block, for the whole of a release, once.

Blocks are kept per thread and per task (a context variable) and, besides, for the whole process: a thread of a pool
starts with an empty context, and what it releases must not pass unpaid. Where it is not clear who pays, nobody draws.
"""

import gc
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import AsyncGeneratorType, CoroutineType, FrameType, GeneratorType
from typing import Any

from privet._locks import ProcessLock
from privet.errors import LedgerError
from privet.mechanisms.release import Release
from privet.mechanisms.workers import Payers, follow_workers

Run = Callable[[], Release[Any]]
Observer = Callable[[Any, Any, Run], Release[Any]]
Payer = Any  # has `pay_for(mechanism, value, run, source)`; a ledger, which is a room above this one

_MARK = "PRIVET_LEDGER_IN_FORCE"
WATCHED = "PRIVET_AUDIT_WATCHES"
PAID = "a whole that is paid for"
NOBODY = "nobody pays where it was handed out"


class _Block:
    """One `with` statement that is open."""

    __slots__ = ("frame", "older", "open", "payer", "place")

    def __init__(self, payer: Payer, frame: FrameType | None) -> None:
        self.payer, self.frame, self.open, self.place = payer, frame, True, _place()
        self.older: weakref.WeakSet[Any] = weakref.WeakSet()  # generators that were there before


class _Whole:
    """A release that is paid for, while it runs: what it releases inside is part of it, in whatever thread."""

    __slots__ = ("blocks", "jobs", "open", "process")

    def __init__(self, blocks: int) -> None:
        self.blocks, self.open = blocks, True  # how many `with ledger:` blocks were open when it was paid
        self.process = os.getpid()
        self.jobs: list[Callable[[], Any]] = []  # what other processes were given to do, as functions that wait for it


def _place() -> tuple[int, object]:
    """The thread and the task that run here."""
    asyncio = sys.modules.get("asyncio")
    try:
        task = None if asyncio is None else asyncio.current_task()
    except RuntimeError:
        task = None
    return threading.get_ident(), task and id(task)


_BLOCKS: ContextVar[tuple[_Block, ...]] = ContextVar("privet_paying", default=())
_OBSERVER: ContextVar[tuple[Observer, int] | None] = ContextVar("privet_observer", default=None)  # in which process
_PAID: ContextVar["_Whole | None"] = ContextVar("privet_paid", default=None)
_HANDED: ContextVar[bool] = ContextVar("privet_handed", default=False)  # a task from where no ledger is in force
_ACTIVE: list[_Block] = []  # of the whole process
_LOCK = ProcessLock()
_STARTED_WITHIN = os.environ.get(_MARK) not in (None, str(os.getpid()))  # by a process that had a ledger in force
_unseen = os.environ.get(WATCHED) not in (
    None,
    str(os.getpid()),
)  # started by a pipeline that an audit watches elsewhere


_LEFT: "weakref.WeakSet[Any]" = weakref.WeakSet()  # generators and jobs that were made inside a block which has ended
_LAZY = {GeneratorType: "gi", CoroutineType: "cr", AsyncGeneratorType: "ag"}


def _collections() -> int:
    """How often the garbage collector has moved objects into the oldest generation, which is large."""
    return sum(each["collections"] for each in gc.get_stats()[1:])


_old: "tuple[int, weakref.WeakSet[Any]]" = (-1, weakref.WeakSet())  # what was among the oldest objects at which count


def _suspended() -> "weakref.WeakSet[Any]":
    """Generators and coroutines that have not ended and are not running, threads and jobs. It takes long to look at the
    oldest objects, so that is done only when some were moved among them since the last time.
    """
    global _old
    wanted, count = {*_LAZY, *_jobs()}, _collections()

    def among(generation: int) -> list[Any]:
        return [each for each in gc.get_objects(generation=generation) if type(each) in wanted]

    young = [*among(0), *among(1)]
    if _old[0] != count:
        _old = count, weakref.WeakSet(among(2))
    found = [each for each in (*young, *_old[1]) if type(each) not in _LAZY or _waits(each)]
    return weakref.WeakSet(found)


def _waits(lazy: Any) -> bool:
    return not _state(lazy, "running") and _state(lazy, "frame") is not None


def _jobs() -> set[type]:
    """What else is made in one place and runs in another: threads, and what a pool of threads was given to do."""
    kinds: set[type] = {threading.Thread}
    more: list[type] = [threading.Thread]
    while more:
        under: list[type] = type.__subclasses__(more.pop())
        fresh = [each for each in under if each not in kinds]
        kinds.update(fresh)
        more += fresh
    pools = sys.modules.get("concurrent.futures.thread")
    return kinds if pools is None else {*kinds, pools._WorkItem}


def _state(lazy: Any, name: str) -> Any:
    return getattr(lazy, f"{_LAZY[type(lazy)]}_{name}")


def _refuse_leftovers() -> None:
    """A generator that was made inside a block and is moved on after it: its author meant it to be paid. So is a thread,
    or a job of a pool, that was made there and has not ended.
    """
    left = list(_LEFT)
    frames = {id(_state(each, "frame")) for each in left if type(each) in _LAZY}
    jobs = {id(each) for each in left if type(each) not in _LAZY}
    pools = sys.modules.get("concurrent.futures.thread")
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        runner = frame.f_locals.get("self") if frame.f_code.co_name == "run" else None
        if id(frame) in frames or id(runner) in jobs:
            raise LedgerError(
                "this generator, thread or job was made inside a `with ledger:` block that has ended, and nobody would pay "
                "for what it releases; nothing was released. Wait for it inside the block, or open a block in it"
            )
        if pools is not None and isinstance(runner, pools._WorkItem):
            return  # given to the pool elsewhere: where the pool's threads were made says nothing
        frame = frame.f_back


def put_in_force(payer: Payer) -> None:
    """From here to `take_out_of_force` every release of this context is paid by `payer`.

    >>> put_in_force("somebody")
    >>> in_force()
    'somebody'
    >>> take_out_of_force("somebody")
    """
    follow_workers(Payers(_handing_out, standing_for, PAID, _wait_at_the_end))
    block = _Block(payer, _frame_of_with())
    block.older = _suspended()
    with _LOCK.held:
        _ACTIVE.append(block)
        os.environ[_MARK] = str(os.getpid())  # for processes that are started now and do not inherit memory
    _BLOCKS.set((*(each for each in _BLOCKS.get() if each.open), block))


def _frame_of_with() -> FrameType | None:
    """The function that holds the `with` statement."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and (
        frame.f_code.co_name in ("__enter__", "enter_context") or frame.f_globals.get("__name__") == "contextlib"
    ):
        frame = frame.f_back
    return frame


def take_out_of_force(payer: Payer) -> None:
    """End the innermost block of `payer`, in whatever thread or task this runs."""
    blocks = _BLOCKS.get()
    mine = [each for each in blocks if each.payer is payer and each.open]
    with _LOCK.held:
        ended = mine or [each for each in _ACTIVE if each.payer is payer]
        if ended:
            _LEFT.update(_suspended() - ended[-1].older)
            ended[-1].open, ended[-1].frame = False, None
            _ACTIVE.remove(ended[-1])
        if not _ACTIVE:
            os.environ.pop(_MARK, None)
    if mine:
        _BLOCKS.set(tuple(each for each in blocks if each is not mine[-1]))


def in_force() -> Payer | None:
    """Who pays for a release here: None where no ledger is in force, an error where it is not clear.

    >>> in_force() is None
    True
    """
    blocks = _BLOCKS.get()
    if blocks:
        if not blocks[-1].open:
            raise LedgerError(
                "the `with ledger:` block that this was started in has ended; nothing was released. Wait for tasks and "
                "generators inside the block, or open a block of their own"
            )
        return _innermost([each for each in blocks if each.open])
    payer = _elsewhere()
    if payer is None and _LEFT:
        _refuse_leftovers()
    return payer


def _elsewhere() -> Payer | None:
    """Who pays where this thread or task has no block: the only ledger in force in the process."""
    with _LOCK.held:
        payers = list({id(each.payer): each.payer for each in _ACTIVE}.values())
    if len(payers) > 1:
        raise LedgerError(
            "several ledgers are in force in this process, and none of them in this thread; nothing was released. Open the "
            "block `with ledger:` in the thread, or use ledger.release(mechanism, data)"
        )
    if not payers and _STARTED_WITHIN and not _HANDED.get():
        raise LedgerError(
            "this process was started inside a `with ledger:` block of another one and does not know the ledger; nothing "
            "was released. Open the ledger here, or use ledger.release(mechanism, data)"
        )
    return payers[0] if payers else None


def _innermost(blocks: list[_Block]) -> Payer:
    """The block whose `with` statement is nearest on the stack of calls. The last one entered may be another: that of a
    generator which is suspended inside its block, or of whoever moves such a generator on.
    """
    here = _place()
    if len({id(each.payer) for each in blocks}) == 1 or blocks[-1].place != here:  # else inherited, as it was then
        return blocks[-1].payer
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        for each in reversed(blocks):
            if each.frame is frame:
                return each.payer
        frame = frame.f_back
    raise LedgerError(
        "it is not clear which ledger pays: several are in force here, and no `with` statement that is being run says "
        "which; nothing was released. Use ledger.release(mechanism, data)"
    )


@contextmanager
def paid_for() -> Iterator[None]:
    """While open, releases are parts of a whole that is paid for.

    >>> with paid_for():
    ...     pay(None, 0, lambda: "drawn")
    'drawn'
    """
    whole = _Whole(len(_BLOCKS.get()))
    token = _PAID.set(whole)
    try:
        yield
    finally:
        whole.open = False  # for threads and tasks that were started inside and go on
        _PAID.reset(token)
        for wait in whole.jobs:  # nor may a job in another process go on, which cannot see that
            wait()


def _wait_at_the_end(wait: Callable[[], Any]) -> None:
    whole = _PAID.get()
    if whole is not None:
        whole.jobs.append(wait)


def part_of_a_whole() -> bool:
    """Whether what is released here belongs to a release that is paid for and still runs.

    >>> part_of_a_whole()
    False
    """
    whole = _PAID.get()
    if whole is None or len(_BLOCKS.get()) > whole.blocks:
        return False
    if whole.process != os.getpid():
        return False  # a copy of the memory at a fork never learns that the release has ended
    if not whole.open:
        raise LedgerError(
            "this was started inside a release that is paid for and has ended; nothing was released. Wait for threads "
            "and tasks before an algorithm returns"
        )
    return True


def standing_in() -> Payer | None:
    """Who pays here, for a task that is handed to a worker: a ledger, `PAID` inside a whole that is paid for, or None.

    >>> standing_in() is None
    True
    """
    if _OBSERVER.get() is not None:
        return None  # an audit follows threads by itself
    return PAID if part_of_a_whole() else in_force()


def _handing_out() -> Payer | None:
    """The same for a worker of whatever age: one that was started inside a block learns that it has ended."""
    payer = standing_in()
    return NOBODY if payer is None and _OBSERVER.get() is None else payer


@contextmanager
def standing_for(payer: Payer) -> Iterator[None]:
    """In a worker: releases are paid by whoever paid where the task was handed out.

    >>> with standing_for("somebody"):
    ...     in_force()
    'somebody'
    """
    if payer == PAID:
        with paid_for():
            yield
        return
    if payer == NOBODY:
        handed = _HANDED.set(True)
        try:
            yield
        finally:
            _HANDED.reset(handed)
        return
    block = _Block(payer, None)
    token, whole = _BLOCKS.set((block,)), _PAID.set(None)
    try:
        yield
    finally:
        block.open = False
        _PAID.reset(whole)
        _BLOCKS.reset(token)


def refuse_unpaid_runs(who: str = "simulate") -> None:
    """Refuse to simulate or to audit where a ledger is in force: the runs would be releases that nobody pays for.

    >>> refuse_unpaid_runs()
    """
    if not part_of_a_whole() and in_force() is not None:
        raise LedgerError(
            f"{who} draws outputs that nobody pays for, and a ledger is in force here; nothing was drawn. It is for tests "
            "and audits on made-up data: call it outside of the `with ledger:` block"
        )


@contextmanager
def observed(observer: Observer) -> Iterator[None]:
    """While open, every release goes through `observer(mechanism, value, run)`: how an audit records and replays. Nobody
    pays for what it draws, so a release is refused where a ledger is in force, unless it is part of a paid whole.

    >>> from privet.mechanisms import Laplace
    >>> with observed(lambda mechanism, value, run: Release(value, mechanism.loss, insecure=True)):
    ...     Laplace.for_budget(epsilon=1.0, sensitivity=1.0).release(5.0).value
    5.0
    """
    token = _OBSERVER.set((observer, os.getpid()))
    try:
        yield
    finally:
        _OBSERVER.reset(token)


def _observer() -> Observer | None:
    """The audit that watches here. What it would not see, in another process than its own, is refused."""
    watching = _OBSERVER.get()
    if _unseen or (watching is not None and watching[1] != os.getpid()):
        raise LedgerError(
            "this process was started by a pipeline that an audit watches in another process, which would not see this "
            "release; nothing was released. Use threads, a pool or joblib, which are followed"
        )
    return None if watching is None else watching[0]


def refuse_here() -> None:
    """From here on this process releases nothing: it was started inside a pipeline that an audit watches elsewhere."""
    global _unseen
    _unseen = True


def draw_coins(what: str, draw: Callable[[Any], Any], source: Any) -> Any:
    """`draw(source)`, for coins that an algorithm declares; an audit that watches hands in a source of its own.

    >>> draw_coins("a partition", lambda source: "heads", None)
    'heads'
    """
    watching = getattr(_observer(), "coins", None)
    return draw(source) if watching is None else watching(what, draw, source)


def pay(mechanism: Any, value: Any, run: Run, source: Any = None) -> Release[Any]:
    """Run a release: watched by an audit, else paid by the ledger in force, else as it is. What is part of a whole that
    is paid for costs nothing more.
    """
    try:
        observer = _observer()
        if observer is not None:
            refuse_unpaid_runs("an audit")
            return observer(mechanism, value, run)
        if part_of_a_whole():
            return run()
        payer = in_force()
        if payer is None:
            return run()
        made: Release[Any] = payer.pay_for(mechanism, value, run, source)
        return made
    finally:
        del value, run  # frames outlive an error, and the data with them

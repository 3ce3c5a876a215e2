"""What goes on inside a whole algorithm: threads that belong to it, coins that it declares, parts that are priced together.

Three context variables, all of which threads of the algorithm inherit.
"""

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar, final

from privet._locks import ProcessLock
from privet.errors import NotPrivate
from privet.privacy.loss import PrivacyLoss

T = TypeVar("T")
Rule = Callable[[Sequence[PrivacyLoss]], PrivacyLoss]

_RUNNING: ContextVar["_Body | None"] = ContextVar("privet_algorithm", default=None)
_TOGETHER: ContextVar[tuple["Together", ...]] = ContextVar("privet_together", default=())
_LOCK = ProcessLock()
_users = 0
_undo: list[Callable[[], None]] = []


@final
class _Body:
    """One run of an algorithm's body."""

    __slots__ = ("insecure",)

    def __init__(self) -> None:
        self.insecure = False


@final
class Together:
    """Parts whose price is not their composition: a sample, disjoint blocks, the best of several. `rule` makes one price
    out of theirs.

    >>> from privet.privacy import PoissonSampled, PureLoss
    >>> Together(lambda parts: PoissonSampled(parts[0], 0.5)).rule([PureLoss(1.0)]).kind
    'poisson_sampled'
    """

    __slots__ = ("rule",)

    def __init__(self, rule: Rule) -> None:
        self.rule = rule


def together() -> tuple[Together, ...]:
    """The groups, from the outermost to the innermost, that a part released here belongs to.

    >>> together()
    ()
    """
    return _TOGETHER.get()


@contextmanager
def priced_together(rule: Rule) -> Iterator[None]:
    """While open, what is released is priced by the rule, as one.

    >>> with priced_together(lambda parts: parts[0]):
    ...     len(together())
    1
    """
    token = _TOGETHER.set((*_TOGETHER.get(), Together(rule)))
    try:
        yield
    finally:
        _TOGETHER.reset(token)


def note_insecure() -> None:
    """A part drew noise that protects nobody: the whole must not pass for secure.

    >>> note_insecure()
    """
    body = _RUNNING.get()
    if body is not None:
        body.insecure = True


@contextmanager
def body_of(name: str, *, secure: bool) -> Iterator[None]:
    """One run of an algorithm: threads that it starts carry on its context; seeded noise in a secure run is refused.

    >>> with body_of("nothing", secure=True):
    ...     pass
    """
    body = _Body()
    token = _RUNNING.set(body)
    _follow()
    try:
        yield
    finally:
        _unfollow()
        _RUNNING.reset(token)
    if body.insecure and secure:
        raise NotPrivate(
            f"a part of {name} drew seeded noise, which protects nobody, while the whole was asked for secure noise; "
            "hand the source of the whole to its parts"
        )
    outer = _RUNNING.get()
    if outer is not None and body.insecure:
        outer.insecure = True


# --- threads that an algorithm starts belong to it ---------------------------------------------------------------------


def _follow() -> None:
    """From the first algorithm that runs to the last one that ends, threads and pools of threads pass contexts on."""
    global _users
    with _LOCK.held:
        _users += 1
        if _users > 1:
            return
        _wrap(threading.Thread, "start", _started)
        pools = sys.modules.get("concurrent.futures.thread")
        if pools is not None:
            _wrap(pools.ThreadPoolExecutor, "submit", _handed)
        other = sys.modules.get("multiprocessing.pool")
        if other is not None:
            _wrap(other.ThreadPool, "apply_async", _handed)


def _unfollow() -> None:
    global _users
    with _LOCK.held:
        _users -= 1
        while not _users and _undo:
            _undo.pop()()


def _wrap(owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    inherited, before = name not in vars(owner), getattr(owner, name)
    if before.__module__ != owner.__module__:
        return  # an audit follows threads already, and numbers them
    mine = make(before)
    mine.carries = True
    setattr(owner, name, mine)

    def undo() -> None:
        if vars(owner).get(name) is mine:  # else somebody has wrapped it since, and takes it away himself
            delattr(owner, name) if inherited else setattr(owner, name, before)

    _undo.append(undo)


def _started(start: Any) -> Any:
    def start_carried(thread: threading.Thread) -> None:
        if _RUNNING.get() is not None and not _works_for_others(thread):
            thread.run = _carried(thread.run)  # type: ignore[method-assign]
        start(thread)

    return start_carried


def _works_for_others(thread: threading.Thread) -> bool:
    """A worker of a pool, which may outlive the algorithm: there every job is carried, not the worker."""
    pools = sys.modules.get("concurrent.futures.thread")
    works = getattr(getattr(thread, "_target", None), "__module__", None) == "concurrent.futures.thread"
    return works and pools is not None and hasattr(pools.ThreadPoolExecutor.submit, "carries")


def _handed(hand: Any) -> Any:
    def hand_carried(pool: Any, work: Any, /, *args: Any, **options: Any) -> Any:
        return hand(pool, work if _RUNNING.get() is None else _carried(work), *args, **options)

    return hand_carried


def _carried(work: Callable[..., T]) -> Callable[..., T]:
    context = copy_context()
    return lambda *args, **options: context.run(work, *args, **options)

"""Following the work of a pipeline that an audit watches: into threads, pools and joblib, wherever it is handed out.

What would run in other processes of a pool runs in a thread of this one instead, on copies of its arguments. A process that
is started by itself cannot be followed: what it releases is refused there, so that nothing passes unseen.
"""

import copy
import multiprocessing.pool
import multiprocessing.process
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from contextvars import Context, ContextVar, copy_context
from typing import Any, final
from unittest.mock import patch

from privet.mechanisms.payment import WATCHED, refuse_here

_LANE: ContextVar[tuple[int, ...]] = ContextVar("lane", default=())
_POOLS = ("concurrent.futures.thread", "concurrent.futures.process", "multiprocessing.pool")
_LOKY = ("joblib.externals.loky.process_executor", "loky.process_executor")
_NOTE = "the pipeline started other processes: what they release is refused there, and nothing else of them was seen"


def lane() -> tuple[int, ...]:
    """Which piece of work runs here: () in the main one, numbers for work handed to others, by order of handing out.

    >>> lane()
    ()
    """
    return _LANE.get()


@contextmanager
def followed() -> Iterator[set[str]]:
    """While open, work that is handed out carries on the context of whoever handed it out, each piece in a lane of its
    own. Yields notes about what could not be followed.

    >>> with followed() as notes:
    ...     with ThreadPoolExecutor(1) as pool:
    ...         pool.submit(lane).result()
    (1, 0)
    """
    with ExitStack() as stack:
        following = _Following(stack)
        for owner, name, make in following.places():
            stack.enter_context(patch.object(owner, name, make(getattr(owner, name))))
        stack.enter_context(patch.dict(os.environ, {WATCHED: str(os.getpid())}))
        yield following.notes


@final
class _Following:
    """Numbers the work that is handed out, and has threads that do the work of processes."""

    def __init__(self, stack: ExitStack) -> None:
        self.notes: set[str] = set()
        self._counts: dict[tuple[int, ...], int] = {}
        self._lock = threading.Lock()
        self._stack = stack

    def places(self) -> Iterator[tuple[Any, str, Callable[[Any], Any]]]:
        """What is replaced while it lasts, each as (owner, name, function of the old one)."""
        yield threading.Thread, "start", self._threads
        yield ThreadPoolExecutor, "submit", self._jobs
        yield multiprocessing.process.BaseProcess, "start", self._processes
        for name in ("apply_async", "_map_async", "imap", "imap_unordered"):
            yield multiprocessing.pool.Pool, name, self._single if name == "apply_async" else self._many
        stand_in = self._stack.enter_context(ThreadPoolExecutor(1))
        submit = ThreadPoolExecutor.submit
        loky = [sys.modules[name].ProcessPoolExecutor for name in _LOKY if name in sys.modules]
        for executor in (ProcessPoolExecutor, *loky):
            yield executor, "submit", lambda before: self._instead(stand_in, submit)
        try:
            from joblib import Parallel
        except ImportError:
            return
        yield Parallel, "__call__", self._parallel

    def _lane(self, kind: int) -> tuple[int, ...]:
        """The next lane of its kind below this one. Threads, jobs and workers are numbered apart: how many workers a pool
        starts is up to chance.
        """
        with self._lock:
            key = (kind, *lane())
            self._counts[key] = self._counts.get(key, -1) + 1
            return (*lane(), kind, self._counts[key])

    def _threads(self, start: Any) -> Any:
        def start_carried(thread: threading.Thread) -> None:
            thread.run = _carried(thread.run, self._lane(3 if _serves_a_pool(thread) else 0))  # type: ignore[method-assign]
            start(thread)

        return start_carried

    def _jobs(self, submit: Any) -> Any:
        def submit_carried(pool: Any, work: Any, /, *args: Any, **options: Any) -> Any:
            return submit(pool, _carried(work, self._lane(1)), *args, **options)

        return submit_carried

    def _instead(self, stand_in: ThreadPoolExecutor, submit: Any) -> Any:
        """Jobs of a pool of processes, done by a thread in their order."""

        def submit_here(pool: Any, work: Any, /, *args: Any, **options: Any) -> Any:
            args, options = _copied((args, options))
            return submit(stand_in, _carried(work, self._lane(1)), *args, **options)

        return submit_here

    def _single(self, apply_async: Any) -> Any:
        def apply_carried(pool: Any, func: Any, args: Any = (), kwds: Any = {}, *rest: Any, **options: Any) -> Any:  # noqa: B006
            if not isinstance(pool, multiprocessing.pool.ThreadPool):
                pool, (args, kwds) = self._threads_for(pool), _copied((args, kwds))
            return apply_async(pool, _carried(func, self._lane(2)), args, kwds, *rest, **options)

        return apply_carried

    def _many(self, hand: Any) -> Any:
        """Every element of an iterable has a lane of its own, whatever chunks and workers it falls to."""

        def hand_carried(pool: Any, func: Any, iterable: Any, *args: Any, **options: Any) -> Any:
            items = list(iterable)
            if not isinstance(pool, multiprocessing.pool.ThreadPool):
                pool, items = self._threads_for(pool), _copied(items)
            top = self._lane(2)
            spread = bool(args) and getattr(args[0], "__name__", None) == "starmapstar"
            jobs = [_carried(func, (*top, j)) for j in range(len(items))]
            if spread:
                return hand(pool, _apply, list(zip(jobs, items, strict=True)), *args, **options)
            return hand(pool, _apply_pair, list(zip(jobs, items, strict=True)), *args, **options)

        return hand_carried

    def _threads_for(self, pool: Any) -> Any:
        """A thread in the place of the processes; it is prepared as they were."""
        known = vars(pool).get("_watched_by")
        if known is None or known[0] is not self:
            prepare, arguments = pool._initializer, pool._initargs
            known = self, self._stack.enter_context(multiprocessing.pool.ThreadPool(1, prepare, arguments))
            pool._watched_by = known
            self._stack.callback(vars(pool).pop, "_watched_by", None)
        return known[1]

    def _processes(self, start: Any) -> Any:
        def start_noted(process: Any) -> None:
            worker = _serves_a_pool(process)
            if not worker:
                self.notes.add(_NOTE)
            process.run = _Apart(process, alone=not worker)
            mark = os.environ.pop(WATCHED, None)  # the process knows already; a server that it starts must not
            try:
                start(process)
            finally:
                if mark is not None:
                    os.environ[WATCHED] = mark

        return start_noted

    def _parallel(self, call: Any) -> Any:
        def call_here(parallel: Any, iterable: Iterable[Any]) -> Any:
            top, shared = self._lane(4), getattr(parallel._backend, "supports_sharedmem", False)
            tasks = [
                (_carried(work, (*top, j)), *((args, options) if shared else _copied((args, options))))
                for j, (work, args, options) in enumerate(iterable)
            ]
            if shared:
                return call(parallel, tasks)
            made = [work(*args, **options) for work, args, options in tasks]
            return iter(made) if getattr(parallel, "return_generator", False) else made

        return call_here


@final
class _Apart:
    """The run of a process that was started inside a watched pipeline. A worker of a pool only forgets who watches: its
    jobs are followed where they are handed out.
    """

    def __init__(self, process: Any, *, alone: bool) -> None:
        self.process, self.alone = process, alone

    def __call__(self) -> None:
        if self.alone:
            refuse_here()
        Context().run(type(self.process).run, self.process)


def _carried(work: Callable[..., Any], way: tuple[int, ...]) -> Callable[..., Any]:
    context = copy_context()
    context.run(_LANE.set, way)
    return lambda *args, **options: context.run(work, *args, **options)


def _apply(job: Callable[..., Any], args: Any) -> Any:
    return job(*args)


def _apply_pair(pair: tuple[Callable[..., Any], Any]) -> Any:
    return pair[0](pair[1])


def _serves_a_pool(worker: Any) -> bool:
    return getattr(getattr(worker, "_target", None), "__module__", None) in (*_POOLS, *_LOKY)


def _copied(value: Any) -> Any:
    """What another process would have got: a copy, where there can be one."""
    try:
        return copy.deepcopy(value)
    except Exception:
        return value

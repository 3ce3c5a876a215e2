"""Watching one run of somebody's code: what it returns, prints, warns of and raises, and which work its threads do."""

import io
import multiprocessing.pool
import multiprocessing.process
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, fields, is_dataclass
from typing import Any
from unittest.mock import patch

import numpy as np

_LANE: ContextVar[tuple[int, ...]] = ContextVar("lane", default=())
_DEEPEST = 12


@dataclass(frozen=True, eq=False)
class Ending:
    """How a run ended, with everything that an observer could see."""

    result: Any
    exception: str | None
    printed: str
    warned: tuple[str, ...]


def run_watched(pipeline: Callable[[Any], Any], data: Any) -> Ending:
    """Run it once and keep what it showed; an exception, or an attempt to end the program, is an ending too.

    >>> run_watched(lambda value: print(value), 3).printed
    '3\\n'
    """
    printed, exception, result = io.StringIO(), None, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with redirect_stdout(printed), redirect_stderr(printed):
            try:
                result = pipeline(data)
            except (Exception, SystemExit) as problem:
                exception = f"{type(problem).__name__}: {problem}"
    warned = tuple(f"{w.category.__name__}: {w.message}" for w in caught)
    return Ending(result, exception, printed.getvalue(), warned)


def lane() -> tuple[int, ...]:
    """Which piece of work runs here: () in the main one, numbers for work handed to threads, by order of handing out.

    >>> lane()
    ()
    """
    return _LANE.get()


@contextmanager
def followed() -> Iterator[set[str]]:
    """While open, threads carry on the context of whoever started them, each with a lane of its own.

    joblib runs in threads meanwhile. Yields notes about what could not be followed.

    >>> with followed() as notes:
    ...     with ThreadPoolExecutor(1) as pool:
    ...         pool.submit(lane).result()
    (1, 0)
    """
    notes: set[str] = set()
    counts: dict[tuple[int, ...], int] = {}
    lock = threading.Lock()

    def carried(work: Callable[..., Any], parent: tuple[int, ...], kind: int) -> Callable[..., Any]:
        context = copy_context()
        with lock:  # threads, tasks and workers are numbered apart: how many workers a pool starts is up to chance
            key = (kind, *parent)
            counts[key] = counts.get(key, -1) + 1
            context.run(_LANE.set, (*parent, kind, counts[key]))
        return lambda *args, **options: context.run(work, *args, **options)

    start, submit = threading.Thread.start, ThreadPoolExecutor.submit
    apply_async = multiprocessing.pool.ThreadPool.apply_async
    begin = multiprocessing.process.BaseProcess.start

    def start_carried(thread: threading.Thread) -> None:
        thread.run = carried(thread.run, lane(), 3 if _serves_a_pool(thread) else 0)  # type: ignore[method-assign]
        start(thread)

    def submit_carried(pool: Any, work: Any, /, *args: Any, **options: Any) -> Any:
        return submit(pool, carried(work, lane(), 1), *args, **options)

    def apply_carried(pool: Any, func: Any, *args: Any, **options: Any) -> Any:
        return apply_async(pool, carried(func, (), 2), *args, **options)  # handed out from any thread, in one order

    def begin_noted(process: Any) -> None:
        notes.add("the pipeline started other processes: releases in them were not seen")
        begin(process)

    with ExitStack() as stack:
        stack.enter_context(patch.object(threading.Thread, "start", start_carried))
        stack.enter_context(patch.object(ThreadPoolExecutor, "submit", submit_carried))
        stack.enter_context(patch.object(multiprocessing.pool.ThreadPool, "apply_async", apply_carried))
        stack.enter_context(patch.object(multiprocessing.process.BaseProcess, "start", begin_noted))
        stack.enter_context(_joblib_in_threads())
        yield notes


def _serves_a_pool(thread: threading.Thread) -> bool:
    target = getattr(thread, "_target", None)
    return getattr(target, "__module__", None) in ("concurrent.futures.thread", "multiprocessing.pool")


def _joblib_in_threads() -> Any:
    try:
        from joblib import parallel_config
    except ImportError:
        return ExitStack()
    return parallel_config(backend="threading")


def differing(left: Any, right: Any, where: str = "result", depth: int = 0) -> list[str]:
    """The places where two results differ; NaN is NaN, and -0.0 is not 0.0.

    >>> differing({"a": [1, 2]}, {"a": [1, 3]})
    ["result['a'][1]"]
    """
    if left is right:
        return []
    if depth < _DEEPEST and type(left) is type(right):
        if isinstance(left, dict):
            if list(left) != list(right):
                return [where]
            return [d for key in left for d in differing(left[key], right[key], f"{where}[{key!r}]", depth + 1)]
        if isinstance(left, tuple | list):
            if len(left) != len(right):
                return [where]
            pairs = enumerate(zip(left, right, strict=True))
            return [d for j, (a, b) in pairs for d in differing(a, b, f"{where}[{j}]", depth + 1)]
        held = _held(left)
        if held is not None:
            return [
                d
                for name in held
                for d in differing(held[name], getattr(right, name, None), f"{where}.{name}", depth + 1)
            ]
    return [] if text_of(left) == text_of(right) else [where]


def _held(value: Any) -> dict[str, Any] | None:
    """The fields of a record, or the attributes of a plain object; of a release what may have been computed from data."""
    if type(value).__name__ == "Release" and hasattr(value, "loss"):
        return {"value": value.value, "error": value.error, "provenance": value.provenance}
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in fields(value)}
    plain = getattr(type(value), "__repr__", None) is object.__repr__ and hasattr(value, "__dict__")
    return dict(vars(value)) if plain else None


def text_of(value: Any) -> str:
    """A text that tells any two values apart that an observer can tell apart.

    >>> text_of(np.array([1.0])) == text_of(np.array([1]))
    False
    """
    if isinstance(value, np.ndarray) and value.dtype != object:
        return f"{value.dtype}{value.shape}{value.tobytes().hex()}"
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, np.ndarray | list | tuple):
        return f"{type(value).__name__}[{','.join(map(text_of, value))}]"
    if hasattr(value, "columns") and hasattr(value, "to_numpy"):
        return f"{list(value.columns)}{text_of(np.asarray(value.to_numpy(), dtype=object))}"
    return repr(value)

"""The message when an engine fails: always the same, since its own words may quote data."""

from collections.abc import Callable, Iterator
from functools import wraps
from threading import Event, Thread
from typing import Any, ParamSpec, TypeVar

from privet._progress import track
from privet.errors import InvalidData, PrivetError

FAILED = (
    "the engine could not answer; whether that depends on the data is not said. Look into the table as its custodian"
)
_Given = ParamSpec("_Given")
_Made = TypeVar("_Made")
_WAIT = 0.05  # seconds between two looks at a running query


def one_failure(ask: Callable[_Given, _Made]) -> Callable[_Given, _Made]:
    """A function in which whatever goes wrong says the same; errors of our own and interrupts pass.

    >>> @one_failure
    ... def ask():
    ...     raise RuntimeError("the patient 4711")
    >>> ask()
    Traceback (most recent call last):
    privet.errors.InvalidData: the engine could not answer; ...
    """

    @wraps(ask)
    def asked(*given: _Given.args, **named: _Given.kwargs) -> _Made:
        try:
            return ask(*given, **named)
        except PrivetError:
            raise
        except Exception:
            pass
        raise InvalidData(FAILED)  # out here, where the engine's own words are not its context

    return asked


def one_failure_on_the_way(ask: Callable[_Given, Iterator[_Made]]) -> Callable[_Given, Iterator[_Made]]:
    """The same for what is read bit by bit: whatever goes wrong on the way says the same.

    >>> @one_failure_on_the_way
    ... def ask():
    ...     yield 1
    ...     raise RuntimeError("the patient 4711")
    >>> list(ask())
    Traceback (most recent call last):
    privet.errors.InvalidData: the engine could not answer; ...
    """

    @wraps(ask)
    def asked(*given: _Given.args, **named: _Given.kwargs) -> Iterator[_Made]:
        try:
            yield from ask(*given, **named)
            return
        except PrivetError:
            raise
        except Exception:
            pass
        raise InvalidData(FAILED)

    return asked


def cancellable(
    ask: Callable[[], Any],
    cancel: Callable[[], Any],
    progress: Callable[[], float] | None = None,
    *,
    told: bool = True,
) -> Any:
    """The result of `ask`. It runs in a thread of its own, so that an interrupt reaches us while the engine works: then
    the engine's query is cancelled, and awaited, before the interrupt goes on. `progress` tells percent, where the
    engine does; not `told` is what is a part of something longer.

    >>> cancellable(lambda: 3, lambda: None)
    3
    """
    made: list[Any] = []
    failed: list[BaseException] = []
    done = Event()  # not the thread's own `join`: an interrupt there makes Python 3.11 take it for ended

    def work() -> None:
        try:
            made.append(ask())
        except BaseException as problem:
            failed.append(problem)
        finally:
            done.set()

    worker = Thread(target=work, name="privet-engine", daemon=True)
    worker.start()
    try:
        if told and not done.wait(_WAIT):
            _watched(done, progress)
        while not done.wait(_WAIT):
            pass
    except BaseException:
        while not done.is_set():  # a query that has not begun cannot be cancelled yet
            cancel()
            done.wait(_WAIT)
        raise
    finally:
        worker.join()
    if failed:
        raise failed[0]
    return made[0]


def _watched(done: Event, progress: Callable[[], float] | None) -> None:
    work = track("table", 100)
    while not done.wait(_WAIT):
        percent = int(progress()) if progress is not None else 0
        if work.done < percent <= 100:
            work.advance(percent - work.done)
    work.advance(100 - work.done)

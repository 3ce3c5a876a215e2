"""What is said when an engine fails: always the same, since its own words may quote data."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

from privet._progress import track
from privet.errors import InvalidData, PrivetError

FAILED = (
    "the engine could not answer; whether that depends on the data is not said. Look into the table as its custodian"
)
_WAIT = 0.05  # seconds between two looks at a running query


@contextmanager
def one_failure() -> Iterator[None]:
    """Whatever goes wrong inside says the same; errors of our own and interrupts pass.

    >>> with one_failure():
    ...     raise RuntimeError("the patient 4711")
    Traceback (most recent call last):
    privet.errors.InvalidData: the engine could not answer; ...
    """
    try:
        yield
    except PrivetError:
        raise
    except Exception:
        raise InvalidData(FAILED) from None


def cancellable(ask: Callable[[], Any], cancel: Callable[[], Any], progress: Callable[[], float] | None = None) -> Any:
    """What `ask` returns. It runs in a thread of its own, so that an interrupt reaches us while the engine works: then
    the engine's query is cancelled, and awaited, before the interrupt goes on. `progress` tells percent, where the
    engine does.

    >>> cancellable(lambda: 3, lambda: None)
    3
    """
    made: list[Any] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            made.append(ask())
        except BaseException as problem:
            failed.append(problem)

    worker = Thread(target=work, name="privet-engine", daemon=True)
    worker.start()
    try:
        worker.join(_WAIT)
        if worker.is_alive():
            _watched(worker, progress)
    except BaseException:
        while worker.is_alive():  # a query that has not begun cannot be cancelled yet
            cancel()
            worker.join(_WAIT)
        raise
    if failed:
        raise failed[0]
    return made[0]


def _watched(worker: Thread, progress: Callable[[], float] | None) -> None:
    work = track("table", 100)
    while worker.is_alive():
        worker.join(_WAIT)
        done = int(progress()) if progress is not None else 0
        if work.done < done <= 100:
            work.advance(done - work.done)
    work.advance(100 - work.done)

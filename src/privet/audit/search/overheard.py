"""What is seen of a run besides its output: what it raised, warned of, printed and logged, as marks and as numbers."""

import contextlib
import logging
from collections.abc import Iterator

from privet.audit.search.reading import Reading, read, without_addresses
from privet.audit.search.rows import Marks

_MOST = 32  # exceptions of one chain or group


def overhear(reading: Reading, name: str, text: str, marks: Marks) -> None:
    """Note a text beside an output: the mark of the whole, and the numbers in it.

    >>> found = Reading()
    >>> overhear(found, "message", "3 rows", Marks(b"key"))
    >>> found.numbers[" message numbers"].tolist()
    [3.0]
    """
    reading.marks[name] = marks.of(without_addresses(text))
    _add(reading, f" {name}", read(without_addresses(text), marks, wants_rows=False))


def raised(problem: BaseException, marks: Marks) -> Reading:
    """An exception is an output like any other: its type, and what a traceback would show of it and of its causes.

    >>> raised(ValueError("no"), Marks(b"key")).form
    'raises ValueError'
    """
    found, told = Reading(f"raises {type(problem).__name__}"), []
    for place, each in enumerate(_chain(problem)):
        told += [f"{type(each).__name__}: {each}", *getattr(each, "__notes__", ())]
        held = {name: part for name, part in vars(each).items() if name != "__notes__"}
        plain = all(isinstance(part, str) for part in each.args)  # these are in the text
        if held or not plain:
            _add(found, f" raised {place}", read({"args": () if plain else each.args, **held}, marks, wants_rows=False))
    overhear(found, "message", "\n".join(told), marks)
    return found


def _chain(problem: BaseException) -> Iterator[BaseException]:
    """The exception, what it groups, and what led to it."""
    waiting, seen = [problem], set[int]()
    while waiting and len(seen) < _MOST:
        each = waiting.pop(0)
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        if isinstance(each, BaseExceptionGroup):
            waiting.extend(each.exceptions)
        led = each.__cause__ or (None if each.__suppress_context__ else each.__context__)
        if led is not None:
            waiting.append(led)


def _add(reading: Reading, place: str, more: Reading) -> None:
    reading.numbers |= {place + name: numbers for name, numbers in more.numbers.items()}
    reading.single |= {place + name: number for name, number in more.single.items()}
    reading.marks |= {f"message{place}{name}": mark for name, mark in more.marks.items() if place.startswith(" raised")}


class _Listener(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep what a log would say."""
        with contextlib.suppress(Exception):  # a record that cannot be written says nothing
            self.heard.append(f"{record.levelname} {record.name} {record.getMessage()}")


@contextlib.contextmanager
def listening() -> Iterator[list[str]]:
    """Within it, the list gets what is logged, wherever the handlers of the loggers write to.

    >>> with listening() as heard:
    ...     logging.getLogger("example").warning("%d rows", 3)
    >>> heard
    ['WARNING example 3 rows']
    """
    listener = _Listener()
    logging.getLogger().addHandler(listener)
    try:
        yield listener.heard
    finally:
        logging.getLogger().removeHandler(listener)

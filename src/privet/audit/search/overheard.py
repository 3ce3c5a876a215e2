"""Traces of a run besides its output: what it raised, warned of, printed and logged. All of it as keyed marks alone,
since such texts quote what nobody expected them to: no number of theirs may come into a result or a certificate."""

import contextlib
import logging
from collections.abc import Iterator

from privet.audit.search.reading import Reading, read, without_addresses
from privet.audit.search.rows import Marks

_MOST = 32  # exceptions of one chain or group: an end for chains that have none


def overhear(reading: Reading, name: str, text: str, marks: Marks) -> None:
    """Note a text beside an output.

    >>> found = Reading()
    >>> overhear(found, "message", "3 rows", Marks(b"key"))
    >>> list(found.marks), found.numbers
    (['message'], {})
    """
    reading.marks[name] = marks.of(without_addresses(text))


def raised(problem: BaseException, marks: Marks) -> Reading:
    """An exception is an output like any other: its type, and what a traceback would show of it and of its causes.

    >>> raised(ValueError("no"), Marks(b"key")).form
    'raises ValueError'
    """
    found, told = Reading(f"raises {type(problem).__name__}"), []
    for each in _chain(problem):
        told += [f"{type(each).__name__}: {each}", *getattr(each, "__notes__", ())]
        held = {name: part for name, part in vars(each).items() if name != "__notes__"}
        if held or not all(isinstance(part, str) for part in each.args):  # else the message has them all
            told.append(_whole(read({"args": each.args, **held}, marks, wants_rows=False)))
    overhear(found, "message", "\n".join(told), marks)
    return found


def _whole(reading: Reading) -> str:
    """All that was read, as one text."""
    numbers = {place: array.tolist() for place, array in reading.numbers.items()}
    parts = (numbers, reading.single, reading.marks)
    return reading.form + "".join(str(sorted(part.items())) for part in parts)


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


class _Listener(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []
        self._last: logging.LogRecord | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Keep what a log would say, once: a logger may have told us before it told the one above."""
        if record is self._last:
            return
        self._last = record
        with contextlib.suppress(Exception):  # a record that cannot be written says nothing
            self.heard.append(f"{record.levelname} {record.name} {record.getMessage()}")


class Ears:
    """Within it, `heard` gets what is logged, wherever the handlers of the loggers write to.

    >>> with Ears() as ears:
    ...     logging.getLogger("example").warning("%d rows", 3)
    >>> ears.heard
    ['WARNING example 3 rows']
    """

    def __init__(self) -> None:
        self._listener = _Listener()
        self._told: list[logging.Logger] = []  # loggers that tell the listener
        self._known = -1  # how many loggers there were at the last look; so none was yet

    @property
    def heard(self) -> list[str]:
        """The messages that were logged since it was cleared."""
        return self._listener.heard

    def look_round(self, *, again: bool = False) -> None:
        """Listen to the root, and to every logger that does not pass its messages on to one above it.

        Nothing is done where no logger was made since the last look, unless `again` asks for it: after a first run, which
        may have kept old loggers from passing on.
        """
        known = logging.root.manager.loggerDict
        if len(known) == self._known and not again:
            return
        self._known = len(known)
        silent = [each for each in list(known.values()) if isinstance(each, logging.Logger) and not each.propagate]
        for logger in (logging.root, *silent):
            if logger not in self._told:
                logger.addHandler(self._listener)
                self._told.append(logger)

    def __enter__(self) -> "Ears":
        self.look_round()
        return self

    def __exit__(self, *_: object) -> None:
        for logger in self._told:
            logger.removeHandler(self._listener)

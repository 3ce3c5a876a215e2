"""Watching one run of somebody's code: what it returns, prints, warns of and raises."""

import io
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from types import GeneratorType
from typing import Any

from privet.audit.observed import text_of


@dataclass(frozen=True, eq=False)
class Ending:
    """The end of a run, with everything that an observer could see."""

    result: Any
    digest: str  # of the result as it was then: a later run may change what it shares with this one
    exception: str | None
    printed: str
    warned: tuple[str, ...]


_MOST = 10_000  # values of a generator that are read: it may be endless


def _told(result: Any) -> Any:
    """The values that a generator yields, while its run is still watched: nothing of it has happened yet."""
    return list(islice(result, _MOST)) if isinstance(result, GeneratorType) else result


def _words(problem: BaseException) -> str:
    """An exception with its notes, and with those that a traceback prints above it, each once: one may be its own cause."""
    found, said = [], set[int]()
    above: BaseException | None = problem
    while above is not None and id(above) not in said:
        said.add(id(above))
        found += [f"{type(above).__name__}: {above}", *map(str, getattr(above, "__notes__", []))]
        above = above.__cause__ or (None if above.__suppress_context__ else above.__context__)
    return "\n".join(found)


def run_watched(pipeline: Callable[[Any], Any], data: object) -> Ending:
    """Run it once and keep what it showed; an exception, or an attempt to end the program, is an ending too.

    >>> run_watched(lambda value: print(value), 3).printed
    '3\\n'
    """
    printed, exception, result = io.StringIO(), None, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with redirect_stdout(printed), redirect_stderr(printed):
            try:
                result = _told(pipeline(data))
            except (Exception, SystemExit) as problem:
                exception = _words(problem)
    warned = tuple(f"{w.category.__name__}: {w.message}" for w in caught)
    return Ending(
        result,
        sha256(text_of(result).encode(errors="backslashreplace")).hexdigest(),
        exception,
        printed.getvalue(),
        warned,
    )

"""How much work something is, as a number of calls: the same on every machine, however busy."""

import sys
from collections.abc import Callable
from typing import Any


def calls_of(work: Callable[[], object]) -> int:
    """How many functions, of Python and of C, are called meanwhile in this thread.

    >>> calls_of(lambda: [abs(x) for x in range(100)]) >= 100
    True
    """
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


def exceptions_of(work: Callable[[], object]) -> int:
    """How many exceptions reach a frame of Python meanwhile in this thread, caught or not; each frame counts.

    >>> exceptions_of(lambda: None)
    0
    """
    raised = 0

    def look(frame: Any, event: str, argument: Any) -> Any:
        nonlocal raised
        raised += event == "exception"
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        work()
    finally:
        sys.settrace(before)
    return raised

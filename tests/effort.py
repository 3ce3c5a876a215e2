"""One number from which hunts, fuzzers and long grids take their size: `PRIVET_HUNT`.

With 1, which it is unless the environment says otherwise, `make test-slow` takes about an hour on two free cores; with 20 a
night. A part of 1 is a shorter look (.1: minutes). Statistical tests do not ask here: their number of draws is their power.
"""

import math
import os
import random
from collections.abc import Iterable
from typing import TypeVar

_T = TypeVar("_T")


def asked_for(text: str) -> float:
    """The effort that a text names.

    >>> asked_for("20"), asked_for(".1")
    (20.0, 0.1)
    >>> asked_for("long")
    Traceback (most recent call last):
    ValueError: PRIVET_HUNT must be a number greater than 0, such as 20 for a night; it is 'long'
    """
    try:
        effort = float(text)
    except ValueError:
        effort = math.nan
    if not 0.0 < effort < math.inf:
        raise ValueError(f"PRIVET_HUNT must be a number greater than 0, such as 20 for a night; it is {text!r}")
    return effort


HUNT = asked_for(os.environ.get("PRIVET_HUNT", "1"))


def tries(usual: int, effort: float = HUNT) -> int:
    """Rounds, seeds or cases: so many as usual, times the effort, and never none.

    >>> tries(30, 1.0), tries(30, 20.0), tries(30, 0.001)
    (30, 600, 1)
    """
    return max(1, round(usual * effort))


def part(grid: Iterable[_T], usual: int, effort: float = HUNT) -> list[_T]:
    """Members of a long grid in their order, drawn anywhere in it: the same ones each time, all of them at a higher effort.

    >>> part("abcdefgh", 3, 1.0), part("abcdefgh", 3, 20.0)
    (['a', 'f', 'g'], ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'])
    """
    members = list(grid)
    order = list(range(len(members)))
    random.Random(8).shuffle(order)
    return [members[place] for place in sorted(order[: tries(usual, effort)])]

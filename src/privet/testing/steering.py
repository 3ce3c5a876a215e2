"""The law of numbers that steer: with the exact number in the place of a released one, a replay sees it.

An algorithm may branch on a released number, scale by it, or hand it out. A mistake that lets the exact number through is
seen by a replay only on neighbours between which the exact number turns something; this law asks each algorithm for such a
pair among its examples, for every place at which it releases.
"""

import sys
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from privet.audit import replay
from privet.errors import PrivetError
from privet.mechanisms import STREAM, Algorithm, Example, Mechanism, Release, observed
from privet.noise import Seeded
from privet.testing.law import law_of

_NOISE = ("scale", "sigma")  # the fields that say how much noise there is
_QUIET = 2.0**-30  # of it: no number that was made up for an example is so small
_TRIES = 3  # the noise of other parts may hide what an exact number turns
_HOUSE = Path(__file__).parents[1]
_DOORS = tuple(str(_HOUSE / room) for room in ("mechanisms", "audit", "testing", "_calls.py"))

Site = tuple[tuple[str, int], ...]


@law_of("mechanism")
def check_exact_numbers_are_seen(example: Example) -> None:
    """Wherever an algorithm releases, one of its examples shows a replay that the exact number stood there instead.

    A place is a line of `_run`, with the lines below it that lead to the release; all releases of a loop are one place.

    >>> from privet.mechanisms import Laplace
    >>> check_exact_numbers_are_seen(next(iter(Laplace.examples())))
    """
    algorithm: Any = example.mechanism
    if not isinstance(algorithm, Algorithm):
        return
    unseen = _unseen(type(algorithm))
    places = "; ".join(f"{Path(site[-1][0]).name} line {site[-1][1]}" for site in unseen)
    assert not unseen, (
        f"{algorithm.name}: the exact number in the place of the one released at {places} goes unnoticed on every example: "
        "add one with neighbours between which it turns what comes after (hundreds of rows, one extreme record)"
    )


@cache
def _unseen(kind: type[Any]) -> tuple[Site, ...]:
    """The places at which an exact number shows on none of the examples. The latest examples are asked first, and each once
    before any is asked again: where one cannot show a place, another often does at once."""
    asked = [(example, _sites(example)) for example in [*kind.examples()][::-1]]
    seen = {site: False for _, sites in asked for site in sites}
    for _ in range(_TRIES):
        for example, sites in asked:
            for site in sites:
                seen[site] = seen[site] or _refuted(example, site)
    return tuple(site for site, found in seen.items() if not found)


def _refuted(example: Example, site: Site) -> bool:
    return replay(example.mechanism.release, example.left, example.right, times=1, known=_Exact(site)).refuted


class _Exact:
    """Answers at one place with next to no noise, drawn alike in both worlds."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def __call__(
        self, mechanism: Mechanism[Any, Any], value: object, run: Callable[[], Release[Any]]
    ) -> Release[Any] | None:
        if value is STREAM or _site() != self._site:
            return None
        silent = quiet(mechanism)
        drawn: Any = silent._draw(silent._prepare(value), 1, Seeded(1))[0]
        drawn = drawn.item() if isinstance(drawn, np.generic) else drawn
        return Release(
            drawn,
            loss=mechanism.loss,
            error=mechanism._error_given(drawn, mechanism._prepare(value)),
            mechanism=mechanism.name,
            insecure=True,
            provenance=(mechanism.name, *mechanism._notes(drawn)),
        )


def quiet(mechanism: Mechanism[Any, Any]) -> Mechanism[Any, Any]:
    """The same mechanism with next to no noise: for made-up data.

    >>> from privet.mechanisms import Laplace
    >>> quiet(Laplace(scale=1024.0, sensitivity=1)).scale
    9.5367431640625e-07
    """
    less: dict[str, Any] = {}
    for each in fields(mechanism):  # type: ignore[arg-type]
        held = getattr(mechanism, each.name)
        if each.name in _NOISE and isinstance(held, float):
            less[each.name] = held * _QUIET
        elif isinstance(held, Mechanism):
            less[each.name] = quiet(held)
    try:
        return replace(mechanism, **less) if less else mechanism  # type: ignore[type-var]
    except PrivetError:  # its parts must fit each other: the same coins in both worlds do as well
        return mechanism


def _sites(example: Example) -> list[Site]:
    """The places at which a run on the left input releases."""
    found: dict[Site, None] = {}

    def note(mechanism: object, value: object, run: Callable[[], Release[Any]]) -> Release[Any]:
        if not isinstance(mechanism, Algorithm) and value is not STREAM:
            found[_site()] = None
        return run()

    class _Door:
        def __call__(self, mechanism: object, value: object, run: Callable[[], Release[Any]]) -> Release[Any]:
            return note(mechanism, value, run)

        def coins(self, what: str, draw: Callable[[Any], Any], source: object) -> Any:
            return draw(source)

    with observed(_Door()):
        example.mechanism.release(example.left)
    return list(found)


def _site() -> Site:
    """Files and lines from the release up to the `_run` that asked for it, without the house's doors."""
    found: list[tuple[str, int]] = []
    frame = sys._getframe(1)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_DOORS):
            found.append((frame.f_code.co_filename, frame.f_lineno))
        if frame.f_code.co_name == "_run":
            break
        frame = frame.f_back  # type: ignore[assignment]
    return tuple(found)

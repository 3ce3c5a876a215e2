"""Domains of the public settings of solvers and plans: a field of one name has one domain, in whatever class it stands."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from privet._validate import above, at_least, count, flag, fraction, instance, open_fraction, set_frozen
from privet.learn.losses import Loss
from privet.learn.problem import Task


def _within(check: Callable[..., Any], *limits: object) -> Callable[[str, Any], Any]:
    """A check of `_validate` with its limits filled in."""
    return lambda name, value: check(name, value, *limits)


_DOMAINS: dict[str, Callable[[str, Any], Any]] = {
    "task": _within(instance, Task),
    "model": _within(instance, Loss),
    "q": lambda name, value: above(name, fraction(name, value), 0.0),
    **dict.fromkeys(("rows", "steps", "rounds", "last", "least", "clusters"), _within(count, 1)),
    "points": _within(count, 2),
    "models": _within(count, 4),
    "skipped": _within(count, 0),
    **dict.fromkeys(("clip_norm", "clip", "step_size", "radius", "time", "floor", "tolerance"), _within(above, 0.0)),
    **dict.fromkeys(("strength", "ridge"), _within(at_least, 0.0)),
    **dict.fromkeys(("share", "test_share"), _within(open_fraction)),
    "tail": _within(fraction),
    "by_person": _within(flag),
}


def clean_knobs(record: Any) -> None:
    """The fields of a frozen record, cleaned in place: each by the domain of its name, if that name has one.

    None stays where it is the default.

    >>> from privet.learn.solvers import NoisyGD
    >>> NoisyGD(rows=0)
    Traceback (most recent call last):
    privet.errors.InvalidParameter: rows must be a whole number from 1 to 1e+18, got 0
    """
    for each in fields(record):
        check, value = _DOMAINS.get(each.name), getattr(record, each.name)
        if check is not None and not (value is None and each.default is None):
            set_frozen(record, **{each.name: check(each.name, value)})

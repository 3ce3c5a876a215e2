"""Domains of public knobs of solvers and of fields of plans: one domain for one name."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from privet._validate import above, at_least, count, flag, fraction, instance, open_fraction, set_frozen
from privet.learn.losses import Loss
from privet.learn.problem import Task


def _of(check: Callable[..., Any], *limits: object) -> Callable[[str, Any], Any]:
    return lambda name, value: check(name, value, *limits)


_DOMAINS: dict[str, Callable[[str, Any], Any]] = {
    "task": _of(instance, Task),
    "model": _of(instance, Loss),
    "q": lambda name, value: above(name, fraction(name, value), 0.0),
    **dict.fromkeys(("rows", "steps", "rounds", "last", "least", "clusters"), _of(count, 1)),
    "points": _of(count, 2),
    "models": _of(count, 4),
    "skipped": _of(count, 0),
    **dict.fromkeys(("clip_norm", "clip", "step_size", "radius", "time", "floor", "tolerance"), _of(above, 0.0)),
    **dict.fromkeys(("strength", "ridge"), _of(at_least, 0.0)),
    **dict.fromkeys(("share", "test_share"), _of(open_fraction)),
    "tail": _of(fraction),
    "by_person": _of(flag),
}


def clean_knobs(record: Any) -> None:
    """Fields of a frozen record, each cleaned as its name says; None stays where it is the default.

    >>> from privet.learn.solvers import NoisyGD
    >>> NoisyGD(rows=0)
    Traceback (most recent call last):
    privet.errors.InvalidParameter: rows must be a whole number from 1 to 1e+18, got 0
    """
    for each in fields(record):
        check, value = _DOMAINS.get(each.name), getattr(record, each.name)
        if check is not None and not (value is None and each.default is None):
            set_frozen(record, **{each.name: check(each.name, value)})

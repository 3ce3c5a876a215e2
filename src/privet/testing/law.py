"""Enrolment of laws: a decorator beside the law is all it takes for it to run over every registered member."""

from collections.abc import Callable
from copy import copy
from functools import wraps
from typing import Any, Literal, ParamSpec, get_args

from privet._calls import door
from privet.errors import PrivetError

Subject = Literal[
    "loss",
    "accountant",
    "losses",
    "mechanism",
    "training loss",
    "strategy",
    "estimator",
    "solver",
    "engine",
    "aggregate",
]
_P = ParamSpec("_P")

_ENROLLED: dict[Subject, list[Callable[..., None]]] = {each: [] for each in get_args(Subject)}
_RAN: set[tuple[str, str]] = set()


def law_of(*subjects: Subject) -> Callable[[Callable[_P, None]], Callable[_P, None]]:
    """Enrol a law under what it is called with: a loss, a loss and an accountant, several losses, or an example of a
    mechanism, a training loss, a strategy, an estimator, a solver, an engine or an aggregate (a law may be about several).
    What it was called with is kept, so that a suite can say which member no law has seen. Where a mechanism cannot even be
    run on its own example, the law shows the error of its author's code.

    >>> law_of("losses").__name__
    'enrol'
    """

    def enrol(law: Callable[_P, None]) -> Callable[_P, None]:
        @wraps(law)
        def recorded(*arguments: _P.args, **keywords: _P.kwargs) -> None:
            if arguments:
                _RAN.add((law.__name__, _name_of(arguments[0])))
            # as it was before the law, which may have overwritten what it should not be able to
            mechanism = copy(getattr(arguments[0], "mechanism", None)) if arguments else None
            try:
                law(*arguments, **keywords)
            except Exception as failure:
                _show_own_error(mechanism, arguments[0] if arguments else None, failure)
                raise

        answered = door(recorded)  # here and not at the face of the room: the enrolled one is the public one
        for subject in subjects:
            _ENROLLED[subject].append(answered)
        return answered

    return enrol


def _show_own_error(mechanism: object, example: object, failure: Exception) -> None:
    """Raise what the author's own code raises on the inputs of an example, if it does. A release hides such an error, and
    so does a ledger, since it may quote data; the inputs of an example are made up, and `simulate` hides nothing.
    """
    simulate = getattr(mechanism, "simulate", None)
    if not callable(simulate):
        return
    for value in (getattr(example, "left", None), getattr(example, "right", None)):
        try:
            simulate(value, 1)
        except (PrivetError, Warning):
            continue  # a refusal of ours says why, here as in the law; a warning is what some laws are about
        except Exception as own:
            if type(own) is not type(failure):  # else the law shows it already
                raise own from failure


def laws_of(subject: Subject) -> tuple[Callable[..., Any], ...]:
    """The laws enrolled for a subject, in the order of their files.

    >>> from privet import testing
    >>> testing.check_hashable in laws_of("loss")
    True
    """
    return tuple(_ENROLLED[subject])


def laws_run() -> frozenset[tuple[str, str]]:
    """Which law has been called with which member, in this process: names of laws with kinds or mechanisms.

    >>> from privet import privacy, testing
    >>> testing.check_hashable(privacy.PureLoss(0.5))
    >>> ("check_hashable", "pure") in laws_run()
    True
    """
    return frozenset(_RAN)


def _name_of(member: object) -> str:
    """The kind of a loss, the name of an example's mechanism, else the type."""
    return str(
        getattr(member, "kind", None) or getattr(getattr(member, "mechanism", None), "name", type(member).__name__)
    )

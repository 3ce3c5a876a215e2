"""Calls with a wrong keyword: one sentence that names the right one, instead of Python's words about our insides."""

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

from privet.errors import InvalidCall, InvalidParameter

_F = TypeVar("_F", bound=Callable[..., Any])
_C = TypeVar("_C", bound=type[Any])
_INNER = ("self", "cls", "at")  # what a reader need not know of
_MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_BUDGET = {"epsilon", "eps", "delta", "rho", "mu"}
# What other libraries and papers call it, where the letters do not give it away.
_ALSO = {
    "lower": "bounds",
    "upper": "bounds",
    "min": "bounds",
    "max": "bounds",
    "range": "bounds",
    "bins": "edges",
    "categories": "labels",
    "quantile": "q",
    "sigma": "scale",
    "b": "scale",
    "cutoff": "threshold",
}


def called_by_name(function: _F) -> _F:
    """The function itself; a call that its signature does not allow raises `InvalidCall` with a sentence.

    Nothing is done before the call: what a call costs stays as it is.

    >>> @called_by_name
    ... def made(*, sensitivity, epsilon=None): ...
    >>> made(sensitivity=1, eps=2)
    Traceback (most recent call last):
    privet.errors.InvalidCall: made takes no 'eps': did you mean epsilon? It takes sensitivity and epsilon, by name
    """

    @wraps(function)
    def checked(*args: Any, **keywords: Any) -> Any:
        try:
            return function(*args, **keywords)
        except (TypeError, InvalidParameter):
            sentence = _wrong(function, args, keywords)
            if sentence is None:
                raise
        raise InvalidCall(sentence)

    return checked  # type: ignore[return-value]


def made_by_name(kind: _C) -> _C:
    """Class decorator: `called_by_name` for what makes its objects."""
    kind.__init__ = called_by_name(kind.__init__)
    return kind


def _wrong(function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> str | None:
    """What is wrong with a call by the signature of the function; None where it may be called so."""
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **keywords)
    except TypeError:
        pass
    else:
        return None
    owner = bool(args) and next(iter(signature.parameters), "") in ("self", "cls")
    who = _called(function, args[0]) if owner else function.__name__
    taken = [p for p in signature.parameters.values() if p.name not in _INNER and p.kind not in _MANY]
    names, by_place = [p.name for p in taken], [p.name for p in taken if p.kind is not p.KEYWORD_ONLY]
    known = f"It takes {_listed(names)}" + ("" if by_place else ", by name")
    unknown = [name for name in keywords if name not in signature.parameters]
    for_budget = _for_budget(function, args)
    if unknown and unknown[0] in _BUDGET and for_budget:
        return f"{who} is made by its own parameters ({_listed(names)}){for_budget}"
    if unknown:
        near = _near(unknown[0], names)
        return f"{who} takes no {unknown[0]!r}: " + (f"did you mean {near}? {known}" if near else f"i{known[1:]}")
    given = {*keywords, *by_place[: len(args) - owner]}
    missing = [p.name for p in taken if p.default is p.empty and p.name not in given]
    if len(args) - owner > len(by_place) or not missing:
        return f"{who} takes its arguments by name: {_listed(names)}{for_budget}"
    return f"{who} needs {_listed(missing)}. {known}{for_budget}"


def _called(function: Callable[..., Any], owner: Any) -> str:
    kind = owner if isinstance(owner, type) else type(owner)
    return kind.__name__ if function.__name__ == "__init__" else f"{kind.__name__}.{function.__name__}"


def _for_budget(function: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """Where an object is made by hand and could be made for a budget."""
    kind = type(args[0]) if args else None
    by_hand = function.__name__ == "__init__" and hasattr(kind, "for_budget")
    return f"; made for a budget, {kind.__name__}.for_budget(epsilon=...)" if by_hand and kind else ""


def _near(name: str, names: Iterable[str]) -> str | None:
    from difflib import get_close_matches  # needed for mistakes only

    listed = list(names)
    if _ALSO.get(name) in listed:
        return _ALSO[name]
    return next(iter(get_close_matches(name, listed, 1, 0.55)), None)


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "nothing"

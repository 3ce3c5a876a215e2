"""Doors: the functions and classes that people type. A call that cannot be answered says in one sentence which one can.

Whatever is no door (`@door`) is plain Python. Nothing is done before a call; what is said is worked out after it failed.
"""

import inspect
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar, overload

from privet._hints import hints_of, in_words, suits
from privet.errors import InvalidCall, InvalidParameter, PrivetError

_F = TypeVar("_F", bound=Callable[..., Any])
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
    "sampling_rate": "q",
    "sample_rate": "q",
    "sigma": ("scale", "noise_multiplier"),
    "b": "scale",
    "cutoff": "threshold",
    "eps": "epsilon",
    "balance": "remaining",
    "left": "remaining",
    "num_steps": "steps",
    "epochs": "steps",
}


@overload
def door(made: _F, /) -> _F: ...
@overload
def door(*, prices: tuple[str, ...]) -> Callable[[_F], _F]: ...
def door(made: Any = None, /, *, prices: tuple[str, ...] = ()) -> Any:
    """Decorator of a function, a method or a class: a call that its signature or its annotations do not allow raises
    `InvalidCall` with a sentence. Arguments named in `prices` take whatever has a price: a mechanism, a release.

    >>> @door
    ... def made(*, sensitivity: float, epsilon: float | None = None) -> None: ...
    >>> made(sensitivity=1, eps=2)
    Traceback (most recent call last):
    privet.errors.InvalidCall: made takes no 'eps': did you mean epsilon? It takes sensitivity and epsilon, by name
    """
    if made is None:
        return lambda later: _class(later, prices) if isinstance(later, type) else _function(later, prices)
    return _class(made, prices) if isinstance(made, type) else _function(made, prices)


def _class(kind: Any, prices: tuple[str, ...]) -> Any:
    if issubclass(kind, tuple):  # a named tuple is made by its `__new__`
        kind.__new__ = staticmethod(_function(kind.__new__, prices))
    else:
        kind.__init__ = _function(kind.__init__, prices)
    return kind


def _function(function: _F, prices: tuple[str, ...]) -> _F:
    if getattr(function, "__door__", False):
        return function
    places = [(i, name) for i, name in enumerate(inspect.signature(function).parameters) if name in prices]

    @wraps(function)
    def entered(*args: object, **keywords: object) -> Any:
        try:
            for place, name in places:
                if name in keywords:
                    keywords[name] = price_of(keywords[name])
                elif place < len(args):
                    args = (*args[:place], price_of(args[place]), *args[place + 1 :])
            return function(*args, **keywords)
        except Exception as problem:
            answer = _retold(function, args, keywords, problem)
            if answer is None:
                raise
        finally:
            del args, keywords  # frames outlive an error, and the data with them
        raise answer

    entered.__door__ = True  # type: ignore[attr-defined]
    return entered  # type: ignore[return-value]


def price_of(value: object) -> Any:
    """The price of what has one, each of a list, else the value itself."""
    if isinstance(value, list | tuple) and not hasattr(value, "loss"):
        return [price_of(each) for each in value]
    found = getattr(value, "loss", None)
    return found if hasattr(found, "pure") and not isinstance(value, type) else value


def _retold(
    function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any], problem: Exception
) -> InvalidCall | None:
    """The sentence for a call that failed; None where it was a proper one. Of a parameter that is refused, a wrong keyword
    may be the reason; other errors of ours say what they mean.
    """
    if isinstance(problem, PrivetError) and not isinstance(problem, InvalidParameter):
        return None
    owner = _owner(function, args)
    sentence = _wrong(function, args, keywords, owner)
    if sentence is None and not isinstance(problem, PrivetError):
        sentence = _unsuitable(function, args, keywords, owner)
    return None if sentence is None else InvalidCall(sentence)


def _owner(function: Callable[..., Any], args: tuple[Any, ...]) -> type[Any] | None:
    """The class of a method: the one of what it was asked of that has it, else where its full name leads. After a module
    was loaded anew, as notebooks do, that is another class than the one of older objects.
    """
    first = next(iter(inspect.signature(function).parameters), "")
    if first not in ("self", "cls", "_cls"):
        return None
    for kind in type(args[0]).__mro__ if args else ():
        if inspect.unwrap(vars(kind).get(function.__name__)) is function:  # type: ignore[arg-type]
            return kind
    found: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split(".")[:-1]:
        found = getattr(found, name, None)
    if isinstance(found, type):
        return found
    return None if not args else args[0] if isinstance(args[0], type) else type(args[0])


def _wrong(
    function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any], owner: type[Any] | None
) -> str | None:
    """The fault in a call by the signature of the function; None where it may be called so."""
    signature = inspect.signature(function)
    first = next(iter(signature.parameters), "")
    method = owner is not None and first in ("self", "cls", "_cls")
    if method and first == "self" and owner is not None and not (args and isinstance(args[0], owner)):
        made = getattr(owner, "_made_by", f"{owner.__name__}(...)")
        return f"{function.__name__} is asked of an object: make it first, as in {made}.{function.__name__}(...)"
    try:
        signature.bind(*args, **keywords)
    except TypeError:
        pass
    else:
        return None
    who = _called(function, args[0], owner) if method and args else _plainly(function, owner)
    inner = (*_INNER, "_cls")
    taken = [p for p in signature.parameters.values() if p.name not in inner and p.kind not in _MANY]
    names, by_place = [p.name for p in taken], [p.name for p in taken if p.kind is not p.KEYWORD_ONLY]
    known = f"It takes {_listed(names)}" + ("" if by_place else ", by name")
    unknown = [name for name in keywords if name not in signature.parameters]
    for_budget = _for_budget(function, args)
    if unknown and unknown[0] in _BUDGET and for_budget:
        return f"{who} is made by its own parameters ({_listed(names)}){for_budget}"
    if unknown:
        near = nearest(unknown[0], names)
        return f"{who} takes no {unknown[0]!r}: " + (f"did you mean {near}? {known}" if near else f"i{known[1:]}")
    placed = len(args) - bool(method and args)
    given = {*keywords, *by_place[:placed]}
    missing = [p.name for p in taken if p.default is p.empty and p.name not in given]
    if placed > len(by_place) or not missing:
        return f"{who} {_by_place(who, taken, by_place)}{for_budget}"
    return f"{who} needs {_listed(missing)}. {known}{for_budget}"


def _by_place(who: str, taken: list[inspect.Parameter], by_place: list[str]) -> str:
    """Too many arguments by place: how they are given."""
    if not taken:
        return "takes no arguments"
    if not by_place:
        return f"takes its arguments by name: {_listed([p.name for p in taken])}"
    named = [p.name for p in taken if p.name not in by_place]
    several = "; several go into one list" if by_place[-1] in ("losses", "blocks") else ""
    call = ", ".join([*by_place, *(f"{name}=..." for name in named[:2])])
    return f"takes {_listed(by_place)} by place{', the others by name' if named else ''}: {who}({call}){several}"


def _unsuitable(
    function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any], owner: type[Any] | None
) -> str | None:
    """The first argument whose type is not the one that the function says; None where all of them suit."""
    try:
        bound = inspect.signature(function).bind(*args, **keywords)
    except TypeError:
        return None
    hints = hints_of(function)
    for name, value in bound.arguments.items():
        kind = inspect.signature(function).parameters[name].kind
        receiver = owner is not None and name in ("self", "cls", "_cls")
        if receiver or name not in hints or kind is inspect.Parameter.VAR_KEYWORD:
            continue
        each = value if kind is inspect.Parameter.VAR_POSITIONAL else [value]
        for one in each:
            if not suits(hints[name], one):
                who = _plainly(function, owner)
                return f"{who} takes {name} as {in_words(hints[name])}, got {type(one).__name__}"
    return None


def _called(function: Callable[..., Any], receiver: object, owner: type[Any] | None) -> str:
    kind = receiver if isinstance(receiver, type) else type(receiver)
    if owner is not None and not issubclass(kind, owner):
        kind = owner
    return kind.__name__ if function.__name__ in ("__init__", "__new__") else f"{kind.__name__}.{function.__name__}"


def _plainly(function: Callable[..., Any], owner: type[Any] | None) -> str:
    return function.__name__ if owner is None else _called(function, owner, owner)


def _for_budget(function: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """Where an object is made by hand and could be made for a budget."""
    kind = type(args[0]) if args else None
    by_hand = function.__name__ == "__init__" and hasattr(kind, "for_budget")
    return f"; made for a budget, {kind.__name__}.for_budget(epsilon=...)" if by_hand and kind else ""


def nearest(name: str, names: Iterable[str], alike: float = 0.55) -> str | None:
    """The one of `names` that was probably meant, by its letters or by what others call it.

    >>> nearest("treshold", ["scale", "threshold"]), nearest("eps", ["epsilon"]), nearest("colour", ["scale"])
    ('threshold', 'epsilon', None)
    """
    from difflib import get_close_matches  # needed for mistakes only

    listed = list(names)
    also = _ALSO.get(name, ())
    known = next((each for each in ((also,) if isinstance(also, str) else also) if each in listed), None)
    if known is not None:
        return known
    lowered = {each.lower(): each for each in reversed(listed)}
    found = get_close_matches(name, listed, 1, alike) or get_close_matches(name.lower(), lowered, 1, alike)
    return lowered.get(found[0].lower(), found[0]) if found else None


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "nothing"

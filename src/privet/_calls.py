"""Calls that cannot be answered: one sentence that names the right one, instead of Python's words about our insides.

Every public function and method gets this at the face of its room (`privet._face`), so a new one needs nothing of its own.
Nothing is done before the call; whatever is said is worked out after it has failed.
"""

import inspect
import re
import sys
from collections.abc import Callable, Iterable
from functools import update_wrapper
from types import FunctionType
from typing import Any, TypeVar

from privet._hints import hints_of, in_words, suits
from privet._markup import lines
from privet.errors import InvalidCall, InvalidParameter, PrivetError

_F = TypeVar("_F", bound=Callable[..., Any])
_C = TypeVar("_C", bound=type[Any])
_MARK = "__answers__"
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
    "num_steps": "steps",
    "epochs": "steps",
}
_ONE_LOSS = re.compile(r"PrivacyLoss( \| (None|float))*")
_LOSSES = re.compile(r"(Iterable|Sequence|tuple|list)\[PrivacyLoss(, \.\.\.)?\]")


def called_by_name(function: _F, owner: type[Any] | None = None) -> _F:
    """The function itself; a call that its signature or its annotations do not allow raises `InvalidCall` with a sentence.

    Whatever takes a price takes an object that has one (a mechanism, a release). `owner` is the class of a method.

    >>> @called_by_name
    ... def made(*, sensitivity, epsilon=None): ...
    >>> made(sensitivity=1, eps=2)
    Traceback (most recent call last):
    privet.errors.InvalidCall: made takes no 'eps': did you mean epsilon? It takes sensitivity and epsilon, by name
    """
    if not isinstance(function, FunctionType) or hasattr(function, _MARK):
        return function
    prices = _takes_prices(function)
    problems = Exception  # a name of `checked` itself: its namespace is the one of the function

    def retold(args: tuple[Any, ...], keywords: dict[str, Any], problem: Exception) -> InvalidCall | None:
        sentence = _wrong(function, args, keywords, owner)
        if sentence is None and not isinstance(problem, PrivetError):
            sentence = _unsuitable(function, args, keywords, owner)
        return None if sentence is None else InvalidCall(sentence)

    def told(problem: Exception) -> bool:
        """Refusals that say what they mean; of a parameter, a wrong keyword may be the reason."""
        return isinstance(problem, PrivetError) and not isinstance(problem, InvalidParameter)

    def checked(*args: Any, **keywords: Any) -> Any:
        try:
            if prices:
                args, keywords = prices(args, keywords)
            return function(*args, **keywords)
        except problems as problem:
            answer = None if told(problem) else retold(args, keywords, problem)
            if answer is None:
                raise
        finally:
            del args, keywords  # frames outlive an error, and the data with them
        raise answer

    # In the namespace of the function itself: whoever looks for the functions of a module (doctest does) finds it there.
    made = FunctionType(checked.__code__, function.__globals__, function.__name__, closure=checked.__closure__)
    update_wrapper(made, function)
    setattr(made, _MARK, True)
    return made  # type: ignore[return-value]


def made_by_name(kind: _C) -> _C:
    """Class decorator: `called_by_name` for what makes its objects."""
    kind.__init__ = called_by_name(kind.__init__, kind)
    return kind


def answering(value: Any) -> Any:
    """A public function or class, all of whose calls answer as `called_by_name` says; a class keeps its identity.

    >>> def twice(number: float) -> float:
    ...     return 2.0 * number.real
    >>> answering(twice)("3")
    Traceback (most recent call last):
    privet.errors.InvalidCall: twice takes number as a number, got str
    """
    if isinstance(value, FunctionType):
        made, name, home = called_by_name(value), value.__name__, sys.modules.get(value.__module__)
        if made is not value and getattr(home, name, None) is value:
            setattr(home, name, made)  # where pickle looks for it
        return made
    if isinstance(value, type) and not issubclass(value, BaseException):
        for kind in (*value.__mro__, *_subclasses(value)):
            if kind.__module__.partition(".")[0] == "privet":
                _answer_in(kind)
    return value


def _subclasses(kind: type[Any]) -> list[type[Any]]:
    """Whatever is handed out as an object of a public class, though its own class has no public name."""
    found = list(type.__subclasses__(kind))
    return found + [each for one in found for each in _subclasses(one)]


def _answer_in(kind: Any) -> None:
    """Every public method of a class, what makes its objects, and how they are shown."""
    if vars(kind).get(_MARK) is kind or getattr(kind, "_is_protocol", False):  # its members are what others must have
        return
    for name, member in list(vars(kind).items()):
        if name == "__init__" or (not name.startswith("_") and isinstance(member, FunctionType)):
            setattr(kind, name, called_by_name(member, kind))
        elif not name.startswith("_") and isinstance(member, classmethod | staticmethod):
            inner = called_by_name(member.__func__, kind)
            if inner is not member.__func__:
                setattr(kind, name, type(member)(inner))
    if issubclass(kind, tuple) and "__new__" in vars(kind):
        kind.__new__ = staticmethod(called_by_name(vars(kind)["__new__"].__func__, kind))
    elif getattr(kind, "__abstractmethods__", None) and kind.__new__ is object.__new__:
        kind.__new__ = staticmethod(_concrete_of(kind))
    elif (
        hasattr(kind, "__abstractmethods__") and kind.__new__ is object.__new__ and kind.__init__ is not object.__init__
    ):
        kind.__new__ = object.__new__  # its own: objects of a class that can be made are not asked whether they can
    if kind.__format__ is object.__format__:
        kind.__format__ = _formatted
    if not hasattr(kind, "_repr_html_") and kind.__str__ is not object.__str__:
        kind._repr_html_ = _in_a_notebook
    setattr(kind, _MARK, kind)


def _formatted(thing: object, spec: str) -> str:
    """`f"{thing:>40}"`: as its text."""
    try:
        return format(str(thing), spec)
    except ValueError:
        raise InvalidParameter(f"a {type(thing).__name__} is no number: {spec!r:.40} does not format it") from None


def _in_a_notebook(thing: object) -> str:
    return lines(str(thing))


def _concrete_of(abstract: Any) -> Callable[..., Any]:
    """What makes the objects of an abstract class: those of its subclasses, and none of its own."""

    def __new__(kind: type[Any], /, *args: Any, **keywords: Any) -> Any:
        if getattr(kind, "__abstractmethods__", None):
            known = [each.__name__ for each in type.__subclasses__(kind) if not each.__name__.startswith("_")]
            instead = f": take {_listed(known[:4], 'or')}" if known else ""
            raise InvalidCall(f"{kind.__name__} is abstract and cannot be made itself{instead}")
        return object.__new__(kind)

    made = abstract.__init__
    shown = inspect.Signature([inspect.Parameter("kind", inspect.Parameter.POSITIONAL_ONLY)])
    __new__.__signature__ = shown if made is object.__init__ else inspect.signature(made)  # type: ignore[attr-defined]
    return __new__


def _takes_prices(function: Callable[..., Any]) -> Callable[[Any, Any], tuple[Any, Any]] | None:
    """How to read a mechanism where a price is wanted; None for a function that wants no price."""
    one: set[str] = set()
    several: set[str] = set()
    for name, hint in getattr(function, "__annotations__", {}).items():
        text = hint if isinstance(hint, str) else hint.__name__ if type(hint) is type else str(hint)
        text = re.sub(r"[a-z_]+\.", "", getattr(hint, "__name__", text) if isinstance(hint, type) else text)
        if _ONE_LOSS.fullmatch(text):
            one.add(name)
        elif _LOSSES.fullmatch(text):
            several.add(name)
    one.discard("return")
    several.discard("return")
    if not one and not several:
        return None
    places = [(i, name) for i, name in enumerate(inspect.signature(function).parameters) if name in one | several]

    def read(name: str, value: Any) -> Any:
        if name in one:
            return _price(value)
        return [_price(each) for each in value] if isinstance(value, list | tuple) else value

    def prices(args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        for place, name in places:
            if name in keywords:
                keywords[name] = read(name, keywords[name])
            elif place < len(args):
                args = (*args[:place], read(name, args[place]), *args[place + 1 :])
        return args, keywords

    return prices


def _price(value: Any) -> Any:
    """The price of what has one, else the value itself."""
    found = getattr(value, "loss", None)
    return found if hasattr(found, "pure") and not isinstance(value, type) else value


def _wrong(
    function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any], owner: type[Any] | None
) -> str | None:
    """What is wrong with a call by the signature of the function; None where it may be called so."""
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


def _called(function: Callable[..., Any], receiver: Any, owner: type[Any] | None) -> str:
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


def _listed(names: list[str], last: str = "and") -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}" if names else "nothing"

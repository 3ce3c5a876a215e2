"""Annotations read at run time, for words about calls that failed: does a value suit one, and what would."""

import inspect
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

_WORDS = {
    "float": "a number",
    "int": "a whole number",
    "str": "a text",
    "bool": "True or False",
    "tuple": "a tuple",
    "list": "a list",
    "dict": "a mapping",
    "Mapping": "a mapping",
    "Sequence": "a sequence",
    "Iterable": "a sequence",
    "Collection": "a sequence",
    "ndarray": "an array of numbers",
    "Callable": "a function",
    "type": "a class",
    "Path": "a path",
}


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a function's arguments; one that cannot be read (imported for type checkers alone) stays a text.

    >>> hints_of(hints_of)["function"]
    collections.abc.Callable[..., typing.Any]
    """
    plain = inspect.unwrap(function)
    try:
        return get_type_hints(plain)
    except Exception:
        known: dict[str, Any] = {}
        for name, hint in getattr(plain, "__annotations__", {}).items():
            try:
                known[name] = eval(hint, plain.__globals__) if isinstance(hint, str) else hint
            except Exception:
                known[name] = hint
        return known


def suits(hint: object, value: object) -> bool:
    """True if a value may be what an annotation says, by its outermost type: nothing inside of it is looked at.

    >>> suits(float, 3), suits(float, "3"), suits(int | None, None), suits(list[int], ["a"])
    (True, False, True, True)
    """
    if isinstance(hint, str):
        return True  # it cannot be read
    origin = get_origin(hint)
    if isinstance(hint, TypeVar):
        return hint.__bound__ is None or suits(hint.__bound__, value)
    if origin in (Union, types.UnionType):
        return any(suits(part, value) for part in get_args(hint))
    if origin is Literal:
        return any(type(each) is type(value) and each == value for each in get_args(hint))
    if origin is Annotated:
        return suits(get_args(hint)[0], value)
    if origin is not None:
        hint = origin
    if hint is None or hint is types.NoneType:
        return value is None
    if not isinstance(hint, type) or hint is object:
        return True
    if hint in (Sequence, Iterable, Collection) and (
        isinstance(value, str | bytes | Mapping) or hasattr(value, "columns")
    ):
        return False  # a text has letters and a table columns: nobody means those
    if hint in (float, int):
        return isinstance(value, Real if hint is float else Integral) and not isinstance(value, bool)
    try:
        return isinstance(value, hint)
    except TypeError:
        return True


def in_words(hint: object) -> str:
    """Words for what an annotation asks for.

    >>> in_words(float | None), in_words(Literal["a", "b"])
    ('a number', "'a' or 'b'")
    """
    if isinstance(hint, str):
        return hint
    if isinstance(hint, TypeVar):
        return in_words(hint.__bound__)
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(in_words(part) for part in get_args(hint) if part is not types.NoneType))
    if origin is Literal:
        return " or ".join(map(repr, get_args(hint)))
    if origin is Annotated:
        return in_words(get_args(hint)[0])
    name = getattr(origin or hint, "__name__", str(hint))
    return _WORDS.get(name, f"{'an' if name[:1] in 'AEIO' else 'a'} {name}")

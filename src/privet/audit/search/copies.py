"""Copies of a mechanism with its state, and copies in which one number that it holds is another.

The first show whether it keeps something from run to run, the second whether a number that it holds serves as its noise.
"""

import copy
import functools
import types
from collections.abc import Callable, Iterator
from numbers import Number
from typing import Any

_CONTAINERS = (dict, list, set, bytearray)
_SHARED = (types.ModuleType, types.BuiltinFunctionType, type)  # never copied, whatever is kept in them
_MOST_NUDGES = 16  # numbers of an input that are moved, one at a time: time against reach
_NUDGE = 1024  # a multiple of every likely step of noise: a number that is moved stays on its grid

Memo = dict[int, Any]


def twin_of(mechanism: object) -> Any | None:
    """A copy with the state of this moment, to be run beside the original; None where none can be made.

    >>> def counted(value, seen=[]):
    ...     seen.append(value)
    ...     return len(seen)
    >>> twin = twin_of(counted)
    >>> counted(0), counted(0), twin(0)
    (1, 2, 1)
    """
    if isinstance(mechanism, types.BuiltinFunctionType | type):
        return None
    try:
        return _copied(mechanism, {}, names=True)
    except Exception:
        return None


def _copied(value: object, memo: Memo, *, names: bool = False) -> Any:
    """A copy of a mechanism or of what it holds; what cannot be copied (locks, files, generators) is shared.

    With `names` the globals that its code names are copied too: a twin that runs beside the original needs its own.
    """
    if id(value) in memo:
        return memo[id(value)]
    if hasattr(value, "cache_clear") and hasattr(value, "__wrapped__"):  # functools.cache or lru_cache
        memo[id(value)] = _remembering(_copied(value.__wrapped__, memo))
        return memo[id(value)]
    if isinstance(value, types.FunctionType):
        return _function_twin(value, memo, names=names)
    if isinstance(value, _SHARED):
        return value
    if isinstance(value, functools.partial):
        parts = (_copied(part, memo) for part in (value.func, value.args, value.keywords))
        function, given, keywords = parts
        return functools.partial(function, *given, **keywords)
    try:
        return copy.deepcopy(value)
    except Exception:
        return value


def _remembering(inner: Callable[..., Any]) -> Callable[..., Any]:
    """The function with a new, empty cache: what an old one holds cannot be read out."""
    return functools.cache(inner)


def _function_twin(function: types.FunctionType, memo: Memo, *, names: bool) -> types.FunctionType:
    """The same code with copies of what it holds: its closure, its defaults and its attributes.

    With `names` also the globals that its code names, if they are containers or functions of its own module. A function
    that holds nothing is its own twin.
    """
    space = function.__globals__
    named = [name for name in function.__code__.co_names if name in space] if names else []
    held = [name for name in named if isinstance(space[name], _CONTAINERS) or _is_function_of(space[name], space)]
    if not (function.__closure__ or function.__defaults__ or function.__kwdefaults__ or function.__dict__ or held):
        return function
    cells = tuple(types.CellType() for _ in function.__closure__ or ())
    copies = dict(space) if held else space
    twin = types.FunctionType(function.__code__, copies, function.__name__, None, cells or None)
    memo[id(function)] = twin  # before its parts: a function may hold itself
    for cell, original in zip(cells, function.__closure__ or (), strict=True):
        try:
            cell.cell_contents = _copied(original.cell_contents, memo, names=names)
        except ValueError:  # not filled yet
            continue
    for name in held:
        copies[name] = _copied(space[name], memo, names=True)
    twin.__defaults__ = _copied(function.__defaults__, memo)
    twin.__kwdefaults__ = _copied(function.__kwdefaults__, memo)
    twin.__dict__.update({name: _copied(part, memo) for name, part in function.__dict__.items()})
    return twin


def _is_function_of(value: object, space: dict[str, Any]) -> bool:
    """True for a function, cached or not, of the module with these globals."""
    inner = getattr(value, "__wrapped__", value) if hasattr(value, "cache_clear") else value
    return isinstance(inner, types.FunctionType) and inner.__globals__ is space


def nudged(mechanism: object) -> Iterator[Any]:
    """Copies in each of which one number that the mechanism holds is larger by `_NUDGE`: a number in its closure, a
    default, an argument of a partial, or an attribute.

    >>> def shifted(by):
    ...     return lambda value: value + by
    >>> [other(0) - shifted(5)(0) for other in nudged(shifted(5))]
    [1024]
    """
    if isinstance(mechanism, functools.partial):
        for place, number in enumerate(mechanism.args):
            if _is_number(number):
                given = [*mechanism.args[:place], number + _NUDGE, *mechanism.args[place + 1 :]]
                yield functools.partial(mechanism.func, *given, **mechanism.keywords)
        for name, number in mechanism.keywords.items():
            if _is_number(number):
                yield functools.partial(
                    mechanism.func, *mechanism.args, **{**mechanism.keywords, name: number + _NUDGE}
                )
    elif isinstance(mechanism, types.FunctionType):
        yield from _nudged_function(mechanism)
    elif not isinstance(mechanism, _SHARED) and hasattr(mechanism, "__dict__"):
        for name in [name for name, number in vars(mechanism).items() if _is_number(number)][:_MOST_NUDGES]:
            other = _copied(mechanism, {})
            if other is not mechanism:
                vars(other)[name] = vars(other)[name] + _NUDGE
                yield other


def _nudged_function(function: types.FunctionType) -> Iterator[Any]:
    places = [j for j, cell in enumerate(function.__closure__ or ()) if _is_number(_content(cell))]
    for j in places[:_MOST_NUDGES]:
        twin = _function_twin(function, {}, names=False)
        cell = (twin.__closure__ or ())[j]
        cell.cell_contents = cell.cell_contents + _NUDGE
        yield twin
    for j, number in enumerate(function.__defaults__ or ()):
        if _is_number(number):
            twin = _function_twin(function, {}, names=False)
            defaults = list(function.__defaults__ or ())
            defaults[j] = number + _NUDGE
            twin.__defaults__ = tuple(defaults)
            yield twin


def holds_an_iterator(mechanism: object) -> bool:
    """True if the closure of a function holds an iterator: runs use it up, and it cannot be copied.

    >>> def counting(steps):
    ...     return lambda value: value + next(steps)
    >>> holds_an_iterator(counting(iter(range(3)))), holds_an_iterator(abs)
    (True, False)
    """
    cells = getattr(mechanism, "__closure__", None) or ()
    return any(isinstance(_content(cell), Iterator) for cell in cells)


def _content(cell: types.CellType) -> Any:
    """The value in a cell of a closure; None while there is none."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _is_number(value: object) -> bool:
    """True for numbers and arrays of numbers; not for True and False, which are no noise."""
    if isinstance(value, bool):
        return False
    return isinstance(value, Number) or (hasattr(value, "dtype") and getattr(value.dtype, "kind", "") in "iuf")

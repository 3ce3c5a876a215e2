"""The first example of each kind in every run, further ones in `make test-slow`; the ends of a grid likewise.

Every law meets every member in both (`tests/whole_run.py` demands it of `make test`); further examples of a member are
other settings of it, which the laws of prices and replays meet in every run (`tests/laws/test_mechanisms.py`). A mark
leaves the name of a test as it is, and with it its coins.
"""

from collections.abc import Callable, Container, Iterable
from functools import cache
from typing import Any, TypeVar

import pytest

from privet import testing
from privet.mechanisms import Example

_T = TypeVar("_T")


@cache
def mechanism_examples() -> tuple[Example, ...]:
    """The examples of every mechanism, made once for all modules: many are calibrated, which takes seconds in all."""
    return tuple(testing.example_mechanisms())


def first_of_each(
    examples: Iterable[_T],
    kind: Callable[[_T], object],
    name: Callable[[_T, int], str] = lambda example, _: str(example),
) -> list[Any]:
    """Parameters for pytest: all examples, each after the first of its kind marked as slow. `name` is made of the example
    and its number among those of its kind, so that names stay when another kind joins.

    >>> [(param.id, [mark.name for mark in param.marks]) for param in first_of_each([3, 5, 4], lambda x: x % 2)]
    [('3', []), ('5', ['slow']), ('4', [])]
    """
    seen: dict[object, int] = {}
    params = []
    for example in examples:
        number = seen.get(kind(example), 0)
        seen[kind(example)] = number + 1
        params.append(pytest.param(example, id=name(example, number), marks=[pytest.mark.slow] if number else []))
    return params


def ends(values: Iterable[Any], also: Container[Any] = ()) -> list[Any]:
    """Parameters for pytest: the first value, the last one and those in `also` as they are, all others marked as slow.

    For a grid whose members take the same path; where a path changes, both sides belong to the ends or to `also`. A tuple
    stands for several arguments.

    >>> [each if isinstance(each, int) else (each.values, each.marks[0].name) for each in ends([1, 2, 3, 4], also=[3])]
    [1, ((2,), 'slow'), 3, 4]
    """
    listed = list(values)
    quick = (0, len(listed) - 1)
    return [each if place in quick or each in also else slow(each) for place, each in enumerate(listed)]


def slow(value: Any) -> Any:
    """A parameter for pytest that is left to `make test-slow`; a tuple stands for several arguments.

    >>> slow((3, "b")).values, slow(5).values
    ((3, 'b'), (5,))
    """
    return pytest.param(*(value if type(value) is tuple else (value,)), marks=pytest.mark.slow)

"""Strange values, inputs that hold one and neighbours that differ in one, made from the pair of an example."""

import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from privet._numerics import Array
from privet.audit.observed import text_of
from privet.errors import InvalidData
from privet.mechanisms import Example, Mechanism

_FAR = 10**6  # an ordinary outlier: some mistakes throw the others away, and some do not
_MOST = sys.float_info.max  # its square overflows, as does its sum with itself
_FLOATS = (math.nan, float(_FAR), math.inf, -math.inf, -_MOST, -float(_FAR), 5e-324, 0.0, _MOST)  # where sums turn
_INTS = (-(2**63), _FAR, -_FAR, 0, 2**63 - 1)  # where the types of columns end
_TEXTS = ("", "Zaphod")

Data = list[Any] | tuple[Any, ...] | Array


def strange_pairs(example: Example) -> list[tuple[Data, Data]]:
    """Neighbours, the second of which has a further record with a strange value, none of which may be refused; nothing
    where the inputs of an example are no records. First come a missing value (or an end of its type) and an
    outlier, last the largest value of its type.

    >>> from privet.mechanisms import BoundedSum
    >>> [right[-1] for _, right in strange_pairs(next(iter(BoundedSum.examples())))][:2]
    [nan, 1000000.0]
    """
    mechanism, ends = example.mechanism, sides_of(example)
    if ends is None:
        return []
    fewer, more = ends
    if not takes(mechanism, joined(fewer, more[-1:])):
        return []
    pairs = [(fewer, joined(fewer, record)) for record in strange_like(more[-1:])]
    check_taken(mechanism, [right for _, right in pairs])
    return pairs


def strange_inputs(example: Example) -> list[Any]:
    """The inputs of an example with a strange value in the place of the last one, or of the number or text that they are.

    >>> from privet.mechanisms import Laplace
    >>> strange_inputs(next(iter(Laplace.examples())))[:2]
    [nan, 1000000.0]
    """
    found: list[Any] = []
    for value in (example.left, example.right):
        if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim):
            found += [joined(value[:-1], strange) for strange in strange_like(value[-1:])]
        elif type(value) in (float, int, str):
            found += _others(value)
    return found


def sides_of(example: Example) -> tuple[Data, Data] | None:
    """The input with fewer records and the one with more, where there are such."""
    sides = example.left, example.right
    if example.mechanism.unit.relation != "add_remove" or type(sides[0]) is not type(sides[1]):
        return None
    if not isinstance(sides[0], list | tuple) and not (isinstance(sides[0], np.ndarray) and sides[0].ndim):
        return None
    fewer, more = sorted(sides, key=len)
    known, others = (Counter(map(text_of, side)) for side in (fewer, more))
    return (fewer, more) if known < others else None


def strange_like(record: Data) -> Iterator[Data]:
    """Lists of one record, as this one is, with other values of the same types.

    >>> list(strange_like([("a", 3)]))[:2] == [[("", -(2**63))], [("Zaphod", 10**6)]]
    True
    """
    if isinstance(record, np.ndarray):
        if record.dtype.kind == "f":
            ends = np.finfo(record.dtype)
            least = ends.smallest_subnormal
            usual = (math.nan, min(_FAR, float(ends.max)), math.inf, -math.inf, ends.min, least, 0.0, ends.max)
            yield from (np.full_like(record, each) for each in usual)
        elif record.dtype.kind in "iu":
            yield from (np.full_like(record, each) for each in _bounds(record.dtype))
        return
    found = [_others(each) for each in record]
    for number in range(max(map(len, found), default=0)):
        yield type(record)(each[number % len(each)] for each in found)


def _others(held: object) -> tuple[Any, ...]:
    """Strange values of the type of one that a record holds; itself where none is known."""
    if isinstance(held, list | tuple) and held and type(held) in (list, tuple):
        return tuple(strange_like(held))
    if isinstance(held, np.ndarray):
        return tuple(strange_like(held)) or (held,)
    if type(held) in (float, int, str):
        return {float: _FLOATS, int: _INTS, str: _TEXTS}[type(held)]
    return (held,)


def _bounds(kind: "np.dtype[Any]") -> tuple[int, ...]:
    most = int(np.iinfo(kind).max)
    return int(np.iinfo(kind).min), min(_FAR, most), 0, most


def in_words(value: object) -> str:
    """A made-up input in words: by its last record, where it has some.

    >>> in_words([1.0, 2.0]), in_words(0.5), in_words([])
    ('the record 2.0', 'the input 0.5', 'nobody')
    """
    if not isinstance(value, list | tuple | np.ndarray):
        return f"the input {value!r:.60}"
    return f"the record {value[-1]!r:.60}" if len(value) else "nobody"


def check_taken(mechanism: Mechanism[Any, Any], values: Iterable[object]) -> None:
    """A check that none of these is refused: inputs that are so by their values alone."""
    for value in values:
        assert takes(mechanism, value), f"{mechanism.name}: {in_words(value)} is refused for its value"


def takes(mechanism: Mechanism[Any, Any], value: object) -> bool:
    try:
        mechanism.check(value)
    except InvalidData:
        return False
    return True


def joined(*lists: Data) -> Data:
    return np.concatenate(lists) if isinstance(lists[0], np.ndarray) else sum(lists[1:], lists[0])

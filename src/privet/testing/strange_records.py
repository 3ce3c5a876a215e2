"""The law of strange records: whatever somebody brings along, a mechanism takes it, and its price covers it.

The pair of an example is what its author thought of. From it follow others that are neighbours as well, where one input is
the other and further records: with a record that holds NaN, infinity or the end of its type; of nobody and of one; without
the first instead of the last.
"""

import math
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from privet._numerics import Array
from privet.audit import Pairs, mechanism as audit_mechanism, replay
from privet.audit.observed import text_of
from privet.errors import InvalidData
from privet.mechanisms import Algorithm, Example, Mechanism
from privet.noise import Seeded
from privet.testing.law import law_of

_RUNS = 300  # of each input of the pair that tells most: what a strange record breaks is seldom a matter of degree
_LEVEL = 1e-7  # the chance that a sound mechanism fails
_FAR = 10**6  # an ordinary outlier: some mistakes throw the others away, and some do not
_MOST = sys.float_info.max  # its square overflows, as does its sum with itself
_FLOATS = (math.nan, float(_FAR), math.inf, -math.inf, _MOST, -_MOST, -float(_FAR), 5e-324, 0.0)  # where sums turn
_INTS = (10**400, _FAR, 2**63 - 1, -(2**63), -_FAR, 0)  # where types end, and one that no float holds
_TEXTS = ("", "Zaphod")
_FEW = 2  # pairs of a costly example that are replayed: the first two values above

Data = list[Any] | tuple[Any, ...] | Array


@law_of("mechanism")
def check_strange_records_are_covered(example: Example) -> None:
    """Records with strange values are neither refused nor do they raise or warn, and neighbours with such a record, of
    nobody, and without another record than that of the example are as hard to tell apart as the price says.

    Of examples under add/remove whose inputs are lists or arrays of records, one of them with further ones. Whole
    algorithms are replayed, costly ones on two such pairs; any other costly mechanism is asked only what it refuses.

    >>> from privet.mechanisms import BoundedSum
    >>> check_strange_records_are_covered(next(iter(BoundedSum.examples())))
    """
    mechanism: Any = example.mechanism
    ends = _ends(example)
    if ends is None:
        return
    fewer, more = ends
    strange: list[Data] = []
    if _takes(mechanism, _joined(fewer, more[-1:])):
        strange += strange_like(more[-1:])
    for record in strange:
        taken = _takes(mechanism, _joined(fewer, record))
        assert taken, f"{mechanism.name}: {_words(record)} is refused for its value"
    pairs = [(fewer, _joined(fewer, record)) for record in strange]
    if example.cost == "costly":
        pairs = pairs[:_FEW] if isinstance(mechanism, Algorithm) else []
    else:
        others = [(more[1:], more), (more[:0], more[:1]), (more[:0], more[-1:])]
        others += [(each, _joined(each, each)) for each in strange]
        pairs += [pair for pair in others if all(_takes(mechanism, value) for value in pair)]  # refused for its length
        _run_once(mechanism, more, pairs)
    if isinstance(mechanism, Algorithm):
        for pair in pairs:
            seen = replay(mechanism.release, *pair, times=1)
            assert not seen.refuted, f"{mechanism.name}: with {_words(pair[1][-1:])}: {seen}"
    elif pairs:
        told = audit_mechanism(mechanism, neighbours=Pairs(pairs, checked=False), runs=_RUNS, alpha=_LEVEL)
        assert told.verdict == "not refuted", f"{told} ({_words(told.witness.right[-1:])})"


def _ends(example: Example) -> tuple[Data, Data] | None:
    """The input with fewer records and the one with more, where there are such."""
    sides = example.left, example.right
    if example.mechanism.unit.relation != "add_remove" or type(sides[0]) is not type(sides[1]):
        return None
    if not isinstance(sides[0], list | tuple) and not (isinstance(sides[0], np.ndarray) and sides[0].ndim):
        return None
    fewer, more = sorted(sides, key=len)
    known, others = (Counter(map(text_of, side)) for side in (fewer, more))
    return (fewer, more) if known < others else None


def _takes(mechanism: Mechanism[Any, Any], value: Data) -> bool:
    try:
        mechanism.check(value)
    except InvalidData:
        return False
    return True


def _run_once(mechanism: Mechanism[Any, Any], usual: Data, pairs: list[tuple[Data, Data]]) -> None:
    """A check that no input of these pairs raises or warns, if the usual one does not."""
    if _raised(mechanism, usual) is not None:
        return
    for value in (value for pair in pairs for value in pair):
        said = _raised(mechanism, value)
        assert said is None, f"{mechanism.name}: {_words(value[-1:])} raises or warns: {said}"


def _raised(mechanism: Mechanism[Any, Any], value: Data) -> str | None:
    """The name of the exception or warning of a run; None where there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            mechanism.simulate(value, 1, source=Seeded(1))
        except Exception as raised:
            return type(raised).__name__
    return None


def _joined(*lists: Data) -> Data:
    return np.concatenate(lists) if isinstance(lists[0], np.ndarray) else sum(lists[1:], lists[0])


def strange_like(record: Data) -> Iterator[Data]:
    """Lists of one record, as this one is, with other values of the same types.

    >>> list(strange_like([("a", 3)]))[:2] == [[("", 10**400)], [("Zaphod", 10**6)]]
    True
    """
    if isinstance(record, np.ndarray):
        if record.dtype.kind == "f":
            ends = np.finfo(record.dtype)
            least = ends.smallest_subnormal
            usual = (math.nan, min(_FAR, float(ends.max)), math.inf, -math.inf, ends.max, ends.min, least, 0.0)
            yield from (np.full_like(record, each) for each in usual)
        elif record.dtype.kind in "iu":
            yield from (np.full_like(record, each) for each in (*_bounds(record.dtype), 0))
        return
    found = [_others(each) for each in record]
    for number in range(max(map(len, found), default=0)):
        yield type(record)(each[number % len(each)] for each in found)


def _others(held: Any) -> tuple[Any, ...]:
    """Strange values of the type of one that a record holds; itself where none is known."""
    if isinstance(held, list | tuple) and held and type(held) in (list, tuple):
        return tuple(strange_like(held))
    if isinstance(held, np.ndarray):
        return tuple(strange_like(held)) or (held,)
    if type(held) in (float, int, str):
        return {float: _FLOATS, int: _INTS, str: _TEXTS}[type(held)]
    return (held,)


def _bounds(kind: Any) -> tuple[int, int]:
    return int(np.iinfo(kind).max), int(np.iinfo(kind).min)


def _words(record: Data) -> str:
    """A made-up record in words."""
    return f"the record {record[-1]!r:.60}" if len(record) else "nobody"

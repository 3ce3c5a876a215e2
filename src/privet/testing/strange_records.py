"""The law of strange records: whatever somebody brings along, a mechanism takes it, and its price covers it.

The pair of an example is what its author thought of. From it follow others that are neighbours as well, where one input is
the other and further records: with a record that holds NaN, infinity or the end of its type; of nobody and of one; without
the first instead of the last; in a crowd.
"""

import warnings
from typing import Any

from privet.audit import Pairs, mechanism as audit_mechanism, replay
from privet.mechanisms import Algorithm, Example, Mechanism
from privet.noise import Seeded
from privet.testing.law import law_of
from privet.testing.strange import check_taken, in_words, joined, sides_of, strange_inputs, strange_pairs, takes

_RUNS = 300  # of each input of the pair that tells most: what a strange record breaks is seldom a matter of degree
_CROWD = 200  # records: what depends on how many there are shows, and it takes no time
_LEVEL = 1e-7  # the chance that a sound mechanism fails


@law_of("mechanism")
def check_strange_records_are_covered(example: Example) -> None:
    """Strange values are neither refused nor do they raise or warn, and neighbours with such a record, of nobody, of
    many, and without another record than that of the example are as hard to tell apart as the price says.

    The second half is about examples under add/remove whose inputs are lists or arrays of records, one of them with
    further ones. Whole algorithms are replayed. A costly example is asked only what it refuses: `check_survives_audit`
    replays it.

    >>> from privet.mechanisms import BoundedSum
    >>> check_strange_records_are_covered(next(iter(BoundedSum.examples())))
    """
    mechanism: Any = example.mechanism
    ends = sides_of(example)
    if ends is None:
        others = strange_inputs(example)
        if takes(mechanism, example.left):
            check_taken(mechanism, others)
        if example.cost != "costly":
            _run_each(mechanism, example.left, others)
        return
    pairs, more = strange_pairs(example), ends[1]
    if example.cost == "costly":
        return
    further = [(more[1:], more), (more[:0], more[:1]), (more[:0], more[-1:])]
    further += [(largest := right[-1:], joined(largest, largest)) for _, right in pairs[-1:]]  # two overflow
    crowds = [joined(*[each] * -(-_CROWD // len(each))) for each in (more, more[-1:])]
    further += [(crowd, joined(crowd, more[-1:])) for crowd in crowds]
    pairs += [pair for pair in further if all(takes(mechanism, value) for value in pair)]  # refused for its length
    _run_each(mechanism, more, [value for pair in pairs for value in pair])
    if isinstance(mechanism, Algorithm):
        for pair in pairs:
            seen = replay(mechanism.release, *pair, times=1)
            assert not seen.refuted, f"{mechanism.name}: with {in_words(pair[1])}: {seen}"
    elif pairs:
        told = audit_mechanism(mechanism, neighbours=Pairs(pairs, checked=False), runs=_RUNS, alpha=_LEVEL)
        assert told.verdict == "not refuted", f"{told} ({in_words(told.witness.right)})"


def _run_each(mechanism: Mechanism[Any, Any], usual: object, values: list[Any]) -> None:
    """A check that none of these inputs raises or warns, if the usual one does not."""
    if _raised(mechanism, usual) is not None:
        return
    for value in values:
        said = _raised(mechanism, value)
        assert said is None, f"{mechanism.name}: {in_words(value)} raises or warns: {said}"


def _raised(mechanism: Mechanism[Any, Any], value: object) -> str | None:
    """The name of the exception or warning of a run; None where there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            mechanism.simulate(value, 1, source=Seeded(1))
        except Exception as raised:
            return type(raised).__name__
    return None

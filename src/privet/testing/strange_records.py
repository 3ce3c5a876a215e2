"""The law of strange records: whatever somebody brings along, a mechanism takes it, and its price covers it.

The pair of an example is what its author thought of. From it follow others that are neighbours as well, where one input is
the other and further records: with a record that holds NaN, infinity or the end of its type; of nobody and of one; without
the first instead of the last.
"""

import warnings
from typing import Any

from privet.audit import Pairs, mechanism as audit_mechanism, replay
from privet.mechanisms import Algorithm, Example, Mechanism
from privet.noise import Seeded
from privet.testing.law import law_of
from privet.testing.strange import Data, in_words, joined, sides_of, strange_pairs, takes

_RUNS = 300  # of each input of the pair that tells most: what a strange record breaks is seldom a matter of degree
_LEVEL = 1e-7  # the chance that a sound mechanism fails


@law_of("mechanism")
def check_strange_records_are_covered(example: Example) -> None:
    """Records with strange values are neither refused nor do they raise or warn, and neighbours with such a record, of
    nobody, and without another record than that of the example are as hard to tell apart as the price says.

    Of examples under add/remove whose inputs are lists or arrays of records, one of them with further ones. Whole
    algorithms are replayed. A costly example is asked only what it refuses: `check_survives_audit` replays some of these.

    >>> from privet.mechanisms import BoundedSum
    >>> check_strange_records_are_covered(next(iter(BoundedSum.examples())))
    """
    mechanism: Any = example.mechanism
    pairs, ends = strange_pairs(example), sides_of(example)
    if ends is None or example.cost == "costly":
        return
    more = ends[1]
    others = [(more[1:], more), (more[:0], more[:1]), (more[:0], more[-1:])]
    others += [(right[-1:], joined(right[-1:], right[-1:])) for _, right in pairs]
    pairs += [pair for pair in others if all(takes(mechanism, value) for value in pair)]  # refused for its length
    _run_once(mechanism, more, pairs)
    if isinstance(mechanism, Algorithm):
        for pair in pairs:
            seen = replay(mechanism.release, *pair, times=1)
            assert not seen.refuted, f"{mechanism.name}: with {in_words(pair[1][-1:])}: {seen}"
    elif pairs:
        told = audit_mechanism(mechanism, neighbours=Pairs(pairs, checked=False), runs=_RUNS, alpha=_LEVEL)
        assert told.verdict == "not refuted", f"{told} ({in_words(told.witness.right[-1:])})"


def _run_once(mechanism: Mechanism[Any, Any], usual: Data, pairs: list[tuple[Data, Data]]) -> None:
    """A check that no input of these pairs raises or warns, if the usual one does not."""
    if _raised(mechanism, usual) is not None:
        return
    for value in (value for pair in pairs for value in pair):
        said = _raised(mechanism, value)
        assert said is None, f"{mechanism.name}: {in_words(value[-1:])} raises or warns: {said}"


def _raised(mechanism: Mechanism[Any, Any], value: Data) -> str | None:
    """The name of the exception or warning of a run; None where there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            mechanism.simulate(value, 1, source=Seeded(1))
        except Exception as raised:
            return type(raised).__name__
    return None

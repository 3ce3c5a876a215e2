"""The laws of whole algorithms: their parts are what they charge, their coins are declared, and they are paid once.

For a mechanism that is no `Algorithm` each of them holds without a look.

>>> from privet import mechanisms, testing
>>> testing.check_parts_are_the_price(next(iter(mechanisms.Laplace.examples())))
"""

import copy
import math
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from unittest.mock import patch

from privet import accounting
from privet.audit import replay
from privet.audit.observed import differing
from privet.errors import PrivetError
from privet.ledger import Budget, Ledger
from privet.mechanisms import Algorithm, BlockAlgorithm, Example, Release, observed
from privet.mechanisms.whole import Together, together
from privet.noise import Secure, Seeded, Source
from privet.noise.entropy import Stream
from privet.privacy import Composed, GdpLoss, PrivacyLoss, PureLoss, Repeated, ZcdpLoss
from privet.testing.law import law_of
from privet.testing.same import copied, memory_of, same_value

_SLACK = 2e-3  # of a delta: two ways to add up one price
_TINY = 1e-14  # rounding, where a delta is nearly 0
_EPSILONS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)  # where two ways to add up one price are compared

Path = tuple[Together, ...]

# prices of a whole that say one number, in which parts of any kind add up whatever was seen before
_WHOLES: dict[type[PrivacyLoss], Callable[[PrivacyLoss], float]] = {
    PureLoss: lambda loss: loss.pure(),
    ZcdpLoss: lambda loss: loss.zcdp().rho if loss.zcdp().delta0 == 0.0 else math.inf,
    GdpLoss: lambda loss: loss.gdp(),
}


@law_of("mechanism")
def check_parts_are_the_price(example: Example) -> None:
    """The losses of the parts that a run releases, put together, are the declared loss: not more, and not less unless the
    algorithm says that it may stop early (`at_most`).

    Parts inside `_priced` are put together by its rule, the others by composition. Two runs, one on each input. Where a
    run may stop early and the price is one number (epsilon, rho or mu of the whole), parts are chosen with earlier ones in
    sight, and must add up to at most that number: a privacy curve of what one run happened to release says too little.

    >>> from privet.mechanisms import Laplace
    >>> check_parts_are_the_price(next(iter(Laplace.examples())))
    """
    algorithm: Any = example.mechanism
    if not isinstance(algorithm, Algorithm):
        return
    for value in (example.left, example.right):
        parts: list[tuple[PrivacyLoss, Path]] = []
        _watched(algorithm, value, parts)
        assert parts or algorithm.at_most, f"{algorithm.name}: no part was released through a mechanism"
        try:
            found = _folded(parts, ())
        except PrivetError as problem:
            raise AssertionError(f"{algorithm.name}: the parts have no common price: {problem}") from None
        _compare(algorithm, found, algorithm.at_most)


def _folded(parts: Sequence[tuple[PrivacyLoss, Path]], above: Path) -> PrivacyLoss:
    """One price: parts of one group by its rule, everything at this level by composition."""
    level = len(above)
    losses: list[PrivacyLoss] = []
    groups: dict[int, tuple[Together, list[tuple[PrivacyLoss, Path]]]] = {}
    for loss, path in parts:
        if len(path) == level:
            losses.append(loss)
        else:
            groups.setdefault(id(path[level]), (path[level], []))[1].append((loss, path))
    for group, inside in groups.values():
        direct = [loss for loss, path in inside if len(path) == level + 1]
        deeper = [(loss, path) for loss, path in inside if len(path) > level + 1]
        losses.append(group.rule([*direct, *([_folded(deeper, (*above, group))] if deeper else [])]))
    return Composed(losses)


def _compare(algorithm: Any, found: PrivacyLoss, at_most: bool) -> None:
    """A comparison that leaves out what both have in common; the rest must cost the same, or with `at_most` no more."""
    declared = algorithm.loss
    assert found.unit == declared.unit, f"{algorithm.name}: its parts speak about {found.unit.describe()}"
    if at_most and type(declared) in _WHOLES:
        measure = _WHOLES[type(declared)]
        spent_of_it, whole = measure(found), measure(declared)
        assert spent_of_it <= whole, (
            f"{algorithm.name}: its parts add up to {spent_of_it:g}, more than the whole, {whole:g}"
        )
        return
    ran, charged = (Counter(dict(loss.parts())) for loss in (Composed((found,)), Composed((declared,))))
    more, less = ran - charged, charged - ran
    told = f"runs {_named(more)} where {_named(less)} is charged"
    assert less or not more, f"{algorithm.name}: a part is not charged: it {told}"
    assert more or not less or at_most, f"{algorithm.name}: more is charged than runs: it {told}"
    if not more or not less:
        return
    spent, stated = (Composed([Repeated(loss, times) for loss, times in rest.items()]) for rest in (more, less))
    for epsilon in _EPSILONS:
        a, b = (accounting.delta(loss, epsilon=epsilon).upper for loss in (spent, stated))
        assert a <= b * (1.0 + _SLACK) + _TINY, f"{algorithm.name}: a part is not charged in full: it {told}"
        if not at_most:
            assert b <= a * (1.0 + _SLACK) + _TINY, f"{algorithm.name}: more is charged than runs: it {told}"


def _named(rest: "Counter[PrivacyLoss]") -> str:
    return " and ".join(f"{times} x {loss.describe()}" for loss, times in rest.items()) or "nothing"


@law_of("mechanism")
def check_blocks_are_their_prices(example: Example) -> None:
    """Each block of a `BlockAlgorithm` releases what the list of its blocks says: slices of a run are paid one by one, and
    a block that borrows from the next would be drawn unpaid where the run stops in between.

    >>> from privet.mechanisms import Laplace
    >>> check_blocks_are_their_prices(next(iter(Laplace.examples())))
    """
    algorithm: Any = example.mechanism
    if not isinstance(algorithm, BlockAlgorithm):
        return
    state = algorithm._first()
    for index in range(len(algorithm.blocks)):
        block = algorithm.block(index, state)
        parts: list[tuple[PrivacyLoss, Path]] = []
        state = _watched(block, example.left, parts).value
        _compare(block, _folded(parts, ()), algorithm.at_most)


@law_of("mechanism")
def check_states_are_left_alone(example: Example) -> None:
    """A block of a `BlockAlgorithm` changes no state in place and remembers nothing beside it: from a state that was kept
    it goes on as it did the first time, given the same coins.

    >>> from privet.mechanisms import Laplace
    >>> check_states_are_left_alone(next(iter(Laplace.examples())))
    """
    algorithm: Any = example.mechanism
    if not isinstance(algorithm, BlockAlgorithm):
        return
    states = [algorithm._first()]
    kept = copy.deepcopy(states)
    for index in range(len(algorithm.blocks)):
        states.append(algorithm.block(index, states[-1]).release(example.left, source=Seeded(index)).value)
        kept.append(copy.deepcopy(states[-1]))
    for index in reversed(range(len(algorithm.blocks))):
        again = algorithm.block(index, kept[index]).release(example.left, source=Seeded(index)).value
        assert same_value(states[index], kept[index]), f"{algorithm.name}: a block changes the state that it is given"
        assert same_value(again, kept[index + 1]), f"{algorithm.name}: block {index} depends on more than its state"


# --- coins -------------------------------------------------------------------------------------------------------------

_INSIDE: ContextVar[bool] = ContextVar("privet_inside", default=False)


@law_of("mechanism")
def check_no_coin_of_its_own(example: Example) -> None:
    """Between its parts an algorithm draws from no source of noise, given or secure, except for declared coins.

    >>> from privet.mechanisms import Laplace
    >>> check_no_coin_of_its_own(next(iter(Laplace.examples())))
    """
    algorithm: Any = example.mechanism
    if not isinstance(algorithm, Algorithm):
        return
    drawn: list[str] = []
    plain = Secure.stream

    def secure(self: Secure) -> Stream:
        if not _INSIDE.get():
            drawn.append("secure noise")
        return plain(self)

    with patch.object(Secure, "stream", secure):
        _watched(algorithm, example.left, [], _Listening(Seeded(5), drawn))
    assert not drawn, (
        f"{algorithm.name}: {len(drawn)} draws outside of any mechanism ({drawn[0]}); release through one, or declare "
        "them with _coins"
    )


class _Listening(Source):
    """A seeded source that notes when it is used outside of a part."""

    def __init__(self, inner: Seeded, drawn: list[str]) -> None:
        self._inner, self._drawn = inner, drawn

    def stream(self) -> Stream:
        if not _INSIDE.get():
            self._drawn.append("the source that it was given")
        return self._inner.stream()


class _Door:
    """Notes the price and the group of every part, and when a draw is inside of one."""

    def __init__(self, parts: list[tuple[PrivacyLoss, Path]]) -> None:
        self._parts, self._lock = parts, threading.Lock()

    def __call__(self, mechanism: Any, value: object, run: Callable[[], Release[Any]]) -> Release[Any]:
        if isinstance(mechanism, Algorithm):
            return run()
        with self._lock:
            self._parts.append((mechanism.loss, together()))
        with _inside():
            return run()

    def coins(self, what: str, draw: Callable[[Any], Any], source: object) -> Any:
        with _inside():
            return draw(source)


@contextmanager
def _inside() -> Iterator[None]:
    token = _INSIDE.set(True)
    try:
        yield
    finally:
        _INSIDE.reset(token)


def _watched(
    algorithm: Any, value: Any, parts: list[tuple[PrivacyLoss, Path]], source: Source | None = None
) -> Release[Any]:
    with observed(_Door(parts)):
        made: Release[Any] = algorithm.release(value, source=source)
    return made


# --- payment and replay ------------------------------------------------------------------------------------------------


@law_of("mechanism")
def check_paid_once(example: Example) -> None:
    """Inside `with ledger:` a run of an algorithm is one charge, of its own price, whatever its threads release.

    >>> from privet.mechanisms import Laplace
    >>> check_paid_once(next(iter(Laplace.examples())))
    """
    algorithm: Any = example.mechanism
    if not isinstance(algorithm, Algorithm):
        return
    ledger = Ledger.create("memory:", budget=Budget(epsilon=1e9, delta=0.5), unit=algorithm.unit)
    try:
        with ledger:
            algorithm.release(example.left)
    except PrivetError as refused:
        raise AssertionError(
            f"{algorithm.name}: a run was not paid as a whole ({type(refused).__name__}); are its parts in other threads?"
        ) from refused
    charges = [entry for entry in ledger.entries() if entry.kind == "reserve"]
    assert len(charges) == 1, (
        f"{algorithm.name}: one run was charged {len(charges)} times; are its parts in other threads?"
    )


@law_of("mechanism")
def check_replay_sees_nothing(example: Example) -> None:
    """With equal answers of its parts an algorithm cannot tell neighbours apart: a replay of its pair finds nothing, and
    leaves nothing in it. What follows from its parameters alone may be kept, as a `functools.cached_property`.

    >>> from privet.mechanisms import Laplace
    >>> check_replay_sees_nothing(next(iter(Laplace.examples())))
    """
    algorithm: Any = example.mechanism
    if not isinstance(algorithm, Algorithm):
        return
    own = copied(algorithm)
    found = replay(own.release, example.left, example.right, times=1)
    assert found.verdict == "not refuted", f"{algorithm.name}: {found}"
    before, after = memory_of(algorithm), memory_of(own)
    kept = [name for name in after if name not in before or differing(before[name], after[name])]
    assert not kept, f"{algorithm.name}: it keeps something of its runs: {', '.join(kept)}"

"""Record and replay: one pipeline on two neighbouring inputs with the same randomness.

In the first world every release is recorded. In the second, each release returns what the first world's returned, as
if the noise had happened to agree. A private pipeline cannot tell the worlds apart from there on: it must ask for the
same mechanisms in the same order, with inputs no further apart than their declared sensitivity, and end alike. Of parts
that are priced as disjoint blocks (`Parallel`) no more may get other inputs than that price covers.

A whole algorithm is looked through: it runs in both worlds, its parts are recorded and replayed one by one, and the coins
that it declares are the same in both.

Before that the first input is run against its own record. What differs there already (a clock, a counter, randomness that
is public) cannot be laid at the data's door: it is named, and not held against the pipeline. Public randomness may agree by
luck in one pair of runs and not in the next, so both inputs take turns until each has had `_CONFIRMED` runs, and only what
the first input never shows and the second always does is held against the pipeline. Whatever comes up with probability p
without regard to the input does that with probability at most (p (1 - p))^6 <= 4^-6.
"""

import copy
import hashlib
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from privet._calls import door
from privet._markup import Shown
from privet._validate import count
from privet.audit.observed import differing, text_of
from privet.audit.tape import Asked, Recorded, Replayed
from privet.audit.watch import Ending, run_watched
from privet.mechanisms import STREAM, Algorithm, Mechanism, Release, Sensitivity, observed
from privet.mechanisms.here import here
from privet.mechanisms.whole import together
from privet.noise import Seeded, uniform_int
from privet.privacy import Composed, Parallel, PrivacyLoss

Lane = tuple[int, ...]

_CONFIRMED = 6  # runs of either input against the record before it is said that the input makes the difference


def _lane() -> Lane:
    """Which piece of work runs here: () in the main one, numbers for work that was carried to other threads."""
    return here().lane


def _groups() -> tuple[Any, ...]:
    """The groups of parts, each with one price, that what is released here belongs to."""
    return here().together


@dataclass(frozen=True)
class Finding:
    """One difference between the worlds that no noise covers.

    >>> str(Finding("distance", 0, "laplace: inputs are 2 apart, declared 1"))
    'release 0: distance: laplace: inputs are 2 apart, declared 1'
    """

    kind: str
    release: int | None
    detail: str
    where: str = field(default="", compare=False)

    def __str__(self) -> str:
        place = "end" if self.release is None else f"release {self.release}"
        return f"{place}: {self.kind}: {self.detail}"

    @property
    def _place(self) -> "_Place":
        return self.kind, self.release, self.where


_Place = tuple[str, int | None, str]


def _beside(found: list[Finding], others: list[Finding]) -> list[Finding]:
    """Findings at other places than those."""
    places = {finding._place for finding in others}
    return [finding for finding in found if finding._place not in places]


@dataclass(frozen=True)
class Replay(Shown):
    """The outcome: how many releases were compared, and what differed.

    `refuted` means that the pipeline is not as private as its releases; no findings proves nothing beyond this pair and
    the noise of `times` records. `unstable` lists what differs already between two runs on the same input with the same
    noisy answers: a clock, a counter, public randomness. Such places are not judged; `notes` says what else was not
    followed. What a run leaves in files, variables of its module or other programs is not looked at: return it, and it is.
    """

    releases: int
    findings: tuple[Finding, ...]
    unstable: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    times: int = 1

    @property
    def refuted(self) -> bool:
        """True if anything differed that no noise covers."""
        return bool(self.findings)

    @property
    def verdict(self) -> str:
        """`violated`, `not refuted`, or that the pipeline depends on more than its input."""
        if self.refuted:
            return "violated"
        return "depends on more than its input" if self.unstable else "not refuted"

    def __str__(self) -> str:
        under = f"{self.times} record{'s' * (self.times > 1)} of their noise"
        lines = [f"{self.verdict}: {self.releases} releases compared under {under}", *map(str, self.findings)]
        lines += [f"not judged (differs on one input too): {finding}" for finding in self.unstable]
        return "\n".join([*lines, *self.notes])


@dataclass(frozen=True, eq=False)
class _Call:
    mechanism: Mechanism[Any, Any]
    value: Any
    release: Release[Any]


@door
def replay(
    pipeline: Callable[[Any], Any], left: object, right: object, *, times: int = 4, known: "Known | None" = None
) -> Replay:
    """Run `pipeline(left)`, then both inputs with the recorded releases; report every difference.

    What the pipeline hands to other threads it carries there: `pool.submit(mechanisms.carry(work), rows)`. Everything else
    may release nothing while this runs, so that nothing passes unseen. Every run gets its own copy of the input.

    Some mistakes show under some noise only (a loop that ends when the exact loss is small): up to `times` records are
    made, each three runs, until one shows a difference. A difference that ten further runs do not confirm was public
    randomness.

    `known(mechanism, value, run)` may answer in the place of a release, in each world by itself, and None leaves it to the
    record: with the exact number for a noisy one, a law sees whether this pair of inputs would show the mistake.

    >>> from privet import mechanisms
    >>> laplace = mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0)
    >>> replay(lambda rows: laplace.release(sum(rows)).value, [1.0, 1.0], [1.0]).refuted
    False
    >>> print(*replay(lambda rows: laplace.release(3 * sum(rows)).value, [1.0, 1.0], [1.0]).findings)
    release 0: distance: laplace: inputs are 3 apart, declared 1
    """
    most, unstable, notes = 0, dict[_Place, Finding](), set[str]()
    judged: list[Finding] = []
    for made in range(1, count("times", times, 1) + 1):  # noqa: B007 (how many were made is told)
        record = _Record(known)
        judged, own = record.compared(pipeline, left, right)
        unstable |= {finding._place: finding for finding in reversed(own)}
        judged = [finding for finding in judged if finding._place not in unstable]
        most, notes = max(most, record.most), notes | record.notes
        if judged:
            break
    said = ("the pipeline drew public randomness, read a clock or kept a state: see `unstable`",) if unstable else ()
    return Replay(most, tuple(judged), tuple(unstable.values()), (*said, *sorted(notes)), made)


class _Record:
    """The first world's releases, by the thread of work that asked for them and their order in it."""

    def __init__(self, known: "Known | None") -> None:
        self._known = known
        self._calls: dict[Lane, list[_Call]] = {}
        self._coins = int(uniform_int(bound=2**62))
        self._thrown: dict[Lane, list[str]] = {}
        self._thrown_first: dict[Lane, list[str]] = {}
        self.most = 0
        self.notes: set[str] = set()

    def compared(
        self, pipeline: Callable[[Any], Any], left: object, right: object
    ) -> tuple[list[Finding], list[Finding]]:
        """The differences that the second input shows in every run and the first in none, and all others that came up."""
        first = self.record(pipeline, left)
        own = self.against(pipeline, left, first)
        found = self.against(pipeline, right, first)
        for _ in range(_CONFIRMED - 1):
            if not (found := _beside(found, own)):
                break
            own += _beside(self.against(pipeline, left, first), own)
            own += _beside(found, self.against(pipeline, right, first))  # not every time: nothing that the input makes
        if first.exception is not None:
            name = first.exception.split(":")[0]
            self.notes.add(f"the pipeline ended with an error ({name}): nothing that comes after it was compared")
        return _beside(found, own), own

    def run(self, pipeline: Callable[[Any], Any], data: object, answer: "_Answer") -> Ending:
        with observed(_Watcher(answer, self._coins, self._thrown, self._known)) as watch:
            ending = run_watched(pipeline, _copied(data))
        if watch.refused:
            self.notes.add("a thread or task that was not carried by mechanisms.carry(f) was refused, and not compared")
        return ending

    def record(self, pipeline: Callable[[Any], Any], data: object) -> Ending:
        """The first world."""
        ending = self.run(pipeline, data, self._keep)
        self._thrown_first = self._thrown
        return ending

    def _keep(self, mechanism: Mechanism[Any, Any], value: object, run: Callable[[], Release[Any]]) -> Release[Any]:
        kept = _copied(value)
        made = run()
        if made.insecure:
            self.notes.add(
                "noise was drawn from a seed: whoever knows it takes the noise off, which is not judged here"
            )
        release = replace(made, insecure=True)  # a recorded release is known to the audit: it protects nobody
        if value is STREAM:
            release = replace(release, value=Recorded(release.value))
        self._calls.setdefault(_lane(), []).append(_Call(mechanism, kept, _own(release)))
        self.most += 1
        return release

    def against(self, pipeline: Callable[[Any], Any], data: object, first: Ending) -> list[Finding]:
        """The differences from the record when this input is given the recorded answers."""
        findings: list[Finding] = []
        asked: dict[Lane, int] = {}
        number = {  # how findings name a call: its place among all recorded ones, lane after lane
            at: i for i, at in enumerate((way, j) for way, calls in self._calls.items() for j in range(len(calls)))
        }

        def answer(mechanism: Mechanism[Any, Any], value: object, run: Callable[[], Release[Any]]) -> Release[Any]:
            way = _lane()
            here = asked[way] = asked.get(way, -1) + 1
            calls = self._calls.get(way, [])
            if here >= len(calls):
                place = len(number) + sum(max(0, n + 1 - len(self._calls.get(w, []))) for w, n in asked.items()) - 1
                findings.append(Finding("count of calls", place, f"{mechanism.name}: asked in the second world only"))
                return replace(run(), insecure=True)
            findings.extend(_differences(calls[here], mechanism, _copied(value), number[way, here]))
            if groups := together():
                moved = text_of(calls[here].value) != text_of(value)
                members.setdefault(groups[-1], []).append((mechanism.loss, moved))
            known = _own(calls[here].release)
            if isinstance(known.value, Recorded):
                opened.append(
                    (_again(known.value, mechanism, number[way, here], findings), number[way, here], known.value)
                )
                return replace(known, value=opened[-1][0])
            return known

        opened: list[tuple[Replayed, int, Recorded]] = []
        members: dict[Any, list[tuple[PrivacyLoss, bool]]] = {}
        self._thrown = {}
        ending = self.run(pipeline, data, answer)
        for way, calls in self._calls.items():
            done = asked.get(way, -1) + 1
            if done < len(calls):
                name = calls[done].mechanism.name
                findings.append(Finding("count of calls", number[way, done], f"{name}: asked in the first world only"))
        for stream, place, recorded in opened:
            if stream.asked < len(recorded.tape):
                findings.append(Finding("count of questions", place, "a stream is asked less in the second world"))
        self.most = max(self.most, sum(n + 1 for n in asked.values()))
        if self._thrown != self._thrown_first:
            findings.append(
                Finding("coins", None, "the worlds declare different coins, or throw them in another order")
            )
        findings += [finding for group, parts in members.items() for finding in _overlaps(group, parts)]
        return [*findings, *_endings(first, ending)]


_Answer = Callable[[Mechanism[Any, Any], Any, Callable[[], Release[Any]]], Release[Any]]
Known = Callable[[Mechanism[Any, Any], Any, Callable[[], Release[Any]]], Release[Any] | None]


class _Watcher:
    """Stands in the door: an algorithm passes, its parts are answered, its coins come from the audit."""

    def __init__(self, answer: _Answer, seed: int, thrown: dict[Lane, list[str]], known: Known | None) -> None:
        self._answer, self._seed, self._thrown, self._known = answer, seed, thrown, known

    def __call__(self, mechanism: Any, value: Any, run: Callable[[], Release[Any]]) -> Release[Any]:
        if isinstance(mechanism, Algorithm):
            return replace(run(), insecure=True)
        if self._known is not None and (made := self._known(mechanism, value, run)) is not None:
            return made
        return self._answer(mechanism, value, run)

    def coins(self, what: str, draw: Callable[[Any], Any], source: object) -> Any:
        """The same coins in every world, whatever source was given."""
        way = _lane()
        names = self._thrown.setdefault(way, [])
        names.append(what)
        text = repr((self._seed, way, len(names), what))
        return draw(Seeded(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")))


def _again(recorded: Recorded, mechanism: Any, here: int, findings: list[Finding]) -> Replayed:
    """A stream of the second world, whose questions may lie no farther from the first world's than is declared."""

    moved = Fraction(0)

    def compare(known: Asked | None, question: Any) -> None:
        nonlocal moved
        if known is None:
            findings.append(Finding("count of questions", here, "a stream is asked more, or in another way"))
            return
        if known.way == "add":  # a person's rows lie in few steps, whichever: they are added up over the whole stream
            before, most = moved, mechanism.max_rows * mechanism.unit.group_size
            most *= 2 if mechanism.unit.relation == "replace" else 1
            moved += abs(int(mechanism._prepare([known.question])[0]) - int(mechanism._prepare([question])[0]))
            if before <= most < moved:
                apart = f"counts are {moved} rows apart, declared {most}"
                findings.append(Finding("distance", here, f"{mechanism.name}: {apart}"))
            return
        call = _Call(mechanism, known.question, Release(None, mechanism.loss))
        findings.extend(_differences(call, mechanism, question, here))

    return Replayed(recorded, compare)


def _overlaps(group: Any, parts: list[tuple[PrivacyLoss, bool]]) -> list[Finding]:
    """Parts that are priced as disjoint blocks, and whose inputs moved in more of them than that price covers."""
    touched = [loss for loss, moved in parts if moved]
    if len(touched) < 2:
        return []
    try:
        price = group.rule([loss for loss, _ in parts])
    except Exception:  # a run that broke off leaves some of the parts, which no rule has to price: its end is compared
        return []
    if not isinstance(price, Parallel):
        return []
    (point, rho), (stated, most) = ((loss.approximate(), loss.zcdp()) for loss in (Composed(touched), price))
    if point.epsilon <= stated.epsilon < math.inf and point.delta <= stated.delta:
        return []
    if rho.rho <= most.rho < math.inf and rho.delta0 <= most.delta0:
        return []
    told = f"inputs moved in {len(touched)} disjoint blocks, and the price is that of one"
    return [Finding("blocks", None, told)]


def _copied(data: object) -> Any:
    """Its own copy for every run, where it can be copied: what a pipeline uses up is seen by no other run."""
    try:
        return copy.deepcopy(data)
    except Exception:
        return data


def _own(release: Release[Any]) -> Release[Any]:
    """The same release with a value of its own, which a pipeline may write into: a stream is what it is."""
    return release if isinstance(release.value, Recorded) else replace(release, value=_writable(release.value))


def _writable(value: Any) -> Any:
    """A copy of all but what equals itself alone: a pipeline may look up which of its candidates was chosen."""
    if type(value) in (list, tuple):
        return type(value)(map(_writable, value))
    if type(value) is dict:
        return {name: _writable(each) for name, each in value.items()}
    equals: Any = type(value).__eq__
    return value if equals is object.__eq__ else _copied(value)


def _differences(call: _Call, mechanism: Mechanism[Any, Any], value: object, here: int) -> list[Finding]:
    if mechanism.to_dict() != call.mechanism.to_dict():
        return [Finding("mechanism", here, f"{call.mechanism.name} became {mechanism.name}, or its parameters changed")]
    declared = getattr(mechanism, "sensitivity", None)
    if isinstance(declared, Sensitivity) and _numeric(call.value) and _numeric(value):
        left, right = (_form(side) for side in (call.value, value))
        if left != right:
            return [
                Finding("shape", here, f"{mechanism.name}: the input is {left} in one world and {right} in the other")
            ]
        distance = _distance(mechanism._measured_of(call.value), mechanism._measured_of(value), declared)
        if distance > declared.value:
            apart = f"{float(distance):.6g} apart, declared {float(declared.value):.6g}"
            return [Finding("distance", here, f"{mechanism.name}: inputs are {apart}")]
        return []
    rows = _rows(call.value), _rows(value)
    if rows[0] is None or rows[1] is None:
        return []
    if _records_apart(rows[0], rows[1], mechanism.unit.relation) > mechanism.unit.group_size:
        return [Finding("records", here, f"{mechanism.name}: the inputs differ in more records than one unit")]
    return []


def _distance(left: object, right: object, declared: Sensitivity) -> Fraction:
    """Exact in l1 and score; in l2 the square is compared, rounded to the declared value when it is not larger."""
    gaps = [abs(Fraction(a) - Fraction(b)) for a, b in zip(_items(left), _items(right), strict=True)]
    if declared.norm == "l1":
        return sum(gaps, Fraction(0))
    if declared.norm == "score":
        return max(gaps, default=Fraction(0))
    square = sum((gap * gap for gap in gaps), Fraction(0))
    return declared.value if square <= declared.value**2 else Fraction(float(square) ** 0.5)


def _records_apart(left: list[str], right: list[str], relation: str) -> int:
    """The number of records that must be added, removed or exchanged to get from one table to the other."""
    a, b = Counter(left), Counter(right)
    alone = (a - b).total(), (b - a).total()
    return sum(alone) if relation == "add_remove" else max(alone) if alone[0] == alone[1] else sum(alone)


def _rows(value: object) -> list[str] | None:
    """The records of a table as texts, missing ones included; None for what is no table."""
    if isinstance(value, np.ndarray) and value.ndim:
        return [text_of(row) for row in value]
    if isinstance(value, list | tuple):
        return [text_of(row) for row in value]
    if hasattr(value, "columns") and hasattr(value, "to_numpy"):  # a frame
        return [text_of(row) for row in value.to_numpy()]
    return None


def _endings(first: Ending, second: Ending) -> list[Finding]:
    found = []
    if first.exception != second.exception:
        found.append(Finding("exception", None, "the worlds end with different exceptions or messages"))
    lines = [ending.printed.splitlines() for ending in (first, second)]
    for j in range(max(map(len, lines))):
        if len(lines[0]) <= j or len(lines[1]) <= j or lines[0][j] != lines[1][j]:
            found.append(Finding("message", None, "the worlds print different text", f"line {j}"))
    if first.warned != second.warned:
        found.append(Finding("warning", None, "the worlds warn differently"))
    left, right = _form(first.result), _form(second.result)
    if left != right:
        found.append(Finding("shape", None, f"the result is {left} in one world and {right} in the other"))
    elif first.exception is None:
        told = "equal noisy answers, different results: something unprotected came through"
        places = differing(first.result, second.result) or ["result"] * (first.digest != second.digest)
        found += [Finding("branch", None, told, where) for where in places]
    return found


def _form(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}"
    if isinstance(value, tuple | list):
        return f"{type(value).__name__} of {len(value)}"
    return type(value).__name__


def _numeric(value: object) -> bool:
    try:
        made = np.asarray(value)
    except ValueError:  # ragged
        return False
    if made.dtype.kind != "O":
        return made.dtype.kind in "biuf"
    return all(isinstance(each, int | float | Fraction) for each in made.flat)  # sums that are exact


def _items(value: object) -> list[Any]:
    return list(np.asarray(value).reshape(-1).tolist())

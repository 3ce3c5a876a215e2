"""Record and replay: one pipeline on two neighbouring inputs with the same randomness.

In the first world every release is recorded. In the second, each release returns what the first world's returned, as
if the noise had happened to agree. A private pipeline cannot tell the worlds apart from there on: it must ask for the
same mechanisms in the same order, with inputs no further apart than their declared sensitivity, and end alike.
"""

import io
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from privet.mechanisms import Mechanism, Release, Sensitivity
from privet.mechanisms.base import STREAM, observed

__all__ = ["Finding", "Replay", "replay"]


@dataclass(frozen=True)
class Finding:
    """One difference between the worlds that no noise covers.

    >>> str(Finding("distance", 0, "laplace: inputs are 2 apart, declared 1"))
    'release 0: distance: laplace: inputs are 2 apart, declared 1'
    """

    kind: str
    release: int | None
    detail: str

    def __str__(self) -> str:
        place = "end" if self.release is None else f"release {self.release}"
        return f"{place}: {self.kind}: {self.detail}"


@dataclass(frozen=True)
class Replay:
    """The outcome: how many releases were compared, and what differed.

    `refuted` means that the pipeline is not as private as its releases; no findings proves nothing beyond this pair.
    """

    releases: int
    findings: tuple[Finding, ...]

    @property
    def refuted(self) -> bool:
        """Whether anything differed that no noise covers."""
        return bool(self.findings)


@dataclass(frozen=True, eq=False)
class _Call:
    mechanism: Mechanism[Any, Any]
    value: Any
    release: Release[Any]


@dataclass(frozen=True, eq=False)
class _Outcome:
    result: Any
    exception: str | None
    printed: str
    warned: tuple[str, ...]


def replay(pipeline: Callable[[Any], Any], left: Any, right: Any) -> Replay:
    """Run `pipeline(left)`, then `pipeline(right)` with the recorded releases; report every difference.

    >>> from privet import mechanisms
    >>> laplace = mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0)
    >>> replay(lambda rows: laplace.release(sum(rows)).value, [1.0, 1.0], [1.0]).refuted
    False
    >>> print(*replay(lambda rows: laplace.release(3 * sum(rows)).value, [1.0, 1.0], [1.0]).findings)
    release 0: distance: laplace: inputs are 3 apart, declared 1
    """
    calls: list[_Call] = []
    findings: list[Finding] = []

    def record(mechanism: Mechanism[Any, Any], value: Any, run: Callable[[], Release[Any]]) -> Release[Any]:
        if value is STREAM:  # an open stream answers later: there is nothing to record yet
            return run()
        release = replace(run(), insecure=True)  # a recorded release is known to the audit: it protects nobody
        calls.append(_Call(mechanism, value, release))
        return release

    place = 0

    def answer(mechanism: Mechanism[Any, Any], value: Any, run: Callable[[], Release[Any]]) -> Release[Any]:
        nonlocal place
        if value is STREAM:
            return run()
        here, place = place, place + 1
        if here >= len(calls):
            findings.append(Finding("count of calls", here, f"{mechanism.name}: asked in the second world only"))
            return replace(run(), insecure=True)
        found = _differences(calls[here], mechanism, value, here)
        findings.extend(found)
        return calls[here].release

    first = _run(pipeline, left, record)
    second = _run(pipeline, right, answer)
    if place < len(calls):
        findings.append(
            Finding("count of calls", place, f"{calls[place].mechanism.name}: asked in the first world only")
        )
    findings.extend(_endings(first, second))
    return Replay(max(place, len(calls)), tuple(findings))


def _run(pipeline: Callable[[Any], Any], data: Any, observer: Any) -> _Outcome:
    printed, exception, result = io.StringIO(), None, None
    with warnings.catch_warnings(record=True) as caught, observed(observer):
        warnings.simplefilter("always")
        with redirect_stdout(printed), redirect_stderr(printed):
            try:
                result = pipeline(data)
            except Exception as problem:
                exception = f"{type(problem).__name__}: {problem}"
    warned = tuple(f"{w.category.__name__}: {w.message}" for w in caught)
    return _Outcome(result, exception, printed.getvalue(), warned)


def _differences(call: _Call, mechanism: Mechanism[Any, Any], value: Any, here: int) -> list[Finding]:
    if mechanism.to_dict() != call.mechanism.to_dict():
        return [Finding("mechanism", here, f"{call.mechanism.name} became {mechanism.name}, or its parameters changed")]
    left, right = (_form(side) for side in (call.value, value))
    found = []
    declared = getattr(mechanism, "sensitivity", None)
    if isinstance(declared, Sensitivity) and _numeric(value):
        if left != right:
            return [
                Finding("shape", here, f"{mechanism.name}: the input is {left} in one world and {right} in the other")
            ]
        distance = _distance(call.value, value, declared)
        if distance > declared.value:
            found.append(
                Finding(
                    "distance",
                    here,
                    f"{mechanism.name}: inputs are {float(distance):.6g} apart, declared {float(declared.value):.6g}",
                )
            )
    elif _numeric(value) and _records_apart(call.value, value, mechanism.unit.relation) > mechanism.unit.group_size:
        found.append(Finding("records", here, f"{mechanism.name}: the inputs differ in more records than one unit"))
    return found


def _distance(left: Any, right: Any, declared: Sensitivity) -> Fraction:
    """Exact in l1 and score; in l2 the square is compared, rounded to the declared value when it is not larger."""
    gaps = [abs(Fraction(a) - Fraction(b)) for a, b in zip(_items(left), _items(right), strict=True)]
    if declared.norm == "l1":
        return sum(gaps, Fraction(0))
    if declared.norm == "score":
        return max(gaps, default=Fraction(0))
    square = sum((gap * gap for gap in gaps), Fraction(0))
    return declared.value if square <= declared.value**2 else Fraction(float(square) ** 0.5)


def _records_apart(left: Any, right: Any, relation: str) -> int:
    """How many records must be added, removed or exchanged to get from one table to the other."""
    a, b = (Counter(map(repr, _items(side))) for side in (left, right))
    alone = (a - b).total(), (b - a).total()
    return sum(alone) if relation == "add_remove" else max(alone) if alone[0] == alone[1] else sum(alone)


def _endings(first: _Outcome, second: _Outcome) -> list[Finding]:
    found = []
    if first.exception != second.exception:
        found.append(Finding("exception", None, "the worlds end with different exceptions or messages"))
    if first.printed != second.printed:
        found.append(Finding("message", None, "the worlds print different text"))
    if first.warned != second.warned:
        found.append(Finding("warning", None, "the worlds warn differently"))
    left, right = _form(first.result), _form(second.result)
    if left != right:
        found.append(Finding("shape", None, f"the result is {left} in one world and {right} in the other"))
    elif first.exception is None and not _same(first.result, second.result):
        found.append(
            Finding("branch", None, "equal noisy answers, different results: something unprotected came through")
        )
    return found


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, Release) and isinstance(right, Release):
        return _same(left.value, right.value)
    if isinstance(left, np.ndarray):
        return left.tobytes() == np.asarray(right).tobytes()
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, tuple | list):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right)


def _form(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}"
    if isinstance(value, tuple | list):
        return f"{type(value).__name__} of {len(value)}"
    return type(value).__name__


def _numeric(value: Any) -> bool:
    return np.asarray(value).dtype.kind in "biuf"


def _items(value: Any) -> list[Any]:
    return list(np.asarray(value).reshape(-1).tolist())

"""Sequences of calls of a ledger, what an analyst sees of them, and ledgers that look at data where they must not."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from typing import Any

import numpy as np

import privet as pv
from privet.errors import KeyConflict, PrivetError
from privet.ledger import verify_export
from privet.mechanisms import Release
from privet.privacy import PureLoss
from privet.report import ledger_csv, ledger_log, ledger_status

Rows = list[int]

# What is handed in is mostly derived from the rows, by a question that the ledger does not see.
QUESTIONS: tuple[Callable[[Rows], Any], ...] = (
    lambda rows: rows,
    lambda rows: sum(row >= 2 for row in rows),
    lambda rows: sum(row >= 3 for row in rows),
    lambda rows: [row for row in rows if row >= 2],
    lambda rows: np.array(rows),
    lambda rows: (row for row in rows),
    lambda rows: frozenset(rows),
    lambda rows: {"rows": len(rows)},
)
COUNTS = QUESTIONS[1:3]  # what a mechanism of sensitivity 1 may be run on


@dataclass(frozen=True)
class Blind:
    """Fixed coins: its answers follow from how many it has given, so that two worlds differ in nothing that is released."""

    draws: Any
    label: str = "a"
    fails: bool = False

    @property
    def loss(self) -> PureLoss:
        return PureLoss(0.05)

    def to_dict(self) -> dict[str, Any]:
        return {"mechanism": "blind", "label": self.label}

    def release(self, data: Any) -> Release[Any]:
        if self.fails:
            raise ValueError(f"the data are {data}")
        return Release(next(self.draws), loss=self.loss, mechanism="blind")


@cache
def noisy_count(epsilon: float) -> pv.mechanisms.Laplace:
    return pv.mechanisms.Laplace.for_budget(epsilon=epsilon, sensitivity=1.0)


@dataclass(frozen=True)
class Call:
    """One call; what a kind of call does not need of this, it leaves."""

    do: str
    label: str = "a"
    question: int = 0
    key: str | None = None
    about: str | None = None
    analyst: str | None = None
    part: str | None = None

    @property
    def asked(self) -> dict[str, Any]:
        return {"key": self.key, "about": self.about, "analyst": self.analyst, "part": self.part}


@dataclass
class Walk:
    """A ledger on the rows of one world, the runs that were started, and what was seen."""

    ledger: pv.Ledger
    rows: Rows
    real: bool = False
    runs: dict[Any, Any] = field(default_factory=dict)
    draws: Any = field(default_factory=count)

    def mechanism(self, call: Call) -> Any:
        if self.real:
            return noisy_count(0.05 if call.label == "a" else 0.0625)
        return Blind(self.draws, call.label)

    def data(self, call: Call) -> Any:
        asked = COUNTS[call.question % len(COUNTS)] if self.real else QUESTIONS[call.question % len(QUESTIONS)]
        return asked(self.rows)

    # --- the calls --------------------------------------------------------------------------------------------------

    def release(self, call: Call) -> Any:
        return _told(self.ledger.release(self.mechanism(call), self.data(call), **call.asked))

    def fail(self, call: Call) -> Any:
        return _told(self.ledger.release(Blind(self.draws, call.label, fails=True), self.data(call), **call.asked))

    def record(self, call: Call) -> Any:
        mechanism = self.mechanism(call)
        paid = self.ledger.reserve(mechanism.loss, **call.asked)
        return _told(paid.release or paid.record(mechanism.release(self.data(call))))

    def preview(self, call: Call) -> Any:
        return str(self.ledger.preview(self.mechanism(call), analyst=call.analyst, part=call.part))

    def start(self, call: Call) -> Any:
        slices = [self.mechanism(call).loss] * 3
        made = self.ledger.start(slices, **{**call.asked, "key": call.key or "run"})
        self.runs[call.key] = made
        return [made.seq, None if made.release is None else _told(made.release)]

    def slice(self, call: Call) -> Any:
        begun = self.runs[call.key].begin()
        return [begun.index, begun.seq, _told(begun.release(self.mechanism(call), self.data(call)))]

    def repeat(self, call: Call) -> Any:
        self.runs[call.key].repeat(1 + call.question % 2)
        return self.runs[call.key].position

    def member(self, call: Call) -> Any:
        self.ledger.add_analyst(call.analyst or "bob", budget=pv.Budget(0.2))
        return list(self.ledger.accounts())

    def suspend(self, call: Call) -> Any:
        self.ledger.suspend(analyst=call.analyst or "bob", reason="on leave")

    def raise_budget(self, call: Call) -> Any:
        return self.ledger.raise_budget(pv.Budget(2.0), reason="decided").describe()

    def close(self, call: Call) -> Any:
        if call.question % 4 == 0:  # seldom: little happens after it
            self.ledger.close_dataset("ended")

    def verify(self, call: Call) -> Any:
        whole = (self.ledger.verify(), verify_export(self.ledger.export()))
        return [(each.entries, each.orphans, each.underpriced) for each in whole]

    def report(self, call: Call) -> Any:
        status = ledger_status(self.ledger)
        return [str(self.ledger.spent), str(self.ledger.remaining), str(status), ledger_csv(ledger_log(self.ledger))]

    def history(self, call: Call) -> Any:
        events = [
            (e.seq, e.kind, e.key, e.analyst, e.about, e.recorded, e.slices, e.begun) for e in self.ledger.history()
        ]
        return [events, [str(self.ledger.explain(1 + i)) for i in range(self.ledger.length)]]

    def total(self, call: Call) -> Any:
        return str(self.ledger.total(delta=0.0))


NO_CALLS = ("mechanism", "data")
CALLS = tuple(name for name, each in vars(Walk).items() if callable(each) and name[0] != "_" and name not in NO_CALLS)


def _told(release: Release[Any]) -> Any:
    return [release.to_json(), release.stored, release.insecure]


def transcript(kind: type[pv.Ledger], script: tuple[Call, ...], rows: Rows, *, real: bool = False) -> list[Any]:
    """Everything that is seen of a script: after each call its answer or error and the entries that it added, at the end
    all of them. Without what names a ledger or a moment: its random number, times and the hashes over both.
    """
    ledger = kind.create("memory:", budget=pv.Budget(1.0), dataset="visits")
    ledger.open_partition("ward", ["A", "B"])
    walk, seen, known = Walk(ledger, rows, real), list[Any](), 0
    for call in script:
        try:
            answer = getattr(walk, call.do)(call)
        except Exception as error:
            answer = [type(error).__name__, str(error), repr(error.__cause__), repr(error.__context__)]
        entries = ledger.entries()
        seen.append([call.do, answer, [_entry(entry) for entry in entries[known:]]])
        known = len(entries)
    seen.append(["end", None, [_entry(entry) for entry in ledger.entries()]])
    text = json.dumps(seen, default=str).replace(ledger.policy.ledger, "id")
    return _timeless(json.loads(text))


def _entry(entry: Any) -> Any:
    return [entry.seq, entry.kind, entry.analyst, entry.key, entry.loss, entry.charged, entry.facts]


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _timeless(each) for name, each in value.items() if name not in ("time", "hash")}
    if isinstance(value, list):
        return [_timeless(each) for each in value]
    lines = value.splitlines() if isinstance(value, str) else []
    return value if len(lines) < 2 else [_words(line) for line in lines]


def _words(line: str) -> str:
    """A line of a report without its moments and hashes."""
    if line.startswith(("time ", "hash ")):
        return line.split()[0]
    return ",".join("moment" if each[:2] == "20" and "T" in each else each for each in line.split(","))


# --- ledgers that look ---------------------------------------------------------------------------------------------


def digest(data: Any) -> str:
    plain = data.tolist() if isinstance(data, np.ndarray) else data
    return hashlib.sha256(repr(list(plain) if hasattr(plain, "__next__") else plain).encode()).hexdigest()


class ComparesData(pv.Ledger):
    """Refuses a used key that comes with other data."""

    def release(self, mechanism: Any, data: Any = None, **asked: Any) -> Any:
        seen = vars(self).setdefault("_digests", {})
        key = (asked.get("analyst"), asked.get("key"))
        if key[1] is not None and seen.setdefault(key, digest(data)) != digest(data):
            raise KeyConflict("the key was used before with other data", key=key[1])
        return super().release(mechanism, data, **asked)


class PaysForOtherData(pv.Ledger):
    """Takes other data under a used key for another request."""

    def release(self, mechanism: Any, data: Any = None, **asked: Any) -> Any:
        if asked.get("key") is not None:
            asked["key"] = f"{asked['key']} {digest(data)[:8]}"
        return super().release(mechanism, data, **asked)


class WritesADigest(pv.Ledger):
    """Keeps a hash of the data in the entry."""

    def release(self, mechanism: Any, data: Any = None, **asked: Any) -> Any:
        return super().release(mechanism, data, **{**asked, "purpose": digest(data)})


class TellsWhy(pv.Ledger):
    """Says why a release failed."""

    def release(self, mechanism: Any, data: Any = None, **asked: Any) -> Any:
        try:
            return super().release(mechanism, data, **asked)
        except pv.errors.ReleaseFailed as error:
            raise PrivetError(f"failed on {digest(data)}") from error


class NothingForNothing(pv.Ledger):
    """Does not charge for a request on nobody."""

    def release(self, mechanism: Any, data: Any = None, **asked: Any) -> Any:
        if isinstance(data, int | list) and not data:
            return Release(0, loss=mechanism.loss, mechanism="blind")
        return super().release(mechanism, data, **asked)


class LooksFirst(pv.Ledger):
    """Runs the mechanism before it pays, and does not pay where that fails."""

    def release(self, mechanism: Any, data: Any = None, **asked: Any) -> Any:
        if isinstance(data, int) and data < 1:
            raise PrivetError("there is nobody to count; nothing was spent")
        return super().release(mechanism, data, **asked)


TWINS = (ComparesData, PaysForOtherData, WritesADigest, TellsWhy, NothingForNothing, LooksFirst)

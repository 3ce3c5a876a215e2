"""A run: paid once for a public list of slices, each marked durably before it touches data, and never twice.

The mark is an entry. Whoever calls `begin`, a copy of the run, a forked child or a process that was started again, gets the
next slice of the list; the one before stays begun, whether or not it was finished. A slice that must run again, because
the work was restored from before it, is paid again (`repeat`).
"""

import hashlib
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from privet._validate import count
from privet.errors import InvalidParameter, KeyConflict, LedgerError, PrivetError
from privet.ledger.charging import charge
from privet.ledger.entry import Entry, canonical
from privet.ledger.policy import Policy
from privet.ledger.requests import Asked, Reservation, priced, same_request, stored_release
from privet.ledger.running import Within, check_input, opened_stream, payment_of, run as run_paid, run_unwritten
from privet.ledger.session import SOFTWARE, Said, Session, check_hash
from privet.ledger.slices import Mark, Slices, slice_key, written_slices
from privet.mechanisms import STREAM, Release
from privet.mechanisms.blocks import composed
from privet.mechanisms.payment import Payer
from privet.privacy import PrivacyLoss, to_json


class NoneLeft(LedgerError):
    """Every slice of a run was begun."""


class Slice(Payer):
    """One slice of a run, marked as begun. What it may release is its loss, once, in this process.

    - `slice.release(mechanism, data)`: draw, record under the slice, return.
    - `with slice:` every release inside is a part of the slice's loss; streams too. Nothing is recorded.
    - Neither: the work draws its own noise, and the mark is what was needed.

    **Guarantee:** nothing is drawn that the slice does not pay for; a forked or pickled slice is refused.

    >>> import privet as pv
    >>> laplace = pv.mechanisms.Laplace.for_budget(epsilon=0.1, sensitivity=1.0)
    >>> run = pv.Ledger.create("memory:", budget=pv.Budget(1.0)).start([laplace.loss] * 3)
    >>> slice = run.begin()
    >>> slice.index, slice.release(laplace, 42).paid["entry"]
    (0, 3)
    """

    def __init__(self, run: "Run", index: int, seq: int, loss: PrivacyLoss) -> None:
        self.run, self.index, self.seq, self.loss = run, index, seq, loss
        self._left = dict(loss.parts())
        self._pid, self._lock = os.getpid(), threading.Lock()

    @property
    def charged(self) -> "Payer | None":
        """The ledger of the run."""
        ledger: Payer | None = self.run.ledger
        return ledger

    def __repr__(self) -> str:
        return f"<slice {self.index} of {len(self.run.slices)}, entry {self.seq}>"

    def __copy__(self) -> "Slice":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Slice":
        return self

    def __reduce__(self) -> NoReturn:
        raise LedgerError("a slice that has begun cannot be pickled: a copy would run it a second time")

    def _take(self, loss: PrivacyLoss, *, all_of_it: bool = False) -> None:
        """Draw a loss from what the slice pays for, or refuse before anything is drawn."""
        if os.getpid() != self._pid:
            raise LedgerError("this slice was begun by another process, which may run it; begin the next one instead")
        with self._lock:
            wanted = dict(loss.parts())
            whole = wanted == self._left or not all_of_it
            if not whole or any(self._left.get(part, 0) < times for part, times in wanted.items()):
                raise LedgerError(
                    f"slice {self.index} pays for {self.loss.describe()}, once; this release is not a part of what is left "
                    "of it. Nothing was drawn"
                )
            for part, times in wanted.items():
                self._left[part] -= times

    def release(self, mechanism: object, data: object) -> "Release[Any]":
        """Draw the whole of the slice with one mechanism, record it and return it."""
        try:
            ledger = self.run.ledger
            check_input(mechanism, data)
            loss = priced(mechanism, durable=ledger._store.durable)
            self._take(loss, all_of_it=True)
            return self._keep(*run_paid(mechanism, data, self._reservation(loss)))
        finally:
            del mechanism, data

    def draw(self, mechanism: Any, data: Any) -> "Release[Any]":
        """Draw the whole of the slice with one mechanism and return it. Nothing is recorded: its owner keeps it."""
        try:
            check_input(mechanism, data)
            self._take(mechanism.loss, all_of_it=True)
            return run_unwritten(mechanism, data, self._reservation(mechanism.loss))
        finally:
            del mechanism, data

    def record(self, release: "Release[Any]") -> "Release[Any]":
        """Keep a release that was made inside of `with slice:`, or by hand, for the whole of the slice. The first wins."""
        if not isinstance(release, Release) or release.loss.parts() != self.loss.parts():
            raise LedgerError("a slice records a Release with its own loss; this one is not recorded")
        return self._keep(release, *release.kept())

    def _reservation(self, loss: PrivacyLoss) -> Reservation:
        name = slice_key(self.run.key, self.seq)
        return Reservation(self.seq, loss, self.run.analyst, name, None, None, self.run.request, self.run.ledger)

    def _keep(self, made: "Release[Any]", text: str, raw: bytes | None) -> "Release[Any]":
        check_paid(self.run, self.seq, "slice")
        kept: Release[Any] = self.run.ledger._record(self._reservation(self.loss), made, text, raw, known=True)
        return kept

    def pay_for(self, mechanism: Any, value: object, run: object, source: object = None) -> "Release[Any]":
        """The payment by `with slice:` for every release inside it."""
        try:
            if value is not STREAM:
                check_input(mechanism, value)
            ledger = self.run.ledger
            if ledger._store.durable and source is not None and bool(getattr(source, "insecure", True)):
                raise LedgerError("seeded noise protects nobody: a slice of a durable run does not pay for it")
            self._take(mechanism.loss)
            paid = self._reservation(mechanism.loss)
            within = Within(mechanism, run, source)
            return opened_stream(within, paid) if value is STREAM else run_unwritten(within, value, paid)
        finally:
            del value, run


@dataclass(frozen=True)
class Run:
    """A run of slices that is paid for. `begin` marks the next slice; `for slice in run` begins them one by one.

    `Ledger.start` with the same key and the same slices goes on with it, free of charge, wherever it was left.

    **Guarantee:** no slice is begun twice on one payment, in whatever copy, thread, process or restart.
    **Reference:** docs/proofs/ledger/runs.

    >>> import privet as pv
    >>> ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    >>> run = ledger.start([pv.privacy.PureLoss(0.1)] * 4, key="training")
    >>> [run.begin().index, run.begin().index], ledger.spent["basic epsilon"]
    ([0, 1], 0.4)
    >>> again = ledger.start([pv.privacy.PureLoss(0.1)] * 4, key="training")
    >>> again.begin().index, ledger.spent["basic epsilon"]
    (2, 0.4)
    """

    ledger: Any
    slices: Slices = field(repr=False)
    key: str
    seq: int
    request: str
    analyst: str | None = None
    at: float | None = None
    purpose: str | None = None
    part: Any = None
    about: str | None = None
    release: "Release[Any] | None" = None
    hint: float | None = None

    def begin(self) -> Slice:
        """Mark the next slice as begun, durably, and return it. Where none is left, or the run has ended, this raises."""
        with self.ledger._writing() as session:
            _, mark = self._mark(session)
            if mark.next >= len(self.slices):
                raise NoneLeft("every slice of this run was begun; what must run again is paid again: run.repeat(n)")
            after = mark.begun()
            entry = session.append(
                "slice",
                analyst=self.analyst or "",
                key=self.key,
                request=self.request,
                run=after.facts(),
                slice=str(mark.next),
                paid=str(mark.payer),
                software=SOFTWARE,  # and no time: how long a slice takes may depend on data
            )
        return Slice(self, mark.next, entry.seq, self.slices[mark.next])

    def __iter__(self) -> Iterator[Slice]:
        while self.release is None:
            try:
                slice = self.begin()
            except NoneLeft:
                return
            yield slice

    @property
    def position(self) -> int:
        """The number of slices of the list that lie behind the mark."""
        with self.ledger._writing(durable=False) as session:
            return self._state(session).next

    def repeat(self, times: int) -> None:
        """Pay again for the last `times` slices that were begun, and put the mark before them: for work that was restored
        from a checkpoint which is older than the mark.
        """
        times = count("times", times, 1)
        asked = Asked.of(self.analyst, self.purpose, self.key, self.part, at=self.at, about=self.about)
        asked = asked._replace(hint=self.hint)
        with self.ledger._writing() as session:
            policy, mark = self._mark(session)
            if times > mark.next:
                raise InvalidParameter("only slices that were begun can be repeated")
            loss = composed(self.slices[mark.next - times : mark.next])
            after = mark.repeated(times, session.head.seq + 1)
            _pay(session, policy, loss, asked, self.request, after.facts())

    def record(self, release: "Release[Any]") -> "Release[Any]":
        """Store what the whole run has released, and end it: the same key is answered with it from now on."""
        if not isinstance(release, Release) or release.loss.parts() != composed(self.slices).parts():
            raise LedgerError("a run records a Release whose loss is the composition of its slices")
        paid = Reservation(self.seq, release.loss, self.analyst, self.key, None, None, self.request, self.ledger)
        check_paid(self, self.seq, "reserve")
        stamped = replace(release, paid=payment_of(paid))
        kept: Release[Any] = self.ledger._record(paid, stamped, *stamped.kept(), known=True)
        return kept

    def _state(self, session: Session) -> Mark:
        found = session.txn.find(self.analyst or "", self.key)
        if found is None:
            raise LedgerError("this run is not in the ledger")
        if found.kind == "release":
            raise LedgerError("this run has ended: its release is recorded")
        return mark_of(found, self.request)

    def _mark(self, session: Session) -> tuple[Policy, Mark]:
        """The mark, where slices may be begun: not in a closed or moved ledger, nor for an analyst who was suspended."""
        policy = session.policy
        assert policy is not None
        if policy.closed is not None:
            raise LedgerError(f"the data set {policy.dataset!r} is closed: {policy.closed}")
        policy.scopes(self.analyst or "")
        found = session.txn.find(self.analyst or "", self.key)
        if found is not None:
            refuse_restored(policy, found)
        return policy, self._state(session)


def refuse_restored(policy: Policy, last: Entry) -> None:
    """A backup may lack marks that were written after it: slices that it lists as new have perhaps run already."""
    if last.seq < policy.restored and last.kind != "release":
        raise LedgerError(
            "this run was paid for before the ledger was restored from a backup, and which of its slices were begun since "
            "is unknown; nothing was begun. Start it under a new key, which is paid for anew"
        )


def check_paid(run: Run, seq: int, kind: str) -> None:
    """A check that what is recorded was paid for by an entry of this run."""
    entry = run.ledger._store.entry(seq)
    if entry is None or (entry.kind, entry.analyst, entry.key) != (kind, run.analyst or "", run.key):
        raise LedgerError("this run is not in the ledger; nothing is recorded")


def mark_of(entry: Entry, request: str) -> Mark:
    """The mark that an entry of a run carries."""
    check_hash(entry)
    facts = entry.facts
    if facts.get("request") != request or "run" not in facts:
        raise KeyConflict(f"the key {entry.key!r} was used before for another request; choose a new key", key=entry.key)
    return Mark.read(facts["run"])


def start_in(
    session: Session,
    slices: Slices,
    asked: Asked,
    ledger: object,
    problem: PrivetError | None = None,
    unless_begun: PrivetError | None = None,
) -> Run:
    """Within a transaction: go on with the run under this key, or pay for a new one. `problem`: data that cannot be taken,
    which no longer matter where the result is stored. `unless_begun`: why a new run cannot be paid for.
    """
    policy = session.policy
    key = asked.key
    assert policy is not None
    assert key is not None
    listed = written_slices(slices)
    whole = composed(slices)
    asked = asked._replace(what=["run", listed] if asked.what is None else ["run", listed, asked.what])
    part = policy.part(asked.part)
    request = asked.digest(whole, part)
    found = session.txn.find(asked.analyst, key)
    who = asked.analyst or None
    run = Run(ledger, slices, key, 0, request, who, asked.at, asked.purpose, part, asked.about, hint=asked.hint)
    if found is not None and found.kind == "release":
        check_hash(found)
        same_request(found.facts, request, asked)
        return replace(run, seq=int(found.facts["reserve"]), release=stored_release(found))
    if problem is not None:
        raise problem
    if found is not None:
        same_request(found.facts, request, asked)
        refuse_restored(policy, found)
        return replace(run, seq=mark_of(found, request).id)
    if unless_begun is not None:
        raise unless_begun
    if policy.closed is not None:
        raise LedgerError(f"the data set {policy.dataset!r} is closed: {policy.closed}")
    seq = session.head.seq + 1 if session.head is not None else 1
    mark = Mark(seq, 0, ((seq, len(slices)),))
    _pay(session, policy, whole, asked, request, {**mark.facts(), "slices": listed})
    return replace(run, seq=seq)


def _pay(
    session: Session, policy: Policy, loss: PrivacyLoss, asked: Asked, request: str, state: dict[str, Any]
) -> None:
    part = policy.part(asked.part)
    made = charge(policy, session.sums, loss, analyst=asked.analyst, part=part, ats=asked.ats(loss))
    where = None if part is None else (part.partition, part.name)
    said = Said(policy.dataset, policy.seq, asked.purpose, where, request, made.at, asked.about, canonical(state))
    session.reserve(asked.analyst, asked.key, to_json(loss), made.amounts, made.after, said)


def fresh_key(slices: Slices) -> str:
    """A name for a run that was given none: it can be gone on with only by whoever holds it."""
    return "run " + hashlib.sha256(os.urandom(16) + str(len(slices)).encode()).hexdigest()[:24]

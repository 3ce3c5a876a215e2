"""`Ledger`: pay, then look. The only state in privet, and the only place where a charge is decided."""

import hashlib
import json
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

from privet import __version__
from privet._validate import above
from privet.accounting import Bound
from privet.accounting.filters import Odometer, Sums
from privet.errors import (
    BudgetExceeded,
    InvalidParameter,
    KeyConflict,
    LedgerError,
    NotPrivate,
    ReleaseFailed,
)
from privet.ledger.base import AMBIENT, DATASET, Entry, Store, clean_name, clean_text, parse_url
from privet.ledger.budget import Budget, odometer_to_dict
from privet.ledger.partition import Part
from privet.ledger.policy import Policy, charge, read_balance
from privet.ledger.session import Session, Tip, load_policy, now, read_tip
from privet.ledger.stores import connect
from privet.ledger.total import Totals
from privet.ledger.verify import verify_store
from privet.ledger.views import Preview, Standing, Verified
from privet.mechanisms import Release
from privet.privacy import PrivacyLoss, Unit, to_json

__all__ = ["Ledger", "Reservation"]

_FAILED = (
    "the release failed after it had been paid for; why is not said, since the reason may depend on private data. "
    "There is no refund. Test the mechanism on made-up data"
)


@dataclass(frozen=True)
class Reservation:
    """A charge that is written and will not be taken back. `release` is set when the key had been answered before:
    then nothing was charged.

    `record` stores what was released for it, so that the same key is answered from the ledger next time.

    >>> import privet as pv
    >>> reservation = pv.Ledger.open("memory:", budget=pv.Budget(1.0)).reserve(pv.privacy.PureLoss(0.5))
    >>> reservation.seq, reservation.loss.pure()
    (2, 0.5)
    """

    seq: int
    loss: PrivacyLoss
    analyst: str | None = None
    key: str | None = None
    part: Part | None = None
    release: "Release[Any] | None" = None
    request: str | None = field(default=None, repr=False)
    ledger: "Ledger | None" = field(default=None, repr=False, compare=False)

    def record(self, release: "Release[Any]") -> "Release[Any]":
        """Store the release that this reservation paid for; if another attempt was first, its release is returned."""
        if self.ledger is None or not isinstance(release, Release):
            raise InvalidParameter("record takes a Release, on a reservation that a ledger has made")
        if release.loss != self.loss:
            raise LedgerError("the release states another loss than the one that was reserved; it is not recorded")
        return self.ledger._record(self, release, release.to_json())


class Ledger:
    """A budget for one data set (with its views, versions and copies), kept for as long as the data exists.

    Charges are written before data is touched: a crash, an error or a cancelled run after that has been paid for. The
    same `key` with the same request is answered from the ledger and costs nothing. Copies of the object, in whatever
    process, spend from the same budget.

    **Guarantee:** everything released is together within the budget, in every interleaving of threads, processes and
    machines, for analysts who choose each request after seeing all answers. **Reference:** docs/proofs/ledger.

    >>> import privet as pv
    >>> ledger = pv.Ledger.open("memory:", budget=pv.Budget(epsilon=1.0), dataset="visits")
    >>> count = ledger.release(pv.mechanisms.Laplace.for_budget(epsilon=0.5, sensitivity=1.0), 1234, key="how many")
    >>> ledger.spent["basic epsilon"], ledger.remaining["basic epsilon"]
    (0.5, 0.5)
    >>> again = ledger.release(pv.mechanisms.Laplace.for_budget(epsilon=0.5, sensitivity=1.0), 1234, key="how many")
    >>> again.value == count.value, ledger.spent["basic epsilon"]
    (True, 0.5)
    """

    def __init__(self, url: str, timeout: float) -> None:
        """Use `Ledger.open`."""
        self.url, self.timeout = url, timeout
        self._store: Store
        self._tip: Tip | None = None
        self._totals = Totals()

    @classmethod
    def open(
        cls,
        url: Any = "memory:",
        *,
        budget: Budget | None = None,
        unit: Unit | None = None,
        dataset: str = "default",
        odometer: Odometer | None = None,
        schedule: Sequence[Budget] = (),
        anchor: Any = None,
        timeout: float = 60.0,
    ) -> "Ledger":
        """Open a ledger, or begin one (which needs `budget` or `odometer`). What is given for one that exists must be
        what it was begun with.

        `url`: "memory:", a path, "sqlite:///path" or "postgresql://...". `schedule`: budgets that the data set's may be
        raised to later, fixed now. `anchor`: where the signed head is kept. `timeout`: seconds to wait for a writer.
        """
        if budget is not None and odometer is not None:
            raise InvalidParameter("a ledger has a budget (it refuses) or an odometer (it reports), not both")
        wanted = _Wanted(budget, odometer, unit, clean_name("dataset", dataset), tuple(schedule))
        address = parse_url(url)
        ledger = cls(address.url, above("timeout", timeout, 0.0))
        ledger._store = connect(url, create=budget is not None or odometer is not None, timeout=ledger.timeout)
        if ledger._store.head() is None:
            ledger._begin(wanted)
        wanted.check(ledger.policy)
        return ledger

    def _begin(self, wanted: "_Wanted") -> None:
        with self._writing() as session:
            if session.head is None:  # else another process was first
                session.append("open", after={DATASET: wanted.zero}, **wanted.facts())

    # --- paying ----------------------------------------------------------------------------------------------------

    def reserve(
        self,
        loss: PrivacyLoss,
        *,
        analyst: str | None = None,
        purpose: str | None = None,
        key: str | None = None,
        part: Any = None,
    ) -> Reservation:
        """Pay for a release that you make yourself. When this returns the charge is on the disk; there is no refund.

        **Guarantee:** refuses (`BudgetExceeded`) exactly when no rule of the budget would hold with it.
        """
        return self.reserve_many([loss], analyst=analyst, purpose=purpose, key=key, part=part)[0]

    def reserve_many(
        self,
        losses: Iterable[PrivacyLoss],
        *,
        analyst: str | None = None,
        purpose: str | None = None,
        key: str | None = None,
        part: Any = None,
    ) -> list[Reservation]:
        """Pay for several in one commit: all of them or none. With a `key`, the i-th has the key "key/i"."""
        wanted = list(losses)
        asked = _Asked.of(analyst, purpose, key, part)
        with self._writing() as session:
            return [
                self._reserve(session, loss, asked if len(wanted) == 1 else asked.numbered(i))
                for i, loss in enumerate(wanted)
            ]

    def _reserve(self, session: Session, loss: PrivacyLoss, asked: "_Asked") -> Reservation:
        policy = session.policy
        assert policy is not None
        part = policy.part(asked.part)
        request = None if asked.key is None else asked.digest(loss, part)
        if asked.key is not None:
            found = session.txn.find(asked.analyst, asked.key)
            if found is not None:
                facts = found.facts
                if facts["request"] != request:
                    raise KeyConflict(f"the key {asked.key!r} was used before for another request; choose a new key")
                if found.kind == "release":
                    stored = Release.from_json(facts["release"])
                    return Reservation(int(facts["reserve"]), loss, asked.name, asked.key, part, stored, request, self)
        if policy.closed is not None:
            raise LedgerError(f"the data set {policy.dataset!r} is closed: {policy.closed}")
        made = charge(policy, session.sums, loss, analyst=asked.analyst, part=part)
        entry = session.append(
            "reserve",
            analyst=asked.analyst,
            key=asked.key,
            loss=to_json(loss),
            amounts=made.amounts,
            after=made.after,
            dataset=policy.dataset,
            purpose=asked.purpose,
            part=None if part is None else [part.partition, part.name],
            request=request,
            time=now(),
            version=__version__,
        )
        return Reservation(entry.seq, loss, asked.name, asked.key, part, None, request, self)

    def release(
        self,
        mechanism: Any,
        data: Any,
        *,
        analyst: str | None = None,
        purpose: str | None = None,
        key: str | None = None,
        part: Any = None,
    ) -> "Release[Any]":
        """Pay, run `mechanism.release(data)`, record, return. With a `key` that was answered before: the stored answer.

        **Guarantee:** nothing is read or drawn before the charge is on the disk. If the mechanism fails, that has been
        paid for, and the error says nothing about the data.
        """
        loss = getattr(mechanism, "loss", None)
        if not isinstance(loss, PrivacyLoss) or not callable(getattr(mechanism, "release", None)):
            raise InvalidParameter(
                "a ledger releases a mechanism: an object with .loss (a PrivacyLoss) and .release(data)"
            )
        if self._store.durable and getattr(mechanism, "insecure", False):
            _refuse_insecure()
        asked = _Asked.of(analyst, purpose, key, part, mechanism)
        with self._writing() as session:
            reservation = self._reserve(session, loss, asked)
        if reservation.release is not None:
            return reservation.release
        return self._run(reservation, mechanism, data)

    def _run(self, reservation: Reservation, mechanism: Any, data: Any) -> "Release[Any]":
        text = None
        try:
            made = mechanism.release(data)
            if isinstance(made, Release) and made.loss == reservation.loss:
                text = made.to_json()
        except Exception:  # whatever it was, the analyst sees one constant text and no trace of it
            text = None
        if text is None:
            raise ReleaseFailed(_FAILED)
        return self._record(reservation, made, text)

    def _record(self, reservation: Reservation, made: "Release[Any]", text: str) -> "Release[Any]":
        if self._store.durable and made.insecure:
            _refuse_insecure()
        analyst = reservation.analyst or ""
        with self._writing(durable=False) as session:
            if reservation.key is not None:
                found = session.txn.find(analyst, reservation.key)
                if found is not None and found.kind == "release":  # another attempt was first; this draw is discarded
                    return Release.from_json(found.facts["release"])
            session.append(
                "release",
                analyst=analyst,
                key=reservation.key,
                reserve=str(reservation.seq),
                request=reservation.request,
                release=text,
                insecure=made.insecure,
                version=__version__,
            )
        return made

    # --- looking ---------------------------------------------------------------------------------------------------

    @property
    def policy(self) -> Policy:
        """The rules in force."""
        return self._look().policy  # type: ignore[return-value]

    @property
    def dataset(self) -> str:
        """The name of the data set."""
        return self.policy.dataset

    @property
    def unit(self) -> Unit:
        """Whom the budget protects."""
        return self.policy.unit

    @property
    def budget(self) -> Budget | None:
        """The budget in force; None for an odometer."""
        return self.policy.budget

    @property
    def spent(self) -> Standing:
        """What the rule has summed up so far."""
        return self._standing("spent", self._look())

    @property
    def remaining(self) -> Standing:
        """What is left, per rule and currency."""
        return self._standing("remaining", self._look())

    def _standing(self, what: str, tip: Tip) -> Standing:
        policy = tip.policy
        assert policy is not None
        promise = "an odometer" if policy.budget is None else policy.budget.describe()
        return Standing(what, policy.account, tip.spent, promise)

    def preview(self, loss: PrivacyLoss, *, analyst: str | None = None, part: Any = None) -> Preview:
        """What a request would cost: whether it would be granted, what would be left, how many such fit. Pays nothing."""
        tip = self._look()
        policy = tip.policy
        assert policy is not None
        asked = _Asked.of(analyst, None, None, part)
        where = policy.part(asked.part)
        balances = self._store.balances()
        before = self._standing("remaining", tip)

        def read(scope: str) -> Sums | None:
            if scope == DATASET:
                return tip.spent
            return read_balance(balances[scope][0]) if scope in balances else None

        try:
            made = charge(policy, read, loss, analyst=asked.analyst, part=where)
        except BudgetExceeded as refusal:
            return Preview(False, 0.0, before, None, str(refusal))
        after = self._standing("remaining", tip._replace(spent=made.after[DATASET]))
        priced = loss if where is None else policy.partitions[where.partition].priced(loss, policy.unit)
        rooms = [
            account.room(read(scope) or account.zero, priced).fits
            for scope, account, capped in policy.scopes(asked.analyst)
            if capped
        ]
        return Preview(True, max(1, min(rooms)), before, after, None)

    def total(self, *, delta: float) -> Bound:
        """What all reservations cost together *if every parameter had been fixed in advance*, by the best accountant.

        **Guarantee:** valid for that case only. It informs; it never decides about the next release.
        """
        return self._totals.read(self._store).bound(self.policy, delta)

    def entries(self) -> list[Entry]:
        """All entries, oldest first."""
        return list(self._store.entries())

    def verify(self, head: Any = None) -> Verified:
        """Read everything again: chain, sums, balance cache, anchors. Raises `LedgerTampered` at the first bad entry."""
        return verify_store(self._store, {})

    # --- one object, one budget ------------------------------------------------------------------------------------

    def __copy__(self) -> "Ledger":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Ledger":
        return self

    def __reduce__(self) -> Any:
        if not self._store.durable:
            raise LedgerError(
                "a memory ledger cannot be pickled: the copy would be a second budget; open a file instead"
            )
        return _reopen, (self.url, self.timeout)

    def __enter__(self) -> "Ledger":
        AMBIENT.set((*AMBIENT.get(), self))
        return self

    def __exit__(self, *_: object) -> None:
        stack = AMBIENT.get()
        last = len(stack) - 1 - stack[::-1].index(self)
        AMBIENT.set((*stack[:last], *stack[last + 1 :]))

    def close(self) -> None:
        """Let go of the file or the server; the next use connects again."""
        self._store.close()

    def __repr__(self) -> str:
        policy = self.policy
        promise = "odometer" if policy.budget is None else policy.budget.describe()
        return f"<Ledger {parse_url(self.url).shown!r} for {policy.dataset!r}: {promise}>"

    # --- the store -------------------------------------------------------------------------------------------------

    @contextmanager
    def _writing(self, *, durable: bool = True) -> Iterator[Session]:
        with self._store.transaction(durable=durable) as txn:
            session = Session(self._store, txn, self._tip)
            yield session
        self._tip = session.tip

    def _look(self) -> Tip:
        """The newest head, without a lock."""
        head = self._store.head()
        if head is None:
            load_policy(self._store)
            raise LedgerError("this store holds no ledger")
        tip = self._tip
        if tip is None or tip.hash != head.hash:
            tip = self._tip = read_tip(self._store, head, None if tip is None else tip.policy)
        return tip


def _reopen(url: str, timeout: float) -> Ledger:
    return Ledger.open(url, timeout=timeout)


def _refuse_insecure() -> NoReturn:
    raise NotPrivate(
        "seeded noise protects nobody: a ledger that outlives its process neither pays for it nor stores it"
    )


@dataclass(frozen=True)
class _Asked:
    """The public facts of a request."""

    analyst: str
    purpose: str | None
    key: str | None
    part: Any
    mechanism: Any = None

    @staticmethod
    def of(analyst: object, purpose: object, key: object, part: Any, mechanism: Any = None) -> "_Asked":
        return _Asked(
            "" if analyst is None else clean_name("analyst", analyst),
            None if purpose is None else clean_text("purpose", purpose),
            None if key is None else clean_name("key", key),
            part,
            mechanism,
        )

    def numbered(self, i: int) -> "_Asked":
        key = None if self.key is None else f"{self.key}/{i}"
        return _Asked(self.analyst, self.purpose, key, self.part, self.mechanism)

    @property
    def name(self) -> str | None:
        return self.analyst or None

    def digest(self, loss: PrivacyLoss, part: Part | None) -> str:
        """Tells two requests apart when a key comes again. Only public facts: a hash of data would tell who is in it."""
        describe = getattr(self.mechanism, "to_dict", None)
        what = describe() if callable(describe) else type(self.mechanism).__qualname__
        facts = {
            "loss": to_json(loss),
            "part": part and [part.partition, part.name],
            "purpose": self.purpose,
            "what": what,
        }
        return hashlib.sha256(json.dumps(facts, sort_keys=True, default=repr).encode()).hexdigest()


@dataclass(frozen=True)
class _Wanted:
    """What the caller of `open` said about a ledger."""

    budget: Budget | None
    odometer: Odometer | None
    unit: Unit | None
    dataset: str
    schedule: tuple[Budget, ...]

    @property
    def policy(self) -> Policy:
        return Policy("", self.dataset, self.unit or Unit(), self.budget, self.odometer)

    @property
    def zero(self) -> Any:
        return self.policy.account.zero

    def facts(self) -> dict[str, Any]:
        unit = {name: str(value) for name, value in (self.unit or Unit()).to_dict().items()}
        caps = None if self.budget is None else [[str(cap) for cap in rule.caps] for rule in self.budget.filter.rules]
        return {
            "ledger": secrets.token_hex(16),
            "dataset": self.dataset,
            "unit": unit,
            "budget": None if self.budget is None else self.budget.to_dict(),
            "odometer": None if self.odometer is None else odometer_to_dict(self.odometer),
            "schedule": [budget.to_dict() for budget in self.schedule],
            "caps": caps,
            "time": now(),
            "version": __version__,
        }

    def check(self, policy: Policy) -> None:
        said = (self.budget, self.odometer, self.unit, None if self.dataset == "default" else self.dataset)
        kept = (policy.budget, policy.odometer, policy.unit, policy.dataset)
        for name, mine, theirs in zip(("budget", "odometer", "unit", "dataset"), said, kept, strict=True):
            if mine is not None and mine != theirs:
                raise LedgerError(
                    f"this ledger exists already with another {name}; open it without {name}=, "
                    "and change a budget with raise_budget"
                )

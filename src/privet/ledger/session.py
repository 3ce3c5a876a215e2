"""The chain under the lock: read the head, check what is cached against it, append, commit, anchor."""

import json
import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from time import gmtime, strftime, time_ns
from typing import Any, NamedTuple

from privet.accounting.filters import Sums
from privet.errors import LedgerError, LedgerTampered
from privet.ledger.account import plain_sums, read_sums, sums_text
from privet.ledger.anchor import Anchor
from privet.ledger.entry import ADMIN, DATASET, Entry, canonical, hash_of, linked, object_text
from privet.ledger.policy import (
    Policy,
    read_balance,
    scope_of,
)
from privet.ledger.store import Reader, Store, Txn

# By name: the package names the rooms for type checkers, and an import of it would count as one of all of them.
SOFTWARE = f"privet {import_module('privet').__version__}"


class Tip(NamedTuple):
    """A handle's memory of a head it has read: trusted again only while the head's hash is the same.

    >>> Tip(b"", None, (), "[]").policy is None
    True
    """

    hash: bytes
    policy: Policy | None
    spent: Sums
    text: str  # of `spent`, as the balance cache holds it
    seq: int = 0


def now() -> str:
    """The time that an entry carries, in UTC to the millisecond; for people, never for order."""
    global _second
    second, rest = divmod(time_ns() // 1_000_000, 1000)
    known = _second
    if known[0] != second:
        known = _second = (second, strftime("%Y-%m-%dT%H:%M:%S", gmtime(second)))
    return f"{known[1]}.{rest:03d}Z"


_second = (0, "")  # the last second that was written out: most charges share it with the one before


def load_policy(store: Store, known: Policy | None = None, upto: int | None = None) -> Policy:
    """Fold the administrative entries that are newer than a known policy."""
    policy = known
    for entry in store.entries(0 if known is None else known.seq, ADMIN):
        if upto is not None and entry.seq > upto:
            break
        check_hash(entry)
        if entry.kind == "open":
            if policy is not None or entry.seq != 1:
                raise LedgerTampered(f"entry {entry.seq} opens a ledger that is open already", seq=entry.seq)
            policy = Policy.opened(entry)
        elif policy is None:
            raise LedgerTampered("the ledger does not begin with an 'open' entry")
        else:
            policy = policy.after(entry)
    if policy is None:
        raise LedgerError("this store holds no ledger yet; begin one with Ledger.create(url, budget=...)")
    return policy


def check_hash(entry: Entry) -> None:
    """An entry has the hash of its content."""
    if hash_of(entry) != entry.hash:
        raise LedgerTampered(
            f"entry {entry.seq} does not have its own hash; it was changed after it was written", seq=entry.seq
        )


def check_seen(store: Reader, head: Entry | None, tip: Tip | None) -> None:
    """The head that a handle saw last is still in the store: one look, however long the ledger is."""
    if tip is None or (head is not None and head.hash == tip.hash):
        return
    found = store.entry(tip.seq) if head is not None and head.seq > tip.seq else None
    if found is None or found.hash != tip.hash:
        raise LedgerTampered(
            f"entry {tip.seq}, which this handle has seen, is gone or was replaced: the ledger was rolled back under it. "
            "Nothing was spent; bring the newest state back, or see Ledger.restore"
        )


def read_tip(store: Store, head: Entry, known: Policy | None) -> Tip:
    """The rules and the data set's sums at a head, from the head itself and the administrative entries."""
    check_hash(head)
    facts = head.facts
    try:
        latest, spent = int(facts["policy"]), read_sums(facts["sums"][DATASET])
    except (KeyError, TypeError, ValueError):
        raise LedgerTampered(f"entry {head.seq} carries no running sums; the ledger was edited") from None
    if known is None or known.seq != latest:
        known = load_policy(store, known if known is not None and known.seq < latest else None, head.seq)
    if known.seq != latest:
        raise LedgerTampered(f"entry {latest}, which sets the rules in force, is missing")
    return Tip(head.hash, known, spent, sums_text(spent), head.seq)


@lru_cache(maxsize=4096)  # equal losses have equal prices
def _prices_text(amounts: tuple[tuple[str, Sums], ...]) -> str:
    return object_text({scope: sums_text(price) for scope, price in amounts})


class Said(NamedTuple):
    """The words of the body of a reservation besides its sums and time.

    >>> Said("visits", 1, None, None, None).purpose is None
    True
    """

    dataset: str
    policy: int  # the entry that set the rules in force
    purpose: str | None
    part: tuple[str, str] | None
    request: str | None
    at: float | None = None
    about: str | None = None
    run: str | None = None  # where a run stands, as JSON
    question: str | None = None  # what was asked, in the public words of the question itself


@lru_cache(maxsize=1024)
def _fixed_text(said: Said) -> str:
    """The canonical text of it, up to the sums and the time, which sort after. What one handle reserves differs mostly
    in those. Nothing else is remembered: releases are not.
    """
    facts: dict[str, Any] = {**said._asdict(), "policy": str(said.policy), "software": SOFTWARE}
    facts["at"] = None if said.at is None else repr(said.at)
    facts["run"] = None if said.run is None else json.loads(said.run)
    later = [name for name in ("at", "about", "run", "question") if facts[name] is None]  # fields that were added later
    return canonical({name: value for name, value in facts.items() if name not in later})[:-1]


class Session:
    """One transaction of a ledger: `policy`, running sums, `append`. The head's sums are compared with the balance
    cache, in time that does not depend on how many entries there are.

    >>> from privet.ledger.stores import draft
    >>> store = draft("memory:").commit()
    >>> with store.transaction() as txn:
    ...     Session(store, txn, None).head is None
    True
    """

    signer: Any = None  # the key file of the custodian, where acts are signed

    def __init__(self, store: Store, txn: Txn, tip: Tip | None) -> None:
        self.txn = txn
        self._text = ""
        self.head = txn.head()
        self.policy: Policy | None = None
        self._changed: dict[str, Sums] = {}
        check_seen(store, self.head, tip)
        if self.head is None:
            return
        if tip is None or tip.hash != self.head.hash:
            tip = read_tip(store, self.head, None if tip is None else tip.policy)
        self.policy, self.spent, self._text = tip.policy, tip.spent, tip.text
        held = txn.sums(DATASET)
        if held is None or held.upto != self.head.seq or held.sums != self._text:
            raise LedgerTampered(
                f"the balance cache does not agree with entry {self.head.seq}; nothing is granted until verify() passes"
            )

    @property
    def tip(self) -> Tip | None:
        """The tip to remember once the transaction is committed."""
        return None if self.head is None else Tip(self.head.hash, self.policy, self.spent, self._text, self.head.seq)

    def sums(self, scope: str) -> Sums | None:
        """The running sums of a scope, or None while nothing was charged to it."""
        if scope == DATASET:
            return self.spent
        if scope in self._changed:
            return self._changed[scope]
        held = self.txn.sums(scope)
        if held is None:
            return None
        sums = read_balance(held.sums)
        carried = None if held.body is None else Entry(held.upto, b"", b"", "", "", None, None, "{}", held.body).facts
        if carried is None or carried.get("sums", {}).get(scope) != plain_sums(sums):
            raise LedgerTampered(
                f"the balance cache of {scope!r} does not agree with entry {held.upto}; nothing is granted until "
                "verify() passes"
            )
        return sums

    def append(
        self,
        kind: str,
        *,
        analyst: str = "",
        key: str | None = None,
        loss: str | None = None,
        amounts: Mapping[str, Sums] | None = None,
        after: Mapping[str, Sums] | None = None,
        **body: Any,
    ) -> Entry:
        """Write the next entry. Every body carries the data set's sums and the sums that the entry changed."""
        changed = dict(after or {})
        if self.head is not None:
            changed.setdefault(DATASET, self.spent)
        texts = {scope: sums_text(sums) for scope, sums in changed.items()}
        admin = kind in ADMIN or self.policy is None
        latest = (1 if self.head is None else self.head.seq + 1) if admin else self.policy.seq  # type: ignore[union-attr]
        fields = {name: canonical(value) for name, value in {**body, "policy": str(latest)}.items()}
        entry = linked(
            self.head,
            kind,
            analyst=analyst,
            key=key,
            loss=loss,
            amounts=_prices_text(tuple(amounts.items())) if amounts else "{}",
            body=object_text({**fields, "sums": object_text(texts)}),
        )
        self._keep(entry, changed, texts)
        if kind == "open":
            self.policy = Policy.opened(entry)
        elif kind in ADMIN and self.policy is not None:
            self.policy = self.policy.after(entry)
        return entry

    def reserve(
        self, analyst: str, key: str | None, loss: str, amounts: Mapping[str, Sums], after: dict[str, Sums], said: Said
    ) -> Entry:
        """`append` of a reservation, which is most of what a ledger writes."""
        texts = {scope: sums_text(sums) for scope, sums in after.items()}
        body = f'{_fixed_text(said)},"sums":{object_text(texts)},"time":"{now()}"}}'
        prices = _prices_text(tuple(amounts.items()))
        entry = linked(self.head, "reserve", analyst=analyst, key=key, loss=loss, amounts=prices, body=body)
        self._keep(entry, after, texts)
        return entry

    def _keep(self, entry: Entry, changed: Mapping[str, Sums], texts: Mapping[str, str]) -> None:
        self.txn.append(entry, texts)
        self.spent, self._text = changed[DATASET], texts[DATASET]
        self.head = entry
        self._changed.update(changed)


def anchor_of(session: Session) -> Anchor:
    """The head of this transaction, with the sums of every account."""
    policy, head = session.policy, session.head
    assert policy is not None
    assert head is not None
    scopes = [DATASET, *(scope_of(group=name) for name in policy.groups)]
    scopes += [scope_of(analyst=name) for name in policy.analysts]
    sums = {scope: session.sums(scope) for scope in scopes}
    plain = {scope: plain_sums(held) for scope, held in sums.items() if held is not None}
    return Anchor(policy.ledger, head.seq, head.hash.hex(), plain, time=now())


class Writing:
    """One transaction: lock, read the head, compare it with the anchor, do, commit, remember the head, anchor it.

    >>> import privet as pv
    >>> with Writing(pv.Ledger.create("memory:", budget=pv.Budget(1.0)), True) as session:
    ...     print(session.head.seq)
    1
    """

    def __init__(self, ledger: Any, durable: bool) -> None:
        self._ledger, self._durable = ledger, durable

    def __enter__(self) -> Session:
        ledger = self._ledger
        self._transaction = ledger._store.transaction(durable=self._durable)
        txn = self._transaction.__enter__()
        try:
            self._session = Session(ledger._store, txn, ledger._tip)
            self._session.signer = ledger._signer
            if self._durable and self._session.policy is not None:
                ledger._check_anchor(self._session.policy)
                if ledger._anchor is not None and ledger._anchor.every_reserve:
                    ledger._anchor.probe()
        except BaseException:
            self._transaction.__exit__(*sys.exc_info())
            raise
        self._before = self._session.head
        return self._session

    def __exit__(self, *error: Any) -> None:
        ledger, session = self._ledger, self._session
        place = ledger._anchor
        anchor = None
        if error[0] is None and place is not None and place.every_reserve and self._durable:
            anchor = anchor_of(session) if session.head is not self._before else None
        self._transaction.__exit__(*error)
        if error[0] is None:
            ledger._tip = session.tip
            if anchor is not None and place is not None:
                place.write(anchor, ledger._holds)

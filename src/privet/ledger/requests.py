"""Requests of callers, and the steps that answer them: pay, look, record.

The charge is committed before data is touched. An error, a crash or a cancelled run after that has been paid for. What
was released is recorded before it is returned; the first record under a key wins.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

from privet._validate import open_fraction
from privet.accounting.filters import Sums
from privet.errors import (
    BudgetExceeded,
    InvalidParameter,
    KeyConflict,
    LedgerError,
    NotPrivate,
    PrivetError,
)
from privet.ledger.charging import charge
from privet.ledger.entry import DATASET, Entry, clean_name, clean_text
from privet.ledger.partition import Part
from privet.ledger.policy import read_balance
from privet.ledger.questions import loss_of
from privet.ledger.reading import Preview, standing
from privet.ledger.session import SOFTWARE, Said, Session, Tip, check_hash
from privet.ledger.store import Store
from privet.mechanisms import Form, Mechanism, Release
from privet.privacy import PrivacyLoss, to_json


class Asked(NamedTuple):
    """Who asks for what, in public words. Nothing here comes from data.

    >>> Asked.of("ann", "weekly report", None, None).analyst
    'ann'
    """

    analyst: str  # empty for the custodian
    purpose: str | None
    key: str | None
    part: Any
    what: Any = None  # the mechanism's name and public parameters; not itself, since it may hold data
    at: float | None = None
    hint: float | None = None  # the delta that the mechanism was made for
    about: str | None = None
    question: str | None = None  # in its own public words; no part of the request, which a key stands for

    @staticmethod
    def of(
        analyst: object,
        purpose: object,
        key: object,
        part: object,
        mechanism: object = None,
        *,
        at: object = None,
        about: object = None,
        of: object = None,
    ) -> "Asked":
        """Check and clean what a caller passed. `of`: what the data say in public words (`question_of`)."""
        if analyst is purpose is key is part is mechanism is at is about is None:
            return _NOTHING
        hint = getattr(mechanism, "at", None)
        return Asked(
            "" if analyst is None else clean_name("analyst", analyst),
            None if purpose is None else clean_text("purpose", purpose),
            None if key is None else clean_name("key", key),
            part,
            None if mechanism is None or key is None else _described(mechanism, of),
            None if at is None else open_fraction("at", at),
            None if hint is None else open_fraction("the mechanism's at", hint),
            None if about is None else clean_text("about", about),
        )

    def numbered(self, i: int) -> "Asked":
        """The i-th request of a batch."""
        key = None if self.key is None else f"{self.key}/{i}"
        return self._replace(key=key)

    def ats(self, loss: PrivacyLoss) -> tuple[float | None, ...]:
        """The deltas at which the loss may be charged as one point: what was said, else what the mechanism was made
        for if the loss is a plan or has no epsilon of its own, else none.
        """
        if self.at is not None or self.hint is None:
            return (self.at,)
        plan = sum(n for _, n in loss.parts()) > 1
        return (self.hint, None) if plan or math.isinf(loss.approximate().epsilon) else (None,)

    def digest(self, loss: PrivacyLoss, part: Part | None) -> str:
        """Tells two requests apart when a key comes again, by public facts alone. Nothing of the data may enter here, in
        whatever disguise: what is answered or refused by it would tell, free of charge, whether two data are equal.
        """
        where = None if part is None else [part.partition, part.name]
        facts = {"loss": to_json(loss), "part": where, "purpose": self.purpose, "what": self.what}
        said = {"at": self.at, "about": self.about}
        facts |= {name: value for name, value in said.items() if value is not None}
        return hashlib.sha256(json.dumps(facts, sort_keys=True, default=_unknown).encode()).hexdigest()


_NOTHING = Asked("", None, None, None)


def question_of(data: object) -> Any:
    """The public words of data about the question that they are handed in for: of records of a table, which columns of
    it. Data of every other kind say nothing, and are not looked at.

    >>> question_of([1, 2, 3]) is None
    True
    """
    said = getattr(type(data), "public_question", None)
    return said(data) if callable(said) else None


def _described(mechanism: object, of: object) -> list[Any]:
    """The description of a mechanism without the delta that it is charged at: that changes its price, not its answer,
    and requests that were written before there was such a field are the same requests.
    """
    describe = getattr(mechanism, "to_dict", None)
    facts = describe() if callable(describe) else _unknown()
    named = [type(mechanism).__qualname__, _without_at(facts, getattr(mechanism, "at", None))]
    return named if of is None else [*named, of]


def _without_at(facts: object, at: object) -> Any:
    if at is None or not isinstance(facts, dict):
        return facts
    return {
        name: _without_at(value, at) for name, value in facts.items() if name != "at" or value not in (at, repr(at))
    }


def _unknown(value: object = None) -> NoReturn:
    """Two requests that cannot be told apart must not share an answer."""
    raise InvalidParameter(
        "a key needs a mechanism that says what it is: give it to_dict(), with its public parameters as plain JSON values "
        "(texts, numbers, lists, objects), or leave the key out"
    )


class Reservation(NamedTuple):
    """A charge that is written and will not be taken back. `release` is set when the key had been answered before:
    then nothing was charged.

    `record` stores what was released for it, so that the same key is answered from the ledger next time.

    >>> import privet as pv
    >>> reservation = pv.Ledger.create("memory:", budget=pv.Budget(1.0)).reserve(pv.privacy.PureLoss(0.5))
    >>> reservation.seq, reservation.loss.pure()
    (2, 0.5)
    """

    seq: int
    loss: PrivacyLoss
    analyst: str | None = None
    key: str | None = None
    part: Part | None = None
    release: "Release[Any] | None" = None
    request: str | None = None
    ledger: Any = None

    def __repr__(self) -> str:
        return f"Reservation(seq={self.seq}, loss={self.loss!r}, analyst={self.analyst!r}, key={self.key!r})"

    def record(self, release: "Release[Any]") -> "Release[Any]":
        """Store the release that this reservation paid for; if another attempt was first, its release is returned."""
        if self.ledger is None or not isinstance(release, Release):
            raise InvalidParameter("record takes a Release, on a reservation that a ledger has made")
        if release.loss != self.loss:
            raise LedgerError("the release states another loss than the one that was reserved; it is not recorded")
        kept: Release[Any] = self.ledger._record(self, release, *release.kept(), by_hand=True)
        return kept


def priced(mechanism: object, *, durable: bool) -> PrivacyLoss:
    """The loss of what may be released, from public facts, before anything is paid."""
    loss = loss_of(mechanism)
    if durable and getattr(mechanism, "insecure", False):
        refuse_insecure()
    why = _unstorable(mechanism)
    if why is not None:
        raise InvalidParameter(
            f"a ledger stores what it pays for, and this could not be stored: {why}; nothing was spent"
        )
    return loss


def _unstorable(mechanism: object) -> str | None:
    """Why outputs could not be stored, where the mechanism says what they look like."""
    if isinstance(mechanism, Mechanism):
        return mechanism._unstorable
    form = getattr(mechanism, "form", None)
    return form.refusal() if isinstance(form, Form) else None


def refuse_insecure() -> NoReturn:
    """Durable ledgers do not pay for, or store, what protects nobody."""
    raise NotPrivate(
        "seeded noise protects nobody: a ledger that outlives its process neither pays for it nor stores it"
    )


def reserve_in(
    session: Session, loss: PrivacyLoss, asked: Asked, ledger: object, problem: PrivetError | None = None
) -> Reservation:
    """Within a transaction: answer from a stored release, or charge, or refuse. `problem`: data that the mechanism cannot
    take; a used key is answered all the same.
    """
    policy = session.policy
    assert policy is not None
    part = policy.part(asked.part)
    request = None
    if asked.key is not None:
        if not isinstance(loss, PrivacyLoss):
            raise InvalidParameter(f"a ledger charges a loss, got {type(loss).__name__}")
        request = asked.digest(loss, part)
        found = session.txn.find(asked.analyst, asked.key)
        if found is not None:
            check_hash(found)
            same_request(found.facts, request, asked)
        if found is not None and found.kind == "release":
            paid = int(found.facts["reserve"])
            return Reservation(
                paid, loss, asked.analyst or None, asked.key, part, stored_release(found), request, ledger
            )
    if problem is not None:
        raise problem
    if policy.closed is not None:
        raise LedgerError(f"the data set {policy.dataset!r} is closed: {policy.closed}")
    if not isinstance(loss, PrivacyLoss):
        raise InvalidParameter(f"a ledger charges a loss, got {type(loss).__name__}")
    made = charge(policy, session.sums, loss, analyst=asked.analyst, part=part, ats=asked.ats(loss))
    where = None if part is None else (part.partition, part.name)
    said = Said(policy.dataset, policy.seq, asked.purpose, where, request, made.at, asked.about, None, asked.question)
    # it carries the time, and the release none: the difference would be the run time, which may depend on data
    entry = session.reserve(asked.analyst, asked.key, _text_of(loss), made.amounts, made.after, said)
    return Reservation(entry.seq, loss, asked.analyst or None, asked.key, part, None, request, ledger)


def same_request(facts: dict[str, Any], request: str, asked: Asked) -> None:
    """A key stands for one public request. Data are not compared, nor the digests of them that old entries hold."""
    if facts["request"] != request:
        raise KeyConflict(f"the key {asked.key!r} was used before for another request; choose a new key", key=asked.key)


@lru_cache(maxsize=4096)
def _text_of(loss: PrivacyLoss) -> str:
    return to_json(loss)


def stored_release(entry: Entry) -> "Release[Any]":
    """The release that an entry records, marked with its number; a large value stays outside."""
    return replace(Release.from_json(entry.facts["release"]), stored=entry.seq)


def recorded(store: Store, reservation: Reservation) -> "Release[Any] | None":
    """The release of a reservation that was made already; one that this ledger never made pays for nothing."""
    paid = store.entry(reservation.seq)
    said = ("reserve", reservation.analyst or "", reservation.key, _text_of(reservation.loss))
    if paid is None or (paid.kind, paid.analyst, paid.key, paid.loss) != said:
        raise LedgerError("this reservation is not in the ledger; nothing is recorded")
    for entry in store.entries(reservation.seq, ("release",)):
        if entry.facts["reserve"] == str(reservation.seq):
            check_hash(entry)
            return stored_release(entry)
    return None


def record_in(session: Session, reservation: Reservation, made: "Release[Any]", text: str) -> "Release[Any]":
    """Within a transaction: record a release, unless another attempt under the same key was first."""
    analyst = reservation.analyst or ""
    if reservation.key is not None:
        found = session.txn.find(analyst, reservation.key)
        if found is not None and found.kind == "release":
            check_hash(found)
            return stored_release(found)
    session.append(
        "release",
        analyst=analyst,
        key=reservation.key,
        reserve=str(reservation.seq),
        request=reservation.request,
        release=text,
        insecure=made.insecure,
        software=SOFTWARE,
    )
    return made


def preview(tip: Tip, balances: Mapping[str, tuple[str, int]], loss: PrivacyLoss, asked: Asked) -> Preview:
    """Would it be granted, what would be left, how many such fit?"""
    policy = tip.policy
    assert policy is not None

    def read(scope: str) -> Sums | None:
        if scope == DATASET:
            return tip.spent
        return read_balance(balances[scope][0]) if scope in balances else None

    part = policy.part(asked.part)
    before = standing("remaining", tip)
    ats = asked.ats(loss)
    try:
        made = charge(policy, read, loss, analyst=asked.analyst, part=part, ats=ats)
    except BudgetExceeded as refusal:
        return Preview(False, 0, before, None, str(refusal), why=refusal.explain())
    spent = made.after[DATASET]
    after = standing("remaining", tip._replace(spent=spent))
    held, holds = policy.account.standing(tip.spent), policy.account.standing(spent)
    single = loss if part is None else policy.partitions[part.partition].priced(loss, policy.unit)
    rooms = [
        max(account.room(read(scope) or account.zero, single, at).fits for at in ats)
        for scope, account, capped in policy.scopes(asked.analyst)
        if capped
    ]
    return Preview(
        True, max(1, min(rooms)), before, after, None, tuple(name for name in held if name not in holds), made.at
    )

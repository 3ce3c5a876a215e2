"""Pay, look, record: the three steps of a release, and what may go wrong in each.

The charge is committed before data is touched. An error, a crash or a cancelled run after that has been paid for. What
was released is recorded before it is returned; the first record under a key wins.
"""

from asyncio import CancelledError
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

from privet.errors import InvalidParameter, KeyConflict, LedgerError, NotPrivate, PrivetError, ReleaseFailed
from privet.ledger.entry import Entry
from privet.ledger.partition import Part
from privet.ledger.policy import charge
from privet.ledger.quiet import quiet
from privet.ledger.request import Asked
from privet.ledger.session import SOFTWARE, Said, Session, check_hash
from privet.ledger.store import Store
from privet.mechanisms import Mechanism, Release
from privet.mechanisms.payment import paid_for
from privet.privacy import PrivacyLoss, to_json

_FAILED = (
    "the release failed after it had been paid for; why is not said, since the reason may depend on private data. "
    "There is no refund. Test the mechanism on made-up data"
)


_TOLD: dict[type[BaseException], tuple[int, ...]] = {SystemExit: (1,)}  # whatever code or text the mechanism chose


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
    data: str | None = None

    def __repr__(self) -> str:
        return f"Reservation(seq={self.seq}, loss={self.loss!r}, analyst={self.analyst!r}, key={self.key!r})"

    def record(self, release: "Release[Any]") -> "Release[Any]":
        """Store the release that this reservation paid for; if another attempt was first, its release is returned."""
        if self.ledger is None or not isinstance(release, Release):
            raise InvalidParameter("record takes a Release, on a reservation that a ledger has made")
        if release.loss != self.loss:
            raise LedgerError("the release states another loss than the one that was reserved; it is not recorded")
        kept: Release[Any] = self.ledger._record(self, release, release.to_json(), by_hand=True)
        return kept


def priced(mechanism: Any, *, durable: bool) -> PrivacyLoss:
    """The loss of what may be released, from public facts, before anything is paid."""
    loss = getattr(mechanism, "loss", None)
    if not isinstance(loss, PrivacyLoss) or not callable(getattr(mechanism, "release", None)):
        raise InvalidParameter("a ledger releases a mechanism: an object with .loss (a PrivacyLoss) and .release(data)")
    if durable and getattr(mechanism, "insecure", False):
        refuse_insecure()
    return loss


def refuse_insecure() -> NoReturn:
    """Durable ledgers do not pay for, or store, what protects nobody."""
    raise NotPrivate(
        "seeded noise protects nobody: a ledger that outlives its process neither pays for it nor stores it"
    )


def reserve_in(session: Session, loss: PrivacyLoss, asked: Asked, ledger: Any) -> Reservation:
    """Within a transaction: answer from a stored release, or charge, or refuse."""
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
            _same_request(found.facts, request, asked)
        if found is not None and found.kind == "release":
            paid = int(found.facts["reserve"])
            return Reservation(paid, loss, asked.analyst or None, asked.key, part, _stored(found), request, ledger)
    if policy.closed is not None:
        raise LedgerError(f"the data set {policy.dataset!r} is closed: {policy.closed}")
    if not isinstance(loss, PrivacyLoss):
        raise InvalidParameter(f"a ledger charges a loss, got {type(loss).__name__}")
    made = charge(policy, session.sums, loss, analyst=asked.analyst, part=part, ats=asked.ats(loss))
    where = None if part is None else (part.partition, part.name)
    said = Said(policy.dataset, policy.seq, asked.purpose, where, request, made.at, asked.about, asked.data)
    # it carries the time, and the release none: the difference would be the run time, which may depend on data
    entry = session.reserve(asked.analyst, asked.key, _text_of(loss), made.amounts, made.after, said)
    return Reservation(entry.seq, loss, asked.analyst or None, asked.key, part, None, request, ledger, asked.data)


def _same_request(facts: dict[str, Any], request: str, asked: Asked) -> None:
    """A key stands for one request on one version of the data. Entries older than digests of data hold none."""
    if facts["request"] != request:
        raise KeyConflict(f"the key {asked.key!r} was used before for another request; choose a new key", key=asked.key)
    if asked.data is not None and facts.get("data", asked.data) != asked.data:
        raise KeyConflict(
            f"the key {asked.key!r} was used before with other data, or under a secret that is not kept with this ledger "
            "any more; choose a new key, and name the version of the data with about=",
            key=asked.key,
        )


@lru_cache(maxsize=4096)
def _text_of(loss: PrivacyLoss) -> str:
    return to_json(loss)


def _stored(entry: Entry) -> "Release[Any]":
    return Release.from_json(entry.facts["release"])


def run(mechanism: Any, data: Any, reservation: Reservation) -> "tuple[Release[Any], str]":
    """Run a mechanism that is paid for. Whatever goes wrong in it, the caller sees one constant error, no trace of where
    it came from, and no frame that holds the data. An interruption is passed on, but without its text.
    """
    made: Any = None
    text = stop = None
    try:
        with quiet():
            made = drawn(mechanism, data, reservation)
            if isinstance(made, Release) and made.loss == reservation.loss:
                text = made.to_json()
    except BaseException as error:
        text, stop = None, _stop_of(error)
    del mechanism, data
    if stop is not None:  # outside the handler, so that the error carries no context
        made = None
        raise stop(*_TOLD.get(stop, ()))
    if text is None:
        made = None
        raise ReleaseFailed(_FAILED, seq=reservation.seq)
    return made, text


def _stop_of(error: BaseException) -> type[BaseException] | None:
    """What a person or an event loop asks for is obeyed; everything else is a failure of the mechanism."""
    for kind in (KeyboardInterrupt, CancelledError, SystemExit):
        if isinstance(error, kind):
            return kind
    return None


def drawn(mechanism: Any, data: Any, reservation: Reservation) -> Any:
    """The release, as the one whole that is paid for: its parts cost nothing more."""
    with paid_for():
        made = mechanism.release(data)
    return replace(made, paid=payment_of(reservation)) if isinstance(made, Release) else made


def payment_of(reservation: Reservation) -> dict[str, Any] | None:
    """Which entry of which ledger paid."""
    tip = getattr(reservation.ledger, "_tip", None)
    return None if tip is None else {"ledger": tip.policy.ledger, "entry": reservation.seq}


def check_input(mechanism: Any, data: Any) -> None:
    """What a mechanism cannot take by its type or shape is refused before anything is paid, without the data."""
    problem = None
    if isinstance(mechanism, Mechanism):
        try:
            mechanism.check(data)
        except PrivetError as error:
            problem = error.with_traceback(None)
    del data
    if problem is not None:
        raise problem


def recorded(store: Store, reservation: Reservation) -> "Release[Any] | None":
    """What a reservation has released already; one that this ledger never made pays for nothing."""
    paid = store.entry(reservation.seq)
    said = ("reserve", reservation.analyst or "", reservation.key, _text_of(reservation.loss))
    if paid is None or (paid.kind, paid.analyst, paid.key, paid.loss) != said:
        raise LedgerError("this reservation is not in the ledger; nothing is recorded")
    for entry in store.entries(reservation.seq, ("release",)):
        if entry.facts["reserve"] == str(reservation.seq):
            check_hash(entry)
            return _stored(entry)
    return None


def record_in(session: Session, reservation: Reservation, made: "Release[Any]", text: str) -> "Release[Any]":
    """Within a transaction: record a release, unless another attempt under the same key was first."""
    analyst = reservation.analyst or ""
    if reservation.key is not None:
        found = session.txn.find(analyst, reservation.key)
        if found is not None and found.kind == "release":
            check_hash(found)
            return _stored(found)
    said: dict[str, Any] = {} if reservation.data is None else {"data": reservation.data}
    session.append(
        "release",
        analyst=analyst,
        key=reservation.key,
        reserve=str(reservation.seq),
        request=reservation.request,
        release=text,
        insecure=made.insecure,
        software=SOFTWARE,
        **said,
    )
    return made

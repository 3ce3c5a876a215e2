"""`Ledger`: pay, then look. The only state in privet, and the only place where a charge is decided."""

from collections.abc import Sequence
from typing import Any, Unpack

from privet._calls import door, nearest
from privet._markup import Shown, facts
from privet._validate import above
from privet.accounting import Bound
from privet.accounting.filters import Odometer
from privet.errors import (
    InvalidParameter,
    LedgerError,
    LedgerTampered,
    UnknownName,
)
from privet.ledger.anchor import Anchor, AnchorFile, check_anchor, describe_anchored, wanted_head
from privet.ledger.budget import Budget, promised
from privet.ledger.custody import Custody, adopt
from privet.ledger.entry import Entry, clean_name
from privet.ledger.history import History, explain, export, history
from privet.ledger.places import Terms, backed_up, begin, moved, nothing_at, restored
from privet.ledger.policy import Policy
from privet.ledger.questions import MISSING, made_for
from privet.ledger.reading import Explanation, Preview, Standing, Totals, Verified, standing, standings
from privet.ledger.requests import Asked, preview, priced
from privet.ledger.session import Tip, Writing, anchor_of, check_seen, load_policy, now, read_tip
from privet.ledger.spending import Spending
from privet.ledger.store import Store
from privet.ledger.stores import connect
from privet.ledger.url import parse_url
from privet.ledger.verify import verify_store
from privet.privacy import PrivacyLoss, Promise, Unit

_NO_WAY_BACK = (
    "what was released is known to whoever saw it, so what was paid stays paid. The same key is answered again, free of "
    "charge; a larger budget is an act of its holder (raise_budget, with a reason)"
)
_INSTEAD = {
    **dict.fromkeys(("undo", "refund", "rollback", "revert", "reset", "delete", "remove", "cancel"), _NO_WAY_BACK),
    **dict.fromkeys(
        ("query", "ask", "execute", "run"), "ask it with ledger.release(table.agg(n=pv.count()), epsilon=0.5)"
    ),
    "sql": 'ask it with ledger.release(table.sql("SELECT ..."), epsilon=0.5)',
    **dict.fromkeys(("log", "transactions", "charges"), "print(ledger.history())"),
    **dict.fromkeys(("report", "page", "to_html"), "the page for readers is privet.report.ledger_page(ledger)"),
    **dict.fromkeys(("plot", "figure"), "the picture is privet.report.budget_figure(ledger)"),
    **dict.fromkeys(
        ("epsilon", "total_epsilon"), "see ledger.spent.epsilon, ledger.remaining.epsilon and ledger.budget"
    ),
}


class Ledger(Spending, Custody, Shown):
    """A budget for one data set (with its views, versions and copies), kept for as long as the data exists.

    Charges are written before data is touched: a crash, an error or a cancelled run after that has been paid for. The
    same `key` with the same request is answered from the ledger and costs nothing. Copies of the object, in whatever
    process, spend from the same budget.

    **Guarantee:** everything released is together within the budget, in every interleaving of threads, processes and
    machines, for analysts who choose each request after seeing all answers. **Reference:** docs/proofs/ledger.

    >>> import privet as pv
    >>> ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0), dataset="visits")
    >>> count = ledger.release(pv.mechanisms.Laplace.for_budget(epsilon=0.5, sensitivity=1.0), 1234, key="how many")
    >>> ledger.spent["basic epsilon"], ledger.remaining["basic epsilon"]
    (0.5, 0.5)
    >>> again = ledger.release(pv.mechanisms.Laplace.for_budget(epsilon=0.5, sensitivity=1.0), 1234, key="how many")
    >>> again.value == count.value, ledger.spent["basic epsilon"]
    (True, 0.5)
    """

    _made_by = 'Ledger.open("visits.ledger")'  # for words about a method that is asked of the class

    def __init__(self, url: str = "", timeout: float = 0.0, **_: object) -> None:
        """Use `Ledger.create` or `Ledger.open`."""
        if not timeout:
            raise InvalidParameter(
                "a ledger is begun with Ledger.create(url, budget=...) and opened with Ledger.open(url), not with Ledger()"
            )
        self.url, self.timeout = url, timeout
        self._read_only = False
        self._store: Store
        self._anchor: AnchorFile | None = None
        self._tip: Tip | None = None
        self._totals = Totals()
        self._priced: PrivacyLoss | None = None  # the last one: most requests of a handle are alike

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # of a ledger that was not made, and what libraries ask for
            raise AttributeError(name)
        near = nearest(name, [each for each in dir(type(self)) if not each.startswith("_")])
        said = f"did you mean {near}?" if near else "see ledger.spent, ledger.remaining and ledger.history()"
        raise UnknownName(f"Ledger has no {name!r:.60}: {_INSTEAD.get(name, said)}")

    @classmethod
    @door
    def create(
        cls,
        url: object,
        *,
        budget: Budget | None = None,
        epsilon: float | None = None,
        delta: float = 0.0,
        unit: Unit | None = None,
        dataset: str = "default",
        odometer: Odometer | None = None,
        schedule: Sequence[Budget] = (),
        anchor: object = None,
        timeout: float = 60.0,
    ) -> "Ledger":
        """Begin a ledger, with a `budget` or an `odometer`, where nothing is yet: what exists is refused, never replaced.

        `epsilon` and `delta` are short for `budget=Budget(epsilon, delta)`. `url`: "memory:", a path, "sqlite:///path" or
        "postgresql://...". `schedule`: budgets that the data set's may be raised to later, fixed now. `anchor`: where the
        signed head is kept. `timeout`: seconds to wait for a writer.

        >>> import privet as pv
        >>> pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0)).remaining["basic epsilon"]
        1.0
        """
        budget = promised(budget, epsilon, delta)
        terms = Terms(budget, odometer, unit, clean_name("dataset", dataset), tuple(schedule))
        url = parse_url(url).url  # from here on without a password
        if not terms.begins:
            raise InvalidParameter("a new ledger needs a budget= (it refuses) or an odometer= (it reports)")
        ledger = cls(url, above("timeout", timeout, 0.0))
        ledger._anchor = AnchorFile.of(anchor)
        ledger._store = begin(url, terms, ledger._anchor, ledger.timeout)
        return ledger

    @classmethod
    @door
    def open(
        cls,
        url: object,
        *,
        budget: Budget | None = None,
        epsilon: float | None = None,
        delta: float = 0.0,
        unit: Unit | None = None,
        dataset: str = "default",
        odometer: Odometer | None = None,
        anchor: object = None,
        timeout: float = 60.0,
        read_only: bool = False,
    ) -> "Ledger":
        """Open a ledger that exists; `Ledger.create` begins one. What is said about it must be what it was begun with.

        `anchor`: where its signed head is kept. A ledger that says it is anchored is not opened without. `timeout`:
        seconds to wait for a writer. `read_only`: look, verify and export, without the right or the wish to spend.
        """
        terms = Terms(promised(budget, epsilon, delta), odometer, unit, clean_name("dataset", dataset))
        url = parse_url(url).url
        ledger = cls(url, above("timeout", timeout, 0.0))
        ledger._anchor, ledger._read_only = AnchorFile.of(anchor), bool(read_only)
        ledger._store = connect(url, timeout=ledger.timeout, read_only=read_only)
        try:
            terms.check(ledger.policy)
            ledger._check_anchor(ledger.policy)
        except BaseException:
            ledger._store.close()
            raise
        return ledger

    @classmethod
    @door
    def open_or_create(
        cls,
        url: object,
        *,
        budget: Budget | None = None,
        epsilon: float | None = None,
        delta: float = 0.0,
        unit: Unit | None = None,
        dataset: str = "default",
        odometer: Odometer | None = None,
        schedule: Sequence[Budget] = (),
        anchor: object = None,
        timeout: float = 60.0,
    ) -> "Ledger":
        """Open the ledger at `url`, or begin it where there is none: for a script that runs every day.

        A ledger that was lost is begun anew by this, with nothing spent. An `anchor` that has seen one refuses that.

        >>> import privet as pv
        >>> pv.Ledger.open_or_create("memory:", budget=pv.Budget(epsilon=1.0)).remaining["basic epsilon"]
        1.0
        """
        budget = promised(budget, epsilon, delta)
        terms: dict[str, Any] = {"budget": budget, "unit": unit, "dataset": dataset, "odometer": odometer}
        terms |= {"anchor": anchor, "timeout": timeout}
        address, seconds = parse_url(url), above("timeout", timeout, 0.0)
        if address.store != "memory" and not nothing_at(address.url, seconds):
            return cls.open(url, **terms)
        kept = AnchorFile.of(anchor)
        if kept is not None and kept.read() is not None:
            raise LedgerError(
                "there is no ledger here, and its anchor has seen one: it was lost or moved, and a new one would forget "
                "what was spent. Put it back, or a backup of it: Ledger.restore(url, source=..., anchor=..., reason=...)"
            )
        try:
            return cls.create(url, schedule=schedule, **terms)
        except LedgerError:
            if nothing_at(address.url, seconds):
                raise
            return cls.open(url, **terms)  # another process was quicker

    @classmethod
    @door
    def restore(
        cls,
        url: object,
        *,
        source: object = None,
        anchor: object = None,
        reason: str,
        complete: bool = False,
        timeout: float = 60.0,
    ) -> "Ledger":
        """Go on with a copy: a backup (`source`) that is put to `url`, or what lies at `url` already. It becomes an entry.

        What was spent after the copy was made is unknown, so sums rise to those of the `anchor` (an `AnchorFile` or an
        `Anchor`) and, unless the anchor followed every reservation, the rest of the cap counts as spent. With
        `complete=True` you state that nothing was spent since; the entry keeps that word, and reports show it.
        """
        url = parse_url(url).url
        ledger = cls(url, above("timeout", timeout, 0.0))
        ledger._anchor = None if isinstance(anchor, Anchor) else AnchorFile.of(anchor)
        known = anchor if isinstance(anchor, Anchor) else None if ledger._anchor is None else ledger._anchor.read()
        ledger._store = restored(url, source, known, (reason, bool(complete)), ledger._anchor, ledger.timeout)
        return ledger

    def _holds(self, seq: int) -> str | None:
        entry = self._store.entry(seq)
        return None if entry is None else entry.hash.hex()

    def _check_anchor(self, policy: Policy) -> None:
        """A check that what was anchored is there; a ledger that says it is anchored is not used without."""
        if self._anchor is not None:
            check_anchor(self._anchor, self._holds, policy.ledger, None if self._read_only else policy.anchored)
        elif policy.anchored is not None and not self._read_only:
            raise LedgerTampered(
                f"this ledger is {describe_anchored(policy.anchored)}: give anchor=, without which nobody sees whether an "
                "old copy was put back. read_only=True looks at it as it is; for a lost anchor see Ledger.restore"
            )

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
        """The sums of the rule so far."""
        return standing("spent", self._look(), self.caveat)

    @property
    def remaining(self) -> Standing:
        """The rest of the budget, per rule and currency."""
        return standing("remaining", self._look(), self.caveat)

    @property
    def caveat(self) -> str | None:
        """Why more may have been spent than is shown here (a copy or a backup that is read); mostly None."""
        return self._store.caveat

    def accounts(self) -> dict[str, Standing]:
        """The spending of every account: the data set, its groups, its analysts."""
        return standings(self._look(), self._store.balances())

    @property
    def anchored(self) -> Anchor | None:
        """The anchor that this ledger was opened with, as it is kept now."""
        return None if self._anchor is None else self._anchor.read()

    @door
    def preview(
        self,
        loss: Any,
        *,
        analyst: str | None = None,
        part: Any = None,
        at: float | None = None,
        **promise: Unpack[Promise],
    ) -> Preview:
        """The cost of a request before it is made: whether it would be granted, what would be left, how many such fit,
        which rules it would end. Takes a loss, a mechanism, or a question with what it may cost: `epsilon=0.5`. Pays
        nothing.
        """
        if promise:
            loss, _ = made_for(loss, MISSING, dict(promise), self._unit_for(promise))
        mechanism = None if isinstance(loss, PrivacyLoss) else loss
        wanted = loss if mechanism is None else priced(mechanism, durable=self._store.durable)
        asked = Asked.of(analyst, None, None, part, mechanism, at=at)
        return preview(self._look(), self._store.balances(), wanted, asked)

    @door
    def total(self, *, delta: float) -> Bound:
        """The price of all reservations together *if every parameter had been fixed in advance*, by the best
        accountant.

        **Guarantee:** valid for that case only. It informs; it never decides about the next release.
        """
        return self._totals.read(self._store).bound(self.policy, delta)

    def entries(self) -> list[Entry]:
        """All entries, oldest first."""
        return list(self._store.entries())

    @property
    def length(self) -> int:
        """The number of entries."""
        return self._look().seq

    def history(self) -> History:
        """All charges, each with the release that it paid for, and the acts of the custodian between them: a list, which
        prints the lines of `privet ledger log`.
        """
        return history(self._store, self.policy)

    def explain(self, seq: int) -> Explanation:
        """One entry in words: who, when, what was asked, what it cost in every account, what it paid for."""
        return explain(self._store, seq)

    def export(self) -> dict[str, Any]:
        """The whole ledger as plain JSON values, stored releases included."""
        return export(self._store, self.policy)

    def verify(self, head: object = None, *, values: bool = False) -> Verified:
        """Read everything again: chain, sums, balance cache, anchors. Raises `LedgerTampered` at the first bad entry.

        `head`: an `Anchor`, an `Entry` or a hash that the chain must contain. `values`: also read every large value, which
        lies outside of the chain, and compare it with its digest; those that were deleted are named.
        """
        wanted: list[tuple[str | None, int | None, str]] = [] if head is None else [wanted_head(head)]
        if self._anchor is not None:
            known = self._anchor.read()
            wanted += [*([] if known is None else [wanted_head(known)]), *self._anchor.log()]
        return verify_store(self._store, wanted, values=values)

    # --- administration: every act is an entry -----------------------------------------------------------------------

    def checkpoint(self, anchor: object = None) -> Anchor:
        """Commit, then sign the head and keep it elsewhere: in `anchor`, or in the anchor that the ledger was opened
        with. Without either, the unsigned anchor is returned for you to keep.
        """
        place = AnchorFile.of(anchor) or self._anchor
        self._anchor = self._anchor or place  # from the first one on the ledger is not used without
        with self._writing() as session:
            assert session.policy is not None
            if place is not None and session.policy.anchored is None:
                session.append("anchor", anchor={"key": place.expected_key()}, time=now())
            session.append("checkpoint", time=now())
            made = anchor_of(session)
        return made if place is None else place.write(made, self._holds)

    def adopt(self, anchor: Anchor, *, reason: str) -> None:
        """Count as spent what an anchor says: sums rise to its and, unless it followed every reservation, the rest of the
        cap counts as spent. `Ledger.restore` does this for a copy that is put back.
        """
        if not isinstance(anchor, Anchor):
            raise InvalidParameter(f"adopt takes an Anchor, got {type(anchor).__name__}")
        with self._writing() as session:
            adopt(session, anchor.check(), reason)

    def migrate(self, to_url: object, *, timeout: float = 60.0) -> "Ledger":
        """Move to another store, entry by entry, hash by hash, with the anchor. There is one budget at every moment: this
        ledger is closed when everything is ready at the other place, and that place begins to grant after it. A move that
        fails before leaves this one open; one that is interrupted after that is ended by calling it again.
        """
        moved(self, to_url, timeout=above("timeout", timeout, 0.0))
        return Ledger.open(to_url, timeout=timeout, anchor=self._anchor)

    def backup(self, path: object) -> Verified:
        """Write all entries, as they are together at one moment, to a new file. Blocks nobody. The file can be read
        (`read_only=True`) and verified, but is no second budget: `Ledger.restore` says how to go on with it.
        """
        return backed_up(self._store, path, timeout=self.timeout)

    # --- one object, one budget ------------------------------------------------------------------------------------

    def __copy__(self) -> "Ledger":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Ledger":
        return self

    def __reduce__(self) -> Any:
        if not self._store.durable:
            raise LedgerError(
                "a ledger in memory cannot be pickled, nor go to another process: the copy would be a second budget; keep "
                "it in a file, or use threads"
            )
        return _reopen, (self.url, self.timeout, self._anchor, self._read_only)

    def close(self) -> None:
        """Let go of the file or the server; the next use connects again."""
        self._store.close()

    def __repr__(self) -> str:
        policy = self.policy
        promise = "odometer" if policy.budget is None else policy.budget.describe()
        return f"<Ledger {parse_url(self.url).shown!r} for {policy.dataset!r}: {promise}>"

    def __str__(self) -> str:
        noted = "" if self.caveat is None else f"; {self.caveat}"
        return f"Ledger of {self.dataset!r}: {self.remaining.headline}; {self._promised()}{noted}"

    def _repr_html_(self) -> str:
        pairs = [("budget", self.remaining.headline), ("promise", self._promised())]
        pairs += [("one person", self.unit.describe()), ("entries", f"{self.length:,}")]
        pairs += [] if self.caveat is None else [("note", self.caveat)]
        return facts(f"Ledger of {self.dataset}", [*pairs, ("kept in", parse_url(self.url).shown)])

    def _promised(self) -> str:
        budget = self.policy.budget
        return "an odometer: it reports and refuses nothing" if budget is None else budget.describe()

    # --- the store -------------------------------------------------------------------------------------------------

    def _writing(self, *, durable: bool = True) -> Writing:
        self.refuse_sealed()
        return Writing(self, durable)

    def _look(self) -> Tip:
        """The newest head, without a lock."""
        head = self._store.head()
        if head is None:
            load_policy(self._store)
            raise LedgerError("this store holds no ledger")
        tip = self._tip
        if tip is None or tip.hash != head.hash:
            if tip is not None and tip.seq > head.seq:  # another thread may have gone on meanwhile
                head = self._store.head() or head
            check_seen(self._store, head, tip)
            tip = self._tip = read_tip(self._store, head, None if tip is None else tip.policy)
        return tip


def _reopen(url: str, timeout: float, anchor: AnchorFile | None, read_only: bool = False) -> Ledger:
    return Ledger.open(url, timeout=timeout, anchor=anchor, read_only=read_only)

"""The entries as people read them: one in words, all of them in order, and the whole ledger as one JSON document."""

import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from privet._cache import kept_property
from privet._markup import Shown, grid, note, short
from privet.accounting.filters import Sums
from privet.accounting.filters.amounts import to_float
from privet.errors import InvalidParameter, LedgerTampered, PrivetError
from privet.ledger.account import read_sums
from privet.ledger.entry import DATASET, GENESIS, Entry
from privet.ledger.partition import Part
from privet.ledger.policy import Policy
from privet.ledger.reading import Explanation
from privet.ledger.session import check_hash, load_policy
from privet.ledger.store import Reader, Store
from privet.mechanisms import Release
from privet.privacy import PrivacyLoss, from_json

_RESERVE = re.compile(r',"reserve":"([0-9]+)"')  # no text inside a body holds this: its quotes would be escaped
_RUN = re.compile(r'"run":\{"id":"([0-9]+)"')
_SHOWN = 100  # lines in a notebook
_KEPT = ("sums", "policy", "signature")  # what readers recompute


@dataclass(frozen=True, eq=False, repr=False)
class Event:
    """One entry of the history, read: a charge with what it paid for, or an act of the custodian.

    Fields are read when they are asked for, so a long history is quick to walk.

    >>> import privet as pv
    >>> ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    >>> _ = ledger.reserve(pv.privacy.PureLoss(0.25), purpose="how many")
    >>> event = ledger.history()[-1]
    >>> event.kind, event.purpose, event.loss.pure(), event.costs["basic epsilon"], event.recorded
    ('reserve', 'how many', 0.25, 0.25, None)
    """

    entry: Entry
    record: Entry | None
    currencies: tuple[str, ...]
    begun: int | None = None  # for a run: how many of its slices were begun

    @property
    def seq(self) -> int:
        """The number of the entry."""
        return self.entry.seq

    @property
    def kind(self) -> str:
        """`reserve` for a charge; else the name of the act."""
        return self.entry.kind

    @kept_property
    def _facts(self) -> dict[str, Any]:
        return self.entry.facts

    @property
    def facts(self) -> dict[str, Any]:
        """The facts of the entry, without sums and signatures."""
        return {name: value for name, value in self._facts.items() if name not in _KEPT}

    @property
    def time(self) -> str:
        """When it was written, in UTC; empty for entries that carry no time."""
        return str(self._facts.get("time", ""))

    @property
    def software(self) -> str:
        """The version that wrote it."""
        return str(self._facts.get("software", ""))

    @property
    def analyst(self) -> str | None:
        """Who asked."""
        return self.entry.analyst or None

    @property
    def key(self) -> str | None:
        """The key of the request."""
        return self.entry.key

    @property
    def purpose(self) -> str | None:
        """Why, in the words of the request."""
        return self._facts.get("purpose")

    @property
    def question(self) -> str | None:
        """The question in its own public words, where it has some."""
        return self._facts.get("question")

    @property
    def about(self) -> str | None:
        """The version of the data."""
        return self._facts.get("about")

    @property
    def part(self) -> Part | None:
        """The part of a partition that was charged."""
        part = self._facts.get("part")
        return None if part is None else Part(*part)

    @property
    def at(self) -> float | None:
        """The delta at which it was charged as one point."""
        at = self._facts.get("at")
        return None if at is None else float(at)

    @property
    def loss(self) -> PrivacyLoss | None:
        """The true loss; None where nothing was charged, or where this version of privet cannot read it."""
        return None if self.entry.loss is None else _loss_of(self.entry.loss)

    @property
    def sums(self) -> Sums:
        """The spending of the data set after it, as whole amounts."""
        return read_sums(self._facts["sums"][DATASET])

    @kept_property
    def costs(self) -> dict[str, float]:
        """The amounts that the charge added to the data set's account, by rule and currency."""
        if self.kind != "reserve":
            return {}
        return dict(zip(self.currencies, _flat(read_sums(self.entry.charged[DATASET])), strict=True))

    @property
    def slices(self) -> int | None:
        """For a run: how many slices it has, or pays again for."""
        run = self._facts.get("run")
        if run is None:
            return None
        listed = run.get("slices")
        return int(run["paid"][0][1]) - int(run["next"]) if listed is None else sum(int(number) for number, _ in listed)

    @property
    def recorded(self) -> int | None:
        """The entry that records the release; None where nothing was recorded."""
        return None if self.record is None else self.record.seq

    @property
    def secure(self) -> bool | None:
        """Was the noise of the release secure?"""
        return None if self.record is None else not self.record.facts["insecure"]

    @property
    def mechanism(self) -> str | None:
        """The name of the mechanism whose release is recorded."""
        if self.record is None:
            return None
        name: str | None = json.loads(self.record.facts["release"]).get("mechanism")
        return name

    @property
    def price(self) -> str:
        """The first finite price, rounded up: epsilon where there is one."""
        for name, amount in self.costs.items():
            if math.isfinite(amount) and (amount > 0.0 or len(self.costs) < 3):
                return f"{name.partition(' ')[2]} {short(amount, up=True)}"
        return "nothing more" if self.costs else ""

    @property
    def what(self) -> str:
        """An act in words; of a charge, what became of it where that is not a release."""
        if self.kind != "reserve":
            return _told(self.kind, self.facts)
        if self.slices is not None:
            return f"a run: {self.begun or 0:,} of {self.slices:,} slices begun"
        return "" if self.recorded is not None else "paid, nothing recorded"

    def cells(self) -> tuple[str, str, str, str, str, str]:
        """The texts of a line: number, time, kind, who, price, and what was asked or done."""
        charge = self.kind == "reserve"
        loss = "" if self.loss is None else self.loss.describe()
        asked = self.purpose or self.key or self.question or loss if charge else self.what
        lost = "  (nothing recorded)" if charge and self.recorded is None else ""
        who = self.analyst or ("custodian" if charge else "")
        return str(self.seq), self.time[:19], "charge" if charge else self.kind, who, self.price, f"{asked}{lost}"

    def __str__(self) -> str:
        seq, time, kind, who, price, said = self.cells()
        return f"{seq:>6}  {time:<19}  {kind:<10}  {who:<12}  {price:<18}  {said}".rstrip()

    def __repr__(self) -> str:
        return f"<entry {' '.join(str(self).split())}>"


class History(list[Event], Shown):
    """All events of a ledger in order: a list, which prints the lines of `privet ledger log`.

    >>> import privet as pv
    >>> ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    >>> _ = ledger.reserve(pv.privacy.PureLoss(0.25), purpose="how many")
    >>> print(ledger.history())  # doctest: +ELLIPSIS
         1  ...  open                                            began the ledger of default
         2  ...  charge      custodian     epsilon 0.25        how many  (nothing recorded)
    """

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        shown = self[-_SHOWN:]
        more = note(f"{len(self) - _SHOWN:,} older entries") if len(self) > _SHOWN else ""
        titles = ["entry", "time (UTC)", "kind", "who", "price", "what"]
        return more + grid(titles, (event.cells() for event in shown))


def _told(kind: str, facts: dict[str, Any]) -> str:
    """An act in words."""
    reason = f": {facts['reason']}" if facts.get("reason") else ""
    if kind == "budget":
        verb = "lowered" if facts.get("lowered") else ("raised as scheduled" if facts["scheduled"] else "raised")
        return f"cap of {facts['scope']} {verb}{reason}"
    if kind == "analyst":
        what, name = facts["what"], facts.get("name", "")
        words = {
            "analyst": "registered analyst",
            "group": "registered group",
            "required": "every request must be named",
        }
        return f"{words.get(what, what)} {name}{reason}".strip()
    if kind == "partition":
        return f"declared the parts of {facts['name']}"
    words = {
        "open": f"began the ledger of {facts.get('dataset', '')}",
        "close": "closed the data set",
        "adopt": "went on with a restored copy",
        "anchor": "anchored from here on",
        "moved": "arrived from another store",
        "custodian": "appointed a custodian",
        "checkpoint": "made a checkpoint",
    }
    return words[kind] + reason


@lru_cache(maxsize=4096)
def _loss_of(text: str) -> PrivacyLoss | None:
    try:
        return from_json(text)
    except PrivetError:
        return None


def history(store: Reader, policy: Policy) -> History:
    """All charges, each with the release that it paid for, and the acts between them, in order. The slices of a run are
    counted with the charge that began it.
    """
    entries, released = [], {}
    begun: Counter[str] = Counter()
    for entry in store.entries():
        if entry.kind == "slice":
            found = _RUN.search(entry.body)
            begun[found[1] if found else str(entry.facts["run"]["id"])] += 1
            continue
        if entry.kind != "release":
            entries.append(entry)
            continue
        found = _RESERVE.search(entry.body)
        released[found[1] if found else str(entry.facts["reserve"])] = entry
    names = policy.account.currencies
    return History(Event(entry, released.get(str(entry.seq)), names, begun.get(str(entry.seq))) for entry in entries)


def explain(store: Store, seq: int) -> Explanation:
    """Who, when, what was asked, what it cost in every account and currency, and the release that it paid for."""
    entry = store.entry(seq) if isinstance(seq, int) and not isinstance(seq, bool) else None
    if entry is None:
        raise InvalidParameter("there is no such entry; entries are numbered from 1 to the head")
    check_hash(entry)
    facts = entry.facts
    policy = load_policy(store, upto=entry.seq)
    told: dict[str, Any] = {
        "seq": entry.seq,
        "kind": entry.kind,
        "dataset": policy.dataset,
        "analyst": entry.analyst or None,
        "purpose": facts.get("purpose"),
        "question": facts.get("question"),
        "key": entry.key,
        "part": facts.get("part"),
        "time": facts.get("time"),
        "about": facts.get("about"),
        "loss": None if entry.loss is None else json.loads(entry.loss),
        "at": facts.get("at"),
        "cost": _costs(policy, entry),
        "software": facts.get("software"),
        "hash": entry.hash.hex(),
    }
    if entry.kind == "reserve":
        told.update(_paid_for(_release_of(store, entry.seq)))
    elif entry.kind == "release":
        told.update({"reservation": int(facts["reserve"]), **_paid_for(entry)})
    else:
        hidden = {"sums", "policy", "time", "software", "dataset"}
        told.update({name: value for name, value in facts.items() if name not in hidden and name not in told})
    return Explanation(told)


def _costs(policy: Policy, entry: Entry) -> dict[str, dict[str, float]]:
    accounts = {scope: account for scope, account, _ in policy.scopes(entry.analyst)} if entry.kind == "reserve" else {}
    costs = {}
    for scope, plain in entry.charged.items():
        account = accounts.get(scope if scope in accounts else json.loads(scope)[0])
        names = account.currencies if account is not None else ()
        costs[scope] = dict(zip(names, _flat(read_sums(plain)), strict=True))
    return costs


def _flat(sums: Sums) -> list[float]:
    return [to_float(amount) for rule in sums for amount in rule]


def _release_of(store: Store, seq: int) -> Entry | None:
    for entry in store.entries(seq, ("release",)):
        if entry.facts["reserve"] == str(seq):
            return entry
    return None


def _paid_for(entry: Entry | None) -> dict[str, Any]:
    if entry is None:
        return {"release": None, "note": "paid; no release is recorded for it"}
    facts = entry.facts
    made = Release.from_json(facts["release"])
    return {
        "release": str(made),
        "mechanism": made.mechanism,
        "noise": "seeded: protects nobody" if made.insecure else "secure",
        "recorded": entry.seq,
    }


def export(store: Store, policy: Policy) -> dict[str, Any]:
    """Everything a reader needs to check the chain and to total the losses with an accountant of their own. What does
    not have its own hash is not exported as if it were good.
    """
    entries, last = [], GENESIS
    for entry in store.entries():
        check_hash(entry)
        if entry.prev != last:
            raise LedgerTampered(
                f"entry {entry.seq} does not follow the one before it; entries are missing or were moved"
            )
        entries.append(entry.to_dict())
        last = entry.hash
    return {
        "privet_ledger": 1,
        "ledger": policy.ledger,
        "dataset": policy.dataset,
        "unit": policy.unit.to_dict(),
        "budget": None if policy.budget is None else policy.budget.describe(),
        "head": {"seq": entries[-1]["seq"], "hash": entries[-1]["hash"]},
        "entries": entries,
    }

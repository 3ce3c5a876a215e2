"""One entry in words, and the whole ledger as one JSON document."""

import json
from typing import Any

from privet.accounting.filters import Sums
from privet.accounting.filters.amounts import to_float
from privet.errors import InvalidParameter, LedgerTampered
from privet.ledger.amounts import read_sums
from privet.ledger.entry import GENESIS, Entry
from privet.ledger.policy import Policy
from privet.ledger.session import check_hash, load_policy
from privet.ledger.store import Store
from privet.ledger.views import Explanation
from privet.mechanisms import Release


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

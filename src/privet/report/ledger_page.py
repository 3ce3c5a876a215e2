"""A ledger for a regulator, or for the people in the data: one web page that loads nothing."""

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from privet.errors import LedgerTampered
from privet.ledger import Event
from privet.report.ledger import LedgerStatus, ledger_status
from privet.report.ledger_log import ledger_log, log_columns
from privet.report.meaning import posterior
from privet.report.numbers import percent_up, plain, round_up
from privet.report.page import render

if TYPE_CHECKING:
    from privet.ledger import Ledger

_MOST = 1000  # rows of a table; the CSV has all
_WIDE, _HIGH = 700, 150  # of the picture, in pixels
_PROOFS = {
    "any of": "docs/proofs/ledger/any-of.md and docs/proofs/ledger/charging-at-a-delta.md",
    "odometer": "docs/proofs/ledger/odometer.md",
    "Dong": "docs/proofs/ledger/slots.md",
}
_NOT_COVERED = (
    "Releases made from the same people around this ledger, from a copy of the data, or under another ledger.",
    "What the data say about everybody alike: what would be found with or without one person is no breach of this promise.",
    "Facts that several people share: the promise is about one unit at a time, as defined above.",
    "Mechanisms that are not what they state: prices are checked by proofs, tests and audits, not by the ledger.",
    "Timing: how long a release took is visible to whoever waits for it.",
    "Entries newer than the last anchor: whoever can write the store could cut them off unseen.",
)


def ledger_page(ledger: "Ledger") -> str:
    """The whole ledger as a web page of its own: who is protected, what was promised, spent and left, what that means
    for one person, every release with its price, raises and failures, the theorem, the trust model, what is not covered,
    versions, anchor and verification, and how to recompute it. Nothing is loaded, everything is escaped.

    >>> import privet as pv
    >>> ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0), dataset="visits")
    >>> _ = ledger.reserve(pv.privacy.PureLoss(0.3))
    >>> "used 30%, 0.7 left (rule: basic)" in ledger_page(ledger)
    True
    """
    status, rows = ledger_status(ledger), ledger_log(ledger)
    checked, failed = _checked(ledger)
    rule, caps = _rule_of(ledger)
    charges = [row for row in rows if row.kind == "reserve"]
    acts = [row for row in rows if row.kind not in ("reserve", "checkpoint")]
    return render(
        "ledger.html",
        status=status,
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        failed=failed,
        checked=checked,
        headline=("This ledger does not verify. " if failed else "") + _promise_in_words(ledger),
        sentence=_sentence(ledger, status),
        meaning=_meaning(ledger),
        capped=ledger.budget is not None,
        rule=rule,
        picture=_picture(caps, charges) if charges and ledger.budget is not None else None,
        promise=_promise(status),
        charges=charges,
        shown=[_line(row, caps) for row in charges[-_MOST:]],
        acts=[(row.seq, _when(row), row.what) for row in acts[-_MOST:]],
        lost=_lost(rows),
        trust=_trust(ledger),
        not_covered=_NOT_COVERED,
        versions=_versions(rows),
        last=ledger.entries()[-1],
    )


def _promise_in_words(ledger: "Ledger") -> str:
    """The whole promise, as the first words of the page."""
    unit, budget = ledger.unit, ledger.budget
    many = "one record" if unit.group_size == 1 else f"up to {unit.group_size} records"
    who = f"all rows with the same {unit.person}" if unit.person else f"{many} of the data"
    if budget is None:
        return f"No limit is promised; what was spent is counted for one person ({who})"
    amounts = (("Epsilon", budget.epsilon), ("Rho", budget.rho), ("Mu", budget.mu))
    said = next((f"{name} {plain(round_up(amount, 4))}" for name, amount in amounts if amount is not None), None)
    if said is None:
        return f"{budget.describe()} in all, for one person ({who})"
    delta = f", with delta {plain(round_up(budget.delta, 3))}" if budget.delta else ""
    return f"{said} in all, for one person ({who}){delta}"


def _sentence(ledger: "Ledger", status: LedgerStatus) -> str:
    left = status.remaining
    if ledger.budget is None:
        return f"An odometer: it reports what was spent and refuses nothing. Protected: {status.unit}."
    closed = "" if ledger.policy.closed is None else f" The data set is closed: {ledger.policy.closed}."
    so_far = f"{status.headline.partition(' (')[0]}, by {status.reservations:,} charges"
    return (
        "Whatever is asked of this data set, and whoever asks, no more than that is ever given away about anybody. So far: "
        f"{so_far}. What is left is enough for {left}.{closed}"
    )


def _meaning(ledger: "Ledger") -> dict[str, str] | None:
    """The meaning of the promise for one person, at the full budget: the promise holds at every moment, spent
    or not."""
    budget = ledger.budget
    if budget is None or budget.epsilon is None:
        return None
    even, rare = (percent_up(posterior(budget.epsilon, prior=prior)) for prior in (0.5, 0.01))
    delta = plain(round_up(budget.delta, 3)) if budget.delta else ""
    return {"unit": ledger.unit.describe(), "even": even, "rare": rare, "delta": delta}


def _promise(status: LedgerStatus) -> list[tuple[str, str]]:
    proof = next((path for words, path in _PROOFS.items() if words in status.theorem), "docs/proofs/ledger/any-of.md")
    pairs = [("Promise", status.promise), ("One person", status.unit), ("Left, in words", status.remaining)]
    pairs += [("Theorem", status.theorem), ("Proof", proof)]
    pairs += [("Parts", line) for line in status.partitions]
    return pairs + [("Note", line) for line in status.notes]


def _rule_of(ledger: "Ledger") -> tuple[str, dict[str, float]]:
    """The rule of the headline and the caps of its currencies."""
    standing = ledger.spent
    used = standing.used
    rule = min(used, key=lambda name: used[name]) if used else standing.balances[0].rule
    return rule, {f"{row.rule} {row.currency}": row.limit for row in standing.balances if row.rule == rule}


def _share(row: Event, caps: dict[str, float]) -> float:
    shares = [row.costs.get(name, 0.0) / cap for name, cap in caps.items() if cap > 0.0 and math.isfinite(cap)]
    return min(max(shares, default=0.0), 1.0)


def _line(row: Event, caps: dict[str, float]) -> dict[str, Any]:
    """The line about one charge."""
    told = log_columns(row)
    return {
        "row": row,
        "when": _when(row),
        "question": _question(told),
        "mechanism": (told["mechanism"] or told["loss"]).replace("_", " "),
        "price": row.price + (f" at delta {told['at']}" if told["at"] else ""),
        "share": _share(row, caps),
    }


def _when(row: Event) -> str:
    return row.time[:16].replace("T", " ")


def _question(told: dict[str, str]) -> str:
    asked = ". ".join(filter(None, (told["purpose"] or told["key"], told["question"]))) or told["loss"]
    asked += f" (part {told['part']})" if told["part"] else ""
    asked += f" (data: {told['about']})" if told["about"] else ""
    return asked + ("" if told["released in"] else " — nothing recorded")


def _lost(rows: list[Event]) -> str:
    """Which charges have no release."""
    failed = [str(row.seq) for row in rows if row.kind == "reserve" and row.recorded is None]
    return ": entries " + ", ".join(failed[:50]) + (", …" if len(failed) > 50 else "") if failed else ""


def _picture(caps: dict[str, float], charges: list[Event]) -> dict[str, Any]:
    """The share of the headline's rule that was used after each charge, by the order of entries."""
    sums = dict.fromkeys(caps, 0.0)
    points, step = [(0.0, 0.0)], max(1, len(charges) // 2000)
    for i, row in enumerate(charges, 1):
        for name in sums:
            sums[name] += row.costs.get(name, 0.0)
        share = max((sums[name] / cap for name, cap in caps.items() if cap > 0.0), default=0.0)
        if i % step == 0 or i == len(charges):  # from its own place on: charge 1 stands at the left edge
            points += [(points[-1][0], min(share, 1.0)), (i / len(charges), min(share, 1.0))]
    left, top = 44, 10
    return {
        "left": left,
        "top": top,
        "wide": _WIDE,
        "high": _HIGH,
        "width": left + _WIDE + 20,
        "height": top + _HIGH + 30,
        "below": top + _HIGH + 20,
        "points": " ".join(f"{left + _WIDE * x:.1f},{top + _HIGH * (1.0 - y):.1f}" for x, y in points),
        "marks": [(f"{top + _HIGH * (1.0 - y) + 4:.0f}", f"{100 * y:.0f}%") for y in (0.0, 0.5, 1.0)],
    }


def _trust(ledger: "Ledger") -> list[str]:
    policy = ledger.policy
    custodian = (
        "Whoever can spend can also raise a cap: no custodian's key is appointed."
        if policy.custodian is None
        else f"Raising, rationing and closing need the signature of the custodian's key {policy.custodian[:16]}…."
    )
    lines = [
        "The curator's process sees the data, analysts see releases. Every charge is on the disk before data is touched.",
        "People are protected against all analysts together by the budget of the data set; rations add no guarantee.",
        custodian,
        "Every request names its analyst." if policy.named else "Requests without a name are the custodian's own.",
        "Whoever can write the store can rewrite an unanchored chain; an anchor kept elsewhere shows it.",
    ]
    if policy.partitions:
        lines.append(
            "That a release on a part saw that part only, and that a person is in as many parts as declared, is the word "
            "of the caller: the ledger cannot check it."
        )
    return lines


def _versions(rows: list[Event]) -> list[tuple[str, str]]:
    used = sorted({row.software for row in rows if row.software})
    made = [row.secure for row in rows if row.secure is not None]
    noise = (
        f"{sum(made):,} of {len(made):,} recorded releases drew from the secure source (keyed by the operating system)"
    )
    if not all(made):
        noise += "; the others are seeded and protect nobody"
    return [("Software", ", ".join(used) or "—"), ("Entropy", noise)]


def _checked(ledger: "Ledger") -> tuple[str, bool]:
    try:
        found = ledger.verify()
    except LedgerTampered as problem:
        return f"FAILED: {problem}", True
    return str(found), bool(found.underpriced)

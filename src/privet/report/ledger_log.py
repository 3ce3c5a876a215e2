"""Every charge of a ledger as a row: for a terminal, a spreadsheet and the page."""

import csv
import io
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from privet.errors import PrivetError
from privet.ledger import Entry, Ledger
from privet.privacy import from_json
from privet.report.numbers import plain, round_up
from privet.report.price import describe

_ACTS = ("budget", "analyst", "partition", "close", "adopt", "anchor", "moved", "custodian", "open", "checkpoint")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class LogRow:
    """One entry for a reader. `costs`: what it added to the data set's account, by rule and currency.

    >>> import privet as pv
    >>> ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    >>> _ = ledger.reserve(pv.privacy.PureLoss(0.25), purpose="how many")
    >>> ledger_log(ledger)[-1].price
    'epsilon 0.25'
    """

    seq: int
    kind: str
    time: str
    analyst: str
    purpose: str
    key: str
    part: str
    about: str
    loss: str
    at: str
    costs: dict[str, float]
    mechanism: str
    recorded: int | None
    secure: bool | None
    software: str
    what: str

    @property
    def price(self) -> str:
        """The first finite price: epsilon where there is one."""
        for name, amount in self.costs.items():
            if math.isfinite(amount) and (amount > 0.0 or len(self.costs) < 3):
                return f"{name.partition(' ')[2]} {plain(round_up(amount, 4))}"
        return "nothing more" if self.costs else ""

    def cells(self) -> dict[str, str]:
        """Texts, for a table."""
        costs = {f"cost: {name}": "" if math.isinf(x) else repr(x) for name, x in self.costs.items()}
        return {
            "seq": str(self.seq),
            "time": self.time,
            "kind": self.kind,
            "analyst": self.analyst,
            "purpose": self.purpose,
            "key": self.key,
            "part": self.part,
            "about": self.about,
            "what": self.what,
            "loss": self.loss,
            "at": self.at,
            "mechanism": self.mechanism,
            "released in": "" if self.recorded is None else str(self.recorded),
            "software": self.software,
            **costs,
        }


def ledger_log(ledger: Ledger, *, acts: bool = True) -> list[LogRow]:
    """All reservations, each with the release that it paid for, and the acts of the custodian between them."""
    names = ledger.policy.account.currencies
    entries = ledger.entries()
    released = {entry.facts["reserve"]: entry for entry in entries if entry.kind == "release"}
    rows = []
    for entry in entries:
        if entry.kind == "reserve":
            rows.append(_charge(entry, released.get(str(entry.seq)), names))
        elif acts and entry.kind in _ACTS:
            rows.append(_act(entry))
    return rows


def _charge(entry: Entry, release: Entry | None, names: tuple[str, ...]) -> LogRow:
    facts = entry.facts
    amounts = [amount for rule in entry.charged["dataset"] for amount in rule]
    costs = {
        name: math.inf if amount == "inf" else int(amount) / 10**40 for name, amount in zip(names, amounts, strict=True)
    }
    made = {} if release is None else json.loads(release.facts["release"])
    part = facts.get("part")
    return LogRow(
        entry.seq,
        entry.kind,
        facts.get("time", ""),
        entry.analyst,
        facts.get("purpose") or "",
        entry.key or "",
        "" if part is None else " / ".join(part),
        facts.get("about") or "",
        _loss(entry.loss or ""),
        facts.get("at") or "",
        costs,
        made.get("mechanism") or "",
        None if release is None else release.seq,
        None if release is None else not release.facts["insecure"],
        facts.get("software", ""),
        "" if release is not None else "paid, nothing recorded",
    )


def _loss(text: str) -> str:
    try:
        return describe(from_json(text))
    except PrivetError:
        return "a loss that this version of privet cannot read"


def _act(entry: Entry) -> LogRow:
    facts = entry.facts
    time, software = facts.get("time", ""), facts.get("software", "")
    empty: dict[str, float] = {}
    return LogRow(
        entry.seq,
        entry.kind,
        time,
        "",
        "",
        "",
        "",
        "",
        "",
        "",
        empty,
        "",
        None,
        None,
        software,
        _told(entry.kind, facts),
    )


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


def ledger_csv(rows: Iterable[LogRow]) -> str:
    """Comma-separated values, a line per row. Cells that a spreadsheet would run as a formula are quoted.

    >>> import privet as pv
    >>> ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    >>> ledger_csv(ledger_log(ledger)).splitlines()[0].startswith("seq,time,kind,analyst")
    True
    """
    listed = [row.cells() for row in rows]
    names = list(dict.fromkeys(name for cells in listed for name in cells))
    out = io.StringIO()
    writer = csv.DictWriter(out, names, restval="", lineterminator="\n")
    writer.writeheader()
    for cells in listed:
        writer.writerow({name: f"'{text}" if text.startswith(_FORMULA) else text for name, text in cells.items()})
    return out.getvalue()

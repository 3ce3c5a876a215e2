"""Every charge of a ledger as a row: for a terminal, a spreadsheet and the page."""

import csv
import io
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from privet.ledger import Event
from privet.report.price import describe

if TYPE_CHECKING:
    from privet.ledger import Ledger

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
    price: str = ""
    question: str = ""

    def cells(self) -> dict[str, str]:
        """Texts, for a table."""
        costs = {f"cost: {name}": "" if math.isinf(x) else repr(x) for name, x in self.costs.items()}
        return {
            "seq": str(self.seq),
            "time": self.time,
            "kind": self.kind,
            "analyst": self.analyst,
            "purpose": self.purpose,
            "question": self.question,
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


def ledger_log(ledger: "Ledger", *, acts: bool = True) -> list[LogRow]:
    """All reservations, each with the release that it paid for, and the acts of the custodian between them."""
    charges = [_charge(event) if event.kind == "reserve" else _act(event) for event in ledger.history()]
    return [row for row in charges if acts or row.kind == "reserve"]


def _charge(event: Event) -> LogRow:
    return LogRow(
        event.seq,
        event.kind,
        event.time,
        event.analyst or "",
        event.purpose or "",
        event.key or "",
        "" if event.part is None else f"{event.part.partition} / {event.part.name}",
        event.about or "",
        "a loss that this version of privet cannot read" if event.loss is None else describe(event.loss),
        "" if event.at is None else repr(event.at),
        event.costs,
        event.mechanism or "",
        event.recorded,
        event.secure,
        event.software,
        event.what,
        event.price,
        event.question or "",
    )


def _act(event: Event) -> LogRow:
    return LogRow(
        event.seq, event.kind, event.time, "", "", "", "", "", "", "", {}, "", None, None, event.software, event.what
    )


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

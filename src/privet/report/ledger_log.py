"""Every charge of a ledger, for a spreadsheet and the page: the columns of an entry as texts."""

import csv
import io
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from privet.ledger import Event
from privet.report.price import describe

if TYPE_CHECKING:
    from privet.ledger import Ledger

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def ledger_log(ledger: "Ledger", *, acts: bool = True) -> list[Event]:
    """All reservations, each with the release that it paid for, and the acts of the custodian between them.

    >>> import privet as pv
    >>> ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    >>> _ = ledger.reserve(pv.privacy.PureLoss(0.25), purpose="how many")
    >>> ledger_log(ledger)[-1].price
    'epsilon 0.25'
    """
    return [event for event in ledger.history() if acts or event.kind == "reserve"]


def log_columns(event: Event) -> dict[str, str]:
    """The texts of an entry by column, for a table; `cost: ...` are what it added to the data set's account. Of an act
    there is when, what and by which version.

    >>> import privet as pv
    >>> log_columns(pv.Ledger.create("memory:", budget=pv.Budget(1.0)).history()[0])["what"]
    'began the ledger of default'
    """
    charge = event.kind == "reserve"
    costs = {f"cost: {name}": "" if math.isinf(x) else repr(x) for name, x in event.costs.items()}
    unread = "a loss that this version of privet cannot read"
    told = {
        "seq": event.seq,
        "time": event.time,
        "kind": event.kind,
        "analyst": event.analyst if charge else None,
        "purpose": event.purpose if charge else None,
        "question": event.question if charge else None,
        "key": event.key if charge else None,
        "part": f"{event.part.partition} / {event.part.name}" if charge and event.part is not None else None,
        "about": event.about if charge else None,
        "what": event.what,
        "loss": None if not charge else unread if event.loss is None else describe(event.loss),
        "at": None if event.at is None else repr(event.at),
        "mechanism": event.mechanism,
        "released in": event.recorded,
        "software": event.software,
    }
    return {name: "" if value is None else str(value) for name, value in told.items()} | costs


def ledger_csv(events: Iterable[Event]) -> str:
    """Comma-separated values, a line per entry. Cells that a spreadsheet would run as a formula are quoted.

    >>> import privet as pv
    >>> ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    >>> ledger_csv(ledger_log(ledger)).splitlines()[0].startswith("seq,time,kind,analyst")
    True
    """
    listed = [log_columns(event) for event in events]
    names = list(dict.fromkeys(name for cells in listed for name in cells))
    out = io.StringIO()
    writer = csv.DictWriter(out, names, restval="", lineterminator="\n")
    writer.writeheader()
    for cells in listed:
        writer.writerow({name: f"'{text}" if text.startswith(_FORMULA) else text for name, text in cells.items()})
    return out.getvalue()

"""The ledger: the only room with state. Append-only, durable entries, budgets and odometers."""

from privet.ledger.ambient import current
from privet.ledger.base import Entry
from privet.ledger.budget import Budget
from privet.ledger.ledger import Ledger, Reservation
from privet.ledger.partition import Part, Partition
from privet.ledger.views import Preview, Standing, Verified

__all__ = [
    "Budget",
    "Entry",
    "Ledger",
    "Part",
    "Partition",
    "Preview",
    "Reservation",
    "Standing",
    "Verified",
    "current",
]

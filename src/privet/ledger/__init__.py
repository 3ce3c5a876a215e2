"""The ledger: the only room with state. Append-only, durable entries, budgets and odometers."""

from privet.ledger.ambient import current
from privet.ledger.anchor import Anchor, AnchorFile, new_signing_key, public_key_of
from privet.ledger.base import Entry
from privet.ledger.budget import Budget
from privet.ledger.ledger import Ledger
from privet.ledger.partition import Part, Partition
from privet.ledger.protocol import Reservation
from privet.ledger.stores.postgres_roles import grant_roles
from privet.ledger.verify import verify_export
from privet.ledger.views import Explanation, Preview, Standing, Verified

__all__ = [
    "Anchor",
    "AnchorFile",
    "Budget",
    "Entry",
    "Explanation",
    "Ledger",
    "Part",
    "Partition",
    "Preview",
    "Reservation",
    "Standing",
    "Verified",
    "current",
    "grant_roles",
    "new_signing_key",
    "public_key_of",
    "verify_export",
]

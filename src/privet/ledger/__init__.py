"""The ledger: the only room with state. Append-only, durable entries, budgets and odometers."""

from privet._face import face
from privet.ledger.ambient import (
    checked_ledger as checked_ledger,
    current as current,
    pay as pay,
    payer_of as payer_of,
)
from privet.ledger.anchor import (
    Anchor as Anchor,
    AnchorFile as AnchorFile,
    new_signing_key as new_signing_key,
    public_key_of as public_key_of,
)
from privet.ledger.budget import Budget as Budget
from privet.ledger.entry import Entry as Entry
from privet.ledger.history import Event as Event, History as History
from privet.ledger.ledger import Ledger as Ledger
from privet.ledger.partition import Part as Part, Partition as Partition
from privet.ledger.questions import Question as Question
from privet.ledger.reading import (
    Explanation as Explanation,
    Preview as Preview,
    Standing as Standing,
    Verified as Verified,
)
from privet.ledger.requests import Reservation as Reservation
from privet.ledger.runs import Run as Run, Slice as Slice
from privet.ledger.stores.postgres_roles import grant_roles as grant_roles
from privet.ledger.verify import verify_export as verify_export

__all__, __dir__ = face(globals())

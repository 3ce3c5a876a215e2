"""What stands, and what a request would do to it, without paying."""

from collections.abc import Mapping

from privet.accounting.filters import Sums
from privet.errors import BudgetExceeded
from privet.ledger.base import DATASET
from privet.ledger.policy import charge, read_balance
from privet.ledger.request import Asked
from privet.ledger.session import Tip
from privet.ledger.views import Preview, Standing
from privet.privacy import PrivacyLoss

__all__ = ["preview", "standing"]


def standing(what: str, tip: Tip) -> Standing:
    """The data set's account at a head; `what` is "spent" or "remaining"."""
    policy = tip.policy
    assert policy is not None
    promise = "an odometer" if policy.budget is None else policy.budget.describe()
    return Standing(what, policy.account, tip.spent, promise)


def preview(tip: Tip, balances: Mapping[str, tuple[str, int]], loss: PrivacyLoss, asked: Asked) -> Preview:
    """Would it be granted, what would be left, how many such fit?"""
    policy = tip.policy
    assert policy is not None

    def read(scope: str) -> Sums | None:
        if scope == DATASET:
            return tip.spent
        return read_balance(balances[scope][0]) if scope in balances else None

    part = policy.part(asked.part)
    before = standing("remaining", tip)
    try:
        made = charge(policy, read, loss, analyst=asked.analyst, part=part)
    except BudgetExceeded as refusal:
        return Preview(False, 0, before, None, str(refusal))
    after = standing("remaining", tip._replace(spent=made.after[DATASET]))
    single = loss if part is None else policy.partitions[part.partition].priced(loss, policy.unit)
    rooms = [
        account.room(read(scope) or account.zero, single).fits
        for scope, account, capped in policy.scopes(asked.analyst)
        if capped
    ]
    return Preview(True, max(1, min(rooms)), before, after, None)

"""What stands, and what a request would do to it, without paying."""

from collections.abc import Mapping

from privet.accounting.filters import Sums
from privet.errors import BudgetExceeded
from privet.ledger.entry import DATASET
from privet.ledger.policy import charge, read_balance, scope_of
from privet.ledger.request import Asked
from privet.ledger.session import Tip
from privet.ledger.views import Preview, Standing
from privet.privacy import PrivacyLoss


def standing(what: str, tip: Tip) -> Standing:
    """The data set's account at a head; `what` is "spent" or "remaining"."""
    policy = tip.policy
    assert policy is not None
    promise = "an odometer" if policy.budget is None else policy.budget.describe()
    return Standing(what, policy.account, tip.spent, promise)


def standings(tip: Tip, balances: Mapping[str, tuple[str, int]]) -> dict[str, Standing]:
    """What every account has spent: the data set, then groups, then analysts. Without a budget of its own an account
    shows its share in the currencies of the data set's.
    """
    policy = tip.policy
    assert policy is not None
    found = {DATASET: standing("spent", tip)}
    members = {scope_of(group=name): budget for name, budget in policy.groups.items()}
    members |= {scope_of(analyst=name): known.budget for name, known in policy.analysts.items()}
    members |= {scope: None for scope in sorted(balances) if scope.startswith("analyst:") and scope not in members}
    for scope, budget in members.items():
        _, account, _ = policy.ration(scope, budget)
        sums = read_balance(balances[scope][0]) if scope in balances else account.zero
        promise = "no cap of its own" if budget is None else budget.describe()
        found[scope] = Standing("spent", account, sums, promise, capped=budget is not None)
    return found


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
    ats = asked.ats(loss)
    try:
        made = charge(policy, read, loss, analyst=asked.analyst, part=part, ats=ats)
    except BudgetExceeded as refusal:
        return Preview(False, 0, before, None, str(refusal))
    spent = made.after[DATASET]
    after = standing("remaining", tip._replace(spent=spent))
    held, holds = policy.account.standing(tip.spent), policy.account.standing(spent)
    single = loss if part is None else policy.partitions[part.partition].priced(loss, policy.unit)
    rooms = [
        max(account.room(read(scope) or account.zero, single, at).fits for at in ats)
        for scope, account, capped in policy.scopes(asked.analyst)
        if capped
    ]
    return Preview(
        True, max(1, min(rooms)), before, after, None, tuple(name for name in held if name not in holds), made.at
    )

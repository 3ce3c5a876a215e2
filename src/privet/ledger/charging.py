"""The cost of a request in every account it touches: priced, added up, granted or refused, from public facts alone."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from privet._markup import short
from privet.accounting.filters import Sums
from privet.errors import BudgetExceeded, MixedUnits
from privet.ledger.account import Account, add_sums, most_sums
from privet.ledger.entry import DATASET
from privet.ledger.partition import Part, Parts
from privet.ledger.policy import Policy, part_scopes
from privet.privacy import PrivacyLoss, Unit


class Charge(NamedTuple):
    """The amounts that a request adds to each scope, and the sums of every scope after it.

    >>> Charge({}, {}).amounts
    {}
    """

    amounts: dict[str, Sums]
    after: dict[str, Sums]
    at: float | None = None  # the delta at which it was charged as one (epsilon, delta); None: by its whole curve


def charge(
    policy: Policy,
    read: Callable[[str], Sums | None],
    loss: PrivacyLoss,
    *,
    analyst: str,
    part: Part | None,
    ats: Sequence[float | None] = (None,),
) -> Charge:
    """The charge of a request: its price in every account that it touches, added up; refused where one has too little left.

    It is decided from public facts alone. `read` gives the sums of a scope. `ats` are the ways in which it may be charged:
    each a delta at which its price is one (epsilon, delta), or None for none. Of several that are granted it is the one
    which leaves the most rules of the data set's budget standing, the first of these.

    >>> from privet import privacy
    >>> from privet.ledger.budget import Budget
    >>> policy = Policy("id", "visits", privacy.Unit(), Budget(1.0))
    >>> charge(policy, lambda scope: None, privacy.PureLoss(1.0), analyst="", part=None).amounts[DATASET][0][0] == 10**40
    True
    """
    if part is None and isinstance(loss, PrivacyLoss) and loss.unit != policy.unit:
        raise _other_unit(policy.unit, loss.unit)
    if len(ats) == 1:
        if not analyst and part is None and not policy.named:
            return _charge_whole(policy, read(DATASET), loss, ats[0])  # what most requests are; quicker
        return _charge(policy, read, loss, analyst, part, ats[0])
    best: tuple[int, Charge] | None = None
    refusal: BudgetExceeded | None = None
    for at in ats:
        try:
            made = _charge(policy, read, loss, analyst, part, at)
        except BudgetExceeded as refused:
            refusal = refused
            continue
        standing = len(policy.account.standing(made.after[DATASET]))
        if best is None or standing > best[0]:
            best = standing, made
    if best is None:
        assert refusal is not None
        raise refusal.retold(str(refusal))
    return best[1]


def _charge(
    policy: Policy,
    read: Callable[[str], Sums | None],
    loss: PrivacyLoss,
    analyst: str,
    part: Part | None,
    at: float | None,
) -> Charge:
    """The charge in one of the ways that are allowed, scope by scope."""
    amounts: dict[str, Sums] = {}
    after: dict[str, Sums] = {}
    whole = read(DATASET) or policy.account.zero
    for scope, account, capped in policy.scopes(analyst):
        before = read(scope) or account.zero
        # which of several valid prices is best depends on what is spent: here, or where there is no cap, in the data set
        against = before if capped else whole
        if part is None:
            price = account.price(loss, at, against)
        else:
            price = _charge_part(policy, read, loss, part, (scope, account, at, against), amounts, after)
        try:
            after[scope] = account.plus(before, price) if capped else add_sums(before, price)
        except BudgetExceeded as refusal:
            raise _refused(policy, scope, refusal, account.point(before)) from None
        amounts[scope] = price
    return Charge(amounts, after, at)


def _charge_whole(policy: Policy, before: Sums | None, loss: PrivacyLoss, at: float | None) -> Charge:
    """The charge of a request without analyst and part: it touches the account of the data set alone."""
    account = policy.account
    before = before or account.zero
    price = account.price(loss, at, before)
    try:
        after = account.plus(before, price)
    except BudgetExceeded as refusal:
        raise _refused(policy, DATASET, refusal, account.point(before)) from None
    return Charge({DATASET: price}, {DATASET: after}, at)


def _other_unit(mine: Unit, asked: Unit) -> MixedUnits:
    """The error of a question about persons that a ledger about records is asked to pay, or the other way round."""
    return MixedUnits(
        f"this ledger protects against {mine.describe()}, and the question against {asked.describe()}; nothing was spent. "
        "Begin a ledger for it with Ledger.create(..., unit=table.unit), or describe the data by the ledger's unit"
    )


_RAISE = "only the holder of the ledger may raise the cap (raise_budget), and that is an entry too"


def _refused(policy: Policy, scope: str, refusal: BudgetExceeded, point: tuple[float, float] | None) -> BudgetExceeded:
    """The refusal in two sentences: what was asked and is left, and the next step. Its `explain()` has the rules and
    theorems."""
    who = _called(policy, scope)
    whole = f"{who}: {refusal}"
    if point is not None:
        whole += f". One more plan of (epsilon, delta) = {point!r} would be granted (remaining.point)"
    told = f"{who}: {_asked_and_left(refusal)}; nothing was spent. {_next_step(refusal, point)}"
    return refusal.retold(told, account=scope, point=point, explanation=f"{whole}. Nothing was spent; {_RAISE}")


def _asked_and_left(refusal: BudgetExceeded) -> str:
    """The amounts of one rule: of epsilon where a rule adds that up, and of what is exceeded."""
    left, asked = refusal.remaining or {}, refusal.requested or {}
    over = [name for name, amount in asked.items() if not amount <= left[name]]
    if not over:
        return str(refusal)  # it has no rules with amounts
    best = min(over, key=lambda name: (not math.isfinite(asked[name]), not name.endswith(" epsilon")))
    amount = short(asked[best], up=True) if math.isfinite(asked[best]) else "more than any finite"
    return f"asked {best.partition(' ')[2]} {amount}, {short(max(left[best], 0.0), up=False)} left"


def _next_step(refusal: BudgetExceeded, point: tuple[float, float] | None) -> str:
    """The sentence on what would be granted: at most `point`, an (epsilon, delta), or nothing."""
    asked = {name: each for name, each in (refusal.requested or {}).items() if "delta" not in name}
    unpriced = bool(asked) and not any(map(math.isfinite, asked.values()))
    if point is None:
        return f"Nothing more like it fits: {_RAISE}"
    # what is left is shown with the digits of the rule, where the point is that up to rounding
    exact = [each for name, each in (refusal.remaining or {}).items() if name.endswith(" epsilon")]
    epsilon = next((each for each in exact if math.isclose(each, point[0], rel_tol=1e-12)), point[0])
    most = f"epsilon {short(epsilon, up=False)}" + (f" and delta {short(point[1], up=False)}" if point[1] else "")
    at = "Say at which delta to charge it (at=1e-9), or ask" if unpriced else "Ask"
    return f"{at} for at most {most} (remaining.point); {_RAISE}"


def _called(policy: Policy, scope: str) -> str:
    return f"data set {policy.dataset!r}" if scope == DATASET else scope.replace(":", " ", 1)


def _charge_part(
    policy: Policy,
    read: Callable[[str], Sums | None],
    loss: PrivacyLoss,
    part: Part,
    where: tuple[str, Account, float | None, Sums],
    amounts: dict[str, Sums],
    after: dict[str, Sums],
) -> Sums:
    """The amounts that the whole is charged for a charge of one part; `amounts` and `after` get those of the part.

    A person is in g parts at most (`Partition.spread`), so what bounds the loss about one person is the sum of the g
    largest of the parts' sums; the whole is charged by how much that grows.
    """
    scope, account, at, against = where
    partition = policy.partitions[part.partition]
    price = account.price(partition.priced(loss, policy.unit), at, against)
    if policy.unit.relation == "replace":  # a person who moves is removed here and added there
        single = account.under(loss.unit).price(loss, at, against)
        price = most_sums(price, add_sums(single, single))
    cell, top = part_scopes(scope, part)
    g, rules = partition.spread(policy.unit), len(account.zero)
    tops = read(top) or account.zero * g  # the g largest sums, one after the other
    before = Parts(read(cell) or account.zero, tuple(tops[k * rules : (k + 1) * rules] for k in range(g)))
    parts, increase = before.charge(price)
    amounts[cell], after[cell] = price, parts.cell
    after[top] = tuple(rule for sums in parts.top for rule in sums)
    return increase

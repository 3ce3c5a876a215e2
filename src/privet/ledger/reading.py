"""Words and figures for people: what was spent and is left, what an entry means, what all entries add up to."""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from privet._markup import Shown, facts, grid, short
from privet.accounting import Bound, epsilon
from privet.accounting.filters import Sums
from privet.errors import NoGuarantee, UnknownName
from privet.ledger.account import Account
from privet.ledger.entry import DATASET
from privet.ledger.policy import Policy, read_balance, scope_of
from privet.ledger.store import Store
from privet.privacy import Composed, Parallel, PrivacyLoss, Repeated, from_json, to_replace

if TYPE_CHECKING:
    from privet.ledger.session import Tip


class Standing(Mapping[str, float], Shown):
    """Amounts by rule and currency, for reading; `sums` holds the exact integers in units of 10^-40.

    **Guarantee:** what is shown as spent is what the rule has summed up, not a running epsilon: the promise is the
    budget's, at every moment.

    >>> import privet as pv
    >>> ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    >>> ledger.remaining["basic epsilon"]
    1.0
    """

    def __init__(
        self,
        what: str,
        account: Account,
        sums: Sums,
        promise: str,
        *,
        capped: bool = True,
        caveat: str | None = None,
    ) -> None:
        self.what = what
        self.caveat = caveat  # why there may be more than is shown
        self.capped = capped  # an account without a cap of its own counts its share of the data set's
        self.sums = sums
        self.promise = promise
        self.theorem = account.theorem
        self.balances = account.balances(sums)
        self._account = account

    def __getitem__(self, name: str) -> float:
        for row in self.balances:
            if f"{row.rule} {row.currency}" == name:
                return row.spent if self.what == "spent" else row.remaining
        asked = f"{self.what}.epsilon is one number for all rules" if name == "epsilon" else "ask by rule and currency"
        raise UnknownName(f"there is no {name!r:.40} here; {asked}. There are {', '.join(self)}")

    def __iter__(self) -> Iterator[str]:
        return (f"{row.rule} {row.currency}" for row in self.balances)

    def __len__(self) -> int:
        return len(self.balances)

    @property
    def headline(self) -> str:
        """One line for everybody: how much is used, what is left, by which rule. Of several rules the one that has most
        left; the others are details.

        >>> import privet as pv
        >>> ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
        >>> _ = ledger.reserve(pv.privacy.PureLoss(0.3))
        >>> ledger.remaining.headline
        'used 30%, 0.7 left (rule: basic)'
        """
        if not self.capped or any(math.isinf(row.limit) for row in self.balances):
            row = self.balances[0]
            return f"spent {short(row.spent, up=True)} {row.currency}, no cap (rule: {row.rule})"
        used = self.used
        if not used:
            return "used up: every rule is closed"
        rule = min(used, key=lambda name: used[name])
        row = next(row for row in self.balances if row.rule == rule)
        left = short(row.remaining, up=False) + ("" if row.currency == "epsilon" else f" {row.currency}")
        return f"used {_percent(used[rule])}, {left} left (rule: {rule})"

    @property
    def used(self) -> dict[str, float]:
        """The share that is used of every rule that still holds, between 0 and 1; a rule that is closed is not in it."""
        shares: dict[str, float] = {}
        standing = self._account.standing(self.sums)
        for row in self.balances:
            if row.rule in standing and row.limit > 0.0:
                shares[row.rule] = max(shares.get(row.rule, 0.0), row.spent / row.limit)
        return shares

    def ended(self, rule: str) -> bool:
        """Has this rule been crossed? It never recovers."""
        return self.capped and rule not in self._account.standing(self.sums)

    @property
    def epsilon(self) -> float | None:
        """Of what remains: the largest epsilon of one more pure release. Of what was spent: the sum of epsilons, None
        where no rule adds them up (or the rule that does is closed).

        >>> import privet as pv
        >>> pv.Ledger.create("memory:", budget=pv.Budget(1.0)).remaining.epsilon
        1.0
        """
        if self.what != "spent":
            return self.largest_pure
        found = (row.spent for row in self.balances if row.currency == "epsilon" and row.rule in self._standing_or_all)
        return next(found, None)

    @property
    def point(self) -> tuple[float, float] | None:
        """An (epsilon, delta) that one more plan may ask for and be granted; with more of either it would be refused. Of
        several such pairs, the one with the largest epsilon; delta is 0 where no rule has any left. None where nothing
        fits, or nothing is refused. A refusal names it.

        >>> import privet as pv
        >>> pv.Ledger.create("memory:", budget=pv.Budget(3.0, 1e-6)).remaining.point
        (3.0, 2.5e-07)
        """
        return self._account.point(self.sums) if self.capped else None

    @property
    def _standing_or_all(self) -> tuple[str, ...]:
        return self._account.standing(self.sums) if self.capped else tuple(row.rule for row in self.balances)

    @property
    def largest_pure(self) -> float:
        """The largest epsilon of one more pure release that is known to fit."""
        return self._account.room(self.sums, None).largest_pure

    def fits(self, loss: PrivacyLoss) -> float:
        """The number of further releases with this loss that fit: a whole number, or infinity."""
        return self._account.room(self.sums, loss).fits

    def to_dict(self) -> dict[str, Any]:
        """Plain values; infinite ones as None."""
        return {name: value if math.isfinite(value) else None for name, value in self.items()}

    def __repr__(self) -> str:
        return f"<{self.what}: {self.headline}; {self.promise}{'' if self.caveat is None else '; ' + self.caveat}>"

    def __str__(self) -> str:
        lines = [f"{self.what}: {self._amount()} ({self.headline}); {self.promise}"]
        standing = self._standing_or_all
        closed = dict.fromkeys(row.rule for row in self.balances if row.rule not in standing)
        for row in self.balances:
            if row.rule in closed:
                continue
            if math.isinf(row.limit) or not self.capped:
                lines.append(f"  {row.rule} {row.currency}: {row.spent:.6g}, no cap")
            else:
                amount = row.spent if self.what == "spent" else row.remaining
                lines.append(f"  {row.rule} {row.currency}: {amount:.9g} of {row.limit:.9g}")
        lines += [f"  {name}: closed" for name in closed]
        return "\n".join(lines if self.caveat is None else [*lines, f"  note: {self.caveat}"])

    def _amount(self) -> str:
        """One amount: of epsilon where a rule that holds adds that up, else of the rule that has most left."""
        held = [row for row in self.balances if row.rule in self._standing_or_all]
        if not held:
            return "all of it" if self.what == "spent" else "nothing"
        row = next((row for row in held if row.currency == "epsilon"), held[0])
        amount = short(row.spent, up=True) if self.what == "spent" else short(row.remaining, up=False)
        capped = self.capped and math.isfinite(row.limit)
        return f"{amount} of {row.limit:.4g} {row.currency}" if capped else f"{amount} {row.currency}"

    def explain(self) -> str:
        """The amounts of every rule, and the theorem by which the promise holds for adaptive choices.

        >>> import privet as pv
        >>> print(pv.Ledger.create("memory:", budget=pv.Budget(1.0)).spent.explain().splitlines()[-1])
        theorem: Rogers, Roth, Ullman & Vadhan 2016
        """
        return f"{self}\ntheorem: {self.theorem}"

    def _repr_html_(self) -> str:
        closed = [row.rule for row in self.balances if row.rule not in self._standing_or_all]
        open_rules = [row for row in self.balances if row.rule not in closed]
        bare = not self.capped
        rows = [
            (f"{row.rule} {row.currency}", f"{row.spent:.6g}", "no cap" if bare else f"{row.limit:.6g}")
            + (("",) if bare else (f"{row.remaining:.6g}",))
            for row in open_rules
        ] + [(rule, "closed", "", "") for rule in dict.fromkeys(closed)]
        title = f"{self.what}: {self._amount()} ({self.headline}); {self.promise}"
        noted = [] if self.caveat is None else [("note", self.caveat)]
        return facts(title, noted) + grid(["rule", "spent", "cap", "left"], rows)


def _percent(share: float) -> str:
    """Rounded up to a tenth of a percent; what is not used up is not called 100%."""
    tenths = math.ceil(1000.0 * share - 1e-9)
    return f"{(min(tenths, 999) if share < 1.0 else tenths) / 10.0:g}%"


@dataclass(frozen=True)
class Preview(Shown):
    """The cost of a request for which nothing was paid.

    `fits` counts how many such requests would still be granted, this one included. `ends` names the rules that hold now
    and would not afterwards: what they are kind to would no longer fit.

    >>> import privet as pv
    >>> preview = pv.Ledger.create("memory:", budget=pv.Budget(1.0)).preview(pv.privacy.PureLoss(0.25))
    >>> preview.allowed, preview.fits
    (True, 4)
    """

    allowed: bool
    fits: float
    before: Standing
    after: Standing | None
    refusal: str | None
    ends: tuple[str, ...] = ()  # the rules that this request would end
    at: float | None = None  # the delta at which it would be charged as one point
    why: str | None = None  # of a refusal: every rule, and the theorem

    def explain(self) -> str:
        """The answer with the amounts of every rule and the theorem behind them."""
        return self.why or f"{self}\n{self.before.explain()}"

    def __bool__(self) -> bool:
        return self.allowed

    def __str__(self) -> str:
        if not self.allowed:
            return f"refused: {self.refusal}"
        many = "as many as you like" if math.isinf(self.fits) else f"{self.fits:,.0f}"
        point = "" if self.at is None else f", charged as one point at delta {self.at:g}"
        ended = "".join(f"\nwarning: this ends the rule {name}" for name in self.ends)
        assert self.after is not None
        now, then = self.before.headline, self.after.headline
        return f"granted{point}; such requests that fit: {many}{ended}\nbefore: {now}\nafter:  {then}"

    def _repr_html_(self) -> str:
        if not self.allowed or self.after is None:
            return facts("Refused", [("why", self.refusal or "")])
        many = "as many as you like" if math.isinf(self.fits) else f"{self.fits:,.0f}"
        pairs = [("such requests that fit", many), ("before", self.before.headline), ("after", self.after.headline)]
        return facts("Granted", [*pairs, *(("warning", f"this ends the rule {name}") for name in self.ends)])


@dataclass(frozen=True)
class Verified(Shown):
    """The result of a check that passed; one that does not pass raises `LedgerTampered`.

    `anchored` is the seq of the newest anchor that was compared (0: none): nothing sees a rollback of entries after it.
    `values` counts the values outside of the chain that were read and found as recorded (None: they were not looked at),
    `deleted` names the entries whose values are gone.

    >>> Verified(3, "ab", 1, 0, ()).entries
    3
    """

    entries: int
    head: str
    orphans: int
    anchored: int
    underpriced: tuple[int, ...]
    values: int | None = None
    deleted: tuple[int, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**vars(self), "underpriced": list(self.underpriced), "deleted": list(self.deleted)}

    def __str__(self) -> str:
        anchor = f"anchored up to entry {self.anchored}" if self.anchored else "no anchor was compared"
        found = f"{self.entries} entries, chain and sums agree; {self.orphans} paid without a release; {anchor}"
        if self.values is not None:
            found += f"; {self.values} values outside are as recorded"
        if self.deleted:
            found += f"; the values of entries {_few(self.deleted)} were deleted"
        if not self.underpriced:
            return found
        few = _few(self.underpriced)
        return f"{found}. Underpriced: entries {few} were charged less than their losses cost by this version of privet"


def _few(seqs: tuple[int, ...]) -> str:
    return ", ".join(map(str, seqs[:10])) + (", ..." if len(seqs) > 10 else "")


@dataclass(frozen=True)
class Explanation:
    """One entry in words: who, when, what was asked, what it cost in every account, what it paid for.

    >>> Explanation({"seq": 1, "kind": "open"})["kind"]
    'open'
    """

    facts: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.facts[name]

    @property
    def loss(self) -> PrivacyLoss | None:
        """The loss that was charged; None where the entry charges nothing."""
        stored = self.facts.get("loss")
        return None if stored is None else from_json(json.dumps(stored))

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return dict(self.facts)

    def __str__(self) -> str:
        lines = []
        for name, value in self.facts.items():
            if value is not None and value != {}:
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                lines.append(f"{name:<10} {text}")
        return "\n".join(lines)


Where = tuple[str, str] | None


class Totals:
    """Counts of equal losses, per part, up to an entry; reading on costs what was added since.

    >>> from privet import privacy
    >>> from privet.ledger.stores import draft
    >>> Totals().read(draft("memory:").commit()).upto
    0
    """

    def __init__(self) -> None:
        self.upto = 0
        self.counts: dict[Where, Counter[str]] = {}
        self.adopted = False

    def read(self, store: Store) -> "Totals":
        """Take in what was appended since."""
        for entry in store.entries(self.upto, ("reserve", "adopt")):
            where: Where = None
            if '"part":null' not in entry.body and entry.kind == "reserve":
                partition, part = entry.facts["part"]
                where = (partition, part)
            if entry.kind == "adopt":
                self.adopted = True
            elif entry.loss is not None:
                self.counts.setdefault(where, Counter())[entry.loss] += 1
            self.upto = entry.seq
        return self

    def loss(self, policy: Policy) -> PrivacyLoss:
        """Everything reserved, as one price; parts of a partition side by side where a person is in one of them."""
        whole = [self._composed(counts, policy) for where, counts in self.counts.items() if where is None]
        for name, partition in policy.partitions.items():
            cells = {where: counts for where, counts in self.counts.items() if where is not None and where[0] == name}
            if not cells:
                continue
            losses = [self._composed(counts, policy) for counts in cells.values()]
            if policy.unit.relation == "replace":
                side = Parallel(losses) if partition.spread(policy.unit) == 1 else Composed(losses)
                whole.append(to_replace(side))
            else:
                whole.append(Parallel(losses) if partition.spread(policy.unit) == 1 else Composed(losses))
        return Composed(whole, unit=policy.unit)

    @staticmethod
    def _composed(counts: Counter[str], policy: Policy) -> PrivacyLoss:
        return Composed(Repeated(from_json(text), n) for text, n in counts.items())

    def bound(self, policy: Policy, delta: float) -> Bound:
        """The best valid bound on the total."""
        if self.adopted:
            raise NoGuarantee("a backup was adopted: what was spent and lost with it has no record to be totalled")
        return epsilon(self.loss(policy), delta=delta)


def standing(what: str, tip: "Tip", caveat: str | None = None) -> Standing:
    """The data set's account at a head; `what` is "spent" or "remaining"."""
    policy = tip.policy
    assert policy is not None
    promise = "an odometer" if policy.budget is None else policy.budget.describe()
    return Standing(what, policy.account, tip.spent, promise, caveat=caveat)


def standings(tip: "Tip", balances: Mapping[str, tuple[str, int]]) -> dict[str, Standing]:
    """The standing of every account: the data set, then groups, then analysts. Without a budget of its own an account
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

"""A ledger for readers: what is promised, spent and left, in numbers, in words and as a picture."""

import importlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from privet import _markup as markup
from privet._calls import door
from privet._markup import Shown
from privet.errors import InvalidParameter
from privet.ledger import Event, Explanation, Standing, checked_ledger
from privet.privacy import GaussianLoss, LaplaceLoss, Unit
from privet.report.figure import Figure, accent, label, muted, new_figure, title
from privet.report.numbers import percent_up, plain, round_down, round_up
from privet.report.price import describe

if TYPE_CHECKING:
    from rich.table import Table

    from privet.ledger import Ledger


_RADII = tuple(digit * 10**power for power in range(6) for digit in (1, 2, 3, 5, 8))
_MANY = (100, 10)  # counts to promise, the larger number while its radius stays below _WIDE
_WIDE = 200  # records: a count with a wider interval is of little use
_TAIL = 0.05  # outside of the intervals that are promised


def remaining_in_words(remaining: Standing, unit: Unit) -> str:
    """The rest of a budget, as one more count or many, and the error that they would have.

    **Error:** each count is within the stated radius with probability 95%, for the noise alone.

    >>> import privet as pv
    >>> ledger = pv.Ledger.create("memory:", budget=pv.Budget(3.0, 1e-6))
    >>> remaining_in_words(ledger.remaining, ledger.unit)
    'one more count with +-2 at 95%, or about 248 with +-50 each'
    """
    fits = {radius: max(remaining.fits(loss) for loss in _counts(radius, unit)) for radius in _RADII}
    if math.isinf(max(fits.values())):
        return "no cap: it reports what was spent and refuses nothing"
    enough = [radius for radius in _RADII if fits[radius] >= 1]
    if not enough:
        return "nothing: not even a rough count fits"
    one = f"one more count with +-{enough[0]:,} at 95%"
    wider = [next((r for r in _RADII if fits[r] >= many), None) for many in _MANY]
    radius = wider[0] if wider[0] is not None and wider[0] <= _WIDE else wider[1]
    if radius is None or radius == enough[0]:
        return (
            one
            if radius is None
            else f"about {int(round_down(fits[radius], 3)):,} more counts with +-{radius:,} at 95%"
        )
    return f"{one}, or about {int(round_down(fits[radius], 3)):,} with +-{radius:,} each"


def _counts(radius: float, unit: Unit) -> tuple[LaplaceLoss, GaussianLoss]:
    """The two ways to release a count whose rounded answer is within the radius with probability 95%."""
    reach = radius - 0.5 if radius > 1 else 0.9
    per_unit = reach / unit.group_size
    return LaplaceLoss(per_unit / -math.log(_TAIL), unit=unit), GaussianLoss(per_unit / 1.96, unit=unit)


@dataclass(frozen=True)
class LedgerStatus(Shown):
    """Everything that `privet ledger show` prints.

    >>> import privet as pv
    >>> ledger_status(pv.Ledger.create("memory:", budget=pv.Budget(1.0))).reservations
    0
    """

    dataset: str
    promise: str
    theorem: str
    unit: str
    remaining: str
    entries: int
    reservations: int
    orphans: int
    accounts: dict[str, Standing]
    partitions: tuple[str, ...]
    notes: tuple[str, ...]
    anchor: str
    headline: str = ""

    def facts(self) -> list[tuple[str, str]]:
        """Name and value, a line each."""
        told = [
            ("Data set", self.dataset),
            ("Budget", self.headline),
            ("Promise", self.promise),
            ("One person", self.unit),
            ("Theorem", self.theorem),
            ("Remaining", self.remaining),
            ("Entries", f"{self.entries:,}, of which {self.reservations:,} reservations"),
            ("Orphans", f"{self.orphans:,} paid without a recorded release"),
            ("Anchor", self.anchor),
        ]
        told += [("Partition", line) for line in self.partitions]
        return told + [("Note", line) for line in self.notes]

    def __str__(self) -> str:
        return "\n".join(f"{name:<11} {value}" for name, value in self.facts())

    def _repr_html_(self) -> str:
        return markup.facts(f"Ledger of {self.dataset}", self.facts()[1:])

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        document = {name: value for name, value in vars(self).items() if name != "accounts"}
        rows = {
            scope: {
                "promise": standing.promise,
                "headline": standing.headline,
                "closed": [
                    rule for rule in dict.fromkeys(row.rule for row in standing.balances) if standing.ended(rule)
                ],
                "balances": [
                    {name: _finite(value) for name, value in row._asdict().items()} for row in standing.balances
                ],
            }
            for scope, standing in self.accounts.items()
        }
        return {**document, "partitions": list(self.partitions), "notes": list(self.notes), "accounts": rows}


def _finite(value: object) -> object:
    return None if isinstance(value, float) and math.isinf(value) else value


@door
def ledger_status(ledger: "Ledger") -> LedgerStatus:
    """Read a ledger for showing it."""
    policy = checked_ledger(ledger).policy
    events = ledger.history()
    kinds = [event.kind for event in events]
    paid = [event for event in events if event.kind == "reserve" and event.slices is None]
    spent = ledger.spent
    promise = "an odometer: reports, refuses nothing" if policy.budget is None else policy.budget.describe()
    return LedgerStatus(
        policy.dataset,
        promise,
        spent.theorem,
        policy.unit.describe(),
        remaining_in_words(ledger.remaining, policy.unit),
        ledger.length,
        kinds.count("reserve"),
        sum(event.recorded is None for event in paid),
        ledger.accounts(),
        tuple(f"{name}: {', '.join(each.parts)}" for name, each in policy.partitions.items()),
        tuple(_notes(ledger, kinds)),
        _anchor_in_words(ledger, events),
        ledger.remaining.headline,
    )


def _notes(ledger: "Ledger", kinds: Sequence[str]) -> list[str]:
    policy = ledger.policy
    notes = [
        f"the cap was raised outside a schedule by entry {seq}: the promise made at opening no longer stands"
        for seq in policy.raised
    ]
    if policy.schedule:
        notes.append("may be raised along its schedule to " + ", then ".join(b.describe() for b in policy.schedule))
    if policy.first is not None and policy.first != policy.budget and not policy.raised:
        notes.append("raised along its schedule; the deltas of the budgets that were in force add up")
    if "adopt" in kinds:
        notes.append("a restored backup was adopted; what was lost with it counts as spent")
    if policy.closed is not None:
        notes.append(f"closed: {policy.closed}")
    return notes if ledger.caveat is None else [*notes, ledger.caveat]


def _anchor_in_words(ledger: "Ledger", events: Sequence[Event]) -> str:
    anchor = ledger.anchored
    if anchor is None:
        times = [event.time for event in events if event.kind == "checkpoint"]
        last = f"; the last checkpoint was made {_age(times[-1])} ago" if times else ""
        return f"none was given to compare with: a cut tail or an old copy would not be seen{last}"
    behind = ledger.length - anchor.seq
    kind = "signed" if anchor.signature else "unsigned"
    return f"{kind}, at entry {anchor.seq}, {_age(anchor.time)} old; {behind:,} entries since then are not protected"


def _age(time: str) -> str:
    seconds = max(0.0, (datetime.now(UTC) - datetime.fromisoformat(time)).total_seconds())
    for size, name in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2.0 * size:
            return f"{seconds / size:.0f} {name}"
    return f"{seconds:.0f} seconds"


def explanation_facts(told: Explanation) -> list[tuple[str, str]]:
    """An entry in words, a line each: the loss is described, the cost listed by account.

    >>> import privet as pv
    >>> ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    >>> dict(explanation_facts(ledger.explain(ledger.reserve(pv.privacy.PureLoss(0.5)).seq)))["Cost"]
    'dataset: basic epsilon 0.5, basic delta 0'
    """
    facts = []
    for name, value in told.to_dict().items():
        if name == "loss" and told.loss is not None:
            value = describe(told.loss)
        elif name == "cost":
            lines = (f"{scope}: {_amounts(costs)}" for scope, costs in value.items())
            value = "\n".join(lines) or None
        elif value is not None and not isinstance(value, str | int):
            value = json.dumps(value, ensure_ascii=False)
        if value is not None:
            facts.append((name.capitalize(), str(value)))
    return facts


def _amounts(costs: dict[str, float]) -> str:
    return ", ".join(f"{name} {'∞' if math.isinf(x) else plain(round_up(x, 6))}" for name, x in costs.items())


def accounts_table(accounts: dict[str, Standing]) -> "Table":
    """One line per account, rule and currency.

    >>> import privet as pv
    >>> accounts_table(pv.Ledger.create("memory:", budget=pv.Budget(1.0)).accounts()).row_count
    2
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("account", "rule", "currency", "spent", "cap", "remaining", "used"):
        side = "left" if heading in ("account", "rule", "currency") else "right"
        table.add_column(heading, justify=side, no_wrap=heading != "account")  # type: ignore[arg-type]
    for scope, standing in accounts.items():
        name = scope.replace(":", " ", 1)
        closed = dict.fromkeys(row.rule for row in standing.balances if row.rule not in standing.used)
        capped = standing.capped and math.isfinite(standing.balances[0].limit)
        for row in standing.balances:
            if capped and row.rule in closed:
                continue
            cap = plain(row.limit) if capped else "—"
            left = plain(round_down(row.remaining, 5)) if capped else "—"
            used = percent_up(row.spent / row.limit) if capped and row.limit else "—"
            spent = "—" if math.isinf(row.spent) else plain(round_up(row.spent, 5))
            table.add_row(*map(Text, (name, row.rule, row.currency, spent, cap, left, used)))
            name = ""
        for rule in closed if capped else ():
            table.add_row(*map(Text, (name, rule, "—", "—", "—", "—", "closed")))
            name = ""
    return table


def budget_figure(ledger: "Ledger") -> Figure:
    """The data set's budget over time: how much is used up of the rule that has most left.

    >>> import privet as pv
    >>> ledger = pv.Ledger.create("memory:", budget=pv.Budget(1.0))
    >>> _ = ledger.reserve(pv.privacy.PureLoss(0.25))
    >>> len(budget_figure(ledger).axes[0].lines) >= 1
    True
    """
    events = ledger.history()
    reserves = [event for event in events if event.kind == "reserve"]
    if not reserves:
        raise InvalidParameter("there is nothing to draw: no reservation has been made yet")
    policy = ledger.policy
    figure, axes = new_figure()
    drawn = [events[0], *reserves]
    times = [datetime.fromisoformat(event.time) for event in drawn]
    shares = [_share(policy, event.sums) for event in drawn]
    axes.step(times, shares, where="post", color=accent, linewidth=1.8)
    dates = importlib.import_module("matplotlib.dates")
    axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(axes.xaxis.get_major_locator()))
    axes.plot(times[-1:], shares[-1:], "o", color=accent, markersize=5)
    if policy.budget is not None:
        axes.axhline(100.0, color=muted, linewidth=1.0, linestyle=(0, (4, 3)))
        axes.set_ylim(0.0, 106.0)
    unit = "% of the budget that is used" if policy.budget is not None else "epsilon that the odometer reports"
    label(axes, "time of the reservation (UTC)", unit)
    head = ledger.remaining.headline
    promise = "odometer" if policy.budget is None else policy.budget.describe()
    title(axes, head, f"{policy.dataset}: {promise}, {len(reserves):,} reservations")
    return figure


def _share(policy: Any, sums: Any) -> float:
    """Percent of the rule that has most left; for an odometer its epsilon."""
    rows = policy.account.balances(sums)
    if policy.budget is None:
        return float(rows[0].spent)
    rules: dict[str, float] = {}
    for row in rows:
        used = 0.0 if row.spent == 0.0 else (row.spent / row.limit if row.limit else math.inf)
        rules[row.rule] = max(rules.get(row.rule, 0.0), used)
    return 100.0 * min(1.0, *rules.values())

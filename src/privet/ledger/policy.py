"""The administrative entries, folded into one value: budgets, analysts, groups, partitions, closing."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

from privet._cache import kept_property
from privet.accounting import Filter, Odometer
from privet.accounting.filters import Sums
from privet.errors import InvalidParameter, LedgerError, LedgerTampered
from privet.ledger.account import Account, FilterAccount, OdometerAccount, read_sums
from privet.ledger.anchor import is_signed
from privet.ledger.budget import Budget, odometer_from_dict
from privet.ledger.entry import DATASET, SIGNED, Entry, canonical
from privet.ledger.partition import Part, Partition
from privet.privacy import Unit


class Analyst(NamedTuple):
    """An analyst's terms.

    >>> Analyst(None, "statistics").group
    'statistics'
    """

    budget: Budget | None
    group: str | None


def scope_of(*, analyst: str | None = None, group: str | None = None) -> str:
    """The name of an account in the balance cache.

    >>> scope_of(), scope_of(analyst="ann"), scope_of(group="statistics")
    ('dataset', 'analyst:ann', 'group:statistics')
    """
    if analyst is not None:
        return f"analyst:{analyst}"
    return DATASET if group is None else f"group:{group}"


def part_scopes(scope: str, part: Part) -> tuple[str, str]:
    """Where the sums of a part, and the largest sums of its partition, are kept."""
    return canonical([scope, part.partition, part.name]), canonical([scope, part.partition])


@lru_cache(maxsize=64)
def _filter_account(rule: Filter, unit: Unit) -> Account:
    return FilterAccount(rule, unit)


@dataclass(frozen=True)
class Policy:
    """The rules in force after entry `seq`: a pure function of the administrative entries.

    >>> from privet import privacy
    >>> policy = Policy("id", "visits", privacy.Unit(), Budget(1.0))
    >>> policy.scopes("")[0][0]
    'dataset'
    """

    ledger: str
    dataset: str
    unit: Unit
    budget: Budget | None = None
    odometer: Odometer | None = None
    schedule: tuple[Budget, ...] = ()
    groups: Mapping[str, Budget | None] = field(default_factory=dict)
    analysts: Mapping[str, Analyst] = field(default_factory=dict)
    partitions: Mapping[str, Partition] = field(default_factory=dict)
    closed: str | None = None
    first: Budget | None = None  # what the ledger was begun with
    anchored: Mapping[str, Any] | None = None  # the anchor without which the ledger is not opened
    suspended: Mapping[str, str] = field(default_factory=dict)  # scope to reason
    removed: frozenset[str] = frozenset()
    named: bool = False  # must every request name its analyst?
    custodian: str | None = None  # the public key that signs acts
    raised: tuple[int, ...] = ()  # raises outside the schedule: from there on the first promise is a policy
    restored: int = 0  # the entry since which the ledger is a backup that may lack entries
    seq: int = 0

    @kept_property
    def account(self) -> Account:
        """The account of the data set."""
        if self.budget is not None:
            return _filter_account(self.budget.filter, self.unit)
        assert self.odometer is not None
        return OdometerAccount(self.odometer, self.unit)

    def scopes(self, analyst: str) -> list[tuple[str, Account, bool]]:
        """The accounts that a charge of this analyst touches, and whether each has a cap to keep."""
        if not analyst:
            if self.named:
                raise LedgerError("this ledger asks every request to name its analyst: analyst=")
            return self._whole
        self._active(analyst)
        found = list(self._whole)
        known = self.analysts.get(analyst)
        if known is None and self.analysts:
            raise LedgerError(f"no analyst {analyst!r:.80} is registered; the custodian adds one with add_analyst")
        if known is not None and known.group is not None:
            found.append(self.ration(scope_of(group=known.group), self.groups[known.group]))
        found.append(self.ration(scope_of(analyst=analyst), None if known is None else known.budget))
        return found

    def _active(self, analyst: str) -> None:
        """An analyst who was removed, or is suspended alone or with a group, is granted nothing."""
        if analyst in self.removed:
            raise LedgerError(f"the analyst {analyst!r:.80} was removed; nothing more is granted under this name")
        known = self.analysts.get(analyst)
        scopes = [scope_of(analyst=analyst)]
        scopes += [scope_of(group=known.group)] if known is not None and known.group is not None else []
        for scope in scopes:
            if scope in self.suspended:
                raise LedgerError(f"{scope.replace(':', ' ', 1)} is suspended: {self.suspended[scope]}")

    @kept_property
    def _whole(self) -> list[tuple[str, Account, bool]]:
        return [(DATASET, self.account, True)]

    def ration(self, scope: str, budget: Budget | None) -> tuple[str, Account, bool]:
        """Without a budget of its own a scope counts its share of the data set's."""
        if budget is None:
            return scope, self.account, False
        return scope, _filter_account(budget.filter, self.unit), True

    def part(self, part: object) -> Part | None:
        """The part that a caller means: a `Part`, a pair of names, or the name of a part that is unique."""
        if part is None:
            return None
        if isinstance(part, tuple) and len(part) == 2:
            part = Part(*part)
        if isinstance(part, Part):
            partition = self.partitions.get(part.partition)
            if partition is None:
                raise LedgerError(f"no partition {part.partition!r:.80} is declared; open it with open_partition")
            return partition[part.name]
        if not isinstance(part, str):
            raise InvalidParameter("part must be a part of a partition, a pair (partition, part) or the name of a part")
        found = [each[part] for each in self.partitions.values() if part in each.parts]
        if len(found) != 1:
            raise LedgerError(
                f"{'several partitions have' if found else 'no partition has'} a part {part!r:.80}; "
                "name the partition too: part=(partition, part)"
            )
        return found[0]

    def after(self, entry: Entry) -> "Policy":
        """The policy once one more administrative entry is read."""
        facts = entry.facts
        if self.custodian is not None and entry.kind in SIGNED:
            text = act_text(self.ledger, entry.seq, entry.prev, entry.kind, facts)
            if not is_signed(text, facts.get("signature"), self.custodian):
                raise LedgerTampered(f"entry {entry.seq} ({entry.kind}) is not signed by the custodian", seq=entry.seq)
        try:
            return replace(_FOLD[entry.kind](self, facts, entry), seq=entry.seq)
        except (KeyError, TypeError, ValueError, AttributeError, InvalidParameter) as problem:
            raise LedgerTampered(f"entry {entry.seq} ({entry.kind}) cannot be read: {problem}", seq=entry.seq) from None

    @staticmethod
    def opened(entry: Entry) -> "Policy":
        """The policy that an `open` entry begins."""
        facts = entry.facts
        try:
            return Policy(
                facts["ledger"],
                facts["dataset"],
                unit_from_dict(facts["unit"]),
                None if facts["budget"] is None else Budget.from_dict(facts["budget"]),
                None if facts["odometer"] is None else odometer_from_dict(facts["odometer"]),
                tuple(Budget.from_dict(each) for each in facts["schedule"]),
                first=None if facts["budget"] is None else Budget.from_dict(facts["budget"]),
                anchored=facts.get("anchor"),
                seq=entry.seq,
            )
        except (KeyError, TypeError, ValueError, AttributeError, InvalidParameter) as problem:
            raise LedgerTampered(f"entry {entry.seq} (open) cannot be read: {problem}", seq=entry.seq) from None


def act_text(ledger: str, seq: int, prev: bytes, kind: str, facts: Mapping[str, Any]) -> str:
    """The text that a custodian signs: the act, and its only place in the only chain. Sums and rules are recomputed by
    readers.

    >>> act_text("id", 2, bytes(32), "close", {"reason": "ended", "sums": {}}).count("ended")
    1
    """
    said = {name: value for name, value in facts.items() if name not in ("signature", "sums", "policy")}
    return "privet-custodian/1\n" + canonical([ledger, str(seq), prev.hex(), kind, said])


def unit_from_dict(document: dict[str, Any]) -> Unit:
    """Inverse of `Unit.to_dict` with its whole number as text."""
    return Unit(**{**document, "group_size": int(document["group_size"])})


def raises(low: Budget, high: Budget) -> None:
    """Refuse a change that is no raise: the same rules with limits that are nowhere lower, so that sums carry over."""
    if not isinstance(high, Budget):
        raise InvalidParameter(f"budget must be a Budget, got {type(high).__name__}")
    pairs = list(zip(low.filter.rules, high.filter.rules, strict=False))
    same = len(low.filter.rules) == len(high.filter.rules) and all(
        type(a) is type(b) and all(getattr(a, name, None) == getattr(b, name, None) for name in ("alpha", "loss"))
        for a, b in pairs
    )
    if not same or any(new < old for a, b in pairs for old, new in zip(a.caps, b.caps, strict=True)):
        raise LedgerError(
            f"a budget is raised within its rule and nowhere lowered: {low.describe()} cannot become {high.describe()}; "
            "close_dataset stops a data set for good"
        )


def lowers(high: Budget, low: Budget) -> None:
    """Refuse a change that is no lowering: the same rules with limits that are nowhere higher."""
    try:
        raises(low, high)
    except LedgerError:
        raise LedgerError(
            f"a budget is lowered within its rule and nowhere raised: {high.describe()} cannot become {low.describe()}"
        ) from None


def above_cap(ration: Budget, cap: Budget | None) -> bool:
    """Does a ration promise more than the cap that it lies under? Compared where both speak the same language.

    >>> above_cap(Budget(2.0), Budget(1.0)), above_cap(Budget(0.5), Budget(1.0, 1e-6))
    (True, False)
    """
    if cap is None:
        return False
    pairs = [(ration.rho, cap.rho), (ration.mu, cap.mu)]
    if ration.rho is None and ration.mu is None and cap.rho is None and cap.mu is None:
        pairs += [(ration.epsilon, cap.epsilon), (ration.delta, cap.delta)]
    return any(a is not None and b is not None and a > b * (1.0 + 1e-12) for a, b in pairs)


def _budget(policy: Policy, facts: dict[str, Any], entry: Entry) -> Policy:
    scope, budget = facts["scope"], Budget.from_dict(facts["budget"])
    if scope == DATASET and facts.get("lowered"):
        return replace(policy, budget=budget)
    if scope == DATASET:
        raised = policy.raised if facts["scheduled"] else (*policy.raised, entry.seq)
        schedule = policy.schedule[1:] if facts["scheduled"] else policy.schedule
        return replace(policy, budget=budget, schedule=schedule, raised=raised)
    what, _, name = scope.partition(":")
    if what == "group":
        return replace(policy, groups={**policy.groups, name: budget})
    return replace(policy, analysts={**policy.analysts, name: Analyst(budget, policy.analysts[name].group)})


def _analyst(policy: Policy, facts: dict[str, Any], entry: Entry) -> Policy:
    if facts["what"] in _CHANGES:
        return _CHANGES[facts["what"]](policy, facts)
    budget = None if facts["budget"] is None else Budget.from_dict(facts["budget"])
    if facts["what"] == "group":
        return replace(policy, groups={**policy.groups, facts["name"]: budget})
    return replace(policy, analysts={**policy.analysts, facts["name"]: Analyst(budget, facts["group"])})


def _suspend(policy: Policy, facts: dict[str, Any]) -> Policy:
    return replace(policy, suspended={**policy.suspended, facts["scope"]: str(facts["reason"])})


def _resume(policy: Policy, facts: dict[str, Any]) -> Policy:
    return replace(policy, suspended={k: v for k, v in policy.suspended.items() if k != facts["scope"]})


def _remove(policy: Policy, facts: dict[str, Any]) -> Policy:
    return replace(policy, removed=policy.removed | {facts["name"]})


def _move(policy: Policy, facts: dict[str, Any]) -> Policy:
    terms = policy.analysts[facts["name"]]
    return replace(policy, analysts={**policy.analysts, facts["name"]: Analyst(terms.budget, facts["group"])})


def _name_all(policy: Policy, facts: dict[str, Any]) -> Policy:
    return replace(policy, named=True)


_CHANGES: dict[str, Callable[[Policy, dict[str, Any]], Policy]] = {
    "suspend": _suspend,
    "resume": _resume,
    "remove": _remove,
    "move": _move,
    "required": _name_all,
}


def _custodian(policy: Policy, facts: dict[str, Any], entry: Entry) -> Policy:
    return replace(policy, custodian=str(facts["public_key"]))


def _partition(policy: Policy, facts: dict[str, Any], entry: Entry) -> Policy:
    made = Partition(facts["name"], tuple(facts["parts"]), int(facts["per_person"]))
    return replace(policy, partitions={**policy.partitions, made.name: made})


def _close(policy: Policy, facts: dict[str, Any], entry: Entry) -> Policy:
    return replace(policy, closed=str(facts["reason"]))


def _adopt(policy: Policy, facts: dict[str, Any], entry: Entry) -> Policy:
    return policy if facts.get("complete") else replace(policy, restored=entry.seq)  # it moves sums, not rules


def _anchor(policy: Policy, facts: dict[str, Any], entry: Entry) -> Policy:
    return replace(policy, anchored=facts["anchor"])


def _moved(policy: Policy, facts: dict[str, Any], entry: Entry) -> Policy:
    if policy.closed is None or not policy.closed.startswith("moved to "):
        raise ValueError("nothing was moved here")
    return replace(policy, closed=None)


_FOLD: dict[str, Callable[[Policy, dict[str, Any], Entry], Policy]] = {
    "budget": _budget,
    "analyst": _analyst,
    "partition": _partition,
    "close": _close,
    "adopt": _adopt,
    "anchor": _anchor,
    "moved": _moved,
    "custodian": _custodian,
}


def read_balance(text: str) -> Sums:
    """The sums of a row of the balance cache."""
    try:
        plain = json.loads(text)
    except ValueError:
        raise LedgerTampered("a running sum cannot be read; the balance cache was edited") from None
    return read_sums(plain)

"""Acts of the custodian of a ledger: rations, parts, caps and closing. Every act is an entry."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from privet.accounting.filters import Sums
from privet.errors import InvalidParameter, LedgerError
from privet.ledger.account import most_sums, read_sums
from privet.ledger.anchor import Anchor, public_key_of, sign_text
from privet.ledger.budget import Budget, promised
from privet.ledger.entry import DATASET, clean_name, clean_text
from privet.ledger.partition import Partition
from privet.ledger.policy import Analyst, Policy, above_cap, act_text, lowers, part_scopes, raises, scope_of
from privet.ledger.session import Session, now


def _policy(session: Session) -> Policy:
    assert session.policy is not None
    if session.policy.closed is not None:
        raise LedgerError(f"the data set {session.policy.dataset!r} is closed: {session.policy.closed}")
    return session.policy


def _reason(reason: object) -> str:
    text = clean_text("reason", reason)
    if not text.strip():
        raise InvalidParameter("say why: the reason is kept in the entry")
    return text


def add_member(session: Session, what: str, name: str, budget: Budget | None, group: str | None) -> None:
    """Register an analyst or a group. Saying the same again changes nothing."""
    policy = _policy(session)
    clean_name(what, name)
    if budget is not None and not isinstance(budget, Budget):
        raise InvalidParameter(f"budget must be a Budget, got {type(budget).__name__}")
    if group is not None and group not in policy.groups:
        raise LedgerError(f"there is no group {group!r:.80}; add it first with add_group")
    known: Any = policy.groups.get(name, ...) if what == "group" else policy.analysts.get(name, ...)
    if known == (budget if what == "group" else Analyst(budget, group)):
        return
    if known is not ...:
        raise LedgerError(f"the {what} {name!r} is registered with other terms; change a budget with raise_budget")
    scope = scope_of(group=name) if what == "group" else scope_of(analyst=name)
    zero = policy.account.zero if budget is None else tuple((0,) * len(rule.caps) for rule in budget.filter.rules)
    kept = session.sums(scope)  # somebody may have asked under this name before names were registered
    if kept is not None and budget is not None:
        raise LedgerError(f"{name!r} has spent without a budget of their own already; register them under a new name")
    _within(policy, budget, group)
    _append(
        session,
        "analyst",
        after={scope: zero if kept is None else kept},
        what=what,
        name=name,
        group=group,
        budget=None if budget is None else budget.to_dict(),
        time=now(),
    )


def declare(session: Session, partition: Partition) -> Partition:
    """Open a partition: its parts are named before the first charge, never discovered."""
    policy = _policy(session)
    if policy.partitions.get(partition.name) == partition:
        return partition
    if partition.name in policy.partitions:
        raise LedgerError(f"the partition {partition.name!r} is open already with other parts")
    if policy.unit.relation == "zero_out":
        raise LedgerError("a blanked record leaves its part without leaving the data; parts need add_remove or replace")
    for name in (partition.name, *partition.parts):
        clean_name("the name of a partition or a part", name)
    zero = policy.account.zero
    cells = {part_scopes(DATASET, partition[part])[0]: zero for part in partition.parts}
    top = part_scopes(DATASET, partition[partition.parts[0]])[1]
    _append(
        session,
        "partition",
        after={**cells, top: zero * partition.spread(policy.unit)},
        name=partition.name,
        parts=list(partition.parts),
        per_person=str(partition.per_person),
        time=now(),
    )
    return partition


def change_budget(session: Session, scope: str, budget: Budget | None, reason: object) -> Budget:
    """Raise a cap: along the schedule that was fixed at opening, or as a policy act that reports will show."""
    policy = _policy(session)
    current = _budget_of(policy, scope)
    following = policy.schedule[0] if scope == DATASET and policy.schedule else None
    if budget is None:
        if following is None:
            raise LedgerError("no further budget is scheduled; say which budget, and why")
        budget = following
    budget = budget.like(current) if isinstance(budget, Budget) else budget
    scheduled = budget == following
    raises(current, budget)
    why = None if scheduled and reason is None else _reason("" if reason is None else reason)
    if scope != DATASET:
        what, _, name = scope.partition(":")
        _within(policy, budget, policy.analysts[name].group if what == "analyst" else None)
    _append(session, "budget", scope=scope, budget=budget.to_dict(), scheduled=scheduled, reason=why, time=now())
    return budget


def _within(policy: Policy, ration: Budget | None, group: str | None) -> None:
    """A ration above the cap that it lies under promises what will be refused."""
    caps = [policy.budget, None if group is None else policy.groups.get(group)]
    for cap in caps if ration is not None else []:
        if ration is not None and above_cap(ration, cap):
            assert cap is not None
            raise LedgerError(
                f"a ration of {ration.describe()} lies above its cap, {cap.describe()}; nothing is changed"
            )


def _append(session: Session, kind: str, *, after: dict[str, Sums] | None = None, **body: Any) -> None:
    """Write an act, signed where a custodian is appointed."""
    policy, head = session.policy, session.head
    assert policy is not None
    assert head is not None
    if policy.custodian is not None:
        if session.signer is None or public_key_of(session.signer) != policy.custodian:
            raise LedgerError(
                "this is an act of the custodian, who holds the key that was appointed: ledger.unlock(key file) first. "
                "Spending needs no key"
            )
        text = act_text(policy.ledger, head.seq + 1, head.hash, kind, body)
        body["signature"] = sign_text(session.signer, text)
    session.append(kind, after=after, **body)


def lower_budget(session: Session, scope: str, budget: Budget | None, reason: object) -> Budget:
    """Lower a cap. What was spent stays; where that is more than the new cap, nothing more is granted."""
    policy = _policy(session)
    if not isinstance(budget, Budget):
        raise InvalidParameter(f"budget must be a Budget, got {type(budget).__name__}")
    current = _budget_of(policy, scope)
    budget = budget.like(current)
    lowers(current, budget)
    facts: dict[str, Any] = {"scope": scope, "budget": budget.to_dict(), "scheduled": False, "lowered": True}
    _append(session, "budget", **facts, reason=_reason(reason), time=now())
    return budget


def change_member(session: Session, what: str, scope: str, reason: object, group: str | None = None) -> None:
    """Suspend, resume, remove or move an analyst (or suspend a whole group). Past charges stay where they are."""
    policy = _policy(session)
    kind, _, name = scope.partition(":")
    known = policy.groups if kind == "group" else policy.analysts
    if name not in known or (kind == "analyst" and name in policy.removed):
        raise LedgerError(f"there is no {kind} {name!r:.80}")
    if group is not None and group not in policy.groups:
        raise LedgerError(f"there is no group {group!r:.80}; add it first with add_group")
    if what == "move":
        _within(policy, policy.analysts[name].budget, group)
    if what == "resume" and scope not in policy.suspended:
        raise LedgerError(f"{kind} {name!r} is not suspended")
    facts: dict[str, Any] = {"what": what, "scope": scope, "name": name, "group": group}
    _append(session, "analyst", **facts, reason=_reason(reason), time=now())


def require_names(session: Session) -> None:
    """From here on every request names its analyst, who is registered."""
    if not _policy(session).named:
        _append(session, "analyst", what="required", time=now())


def appoint(session: Session, public_key: str) -> None:
    """From here on acts are signed with this key. Another custodian is appointed by the one before."""
    _policy(session)
    if not isinstance(public_key, str) or not re.fullmatch(r"[0-9a-f]{64}", public_key):
        raise InvalidParameter("a custodian is known by a public key: 64 hex digits, as new_signing_key returns it")
    _append(session, "custodian", public_key=public_key, time=now())


def _budget_of(policy: Policy, scope: str) -> Budget:
    what, _, name = scope.partition(":")
    found = policy.budget
    if scope != DATASET:
        found = policy.groups.get(name) if what == "group" else policy.analysts.get(name, Analyst(None, None)).budget
    if found is None:
        raise LedgerError(f"{scope!r:.80} has no budget that could be raised")
    return found


def close(session: Session, reason: object) -> None:
    """Nothing more is granted. Stored releases are still answered."""
    _policy(session)
    _append(session, "close", reason=_reason(reason), time=now())


def adopt(session: Session, anchor: Anchor, reason: object) -> None:
    """Go on with a restored copy: no sum may be below the anchor's and, where spends after the anchor are possible,
    the rest of the cap counts as spent.
    """
    policy = _policy(session)
    if anchor.ledger != policy.ledger:
        raise LedgerError("this anchor belongs to another ledger")
    after: dict[str, Sums] = {}
    for scope, plain in anchor.sums.items():
        held = session.sums(scope)
        sums = read_sums(plain)
        after[scope] = sums if held is None else most_sums(held, sums)
    if not anchor.every_reserve:
        if policy.budget is None:
            raise LedgerError("what was spent after the anchor is unknown and an odometer has no cap to fill; close it")
        after[DATASET] = most_sums(after[DATASET], tuple(rule.caps for rule in policy.budget.filter.rules))
    kept = {"seq": str(anchor.seq), "hash": anchor.hash, "public_key": anchor.public_key}
    session.append("adopt", after=after, anchor=kept, reason=_reason(reason), time=now())


class Custody(ABC):
    """The acts of a custodian, as a ledger offers them.

    >>> from privet.ledger import Ledger
    >>> issubclass(Ledger, Custody)
    True
    """

    _signer: Path | None = None

    @abstractmethod
    def _writing(self, *, durable: bool = True) -> AbstractContextManager[Session]: ...

    def add_group(
        self, name: str, *, budget: Budget | None = None, epsilon: float | None = None, delta: float = 0.0
    ) -> None:
        """A group of analysts with a ration of its own, within the data set's budget."""
        with self._writing() as session:
            add_member(session, "group", name, promised(budget, epsilon, delta), None)

    def add_analyst(
        self,
        name: str,
        *,
        budget: Budget | None = None,
        group: str | None = None,
        epsilon: float | None = None,
        delta: float = 0.0,
    ) -> None:
        """Register an analyst, with a ration if a `budget` is given, or an `epsilon` (and a `delta`), short for one. From
        the first one on, unknown names are refused.

        Rations add no guarantee: the data set's budget protects people against all analysts together.
        """
        with self._writing() as session:
            add_member(session, "analyst", name, promised(budget, epsilon, delta), group)

    def open_partition(self, name: str, parts: Iterable[str], *, per_person: int = 1) -> Partition:
        """Declare disjoint parts by a public rule on persons: releases on parts cost the costliest `per_person` of them."""
        with self._writing() as session:
            return declare(session, Partition(name, parts, per_person))  # type: ignore[arg-type]

    def raise_budget(
        self,
        budget: Budget | None = None,
        *,
        epsilon: float | None = None,
        delta: float = 0.0,
        analyst: str | None = None,
        group: str | None = None,
        reason: str | None = None,
    ) -> Budget:
        """Raise a cap to a budget, or to an `epsilon` and a `delta` in all. Without one: the next of the schedule. Another
        raise of the data set's cap is a policy act: the promise made at opening no longer stands, and reports say so. It
        needs a `reason`.
        """
        budget = promised(budget, epsilon, delta)
        with self._writing() as session:
            return change_budget(session, scope_of(analyst=analyst, group=group), budget, reason)

    def lower_budget(
        self,
        budget: Budget | None = None,
        *,
        epsilon: float | None = None,
        delta: float = 0.0,
        analyst: str | None = None,
        group: str | None = None,
        reason: str,
    ) -> Budget:
        """Lower a cap, of an analyst, a group or the data set, to a budget, or to an `epsilon` and a `delta` in all. What
        was spent stays; where it is more than the new cap, nothing more is granted.
        """
        budget = promised(budget, epsilon, delta)
        with self._writing() as session:
            return lower_budget(session, scope_of(analyst=analyst, group=group), budget, reason)

    def suspend(self, *, analyst: str | None = None, group: str | None = None, reason: str) -> None:
        """Grant nothing to an analyst, or to a whole group, until `resume`. Stored releases are still answered."""
        with self._writing() as session:
            change_member(session, "suspend", _member(analyst, group), reason)

    def resume(self, *, analyst: str | None = None, group: str | None = None, reason: str) -> None:
        """End a suspension."""
        with self._writing() as session:
            change_member(session, "resume", _member(analyst, group), reason)

    def remove_analyst(self, name: str, *, reason: str) -> None:
        """Grant nothing more under this name, for good. What was charged under it stays."""
        with self._writing() as session:
            change_member(session, "remove", _member(name, None), reason)

    def move_analyst(self, name: str, *, group: str | None, reason: str) -> None:
        """Move an analyst to another group, or to none. Past charges stay with the group that they were made in."""
        with self._writing() as session:
            change_member(session, "move", _member(name, None), reason, group)

    def require_analysts(self) -> None:
        """From here on a request without a registered name is refused: nobody spends past the rations."""
        with self._writing() as session:
            require_names(session)

    def appoint(self, public_key: str) -> None:
        """Separate the right to spend from the right to raise: from here on every act of the custodian (caps, rations,
        names, parts, closing, the next appointment) is signed with this key, and one that is not is tampering to every
        reader. Spending needs no key. Before an act: `unlock`.
        """
        with self._writing() as session:
            appoint(session, public_key)

    def unlock(self, key: Any) -> None:
        """Let this handle act as the custodian, with the key file that `new_signing_key` wrote. It is not pickled."""
        public_key_of(key)
        self._signer = Path(key).absolute()

    def close_dataset(self, reason: str) -> None:
        """Grant nothing more, for good. Stored releases are still answered."""
        with self._writing() as session:
            close(session, reason)


def _member(analyst: str | None, group: str | None) -> str:
    if (analyst is None) == (group is None):
        raise InvalidParameter("name one: analyst= or group=")
    return scope_of(analyst=analyst, group=group)

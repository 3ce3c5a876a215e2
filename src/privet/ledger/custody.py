"""What the custodian of a ledger does: rations, parts, caps and closing. Every act is an entry."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from privet.errors import InvalidParameter
from privet.ledger import acts
from privet.ledger.anchor import public_key_of
from privet.ledger.budget import Budget
from privet.ledger.partition import Partition
from privet.ledger.policy import scope_of
from privet.ledger.session import Session


class Custody(ABC):
    """The acts of a custodian, as a ledger offers them.

    >>> from privet.ledger import Ledger
    >>> issubclass(Ledger, Custody)
    True
    """

    _signer: Path | None = None

    @abstractmethod
    def _writing(self, *, durable: bool = True) -> AbstractContextManager[Session]: ...

    def add_group(self, name: str, *, budget: Budget | None = None) -> None:
        """A group of analysts with a ration of its own, within the data set's budget."""
        with self._writing() as session:
            acts.add_member(session, "group", name, budget, None)

    def add_analyst(self, name: str, *, budget: Budget | None = None, group: str | None = None) -> None:
        """Register an analyst, with a ration if `budget` is given. From the first one on, unknown names are refused.

        Rations add no guarantee: the data set's budget protects people against all analysts together.
        """
        with self._writing() as session:
            acts.add_member(session, "analyst", name, budget, group)

    def open_partition(self, name: str, parts: Iterable[str], *, per_person: int = 1) -> Partition:
        """Declare disjoint parts by a public rule on persons: releases on parts cost the costliest `per_person` of them."""
        with self._writing() as session:
            return acts.declare(session, Partition(name, parts, per_person))  # type: ignore[arg-type]

    def raise_budget(
        self,
        budget: Budget | None = None,
        *,
        analyst: str | None = None,
        group: str | None = None,
        reason: str | None = None,
    ) -> Budget:
        """Raise a cap. Without a budget: the next one of the schedule. Any other raise of the data set's cap is a policy
        act: the promise made at opening no longer stands, and reports say so. It needs a `reason`.
        """
        with self._writing() as session:
            return acts.change_budget(session, scope_of(analyst=analyst, group=group), budget, reason)

    def lower_budget(
        self, budget: Budget, *, analyst: str | None = None, group: str | None = None, reason: str
    ) -> Budget:
        """Lower a cap, of an analyst, a group or the data set. What was spent stays; where it is more than the new cap,
        nothing more is granted.
        """
        with self._writing() as session:
            return acts.lower_budget(session, scope_of(analyst=analyst, group=group), budget, reason)

    def suspend(self, *, analyst: str | None = None, group: str | None = None, reason: str) -> None:
        """Grant nothing to an analyst, or to a whole group, until `resume`. Stored releases are still answered."""
        with self._writing() as session:
            acts.change_member(session, "suspend", _member(analyst, group), reason)

    def resume(self, *, analyst: str | None = None, group: str | None = None, reason: str) -> None:
        """End a suspension."""
        with self._writing() as session:
            acts.change_member(session, "resume", _member(analyst, group), reason)

    def remove_analyst(self, name: str, *, reason: str) -> None:
        """Grant nothing more under this name, for good. What was charged under it stays."""
        with self._writing() as session:
            acts.change_member(session, "remove", _member(name, None), reason)

    def move_analyst(self, name: str, *, group: str | None, reason: str) -> None:
        """Move an analyst to another group, or to none. Past charges stay with the group that they were made in."""
        with self._writing() as session:
            acts.change_member(session, "move", _member(name, None), reason, group)

    def require_analysts(self) -> None:
        """From here on a request without a registered name is refused: nobody spends past the rations."""
        with self._writing() as session:
            acts.require_names(session)

    def appoint(self, public_key: str) -> None:
        """Separate the right to spend from the right to raise: from here on every act of the custodian (caps, rations,
        names, parts, closing, the next appointment) is signed with this key, and one that is not is tampering to every
        reader. Spending needs no key. Before an act: `unlock`.
        """
        with self._writing() as session:
            acts.appoint(session, public_key)

    def unlock(self, key: Any) -> None:
        """Let this handle act as the custodian, with the key file that `new_signing_key` wrote. It is not pickled."""
        public_key_of(key)
        self._signer = Path(key).absolute()

    def close_dataset(self, reason: str) -> None:
        """Grant nothing more, for good. Stored releases are still answered."""
        with self._writing() as session:
            acts.close(session, reason)


def _member(analyst: str | None, group: str | None) -> str:
    if (analyst is None) == (group is None):
        raise InvalidParameter("name one: analyst= or group=")
    return scope_of(analyst=analyst, group=group)

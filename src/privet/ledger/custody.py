"""What the custodian of a ledger does: rations, parts, caps and closing. Every act is an entry."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager

from privet.ledger import acts
from privet.ledger.budget import Budget
from privet.ledger.partition import Partition
from privet.ledger.policy import scope_of
from privet.ledger.session import Session

__all__ = ["Custody"]


class Custody(ABC):
    """The acts of a custodian, as a ledger offers them.

    >>> from privet.ledger import Ledger
    >>> issubclass(Ledger, Custody)
    True
    """

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
        """Declare disjoint parts by a public rule on persons: releases on parts cost the dearest `per_person` of them."""
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

    def close_dataset(self, reason: str) -> None:
        """Grant nothing more, for good. Stored releases are still answered."""
        with self._writing() as session:
            acts.close(session, reason)

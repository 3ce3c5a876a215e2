"""What callers say: the public facts of a request, and the terms of a ledger that is begun or opened."""

import hashlib
import json
import math
import secrets
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn

from privet._validate import open_fraction
from privet.accounting.filters import Odometer, Sums
from privet.errors import InvalidParameter, LedgerError
from privet.ledger.base import clean_name, clean_text
from privet.ledger.budget import Budget, odometer_to_dict
from privet.ledger.partition import Part
from privet.ledger.policy import Policy, raises
from privet.ledger.session import SOFTWARE, now
from privet.privacy import PrivacyLoss, Unit, to_json

__all__ = ["Asked", "Terms"]


class Asked(NamedTuple):
    """Who asks for what. Nothing here comes from data, except `data`: its digest under a secret of the ledger.

    >>> Asked.of("ann", "weekly report", None, None).analyst
    'ann'
    """

    analyst: str  # empty for the custodian
    purpose: str | None
    key: str | None
    part: Any
    what: Any = None  # the mechanism's name and public parameters; not itself, since it may hold data
    at: float | None = None
    hint: float | None = None  # the delta that the mechanism was made for
    about: str | None = None
    data: str | None = None

    @staticmethod
    def of(
        analyst: object,
        purpose: object,
        key: object,
        part: Any,
        mechanism: Any = None,
        *,
        at: object = None,
        about: object = None,
    ) -> "Asked":
        """Check and clean what a caller passed."""
        if analyst is purpose is key is part is mechanism is at is about is None:
            return _NOTHING
        hint = getattr(mechanism, "at", None)
        return Asked(
            "" if analyst is None else clean_name("analyst", analyst),
            None if purpose is None else clean_text("purpose", purpose),
            None if key is None else clean_name("key", key),
            part,
            None if mechanism is None or key is None else _described(mechanism),
            None if at is None else open_fraction("at", at),
            None if hint is None else open_fraction("the mechanism's at", hint),
            None if about is None else clean_text("about", about),
        )

    def numbered(self, i: int) -> "Asked":
        """The i-th request of a batch."""
        key = None if self.key is None else f"{self.key}/{i}"
        return self._replace(key=key)

    def ats(self, loss: PrivacyLoss) -> tuple[float | None, ...]:
        """The deltas at which the loss may be charged as one point: what was said, else what the mechanism was made
        for if the loss is a plan or has no epsilon of its own, else none.
        """
        if self.at is not None or self.hint is None:
            return (self.at,)
        plan = sum(n for _, n in loss.parts()) > 1
        return (self.hint, None) if plan or math.isinf(loss.approximate().epsilon) else (None,)

    def digest(self, loss: PrivacyLoss, part: Part | None) -> str:
        """Tells two requests apart when a key comes again. Only public facts: a hash of data would tell who is in it."""
        where = None if part is None else [part.partition, part.name]
        facts = {"loss": to_json(loss), "part": where, "purpose": self.purpose, "what": self.what}
        said = {"at": self.at, "about": self.about}
        facts |= {name: value for name, value in said.items() if value is not None}
        return hashlib.sha256(json.dumps(facts, sort_keys=True, default=_unknown).encode()).hexdigest()


_NOTHING = Asked("", None, None, None)


def _described(mechanism: Any) -> list[Any]:
    """What a mechanism is, without the delta that it is charged at: that changes its price, not its answer, and requests
    that were written before there was such a field are the same requests.
    """
    describe = getattr(mechanism, "to_dict", None)
    facts = describe() if callable(describe) else _unknown()
    return [type(mechanism).__qualname__, _without_at(facts, getattr(mechanism, "at", None))]


def _without_at(facts: Any, at: object) -> Any:
    if at is None or not isinstance(facts, dict):
        return facts
    return {
        name: _without_at(value, at) for name, value in facts.items() if name != "at" or value not in (at, repr(at))
    }


def _unknown(value: object = None) -> NoReturn:
    """Two requests that cannot be told apart must not share an answer."""
    raise InvalidParameter(
        "a key needs a mechanism that says what it is: give it to_dict(), with its public parameters as plain JSON values "
        "(texts, numbers, lists, objects), or leave the key out"
    )


@dataclass(frozen=True)
class Terms:
    """What the caller of `Ledger.open` said about the ledger.

    >>> Terms(Budget(1.0)).zero
    ((0, 0),)
    """

    budget: Budget | None = None
    odometer: Odometer | None = None
    unit: Unit | None = None
    dataset: str = "default"
    schedule: tuple[Budget, ...] = ()

    def __post_init__(self) -> None:
        for name, kind in (("budget", Budget), ("odometer", Odometer), ("unit", Unit)):
            if getattr(self, name) is not None and not isinstance(getattr(self, name), kind):
                raise InvalidParameter(f"{name} must be a {kind.__name__}, got {type(getattr(self, name)).__name__}")
        if self.budget is not None and self.odometer is not None:
            raise InvalidParameter("a ledger has a budget (it refuses) or an odometer (it reports), not both")
        rungs = (self.budget, *self.schedule) if self.budget is not None else self.schedule
        if not all(isinstance(rung, Budget) for rung in rungs) or (self.schedule and self.budget is None):
            raise InvalidParameter("a schedule is a list of budgets that the first one may be raised to, one by one")
        for low, high in pairwise(rungs):
            raises(low, high)

    @property
    def begins(self) -> bool:
        """Is enough said to begin a ledger?"""
        return self.budget is not None or self.odometer is not None

    @property
    def zero(self) -> Sums:
        """Nothing spent, in the currencies of the rule."""
        return Policy("", self.dataset, self.unit or Unit(), self.budget, self.odometer).account.zero

    def facts(self) -> dict[str, Any]:
        """The body of the `open` entry."""
        unit = {name: str(value) for name, value in (self.unit or Unit()).to_dict().items()}
        caps = None if self.budget is None else [[str(cap) for cap in rule.caps] for rule in self.budget.filter.rules]
        return {
            "ledger": secrets.token_hex(16),
            "dataset": self.dataset,
            "unit": unit,
            "budget": None if self.budget is None else self.budget.to_dict(),
            "odometer": None if self.odometer is None else odometer_to_dict(self.odometer),
            "schedule": [budget.to_dict() for budget in self.schedule],
            "caps": caps,
            "time": now(),
            "software": SOFTWARE,
        }

    def check(self, policy: Policy) -> None:
        """What was said about a ledger that exists is what it was begun with, or has become."""
        budget = self.budget
        if budget is not None and policy.first is not None:
            budget = budget.like(policy.first)
        said = (budget, self.odometer, self.unit, None if self.dataset == "default" else self.dataset)
        kept = (policy.budget, policy.odometer, policy.unit, policy.dataset)
        for name, mine, theirs in zip(("budget", "odometer", "unit", "dataset"), said, kept, strict=True):
            if mine is not None and mine != theirs and not (name == "budget" and mine == policy.first):
                raise LedgerError(
                    f"this ledger exists already with another {name}; open it without {name}=, "
                    "and change a budget with raise_budget"
                )

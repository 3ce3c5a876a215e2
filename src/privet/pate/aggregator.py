"""The abstract aggregator: labels from the noisy votes of teachers, each label paid for."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from privet import accounting
from privet._calls import door
from privet._numerics import Array
from privet._private import Private
from privet._validate import count, flag, open_fraction, set_frozen
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms import Form, Mechanism, Numbers, Source
from privet.pate.vote_law import VoteLaw, exact_renyi
from privet.pate.votes import Votes
from privet.privacy import PrivacyLoss, Repeated, Unit, to_replace

Winner = Callable[..., int]
ORDERS = np.concatenate([np.linspace(1.05, 10.0, 180), np.arange(10.5, 64.0, 0.5), np.arange(64.0, 513.0, 4.0)])


def price_for(unit: Unit, fixed_ids: bool, base: Callable[[Unit], PrivacyLoss]) -> PrivacyLoss:
    """The price for a unit, from that of one teacher who changes.

    Under add_remove and zero_out a person is in one part. A person who is replaced by another one with another id leaves
    one part and enters another: two teachers, unless ids are public and stay.
    """
    if teachers_of(unit, fixed_ids) == 2:
        return to_replace(base(Unit("add_remove", person=unit.person)))
    return base(unit)


def teachers_of(unit: Unit, fixed_ids: bool) -> int:
    """The number of teachers that one unit of privacy changes.

    >>> teachers_of(Unit(), False), teachers_of(Unit("replace"), False), teachers_of(Unit("replace"), True)
    (1, 2, 1)
    """
    return 2 if unit.relation == "replace" and not fixed_ids else 1


def check_unit(unit: Unit, fixed_ids: bool) -> None:
    """Refuse a unit that votes are not priced for."""
    flag("fixed_ids", fixed_ids)
    if unit.group_size != 1:
        raise InvalidParameter("votes are priced for one person: unit must have group_size 1")
    if fixed_ids and unit.relation != "replace":
        raise InvalidParameter('fixed_ids says that a replaced person keeps the id: it needs Unit("replace")')


def check_votes(votes: object, queries: int, classes: int) -> None:
    """Refuse what is no table of votes of this public size."""
    if not isinstance(votes, Votes):
        raise InvalidData("an aggregator takes pate.Votes: what teachers.vote(pool, public=True) gives")
    if (votes.queries, votes.classes) != (queries, classes):
        raise InvalidData(
            f"this aggregator is paid for {queries} queries and {classes} classes, and these votes have "
            f"{votes.queries} and {votes.classes}"
        )


@dataclass(frozen=True, kw_only=True)
class Aggregator(Mechanism[Votes, Array]):
    """The class with the most votes after noise, for each of `queries` queries: whole numbers from 0 to `classes` - 1.

    One person is in one part, so one teacher changes: in every query two counts move by 1. The price is that of a query,
    `queries` times, and does not depend on the votes: a unanimous query costs as much as a tie.

    A subclass says what a query costs (`_query`), which noise decides (`_winner`) and of which scale.
    """

    _winner: ClassVar[Winner]

    queries: int
    classes: int
    unit: Unit = field(default=Unit())
    fixed_ids: bool = False
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, queries=count("queries", self.queries, 1), classes=count("classes", self.classes, 2))
        check_unit(self.unit, self.fixed_ids)

    @abstractmethod
    def _query(self, unit: Unit) -> PrivacyLoss:
        """The price of one query when one teacher changes."""

    @property
    @abstractmethod
    def noise_scale(self) -> Fraction:
        """The scale of the noise on every count."""

    @property
    @abstractmethod
    def law(self) -> VoteLaw:
        """The exact law of the answer to a query."""

    @property
    def loss(self) -> PrivacyLoss:
        return price_for(self.unit, self.fixed_ids, lambda unit: Repeated(self._query(unit), self.queries))

    @property
    def form(self) -> Form:
        return Numbers()

    def _admit(self, value: Votes) -> None:
        check_votes(value, self.queries, self.classes)

    def _prepare(self, value: Votes) -> Array:
        return value.exact_counts.astype(np.int64)

    def _draw(self, prepared: Array, runs: int, source: Source) -> Array:
        winner, scale = type(self)._winner, self.noise_scale
        drawn = [[winner(row, scale=scale, source=source) for row in prepared] for _ in range(runs)]
        return np.array(drawn, dtype=np.int64).reshape(runs, self.queries)

    @door
    def data_dependent_epsilon(self, votes: Votes, *, delta: float) -> Private[float]:
        """The epsilon of these answers by the votes that were cast, never above that of the price: a figure for the
        custodian, since it depends on the votes. Nothing is charged by it, and nothing may be promised by it.

        Each query counts by the exact law of its answer, against every neighbour and in both directions. Where later
        queries were chosen by earlier answers such sums bound nothing, and votes that say so are refused.
        """
        check_votes(votes, self.queries, self.classes)
        open_fraction("delta", delta)
        if votes.adaptive:
            raise InvalidParameter("queries that were chosen by earlier answers have no data-dependent figure")
        if self.loss.unit.relation == "replace" and not self.fixed_ids:
            raise InvalidParameter("data-dependent figures are about one teacher: take add_remove, or fixed_ids")
        rows, many = np.unique(np.sort(votes.exact_counts, axis=1), axis=0, return_counts=True)
        total = sum(n * exact_renyi(self.law, row.astype(np.int64), ORDERS) for row, n in zip(rows, many, strict=True))
        found = total + np.log1p(-1.0 / ORDERS) - (np.log(delta) + np.log(ORDERS)) / (ORDERS - 1.0)
        ceiling = float(accounting.epsilon(self.loss, delta=delta).upper)
        return Private(min(max(float(np.min(found)), 0.0), ceiling))

    def error(self, confidence: float = 0.95) -> Any:
        """None: how often the plurality wins depends on the votes."""
        return None

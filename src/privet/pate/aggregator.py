"""The abstract aggregator: labels from the noisy votes of teachers, each label paid for."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Self, Unpack

import numpy as np

from privet import accounting
from privet._calls import door
from privet._numerics import Array, down
from privet._private import Private
from privet._validate import count, flag, set_frozen
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms import Form, Mechanism, Numbers, Source
from privet.pate.figures import check_figure, exact_epsilon, published_epsilon
from privet.pate.vote_law import VoteLaw
from privet.pate.votes import Votes
from privet.privacy import (
    BinaryVoteLoss,
    Guarantee,
    PrivacyLoss,
    Promise,
    Repeated,
    Unit,
    VoteNoise,
    as_unit,
    to_replace,
)

Winner = Callable[..., int]
FARTHEST = 64.0  # times the noise of any number of classes: the least noise of two classes is looked for within it


def teachers_of(unit: Unit, fixed_ids: bool) -> int:
    """The number of teachers that one unit of privacy changes.

    Under add_remove and zero_out a person is in one part. A person who is replaced by another one with another id leaves
    one part and enters another: two teachers, unless ids are public and stay.

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


def check_votes(votes: object, queries: int, classes: int, teachers: int | None) -> None:
    """Refuse what is no table of votes of this public size."""
    if not isinstance(votes, Votes):
        raise InvalidData("an aggregator takes pate.Votes: what teachers.vote(pool, public=True) gives")
    if (votes.queries, votes.classes) != (queries, classes):
        raise InvalidData(
            f"this aggregator is paid for {queries} queries and {classes} classes, and these votes have "
            f"{votes.queries} and {votes.classes}"
        )
    if teachers is not None and votes.teachers != teachers:
        raise InvalidData(f"this aggregator is priced for {teachers} teachers, and these votes are of {votes.teachers}")


@dataclass(frozen=True, kw_only=True)
class Aggregator(Mechanism[Votes, Array]):
    """The class with the most votes after noise, for each of `queries` queries: whole numbers from 0 to `classes` - 1.

    One person is in one part, so one teacher changes: in every query two counts move by 1. The price is that of a query,
    `queries` times, and does not depend on the votes: a unanimous query costs as much as a tie. With two classes and
    a known number of `teachers` it is the exact one of a binary vote, which is lower.

    A subclass says what a query costs (`_query`), which noise decides (`_winner`, `_noise`) and of which scale.
    """

    _winner: ClassVar[Winner]
    _noise: ClassVar[VoteNoise]

    queries: int
    classes: int
    teachers: int | None = None
    unit: Unit = field(default=Unit())
    fixed_ids: bool = False
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, queries=count("queries", self.queries, 1), classes=count("classes", self.classes, 2))
        if self.teachers is not None:
            set_frozen(self, teachers=count("teachers", self.teachers, 1))
        check_unit(self.unit, self.fixed_ids)

    @abstractmethod
    def _query(self, unit: Unit) -> PrivacyLoss:
        """The price of one query with any number of classes when one teacher changes."""

    @classmethod
    @abstractmethod
    def _noise_for(cls, target: Guarantee, moved: int, queries: int) -> dict[str, float]:
        """The parameter of the noise by its name, so that all queries keep a promise when `moved` teachers change."""

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
        moved = teachers_of(self.unit, self.fixed_ids)
        if self.classes == 2 and self.teachers is not None:
            scale = down(self.noise_scale)
            vote = BinaryVoteLoss(self.teachers, scale, self._noise, min(moved, self.teachers), unit=self.unit)
            return Repeated(vote, self.queries)
        if moved == 2:
            return to_replace(Repeated(self._query(Unit("add_remove", person=self.unit.person)), self.queries))
        return Repeated(self._query(self.unit), self.queries)

    @property
    def form(self) -> Form:
        return Numbers()

    def _admit(self, value: Votes) -> None:
        check_votes(value, self.queries, self.classes, self.teachers)

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
        check_votes(votes, self.queries, self.classes, self.teachers)
        check_figure(votes, delta, teachers_of(self.unit, self.fixed_ids))
        return exact_epsilon(self.law, votes, delta, self.loss)

    @abstractmethod
    def _bound(self, counts: Array, orders: Array) -> Array:
        """The published bound on the Rényi divergence of each query at each order."""

    def published_epsilon(self, votes: Votes, *, delta: float, classic: bool = False) -> Private[float]:
        """The epsilon that the published theorem gives for these votes, to compare with papers: `classic` is their
        conversion to epsilon. The theorem bounds one of the two directions, so that it may be too small; what
        `data_dependent_epsilon` says is not.
        """
        check_votes(votes, self.queries, self.classes, self.teachers)
        check_figure(votes, delta, teachers_of(self.unit, self.fixed_ids))
        return published_epsilon(self._bound, votes, delta, classic=flag("classic", classic))

    @classmethod
    def for_budget(
        cls,
        *,
        queries: int,
        classes: int,
        teachers: int | None = None,
        unit: Unit | None = None,
        fixed_ids: bool = False,
        **promise: Unpack[Promise],
    ) -> Self:
        """The aggregator whose answers keep a promise together: that with the least noise where two classes have an exact
        price. Laplace and Gumbel noise keep an epsilon.

        >>> from privet import pate
        >>> round(pate.GNMax.for_budget(epsilon=2.0, delta=1e-5, queries=100, classes=10).sigma, 2)
        28.2
        >>> pate.LNMax.for_budget(epsilon=1.0, queries=8, classes=2).gamma
        0.0625
        """
        target, unit = Guarantee(**promise), as_unit(unit)
        check_unit(unit, fixed_ids)
        ((name, value),) = cls._noise_for(target, teachers_of(unit, fixed_ids), count("queries", queries, 1)).items()
        public: dict[str, Any] = {"queries": queries, "classes": classes, "teachers": teachers}
        public |= {"unit": unit, "fixed_ids": fixed_ids, name: value}
        made = cls(**public)
        if made.classes == 2 and made.teachers is not None:
            least = accounting.calibrate(
                lambda each: cls(**(public | {name: each})).loss,
                bounds=(value / FARTHEST, value * FARTHEST),
                **target.keywords(),
            )
            made = cls(**(public | {name: least}))
        return made._charged_at(target)

    def error(self, confidence: float = 0.95) -> Any:
        """None: how often the plurality wins depends on the votes."""
        return None

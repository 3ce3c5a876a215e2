"""A witness: two inputs and an event, with all that it takes to ask the event of runs."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from privet._numerics import Array
from privet.audit.counts import Counts
from privet.audit.search import Encoder, Event, Learned, Subject, World

Columns = dict[str, Array]


@dataclass(frozen=True, eq=False)
class Witness:
    """The evidence of a test: two neighbouring inputs, an event, and in which world it is too likely. It can be run
    again.

    >>> from privet import audit, mechanisms
    >>> witness = audit.mechanism(mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0), runs=2000).witness
    >>> witness.replay(mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0), 100).n
    100
    """

    left: Any
    right: Any
    event: Event
    swapped: bool
    encoder: Encoder = field(repr=False)
    learned: dict[str, Learned] = field(default_factory=dict, repr=False)
    subject: Subject | None = field(default=None, repr=False)

    def replay(self, mechanism: object, runs: int) -> Counts:
        """Count the event on fresh runs of both worlds; feed the counts to any statistic."""
        again = (
            Subject(mechanism)
            if self.subject is None
            else replace(self.subject, mechanism=mechanism, fresh=None, told=None)
        )
        pairs = again.batches(self.left, self.right, runs, wanted=self.encoder.wanted)
        return self.count(*encoded(pairs, self.encoder, self.learned).columns)

    def count(self, left: Columns, right: Columns) -> Counts:
        """The counts in observed worlds, the world where the event is too likely first."""
        first, second = self.hits(left, right)
        return Counts(tp=int(first.sum()), fp=int(second.sum()), n=len(first), n_out=len(second))

    def hits(self, left: Columns, right: Columns) -> tuple[Array, Array]:
        """Which runs answer yes, in the world where the event is too likely and in the other one."""
        hits = []
        for columns in (left, right):
            column = columns.get(self.event.feature)  # an output without the feature answers no
            hits.append(np.zeros(len(columns["form"]), dtype=bool) if column is None else self.event(column))
        return (hits[1], hits[0]) if self.swapped else (hits[0], hits[1])

    @property
    def vocabulary(self) -> dict[str, int]:
        """The forms of outputs by which an event about forms is numbered."""
        return self.encoder.vocabulary

    @property
    def question(self) -> str:
        """The event in words."""
        if self.event.feature == "form":
            forms = {number: form for form, number in self.vocabulary.items()}
            known = forms.get(int(self.event.threshold))
            return "nothing that could be tested was seen" if known is None else f"form is {known}"
        rule = self.learned.get(self.event.feature)
        heaviest = () if rule is None else rule.heaviest()
        return str(self.event) + (f" (it looks most at {', '.join(heaviest)})" if heaviest else "")

    def __str__(self) -> str:
        if self.event.feature == "form" and int(self.event.threshold) not in self.vocabulary.values():
            return self.question
        world = "right" if self.swapped else "left"
        return f"{self.question}, more likely in the {world} world"


@dataclass(frozen=True, eq=False)
class Encoded:
    """The columns of both worlds in the order of the runs, and which runs came after one on the other input."""

    columns: list[Columns]
    after_other: list[Array | None]


def encoded(pairs: Iterable[tuple[World, World]], encoder: Encoder, learned: dict[str, Learned]) -> Encoded:
    """The columns of many batches of runs: batch by batch, so that long outputs are never held all at once.

    >>> world = World(np.array([[1.0], [2.0]]), np.array(["int", "int"], dtype=object))
    >>> encoded([(world, world)], Encoder((("", 0),)), {}).columns[0]["value[0]"].tolist()
    [1.0, 2.0]
    """
    columns: list[list[Columns]] = [[], []]
    after: list[list[Array | None]] = [[], []]
    for pair in pairs:
        for side, world in enumerate(pair):
            columns[side].append(with_learned(learned, encoder.columns(world)))
            alone = world.released is None or not bool(np.all(world.released))
            after[side].append(None if alone else world.after_other)
    joined = [{name: np.concatenate([each[name] for each in side]) for name in side[0]} for side in columns]
    order = [
        None if any(a is None for a in side) else np.concatenate([a for a in side if a is not None]) for side in after
    ]
    return Encoded(joined, order)


def one_after_other(blocks: list[Encoded]) -> Encoded:
    """Blocks of runs one after the other.

    >>> block = Encoded([{"form": np.zeros(2)}, {"form": np.ones(2)}], [None, None])
    >>> one_after_other([block, block]).columns[1]["form"].tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    columns = [
        {name: np.concatenate([block.columns[side][name] for block in blocks]) for name in blocks[0].columns[side]}
        for side in (0, 1)
    ]
    after = [[block.after_other[side] for block in blocks] for side in (0, 1)]
    order = [
        None if any(a is None for a in side) else np.concatenate([a for a in side if a is not None]) for side in after
    ]
    return Encoded(columns, order)


def with_learned(learned: dict[str, Learned], columns: Columns) -> Columns:
    """The columns, and beside them what learned rules make of them.

    >>> with_learned({}, {"form": np.zeros(1)})
    {'form': array([0.])}
    """
    return columns | {name: model(columns) for name, model in learned.items()}

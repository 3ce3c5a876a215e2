"""The public facts of what is generated: the widths of its columns, its classes, and who is protected."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from privet._numerics import Array
from privet.mechanisms import Sensitivity, Source
from privet.privacy import Unit

HeadKind = Literal["numbers", "yes", "choice"]


class Head(NamedTuple):
    """Neighbouring columns of a point: numbers from -1 to 1, a yes (1) or no (0), or one of several."""

    kind: HeadKind
    width: int


class Units(NamedTuple):
    """Private points with their classes, the number of the person of each, and what each person holds: not releasable."""

    points: Array  # float32, a row each
    classes: Array  # places in the public list
    owners: Array  # places in `contents`
    contents: Sequence[bytes]


def units_of(points: Array, classes: Array, owners: Array) -> Units:
    """Points of persons: what a person holds is all of that person's rows, in an order of their own.

    >>> import numpy as np
    >>> len(units_of(np.zeros((3, 1), np.float32), np.zeros(3, np.int64), np.array([0, 1, 1])).contents)
    2
    """
    rows: list[list[bytes]] = [[] for _ in range(int(owners.max(initial=-1)) + 1)]
    for owner, point, each in zip(owners.tolist(), points, classes.tolist(), strict=True):
        rows[owner].append(point.tobytes() + each.to_bytes(4, "little"))
    return Units(points, classes, owners, [b"".join(sorted(each)) for each in rows])


class GanTask(ABC):
    """Knowledge of a generator before it looks.

    `heads` say how a point is written; every one is made by the generator as it is made of private rows. A point has
    one of `classes` classes; those that have none of them are left out, by what they hold themselves.
    """

    @property
    @abstractmethod
    def heads(self) -> tuple[Head, ...]:
        """The parts that points are written in."""

    @property
    @abstractmethod
    def classes(self) -> int:
        """The number of classes: 1 where there is no label."""

    @property
    @abstractmethod
    def unit(self) -> Unit:
        """Who is protected."""

    @property
    def width(self) -> int:
        """The number of numbers of a point."""
        return sum(head.width for head in self.heads)

    @property
    def grid(self) -> tuple[int, ...]:
        """The shape in which the numbers of a point are neighbours."""
        return (self.width,)

    @abstractmethod
    def admit(self, value: object) -> None:
        """Refuse, by what is public, data that cannot be read."""

    @abstractmethod
    def exact_units(self, value: Any) -> Units:
        """The private points: not releasable."""

    @property
    @abstractmethod
    def counts_reach(self) -> Sensitivity:
        """The distance by which one person moves the counts of classes, in l2."""

    @abstractmethod
    def exact_counts(self, value: Any, salts: Any) -> Array:
        """The number of rows of each class: for a release, and for nothing else."""

    @abstractmethod
    def salts(self, source: Source) -> Any:
        """Coins of the choice of a person's rows, where a table has more than it counts."""

    @abstractmethod
    def decoded(self, points: Array, classes: Array) -> Any:
        """Generated points in the form of the data."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The facts that a stored model needs to decode, as JSON has them."""

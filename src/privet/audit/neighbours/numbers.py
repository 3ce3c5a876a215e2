"""Answers at the distance of the sensitivity: single numbers where arithmetic turns, and vectors in all shapes."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from privet._validate import above, count
from privet.audit.neighbours.family import Neighbours
from privet.errors import InvalidParameter
from privet.privacy import Relation

BOUNDARY_VALUES: tuple[float, ...] = (
    0.0, -0.0, 5e-324, 2.2e-308, 1.0, -1.0, 0.5, 1e-3, 127.0, 255.0, 32_767.0, 65_535.0, 2.0**24, 2.0**31 - 1.0,
    2.0**31, 2.0**32 - 1.0, 2.0**50, 2.0**53, 2.0**63, 1e9, -1e9, -128.0, -32_768.0, -(2.0**31),
)  # fmt: skip
_WHOLE = tuple(
    sign * (2**bits) - below for bits in (7, 8, 15, 16, 24, 31, 32, 53, 63) for sign in (1, -1) for below in (1, 0)
)


@dataclass(frozen=True, eq=False)
class Numbers(Neighbours):
    """Answers at a distance of exactly the sensitivity: boundary values, and others that you name.

    Boundary values are those where a type ends (127, 255, 32,767, 2^31, 2^53, 2^63) or a float changes its step. `whole`
    gives Python integers, which have ones beyond 2^53 as well. A group of k records lies k sensitivities apart.

    >>> next(Numbers(sensitivity=1.0).pairs("add_remove"))
    (0.0, 1.0)
    >>> (127, 128) in Numbers(sensitivity=1, whole=True).pairs("add_remove")
    True
    """

    sensitivity: float
    bounds: tuple[float, float] | None = None
    extra: Sequence[float] = field(default=())
    whole: bool = False

    def pairs(self, relation: Relation, *, group_size: int = 1) -> Iterator[tuple[Any, Any]]:
        distance = self.sensitivity * group_size
        if self.whole and distance != int(distance):
            raise InvalidParameter("whole numbers need a whole sensitivity")
        centres = [*BOUNDARY_VALUES, *self.extra, *(self.bounds or ())]
        if self.whole:
            distance = int(distance)
            centres = [0, 1, -1, *_WHOLE, *map(int, (*self.extra, *(self.bounds or ())))]
        for centre in centres:
            for right in (centre + distance, centre - distance):
                # far from zero the sum rounds: keep only pairs that are no further apart than promised
                if 0 < abs(right - centre) <= distance and self._inside(centre, right):
                    yield centre, right

    def _inside(self, *values: float) -> bool:
        return self.bounds is None or all(self.bounds[0] <= value <= self.bounds[1] for value in values)


@dataclass(frozen=True, eq=False)
class Vectors(Neighbours):
    """Vectors of answers, moved in the patterns that tell the most: one up, one down, all, halves against halves.

    `norm` says what the sensitivity bounds: `each` answer on its own, the sum of all moves (`l1`), or their Euclidean
    length (`l2`). `monotone` keeps patterns in which no answer rises while another falls, as for counts under add/remove.

    **Reference:** Ding et al. 2018 (StatDP) for the patterns.

    >>> next(Vectors(3).pairs("add_remove"))
    ((1, 1, 1), (2, 1, 1))
    """

    length: int
    sensitivity: float = 1
    norm: Literal["each", "l1", "l2"] = "each"
    centre: float = 1
    monotone: bool = False

    def __post_init__(self) -> None:
        count("length", self.length, 1)
        above("sensitivity", self.sensitivity, 0.0)
        if self.norm not in ("each", "l1", "l2"):
            raise InvalidParameter("norm must be each, l1 or l2")

    def pairs(self, relation: Relation, *, group_size: int = 1) -> Iterator[tuple[Any, Any]]:
        distance, left = self.sensitivity * group_size, (self.centre,) * self.length
        seen: set[tuple[int, ...]] = set()
        for moves in self._patterns():
            if moves in seen or not any(moves) or (self.monotone and {1, -1} <= set(moves)):
                continue
            seen.add(moves)
            step = distance / self._length(moves) if self.norm != "each" else distance
            yield left, tuple(self.centre + move * step if move else self.centre for move in moves)
        if self.norm == "each" and not self.monotone:  # two vectors that cross: one half up here, the other half there
            half = self.length // 2
            up = (self.centre + distance,) * half + (self.centre,) * (self.length - half)
            yield up, (self.centre,) * half + (self.centre + distance,) * (self.length - half)

    def _patterns(self) -> Iterator[tuple[int, ...]]:
        n, half = self.length, self.length // 2
        for sign in (1, -1):
            for place in dict.fromkeys((0, n - 1, half)):
                yield tuple(sign if j == place else 0 for j in range(n))
            yield (sign,) + (-sign,) * (n - 1)
            yield (sign,) * half + (-sign,) * (n - half)
            yield (sign,) * half + (0,) * (n - half)
            yield (sign,) * n
            yield tuple(sign * (-1) ** j for j in range(n))

    def _length(self, moves: tuple[int, ...]) -> float:
        total = sum(map(abs, moves))
        return total if self.norm == "l1" else math.sqrt(total) * (1.0 + 1e-12)

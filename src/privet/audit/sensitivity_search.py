"""Attack a declared sensitivity: search small neighbouring data sets for a pair that breaks it."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import product
from numbers import Real
from typing import Any, final

import numpy as np

from privet import noise
from privet._calls import door
from privet._validate import count
from privet.errors import InvalidParameter
from privet.mechanisms import Sensitivity

Data = tuple[Any, ...]
Places = tuple[int, ...]  # a list of records, as places in the domain; the null record is the place after the last

_NO_NULL = object()


@final
@dataclass(frozen=True)
class Counterexample:
    """Two neighbouring data sets whose answers are further apart than the sensitivity says.

    >>> print(Counterexample((1,), (), 3.0, 2.0))
    (1,) and () are neighbours, but their answers are 3 apart; declared was 2
    """

    left: Data
    right: Data
    distance: float
    declared: float

    def __str__(self) -> str:
        return (
            f"{self.left} and {self.right} are neighbours, but their answers are {self.distance:g} apart; declared was "
            f"{self.declared:g}"
        )


@door
def find_counterexample(
    function: Callable[[list[Any]], Any],
    sensitivity: Sensitivity,
    *,
    domain: Sequence[Any],
    max_rows: int = 3,
    null: object = _NO_NULL,
    limit: int = 200_000,
    seed: int = 0,
) -> Counterexample | None:
    """The worst pair found of neighbours, made of records of `domain`, that breaks the sensitivity; None if none does.

    Every list of up to `max_rows` records is tried with each of its neighbours under the sensitivity's unit: in order,
    so that a function which depends on the order (a sum of floats) is caught. Beyond `limit` pairs a pseudo-random
    choice of that size is tried instead. Answers are compared as the exact rationals that they are. `null` is the public
    record of the relation zero_out. The data is made up, so nothing here is private.

    **Guarantee:** a counter-example disproves the sensitivity. None proves it for these lists if all were tried.

    >>> from privet.privacy import Unit
    >>> print(find_counterexample(sum, Sensitivity(5, norm="l1", unit=Unit("replace")), domain=[-2, 5]))
    (-2,) and (5,) are neighbours, but their answers are 7 apart; declared was 5
    >>> find_counterexample(sum, Sensitivity(5, norm="l1"), domain=[-2, 5]) is None
    True
    """
    values = list(domain)
    if not values:
        raise InvalidParameter("domain must list at least one record")
    if sensitivity.unit.relation == "zero_out" and null is _NO_NULL:
        raise InvalidParameter("the relation zero_out needs the public null record: null=")
    search = _Search(function, sensitivity, [*values, null], count("max_rows", max_rows, 1))
    worst = max(search.pairs(count("limit", limit, 1), seed), key=search.excess, default=None)
    if worst is None or search.excess(worst) <= 0:
        return None
    left, right = (tuple(search.records(places)) for places in worst)
    return Counterexample(left, right, search.distance(worst), float(sensitivity))


@dataclass(frozen=True)
class _Search:
    """Lists of records as tuples of places, their neighbours, and how far their answers are apart."""

    function: Callable[[list[Any]], Any]
    sensitivity: Sensitivity
    values: list[Any]
    max_rows: int
    answers: dict[Places, list[Fraction] | None] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return len(self.values) - 1

    def records(self, places: Places) -> list[Any]:
        return [self.values[place] for place in places]

    def pairs(self, limit: int, seed: int) -> Iterator[tuple[Places, Places]]:
        """All pairs if they are at most `limit`, else `limit` random ones."""
        longest = (0,) * self.max_rows
        if self.size**self.max_rows * 2 * max(1, sum(1 for _ in self.neighbours(longest))) <= limit:
            for rows in range(self.max_rows + 1):
                for places in product(range(self.size), repeat=rows):
                    yield from ((places, other) for other in self.neighbours(places))
            return
        source = noise.Seeded(seed)
        lengths = noise.uniform_int(bound=self.max_rows, size=limit, source=source) + 1
        table = noise.uniform_int(bound=self.size, size=(limit, self.max_rows), source=source)
        turns = noise.uniform_int(bound=2**40, size=limit, source=source)
        for length, row, turn in zip(lengths.tolist(), table.tolist(), turns.tolist(), strict=True):
            others = list(self.neighbours(tuple(row[:length])))
            if others:
                yield tuple(row[:length]), others[turn % len(others)]

    def neighbours(self, places: Places) -> Iterator[Places]:
        """The lists that `group_size` changes can make of one. Adding is the mirror image of removing; a group needs
        both."""
        group = self.sensitivity.unit.group_size
        reached = {places}
        for _ in range(group):
            reached |= {other for one in reached for other in self._changed(one, also_add=group > 1)}
        yield from sorted(reached - {places})

    def _changed(self, places: Places, *, also_add: bool) -> Iterator[Places]:
        relation = self.sensitivity.unit.relation
        instead: list[Places] = [()]
        if relation != "add_remove":
            instead = [(self.size,)] if relation == "zero_out" else [(new,) for new in range(self.size)]
        for at in range(len(places)):
            yield from (places[:at] + new + places[at + 1 :] for new in instead)
        if also_add and relation == "add_remove" and len(places) < self.max_rows:
            for at in range(len(places) + 1):
                yield from ((*places[:at], new, *places[at:]) for new in range(self.size))

    def excess(self, pair: tuple[Places, Places]) -> Fraction | float:
        """The distance between the answers beyond what was declared; squares for l2, so that nothing is
        rounded."""
        declared = self.sensitivity.value
        return self._length(pair) - (declared * declared if self.sensitivity.norm == "l2" else declared)

    def distance(self, pair: tuple[Places, Places]) -> float:
        length = float(self._length(pair))
        return math.sqrt(length) if self.sensitivity.norm == "l2" else length

    def _length(self, pair: tuple[Places, Places]) -> Fraction | float:
        left, right = map(self._answer, pair)
        if left is None or right is None or len(left) != len(right):
            return math.inf  # NaN, infinite, or of another shape: no sensitivity allows that
        gaps = [abs(a - b) for a, b in zip(left, right, strict=True)]
        if self.sensitivity.norm == "score":
            return max(gaps, default=Fraction(0))
        return sum((gap * gap if self.sensitivity.norm == "l2" else gap for gap in gaps), Fraction(0))

    def _answer(self, places: Places) -> list[Fraction] | None:
        if places not in self.answers:
            self.answers[places] = _exact(self.function(self.records(places)))
        return self.answers[places]


def _exact(answer: object) -> list[Fraction] | None:
    """The answer as exact rationals, or None if it is not finite."""
    entries = list(answer.values()) if isinstance(answer, dict) else answer
    flat = [x.item() if isinstance(x, np.generic) else x for x in np.asarray(entries, dtype=object).ravel()]
    if not all(isinstance(entry, Real | Decimal) for entry in flat):
        raise InvalidParameter("the function must return a number or an array of numbers")
    try:
        return [Fraction(entry) for entry in flat]
    except (OverflowError, ValueError):
        return None

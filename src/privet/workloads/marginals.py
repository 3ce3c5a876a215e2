"""Marginal tables over several attributes."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any, final

import numpy as np

from privet._calls import door
from privet._numerics import Array
from privet._validate import count, set_frozen
from privet.errors import InvalidParameter
from privet.workloads.workload import Workload, public_shape


@final
@door
@dataclass(frozen=True)
class Marginals(Workload):
    """The tables of counts over given sets of attributes: every cell of every one of them is a query.

    The full domain is never built for planning: a hundred attributes are no problem.

    >>> tables = Marginals((2, 3), ((0,), (1,)))
    >>> tables.answers(np.array([[1, 2, 3], [4, 5, 6]])).tolist()
    [6, 15, 5, 7, 9]
    """

    domain: tuple[int, ...]
    attributes: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        set_frozen(self, domain=public_shape(self.domain))
        set_frozen(self, attributes=tuple(_places(each, len(self.domain)) for each in _listed(self.attributes)))
        if len(set(self.attributes)) != len(self.attributes):
            raise InvalidParameter("attributes must name each table once")

    @classmethod
    @door
    def all_ways(cls, domain: tuple[int, ...], ways: int) -> "Marginals":
        """All tables over `ways` attributes.

        >>> Marginals.all_ways((2, 2, 2), 2).attributes
        ((0, 1), (0, 2), (1, 2))
        """
        size = len(public_shape(domain))
        if count("ways", ways, 0) > size:
            raise InvalidParameter(f"ways must be at most the number of attributes, {size}")
        return cls(domain, tuple(combinations(range(size), ways)))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.domain

    def _sizes(self) -> list[int]:
        return [prod(self.domain[i] for i in each) for each in self.attributes]

    @property
    def queries(self) -> int:
        return sum(self._sizes())

    def table(self, histogram: Array, attributes: tuple[int, ...]) -> Array:
        """One marginal of a histogram: the sum over all other attributes."""
        others = tuple(i for i in range(len(self.domain)) if i not in attributes)
        return np.asarray(np.sum(np.asarray(histogram).reshape(self.domain), axis=others))

    def answers(self, histogram: Array) -> Array:
        return np.concatenate([self.table(histogram, each).reshape(-1) for each in self.attributes])

    def query(self, number: int) -> Array:
        for each, size in zip(self.attributes, self._sizes(), strict=True):
            if number < size:
                row = np.zeros(self.domain)
                places: list[Any] = [slice(None)] * len(self.domain)
                for axis, place in zip(each, np.unravel_index(number, [self.domain[i] for i in each]), strict=True):
                    places[axis] = place
                row[tuple(places)] = 1.0
                return row
            number -= size
        raise InvalidParameter("there is no query of this number")

    def gram(self) -> Array:
        """Two cells are in as many common queries as there are tables whose attributes they share."""
        places = np.array(np.unravel_index(np.arange(self._small()), self.domain))
        alike = [np.equal.outer(side, side) for side in places]
        none = np.ones((self.cells, self.cells))
        return np.asarray(sum(prod((alike[i] for i in each), start=none) for each in self.attributes))

    def block_energy(self, width: int) -> float:
        if width > 1:
            raise InvalidParameter("blocks of consecutive cells are for one dimension: take Residuals() for marginals")
        return self.cells * len(self.attributes)

    def describe(self) -> str:
        return f"{len(self.attributes):,} marginal tables of {len(self.domain)} attributes"


def _listed(attributes: object) -> Iterable[Any]:
    if isinstance(attributes, str | bytes | dict) or not isinstance(attributes, Iterable):
        raise InvalidParameter("attributes must be a list of tuples, such as ((0, 1), (1, 2))")
    found = list(attributes)
    if not found:
        raise InvalidParameter("attributes must name at least one table")
    return found


def _places(each: object, dimensions: int) -> tuple[int, ...]:
    if isinstance(each, str | bytes) or not isinstance(each, Iterable):
        raise InvalidParameter("each table is named by a tuple of the numbers of its attributes, such as (0, 1)")
    places = tuple(count("attribute", place) for place in each)
    if len(set(places)) != len(places) or any(place >= dimensions for place in places):
        raise InvalidParameter(f"a table names different attributes, numbered 0 to {dimensions - 1}")
    return tuple(sorted(places))

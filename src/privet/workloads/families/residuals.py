"""Residual tables: the part of each marginal table that smaller ones do not determine; orthogonal to each other."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, chain, combinations
from math import prod
from typing import Any, final

import numpy as np

from privet._cache import kept_property
from privet._numerics import Array
from privet.errors import InvalidParameter
from privet.mechanisms import storable
from privet.workloads.design import Design, NoiseNorm
from privet.workloads.marginals import Marginals
from privet.workloads.workload import Workload

Attributes = tuple[int, ...]
_LARGEST = 2**61  # measurements are cut there, as those of every design are
_EXACT = 12  # attributes for which all 2^12 sets of attributes in which two cells may differ are tried; beyond, a bound


def closure(tables: Iterable[Attributes]) -> tuple[Attributes, ...]:
    """All subsets of the given sets, the small ones first.

    >>> closure([(0, 1)])
    ((), (0,), (1,), (0, 1))
    """
    found = {part for table in tables for part in subsets(table)}
    return tuple(sorted(found, key=lambda each: (len(each), each)))


def subsets(table: Attributes) -> Iterable[Attributes]:
    """Every subset of a set of attributes, itself included.

    >>> list(subsets((0, 2)))
    [(), (0,), (2,), (0, 2)]
    """
    return chain.from_iterable(combinations(table, size) for size in range(len(table) + 1))


@final
@storable("workloads.residuals")
@dataclass(frozen=True)
class Residuals(Design):
    """The residual tables of some sets of attributes (`parts`), in whole numbers.

    The residual of a set is its marginal table where, along each attribute of n values in turn, x becomes n x - sum: its
    difference from the mean, times n. Residuals of different sets are orthogonal.

    >>> one = Residuals((2, 2), ((), (0,)), (Fraction(1), Fraction(1)))
    >>> one.measure(np.array([[1, 2], [3, 4]])).tolist()  # the total; then 2 * 3 - 10, 2 * 7 - 10
    [10, -4, 4]
    """

    domain: tuple[int, ...]
    parts: tuple[Attributes, ...]
    weights: tuple[Fraction, ...]

    def to_arrays(self) -> dict[str, Any]:
        """The fields, for a store."""
        return {"domain": self.domain, "parts": self.parts, "weights": self.weights}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> "Residuals":
        """Back from `to_arrays`."""
        parts = tuple(tuple(part) for part in arrays["parts"])
        return cls(tuple(arrays["domain"]), parts, tuple(arrays["weights"]))

    @property
    def cells(self) -> int:
        return prod(self.domain)

    def _values(self, part: Attributes) -> int:
        """The number of cells of the table of a set."""
        return prod(self.domain[i] for i in part)

    @property
    def groups(self) -> tuple[tuple[int, Fraction], ...]:
        return tuple((self._values(part), weight) for part, weight in zip(self.parts, self.weights, strict=True))

    def measure(self, histogram: Array) -> Array:
        cells = np.asarray(histogram).reshape(self.domain)
        return np.concatenate([self._residual(cells, part).reshape(-1) for part in self.parts])

    def _residual(self, cells: Array, part: Attributes) -> Array:
        table = np.sum(cells, axis=tuple(i for i in range(len(self.domain)) if i not in part))
        return _centred(table, [self.domain[i] for i in part])

    def measure_tables(self, workload: Marginals, answers: Array) -> Array:
        """The measurements as `measure` makes them of whole numbers, from the answers to marginals that cover every set.

        The histogram is never built: it may have more cells than any memory.
        """
        tables, start, found = {}, 0, []
        for each in workload.attributes:
            size = self._values(each)
            tables[each] = answers[start : start + size].reshape([self.domain[i] for i in each])
            start += size
        for part in self.parts:
            smallest = min((each for each in tables if set(part) <= set(each)), key=self._values)
            answered = tables[smallest]
            if float(np.abs(answered.astype(float)).sum()) * prod(self.domain[i] + 1.0 for i in part) >= _LARGEST:
                answered = answered.astype(object)  # Python's integers: 64 bits might overflow before the cut below
            table = np.sum(answered, axis=tuple(k for k, i in enumerate(smallest) if i not in part))
            centred = np.reshape(_centred(table, [self.domain[i] for i in part]), -1)
            found.append(np.clip(centred, -_LARGEST, _LARGEST).astype(np.int64))
        return np.concatenate(found)

    def table(self, measured: Array, attributes: Attributes) -> Array:
        """One marginal, rebuilt from the measurements of the sets within it alone."""
        found = np.zeros([self.domain[i] for i in attributes])
        for place in self._within(attributes):
            part, start = self.parts[place], self._starts[place]
            sizes = [self.domain[i] for i in part]
            each = np.asarray(measured[start : start + prod(sizes)], dtype=float).reshape(sizes)
            for axis in range(len(part)):
                each = each - np.mean(each, axis=axis, keepdims=True)
            found += each.reshape([self.domain[i] if i in part else 1 for i in attributes])
        return found / self._values(attributes)

    @kept_property
    def _places(self) -> dict[Attributes, int]:
        return {part: place for place, part in enumerate(self.parts)}

    @kept_property
    def _starts(self) -> tuple[int, ...]:
        """Where the measurements of each set begin."""
        return (0, *accumulate(self._values(part) for part in self.parts))

    def _within(self, attributes: Attributes) -> tuple[int, ...]:
        """The places of the sets within a table, in their order."""
        return tuple(sorted(self._places[part] for part in subsets(attributes) if part in self._places))

    def table_weights(self, attributes: Attributes) -> tuple[tuple[int, ...], Array]:
        """The places of the sets that a marginal is rebuilt from, and the weights of their measurements in its first cell.

        The weights of another cell are the same numbers in another order.
        """
        places = self._within(attributes)
        found = []
        for k in places:
            weights = np.ones(())
            for i in self.parts[k]:
                side = np.full(self.domain[i], -1.0 / self.domain[i])
                side[0] += 1.0
                weights = np.multiply.outer(weights, side)
            found.append(weights.reshape(-1))
        return places, np.concatenate(found) / self._values(attributes)

    def reconstruct(self, measured: Array) -> Array:
        """The cells that the measured sets determine; what they leave open is spread evenly."""
        cells = np.zeros(self.domain)
        start = 0
        for part in self.parts:
            size = self._values(part)
            table = np.asarray(measured[start : start + size], dtype=float).reshape([self.domain[i] for i in part])
            start += size
            for axis in range(len(part)):
                table = table - np.mean(table, axis=axis, keepdims=True)
            place = [self.domain[i] if i in part else 1 for i in range(len(self.domain))]
            cells += table.reshape(place) / self.cells
        return cells.reshape(-1)

    def coefficients(self, query: Array) -> Array:
        flat = np.asarray(query, dtype=float).reshape(self.domain)
        found = [self._residual(flat, part).reshape(-1) / self._values(part) for part in self.parts]
        return np.concatenate(found) / self.cells

    def _wide(self, table: Attributes) -> Attributes:
        """The attributes of a table that have several values: the others say nothing."""
        return tuple(i for i in table if self.domain[i] > 1)

    @property
    def complete(self) -> bool:
        return self._wide(tuple(range(len(self.domain)))) in self.parts

    def uncovered(self, workload: Workload) -> int | None:
        if not isinstance(workload, Marginals):
            return super().uncovered(workload)
        known, number = set(self.parts), 0
        for table in workload.attributes:  # without building the domain
            if not known.issuperset(subsets(self._wide(table))):
                return number
            number += self._values(table)
        return None

    def determines(self, query: Array) -> bool:
        flat = np.asarray(query, dtype=float).reshape(-1)
        back = self.reconstruct(self.measure(flat))
        return bool(np.max(np.abs(back - flat)) <= 1e-9 * max(1.0, float(np.max(np.abs(flat)))))

    def trace(self, workload: Workload) -> float:
        """The sum of all variances, for marginals in closed form: in a cell of a table, the variances of the sets within it
        add up, each divided by the square of the number of cells over which the table spreads it."""
        if not isinstance(workload, Marginals):
            raise InvalidParameter("residual tables are for marginals")
        spread = {
            part: _share(self.domain, part) / float(weight * self._values(part)) ** 2
            for part, weight in zip(self.parts, self.weights, strict=True)
        }
        return sum(
            spread[part] * self._values(table) / (self._values(table) / self._values(part)) ** 2
            for table in workload.attributes
            for part in subsets(self._wide(table))
        )

    def _longest(self, norm: NoiseNorm) -> Fraction:
        if norm == "l1":
            pairs = zip(self.parts, self.weights, strict=True)
            return sum((weight * prod(2 * (self.domain[i] - 1) for i in part) for part, weight in pairs), Fraction(0))
        return sum(map(self._square, range(len(self.parts))), Fraction(0))

    def _square(self, place: int) -> Fraction:
        """The part of one set in the squared length of a column: for n values, n (n - 1) is that of a column of n I - J."""
        sizes = (self.domain[i] for i in self.parts[place])
        return self.weights[place] ** 2 * prod(n * (n - 1) for n in sizes)

    def _farthest(self, norm: NoiseNorm) -> Fraction:
        """The largest distance of two columns: exact for l2 and few attributes, where all sets of attributes in which two
        cells may differ are tried; else the bound from twice the longest column (squared for l2)."""
        free = tuple(i for i, size in enumerate(self.domain) if size > 1)
        if norm == "l1" or len(free) > _EXACT:
            return self._longest(norm) * (2 if norm == "l1" else 4)
        products = self._products(free)
        return 2 * (products[0] - min(products[1:], default=products[0]))

    def _products(self, free: Attributes) -> list[Fraction]:
        """The inner products of two columns, for each subset of `free` in which their two cells may differ.

        Bit b of an index stands for the attribute free[b]. At first the index is a set that is measured, and the entry its
        `_square`; one attribute after the other, the index turns into the subset in which the cells differ.
        """
        found = [Fraction(0)] * 2 ** len(free)
        for place, part in enumerate(self.parts):
            if square := self._square(place):  # it is 0 where an attribute of a single value is among them
                found[sum(1 << free.index(i) for i in part)] = square
        for bit, i in enumerate(free):
            turned = Fraction(-1, self.domain[i] - 1)  # two different columns of n I - J, over one with itself
            for index in range(len(found)):
                if not index >> bit & 1:
                    with_it = index | 1 << bit
                    sets_without, sets_with = found[index], found[with_it]
                    found[index], found[with_it] = sets_without + sets_with, sets_without + turned * sets_with
        return found

    @property
    def _widest(self) -> int:
        rows = (  # a row of n I - J has the sum 2 (n - 1) of moduli
            prod(2 * (self.domain[i] - 1) for i in part) * (self.cells // self._values(part)) for part in self.parts
        )
        return max(rows)


def _centred(table: Array, sizes: list[int]) -> Array:
    """The table with n x - sum in the place of x, along every axis."""
    for axis, size in enumerate(sizes):
        table = size * table - np.sum(table, axis=axis, keepdims=True)
    return np.asarray(table)


def _share(domain: tuple[int, ...], part: Attributes) -> float:
    """The product of (n - 1)/n: how much of a unit vector the residual of a set keeps."""
    return prod((domain[i] - 1) / domain[i] for i in part)

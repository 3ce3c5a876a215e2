"""Range queries that are listed one by one."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from privet._calls import door
from privet._numerics import Array
from privet._validate import count, set_frozen
from privet.errors import InvalidParameter
from privet.workloads.partition import Partition
from privet.workloads.workload import DENSE, LineWorkload


@final
@door
@dataclass(frozen=True)
class Ranges(LineWorkload):
    """Given ranges (first, last) of cells, both ends included; one whose last cell lies before its first is empty.

    >>> Ranges(4, [(0, 3), (1, 2), (2, 1)]).answers(np.array([1, 2, 4, 8])).tolist()
    [15, 6, 0]
    """

    ranges: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, ranges=tuple(public_range(each, self.domain) for each in _listed(self.ranges)))

    @property
    def queries(self) -> int:
        return len(self.ranges)

    def _ends(self) -> tuple[Array, Array]:
        first, last = np.array(self.ranges, dtype=np.int64).T
        return first, np.maximum(last, first - 1) + 1

    def answers(self, histogram: Array) -> Array:
        sums = np.concatenate(([0], np.cumsum(histogram)))
        first, end = self._ends()
        return np.asarray(sums[end] - sums[first])

    def query(self, number: int) -> Array:
        first, last = self.ranges[number]
        cell = np.arange(self.domain)
        return ((cell >= first) & (cell <= last)).astype(float)

    def gram(self) -> Array:
        """Ranges that hold both of two cells: sums of a grid of (first, end) counts from one corner."""
        k = self._small()
        first, end = self._ends()
        there = end > first
        grid = np.zeros((k, k))
        np.add.at(grid, (first[there], end[there] - 1), 1.0)
        holding = np.cumsum(grid, axis=0)[:, ::-1].cumsum(axis=1)[:, ::-1]  # first <= i and last >= j
        low, high = np.minimum.outer(*[np.arange(k)] * 2), np.maximum.outer(*[np.arange(k)] * 2)
        return np.asarray(holding[low, high])

    def block_energy(self, width: int) -> float:
        first, end = self._ends()
        block, last = first // width, (end - 1) // width
        there = end > first
        one = there & (block == last)
        several = there & (block < last)
        total = float(np.sum((end[one] - first[one]).astype(float) ** 2))
        head = (block[several] + 1) * width - first[several]
        tail = end[several] - last[several] * width
        full = last[several] - block[several] - 1
        return total + float(np.sum(head.astype(float) ** 2 + tail.astype(float) ** 2 + full * float(width) ** 2))

    def bucket_energy(self, partition: Partition, width: int) -> float:
        """As `block_energy`: a range takes what lies behind its beginning, before its end, and whole blocks between."""
        first, end = self._ends()
        first, end = first[end > first], end[end > first]
        ends, starts, widths = np.array(partition.ends), partition.starts, partition.widths
        one, other = np.searchsorted(ends, first, side="right"), np.searchsorted(ends, end - 1, side="right")
        block, last = one // width, other // width
        head = one % width + (first - starts[one]) / widths[one]  # of its block, before the range
        tail = other % width + (end - starts[other]) / widths[other]  # of its block, up to the end of the range
        same = block == last
        total = np.sum((tail[same] - head[same]) ** 2)
        full = (last - block - 1)[~same]
        return float(total + np.sum((width - head[~same]) ** 2 + tail[~same] ** 2 + full * float(width) ** 2))

    def describe(self) -> str:
        return f"{self.queries:,} given ranges of {self.domain:,} cells"


def public_range(ends: Any, domain: int) -> tuple[int, int]:
    """First and last cell of a range, within the domain.

    >>> public_range((2, 5), 8)
    (2, 5)
    """
    try:
        first, last = ends
    except (TypeError, ValueError):
        raise InvalidParameter("a range is a pair (first cell, last cell), both included") from None
    first = count("the first cell of a range", first)
    last = -1 if isinstance(last, int | np.integer) and last == -1 else count("the last cell of a range", last)
    if first >= domain or last >= domain:
        raise InvalidParameter(f"a range ends within the domain: cells are numbered 0 to {domain - 1}")
    return first, last


def _listed(ranges: object) -> Iterable[Any]:
    if isinstance(ranges, str | bytes | dict) or not isinstance(ranges, Iterable):
        raise InvalidParameter("ranges must be a list of pairs (first cell, last cell)")
    found = list(ranges)
    if not 0 < len(found) <= DENSE:
        raise InvalidParameter(f"ranges must list between 1 and {DENSE:,} pairs")
    return found

"""A partition of the cells into even buckets, chosen by a noisy dynamic program."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Unpack, final

import numpy as np

from privet import noise
from privet._cache import kept_property
from privet._numerics import Array, up
from privet._validate import above, at_least, count, instance, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms import Example, Mechanism, Sensitivity, Source, register, row_sensitivity, smallest_scale
from privet.noise import LARGEST_SCALE
from privet.privacy import Guarantee, PrivacyLoss, Promise, PureLoss, Unit
from privet.workloads.families.counts import admit_histogram, whole_counts

MOST_CELLS = 2**16  # of a histogram, and of runs at a time: memory and time only
_STARTS = 64  # a bucket of w cells starts at multiples of w/64


@final
@register
@dataclass(frozen=True, kw_only=True)
class NoisyPartition(Mechanism[Any, Array]):
    """The ends (not included) of buckets that are nearly even inside: the first stage of DAWA.

    Candidates are buckets of 1, 2, 4, ... cells. A bucket costs the deviation of its cells from their mean, summed and
    rounded down, plus a public price, plus discrete Laplace noise of its own; the cheapest partition is released, its
    cost is not. `penalty` is the public price of a bucket in units of its noise: it keeps lucky noise from cutting the
    cells up.

    **Guarantee:** pure epsilon = (rows that change)/scale; a bucket of w cells has noise of scale times D(w) + max D.
    **Sensitivity:** D(w) = 0, 1, 2, 2, ... for 1, 2, 4, ... cells: how far one row moves the cost of one bucket. A row
    lies in one bucket of each partition, whatever the number of candidates.
    **Error:** none stated: how even the data are is not public.
    **Reference:** Li, Hay & Miklau 2014; proof note workloads/dawa.

    >>> NoisyPartition.for_budget(epsilon=50.0, cells=6).release([9, 9, 9, 9, 0, 0]).value.tolist()
    [4, 6]
    """

    name = "noisy_partition"

    cells: int
    scale: float
    penalty: float = 2.5
    unit: Unit = field(default=Unit())
    max_rows: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, cells=count("cells", self.cells, 1), max_rows=count("max_rows", self.max_rows, 1))
        set_frozen(self, scale=above("scale", self.scale, 0.0), penalty=at_least("penalty", self.penalty, 0.0))
        if self.cells > MOST_CELLS:
            raise InvalidParameter(f"cells must be at most {MOST_CELLS:,}: sum neighbouring cells first")
        instance("unit", self.unit, Unit)
        assert self.sensitivity  # which refuses other relations
        if self.penalty > 1e6 or self._noise(self.cells) * max(1, int(self.penalty)) > LARGEST_SCALE:
            raise InvalidParameter("the budget is too small (or the penalty too large) for noise in whole numbers")

    @classmethod
    def for_budget(
        cls,
        *,
        cells: int,
        penalty: float = 2.5,
        unit: Unit | None = None,
        max_rows: int = 1,
        **promise: Unpack[Promise],
    ) -> "NoisyPartition":
        """The least noise within the budget."""
        facts: dict[str, Any] = {"cells": cells, "penalty": penalty, "max_rows": max_rows}
        facts |= {"unit": Unit() if unit is None else instance("unit", unit, Unit)}
        cls(scale=1.0, **facts)  # which says what is wrong
        return cls(scale=smallest_scale(lambda scale: cls(scale=scale, **facts).loss, Guarantee(**promise)), **facts)

    @property
    def sensitivity(self) -> Sensitivity:
        """Of the histogram: how many times a row enters or leaves a cell between neighbours."""
        moves = Fraction(2 if self.unit.relation == "replace" else 1)
        return row_sensitivity(moves, norm="l1", unit=self.unit, max_rows=self.max_rows)

    @property
    def loss(self) -> PrivacyLoss:
        return PureLoss(up(self.sensitivity.value / Fraction(self.scale)), unit=self.unit)

    @kept_property
    def _widths(self) -> tuple[int, ...]:
        return tuple(2**j for j in range(self.cells.bit_length()))

    def _noise(self, width: int) -> Fraction:
        """The scale of the noise of a bucket: what it may rise, and what any other may fall, when one row changes."""
        return Fraction(self.scale) * (reach(width) + max(1, reach(self._widths[-1])))

    def _admit(self, value: object) -> None:
        admit_histogram(value, (self.cells,))

    def _prepare(self, value: object) -> list[Array]:
        """The exact cost of every candidate, width by width."""
        cells = whole_counts(value, most_count(self.cells))
        return [_deviations(cells, width) for width in self._widths]

    def _draw(self, prepared: list[Array], runs: int, source: Source) -> list[Array]:
        each = max(1, MOST_CELLS // self.cells)
        parts = [min(each, runs - done) for done in range(0, runs, each)]
        return [ends for part in parts for ends in self._cheapest(prepared, part, source)]

    def _cheapest(self, exact: list[Array], runs: int, source: Source) -> list[Array]:
        costs = []
        for width, cost in zip(self._widths, exact, strict=True):
            scale = self._noise(width)
            drawn = np.asarray(noise.discrete_laplace(scale=scale, size=(runs, len(cost)), source=source))
            costs.append((cost + drawn + math.ceil(Fraction(self.penalty) * scale)).tolist())
        strides = [_stride(width) for width in self._widths]
        return [
            cheapest_ends(list(zip(self._widths, strides, run, strict=True)), self.cells)
            for run in zip(*costs, strict=True)
        ]

    def error(self, confidence: float = 0.95) -> None:
        """None: it would depend on the data."""

    @classmethod
    def examples(cls) -> Iterable[Example]:
        even = cls.for_budget(epsilon=4.0, cells=4, penalty=0.0)
        yield Example(even, [0, 0, 0, 1], [0, 0, 0, 2], Guarantee(4.0), detects=0.25, lengths="protected")
        moved = cls.for_budget(epsilon=4.0, cells=2, penalty=0.5, unit=Unit("replace"))
        yield Example(moved, [2, 2], [3, 1], Guarantee(4.0), detects=0.25, lengths="protected")


def reach(width: int) -> int:
    """The distance by which one row that enters or leaves a cell moves the rounded deviation of a bucket of this many
    cells.

    The deviation itself moves by at most 2 - 2/width; it is whole for two cells.

    >>> [reach(width) for width in (1, 2, 4, 8)]
    [0, 1, 2, 2]
    """
    return min(2, width - 1)


def most_count(cells: int) -> int:
    """Counts are cut here: deviations are then summed in 64 bits.

    >>> most_count(1024) > 10**11
    True
    """
    return 2**60 // cells**2


def _stride(width: int) -> int:
    return max(1, width // _STARTS)


def _deviations(cells: Array, width: int) -> Array:
    """The sum of |x - mean| over each bucket of this width, rounded down: whole numbers, exactly."""
    windows = np.lib.stride_tricks.sliding_window_view(cells, width)[:: _stride(width)]
    found = np.empty(len(windows), dtype=np.int64)
    step = max(1, 2**20 // width)
    for start in range(0, len(windows), step):
        part = windows[start : start + step]
        total = part.sum(axis=1, keepdims=True)
        found[start : start + step] = np.abs(part * width - total).sum(axis=1) // width
    return found


def cheapest_ends(costs: list[tuple[int, int, list[int]]], cells: int) -> Array:
    """The ends of the cheapest partition; `costs` are triples of a width, the distance of starts, and a cost for each.

    Of equal ones the partition with the narrower last bucket, then the narrower last but one, and so on: an order of
    partitions that does not depend on their costs.

    >>> cheapest_ends([(1, 1, [3, 3]), (2, 1, [5])], 2).tolist()
    [2]
    """
    best, chosen = [0] * (cells + 1), [0] * (cells + 1)
    for end in range(1, cells + 1):
        least: int | None = None
        for width, stride, cost in costs:
            start = end - width
            if start < 0:
                break
            if start % stride:
                continue
            total = best[start] + cost[start // stride]
            if least is None or total < least:
                least, chosen[end] = total, width
        assert least is not None  # width 1 always fits
        best[end] = least
    ends = [cells]
    while (start := ends[-1] - chosen[ends[-1]]) > 0:
        ends.append(start)
    return np.array(ends[::-1], dtype=np.int64)

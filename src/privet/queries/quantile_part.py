"""One quantile in every group: the exponential mechanism over a public grid of values."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidParameter
from privet.mechanisms import Exponential
from privet.queries.aggregates import Quantile
from privet.tables import Aggregates, Bin, Bounded, Column, Date, Derive, Float, KeySet, Node, Ref, in_groups

MOST_BINS = 4096  # fine enough that noise, not the bin, decides an error
_MOST_ASKED = 2**20  # bins that a caller may ask for: each is a key
_BIN = "(bin)"


@final
@dataclass(frozen=True)
class QuantilePart:
    """The candidates are bins over the bounds of the column: single values, where these are few whole numbers. With q = a/b
    the score of a bin is minus how far a/b of the rows, times b, is from the range between the rows below the bin and those
    up to its end: 0 where the quantile lies in it, however many rows share one value.

    **Sensitivity:** of the score, max(a, b - a) for one row (add/remove); rows of a person add up, over all groups.
    **Proof:** docs/proofs/queries/table_answers.md.
    """

    name: str
    request: Quantile
    plan: Bounded
    groups: int
    bins: int
    start: float
    width: float
    stop: float
    choice: Exponential
    date: bool = False
    whole: bool = False  # whether the column holds whole numbers or days

    @property
    def moved(self) -> int:
        """The distance by which one person (added or removed) moves the scores of all groups together."""
        return moved_by(self.request, self.plan)

    def scores(self, found: Aggregates) -> Array:
        """The score of every bin in every group: not releasable."""
        upto = np.cumsum(found.rows.reshape(self.groups, self.bins), axis=1)
        below = np.concatenate([np.zeros((self.groups, 1), dtype=np.int64), upto[:, :-1]], axis=1)
        a, b = self.request.q.numerator, self.request.q.denominator
        wanted = a * upto[:, -1:]
        return np.asarray(-np.maximum(np.maximum(b * below - wanted, wanted - b * upto), 0))

    def values(self, chosen: Array) -> Array:
        """The middles of the bins that were chosen."""
        middle = math.floor((self.width - 1.0) / 2.0) if self.whole else self.width / 2.0
        value = np.clip(self.start + self.width * chosen + middle, self.start, self.stop)
        return np.asarray(np.floor(value).astype(np.int64).astype("datetime64[D]") if self.date else value)

    @property
    def note(self) -> str:
        """A note on what the number is, whatever it was asked as. No interval in the units of the column is known: it
        depends on how dense the data lie, of which nothing is released."""
        share, column = float(self.request.q), self.request.column
        return f"{100 * share:.6g}% quantile, no interval: table.quantiles({column!r}, [{share:g}]) has one"


def moved_by(request: Quantile, plan: Bounded) -> int:
    """The distance by which one person (added or removed) moves the scores of all groups together."""
    a, b = request.q.numerator, request.q.denominator
    return max(a, b - a) * plan.rows.reach.most_rows


def bin_count(bins: object) -> int:
    """A number of bins that can be held in memory.

    >>> bin_count(12)
    12
    """
    if isinstance(bins, bool) or not isinstance(bins, int) or not 1 <= bins <= _MOST_ASKED:
        raise InvalidParameter("bins must be a whole number from 1 to 2^20")
    return bins


def binned(rows: Node, column: str, most: int = MOST_BINS) -> tuple[Node, int, float, float]:
    """The rows with the bin of a column, how many bins there are, where they start and how wide they are."""
    kind: Column = rows.columns[column]
    low, high = kind.span
    if isinstance(kind, Float):
        bins, start, width = most, float(low), (float(high) - float(low)) / most
        if width == 0.0:
            bins, width = 1, 1.0
        while start + width * bins < float(high):  # the last bin must reach the bound
            width = math.nextafter(width, math.inf)
        return Derive(rows, _BIN, Bin(Ref(column), start, width, bins)), bins, start, width
    cells = int(high) - int(low) + 1
    step = math.ceil(cells / most)
    bins = math.ceil(cells / step)
    return Derive(rows, _BIN, Bin(Ref(column), int(low), step, bins)), bins, float(low), float(step)


def with_bins(
    rows: Node, names: tuple[str, ...], keys: KeySet, column: str, most: int = MOST_BINS
) -> tuple[Bounded, int, float, float]:
    """The plan that counts the rows of every bin in every group. Bins are no groups: a person keeps as many rows as the
    limits allow in all groups together, whatever bins they lie in."""
    derived, bins, start, width = binned(in_groups(rows, len(keys)), column, most)
    return Bounded(derived, (*names, _BIN), keys, bins=bins), bins, start, width


def is_date(rows: Node, column: str) -> bool:
    """True if the column holds days, which are counted from 1970."""
    return isinstance(rows.columns[column], Date)

"""A strategy chosen by how many rows there are: public, or measured with a small part of the budget."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from privet._cache import remember
from privet._numerics import Array
from privet._validate import at_least, open_fraction, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms import Geometric, Source, row_sensitivity
from privet.privacy import PrivacyLoss
from privet.workloads.adaptive.adaptive_grid import AdaptiveGrid, fits_grid, grid_error, two_levels
from privet.workloads.adaptive.adaptive_strategy import AdaptiveStrategy, Task
from privet.workloads.adaptive.dawa import DAWA, fits_buckets
from privet.workloads.adaptive.noisy_partition import MOST_CELLS
from privet.workloads.answers import Answers
from privet.workloads.plan import candidates
from privet.workloads.strategy import Strategy
from privet.workloads.workload import Workload

_SPREAD = 0.5  # the square of the imbalance of two halves of a block, relative to it: typical of published histograms
_SEARCHED = 256  # cells up to which a search for the best Gaussian strategy is over in a second or two
_CELLS = (0.1, 8.0)  # where single cells are asked of DAWA: the bias of one bucket, foreseen, over the unbiased error
_POINTS = 0.05  # workloads that put less than this share of their weight on the total ask for single cells


@final
@dataclass(frozen=True, kw_only=True)
class Automatic(AdaptiveStrategy):
    """The best strategy for about this many rows: unbiased where they are many, an adaptive grid where they are few, and
    DAWA in between where single cells of one dimension are asked for. For one or two dimensions.

    `rows` is a public guess of the number of rows (an order of magnitude will do); without it, `share` of the budget
    measures it. Nothing else about the data enters the choice: bias is foreseen from a public model of how uneven
    histograms are, which can make the choice worse and the guarantee not.

    **Guarantee:** a noisy total where `rows` is not given, and what is chosen with the rest of the budget.
    **Error:** as what was chosen: unbiased answers have exact intervals, others say "noise only".
    **Reference:** proof note workloads/automatic.

    >>> from privet.workloads import Prefix, RangeQueries
    >>> asked = RangeQueries(workload=Prefix(64))
    >>> few, many = (asked.release([1] * 64, epsilon=0.1, strategy=Automatic(rows=n)).value for n in (64, 10**6))
    >>> few.answer(0, 9).noise_only, many.answer(0, 9).noise_only
    (True, False)
    """

    name = "automatic"

    rows: float | None = None
    share: float = 0.05

    def __post_init__(self) -> None:
        set_frozen(self, share=open_fraction("share", self.share))
        if self.rows is not None:
            set_frozen(self, rows=at_least("rows", self.rows, 0.0))

    def _check(self, task: Task) -> None:
        if len(task.workload.shape) > 2:
            raise InvalidParameter("the choice is made for cells of one or two dimensions: leave strategy out")
        self._prices(task)
        self.choice(task, 0.0)  # what is wrong with every strategy is said before the total is paid for
        if _fits_dawa(task):
            DAWA()._check(self._inside(task))

    def _prices(self, task: Task) -> tuple[PrivacyLoss, ...]:
        if self.rows is None:
            return self._total(task).loss, self._left(task)
        chosen = self.choice(task, self.rows)
        return chosen._prices(task) if isinstance(chosen, DAWA) else (self._left(task),)

    def _left(self, task: Task) -> PrivacyLoss:
        """The price of what is measured when the total has been paid for."""
        if self.rows is not None:
            return task.rest(1.0)
        return task.rest(1.0 - self.share, self._total(task).loss)

    def _inside(self, task: Task) -> Task:
        """The rest for DAWA."""
        return task if self.rows is not None or task.norm != "l1" else task.within(1.0 - self.share)

    def _total(self, task: Task) -> Geometric:
        one = row_sensitivity(Fraction(1), norm="l1", unit=task.unit, max_rows=task.max_rows)
        return Geometric.for_budget(sensitivity=one, **task.share(self.share).keywords())

    def _run(self, task: Task, cells: Array, source: Source) -> Answers:
        rows = self.rows
        if rows is None:
            rows = max(0.0, float(self._total(task).release(int(cells.sum()), source=source).value))
        chosen = self.choice(task, rows)
        if isinstance(chosen, DAWA):
            return chosen._run(self._inside(task), cells, source)
        if isinstance(chosen, AdaptiveGrid):
            return two_levels(chosen, task, self._left(task), rows, cells, source)
        table = cells.reshape(task.workload.shape)
        return task.measuring(self._left(task), chosen).release(table, source=source).value

    def choice(self, task: Task, rows: float) -> Strategy | DAWA | AdaptiveGrid:
        """The strategy that is taken for this many rows: a function of public facts and of `rows`.

        >>> from privet.privacy import Guarantee
        >>> from privet.workloads import Points, Prefix
        >>> task = Task(Prefix(256), Guarantee(0.1))
        >>> print(Automatic().choice(task, 1_000.0))
        adaptive grid
        >>> print(Automatic().choice(Task(Points(256), Guarantee(0.1)), 3_000.0))
        DAWA, every cell over the buckets
        """
        tried = [each for each in candidates(task.workload, task.norm) if not _takes_long(task, each)]
        unbiased = {each: noise for each in tried if (noise := _noise(task, self._left(task), each)) is not None}
        if not unbiased:
            raise InvalidParameter("the budget is too small for any strategy: its noise would not fit whole numbers")
        best = min(unbiased, key=lambda strategy: unbiased[strategy])
        low, high = _CELLS
        bias = _one_bucket(task.workload, rows) / unbiased[best] if _asks_cells(task.workload) else 0.0
        if bias > high:
            return best
        if _fits_dawa(task) and bias >= low:
            # a search would begin anew with every partition
            fitting = [each for each in unbiased if fits_buckets(each, task.workload) and not each.searched]
            return DAWA(inner=min(fitting, key=lambda strategy: unbiased[strategy]))
        if fits_grid(task, self._left(task)) and grid_error(task, self._left(task), rows) < unbiased[best]:
            return AdaptiveGrid()
        return best

    def _most(self, task: Task) -> int:
        return int(2**60 // task.workload.cells)  # their sum is counted; what is chosen cuts at its own size

    def describe(self) -> str:
        return "chosen by a noisy total" if self.rows is None else f"chosen for about {self.rows:g} rows"


def _fits_dawa(task: Task) -> bool:
    """True in a setting that DAWA is priced for: its two parts add up to the price of one measurement."""
    return task.norm == "l1" and len(task.workload.shape) == 1 and 1 < task.workload.cells <= MOST_CELLS


def _takes_long(task: Task, strategy: Strategy) -> bool:
    """True for searches over large matrices, which closed forms for Gaussian noise come within some per cent of."""
    return strategy.searched and task.norm == "l2" and task.workload.cells > _SEARCHED


def _asks_cells(workload: Workload) -> bool:
    """True if single cells of one dimension are asked for, rather than sums."""
    if len(workload.shape) > 1:
        return False
    return float(workload.block_energy(workload.cells)) < _POINTS * workload.cells * float(workload.block_energy(1))


def _one_bucket(workload: Workload, rows: float) -> float:
    """The foreseen error of one bucket over everything, without noise."""
    widths = [2**j for j in range(1, (workload.cells - 1).bit_length() + 1)]
    return uneven_error(workload, widths, rows)[-1] if widths else 0.0


@remember(2**20)
def _noise(task: Task, price: PrivacyLoss, strategy: Strategy) -> float | None:
    """None where the strategy cannot answer what is asked, or not at such a price."""
    try:
        return task.measuring(price, strategy).rmse
    except InvalidParameter:
        return None


def uneven_error(workload: Workload, widths: list[int], rows: float) -> list[float]:
    """The root of the mean squared error of even buckets of each width (2, 4, 8, ...), without noise, foreseen.

    The model halves blocks again and again, from all cells down; the halves of a block differ by 0.7 of its count in
    root mean square, independently. What a bucket hides are the halvings inside it.

    >>> from privet.workloads import Points
    >>> [round(each, 1) for each in uneven_error(Points(4), [2, 4], 100.0)]
    [21.7, 28.0]
    """
    cells, hidden, found = workload.cells, 0.0, []
    energy = float(workload.block_energy(1))
    for width in widths:
        wider = float(workload.block_energy(width))
        above = (1.0 + _SPREAD) ** math.log2(max(1.0, cells / width))
        hidden += _SPREAD * (rows / cells) ** 2 * above * max(0.0, 2.0 * energy - wider)
        found.append(math.sqrt(hidden / workload.queries))
        energy = wider
    return found

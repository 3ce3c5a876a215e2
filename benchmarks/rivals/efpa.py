"""EFPA: how many low frequencies to keep is chosen privately, and only these are measured."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import final

import numpy as np

from privet._cache import remember
from privet._numerics import Array
from privet._validate import open_fraction, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms import Exponential, Sensitivity
from privet.mechanisms.mechanism import Source
from privet.noise.parameters import LARGEST_SCALE
from privet.privacy import GaussianLoss, PrivacyLoss
from privet.workloads.adaptive.adaptive_strategy import AdaptiveStrategy, Task
from privet.workloads.adaptive.low_frequencies import LowFrequencies
from privet.workloads.answers import Answers
from privet.workloads.families.dense import Dense
from privet.workloads.strategies.fourier import fourier_basis

MOST_CELLS = 2_048
_FINEST = 2**23  # rows are rounded to steps of 2^-22


@final
@dataclass(frozen=True, kw_only=True)
class EFPA(AdaptiveStrategy):
    """The low frequencies of the histogram; how many is chosen (`share` of the budget) by tail plus expected noise.

    Wins where the histogram is smooth. For up to 2,048 cells.

    **Guarantee:** the exponential mechanism with its share, then `LinearQueries` on the rows kept with the rest.
    **Sensitivity:** of the score: the length of what one row adds to the frequencies, from exact whole numbers: about 1,
    and sqrt 2 under replace. Scores may rise and fall together or not: nothing is monotone.
    **Error:** the noise with every answer; the frequencies left out come on top.
    **Reference:** Acs, Castelluccia & Chen 2012; proof note workloads/efpa.

    >>> from privet.workloads import RangeQueries
    >>> found = RangeQueries(domain=8).release([9, 8, 6, 3, 1, 3, 6, 8], epsilon=50.0, strategy=EFPA()).value
    >>> print(found.answer(0, 3).noise_only)
    True
    """

    name = "efpa"

    share: float = 0.3

    def __post_init__(self) -> None:
        set_frozen(self, share=open_fraction("share", self.share))

    def _check(self, task: Task) -> None:
        if len(task.workload.shape) != 1 or not 2 <= task.workload.cells <= MOST_CELLS:
            raise InvalidParameter(f"EFPA needs cells of one dimension, from 2 to {MOST_CELLS:,}")
        longest = math.isqrt(2 * task.workload.cells) + 1  # no column of the basis is longer, in the l1 norm
        if task.ratio(self._prices(task)[1]) * task.rows * longest * _FINEST > LARGEST_SCALE:
            raise InvalidParameter("the budget is too small for EFPA: its noise would not fit whole numbers")

    def _choice(self, task: Task) -> Exponential:
        made: Exponential = _choice(self.share, task)
        return made

    def _prices(self, task: Task) -> tuple[PrivacyLoss, ...]:
        first = self._choice(task).loss
        return first, task.rest(1.0 - self.share, first)

    def _run(self, task: Task, cells: Array, source: Source) -> Answers:
        tails, frequency = high_frequencies(task.workload.cells)
        scores = frequency_scores(tails, frequency, cells, self._noise(task))
        kept = self._choice(task).release(scores, source=source).value
        return task.measuring(self._prices(task)[1], LowFrequencies(kept)).release(cells, source=source).value

    def _noise(self, task: Task) -> Array:
        """The expected length of the noise on the cells, for each number of frequencies kept."""
        cells, price = task.workload.cells, self._prices(task)[1]
        rows = np.minimum(2.0 * np.arange(1.0, cells // 2 + 2.0) - 1.0, cells)
        if isinstance(price, GaussianLoss):
            return np.asarray(rows * task.rows * price.noise_multiplier / cells**0.5)
        return np.asarray(2.0**0.5 * rows**1.5 * task.rows / (cells**0.5 * price.pure()))

    def _most(self, task: Task) -> int:
        return high_frequencies(task.workload.cells)[0].most

    def describe(self) -> str:
        return "EFPA"


@lru_cache(maxsize=8)
def high_frequencies(cells: int) -> tuple[Dense, Array]:
    """The rounded rows of all frequencies from 1 on, and the frequency of each.

    >>> high_frequencies(4)[1].tolist()
    [1, 1, 2]
    """
    basis, frequency = fourier_basis(cells)
    return Dense.rounded(basis[1:]), frequency[1:]


def frequency_scores(tails: Dense, frequency: Array, cells: Array, expected: Array) -> list[int]:
    """Minus the length of the frequencies left out (rounded down) and of the noise, in steps of the rounded rows.

    Whole numbers throughout: a length in doubles could move by more than its sensitivity.

    >>> tails, frequency = high_frequencies(2)
    >>> frequency_scores(tails, frequency, np.array([3, 1]), np.zeros(2))[1]
    0
    """
    squares = [int(y) ** 2 for y in tails.measure(cells)]
    left = [0] * (int(frequency[-1]) + 2)
    for which, square in zip(frequency.tolist(), squares, strict=True):
        left[which] += square
    for place in range(len(left) - 2, -1, -1):
        left[place] += left[place + 1]
    steps = [round(Fraction(float(length)) / tails.weight) for length in expected]
    return [-math.isqrt(left[kept]) - noise for kept, noise in zip(range(1, len(left)), steps, strict=True)]


@remember(2**18)
def _choice(share: float, task: Task) -> Exponential:
    tails, frequency = high_frequencies(task.workload.cells)
    moves = tails.sensitivity("l2", task.unit, max_rows=task.max_rows)
    steps = Fraction(math.ceil(moves.value / tails.weight))  # roots are rounded down: they move by whole steps
    bound = Sensitivity(steps, norm="score", unit=task.unit)
    counts = range(1, int(frequency[-1]) + 2)
    return Exponential.for_budget(sensitivity=bound, candidates=counts, **task.share(share).keywords())

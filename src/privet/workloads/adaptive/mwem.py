"""MWEM: the worst answered query is chosen and measured, round after round, and cells are fitted by updates."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from privet._cache import remember
from privet._numerics import Array
from privet._validate import count, open_fraction, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms import Exponential, Geometric, Sensitivity, Source, row_sensitivity
from privet.privacy import Composed, PrivacyLoss, Repeated
from privet.workloads.adaptive.adaptive_strategy import AdaptiveStrategy, Task
from privet.workloads.adaptive.fitted import Fitted
from privet.workloads.all_ranges import AllRanges
from privet.workloads.inference.multiplicative_weights import weights_fit
from privet.workloads.marginals import Marginals
from privet.workloads.points import Points
from privet.workloads.prefix import Prefix
from privet.workloads.ranges import Ranges
from privet.workloads.workload import DENSE, Workload

MOST_QUERIES = 100_000  # each round looks at all of them: beyond, it would take minutes, and is refused
_AHEAD, _TRIES = 8.0, 10  # how far a delta may bring a round, and how finely it is looked for
_ROUNDS, _FEW, _SURE = 10, 3, 15.0  # few rounds where rows are less than so many times the noise of an answer
_ZERO_ONE = (AllRanges, Marginals, Points, Prefix, Ranges)


@final
@dataclass(frozen=True, kw_only=True)
class MWEM(AdaptiveStrategy):
    """Cells that begin even and learn `rounds` noisy answers, each to the query that they answer worst.

    The number of rows is private: `share` of the budget measures it. Half of the rest chooses, half measures; a delta is
    used by composing the rounds exactly. Left out, there are ten rounds, or three where a pure budget is so small that the
    noise of ten would be a fifteenth of the (noisy) number of rows or more. `passes` over all answers fit the cells after
    each round. For workloads of up to 100,000 queries with whole numbers for weights, in any number of dimensions.

    **Guarantee:** a noisy total, `rounds` exponential mechanisms and as many noisy answers.
    **Sensitivity:** of scores and answers: the largest weight of a query; under replace the largest difference of two,
    or of one and none.
    **Error:** intervals by public simulation, of the noise only.
    **Reference:** Hardt, Ligett & McSherry 2012; proof note workloads/mwem.

    >>> from privet.workloads import Prefix, RangeQueries
    >>> asked = RangeQueries(workload=Prefix(4))
    >>> asked.release([10, 20, 30, 40], epsilon=100.0, strategy=MWEM(rounds=4)).value.histogram.shape
    (4,)
    """

    name = "mwem"
    kept = "workloads.fitted"

    rounds: int | None = None
    share: float = 0.05
    passes: int = 40

    def __post_init__(self) -> None:
        set_frozen(self, passes=count("passes", self.passes, 1), share=open_fraction("share", self.share))
        if self.rounds is not None:
            set_frozen(self, rounds=count("rounds", self.rounds, 1))

    def _check(self, task: Task) -> None:
        if task.workload.queries > MOST_QUERIES:
            raise InvalidParameter(
                f"MWEM looks at every query: at most {MOST_QUERIES:,}, got {task.workload.queries:,}"
            )
        self._prices(task)

    def _parts(self, task: Task, rounds: int) -> tuple[Geometric, Exponential, Geometric]:
        """The total, a choice, a measurement."""
        made: tuple[Geometric, Exponential, Geometric] = _parts(self.share, rounds, task)
        return made

    def _adapts(self, task: Task) -> bool:
        """True if the noisy total says how many rounds there are: parts of a pure budget add up to the same, whatever it
        says."""
        return self.rounds is None and task.norm == "l1"

    def _prices(self, task: Task) -> tuple[PrivacyLoss, ...]:
        rounds = self.rounds or _ROUNDS
        total, choice, answer = self._parts(task, rounds)
        if self._adapts(task):
            return total.loss, task.rest(1.0 - self.share)
        return total.loss, Repeated(choice.loss, rounds), Repeated(answer.loss, rounds)

    def _run(self, task: Task, cells: Array, source: Source) -> Fitted:
        rounds = self.rounds or _ROUNDS
        total, choice, answer = self._parts(task, rounds)
        shape = task.workload.shape
        rows = int(total.release(int(cells.sum()), source=source).value)
        if self._adapts(task) and rows < _SURE * float(answer.scale):
            rounds = _FEW
            _, choice, answer = self._parts(task, rounds)
        exact = np.rint(task.workload.answers(cells.reshape(shape))).astype(np.int64)  # whole already
        queries = np.empty((0, task.workload.cells))
        measured = np.empty(0, dtype=np.int64)
        for _ in range(rounds):
            fitted = weights_fit(max(1.0, float(rows)), queries, measured, passes=self.passes).reshape(shape)
            guess = np.rint(np.clip(task.workload.answers(fitted), -(2.0**52), 2.0**52)).astype(np.int64)
            worst = int(choice.release(np.abs(exact - guess), source=source).value)
            found = int(answer.release(int(exact[worst]), source=source).value)
            queries = np.vstack((queries, np.asarray(task.workload.query(worst), dtype=float).reshape(-1)))
            measured = np.append(measured, found)
        scales = Fraction(answer.scale), Fraction(total.scale)
        return Fitted(queries, measured, scales[0], float(rows), scales[1], shape, self.passes)

    def _most(self, task: Task) -> int:
        return int(2**52 // (task.workload.cells * query_reach(task.workload, replace=False)))

    def describe(self) -> str:
        return f"multiplicative weights, {self.rounds or _ROUNDS} rounds"


@remember(2**18)
def _parts(share: float, rounds: int, task: Task) -> tuple[Geometric, Exponential, Geometric]:
    pure = (1.0 - share) / (2 * rounds)
    if task.target.delta == 0.0:
        return _at(share, pure, task)
    low, high = 1.0, _AHEAD  # times the part that adds up: each try composes all rounds, so that a few must do
    for _ in range(_TRIES):
        middle = math.sqrt(low * high)
        total, choice, answer = _at(share, pure * middle, task)
        spent = Composed((total.loss, Repeated(choice.loss, rounds), Repeated(answer.loss, rounds)))
        low, high = (middle, high) if task.target.covers(spent) else (low, middle)
    return _at(share, pure * low, task)


def _at(share: float, each: float, task: Task) -> tuple[Geometric, Exponential, Geometric]:
    """The total with its share, and one choice and one measurement with `each` of epsilon (rho, mu)."""
    one = row_sensitivity(Fraction(1), norm="l1", unit=task.unit, max_rows=task.max_rows)
    moves = query_reach(task.workload, replace=task.unit.relation == "replace")
    reach = row_sensitivity(moves, norm="l1", unit=task.unit, max_rows=task.max_rows)
    score = Sensitivity(reach.value, norm="score", unit=task.unit)
    budget = task.share(each).keywords()
    total = Geometric.for_budget(sensitivity=one, **task.share(share).keywords())
    choice = Exponential.for_budget(sensitivity=score, **budget)
    return total, choice, Geometric.for_budget(sensitivity=reach, **budget)


def query_reach(workload: Workload, *, replace: bool) -> Fraction:
    """The distance by which one row that enters or leaves a cell (`replace`: moves to another, too) moves the answer to
    a query.

    >>> query_reach(Prefix(8), replace=True)
    Fraction(1, 1)
    """
    if isinstance(workload, _ZERO_ONE):
        return Fraction(1)
    if workload.queries * workload.cells > DENSE:
        raise InvalidParameter(f"the weights of this workload cannot be looked through: at most {DENSE:,} in all")
    rows = np.stack([np.asarray(workload.query(i)).reshape(-1) for i in range(workload.queries)])
    if not np.array_equal(rows, np.rint(rows)) or np.max(np.abs(rows)) > 2**20:
        raise InvalidParameter("MWEM needs queries with whole numbers for weights: scale them first")
    high, low = np.maximum(rows.max(axis=1), 0.0), np.minimum(rows.min(axis=1), 0.0)
    return Fraction(max(1, int(np.max(high - low if replace else np.maximum(high, -low)))))

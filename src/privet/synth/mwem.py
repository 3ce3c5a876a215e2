"""MWEM over all combinations of codes: the worst answered query is chosen and measured, round after round."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, final

import numpy as np

from privet._calls import door
from privet._numerics import Array
from privet._progress import track
from privet._validate import count, instance, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms import Algorithm, DiscreteLaplace, Example, Exponential, Gaussian, Sensitivity, Source, register
from privet.privacy import Guarantee
from privet.synth.linear_query import LinearQuery, as_queries
from privet.synth.money import Noise, money_of, table_noise
from privet.synth.small_examples import data_of, task_of
from privet.synth.synthesis import Synthesis
from privet.synth.synthesizer import Synthesizer
from privet.synth.synthetic_model import SyntheticModel
from privet.synth.task import Task
from privet.synth.whole_domain import check_cells, whole_model
from privet.tables import Data
from privet.workloads import Workload
from privet.workloads.adaptive.mwem import query_reach
from privet.workloads.inference.multiplicative_weights import multiplicative_weights

_COUNT = 0.05  # of the budget, for the number of rows where that is not public
_MOST_QUERIES = 100_000  # each round looks at all of them: beyond, it would take minutes, and is refused
Output = Literal["average", "last"]


@door
@final
@dataclass(frozen=True, kw_only=True)
class MWEM(Synthesizer):
    """Multiplicative weights and the exponential mechanism, over every combination of codes.

    `queries` is a list of `LinearQuery`, or a workload of `privet.workloads` over the table's shape. `rounds` follows from
    the number of rows by the paper's bound unless it is given. `passes` repeats all past answers in each round, which
    costs nothing; `output` is the last model, or the average of all, which the paper's theorem is about.

    **Error:** the largest error is at most 2 n sqrt(ln|X|/T) + 10 T ln|Q|/epsilon with probability 1 - 2T/|Q|, for pure
    epsilon and the average. **Reference:** Hardt, Ligett & McSherry 2012.

    >>> import privet as pv
    >>> from privet.workloads import Marginals
    >>> table = pv.Table({"a": [0, 1] * 500, "b": [0, 1] * 500}, columns={"a": pv.Int(0, 1), "b": pv.Int(0, 1)})
    >>> MWEM(queries=Marginals((2, 2), [(0, 1)])).fit(table, epsilon=1.0).marginal("a", "b").shape
    (2, 2)
    """

    queries: Any
    rounds: int | None = None
    passes: int = 20
    output: Output = "last"

    def _plan(self, task: Task, promise: Guarantee) -> "MWEMPlan":
        made = MWEMPlan(
            task=task,
            money=money_of(promise),
            queries=as_queries(self.queries, task.sizes),
            rounds=self.rounds,
            passes=self.passes,
            output=self.output,
        )
        return made._charged_at(promise)


@final
@register
@dataclass(frozen=True, kw_only=True)
class MWEMPlan(Synthesis, Algorithm[Data, SyntheticModel]):
    """Rounds of an exponential mechanism over queries and a noisy answer to the chosen one; cells follow by updates.

    **Guarantee:** a noisy number of rows where it is not public, then in each round a choice and an answer, of equal parts.
    **Sensitivity:** of scores and answers: the largest weight of a query, or difference of two under replace, for each row.
    **Proof:** docs/proofs/synth/mwem.md.
    """

    name = "synth_mwem"

    task: Task
    money: Guarantee
    queries: Workload
    rounds: int | None = None
    passes: int = 20
    output: Output = "last"
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("queries", self.queries, Workload)
        set_frozen(self, passes=count("passes", self.passes, 1))
        if self.rounds is not None:
            set_frozen(self, rounds=count("rounds", self.rounds, 1))
        if self.output not in ("average", "last"):
            raise InvalidParameter('output must be "average" or "last"')
        if self.task.constraints:
            raise InvalidParameter("MWEM starts from all combinations alike: take AIM or MST for constraints")
        check_cells(self.task.sizes, "MWEMGraph() or AIM()")
        if self.queries.queries > _MOST_QUERIES:
            raise InvalidParameter(
                f"MWEM looks at every query: at most {_MOST_QUERIES:,}, got {self.queries.queries:,}"
            )
        counted = [] if self.task.rows is not None else [_COUNT]
        self._check_parts(counted)
        self._parts((1.0 - sum(counted)) / (self.rounds or self.queries.queries))  # rounds are no more than queries

    def _reach(self) -> Fraction:
        """The distance by which one person moves the answer to a query."""
        moves = query_reach(self.queries, replace=self.task.unit.relation == "replace")
        return moves * self.task.coded.most_rows

    def rounds_for(self, total: float) -> int:
        """The number of rounds that makes the paper's bound least, for so many rows; at most one for each query.

        >>> MWEM(queries=[*_thresholds()])._plan(task_of(sizes=(4,)), Guarantee(1.0)).rounds_for(20.0)
        2
        """
        if self.rounds is not None:
            return self.rounds
        epsilon = self.money.epsilon or math.sqrt(8.0 * (self.money.rho or (self.money.mu or 0.0) ** 2 / 2.0))
        many = max(2, self.queries.queries)
        best = (total * epsilon * math.sqrt(math.log(max(2, self.queries.cells))) / (10.0 * math.log(many))) ** (2 / 3)
        return int(min(self.queries.queries, max(1, round(best))))

    def error_bound(self, total: float) -> tuple[float, float]:
        """The paper's bound on the largest error and the probability with which it may fail: 1 once the rounds are half as
        many as the queries, where it says nothing. For pure epsilon and the average of all models."""
        if self.money.epsilon is None:
            raise InvalidParameter("the paper's bound is about pure epsilon")
        rounds, many = self.rounds_for(total), self.queries.queries
        bound = 2.0 * total * math.sqrt(math.log(max(2, self.queries.cells)) / rounds)
        return bound + 10.0 * rounds * math.log(max(2, many)) / self.money.epsilon, min(1.0, 2.0 * rounds / many)

    def _parts(self, share: float) -> tuple[Exponential, DiscreteLaplace | Gaussian]:
        """A choice and an answer for half of a round's share each."""
        each, unit = self.money.share(share / 2.0), self.task.unit
        choice = Exponential.for_budget(
            sensitivity=Sensitivity(self._reach(), norm="score", unit=unit), **each.keywords()
        )
        kind: Any = DiscreteLaplace if each.epsilon is not None else Gaussian
        norm: Any = "l1" if each.epsilon is not None else "l2"
        return choice, kind.for_budget(sensitivity=Sensitivity(self._reach(), norm=norm, unit=unit), **each.keywords())

    def _run(self, prepared: Any, source: Source) -> SyntheticModel:
        every = tuple(range(len(self.task.sizes)))
        tables = self._exact_tables(prepared, [(), every], source)
        exact = np.rint(self.queries.answers(_shaped(tables[every], self.queries))).astype(np.int64)  # whole already
        total, rest = float(self.task.rows or 1), 1.0
        if self.task.rows is None:
            noise, rest = table_noise(self.money.share(_COUNT), self.task), 1.0 - _COUNT
            total = max(1.0, float(noise.release(tables[()], source=source).value))
        rounds = self.rounds_for(total)
        choice, answer = self._parts(rest / rounds)
        cells = np.full(self.queries.cells, total / self.queries.cells)
        mean, asked = np.zeros_like(cells), dict[int, list[float]]()
        work = track("rounds", rounds)
        for _ in range(rounds):
            guess = np.rint(np.clip(self.queries.answers(_shaped(cells, self.queries)), -(2.0**52), 2.0**52))
            open_ = [i for i in range(self.queries.queries) if i not in asked] or list(range(self.queries.queries))
            scores = np.abs(exact - guess.astype(np.int64))[open_]
            chosen = open_[int(choice.release(scores, source=source).value)]
            asked.setdefault(chosen, []).append(float(answer.release(int(exact[chosen]), source=source).value))
            cells = self._updated(cells, asked, total)
            mean += cells / rounds
            work.advance()
        return whole_model(self.task, mean if self.output == "average" else cells, total, "MWEM")

    def _updated(self, cells: Array, asked: dict[int, list[float]], total: float) -> Array:
        """Cells after updates by all answers so far, each the mean of what was measured, `passes` times."""
        rows = {i: np.asarray(self.queries.query(i), dtype=float).reshape(-1) for i in asked}
        for _ in range(self.passes):
            for i, seen in asked.items():
                cells = multiplicative_weights(cells, rows[i], float(np.mean(seen)))
        return cells * (total / cells.sum())

    def _first_noise(self) -> Noise:
        """That of an answer, where there are as many rounds as there may be."""
        rest = 1.0 if self.task.rows is not None else 1.0 - _COUNT
        return self._parts(rest / (self.rounds or self.queries.queries))[1]

    @property
    def max_bytes(self) -> int:
        """A number for every combination of codes."""
        return 8 * self.queries.cells

    def describe(self) -> str:
        """The plan in words."""
        rounds = (
            "as many rounds as the noisy number of rows suggests" if self.rounds is None else f"{self.rounds} rounds"
        )
        asked = f"a choice among {self.queries.queries:,} queries and a noisy answer"
        return f"{rounds}, each {asked}, over {self.queries.cells:,} cells"

    @classmethod
    def examples(cls) -> Iterable[Example]:
        queries = [*_thresholds()]
        few = [[0]] * 8 + [[1]] * 6 + [[2]] * 4 + [[3]]
        for promise in (Guarantee(1.0), Guarantee(rho=0.5)):
            plan = MWEM(queries=queries, rounds=2)._plan(task_of(sizes=(4,)), promise)
            yield Example(plan, data_of([*few, [3]]), data_of(few), promise, cost="costly")
        # one row decides which of two thresholds is answered worst, and how many rounds there are
        left, right = data_of([[0]] * 301 + [[3]] * 300), data_of([[0]] * 300 + [[3]] * 301)
        loud = Guarantee(rho=1e6)
        yield Example(
            MWEM(queries=queries, rounds=2)._plan(task_of("replace", (4,)), loud), left, right, loud, cost="costly"
        )
        steered = MWEM(queries=queries)._plan(task_of(sizes=(4,)), Guarantee(1.0))
        edge = next(n for n in range(10, 10**5) if steered.rounds_for(n) != steered.rounds_for(n + 1))
        yield Example(
            steered,
            data_of([[0]] * (edge + 1)),
            data_of([[0]] * edge),
            Guarantee(1.0),
            cost="costly",
            lengths="protected",
        )


def _thresholds() -> Iterable[Any]:
    """The thresholds of the lectures over four values."""
    return (LinearQuery(np.arange(4) <= last) for last in range(3))


def _shaped(cells: Array, queries: Workload) -> Array:
    return np.asarray(cells).reshape(queries.shape)

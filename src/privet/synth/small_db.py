"""SmallDB: the exponential mechanism over all small databases, exactly."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, final

import numpy as np

from privet._calls import door
from privet._numerics import Array
from privet._validate import count, instance, open_fraction, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms import Algorithm, Example, Exponential, Sensitivity, Source, register
from privet.privacy import Guarantee
from privet.synth.linear_query import LinearQuery, as_queries
from privet.synth.money import money_of, table_noise
from privet.synth.small_examples import data_of, task_of
from privet.synth.synthesis import Synthesis
from privet.synth.synthesizer import Synthesizer
from privet.synth.synthetic_model import SyntheticModel
from privet.synth.task import Task
from privet.synth.whole_domain import check_cells, whole_model
from privet.tables import Data
from privet.workloads import Workload
from privet.workloads.adaptive.mwem import query_reach
from privet.workloads.workload import DENSE

MOST_DATABASES = 10**7  # they are listed, with a score each: beyond, memory and minutes
_COUNT = 0.1  # of the budget, for the number of rows where that is not public
_CHUNK = 2**16  # databases at a time: memory and speed only
_SPEED = 2e8  # additions a second, for the time that a plan states
_ROOM = 2**59  # scores and what their orders add are whole numbers, each below this
_MOST_HELD = 2**36  # rows, where weights and m allow them
_MOST_NUMBERS = 2**28  # rows of all databases together
_LARGE = 600.0  # the logarithm of a number of databases that nobody wants to see written out

Rule = Literal["lecture", "hoeffding"]
Measure = Literal["multisets", "sequences"]


def rows_for(queries: int, alpha: float, rule: Rule = "lecture") -> int:
    """The number of rows that a small database needs, so that some database answers every query within `alpha`.

    The lecture's ln|Q|/alpha^2, at least 1 (it says 0 for one query; a database that is near enough is guaranteed for more
    than two). By Hoeffding's inequality floor(ln(2|Q|)/(2 alpha^2)) + 1 suffice, for any number of queries.

    >>> rows_for(3, 0.5), rows_for(3, 0.5, "hoeffding"), rows_for(1, 0.5)
    (5, 4, 1)
    """
    alpha = open_fraction("alpha", alpha)
    if rule == "lecture":
        return max(1, math.ceil(math.log(queries) / alpha**2))
    if rule == "hoeffding":
        return math.floor(math.log(2 * queries) / (2.0 * alpha**2)) + 1
    raise InvalidParameter('rule must be "lecture" or "hoeffding"')


@door
@final
@dataclass(frozen=True, kw_only=True)
class SmallDB(Synthesizer):
    """One of all databases of m rows, with probability proportional to exp(epsilon u/(2 sensitivity)), where u is minus the
    largest error of a query. It is drawn exactly; Markov chains over databases are not offered, since they are not
    epsilon-DP after any finite time.

    `measure` is what all databases alike means: "multisets", or "sequences" of rows, as the lecture's X^m says; the two are
    different distributions. `rule` is how m follows from the number of queries (`rows_for`), unless `m` is given.

    **Reference:** Blum, Ligett & Roth 2008; lecture "Private Data Release".

    >>> import privet as pv
    >>> table = pv.Table({"a": [0] * 8 + [1] * 6 + [2] * 4 + [3] * 2}, columns={"a": pv.Int(0, 3)})
    >>> thresholds = [LinearQuery(np.arange(4) <= k) for k in range(3)]
    >>> model = SmallDB(queries=thresholds, alpha=0.5, rows=20).fit(table, epsilon=4.0)
    >>> model.marginal("a").sum().round(9)
    np.float64(20.0)
    """

    queries: Any
    alpha: float = 0.5
    rule: Rule = "lecture"
    measure: Measure = "multisets"
    m: int | None = None

    def _plan(self, task: Task, promise: Guarantee) -> "SmallDBPlan":
        queries = as_queries(self.queries, task.sizes)
        m = rows_for(queries.queries, self.alpha, self.rule) if self.m is None else self.m
        made = SmallDBPlan(task=task, money=money_of(promise), queries=queries, m=m, measure=self.measure)
        return made._charged_at(promise)


@final
@register
@dataclass(frozen=True, kw_only=True)
class SmallDBPlan(Synthesis, Algorithm[Data, SyntheticModel]):
    """The exponential mechanism over all databases of m rows, scored by their largest error in rows.

    **Guarantee:** that of one exponential mechanism, whose weights do not depend on the data, beside a noisy number of rows
    where that is not public.
    **Sensitivity:** of the score, in rows: the largest weight of a query, or difference of two under replace.
    **Error:** `bound`: the best database's error and 2 sensitivity/epsilon ln(|T|/beta) with probability 1 - beta.
    **Proof:** docs/proofs/synth/small_db.md.
    """

    name = "synth_small_db"

    task: Task
    money: Guarantee
    queries: Workload
    m: int
    measure: Measure = "multisets"
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("queries", self.queries, Workload)
        set_frozen(self, m=count("m", self.m, 1))
        if self.measure not in ("multisets", "sequences"):
            raise InvalidParameter('measure must be "multisets" or "sequences": Markov chains are not epsilon-DP')
        if self.task.constraints:
            raise InvalidParameter("SmallDB has no constraints: take AIM or MST")
        cells = check_cells(self.task.sizes, "MST() or AIM()")
        if self.queries.queries * cells > DENSE:
            raise InvalidParameter(f"SmallDB writes its queries out: at most {DENSE:,} weights; take MWEM or AIM")
        least = math.lgamma(cells + self.m) - math.lgamma(self.m + 1) - math.lgamma(cells)
        if least > _LARGE or self.m > _MOST_NUMBERS:
            raise InvalidParameter(
                f"databases of m = {self.m:.4g} rows are too many: take MWEM, a larger alpha, or fewer columns"
            )
        if self.databases > MOST_DATABASES:
            raise InvalidParameter(
                f"{self.describe()}. At most {MOST_DATABASES:,} databases are listed: take MWEM, a larger alpha, or fewer "
                "columns"
            )
        if self.databases * self.m > _MOST_NUMBERS:
            raise InvalidParameter(
                f"{self.databases:,} databases of {self.m:,} rows have more than {_MOST_NUMBERS:,} rows in all: take a "
                "larger alpha or fewer columns"
            )
        self._check_parts([self._counted] if self._counted else [])
        if self._ranks(self.m) > _ROOM:  # weights that are not whole are refused on the way
            raise InvalidParameter("the budget is too small to tell databases apart: allow more")

    @property
    def databases(self) -> int:
        """The number of databases that are listed: multisets of m rows. Each stands for all its orders where sequences
        count."""
        return math.comb(math.prod(self.task.sizes) + self.m - 1, self.m)

    @property
    def log_outputs(self) -> float:
        """ln|T|: of the multisets, or of the |X|^m sequences."""
        if self.measure == "sequences":
            return self.m * math.log(math.prod(self.task.sizes))
        return math.log(self.databases)

    @property
    def _counted(self) -> float:
        return 0.0 if self.task.rows is not None else _COUNT

    @property
    def scale(self) -> float:
        """2 sensitivity/epsilon, in rows: by so much error the probability of a database falls by a factor e."""
        return float(self._choice(1).scale)

    def _choice(self, units: int) -> Exponential:
        moves = query_reach(self.queries, replace=self.task.unit.relation == "replace") * self.task.coded.most_rows
        reach = Sensitivity(Fraction(moves * units), norm="score", unit=self.task.unit)
        return Exponential.for_budget(sensitivity=reach, **self.money.share(1.0 - self._counted).keywords())

    def bound(self, beta: float = 0.05, *, best: float = 0.0) -> float:
        """The largest error of a query, in rows, that the chosen database exceeds with probability at most beta: `best` is
        the error of the best small database (at most alpha n by Hoeffding's rule), and what |n - total| adds comes on top.
        """
        return best + self.scale * (self.log_outputs + math.log(1.0 / open_fraction("beta", beta)))

    @property
    def rounds(self) -> int:
        """One choice."""
        return 1

    @property
    def expected_error(self) -> float:
        """The expected error of the worst query above that of the best small database, in rows, at most: from public facts
        alone."""
        return self.scale * (self.log_outputs + 1.0)

    @property
    def max_bytes(self) -> int:
        """A number for every combination of codes."""
        return 8 * math.prod(self.task.sizes)

    def describe(self) -> str:
        """The plan in words: the output space, the time, and the bound."""
        seconds = self.databases * self.queries.queries * self.m / _SPEED
        return (
            f"{self.databases:.4g} databases of {self.m} rows over {math.prod(self.task.sizes):,} combinations "
            f"({self.measure}), about {seconds:.2g} s; with probability 95% every query is within "
            f"{self.bound():.4g} rows of the best of them"
        )

    def _run(self, prepared: Any, source: Source) -> SyntheticModel:
        every = tuple(range(len(self.task.sizes)))
        tables = self._exact_tables(prepared, [(), every], source)
        exact = np.rint(self.queries.answers(np.asarray(tables[every]).reshape(self.queries.shape))).astype(np.int64)
        total = self.task.rows or 1
        if self.task.rows is None:
            noise = table_noise(self.money.share(_COUNT), self.task)
            total = max(1, round(float(noise.release(tables[()], source=source).value)))
        held = self._most_held()
        total = min(total, held)
        exact = np.clip(
            exact, -held * self._widest(), held * self._widest()
        )  # so that nothing wraps: a clip moves less
        items = databases(math.prod(self.task.sizes), self.m)
        units = self._units(total)
        choice = self._choice(units)
        scores = exact_scores(items, self._matrix(), exact, total, units)
        if self.measure == "sequences":
            scores = scores + np.rint(choice.scale * log_orders(items)).astype(
                np.int64
            )  # public, whatever the data are
        chosen = int(choice.release(scores, source=source).value)
        cells = np.bincount(items[chosen], minlength=math.prod(self.task.sizes))
        return whole_model(self.task, cells, float(total), "SmallDB")

    def _matrix(self) -> Array:
        """The weights of all queries, one row a query."""
        rows = [np.asarray(self.queries.query(i)).reshape(-1) for i in range(self.queries.queries)]
        return np.rint(np.stack(rows)).astype(np.int64)

    def _units(self, total: int) -> int:
        """Steps of a score for one row: a multiple of m, so that errors are whole, and as fine as 59 bits allow."""
        largest = max(self._widest() * (total + self._most_held()) * self.m, self._ranks(self.m))
        return self.m * 2 ** max(0, min(24, _ROOM.bit_length() - 1 - largest.bit_length()))

    def _widest(self) -> int:
        """The largest weight of a query."""
        return max(1, int(np.abs(self._matrix()).max()))

    def _most_held(self) -> int:
        """The number of rows, by public facts, beyond which answers are cut off."""
        return max(1, min(_MOST_HELD, _ROOM // (2 * self._widest() * self.m)))

    def _ranks(self, units: int) -> int:
        """The most that the orders of a database add to its score, in steps."""
        scale = float(self._choice(units).scale)
        return math.ceil(scale * math.lgamma(self.m + 1)) if self.measure == "sequences" else 0

    @classmethod
    def examples(cls) -> Iterable[Example]:
        queries = [LinearQuery(np.arange(4) <= last) for last in range(3)]
        rows = [[0]] * 8 + [[1]] * 6 + [[2]] * 4 + [[3]]
        left, gone, moved = data_of([*rows, [3]]), data_of(rows), data_of([*rows[:-1], [0], [3]])
        for measure in ("multisets", "sequences"):
            asked = SmallDB(queries=queries, measure=measure)
            plan = asked._plan(task_of("replace", (4,), rows=20), Guarantee(1.0))
            yield Example(plan, left, moved, Guarantee(1.0), cost="costly")
        yield Example(
            SmallDB(queries=queries)._plan(task_of(sizes=(4,)), Guarantee(1.0)),
            left,
            gone,
            Guarantee(1.0),
            cost="costly",
        )
        loud = Guarantee(1e6)  # one row decides which of two small databases is nearer
        near = SmallDB(queries=queries, m=1)._plan(task_of(sizes=(4,)), loud)
        one, other = data_of([[0]] * 100 + [[3]] * 101), data_of([[0]] * 101 + [[3]] * 101)
        yield Example(near, other, one, loud, cost="costly")


def databases(values: int, m: int) -> Array:
    """All multisets of m of so many values, one a row, in the order of the alphabet.

    >>> databases(3, 2).tolist()
    [[0, 0], [0, 1], [0, 2], [1, 1], [1, 2], [2, 2]]
    """
    made = np.arange(values, dtype=np.int32)[:, None]
    for _ in range(m - 1):
        last = made[:, -1]
        many = values - last
        ends = np.cumsum(many)
        rows = np.repeat(made, many, axis=0)
        added = np.arange(ends[-1], dtype=np.int64) - np.repeat(ends - many, many) + np.repeat(last, many)
        made = np.concatenate([rows, added.astype(np.int32)[:, None]], axis=1)
    return made


def log_orders(items: Array) -> Array:
    """The logarithm of how many orders each multiset has: m! over the factorials of how often its values come.

    >>> np.exp(log_orders(np.array([[0, 0, 1], [0, 1, 2]]))).round(6).tolist()
    [3.0, 6.0]
    """
    m = items.shape[1]
    found, run = np.full(len(items), math.lgamma(m + 1)), np.ones(len(items))
    for j in range(1, m):
        run = np.where(items[:, j] == items[:, j - 1], run + 1.0, 1.0)
        found -= np.log(run)  # a run of k equal values adds ln 2 + ... + ln k
    return found


def exact_scores(items: Array, matrix: Array, exact: Array, total: int, units: int) -> Array:
    """Minus the largest error of a query for each database, in steps of 1/units rows, in whole numbers: not releasable.

    >>> exact_scores(np.array([[0, 1]]), np.array([[1, 0]]), np.array([8]), 20, 2).tolist()
    [-4]
    """
    m = items.shape[1]
    fine, columns = units // m, np.ascontiguousarray(matrix.T)
    found = np.empty(len(items), dtype=np.int64)
    for start in range(0, len(items), _CHUNK):
        block = items[start : start + _CHUNK]
        answers = columns[block[:, 0]].copy()
        for j in range(1, m):
            answers += columns[block[:, j]]
        found[start : start + len(block)] = -np.abs(answers * total - exact * m).max(axis=1)
    return found * fine

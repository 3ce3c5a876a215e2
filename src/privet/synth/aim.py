"""AIM: round after round the table that the model gets most wrong is measured, for a workload and a size of the model.
With public rows, a public table may take the place of a measurement (JAM)."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet._cache import kept_property
from privet._calls import door
from privet._numerics import Array
from privet._progress import Track, track
from privet._validate import count, instance, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms import Algorithm, DiscreteLaplace, Example, Gaussian, Source, register
from privet.privacy import Guarantee
from privet.synth.error_bars import CandidateBound
from privet.synth.graph import Clique, GraphModel, Measurement, combined, fitted, least_variance_total, tree_cells
from privet.synth.marginal_workload import Asked, MarginalWorkload, answered, check_rounds, exact_scores, fitting
from privet.synth.money import (
    UNITS,
    Noise,
    Purse,
    choice_by_distance,
    deviation,
    growth,
    mean_size,
    measured,
    money_of,
    table_noise,
)
from privet.synth.public_tables import PublicTables, exact_gains
from privet.synth.small_examples import canaries_in, data_of, pair, rare_pair, task_of
from privet.synth.synthesis import Synthesis
from privet.synth.synthesizer import Synthesizer
from privet.synth.synthetic_model import SyntheticModel
from privet.synth.task import Task
from privet.synth.whole_workload import WholeWorkload
from privet.tables import Data, Described

_MEASURE = 0.9  # of a round's share; the rest chooses
_HIDDEN = 0.5  # of all rows: columns whose counts have more noise than that are measured again
_NOTHING = 2.0**-30  # of the budget: no part is bought for less
_MOST_LOOKS = (
    3 * 10**7
)  # rounds at most, times tables, times columns; where noise is lessened rounds are a fifth of that
_QUICK = 50, 1e-3  # steps and tolerance of a round's fit: closer fits follow noise, and choose no better
_LOOK = 0.002  # of the budget: the price of a look at the model's mean distance from the data
_FIRST_LOOK, _LAST_LOOK = 0.1, 0.85  # shares that are spent, after a round for each column
_NEXT_LOOK = 1.5  # times what was spent at the last one


@door
@final
@dataclass(frozen=True, kw_only=True)
class AIM(Synthesizer):
    """Noisy counts of every column, then, round after round, of the table that the model gets most wrong, where what noise
    alone would explain does not count. The best choice where there are many rows for the budget.

    `workload` are the tables that matter: a number k for all of k columns, a list of tuples of names, or a mapping of such
    tuples to weights. `max_bytes` bounds the model: its junction tree, fill-in included. `rounds` is how many rounds, for
    each column, the budget would last if noise were never lessened; `steps` limits the last fit.

    Where the budget is large, so that noise on all tables of the workload would hide less than the model misses (a look at
    that is paid for), the rest goes to all of them at once: `marginal` and `counts` then tell the tables that the model has
    no room for from what was measured. Rows are drawn from the model, and know less.

    `public` is a table of rows that protect nobody, with the same columns: in each round the choice is between measuring a
    table and taking the public one, which costs no measurement. What it is worth is decided by the paid score.

    **Reference:** McKenna, Mullins, Sheldon & Miklau 2022; Fuentes, Mullins, McKenna, Miklau & Sheldon 2024.

    >>> import privet as pv
    >>> rows = {"a": [0, 1] * 500, "b": [0, 1] * 500, "c": [0, 0, 1, 1] * 250}
    >>> table = pv.Table(rows, columns={name: pv.Int(0, 1) for name in rows})
    >>> model = AIM(workload=2).fit(table, epsilon=5.0, delta=1e-6)
    >>> bool(model.marginal("a", "b")[0, 0] > model.marginal("a", "b")[0, 1])
    True
    """

    workload: Asked = field(default=3)
    max_bytes: int = 10 * 2**20
    rounds: int = 16
    steps: int = 1000
    public: Described | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, rounds=count("rounds", self.rounds, 2))
        set_frozen(self, max_bytes=count("max_bytes", self.max_bytes, 8), steps=count("steps", self.steps, 1))
        if self.public is not None:
            instance("public", self.public, Described)

    def _open_table(self) -> Described | None:
        return self.public

    def _plan(self, task: Task, promise: Guarantee) -> "AIMPlan":
        made = AIMPlan(
            task=task,
            money=money_of(promise),
            workload=MarginalWorkload.of(self.workload, task),
            max_bytes=self.max_bytes,
            rounds=self.rounds,
            steps=self.steps,
        )
        if self.public is not None:
            tables = PublicTables.of(self.public.data, self.public.rows, task, made.weights)
            made = replace(made, public=tables)
        return made._charged_at(promise)


@final
@register
@dataclass(frozen=True, kw_only=True)
class AIMPlan(Synthesis, Algorithm[Data, SyntheticModel]):
    """Noisy counts of every column, then rounds of a choice and a measurement until the budget is spent.

    **Guarantee:** that of the budget, by adaptive composition: how noisy a round is, and how many there are, follows from
    models, and no part is asked for that the rest does not cover.
    **Sensitivity:** of tables, l1 and l2, the rows of one person, of all tables at once that of residual tables; of the
    mean distance that in l1; of a score, that in l1 times the largest weight among the candidates; of a public table's
    score, which is a difference of two distances, twice that.
    **Proof:** docs/proofs/synth/aim.md.
    """

    name = "synth_aim"

    task: Task
    money: Guarantee
    workload: MarginalWorkload
    max_bytes: int
    rounds: int = 16
    steps: int = 1000
    public: PublicTables | None = None
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("workload", self.workload, MarginalWorkload)
        set_frozen(self, rounds=count("rounds", self.rounds, 2))
        set_frozen(self, max_bytes=count("max_bytes", self.max_bytes, 8), steps=count("steps", self.steps, 1))
        least = 8 * tree_cells(self.task.sizes, self.task.allowed)
        if least > self.max_bytes:
            raise InvalidParameter(
                f"the columns by themselves need {least:,} bytes, and max_bytes is {self.max_bytes:,}: allow more, or "
                "take wider bins"
            )
        check_rounds(self.task, self.weights, self._most_rounds, _MOST_LOOKS)
        if self.public is not None:
            instance("public", self.public, PublicTables)
        share = 1.0 / (self.rounds * len(self.task.sizes))  # later rounds have no less
        largest = max(self.weights.values()) * (1 if self.public is None else 2)
        self._check_parts([_MEASURE * share], [(1.0 - _MEASURE) * share], largest)

    @kept_property
    def weights(self) -> Mapping[Clique, int]:
        """Every table that may be measured, by public sizes, with its weight."""
        every = self.workload.candidates()
        return {each: weight for each, weight in every.items() if 8 * self.task.cells(each) <= self.max_bytes}

    @property
    def _most_rounds(self) -> int:
        """The number of rounds where none is for more than the first share."""
        return (self.rounds - 1) * len(self.task.sizes)

    @kept_property
    def whole(self) -> WholeWorkload:
        """All tables of the workload, for when the budget is large."""
        return WholeWorkload.of(self.workload, self.task)

    def _run(self, prepared: Any, source: Source) -> SyntheticModel:
        columns, weights = [(i,) for i in range(len(self.task.sizes))], self.weights
        every = dict.fromkeys([*columns, *weights, *(self.whole.weights if self.whole.small else ())])
        tables = self._exact_tables(prepared, list(every), source)
        purse, work = Purse(self.money), track("thousandths of the budget", 1000)
        found, share = self._columns(tables, purse, source)
        taken, first = dict[Clique, float](), len(found)
        model = self._fitted(found, taken, None, *_QUICK)
        last, bounds, due = purse.left < _NOTHING, dict[Clique, CandidateBound](), _FIRST_LOOK
        while not last:
            spent = 1.0 - purse.left  # a round may be so dear that a look is due before it
            if due - share <= spent <= _LAST_LOOK and len(found) >= first + len(columns):
                due = _NEXT_LOOK * spent
                if self._all_is_better(tables, model, purse, source):
                    return self._finished(tables, found, taken, model, purse, source)
            last = purse.left < 2.0 * share
            share = purse.left if last else share
            noise = table_noise(self.money.share(_MEASURE * share), self.task)  # bought below, where it is used
            bought = purse.buy((1.0 - _MEASURE) * share)
            room = self.max_bytes / 8 * (1.0 - max(purse.left - _MEASURE * share, 0.0))
            known = [*(m.clique for m in found), *taken]
            answers = answered(fitting(weights, model, self.task, known, room), model)
            guesses = {} if last else self._guesses(answers, taken, model.total)  # the last round always measures
            largest = max([*(weights[each] for each in answers), *(2 * weights[each] for each in guesses)])
            choice = choice_by_distance(bought, self.task, Fraction(largest))
            expected = {each: round(mean_size(noise) * self.task.cells(each) * UNITS) for each in answers}
            scores = exact_scores(tables, answers, weights, expected) + exact_gains(tables, answers, weights, guesses)
            place = int(choice.release(scores, source=source).value)
            if place >= len(answers):
                taken[list(guesses)[place - len(answers)]] = deviation(noise)
                model = self._fitted(found, taken, model, *_QUICK)
                continue
            chosen = list(answers)[place]
            purse.buy(_MEASURE * share)
            found.append(measured(chosen, noise.release(tables[chosen], source=source).value, noise))
            if last:
                bounds = _bounds(answers, weights, chosen, found[-1], noise, choice.scale)
            model = self._fitted(found, taken, model, *_QUICK)
            moved = float(np.abs(model.marginal(chosen) - answers[chosen]).sum())
            if moved <= mean_size(noise) * self.task.cells(chosen):  # the model has learned no more than noise
                share *= growth(self.money)
            _tell(work, purse)
        final = self._fitted(found, taken, model, self.steps, 1e-7)
        drifted = {each: bound.moved(_distance(final, each, answers[each])) for each, bound in bounds.items()}
        return SyntheticModel(
            self.task.coded.coding, final, found, candidates=drifted, method="AIM", public=list(taken)
        )

    def _all_is_better(self, tables: Mapping[Clique, Array], model: GraphModel, purse: Purse, source: Source) -> bool:
        """True if noise on all tables of the workload, for the rest of the budget, would bring more than further rounds: by
        the paid mean distance of the model, and by what noise does to tables like the model's. Where that is hopeless, no
        look is paid for: this is decided by models and public facts."""
        whole, rest = self.whole, purse.left - _LOOK
        answers = answered(whole.weights, model) if whole.small else {}
        if not answers or len(answers) < len(whole.weights):
            return False
        try:
            far = whole.deviations(whole.part(self.money.share(rest)))
        except InvalidParameter:  # so little is left that no noise is wide enough
            return False
        hidden = whole.expected(far, answers, model.total)
        if hidden > _HIDDEN * model.total:
            return False
        noise = whole.distance_noise(purse.buy(_LOOK))
        off = float(noise.release(whole.exact_mean_distance(tables, answers), source=source).value)
        return hidden < off * _worth(1.0 - purse.left)

    def _finished(
        self,
        tables: Mapping[Clique, Array],
        found: list[Measurement],
        taken: Mapping[Clique, float],
        model: GraphModel,
        purse: Purse,
        source: Source,
    ) -> SyntheticModel:
        """The model after noise on all tables of the workload, for all that is left. Of these tables the model holds those
        that fit; the others are answered from what was measured."""
        whole, seen = self.whole, list[Measurement]()
        part = whole.part(purse.buy(purse.left))
        if isinstance(part, DiscreteLaplace):
            for each in whole.weights:
                seen.append(measured(each, part.release(tables[each], source=source).value, part))
        else:
            flat = np.concatenate([tables[each].reshape(-1) for each in whole.weights])
            seen = whole.read(part, part.release(flat, source=source).value)
        held = [*(m.clique for m in found), *taken]
        fit = whole.fitted(seen, model, held, self.max_bytes / 8)
        model = self._fitted([*found, *fit], taken, model, self.steps, 1e-7)
        every = [*found, *seen]
        answers = whole.answers(every, model)
        coding = self.task.coded.coding
        return SyntheticModel(coding, model, every, method="AIM", public=list(taken), answers=answers)

    def _columns(self, tables: Mapping[Clique, Array], purse: Purse, source: Source) -> tuple[list[Measurement], float]:
        """Noisy counts of every column, and again, each time for a larger share, as long as noise hides them: tables of
        several columns would say less still. By paid counts alone. With them the share of the first round."""
        columns, found = [(i,) for i in range(len(self.task.sizes))], list[Measurement]()
        share = 1.0 / (self.rounds * len(columns))
        while True:
            for each in columns:
                noise = table_noise(purse.buy(_MEASURE * share), self.task)
                found.append(measured(each, noise.release(tables[each], source=source).value, noise))
            if self.public is not None or purse.left < _NOTHING or not self._hidden(found):
                return found, share
            share *= growth(self.money)
            if 2.0 * _MEASURE * share * len(columns) > purse.left:  # no round would be left that is worth it
                share = purse.left / (_MEASURE * len(columns))

    def _hidden(self, found: list[Measurement]) -> bool:
        """True if noise on the counts of a column is as large as half of all rows, on the mean over columns."""
        total = least_variance_total(found).value if self.task.rows is None else float(self.task.rows)
        noises = [values.size / math.sqrt(float(weights.flat[0])) for values, weights in combined(found).values()]
        return math.sqrt(2.0 / math.pi) * sum(noises) / len(noises) > _HIDDEN * total

    def _guesses(self, answers: Iterable[Clique], taken: Mapping[Clique, float], total: float) -> dict[Clique, Array]:
        """The public tables that may be taken next, for so many rows."""
        if self.public is None:
            return {}
        return {each: self.public.shares(each) * total for each in self.public.offered(answers, taken)}

    def _fitted(
        self,
        found: list[Measurement],
        taken: Mapping[Clique, float],
        before: GraphModel | None,
        steps: int,
        tolerance: float,
    ) -> GraphModel:
        """The model of all measurements and of the public tables that were taken, from the one before."""
        total = least_variance_total(found).value if self.task.rows is None else float(self.task.rows)
        facts: Any = {"allowed": self.task.allowed, "start": before, "steps": steps, "tolerance": tolerance}
        public = [] if self.public is None else self.public.measured(taken, total)
        return fitted(self.task.sizes, [*found, *public], total, **facts)

    def _first_noise(self) -> Noise:
        return table_noise(self.money.share(_MEASURE / (self.rounds * len(self.task.sizes))), self.task)

    def describe(self) -> str:
        """The plan in words."""
        noise = self._first_noise()
        return (
            f"{len(self.task.sizes)} columns and up to {self._most_rounds} of {len(self.weights):,} "
            f"tables, with noise of scale {noise.scale:.4g} at first; the model stays below {self.max_bytes:,} bytes"
        )

    @classmethod
    def examples(cls) -> Iterable[Example]:
        for relation, promise in (("add_remove", Guarantee(1.0, 1e-6)), ("replace", Guarantee(rho=0.5))):
            plan = AIM(workload=2, rounds=2, steps=50)._plan(task_of(relation), promise)
            yield Example(plan, *pair(relation), promise, cost="costly", lengths="protected")
        pure = Guarantee(1.0)
        yield Example(
            AIM(workload=2, rounds=2, steps=50)._plan(task_of(), pure),
            *rare_pair(),
            pure,
            cost="costly",
            lengths="protected",
        )
        loud = Guarantee(rho=1e6)  # next to no noise, so that one row decides which table is measured
        yield Example(
            AIM(workload=2, rounds=2, steps=50)._plan(task_of("replace"), loud),
            *pair("replace"),
            loud,
            cost="costly",
            lengths="protected",
        )
        near = Guarantee(
            rho=300.0
        )  # noise and rows are of one size, so that a row would decide whether noise is lessened
        yield Example(
            AIM(workload=2, rounds=8, steps=50)._plan(task_of("replace"), near),
            *pair("replace"),
            near,
            cost="costly",
            lengths="protected",
        )
        # a row moves away from the model's cell and toward the public one: a public table's score moves by two
        yield _public_example([[0, 0]] * 150 + [[1, 1]] * 50, [[0, 0]] * 100 + [[1, 1]] * 100, [[0, 0]])
        # one row decides whether the public table is taken, or its twin is measured
        same = [[i % 12, (i // 12 + i) % 12] for i in range(288)]
        yield _public_example([*same, [0, 0]], same, [[0, 0]], [[1, 0]], size=12, rho=59_000.0)
        # next to no noise: the model fits one table exactly, and one row decides whether all tables are measured at once;
        # no cell is empty, since a round's fit leaves a row or so in one that is, which would hide that row
        even = [[0, 0], [1, 1]] * 60 + [[0, 1], [1, 0]] * 40
        plan = AIM(workload=2, rounds=8, steps=50)._plan(task_of("replace", (2, 2)), loud)
        yield Example(
            plan, data_of([*even, [0, 1]]), data_of([*even, [1, 0]]), loud, cost="costly", lengths="protected"
        )
        few = Guarantee(4.0)
        plan = AIM(workload=1, rounds=2, steps=5)._plan(task_of(sizes=(1000,)), few)
        yield Example(plan, target=few, cost="costly", lengths="protected", detects=0.25, **canaries_in(1000, 1))


def _public_example(
    public: list[list[int]],
    both: list[list[int]],
    left: list[list[int]],
    right: list[list[int]] | None = None,
    *,
    size: int = 2,
    rho: float = 0.5,
) -> Example:
    """Neighbours that differ in one row, beside public rows; under replace where there is a row on the right, too."""
    task = task_of("add_remove" if right is None else "replace", (size, size))
    plan = AIM(workload=2, rounds=2, steps=50)._plan(task, Guarantee(rho=rho))
    plan = replace(plan, public=PublicTables.of(data_of(public), task.coded.rows, task, plan.weights))
    worlds = data_of(both + left), data_of(both + (right or []))
    return Example(plan, *worlds, Guarantee(rho=rho), cost="costly", lengths="protected")


def _worth(spent: float) -> float:
    """The distance of noise on all tables, over that of the model, up to which it is the better use of the rest: a model at
    a distance e and tables with noise r make answers at e r/sqrt(e^2 + r^2), and rounds lessen e like spent^-.3 or so (seen
    on public tables: -.25 to -.43).

    >>> round(_worth(0.1), 3), round(_worth(0.5), 3)
    (0.579, 1.392)
    """
    gain = spent**0.3
    return gain / math.sqrt(1.0 - gain**2)


def _tell(work: Track, purse: Purse) -> None:
    work.advance(max(0, min(1000, round(1000 * (1.0 - purse.left))) - work.done))


def _distance(model: GraphModel, clique: Clique, table: Array) -> float:
    return float(np.abs(model.marginal(clique) - table).sum())


def _bounds(
    answers: Mapping[Clique, Array],
    weights: Mapping[Clique, int],
    chosen: Clique,
    seen: Measurement,
    noise: Noise,
    scale: float,
) -> dict[Clique, CandidateBound]:
    """For each table that the last choice passed over, how far the model before it may have been from the data in l1.

    From the exponential mechanism's tail, Jensen's inequality and Lipschitz concentration, for normal noise.
    """
    if not isinstance(noise, Gaussian):
        return {}
    tail, sigma = scale / UNITS, seen.sigma
    w, cells = weights[chosen], answers[chosen].size
    off = w * float(np.abs(answers[chosen] - seen.values).sum())
    bounds = {}
    for each, answer in answers.items():
        gap = mean_size(noise) * (weights[each] * answer.size - w * cells)
        base = (off + gap + tail * math.log(len(answers))) / weights[each]
        bounds[each] = CandidateBound(base, w * sigma * math.sqrt(cells) / weights[each], tail / weights[each])
    return bounds

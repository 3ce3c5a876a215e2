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

# The part of a round's share that pays for the measurement, as in McKenna et al.; the rest pays for the choice.
_MEASURE = 0.9
# A share of all rows. Where the noise on a column is larger, in the mean over columns, all columns are measured again;
# where that on all tables would be larger, these are not measured at once.
_HIDDEN = 0.5
_NOTHING = 2.0**-30  # of the budget: no part is bought for less
# A limit on rounds times tables times columns, so that a run ends. Rounds are counted as if noise were never lessened;
# where it is, about a fifth of them are run.
_MOST_LOOKS = 3 * 10**7
_QUICK = 50, 1e-3  # steps and tolerance of a round's fit: closer fits follow noise, and choose no better
# A look is a noisy reading of the model's mean distance from the data, after which all tables may be measured at once
# (`_all_is_better`). Its price, as a share of the budget; the shares that are spent when looks begin and when they end; and
# the factor by which what is spent grows from one look to the next.
_LOOK = 0.002
_FIRST_LOOK, _LAST_LOOK = 0.1, 0.85
_NEXT_LOOK = 1.5


@door
@final
@dataclass(frozen=True, kw_only=True)
class AIM(Synthesizer):
    """Noisy counts of every column, then, round after round, of the table that the model gets most wrong, where what noise
    alone would explain does not count. The best choice where there are many rows for the budget.

    `workload` are the tables that matter: a number k for all of k columns, a list of tuples of names, or a mapping of such
    tuples to weights. `max_bytes` bounds the model: its junction tree, fill-in included. The first round has the share
    1/(rounds * number of columns) of the budget, and later ones no less: the more `rounds`, the more noise at first.
    `steps` limits the last fit.

    Where the budget is large, measuring all tables of the workload at once may be better than further rounds. To decide
    this, the mean distance of the model from the data is asked for now and then, with noise, and paid for; then all that is
    left of the budget measures these tables. `marginal` and `counts` answer from what was measured where the model has no
    room for a table. Rows are drawn from the model, which does not hold such tables.

    `public` is a table of rows that protect nobody, with the same columns: in each round the choice is between measuring a
    table and taking the public one, which costs no measurement. The score of a public table, how much nearer to the
    data it is than the model, decides like that of any other: the choice is paid for.

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
    what was released before, and no part is bought that the rest does not cover.
    **Sensitivity:** of one table, in l1 and in l2, as far as the rows of one person can move it (`task.l1`, `task.l2`); of
    all tables at once, that of `ResidualTables`; of the mean distance, the l1 one of a table; of a score, this times the
    largest weight among the candidates; of the score of a public table, a difference of two distances, twice as much.
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
        """Every table that fits into `max_bytes` by itself, and so may be measured, with its weight."""
        every = self.workload.candidates()
        return {each: weight for each, weight in every.items() if 8 * self.task.cells(each) <= self.max_bytes}

    @property
    def _most_rounds(self) -> int:
        """The number of rounds if none takes a larger share than the first: what the columns leave of the budget."""
        return (self.rounds - 1) * len(self.task.sizes)

    @kept_property
    def whole(self) -> WholeWorkload:
        """All tables of the workload, for when the budget is large."""
        return WholeWorkload.of(self.workload, self.task)

    def _run(self, prepared: Any, source: Source) -> SyntheticModel:
        columns, weights = [(i,) for i in range(len(self.task.sizes))], self.weights
        every = dict.fromkeys([*columns, *weights, *(self.whole.weights if self.whole.small else ())])
        tables = self._exact_tables(prepared, list(every), source)  # exact counts: for scores and noise alone
        purse, work = Purse(self.money), track("thousandths of the budget", 1000)
        found, share = self._columns(tables, purse, source)
        taken = dict[Clique, float]()  # public tables, with the deviation that the fit gives them
        of_columns = len(found)
        model = self._fitted(found, taken, None, *_QUICK)
        last, due = purse.left < _NOTHING, _FIRST_LOOK
        bounds = dict[Clique, CandidateBound]()  # filled in the last round
        while not last:
            spent = 1.0 - purse.left
            # before the round that would pass the point where a look is due; not before a measurement for each column
            if due - share <= spent <= _LAST_LOOK and len(found) >= of_columns + len(columns):
                due = _NEXT_LOOK * spent
                if self._all_is_better(tables, model, purse, source):
                    return self._finished(tables, found, taken, model, purse, source)
            last = purse.left < 2.0 * share
            share = purse.left if last else share
            noise = table_noise(self.money.share(_MEASURE * share), self.task)  # bought below, if a table is measured
            bought = purse.buy((1.0 - _MEASURE) * share)
            # cells of 8 bytes: the model may have the share of `max_bytes` that will be spent of the budget
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
                # a public table counts in the fit as much as the measurement that it stands for
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
        # bounds are for the model of the last choice: the distance of the final one from it is added
        drifted = {each: bound.moved(_distance(final, each, answers[each])) for each, bound in bounds.items()}
        return SyntheticModel(
            self.task.coded.coding, final, found, candidates=drifted, method="AIM", public=list(taken)
        )

    def _all_is_better(self, tables: Mapping[Clique, Array], model: GraphModel, purse: Purse, source: Source) -> bool:
        """True if all tables of the workload, with noise for the rest of the budget, would be nearer to the data than the
        model after further rounds. Compared are the model's mean distance from the data, a noisy number that is paid for
        here, and the mean distance that such noise makes in tables like the model's. False, and nothing is paid, where
        models and public facts say that the noise would be too large."""
        whole, rest = self.whole, purse.left - _LOOK
        answers = answered(whole.weights, model) if whole.small else {}
        if not answers or len(answers) < len(whole.weights):
            return False
        try:
            far = whole.deviations(whole.part(self.money.share(rest)))
        except InvalidParameter:  # the rest needs noise that is wider than any that is drawn
            return False
        hidden = whole.expected(far, answers, model.total)
        if hidden > _HIDDEN * model.total:
            return False
        noise = whole.distance_noise(purse.buy(_LOOK))
        # the mean distance in rows: by noise (`hidden`), and of the model (`off`)
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
        """The result after all that is left of the budget has measured all tables of the workload. Of these the model takes
        in those that it has room for; the others are answered from what was measured."""
        whole, seen = self.whole, list[Measurement]()
        part = whole.part(purse.buy(purse.left))
        if isinstance(part, DiscreteLaplace):
            for each in whole.weights:
                seen.append(measured(each, part.release(tables[each], source=source).value, part))
        else:
            flat = np.concatenate([tables[each].reshape(-1) for each in whole.weights])
            seen = whole.read(part, part.release(flat, source=source).value)
        in_model = [*(m.clique for m in found), *taken]
        fit = whole.fitted(seen, model, in_model, self.max_bytes / 8)
        model = self._fitted([*found, *fit], taken, model, self.steps, 1e-7)
        every = [*found, *seen]
        answers = whole.answers(every, model)
        coding = self.task.coded.coding
        return SyntheticModel(coding, model, every, method="AIM", public=list(taken), answers=answers)

    def _columns(self, tables: Mapping[Clique, Array], purse: Purse, source: Source) -> tuple[list[Measurement], float]:
        """Noisy counts of every column, and the share of the first round. All columns are measured again, each time for a
        larger share, as long as noise hides their counts: it would hide those of several columns even more. Decided by
        released counts alone."""
        columns, found = [(i,) for i in range(len(self.task.sizes))], list[Measurement]()
        share = 1.0 / (self.rounds * len(columns))
        while True:
            for each in columns:
                noise = table_noise(purse.buy(_MEASURE * share), self.task)
                found.append(measured(each, noise.release(tables[each], source=source).value, noise))
            if self.public is not None or purse.left < _NOTHING or not self._hidden(found):
                return found, share
            share *= growth(self.money)
            # less would be left than is spent now: all of it goes to the columns
            if 2.0 * _MEASURE * share * len(columns) > purse.left:
                share = purse.left / (_MEASURE * len(columns))

    def _hidden(self, found: list[Measurement]) -> bool:
        """True if the l1 distance that noise makes in the counts of a column is expected to be above half of all rows, in
        the mean over columns."""
        total = least_variance_total(found).value if self.task.rows is None else float(self.task.rows)
        # cells times the standard deviation, from the precision 1/variance; |N(0, 1)| has the mean sqrt(2/pi)
        noises = [values.size / math.sqrt(float(precision.flat[0])) for values, precision in combined(found).values()]
        return math.sqrt(2.0 / math.pi) * sum(noises) / len(noises) > _HIDDEN * total

    def _guesses(self, answers: Iterable[Clique], taken: Mapping[Clique, float], total: float) -> dict[Clique, Array]:
        """The public tables that may be taken next, as counts of `total` rows."""
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
        """The model of all measurements and of the public tables that were taken; the fit starts from the model before."""
        total = least_variance_total(found).value if self.task.rows is None else float(self.task.rows)
        facts: Any = {"allowed": self.task.allowed, "start": before, "steps": steps, "tolerance": tolerance}
        public = [] if self.public is None else self.public.measured(taken, total)
        return fitted(self.task.sizes, [*found, *public], total, **facts)

    def _first_noise(self) -> Noise:
        """The noise of the first measurements, the largest one of a run."""
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
        # noise and rows are of one size, so that a row would decide whether noise is lessened
        near = Guarantee(rho=300.0)
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
    """An example with `public` rows and two inputs: the rows of `both`, and those of `left` or of `right`. The relation is
    replace, and add or remove where `right` is left out.
    """
    task = task_of("add_remove" if right is None else "replace", (size, size))
    plan = AIM(workload=2, rounds=2, steps=50)._plan(task, Guarantee(rho=rho))
    plan = replace(plan, public=PublicTables.of(data_of(public), task.coded.rows, task, plan.weights))
    worlds = data_of(both + left), data_of(both + (right or []))
    return Example(plan, *worlds, Guarantee(rho=rho), cost="costly", lengths="protected")


def _worth(spent: float) -> float:
    """The ratio r/e up to which measuring all tables is the better use of the rest: r is the mean distance that noise makes
    in them, e that of the model from the data, when the share `spent` of the budget is spent.

    Measured tables and the model together make answers at the distance e r/sqrt(e^2 + r^2). Rounds would bring the model
    from e to e spent^0.3: its distance falls about like spent^-0.3 (seen on public tables: exponents from -0.25 to -0.43).

    >>> round(_worth(0.1), 3), round(_worth(0.5), 3)
    (0.579, 1.392)
    """
    by_rounds = spent**0.3
    return by_rounds / math.sqrt(1.0 - by_rounds**2)


def _tell(work: Track, purse: Purse) -> None:
    """Show the progress, in thousandths of the budget."""
    work.advance(max(0, min(1000, round(1000 * (1.0 - purse.left))) - work.done))


def _distance(model: GraphModel, clique: Clique, table: Array) -> float:
    """The l1 distance of the model's table from a given one."""
    return float(np.abs(model.marginal(clique) - table).sum())


def _bounds(
    answers: Mapping[Clique, Array],
    weights: Mapping[Clique, int],
    chosen: Clique,
    seen: Measurement,
    noise: Noise,
    scale: float,
) -> dict[Clique, CandidateBound]:
    """A bound for each candidate of the last choice on the l1 distance from the data of the model before that choice; none
    where noise is not normal.

    `chosen` is the measured candidate, `seen` its noisy table and `scale` that of the exponential mechanism. A candidate's
    score is above that of `chosen` by no more than the mechanism's tail allows; the distance of `chosen` is at most the one
    that was seen plus noise, by Jensen's inequality and Lipschitz concentration.
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

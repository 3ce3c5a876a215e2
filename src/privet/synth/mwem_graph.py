"""MWEM on a graphical model: in each round the table that the model gets most wrong is measured as a whole."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, final

from privet._calls import door
from privet._progress import track
from privet._validate import count, instance, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms import Algorithm, Example, Source, register
from privet.privacy import Guarantee
from privet.synth.graph import Clique, Measurement, fitted, least_variance_total, tree_cells
from privet.synth.marginal_workload import Asked, MarginalWorkload, answered, check_rounds, exact_scores, fitting
from privet.synth.money import UNITS, Noise, choice_by_distance, deviation, measured, money_of, table_noise
from privet.synth.small_examples import canaries_in, pair, task_of
from privet.synth.synthesis import Synthesis
from privet.synth.synthesizer import Synthesizer
from privet.synth.synthetic_model import SyntheticModel
from privet.synth.task import Task
from privet.tables import Data

_MEASURE = 0.9  # of a round's share; the rest chooses the table: accuracy only, both are paid for
_COUNT = 0.02  # of the budget, for the number of rows where that is not public
_MOST_LOOKS = 10**7  # rounds times tables times columns: some minutes


@door
@final
@dataclass(frozen=True, kw_only=True)
class MWEMGraph(Synthesizer):
    """`rounds` rounds (as many as there are columns, unless it is said), each with an equal part of the budget: a choice of
    the table that the model gets most wrong, and noisy counts of all of its cells.

    **Reference:** Hardt, Ligett & McSherry 2012; McKenna, Sheldon & Miklau 2019.

    >>> import privet as pv
    >>> rows = {"a": [0, 1] * 500, "b": [0, 1] * 500}
    >>> table = pv.Table(rows, columns={name: pv.Int(0, 1) for name in rows})
    >>> MWEMGraph(workload=2).fit(table, epsilon=1.0).marginal("a", "b").shape
    (2, 2)
    """

    workload: Asked = field(default=2)
    rounds: int | None = None
    max_bytes: int = 10 * 2**20
    steps: int = 500

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, max_bytes=count("max_bytes", self.max_bytes, 8), steps=count("steps", self.steps, 1))

    def _plan(self, task: Task, promise: Guarantee) -> "MWEMGraphPlan":
        made = MWEMGraphPlan(
            task=task,
            money=money_of(promise),
            workload=MarginalWorkload.of(self.workload, task),
            rounds=len(task.sizes) if self.rounds is None else self.rounds,
            max_bytes=self.max_bytes,
            steps=self.steps,
        )
        return made._charged_at(promise)


@final
@register
@dataclass(frozen=True, kw_only=True)
class MWEMGraphPlan(Synthesis, Algorithm[Data, SyntheticModel]):
    """Rounds of a choice among whole tables and noisy counts of the chosen one, on a graphical model.

    **Guarantee:** a noisy number of rows where it is not public, and in each round an exponential mechanism and a table.
    **Sensitivity:** of tables, l1 and l2, and of distances: the rows of one person.
    **Proof:** docs/proofs/synth/mwem_graph.md.
    """

    name = "synth_mwem_graph"

    task: Task
    money: Guarantee
    workload: MarginalWorkload
    rounds: int
    max_bytes: int
    steps: int = 500
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("workload", self.workload, MarginalWorkload)
        for name in ("rounds", "max_bytes", "steps"):
            set_frozen(self, **{name: count(name, getattr(self, name), 1)})
        least = 8 * tree_cells(self.task.sizes, self.task.allowed)
        if least > self.max_bytes or not self.weights:
            raise InvalidParameter("no table of the workload fits into max_bytes: allow more, or take wider bins")
        check_rounds(self.task, self.weights, self.rounds, _MOST_LOOKS)
        if 8 * self._tree(self._smallest) > self.max_bytes:
            raise InvalidParameter("no table of the workload fits into max_bytes beside the constraints: allow more")
        counted = [] if self.task.rows is not None else [_COUNT]
        share = (1.0 - sum(counted)) / self.rounds
        self._check_parts([*counted, _MEASURE * share], [(1.0 - _MEASURE) * share])

    def _tree(self, clique: Clique) -> int:
        return tree_cells(self.task.sizes, [*self.task.allowed, clique])

    @property
    def _smallest(self) -> Clique:
        """The table that is measured where no other fits."""
        return min(self.weights, key=self._tree)

    @property
    def weights(self) -> Mapping[Clique, int]:
        """The tables that may be measured, each with the weight 1."""
        fits = [each for each, _ in self.workload.cliques if 8 * self.task.cells(each) <= self.max_bytes]
        return dict.fromkeys(fits, 1)

    def _run(self, prepared: Any, source: Source) -> SyntheticModel:
        weights, sizes = self.weights, self.task.sizes
        tables = self._exact_tables(prepared, [(), *weights], source)
        found, rest, total = list[Measurement](), 1.0, float(self.task.rows or 1)
        if self.task.rows is None:
            noise, rest = table_noise(self.money.share(_COUNT), self.task), 1.0 - _COUNT
            found.append(measured((), noise.release(tables[()], source=source).value, noise))
            total = least_variance_total(found).value
        model = fitted(sizes, found, total, allowed=self.task.allowed, steps=1)
        share, work = rest / self.rounds, track("rounds", self.rounds)
        for i in range(self.rounds):
            room = self.max_bytes / 8 * (i + 1) / self.rounds
            near = fitting(weights, model, self.task, [m.clique for m in found], room)
            answers = answered(near or [self._smallest], model)
            choice = choice_by_distance(self.money.share((1.0 - _MEASURE) * share), self.task)
            expected = {each: self.task.cells(each) * UNITS for each in answers}
            scores = exact_scores(tables, answers, weights, expected)
            chosen = list(answers)[int(choice.release(scores, source=source).value)]
            noise = table_noise(self.money.share(_MEASURE * share), self.task)
            found.append(measured(chosen, noise.release(tables[chosen], source=source).value, noise))
            if self.task.rows is None:
                total = least_variance_total(found).value
            model = fitted(sizes, found, total, allowed=self.task.allowed, start=model, steps=self.steps)
            work.advance()
        return SyntheticModel(self.task.coded.coding, model, found, method="MWEMGraph")

    def _first_noise(self) -> Noise:
        rest = 1.0 if self.task.rows is not None else 1.0 - _COUNT
        return table_noise(self.money.share(_MEASURE * rest / self.rounds), self.task)

    def describe(self) -> str:
        """The plan in words."""
        noise = self._first_noise()
        far = f"noise of deviation {deviation(noise):.4g} on each count"
        return f"{self.rounds} of {len(self.weights):,} tables, with {far}"

    @classmethod
    def examples(cls) -> Iterable[Example]:
        for relation, promise in (("add_remove", Guarantee(1.0)), ("replace", Guarantee(rho=0.5))):
            plan = MWEMGraph(steps=50)._plan(task_of(relation), promise)
            yield Example(plan, *pair(relation), promise, cost="costly", lengths="protected")
        loud = Guarantee(rho=1e6)  # next to no noise, so that one row decides which table is measured
        plan = MWEMGraph(rounds=2, steps=50)._plan(task_of("replace"), loud)
        yield Example(plan, *pair("replace"), loud, cost="costly", lengths="protected")
        pure = Guarantee(4.0)
        plan = MWEMGraph(workload=1, steps=5)._plan(task_of(sizes=(1000,)), pure)
        yield Example(plan, target=pure, cost="costly", lengths="protected", detects=0.25, **canaries_in(1000, 1))

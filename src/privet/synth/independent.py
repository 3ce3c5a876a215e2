"""Every column by itself: noisy counts, and no relation between columns."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

from privet._calls import door
from privet.mechanisms import Algorithm, Example, Source, register
from privet.privacy import Guarantee
from privet.synth.graph import fitted, least_variance_total, tree_cells
from privet.synth.money import Noise, deviation, measured, money_of, table_noise
from privet.synth.small_examples import canaries_in, pair, rare_pair, task_of
from privet.synth.synthesis import Synthesis
from privet.synth.synthesizer import Synthesizer
from privet.synth.synthetic_model import SyntheticModel
from privet.synth.task import Task
from privet.tables import Data


@door
@final
@dataclass(frozen=True, kw_only=True)
class Independent(Synthesizer):
    """Noisy counts of every column by itself: the baseline that other synthesizers must beat.

    >>> import privet as pv
    >>> table = pv.Table({"ill": [True, False] * 500}, columns={"ill": pv.Bool()})
    >>> model = Independent().fit(table, epsilon=1.0)
    >>> len(model.sample(10)), model.privacy_.loss.pure()
    (10, 1.0)
    """

    def _plan(self, task: Task, promise: Guarantee) -> "IndependentPlan":
        made = IndependentPlan(task=task, money=money_of(promise, normal=True))
        return made._charged_at(promise)


@final
@register
@dataclass(frozen=True, kw_only=True)
class IndependentPlan(Synthesis, Algorithm[Data, SyntheticModel]):
    """Noisy counts of every column, and the model of largest entropy that fits them.

    **Guarantee:** d tables of counts, each with a d-th of the budget.
    **Sensitivity:** of a table, l1 and l2: the rows of one person, all in one cell.
    **Proof:** docs/proofs/synth/independent.md.
    """

    name = "synth_independent"

    task: Task
    money: Guarantee
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_parts([1.0 / len(self.task.sizes)])

    def _run(self, prepared: Any, source: Source) -> SyntheticModel:
        columns = [(i,) for i in range(len(self.task.sizes))]
        tables = self._exact_tables(prepared, columns, source)
        noise = table_noise(self.money.share(1.0 / len(columns)), self.task)
        found = []
        for each in columns:
            noisy = noise.release(tables[each], source=source).value
            found.append(measured(each, noisy, noise))
        total = least_variance_total(found).value if self.task.rows is None else float(self.task.rows)
        graph = fitted(self.task.sizes, found, total, allowed=self.task.allowed)
        return SyntheticModel(self.task.coded.coding, graph, found, method="Independent")

    @property
    def rounds(self) -> int:
        """One: everything is measured at once."""
        return 1

    def _first_noise(self) -> Noise:
        return table_noise(self.money.share(1.0 / len(self.task.sizes)), self.task)

    @property
    def max_bytes(self) -> int:
        """The most that the numbers of the model need."""
        return 8 * tree_cells(self.task.sizes, [*self.task.allowed, *((i,) for i in range(len(self.task.sizes)))])

    def describe(self) -> str:
        """The plan in words."""
        noise = self._first_noise()
        return f"{len(self.task.sizes)} columns, each with noise of deviation {deviation(noise):.4g} on every count"

    @classmethod
    def examples(cls) -> Iterable[Example]:
        for relation, promise in (
            ("add_remove", Guarantee(1.0)),
            ("replace", Guarantee(rho=0.5)),
            ("add_remove", Guarantee(1.0, 1e-6)),
        ):
            plan = Independent()._plan(task_of(relation), promise)
            yield Example(plan, *pair(relation), promise, cost="costly")
        yield Example(
            Independent()._plan(task_of("add_remove"), Guarantee(mu=1.0)),
            *rare_pair(),
            Guarantee(mu=1.0),
            cost="costly",
        )
        pure = Guarantee(4.0)
        plan = Independent()._plan(task_of(sizes=(1000,)), pure)
        yield Example(plan, target=pure, cost="costly", detects=0.25, **canaries_in(1000, 1))

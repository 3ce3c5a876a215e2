"""The abstract strategy that looks at the data: a recipe whose parts are paid for."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, final

from privet._numerics import Array
from privet._validate import instance
from privet.mechanisms import Gaussian
from privet.mechanisms.mechanism import Source
from privet.privacy import GaussianLoss, Guarantee, PrivacyLoss, PureLoss, Unit
from privet.workloads.design import NoiseNorm
from privet.workloads.linear_queries import LinearQueries
from privet.workloads.strategy import Strategy
from privet.workloads.workload import Workload, as_workload

_KEPT = 1.0 - 1e-12  # of a share: what is rounded up where parts are added must fit


@final
@dataclass(frozen=True)
class Task:
    """Public facts: what is asked, what is promised, and about whom.

    >>> from privet.workloads import Prefix
    >>> Task(Prefix(8), Guarantee(1.0)).norm, Task(Prefix(8), Guarantee(rho=0.5)).norm
    ('l1', 'l2')
    """

    workload: Workload
    target: Guarantee
    unit: Unit = Unit()  # noqa: RUF009 (frozen)
    max_rows: int = 1

    def __post_init__(self) -> None:
        as_workload(self.workload)
        instance("target", self.target, Guarantee)
        instance("unit", self.unit, Unit)

    @property
    def norm(self) -> NoiseNorm:
        """The kind of noise of what is measured: Laplace for a pure epsilon, else Gaussian."""
        return "l1" if self.target.epsilon is not None and self.target.delta == 0.0 else "l2"

    @property
    def rows(self) -> int:
        """How many rows may change between neighbours, each by entering or leaving a cell (replace does both)."""
        return self.max_rows * self.unit.group_size * (2 if self.unit.relation == "replace" else 1)

    def share(self, part: float, *, delta: bool = False) -> dict[str, Any]:
        """The promise of a part of the budget; all of its delta goes to the part that asks for it.

        >>> from privet.workloads import Prefix
        >>> round(Task(Prefix(8), Guarantee(mu=1.0)).share(0.25)["mu"], 9)
        0.5
        """
        target, part = self.target, part * _KEPT
        if target.rho is not None:
            return {"rho": target.rho * part}
        if target.mu is not None:
            return {"mu": target.mu * part**0.5}
        assert target.epsilon is not None
        return {"epsilon": target.epsilon * part} | ({"delta": target.delta} if delta and target.delta else {})

    def within(self, part: float) -> "Task":
        """The same task with a part of a pure budget."""
        return Task(self.workload, Guarantee(**self.share(part)), self.unit, self.max_rows)

    def price_of_measuring(self, part: float) -> PrivacyLoss:
        """The price of measuring any design with this part of the budget: known before the design is."""
        promise = self.share(part, delta=True)
        if self.norm == "l1":
            return PureLoss(promise["epsilon"], unit=self.unit)
        multiplier = Gaussian.for_budget(**promise, sensitivity=1.0).scale
        return GaussianLoss(multiplier * _KEPT, unit=self.unit)

    def measuring(self, part: float, strategy: Strategy) -> LinearQueries:
        """The mechanism that measures by this strategy, at `price_of_measuring(part)` or a rounding less."""
        promise = self.share(part, delta=True)
        facts = {"unit": self.unit, "max_rows": self.max_rows, "norm": self.norm}
        return LinearQueries.for_budget(workload=self.workload, strategy=strategy, **facts, **promise)


class AdaptiveStrategy(ABC):
    """A recipe whose measurements depend on a protected look at the data: frozen, small and public.

    `_run` looks at the data through `part.release(value, source=source)` alone, and `_prices` are the prices of these
    parts, from public facts. `AdaptiveQueries` is the mechanism that it makes.

    >>> from privet.workloads import DAWA, RangeQueries
    >>> RangeQueries(domain=8).for_budget(epsilon=1.0, strategy=DAWA()).loss.pure() <= 1.0
    True
    """

    name: ClassVar[str]
    kept: ClassVar[str] = "workloads.answers"  # the stored kind of what comes out

    @abstractmethod
    def _check(self, task: Task) -> None:
        """Refuse what this recipe cannot do, from public facts."""

    @abstractmethod
    def _prices(self, task: Task) -> tuple[PrivacyLoss, ...]:
        """The price of every part that a run releases."""

    @abstractmethod
    def _run(self, task: Task, cells: Array, source: Source) -> Any:
        """One run over whole-number cells."""

    @abstractmethod
    def _most(self, task: Task) -> int:
        """Cells are cut at this size, so that nothing overflows."""

    @abstractmethod
    def describe(self) -> str:
        """The recipe in words."""

    def __str__(self) -> str:
        return self.describe()

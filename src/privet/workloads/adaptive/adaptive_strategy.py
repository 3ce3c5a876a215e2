"""The abstract strategy that looks at the data: a recipe whose parts are paid for."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, final

from privet._cache import remember
from privet._numerics import Array, up
from privet._validate import instance
from privet.mechanisms import Gaussian, Source
from privet.privacy import GaussianLoss, Guarantee, PrivacyLoss, PureLoss, Unit
from privet.workloads.design import NoiseNorm
from privet.workloads.linear_queries import LinearQueries
from privet.workloads.strategy import Strategy
from privet.workloads.workload import Workload, as_workload


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
        """The number of rows that may change between neighbours, each by entering or leaving a cell (replace does
        both)."""
        return self.max_rows * self.unit.group_size * (2 if self.unit.relation == "replace" else 1)

    def share(self, part: float) -> Guarantee:
        """The promise of a part of the budget, without its delta.

        >>> from privet.workloads import Prefix
        >>> round(Task(Prefix(8), Guarantee(mu=1.0)).share(0.25).mu, 9)
        0.5
        """
        return self.target.share(part, delta=0.0)

    def within(self, part: float) -> "Task":
        """The same task with a part of a pure budget."""
        return Task(self.workload, self.share(part), self.unit, self.max_rows)

    def rest(self, part: float, *beside: PrivacyLoss) -> PrivacyLoss:
        """The price of measuring with this part of the budget, whatever the design, after parts of the prices `beside`.

        A budget with a delta is used up exactly: the noise is the least with which all parts together stay within it.

        >>> from privet.workloads import Prefix
        >>> round(Task(Prefix(8), Guarantee(1.0)).rest(0.5).pure(), 9)
        0.5
        """
        if self.norm == "l1":
            epsilon = self.share(part).epsilon
            assert epsilon is not None
            return PureLoss(epsilon, unit=self.unit)
        kept = _normal_rest(self.target, beside) if self.target.delta else self.share(part)
        return GaussianLoss(Gaussian.for_budget(**kept.keywords(), sensitivity=1.0).scale, unit=self.unit)

    def part_of(self, price: PrivacyLoss, part: float) -> PrivacyLoss:
        """The price of so much of a measurement: of its epsilon, or of the square of its mu. Parts that sum to at most 1
        cost together what the whole does, or a rounding less.

        >>> from privet.workloads import Prefix
        >>> round(Task(Prefix(8), Guarantee(1.0)).part_of(PureLoss(0.5), 0.4).pure(), 9)
        0.2
        """
        if not isinstance(price, GaussianLoss):
            epsilon = Guarantee(price.pure()).share(part).epsilon
            assert epsilon is not None
            return PureLoss(epsilon, unit=self.unit)
        kept = Guarantee(mu=1.0 / price.noise_multiplier).share(part)
        return GaussianLoss(Gaussian.for_budget(**kept.keywords(), sensitivity=1.0).scale, unit=self.unit)

    def ratio(self, price: PrivacyLoss) -> Fraction:
        """The scale of the noise over the sensitivity of what is measured, at the given price.

        >>> from privet.workloads import Prefix
        >>> Task(Prefix(8), Guarantee(1.0)).ratio(PureLoss(0.5))
        Fraction(2, 1)
        """
        return Fraction(price.noise_multiplier if isinstance(price, GaussianLoss) else 1 / Fraction(price.pure()))

    def measuring(self, price: PrivacyLoss, strategy: Strategy) -> LinearQueries:
        """The mechanism that measures by this strategy at the given price, or a rounding less."""
        reach = strategy.design(self.workload, self.norm).sensitivity(self.norm, self.unit, max_rows=self.max_rows)
        scale = up(self.ratio(price) * reach.value)
        made = LinearQueries(
            workload=self.workload,
            strategy=strategy,
            norm=self.norm,
            scale=scale,
            unit=self.unit,
            max_rows=self.max_rows,
        )
        assert _covers(price, made.loss)  # scales are rounded up, prices too
        return made


def _covers(price: PrivacyLoss, loss: PrivacyLoss) -> bool:
    if isinstance(price, GaussianLoss) and isinstance(loss, GaussianLoss):
        return loss.noise_multiplier >= price.noise_multiplier
    return loss.pure() <= price.pure()


@remember(2**16)
def _normal_rest(target: Guarantee, beside: tuple[PrivacyLoss, ...]) -> Guarantee:
    return target.rest(*beside)


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

"""The mechanism of strategies that look at the data: a whole algorithm, paid once for its parts."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Unpack, final

import numpy as np

from privet._cache import kept_property
from privet._numerics import Array
from privet._validate import count, instance, set_frozen
from privet.mechanisms import Algorithm, Example, Form, Kept, Source, register
from privet.privacy import Composed, Guarantee, PrivacyLoss, Promise, Unit
from privet.workloads.adaptive.adaptive_grid import AdaptiveGrid, block_lines, noise_of, tile_cuts
from privet.workloads.adaptive.adaptive_strategy import AdaptiveStrategy, Task
from privet.workloads.adaptive.automatic import Automatic
from privet.workloads.adaptive.dawa import DAWA
from privet.workloads.adaptive.mwem import MWEM
from privet.workloads.families.counts import admit_histogram, whole_counts
from privet.workloads.points import Points
from privet.workloads.prefix import Prefix
from privet.workloads.product import Product
from privet.workloads.workload import Workload, as_workload, refuse_empty


@final
@register
@dataclass(frozen=True, kw_only=True)
class AdaptiveQueries(Algorithm[Any, Any]):
    """Every answer of a workload from measurements that were chosen by a protected look at the histogram.

    The cells are read as `LinearQueries` reads them. Answers are biased: their intervals say "noise only".

    **Guarantee:** the composition of the parts, which is `target` or a rounding less.
    **Sensitivity:** that of each part, for `unit`, `max_rows` rows a person, and rows that may lie outside the domain.
    **Error:** the noise with every answer; what is guessed comes on top.
    **Reference:** proof notes workloads/dawa, workloads/mwem, workloads/adaptive_grid, workloads/automatic.

    >>> mechanism = AdaptiveQueries.for_budget(epsilon=1.0, workload=Prefix(8), strategy=DAWA())
    >>> mechanism.release([9, 8, 9, 9, 0, 0, 1, 0]).value.histogram.shape
    (8,)
    """

    name = "adaptive_queries"
    at_most = True  # a part may cost a rounding less than was set aside for it

    workload: Workload
    strategy: AdaptiveStrategy
    target: Guarantee
    unit: Unit = field(default=Unit())
    max_rows: int = 1
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        as_workload(self.workload)
        instance("strategy", self.strategy, AdaptiveStrategy)
        instance("target", self.target, Guarantee)
        instance("unit", self.unit, Unit)
        set_frozen(self, max_rows=count("max_rows", self.max_rows, 1))
        refuse_empty(self.workload)
        self.strategy._check(self.task)

    @classmethod
    def for_budget(
        cls,
        *,
        workload: Workload,
        strategy: AdaptiveStrategy,
        unit: Unit | None = None,
        max_rows: int = 1,
        **promise: Unpack[Promise],
    ) -> "AdaptiveQueries":
        """The parts of the strategy with their shares of the budget."""
        target = Guarantee(**promise)
        facts: dict[str, Any] = {"workload": workload, "strategy": strategy, "max_rows": max_rows}
        made = cls(target=target, unit=Unit() if unit is None else instance("unit", unit, Unit), **facts)
        return made._charged_at(target)

    @kept_property
    def task(self) -> Task:
        """The public facts that the strategy works with."""
        return Task(self.workload, self.target, self.unit, self.max_rows)

    @property
    def loss(self) -> PrivacyLoss:
        return Composed(self.strategy._prices(self.task))

    @property
    def form(self) -> Form:
        """The form of the strategy's answer, with what was measured."""
        return Kept(self.strategy.kept)

    def _admit(self, value: object) -> None:
        admit_histogram(value, self.workload.shape)

    def _prepare(self, value: object) -> Array:
        return whole_counts(value, self.strategy._most(self.task))

    def _run(self, prepared: Any, source: Source) -> Any:
        return self.strategy._run(self.task, prepared, source)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        few, many, other = np.array([0, 0, 9, 9]), np.array([0, 1, 9, 9]), np.array([0, 1, 8, 9])
        plain: dict[str, Any] = {"workload": Prefix(4), "unit": Unit()}
        moved = plain | {"unit": Unit("replace")}
        for strategy in (DAWA(), MWEM(rounds=2), Automatic(rows=3), AdaptiveGrid(rows=20)):
            lengths: Any = "public" if isinstance(strategy, MWEM) else "protected"
            pure = cls.for_budget(epsilon=1.0, strategy=strategy, **plain)
            yield Example(pure, few, many, Guarantee(1.0), cost="costly", lengths=lengths)
            loose = cls.for_budget(strategy=strategy, rho=0.5, **moved)
            yield Example(loose, few, other, Guarantee(rho=0.5), cost="costly", lengths=lengths)
        paid = cls.for_budget(epsilon=1.0, strategy=Automatic(), **plain)  # rows enough that the choice is certain
        yield Example(paid, 1000 * few, 1000 * few + [0, 1, 0, 0], Guarantee(1.0), cost="costly")
        yield from _steered()


def _steered() -> Iterable[Example]:
    """Pairs in which one row decides: how many buckets there are, and which query is answered worst."""
    wide = AdaptiveQueries.for_budget(epsilon=0.1, workload=Prefix(16), strategy=Automatic())
    edge = _edge(lambda rows: Automatic().choice(wide.task, rows))
    left = np.bincount(np.arange(edge) % 16, minlength=16)
    fewer = left - (np.arange(16) == (edge - 1) % 16)
    yield Example(wide, left, fewer, Guarantee(0.1), cost="costly", lengths="protected")
    worst = AdaptiveQueries.for_budget(epsilon=1.0, workload=Points(6), strategy=MWEM(rounds=2), unit=Unit("replace"))
    first, second = np.array([300, 301, 200, 200, 200, 200]), np.array([301, 300, 200, 200, 200, 200])
    yield Example(worst, first, second, Guarantee(1.0), cost="costly")
    yield from _gridded()


def _gridded() -> Iterable[Example]:
    """Rectangles whose rows all lie in one corner, but one: it turns how finely the corner is cut, or how many blocks there
    are."""
    rectangles = Product((Prefix(32), Prefix(32)))
    for strategy in (AdaptiveGrid(), Automatic()):
        made = AdaptiveQueries.for_budget(epsilon=0.1, workload=rectangles, strategy=strategy)
        task, left = made.task, strategy._left(made.task)
        fine = noise_of(task, AdaptiveGrid()._halves(task, left)[1])
        many = _edge(lambda rows: tile_cuts(((8,), (8,)), np.array([rows]), fine), low=150)  # noqa: B023 (used at once)
        yield Example(made, _corner(many), _corner(many - 1), Guarantee(0.1), cost="costly", lengths="protected")
        blocks = _edge(lambda rows: block_lines(task, left, rows), low=150)  # noqa: B023 (used at once)
        yield Example(made, _corner(blocks), _corner(blocks - 1), Guarantee(0.1), cost="costly", lengths="protected")
    moved = AdaptiveQueries.for_budget(rho=0.005, workload=rectangles, strategy=Automatic(), unit=Unit("replace"))
    yield Example(moved, _corner(300), _corner(299, far=1), Guarantee(rho=0.005), cost="costly", lengths="protected")


def _corner(rows: int, far: int = 0) -> Array:
    found = np.zeros((32, 32), dtype=np.int64)
    found[0, 0], found[31, 31] = rows, far
    return found


def _edge(choice: Callable[[float], object], low: int = 100, high: int = 10**6) -> int:
    """The smallest number of rows, from `low` on, at which the choice is another than for one row less."""
    first = choice(float(low))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if choice(float(middle)) == first else (low, middle)
    assert choice(float(high)) != choice(float(high - 1))
    return high

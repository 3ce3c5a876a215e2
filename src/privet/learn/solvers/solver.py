"""The abstract solver: from public facts and a promise to a plan, which is a mechanism on records."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from privet._numerics import Array
from privet._registry import Registry
from privet.learn.losses import Loss
from privet.learn.problem import Classes, Interval, Records, Task
from privet.learn.solvers.knobs import clean_knobs
from privet.mechanisms import Mechanism
from privet.privacy import Guarantee


class Solver(ABC):
    """A way to fit a linear model privately. Subclasses are frozen dataclasses of public knobs, one file each, under
    `@register_solver`.

    `plan` looks at no data. What it returns is a frozen `Mechanism` (or `Algorithm`) with price, error and JSON form that
    turns `Records` into coefficients for unit rows (`Task.unit_chunks`; `Task.raw` leads back to the units of the data).
    """

    def __post_init__(self) -> None:
        """Knobs that several solvers have are cleaned here, as their names say."""
        clean_knobs(self)

    @abstractmethod
    def plan(self, task: Task, loss: Loss, target: Guarantee) -> "Mechanism[Records, Array]":
        """The mechanism that keeps the promise, or `InvalidParameter` naming a solver that can."""

    def describe(self) -> str:
        """One sentence on what it does, for `privacy_`."""
        return (type(self).__doc__ or type(self).__name__).splitlines()[0].rstrip(".")

    @classmethod
    @abstractmethod
    def examples(cls) -> "Iterable[SolverExample]":
        """Solvers of this kind with a problem that each of them is for: what laws run over."""


@final
@dataclass(frozen=True)
class SolverExample:
    """A solver, public facts and a loss that it can fit, and a promise that it can keep. It is run on `rows` records.

    >>> from privet.learn.solvers import NoisyGD
    >>> next(iter(NoisyGD.examples())).kind
    'noisy_gd'
    """

    solver: Solver
    task: Task
    loss: Loss
    promise: Guarantee
    rows: int = 6

    @property
    def kind(self) -> str:
        """The name of the solver among the registered ones."""
        return register_solver.name_of(type(self.solver))

    def __str__(self) -> str:
        return f"{self.kind}, {self.promise.describe()}"


register_solver: Registry[Solver] = Registry("solvers")


def registered_solvers() -> dict[str, type[Solver]]:
    """All solvers by name.

    >>> from privet.learn import solvers
    >>> "noisy_gd" in solvers.registered_solvers()
    True
    """
    return register_solver.members()


TWO_CLASSES = Task(features=2, row_norm=1.0, target=Classes((0, 1)))  # problems for examples
NUMBERS = Task(features=2, row_norm=1.0, target=Interval(-1.0, 1.0))

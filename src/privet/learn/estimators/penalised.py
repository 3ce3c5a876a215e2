"""The common ground of least squares with penalties: the solvers that know a proximal map, and which of them is
taken."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from privet.errors import InvalidParameter
from privet.learn.estimators.regressor import LinearRegressor
from privet.learn.losses import Huber, Loss, Squared
from privet.learn.problem import Records, Task
from privet.learn.solvers import (
    CoordinateDescent,
    FrankWolfe,
    GreedyCoordinateDescent,
    Penalty,
    Solver,
    SufficientStatistics,
)
from privet.mechanisms import Mechanism
from privet.privacy import Guarantee, Unit

_MANY = 50  # columns, from which on a choice of coordinates is worth its price


@dataclass(kw_only=True, eq=False, repr=False)
class PenalisedRegressor(LinearRegressor):
    """A `LinearModel` of least squares with a penalty: `alpha` is the penalty's weight, as in scikit-learn."""

    alpha: float = 1.0

    if TYPE_CHECKING:  # of LinearModel
        solver: Solver | None = None

        def _task(self, columns: int, unit: Unit) -> Task: ...

    @abstractmethod
    def _penalty(self) -> Penalty:
        """The penalty that is added to the mean loss."""

    def _loss(self) -> Loss:
        return clipped_squares()

    def _default_solver(self, task: Task, promise: Guarantee) -> tuple[Solver, str]:
        if promise.epsilon is not None and promise.delta == 0.0:
            return SufficientStatistics(), "a pure epsilon: one noisy Gram says everything about squares and a penalty"
        return proximal_solver(task, promise), "a penalty with a corner: proximal steps by coordinates"

    def _plan(self, columns: int, unit: Unit, promise: Guarantee) -> "Mechanism[Records, Any]":
        task = self._task(columns, unit)
        solver = self._default_solver(task, promise)[0] if self.solver is None else self.solver
        return penalised_plan(solver, self._penalty(), task, promise)

    def _set(self, value: object, plan: Any) -> None:
        found = np.asarray(value["coefficients"] if isinstance(value, dict) else value)
        self.coef_, self.intercept_ = plan.task.raw(found)


def clipped_squares() -> Loss:
    """Squares of residuals, clipped at the width of the bounds of y: targets lie in [-1, 1], so of a prediction within the
    bounds no residual is clipped.

    >>> clipped_squares()
    Huber(bend=2.0)
    """
    return Huber(2.0)


def proximal_solver(task: Task, promise: Guarantee) -> Solver:
    """Coordinates chosen privately where there are many columns, else random ones.

    >>> type(proximal_solver(Task(features=3, row_norm=1.0), Guarantee(1.0, 1e-6))).__name__
    'CoordinateDescent'
    """
    many = task.dimension >= _MANY and promise.mu is None
    return GreedyCoordinateDescent() if many else CoordinateDescent()


def penalised_plan(solver: Solver, penalty: Penalty, task: Task, promise: Guarantee) -> Any:
    """The plan of a solver for this penalty; solvers that need gradients are refused."""
    if isinstance(solver, CoordinateDescent | GreedyCoordinateDescent):
        return replace(solver, penalty=penalty).plan(task, clipped_squares(), promise)
    if isinstance(solver, SufficientStatistics):
        return replace(solver, penalty=penalty).plan(task, Squared(), promise)
    if isinstance(solver, FrankWolfe):
        return solver.plan(task, clipped_squares(), promise)
    raise InvalidParameter(
        "an l1 penalty has no gradient: take learn.solvers.CoordinateDescent(), GreedyCoordinateDescent(), "
        "SufficientStatistics() or FrankWolfe(), whose radius stands for the penalty"
    )

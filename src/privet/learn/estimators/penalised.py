"""What the least squares with penalties share: the proximal solvers and the penalty that the estimator states."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import RegressorMixin

from privet._numerics import Array
from privet.errors import InvalidParameter
from privet.learn.estimators.linear import LinearModel, check_numbers, known_interval
from privet.learn.losses import Huber, Loss
from privet.learn.problem import Records, Target, Task
from privet.learn.solvers import CoordinateDescent, FrankWolfe, GreedyCoordinateDescent, Penalty, Solver
from privet.mechanisms import Mechanism
from privet.privacy import Guarantee, Unit

_MANY = 50  # columns, from which on a choice of coordinates is worth its price


@dataclass(kw_only=True, eq=False, repr=False)
class PenalisedModel(RegressorMixin, LinearModel):
    """Base of `Lasso` and `ElasticNet`: the residual is clipped at the width of `bounds_y`, the penalty is the model's."""

    alpha: float = 1.0
    bounds_y: Any = None

    @abstractmethod
    def _penalty(self) -> Penalty:
        """The penalty on the mean loss, in the units of the data."""

    def _target(self) -> Target:
        return known_interval(self.bounds_y)

    def _loss(self) -> Loss:
        return Huber(2.0)  # targets lie in [-1, 1]: of a prediction within the bounds, no residual is clipped

    def _default_solver(self, task: Task, promise: Guarantee) -> Solver:
        return GreedyCoordinateDescent() if task.dimension >= _MANY and promise.mu is None else CoordinateDescent()

    def _plan(self, columns: int, unit: Unit, promise: Guarantee) -> "Mechanism[Records, Any]":
        task = self._task(columns, unit)
        solver = self._default_solver(task, promise) if self.solver is None else self.solver
        if isinstance(solver, CoordinateDescent | GreedyCoordinateDescent):
            return replace(solver, penalty=self._penalty()).plan(task, self._loss(), promise)
        if isinstance(solver, FrankWolfe):
            return solver.plan(task, self._loss(), promise)
        raise InvalidParameter(
            "an l1 penalty has no gradient: take learn.solvers.CoordinateDescent(), GreedyCoordinateDescent() or "
            "FrankWolfe(), whose radius stands for the penalty"
        )

    def _check_targets(self, targets: Array) -> None:
        check_numbers(targets)

    def predict(self, X: Any) -> Array:
        """The prediction for each row."""
        return self._margins(X)

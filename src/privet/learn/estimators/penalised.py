"""What least squares with penalties share: the solvers that know a proximal map, and which of them is taken."""

from dataclasses import replace
from typing import Any

from privet.errors import InvalidParameter
from privet.learn.losses import Huber, Loss
from privet.learn.problem import Task
from privet.learn.solvers import CoordinateDescent, FrankWolfe, GreedyCoordinateDescent, Penalty, Solver
from privet.privacy import Guarantee

_MANY = 50  # columns, from which on a choice of coordinates is worth its price


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
    if isinstance(solver, FrankWolfe):
        return solver.plan(task, clipped_squares(), promise)
    raise InvalidParameter(
        "an l1 penalty has no gradient: take learn.solvers.CoordinateDescent(), GreedyCoordinateDescent() or "
        "FrankWolfe(), whose radius stands for the penalty"
    )

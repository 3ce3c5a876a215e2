"""The common ground of solvers from sufficient statistics: the target, the ridge, and the form of their answers."""

from fractions import Fraction
from typing import Any

import numpy as np

from privet._numerics import Array, root_up
from privet.errors import InvalidParameter
from privet.learn.losses import Loss, Squared
from privet.learn.problem import Interval, Task
from privet.learn.solvers.shrinkage import Noise, covariance, plain, shrunk
from privet.mechanisms import Form, Numbers, Record, Sensitivity
from privet.privacy import Unit

FORM: Form = Record(dict.fromkeys(("coefficients", "center", "covariance", "gram", "noise", "start"), Numbers()))


def check_squared(task: Task, loss: Loss) -> None:
    """Refuse what is no regression by squares."""
    if not isinstance(loss, Squared):
        raise InvalidParameter(
            "sufficient statistics are those of the squared loss: take ObjectivePerturbation() for others"
        )
    if not isinstance(task.target, Interval):
        raise InvalidParameter("the squared loss needs a target with bounds: give bounds_y=")


def reach(add: int | Fraction, replace: int | Fraction, unit: Unit) -> Sensitivity:
    """The l2 sensitivity sqrt(add) under add/remove, sqrt(replace) under replace, times the records of a unit.

    >>> float(reach(1, 2, Unit("replace", group_size=3))) >= 3 * 2**0.5
    True
    """
    root = Fraction(root_up(Fraction(replace if unit.relation == "replace" else add)))
    return Sensitivity(root * unit.group_size, norm="l2", unit=unit)


def penalties(task: Task, ridge: float) -> Array:
    """A ridge in the units of the data, for the coefficients of unit rows; none for the constant."""
    scales = np.ones(task.features) if task.scales is None else np.array(task.scales)
    slopes = ridge / (task.length * scales) ** 2
    return np.append(slopes, 0.0) if task.intercept else np.asarray(slopes)


def solved(
    task: Task, gram: Array, cross: Array, start: Array, noise: Noise, edge: float, ridge: float, about: float = 0.0
) -> dict[str, Any]:
    """The answer of a fit: `start`, moved by the solution d of gram d = cross. `coefficients` are with shrinkage, which
    predicts best; `center` is without it, for intervals, which `covariance` makes wide.

    `noise` is that of gram and cross; `edge` the largest eigenvalue that noise alone gives the Gram, below which nothing is
    solved without shrinkage; `about` the variance of the constant in `start`, 0 where nothing is known of it.

    The ridge comes last. It is no datum: with it, the equations would seem to tell that slopes are 0, and every prior that
    is wide enough for the others would look wrong.
    """
    penalty = penalties(task, ridge)
    whole, rest = gram + np.diag(penalty), cross - penalty * start
    found = start + shrunk(gram, cross, noise, constant=task.intercept, about=about)
    if ridge > 0.0:
        found = penalised(found, gram, penalty)
    free = plain(whole, rest, edge)
    if free is None:
        center, spread = found, np.full_like(gram, np.inf)
    else:
        center, spread = start + free, covariance(whole, free, noise, penalty)
    return {
        "coefficients": found,
        "center": center,
        "covariance": spread,
        "gram": whole,
        "noise": np.array([*noise, edge]),
        "start": start,
    }


def penalised(free: Array, gram: Array, penalty: Array) -> Array:
    """The w that minimises (w - free)^T gram (w - free) + sum of penalty w^2, for what is positive in a noisy Gram: where
    `free` solves normal equations, this is ridge regression.

    >>> penalised(np.array([2.0, 1.0]), np.diag([3.0, 3.0]), np.array([3.0, 0.0])).tolist()
    [1.0, 1.0]
    """
    values, turn = np.linalg.eigh(gram)
    if values[-1] <= 0.0:
        return free
    # noise makes eigenvalues negative: they count as next to nothing, which only has to be solvable
    seen = (turn * np.maximum(values, 1e-9 * values[-1])) @ turn.T
    return np.asarray(free - np.linalg.solve(seen + np.diag(penalty), penalty * free))

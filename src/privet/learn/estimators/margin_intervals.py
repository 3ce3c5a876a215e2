"""Intervals for the coefficients of a loss of one margin, from what was released and the known law of the noise."""

import math
from typing import Any, Literal

import numpy as np

from privet._numerics import Array, ndtri
from privet._validate import open_fraction
from privet.errors import InvalidParameter
from privet.learn.problem import Task
from privet.learn.solvers import CurvatureFit, ObjectiveFit, OutputFit
from privet.mechanisms import Gaussian

Of = Literal["population", "sample"]

_DOUBT = 0.1  # of what an interval may fail by: for the noise of the Hessian; the rest for that of the coefficients


def margin_intervals(released: object, plan: Any, level: float, of: Of) -> Array:
    """(low, high) for every coefficient in the units of the data, and for the intercept last."""
    miss = 1.0 - open_fraction("level", level)
    if of not in ("population", "sample"):
        raise InvalidParameter('of must be "population" or "sample"')
    zero, change = raw_changes(plan.task)
    if isinstance(plan, CurvatureFit):
        if of == "population":
            center, reach = _of_population(released, plan, change, miss)
        else:
            center, reach = _of_sample(released, plan, change, miss)
    elif isinstance(plan, OutputFit) and isinstance(plan.noise, Gaussian) and of == "sample":
        center, reach = np.asarray(released), _quantile(miss) * plan.noise.scale * np.linalg.norm(change, axis=1)
    else:
        raise InvalidParameter(_missing(plan))
    middle = zero + change @ center
    return np.column_stack([middle - reach, middle + reach])


def _missing(plan: object) -> str:
    if isinstance(plan, OutputFit) and isinstance(plan.noise, Gaussian):
        return (
            'OutputPerturbation() has intervals of="sample": how far its regulariser moves the minimum is not released'
        )
    if isinstance(plan, ObjectiveFit):
        return "this fit has no intervals: they need the curvature of the loss, which fits with intervals=True buy"
    return (
        "this fit has no intervals: what noise and clipping did to its coefficients has no known law; fits with "
        "intervals=True (and a delta) have them, and those by OutputPerturbation() with a delta"
    )


def _of_sample(released: Any, plan: CurvatureFit, change: Array, miss: float) -> tuple[Array, Array]:
    """About the minimum of the regularised objective without noise: H (w - it) = -b, H with the regulariser."""
    w = np.asarray(released["coefficients"])
    hessian = np.asarray(released["curvature"]) + plan.fit.strength * np.eye(len(w))
    if not _stands_out(hessian, plan):
        return w, np.full(len(change), np.inf)
    moved = np.linalg.solve(hessian, change.T).T
    output = plan.fit.output.scale**2 * _dot(change, change)
    return w, _reach(plan, hessian, moved, output, miss, sampled=0.0)


def _of_population(released: Any, plan: CurvatureFit, change: Array, miss: float) -> tuple[Array, Array]:
    """About the coefficients of the model that records come from: H (w - they) = -(scores + b + strength w), H without the
    regulariser. The last term is known and taken away; scores have the covariance H.
    """
    w, strength = np.asarray(released["coefficients"]), plan.fit.strength
    hessian = np.asarray(released["curvature"])
    if not _stands_out(hessian, plan):
        return w, np.full(len(change), np.inf)
    moved, back = np.linalg.solve(hessian, change.T).T, np.linalg.solve(hessian, w)
    left = change + strength * moved  # what becomes of a change of w when the term is taken away
    noisy = plan.fit.output.scale**2 * _dot(left, left) + (strength * plan.sigma) ** 2 * _squares(moved, back)
    return w + strength * back, _reach(plan, hessian, moved, noisy, miss, sampled=1.0)


def _stands_out(hessian: Array, plan: CurvatureFit) -> bool:
    """Is the least eigenvalue larger than what noise alone would have?"""
    return bool(np.linalg.eigvalsh(hessian)[0] > plan.sigma * math.sqrt(2.0 * len(hessian)))


def _reach(plan: CurvatureFit, hessian: Array, moved: Array, other: Array, miss: float, *, sampled: float) -> Array:
    """Half of the widths: for u = H^-1 c, a row of `moved`, the variance is u (sampled H + sigma^2) u + other.

    The noisy Hessian may be too large, and the variance too small. Its logarithm has a normal error to first order; the
    upper end of that is taken, which fails with a probability of _DOUBT of `miss`.
    """
    twice, square = np.linalg.solve(hessian, moved.T).T, plan.fit.sigma**2
    variance = sampled * _dot(moved @ hessian, moved) + square * _dot(moved, moved) + other
    # of -(sampled u u^T + sigma^2 (u a^T + a u^T)), the derivative by H, a = H^-1 u, the length in Frobenius norm
    slope = plan.sigma * np.sqrt(_squares(moved, sampled * moved + 2.0 * square * twice))
    upper = variance * np.exp(-float(ndtri(_DOUBT * miss)) * slope / variance)
    return _quantile(miss * (1.0 - _DOUBT)) * np.sqrt(upper)


def _dot(left: Array, right: Array) -> Array:
    return np.asarray((left * right).sum(axis=1))


def _squares(u: Array, v: Array) -> Array:
    """The square of the Frobenius norm of (u v^T + v u^T)/2 for each row u: the variance of u^T E v, E symmetric noise of
    variance 1 on the diagonal, 1/2 off it.
    """
    return np.asarray(0.5 * ((u * u).sum(axis=1) * (v * v).sum(axis=-1) + (u * v).sum(axis=1) ** 2))


def _quantile(miss: float) -> float:
    return -float(ndtri(miss / 2.0))


def raw_changes(task: Task) -> tuple[Array, Array]:
    """Coefficients in the units of the data, the intercept last, are zero + change @ those for unit rows.

    >>> zero, change = raw_changes(Task(features=1, row_norm=3.0, intercept=False))
    >>> float(change[0, 0])  # a row of length 3 is a unit row times 3
    0.3333333333333333
    """
    zero = _raw(task, np.zeros(task.dimension))
    return zero, np.column_stack([_raw(task, each) - zero for each in np.eye(task.dimension)])


def _raw(task: Task, theta: Array) -> Array:
    slopes, constant = task.raw(theta)
    return np.append(slopes, constant) if task.intercept else np.asarray(slopes)

"""The minimum of a regularised objective by damped Newton steps, with a certificate that holds in exact arithmetic."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from privet._numerics import Array
from privet.errors import ReleaseFailed
from privet.learn.losses import Loss
from privet.learn.problem import Chunk

_TILE = 256  # rows that are added up in any order; their sums are added in long doubles
_UNIT = 2.0**-53
_STEPS = 100
_HALVINGS = 40
_DIRECT = 1_000  # columns: up to here Hessians are built and solved

Chunks = Callable[[], Iterator[Chunk]]


class Objective(NamedTuple):
    """sum psi(x.w; y) + (strength/2)|w|^2 + linear.w over unit rows."""

    chunks: Chunks
    loss: Loss
    strength: float
    linear: Array

    def value(self, w: Array) -> float:
        total = sum(float(self.loss.value(rows @ w, targets).sum()) for rows, targets in self.chunks())
        return total + 0.5 * self.strength * float(w @ w) + float(self.linear @ w)

    def gradient(self, w: Array) -> Array:
        total = self.strength * w + self.linear
        for rows, targets in self.chunks():
            total = total + rows.T @ self.loss.slope(rows @ w, targets)
        return np.asarray(total)

    def newton_parts(self, w: Array) -> tuple[float, Array, Array]:
        """Value, gradient and Hessian from one pass."""
        value = 0.5 * self.strength * float(w @ w) + float(self.linear @ w)
        gradient = self.strength * w + self.linear
        hessian = self.strength * np.eye(len(w))
        for rows, targets in self.chunks():
            margins = rows @ w
            value += float(self.loss.value(margins, targets).sum())
            gradient = gradient + rows.T @ self.loss.slope(margins, targets)
            hessian += weighted_gram(rows, self.loss.curvature(margins, targets))
        return value, np.asarray(gradient), hessian


def weighted_gram(rows: Any, weights: Array) -> Array:
    """sum of weights x x^T, for an array or a CSR matrix."""
    if getattr(rows, "format", None) == "csr":
        scaled = rows.copy()
        scaled.data = scaled.data * np.repeat(weights, np.diff(rows.indptr))
        return np.asarray((rows.T @ scaled).toarray())
    root = rows * np.sqrt(np.maximum(weights, 0.0))[:, None]
    return np.asarray(root.T @ root)


def minimiser(objective: Objective, tolerance: float) -> Array:
    """A point where the gradient is no longer than `tolerance`, in exact arithmetic on the floats that rows are.

    Where that cannot be certified, nothing is returned: a point further off would not be what was paid for. Noise is
    drawn before and never again.
    """
    w = np.zeros(len(objective.linear))
    for _ in range(_STEPS):
        value, gradient, step = _step(objective, w)
        if float(np.linalg.norm(gradient)) <= tolerance / 4.0 and certified(objective, w) <= tolerance:
            return w
        moved = _damped(objective, w, value, gradient, step)
        if np.array_equal(moved, w):
            break
        w = moved
    if certified(objective, w) <= tolerance:
        return w
    raise ReleaseFailed(
        "the minimum was not found to the precision that the guarantee needs, so nothing is released; the charge stays. "
        "Give a larger tolerance= to the solver"
    )


def _step(objective: Objective, w: Array) -> tuple[float, Array, Array]:
    if len(w) > _DIRECT:
        return _conjugate_step(objective, w)
    value, gradient, hessian = objective.newton_parts(w)
    return value, gradient, np.linalg.solve(hessian, -gradient)


def _conjugate_step(objective: Objective, w: Array) -> tuple[float, Array, Array]:
    """The Newton step by conjugate gradients: Hessians of many columns are multiplied, not built."""
    from scipy.sparse.linalg import LinearOperator, cg

    weights = [objective.loss.curvature(rows @ w, targets) for rows, targets in objective.chunks()]

    def times(v: Array) -> Array:
        total = objective.strength * v
        for (rows, _), each in zip(objective.chunks(), weights, strict=True):
            total = total + rows.T @ (each * (rows @ v))
        return np.asarray(total)

    gradient = objective.gradient(w)
    size = len(w)
    rest = min(0.1, float(np.linalg.norm(gradient)) ** 0.5)
    step, _ = cg(
        LinearOperator((size, size), matvec=times, dtype=np.float64), -gradient, rtol=min(rest, 1e-3), atol=0.0
    )
    return objective.value(w), gradient, np.asarray(step)


def _damped(objective: Objective, w: Array, value: float, gradient: Array, step: Array) -> Array:
    """The longest of step, step/2, ... that lowers the objective enough; close to the minimum, where values are equal in
    floats, the one that shortens the gradient."""
    slope, size, length = float(gradient @ step), 1.0, float(np.linalg.norm(gradient))
    for _ in range(_HALVINGS):
        moved = w + size * step
        below = objective.value(moved) - value
        if below <= 1e-4 * size * slope:
            return moved
        if abs(below) <= 1e-12 * (1.0 + abs(value)) and float(np.linalg.norm(objective.gradient(moved))) < length:
            return moved
        size /= 2.0
    return w


def certified(objective: Objective, w: Array) -> float:
    """An upper bound on the length of the exact gradient at w: the computed one, and all that rounding can have done."""
    loss, size, length = objective.loss, len(w), float(np.linalg.norm(w))
    total, slopes, records = np.zeros(size, dtype=np.longdouble), 0.0, 0
    for rows, targets in objective.chunks():
        computed = loss.slope(rows @ w, targets)
        slopes, records = slopes + float(np.abs(computed).sum()), records + len(targets)
        for start in range(0, len(targets), _TILE):
            piece = slice(start, start + _TILE)
            total += rows[piece].T @ computed[piece]
    total += objective.strength * w.astype(np.longdouble) + objective.linear
    # a margin is off by size |w| units, its distance from the target by a few more, hence a slope by smoothness times
    # that, and by a few units of its own
    each = loss.smoothness * (1.01 * size * length + 4.0) + 16.0 * loss.lipschitz
    tiles = (_TILE + 2.0) * 1.01 * slopes
    sums = (records / _TILE + 4.0) * float(np.finfo(np.longdouble).eps) / _UNIT * slopes
    rest = 8.0 * (objective.strength * length + float(np.linalg.norm(objective.linear)) + slopes * 2.0**-10)
    return float(np.linalg.norm(total.astype(np.float64))) * (1.0 + 1e-12) + _UNIT * (
        records * each + tiles + sums + rest
    )

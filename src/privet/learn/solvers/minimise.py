"""The minimum of a regularised objective by damped Newton steps, with a certificate that holds in exact arithmetic."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from privet._numerics import Array
from privet.errors import ReleaseFailed
from privet.learn.losses import Loss
from privet.learn.problem import Chunk
from privet.learn.problem.array_records import dense
from privet.learn.problem.task import UnitPasses

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

    def added(self, part: Callable[[Iterator[Chunk]], Any]) -> Any:
        """A sum over the unit rows, wherever they lie. What is sent there holds nothing private."""
        passes = self.chunks
        return passes.exact_added(part) if isinstance(passes, UnitPasses) else part(passes())

    def value(self, w: Array) -> float:
        loss = self.loss
        return float(self.added(lambda chunks: _value(chunks, loss, w))) + self._rest(w)

    def gradient(self, w: Array) -> Array:
        loss = self.loss
        return np.asarray(self.strength * w + self.linear + self.added(lambda chunks: _gradient(chunks, loss, w)))

    def newton_parts(self, w: Array) -> tuple[float, Array, Array]:
        """Value, gradient and Hessian from one pass."""
        loss = self.loss
        value, gradient, hessian = self.added(lambda chunks: _newton_parts(chunks, loss, w))
        return (
            float(value) + self._rest(w),
            np.asarray(self.strength * w + self.linear + gradient),
            self.strength * np.eye(len(w)) + hessian,
        )

    def _rest(self, w: Array) -> float:
        return 0.5 * self.strength * float(w @ w) + float(self.linear @ w)


def _value(chunks: Iterator[Chunk], loss: Loss, w: Array) -> float:
    return float(sum(float(loss.value(rows @ w, targets).sum()) for rows, targets in chunks))


def _gradient(chunks: Iterator[Chunk], loss: Loss, w: Array) -> Array:
    total = np.zeros(len(w))
    for rows, targets in chunks:
        total = total + rows.T @ loss.slope(rows @ w, targets)
    return np.asarray(total)


def _newton_parts(chunks: Iterator[Chunk], loss: Loss, w: Array) -> tuple[float, Array, Array]:
    value, gradient, hessian = 0.0, np.zeros(len(w)), np.zeros((len(w), len(w)))
    for rows, targets in chunks:
        margins = rows @ w
        value += float(loss.value(margins, targets).sum())
        gradient = gradient + rows.T @ loss.slope(margins, targets)
        hessian += weighted_gram(rows, loss.curvature(margins, targets))
    return value, np.asarray(gradient), hessian


def _hessian_times(chunks: Iterator[Chunk], loss: Loss, w: Array, v: Array) -> Array:
    total = np.zeros(len(w))
    for rows, targets in chunks:
        total = total + rows.T @ (loss.curvature(rows @ w, targets) * (rows @ v))
    return np.asarray(total)


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
        if float(np.linalg.norm(gradient)) <= tolerance / 4.0 and _is_close(objective, w, tolerance):
            return w
        moved = _damped(objective, w, value, gradient, step)
        if np.array_equal(moved, w):
            break
        w = moved
    if _is_close(objective, w, tolerance):
        return w
    raise ReleaseFailed(
        "the minimum was not found to the precision that the guarantee needs, so nothing is released; the charge stays. "
        "Give a larger tolerance= to the solver"
    )


def _is_close(objective: Objective, w: Array, tolerance: float) -> bool:
    return certified(objective, w) <= tolerance or certified(objective, w, wide=True) <= tolerance


def _step(objective: Objective, w: Array) -> tuple[float, Array, Array]:
    if len(w) > _DIRECT:
        return _conjugate_step(objective, w)
    value, gradient, hessian = objective.newton_parts(w)
    return value, gradient, np.linalg.solve(hessian, -gradient)


def _conjugate_step(objective: Objective, w: Array) -> tuple[float, Array, Array]:
    """The Newton step by conjugate gradients: Hessians of many columns are multiplied, not built."""
    from scipy.sparse.linalg import LinearOperator, cg

    loss = objective.loss

    def times(v: Array) -> Array:
        return np.asarray(objective.strength * v + objective.added(lambda chunks: _hessian_times(chunks, loss, w, v)))

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


def certified(objective: Objective, w: Array, *, wide: bool = False) -> float:
    """An upper bound on the length of the exact gradient at w: the computed one, and all that rounding can have done.

    `wide` takes margins in long doubles too, for many records: slower, and about 500 times sharper.
    """
    loss, size, length = objective.loss, len(w), float(np.linalg.norm(w))
    total, slopes, records, added = objective.added(lambda chunks: _in_long_doubles(chunks, loss, w, wide))
    total = total + objective.strength * w.astype(np.longdouble) + objective.linear
    # a margin is off by size |w| units, and by one more when it is rounded to a double; hence a slope by smoothness
    # times that, and by a few units of its own
    longer = float(np.finfo(np.longdouble).eps) / _UNIT
    unit = longer if wide else 1.0
    each = loss.smoothness * 1.01 * (size * unit + 1.0) * length + 16.0 * loss.lipschitz
    tiles = (_TILE + 2.0) * 1.01 * unit * slopes
    sums = (added + 4.0) * longer * slopes
    rest = 8.0 * (objective.strength * length + float(np.linalg.norm(objective.linear)) + slopes * 2.0**-10)
    found = float(np.linalg.norm(total.astype(np.float64))) * (1.0 + 1e-12)
    return found + _UNIT * (records * each + tiles + sums + rest)


def _in_long_doubles(chunks: Iterator[Chunk], loss: Loss, w: Array, wide: bool) -> tuple[Array, float, int, int]:
    """The gradient of the losses, the sum of the lengths of slopes, and the numbers of records and of additions."""
    total, slopes, records, added = np.zeros(len(w), dtype=np.longdouble), 0.0, 0, 1  # one for the sum over pieces
    for rows, targets in chunks:
        for start in range(0, len(targets), _TILE):
            piece = slice(start, start + _TILE)
            tile = dense(rows[piece]).astype(np.longdouble) if wide else rows[piece]
            computed = loss.slope(np.asarray(tile @ w, dtype=np.float64), targets[piece])
            slopes, records, added = slopes + float(np.abs(computed).sum()), records + len(computed), added + 1
            total += tile.T @ computed
    return total, slopes, records, added

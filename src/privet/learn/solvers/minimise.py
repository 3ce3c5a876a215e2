"""The minimum of a regularised objective by damped Newton steps, with a certificate that holds in exact arithmetic.

Steps in doubles come near; where doubles cannot certify the point, or got stuck, steps on exact sums follow, whose
certificate no number of records can spoil.
"""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from privet._numerics import Array
from privet.errors import ReleaseFailed
from privet.learn.losses import Loss
from privet.learn.problem import Chunk
from privet.learn.problem.array_records import dense
from privet.learn.problem.task import UnitPasses
from privet.learn.solvers.exact_gradient import Place, exact_gradient

_TILE = 1_024  # rows that are added up in any order, in the cache of a processor; their sums are added in long doubles
_WIDTH = 16  # numbers in the widest vectors of a processor
_UNIT = 2.0**-53  # the relative error of one rounding
_STEPS = 100  # of Newton: ten are usual. A point that is not reached has a larger certificate
_HALVINGS = 40  # of a step: 2^-40 of it moves nothing worth the time
_SURE_STEPS = 1_000  # of steps on exact sums: a few suffice
_BISECTIONS = 60  # of an interval of doubles: more than their bits
_DIRECT = 1_000  # columns: up to here Hessians are built and solved
_THIN = 8  # one record in so many is enough to come near the minimum
_ENOUGH = 20  # records a column for that: speed only, as the minimum is certified afterwards
_FAST = 0.2  # a step that shortens the gradient so much is followed by another one with the same Hessian
_SINGLE: Any = np.float32
_DOUBLE: Any = np.float64

Chunks = Callable[[], Iterator[Chunk]]
Inverse = Callable[[Array], Array]  # divides by a Hessian


class Point(NamedTuple):
    """A point, the gradient of an objective there as computed, a bound on the length of the exact one, and how many
    records there are."""

    w: Array
    gradient: Array
    bound: float
    records: int

    @property
    def length(self) -> float:
        return float(np.linalg.norm(self.gradient))


class SurePoint(NamedTuple):
    """A point, the gradient of an objective there, and how far that can be off."""

    at: Place
    gradient: Array
    miss: float

    @property
    def bound(self) -> float:
        """No less than the length of the exact gradient."""
        return float(np.linalg.norm(self.gradient)) * (1.0 + 1e-12) + self.miss


class Objective(NamedTuple):
    """sum psi(x.w; y) + (strength/2)|w|^2 + linear.w over unit rows: over one in `every`, in each of the chunks."""

    chunks: Chunks
    loss: Loss
    strength: float
    linear: Array
    every: int = 1

    def added(self, part: Callable[[Iterator[Chunk]], Any]) -> Any:
        """A sum over the unit rows, wherever they lie. What is sent there holds nothing private."""
        passes, every = self.chunks, self.every
        if isinstance(passes, UnitPasses):
            return passes.exact_added(lambda chunks: part(_thinned(chunks, every)))
        return part(_thinned(passes(), every))

    def point(self, w: Array) -> Point:
        """The gradient at w, in doubles."""
        loss = self.loss
        total, slopes, records, added = self.added(lambda chunks: _in_long_doubles(chunks, loss, w))
        total = total + self.strength * w.astype(np.longdouble) + self.linear
        gradient = total.astype(np.float64)
        found = float(np.linalg.norm(gradient)) * (1.0 + 1e-12)
        return Point(w, gradient, found + self._rounding(w, slopes, records, added), records)

    def exact_point(self, at: Place, tolerance: float) -> "SurePoint":
        """The gradient at a point from exact sums; slopes are pairs of doubles where doubles may be too far off."""
        for wide in (False, True):
            gradient, miss = exact_gradient(self.added, self.loss, self.strength, self.linear, at, wide=wide)
            if miss <= tolerance / 4.0:
                break
        return SurePoint(at, gradient, miss)

    def value(self, w: Array) -> float:
        loss = self.loss
        total = float(self.added(lambda chunks: _value(chunks, loss, w)))
        return total + 0.5 * self.strength * float(w @ w) + float(self.linear @ w)

    def _rounding(self, w: Array, slopes: float, records: int, added: int) -> float:
        """All that rounding can have done to a gradient."""
        loss, size, length = self.loss, len(w) // self.loss.outputs, float(np.linalg.norm(w))
        own = 16.0 if loss.outputs == 1 else 16.0 + 2.0 * loss.outputs  # shares are divided by a sum over classes
        # a margin is off by size |w| units, and by one more when it is rounded to a double; hence a slope by smoothness
        # times that, and by a few units of its own; of several margins the lengths say the same
        longer = float(np.finfo(np.longdouble).eps) / _UNIT
        each = loss.smoothness * 1.01 * (size + 1.0) * length + own * loss.lipschitz
        tiles = (_TILE + 2.0) * 1.01 * slopes
        sums = (added + 4.0) * longer * slopes
        rest = 8.0 * (self.strength * length + float(np.linalg.norm(self.linear)) + slopes * 2.0**-10)
        return _UNIT * (records * each + tiles + sums + rest)

    def hessian(self, w: Array, kind: object = _DOUBLE) -> Array:
        """From products of floats of that kind."""
        loss = self.loss
        made = _hessian if loss.outputs == 1 else _hessian_of_classes
        return np.asarray(self.strength * np.eye(len(w)) + self.added(lambda chunks: made(chunks, loss, w, kind)))

    def hessian_times(self, w: Array, v: Array) -> Array:
        loss = self.loss
        return np.asarray(self.strength * v + self.added(lambda chunks: _hessian_times(chunks, loss, w, v)))

    def thin(self) -> "Objective":
        """About the same objective, divided by _THIN, for one in _THIN of the records: in memory where they are."""
        chunks, every = self.chunks, self.every * _THIN
        if not isinstance(chunks, UnitPasses):
            held = list(_thinned(chunks(), _THIN))
            chunks, every = lambda: iter(held), 1
        return Objective(chunks, self.loss, self.strength / _THIN, self.linear / _THIN, every)


def _thinned(chunks: Iterator[Chunk], every: int) -> Iterator[Chunk]:
    if every == 1:
        return chunks
    return (Chunk(rows[::every].copy(), targets[::every].copy()) for rows, targets, _ in chunks)


def _tiles(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    for rows, targets, _ in chunks:
        for start in range(0, len(targets), _TILE):
            yield Chunk(rows[start : start + _TILE], targets[start : start + _TILE])


def _in_long_doubles(chunks: Iterator[Chunk], loss: Loss, w: Array) -> tuple[Array, float, int, int]:
    """The gradient of the losses, a sum that is no less than that of the lengths of slopes, and the numbers of records and
    of additions."""
    total, slopes, records, added = np.zeros(len(w), dtype=np.longdouble), 0.0, 0, 1  # one for the sum over pieces
    for rows, targets, _ in _tiles(chunks):
        computed = loss.slope(_margins(rows, loss, w), targets)
        slopes, records, added = slopes + float(np.abs(computed).sum()), records + len(computed), added + 1
        total += (rows.T @ computed).T.ravel()
    return total, slopes, records, added


def _margins(rows: object, loss: Loss, w: Array) -> Array:
    """One margin a row, or one for each class: then `w` holds their weights one class after another."""
    return np.asarray(rows @ (w if loss.outputs == 1 else w.reshape(loss.outputs, -1).T))


def _value(chunks: Iterator[Chunk], loss: Loss, w: Array) -> float:
    return float(sum(float(loss.value(_margins(rows, loss, w), targets).sum()) for rows, targets, _ in chunks))


def _hessian(chunks: Iterator[Chunk], loss: Loss, w: Array, kind: Any) -> Array:
    size, total = len(w), np.zeros((len(w), len(w)))
    room = np.zeros((_TILE, -(-size // _WIDTH) * _WIDTH), dtype=kind)  # columns of zeros: rows begin where vectors do
    for rows, targets, _ in _tiles(chunks):
        roots = np.sqrt(np.maximum(loss.curvature(np.asarray(rows @ w), targets), 0.0))[:, None]
        if isinstance(rows, np.ndarray):
            tile = room[: len(targets)]
            np.multiply(rows, roots, out=tile[:, :size], casting="same_kind")
            total += (tile.T @ tile)[:size, :size]
        else:
            tile = rows.multiply(roots).tocsr()
            total += (tile.T @ tile).toarray()
    return total


def _hessian_of_classes(chunks: Iterator[Chunk], loss: Loss, w: Array, kind: Any) -> Array:
    """Block by block: a Gram matrix with weights for each pair of classes."""
    classes, columns = loss.outputs, len(w) // loss.outputs
    total = np.zeros((classes, columns, classes, columns))
    for rows, targets, _ in _tiles(chunks):
        margins, tile = _margins(rows, loss, w), dense(rows).astype(kind)
        for one in range(classes):
            weights = loss.bent(margins, targets, np.eye(classes)[one]).astype(kind)
            for other in range(one + 1):
                total[one, :, other, :] += tile.T @ (tile * weights[:, other, None])
    for one in range(classes):
        for other in range(one):
            total[other, :, one, :] = total[one, :, other, :].T
    return total.reshape(len(w), len(w))


def _hessian_times(chunks: Iterator[Chunk], loss: Loss, w: Array, v: Array) -> Array:
    total = np.zeros(len(w))
    for rows, targets, _ in _tiles(chunks):
        bent = loss.bent(_margins(rows, loss, w), targets, _margins(rows, loss, v))
        total = total + (rows.T @ bent).T.ravel()
    return np.asarray(total)


def minimiser(objective: Objective, tolerance: float) -> Array | list[Fraction]:
    """A point where the gradient is no longer than `tolerance`, in exact arithmetic on the floats that rows are: as
    fractions where no doubles are near enough.

    Noise is drawn before and never again. Whatever the records are, there is such a point and it is found: that must not
    depend on them (docs/proofs/learn/objective_fit.md).
    """

    def done(at: Point) -> bool:  # a computed gradient may be short long before doubles can certify it
        return at.bound <= tolerance or at.length <= tolerance / 8.0

    with np.errstate(all="ignore"):  # a warning would tell about values
        w, inverse = _rough(objective)
        found = _descent(objective, w, inverse, done, _DOUBLE)[0]
        if found.bound <= tolerance:
            return found.w
        return _certain(objective, found.w, tolerance)


def _certain(objective: Objective, w: Array, tolerance: float) -> list[Fraction]:
    """The minimum by steps on exact sums, from wherever steps in doubles came to."""
    start = w if np.isfinite(w).all() else np.zeros(len(w))
    here = objective.exact_point(Place.of(start, np.zeros(len(w))), tolerance)
    for _ in range(_SURE_STEPS):
        if here.bound <= tolerance:
            return [
                sum(map(Fraction, each), Fraction(0))
                for each in zip(*map(np.ndarray.tolist, here.at.parts), strict=True)
            ]
        here = _onwards(objective, here, tolerance)
    raise ReleaseFailed(
        "the minimum was not found to the precision that the guarantee needs, so nothing is released; the charge stays. "
        "Give a larger tolerance= to the solver"
    )


def _onwards(objective: Objective, here: SurePoint, tolerance: float) -> SurePoint:
    """Along the Newton step: all of it where that halves the gradient or still leads downhill, else to about where it
    begins to lead uphill, which signs of slopes tell, as no comparison of rounded values could."""
    step = -_sure_inverse(objective, here.at.rounded)(here.gradient)
    first = float(here.gradient @ step)
    moved = objective.exact_point(here.at.moved(step), tolerance)
    if moved.bound <= 0.5 * here.bound or float(moved.gradient @ step) <= 0.0:
        return moved
    low, high, best = 0.0, 1.0, here
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        moved = objective.exact_point(here.at.moved(middle * step), tolerance)
        slope = float(moved.gradient @ step)
        if slope > 0.0:
            high = middle
            continue
        low, best = middle, moved
        if slope >= 0.5 * first:
            break
    return best


def _sure_inverse(objective: Objective, w: Array) -> Inverse:
    """Division by a Hessian none of whose eigenvalues rounding has made smaller than the regulariser allows."""
    if len(w) > _DIRECT:
        return lambda gradient: _conjugate(objective, w, gradient, 1e-8)
    values, turn = np.linalg.eigh(objective.hessian(w))
    values = np.maximum(values, objective.strength)
    return lambda gradient: np.asarray(turn @ ((turn.T @ gradient) / values))


def _rough(objective: Objective, records: float = math.inf) -> tuple[Array, Inverse | None]:
    """About the minimum, and what divides by about the Hessian there: those for one record in eight, if they are many,
    found in the same way. Of each chunk one record is left at least, so that the records, of whom there are `records`, get
    fewer only for a while."""
    size = len(objective.linear)
    if size > _DIRECT:
        return np.zeros(size), None
    thin = objective.thin()
    left = int(thin.added(_count))
    if left < _ENOUGH * size or 2 * left > records:
        return np.zeros(size), None

    def done(at: Point) -> bool:  # what the other records say is farther off
        return at.length <= 0.1 * thin.loss.lipschitz * at.records**0.5

    at, inverse = _descent(thin, *_rough(thin, left), done, _SINGLE)
    return at.w, None if inverse is None else partial(_thick, inverse)


def _thick(inverse: Inverse, gradient: Array) -> Array:
    """The function that divides by the Hessian of all records, from the one that divides by that of one in eight."""
    return np.asarray(inverse(gradient) / _THIN)


def _count(chunks: Iterator[Chunk]) -> int:
    return sum(len(chunk.targets) for chunk in chunks)


def _descent(
    objective: Objective, w: Array, inverse: Inverse | None, done: Callable[[Point], bool], finest: object
) -> tuple[Point, Inverse | None]:
    """From w to a point that is `done`, or to where no step leads on; and the last Hessian, as what divides by it.

    A Hessian serves as long as its steps shorten the gradient well, corrected by what gradients have shown since. The
    first one is of single precision, others are of the `finest`.
    """
    at, seen, kind = objective.point(w), list[tuple[Array, Array]](), _SINGLE
    shortest = at.length
    for _ in range(_STEPS):
        if done(at):
            break
        last = inverse is None and kind is finest
        if inverse is None:
            inverse, seen, kind = _inverse(objective, at.w, kind), [], finest
        shortest = min(shortest, at.length)
        moved = _damped(objective, at, -_corrected(inverse, seen, at.gradient), _HALVINGS if last else 1, shortest)
        if last and moved is at:
            break
        seen.append((moved.w - at.w, moved.gradient - at.gradient))
        inverse = inverse if moved.length <= _FAST * at.length and len(w) <= _DIRECT else None
        at = moved
    return at, inverse


def _inverse(objective: Objective, w: Array, kind: object) -> Inverse:
    if len(w) > _DIRECT:
        return lambda gradient: _conjugate(objective, w, gradient)
    try:
        made = np.linalg.inv(objective.hessian(w, kind))
    except np.linalg.LinAlgError:
        return _sure_inverse(objective, w)
    return lambda gradient: np.asarray(made @ gradient)


def _conjugate(objective: Objective, w: Array, gradient: Array, most: float = 1e-3) -> Array:
    """By conjugate gradients: Hessians of many columns are multiplied, not built."""
    from scipy.sparse.linalg import LinearOperator, cg

    size, rest = len(w), min(most, float(np.linalg.norm(gradient)) ** 0.5)
    hessian = LinearOperator((size, size), matvec=lambda v: objective.hessian_times(w, v), dtype=np.float64)
    return np.asarray(cg(hessian, gradient, rtol=rest, atol=0.0)[0])


def _corrected(inverse: Inverse, seen: list[tuple[Array, Array]], gradient: Array) -> Array:
    """The Newton step for a Hessian that agrees with the steps and changes of gradients that were seen (L-BFGS)."""
    shares = []
    seen = [(step, change) for step, change in seen if float(step @ change) > 0.0]  # as exact ones would be
    for step, change in reversed(seen):
        shares.append(float(step @ gradient) / float(step @ change))
        gradient = gradient - shares[-1] * change
    made = inverse(gradient)
    for step, change in seen:
        made = made + (shares.pop() - float(change @ made) / float(step @ change)) * step
    return made


def _damped(objective: Objective, at: Point, step: Array, halvings: int, shortest: float) -> Point:
    """The first of the points at step, step/2, ... that halves the `shortest` gradient so far or lowers the objective
    enough; close to the minimum, where values are equal in floats, the one that shortens the gradient. Where there is
    none: the same point. To halve the last gradient alone is not enough: that may lead uphill, to where the next step
    leads back from, and two points would take turns for ever. The shortest one is halved a few times at most.
    """
    slope, size, value = float(at.gradient @ step), 1.0, None
    for _ in range(halvings):
        moved = objective.point(at.w + size * step)
        if moved.length <= 0.5 * shortest:
            return moved
        value = objective.value(at.w) if value is None else value
        below = objective.value(moved.w) - value
        if below <= 1e-4 * size * slope:
            return moved
        if abs(below) <= 1e-12 * (1.0 + abs(value)) and moved.length < at.length:
            return moved
        size /= 2.0
    return at


def certified(objective: Objective, w: Array) -> float:
    """An upper bound on the length of the exact gradient at w: the computed one, and all that rounding can have done."""
    return objective.point(w).bound

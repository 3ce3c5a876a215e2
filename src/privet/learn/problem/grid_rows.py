"""Unit rows on a grid: sums of clipped gradients that are exact, in whatever order they are added up."""

import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple, final

import numpy as np

from privet._numerics import Array
from privet.learn.losses import Loss
from privet.learn.problem.person_sums import LARGEST, clipped_sums, sums_of_persons
from privet.learn.problem.records import Records
from privet.learn.problem.task import Task
from privet.mechanisms import Sensitivity
from privet.mechanisms.vectors import row_reach
from privet.noise import Grid
from privet.privacy import Unit

ROWS = Grid(-20)  # what a coordinate of a unit row is rounded to, towards zero
_FINE = 18  # a coefficient is rounded to 2^-18 of the clipping norm, towards zero
_TILE = 512  # rows that one product adds up: at most 2^39 steps each, so doubles hold every partial sum
_SPARSE_TILE = 2**13  # the same for CSR rows, which need no copy
_FLUSH = 512  # tiles whose sums int64 surely holds
_MOST = 2**62  # where a sum stops, beyond all sums of data that fit a machine: int64 has room above it
_HELD = 2**28  # entries that are kept as floats of 32 bits; more are read again for every sum
_LONGEST = 2.0**300  # weights beyond it count as that
_BELOW = 1.0 - 2.0**-40  # so that a clipped row is not longer than its clip after rounding


class _Piece(NamedTuple):
    """Some unit rows on the grid, their exact lengths (rounded once), their targets, and the numbers of their persons."""

    rows: Any
    lengths: Array
    targets: Array
    persons: Array | None = None


@final
class GridRows:
    """Private records as unit rows on a grid, for sums over them that are exact.

    A coordinate is a whole number of 2^-20, a coefficient (a clipped slope) one of about 2^-18 of the clipping norm. So
    products are whole numbers of steps, and so is every partial sum of a tile: below 2^53 of them, doubles add without
    rounding, in whatever order and with whatever instructions a matrix product does it. What one record adds is a
    function of that record and the weights alone, never longer than the clipping norm.

    **Sensitivity:** of `gradient`, in its steps: `gradient_reach`; of `gram`: `gram_reach`.
    **Proof:** docs/proofs/learn/grid_rows.md.
    """

    __slots__ = ("_held", "_records", "_task")

    def __init__(self, task: Task, records: Records) -> None:
        self._task, self._records = task, records
        self._held: list[_Piece] | None = None
        pieces, held = [], 0
        if not records.kept:
            return
        for piece in _read(task, records):
            held += piece.rows.nnz if _is_csr(piece.rows) else piece.rows.size
            if held > _HELD:
                return
            pieces.append(piece)
        self._held = pieces

    def _pieces(self) -> Iterator[_Piece]:
        return _read(self._task, self._records) if self._held is None else iter(self._held)

    def _added(self, part: Callable[[Iterator[_Piece]], Any]) -> Any:
        """A sum over the records, wherever they lie. What is sent there holds nothing private."""
        if self._held is not None:
            return part(iter(self._held))
        task = self._task
        return self._records.exact_added(lambda records: part(_read(task, records)))

    def exact_count(self) -> int:
        """The number of records: not releasable where they can be added or removed."""
        return int(self._added(_count))

    def picked(self, places: Array) -> "GridRows":
        """The records at these places, in order."""
        made = GridRows.__new__(GridRows)
        made._task, made._records, start, held = self._task, self._records, 0, []
        for piece in self._pieces():
            here = places[np.searchsorted(places, start) : np.searchsorted(places, start + len(piece.targets))] - start
            start += len(piece.targets)
            if len(here):
                held.append(_Piece(piece.rows[here], piece.lengths[here], piece.targets[here]))
        made._held = held
        return made

    def gradient(self, loss: Loss, weights: Array, clip_norm: float) -> Array:
        """The exact sum of the clipped gradients at `weights`, in steps of `gradient_grid`: int64, of the shape of
        `weights`; it saturates at 2^62 steps, which moves no two sums apart. Not releasable."""
        w = margin_weights(weights)
        return _saturated(self._added(lambda pieces: _gradient(pieces, loss, w, clip_norm)))

    def person_gradient(self, loss: Loss, weights: Array, clip_norm: float) -> Array:
        """The same, of each person the sum of the gradients of all their records, which is clipped as a whole: one person
        moves it by no more than `clip_norm`, however many records they have. Not releasable."""
        w = margin_weights(weights)
        return _saturated(self._added(lambda pieces: _person_gradient(pieces, loss, w, clip_norm)))

    def exact_persons(self) -> int:
        """The number of persons: not releasable where they can come or go."""
        return int(self._added(_count_persons))

    def gram(self) -> Array:
        """The exact sums of x_i x_j, i <= j, in one vector, 5 times those on the diagonal and 7 times those off it, in
        steps of 2^-32: int64. Not releasable."""
        size = self._task.dimension
        total = self._added(lambda pieces: _gram(pieces, size))
        first, second = np.triu_indices(size)
        return _saturated(total[first, second].astype(object) * np.where(first == second, 5, 7))

    def hessian(self, loss: Loss, weights: Array) -> Array:
        """The sum of c x x^T at `weights`, for a loss of one margin, of entries rounded once: not releasable.

        c is the mean curvature between margin 0 and the margin of the record, (psi'(m) - psi'(0))/m: with it a Newton step
        does not overshoot (for the logistic loss it is the quadratic upper bound). It has 14 digits below the loss's
        `smoothness`, coordinates have 14, so that sums are exact; 0 <= c <= smoothness and |x| <= 1.
        """
        w = margin_weights(weights)
        total = self._added(lambda pieces: _hessian(pieces, loss, w))
        return np.asarray(total.astype(np.float64) * (loss.smoothness * 2.0**-42))


def _read(task: Task, records: Records) -> Iterator[_Piece]:
    for chunk in task.unit_chunks(records):
        made = _on_grid(chunk.rows, np.asarray(chunk.targets, dtype=np.float64))
        yield made._replace(persons=chunk.persons)


def _count(pieces: Iterator[_Piece]) -> int:
    return sum(len(piece.targets) for piece in pieces)


def _gradient(pieces: Iterator[_Piece], loss: Loss, w: Array, clip_norm: float) -> Array:
    exponent = coefficient_grid(clip_norm).exponent
    total = _Total(w.shape, 2.0**20, together=_SPARSE_TILE)
    capped = (piece._replace(lengths=_caps(piece.lengths, clip_norm)) for piece in pieces)
    for rows, caps, targets, _ in _tiles(capped):
        steps = _clipped(loss.slope(rows @ w.T, targets), caps, exponent)
        total.add(np.asarray((rows.T @ steps).T) if _is_csr(rows) else steps.T @ rows, len(targets))
    return total.exact()


def _count_persons(pieces: Iterator[_Piece]) -> int:
    numbers = (np.asarray(piece.persons) for piece in pieces)
    return sum(len(sums) for sums in sums_of_persons((each, np.ones((len(each), 1), np.int64)) for each in numbers))


def _person_gradient(pieces: Iterator[_Piece], loss: Loss, w: Array, clip_norm: float) -> Array:
    exponent, total = coefficient_grid(clip_norm).exponent, np.zeros(w.size, dtype=object)
    longest = math.ldexp(clip_norm, 20 - exponent)
    for sums in sums_of_persons(_steps_of_records(pieces, loss, w, exponent)):
        total = total + clipped_sums(sums, longest).sum(axis=0)
    return total.reshape(w.shape)


def _steps_of_records(pieces: Iterator[_Piece], loss: Loss, w: Array, exponent: int) -> Iterator[tuple[Array, Array]]:
    """Whose each record is, and its gradient in whole steps of slope and row: so sums over a person are exact."""
    for piece in pieces:
        for start in range(0, len(piece.targets), _TILE):
            here = slice(start, start + _TILE)
            rows = np.asarray(piece.rows[here], dtype=np.float64)
            slopes = np.ldexp(loss.slope(rows @ w.T, piece.targets[here]), -exponent).reshape(len(rows), -1)
            steps = np.clip(np.trunc(slopes), -LARGEST / 2.0**20, LARGEST / 2.0**20).astype(np.int64)
            whole = (rows * 2.0**20).astype(np.int64)
            yield np.asarray(piece.persons)[here], (steps[:, :, None] * whole[:, None, :]).reshape(len(rows), -1)


def _gram(pieces: Iterator[_Piece], size: int) -> Array:
    total = _Total((size, size))
    for rows, _, targets, _ in _tiles(pieces):
        whole = np.trunc((rows.toarray() if _is_csr(rows) else rows) * 2.0**16)
        total.add(whole.T @ whole, len(targets))
    return total.exact()


def _hessian(pieces: Iterator[_Piece], loss: Loss, w: Array) -> Array:
    total = _Total((len(w), len(w)))
    for rows, _, targets, _ in _tiles(pieces, _TILE):
        margins = np.asarray(rows @ w)
        apart = np.where(np.abs(margins) > 1e-3, margins, 1e-3)
        means = (loss.slope(apart, targets) - loss.slope(np.zeros_like(apart), targets)) / apart
        curves = np.clip(means / loss.smoothness, 0.0, 1.0)
        whole = np.trunc((rows.toarray() if _is_csr(rows) else rows) * 2.0**14)
        total.add((np.trunc(curves * 2.0**14)[:, None] * whole).T @ whole, len(targets))
    return total.exact()


def _saturated(total: Array) -> Array:
    return np.asarray(np.clip(total, -_MOST, _MOST).astype(np.int64))


def gradient_grid(clip_norm: float) -> Grid:
    """The grid of `GridRows.gradient`.

    >>> gradient_grid(1.0)
    Grid(exponent=-38)
    """
    return Grid(coefficient_grid(clip_norm).exponent + ROWS.exponent)


def coefficient_grid(clip_norm: float) -> Grid:
    """The grid of clipped slopes.

    >>> coefficient_grid(0.5)
    Grid(exponent=-19)
    """
    return Grid.finer_than(clip_norm, _FINE)


def gradient_reach(clip_norm: float, unit: Unit) -> Sensitivity:
    """The distance by which the sum of clipped gradients moves between neighbours, in steps of its grid.

    >>> float(gradient_reach(1.0, Unit("replace"))) == 2.0**39
    True
    """
    return row_reach(clip_norm, unit, 1).times(1 / gradient_grid(clip_norm).step)


def gram_reach(unit: Unit) -> Sensitivity:
    """The distance by which `GridRows.gram` moves between neighbours, in its steps of 2^-32: 5 where a record comes or
    goes, and 5 sqrt(2), not 10, where one is exchanged.

    >>> float(gram_reach(Unit())) == 5.0 * 2.0**32
    True
    """
    ends = Fraction(1) if unit.relation == "add_remove" else Fraction(math.nextafter(math.sqrt(2.0), 2.0))
    return Sensitivity(5 * ends * unit.group_size * 2**32, norm="l2", unit=unit)


def gram_matrix(noisy: Array, size: int) -> Array:
    """The symmetric matrix that a noisy `GridRows.gram` stands for.

    >>> gram_matrix(np.array([5.0, 7.0, 10.0]) * 2.0**32, 2).tolist()
    [[1.0, 1.0], [1.0, 2.0]]
    """
    first, second = np.triu_indices(size)
    made = np.zeros((size, size))
    made[first, second] = noisy / np.where(first == second, 5.0, 7.0) * 2.0**-32
    return np.asarray(made + np.triu(made, 1).T)


def margin_weights(weights: Array) -> Array:
    """Weights with so few digits that the margin x.w of a row on the grid is exact in doubles, in whatever order its
    terms are added: none of its partial sums is larger than |w|.

    >>> (margin_weights(np.array([0.75, 0.1])) * 2.0**31).tolist()
    [1610612736.0, 214748364.0]
    """
    w = np.clip(np.nan_to_num(np.asarray(weights, dtype=np.float64)), -_LONGEST, _LONGEST)
    length = float(np.sqrt((w * w).sum()))
    if length < 1.0 / _LONGEST:
        return np.zeros_like(w)
    digits = 31 - math.frexp(length)[1]
    return np.asarray(np.ldexp(np.trunc(np.ldexp(w, digits)), -digits))


class _Total:
    """A sum of numbers that are whole when multiplied by `scale`, exact: doubles for at most `together` rows, int64 for a
    while, then Python's integers."""

    def __init__(self, shape: tuple[int, ...], scale: float = 1.0, together: int = 0) -> None:
        self._part, self._scale, self._rows, self._together = np.zeros(shape), scale, 0, together
        self._low, self._added = np.zeros(shape, dtype=np.int64), 0
        self._high: Array | None = None

    def add(self, values: Array, rows: int) -> None:
        if self._rows + rows > self._together:
            self._move()
        self._part += values
        self._rows += rows

    def _move(self) -> None:
        """From doubles to whole numbers."""
        self._low += (self._part * self._scale).astype(np.int64)
        self._part[...], self._rows = 0.0, 0
        self._added += 1
        if self._added == _FLUSH:
            self._high, self._low, self._added = self._wide(), np.zeros_like(self._low), 0

    def _wide(self) -> Array:
        return self._low.astype(object) if self._high is None else np.asarray(self._high + self._low)

    def exact(self) -> Array:
        """int64 where that holds it."""
        self._move()
        return self._low if self._high is None else self._wide()


def _is_csr(rows: object) -> bool:
    return getattr(rows, "format", None) == "csr"


def _on_grid(rows: Any, targets: Array) -> _Piece:
    """Towards zero: a row gets no longer. Squares are whole numbers of 2^-40, so lengths are rounded once, by the root."""
    if _is_csr(rows):
        made = rows.copy()
        made.data = np.trunc(made.data * 2.0**20) * 2.0**-20
        owners = np.repeat(np.arange(made.shape[0]), np.diff(made.indptr))
        squares = np.bincount(owners, weights=made.data**2, minlength=made.shape[0])
        return _Piece(made, np.sqrt(squares), targets)
    held, whole = np.empty(rows.shape, dtype=np.float32), np.empty(len(targets))
    room = np.empty((min(_TILE, len(targets)), rows.shape[1]))
    for start in range(0, len(targets), _TILE):  # piece by piece, in the cache of a processor
        here = slice(start, start + _TILE)
        tile = room[: len(targets[here])]
        np.trunc(np.multiply(rows[here], 2.0**20, out=tile), out=tile)
        np.einsum("ij,ij->i", tile, tile, out=whole[here])
        held[here] = np.multiply(tile, 2.0**-20, out=tile)
    return _Piece(held, np.sqrt(whole) * 2.0**-20, targets)


def _tiles(pieces: Iterable[_Piece], largest: int = _SPARSE_TILE) -> Iterator[_Piece]:
    """Rows as doubles, a tile at a time, all dense ones in the same memory: it stays in the cache of a processor."""
    room = np.empty((0, 0))
    for rows, lengths, targets, _ in pieces:
        size = largest if _is_csr(rows) else _TILE
        for start in range(0, len(targets), size):
            here = slice(start, min(start + size, len(targets)))
            tile = rows[here]
            if not _is_csr(rows):
                if room.size == 0:
                    room = np.empty((_TILE, rows.shape[1]))
                np.copyto(room[: len(tile)], tile)
                tile = room[: len(tile)]
            yield _Piece(tile, lengths[here], targets[here])


def _caps(lengths: Array, clip_norm: float) -> Array:
    """The largest slope of a row of each length."""
    with np.errstate(divide="ignore"):
        return np.where(lengths > 0.0, clip_norm * _BELOW / lengths, 0.0)


def _clipped(slopes: Array, caps: Array, exponent: int) -> Array:
    """Slopes in whole steps, none larger than its cap."""
    if slopes.ndim == 1:
        cut = np.minimum(slopes, caps)
        np.maximum(cut, -caps, out=cut)
        cut *= np.ldexp(1.0, -exponent)  # a power of two: no rounding
        return np.trunc(cut, out=cut)
    squares = np.zeros(len(slopes))
    for column in slopes.T:  # in a fixed order: a record's length must not depend on where it stands
        squares = squares + column * column
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = np.where(squares > 0.0, np.minimum(1.0, caps * _BELOW / np.sqrt(squares)), 0.0)
    return np.trunc(np.ldexp(slopes * factors[:, None], -exponent))

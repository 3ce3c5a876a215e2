"""Vectors as records: every row is clipped to a public l2 norm and becomes integers by itself, sums are exact."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from privet._numerics import Array, is_masked, root_up
from privet._validate import above, count, instance, set_frozen
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms.families.record_totals import check_noise_grid
from privet.mechanisms.gaussian import Gaussian
from privet.mechanisms.mechanism import Mechanism
from privet.mechanisms.sensitivity import Sensitivity
from privet.noise import Grid
from privet.privacy import PrivacyLoss, Unit, as_unit

_FINE = 30  # the clipping norm has at least 2^29 steps: squares of a clipped row fit 64-bit integers
_SHRINK = 1.0 - 2.0**-25  # of a row that rounding left too long: far more than rounding adds, far less than noise shows
_CHUNK = 2**16  # rows at a time: changes speed and memory only


@dataclass(frozen=True, kw_only=True)
class VectorMechanism(Mechanism[Any, Any]):
    """Base of the sums and means of vectors: rows of a two-dimensional array, one record each.

    A row whose l2 norm exceeds `clip_norm` is scaled down to it; a row with a coordinate that is not finite counts as
    the zero vector. Each row becomes integers by itself, never longer than the norm, so the sum moves by no more than
    the sensitivity says, whatever the other rows are.
    """

    clip_norm: float
    dimension: int
    noise: Gaussian
    max_rows: int = 1
    at: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        instance("noise", self.noise, Gaussian)
        set_frozen(self, clip_norm=above("clip_norm", self.clip_norm, 0.0))
        set_frozen(self, dimension=count("dimension", self.dimension, 1))
        set_frozen(self, max_rows=count("max_rows", self.max_rows, 1))
        check_noise_grid(self.noise.scale, self._grid)

    @property
    def loss(self) -> PrivacyLoss:
        """The price of the one noisy vector behind the answer."""
        return self.noise.loss

    @property
    def _grid(self) -> Grid:
        return Grid.finer_than(self.clip_norm, _FINE - 1)

    def _admit(self, value: object) -> None:
        if not isinstance(value, np.ndarray) or is_masked(value):
            raise InvalidData(
                f"the records must be a numpy array with one row a record, got {type(value).__name__}: "
                "convert with np.asarray(..., dtype=float), the columns in a public order"
            )
        if value.ndim != 2 or value.shape[1] != self.dimension:
            raise InvalidData(
                f"the records must have two dimensions and {self.dimension} columns, one for a coordinate"
            )
        if value.dtype.kind not in "biuf" or value.dtype.itemsize > 8:
            raise InvalidData(
                "the records must be numbers of at most 64 bits: convert with np.asarray(..., dtype=float)"
            )

    def _totals(self, rows: Array) -> list[int]:
        """The exact sum of the clipped rows, in steps of `_grid`."""
        total, rows = [0] * self.dimension, np.asarray(rows)  # a matrix has manners of its own
        for start in range(0, len(rows), _CHUNK):
            part = clipped_steps(rows[start : start + _CHUNK], self.clip_norm, self._grid).sum(axis=0)
            total = [a + b for a, b in zip(total, part.tolist(), strict=True)]
        return total


def clipped_steps(rows: Array, clip_norm: float, grid: Grid) -> Array:
    """Rows in whole steps with an exact l2 norm of at most clip_norm.

    >>> clipped_steps(np.array([[3.0, 4.0], [0.6, 0.0], [np.nan, 1.0]]), 1.0, Grid(-2)).tolist()
    [[2, 3], [2, 0], [0, 0]]
    """
    values = np.where(np.isfinite(rows).all(axis=1, keepdims=True), rows, 0.0).astype(np.float64)
    peak = np.max(np.abs(values), axis=1, keepdims=True, initial=0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        direction = np.where(peak > 0.0, values / peak, 0.0)  # squares of large coordinates would overflow
        norm = peak * np.sqrt(np.sum(direction * direction, axis=1, keepdims=True))
        shrink = np.where(norm > clip_norm, clip_norm / norm, 1.0)
        clipped = np.where(np.isfinite(norm), values * shrink, direction * (clip_norm / np.sqrt(rows.shape[1])))
    # Towards zero, which never lengthens; what rounding in floats left too long is shortened until it is not.
    steps = np.trunc(np.ldexp(clipped, -grid.exponent))
    longest = grid.floor(clip_norm) ** 2
    whole = steps.astype(np.int64)
    while True:
        long = np.flatnonzero(np.sum(whole * whole, axis=1) > longest)
        if not len(long):
            return whole
        whole[long] = np.trunc(whole[long] * _SHRINK).astype(np.int64)


def row_reach(clip_norm: float, unit: Unit | None, max_rows: int, *, square: int = 1) -> Sensitivity:
    """The l2 sensitivity of a sum of rows of length sqrt(square) clip_norm, rounded up: twice as much under replace.

    >>> float(row_reach(2.0, Unit("replace"), 3))
    12.0
    """
    neighbours = as_unit(unit)
    if not isinstance(neighbours, Unit) or neighbours.relation not in ("add_remove", "replace"):
        raise InvalidParameter('unit must be Unit("add_remove") or Unit("replace") for statistics of records')
    ends = 2 if neighbours.relation == "replace" else 1
    length = Fraction(above("clip_norm", clip_norm, 0.0))
    length *= Fraction(root_up(square))
    rows = count("max_rows", max_rows, 1) * neighbours.group_size
    return Sensitivity(length * ends * rows, norm="l2", unit=neighbours)

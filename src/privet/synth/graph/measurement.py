"""A noisy table of counts, several of one clique as one, and the number of rows that tables agree on."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from privet._numerics import Array
from privet._validate import above, set_frozen
from privet.errors import InvalidParameter
from privet.synth.graph.junction_tree import Clique


@final
@dataclass(frozen=True, eq=False)
class Measurement:
    """Noisy counts of a clique's cells, and the standard deviation of their noise; where cells differ in it, their
    variances. `normal` is False where the noise has Laplace's law, in whole numbers.

    Where the noise of cells belongs together, `part_variance` is that of each part of the table, an axis of two for each
    column: at 0 what is the same along it, at 1 what adds up to 0. Parts of a sum of cells are independent of each other.

    >>> import numpy as np
    >>> Measurement((0,), np.array([3.0, 4.0]), 2.0).weights.tolist()
    [0.25, 0.25]
    """

    clique: Clique
    values: Array
    sigma: float
    cell_variance: Array | None = None
    normal: bool = True
    part_variance: Array | None = None

    def __post_init__(self) -> None:
        above("sigma", self.sigma, 0.0)
        set_frozen(self, values=np.asarray(self.values, dtype=np.float64))
        if self.values.ndim != len(self.clique) or list(self.clique) != sorted(set(self.clique)):
            raise InvalidParameter("a measurement has one axis for each column of its clique, in their order")
        if not np.all(np.isfinite(self.values)):
            raise InvalidParameter("a measurement holds finite numbers")
        if self.cell_variance is not None:
            variance = np.broadcast_to(np.asarray(self.cell_variance, dtype=np.float64), self.values.shape)
            if not np.all(np.isfinite(variance) & (variance > 0.0)):
                raise InvalidParameter("the variance of a cell must be above 0")
            set_frozen(self, cell_variance=variance)

        if self.part_variance is not None:
            set_frozen(self, part_variance=np.asarray(self.part_variance, dtype=np.float64))
            if self.part_variance.shape != (2,) * len(self.clique) or not np.all(self.part_variance >= 0.0):
                raise InvalidParameter("parts of a table have a variance for each set of its columns")

    @property
    def weights(self) -> Array:
        """1 over the variance of each cell."""
        if self.cell_variance is not None:
            return 1.0 / self.cell_variance
        return np.full(self.values.shape, self.sigma**-2.0)

    def variance_of(self, asked: Array) -> float:
        """The variance of a weighted sum of the noise on the cells.

        >>> parts = np.array([1.0, 4.0])  # of the mean, and of what cells differ by
        >>> seen = Measurement((0,), np.zeros(2), 2.5**0.5, part_variance=parts)
        >>> seen.variance_of(np.array([1.0, 1.0])), seen.variance_of(np.array([1.0, -1.0]))
        (2.0, 8.0)
        """
        if self.part_variance is None:
            return float(np.sum(asked**2 / self.weights))
        total = 0.0
        for which in np.ndindex(self.part_variance.shape):
            part = asked
            for axis, differs in enumerate(which):
                mean = np.mean(part, axis=axis, keepdims=True)
                part = part - mean if differs else np.broadcast_to(mean, part.shape)
            total += float(self.part_variance[which]) * float(np.sum(part**2))
        return total


def combined(measurements: Iterable[Measurement]) -> dict[Clique, tuple[Array, Array]]:
    """For each clique the mean of its measurements, weighted by their precision, and the precision of that mean.

    >>> import numpy as np
    >>> twice = [Measurement((0,), np.array([4.0]), 1.0), Measurement((0,), np.array([1.0]), 2.0)]
    >>> [part.tolist() for part in combined(twice)[(0,)]]
    [[3.4], [1.25]]
    """
    found: dict[Clique, tuple[Array, Array]] = {}
    for each in measurements:
        weights = each.weights
        if each.clique in found:
            mean, known = found[each.clique]
            whole = known + weights
            found[each.clique] = (known * mean + weights * each.values) / whole, whole
        else:
            found[each.clique] = each.values, weights
    return found


class Total(NamedTuple):
    """An estimate of the number of rows, and the standard deviation of its noise.

    >>> Total(100.0, 3.0).value
    100.0
    """

    value: float
    deviation: float


def least_variance_total(measurements: Iterable[Measurement]) -> Total:
    """Every table sums to the number of rows; sums are weighted by 1 over the variance of their noise. Never below 1.

    >>> import numpy as np
    >>> tables = [(2, 104.0, 3.0), (4, 96.0, 3.0), (8, 101.0, 2.0)]
    >>> made = [Measurement((0,), np.full(n, total / n), sigma) for n, total, sigma in tables]
    >>> [round(each, 6) for each in least_variance_total(made)]
    [101.242424, 2.954196]
    """
    whole = weighted = 0.0
    for each in measurements:
        weight = 1.0 / float(np.sum(1.0 / each.weights))
        whole += weight
        weighted += weight * float(each.values.sum())
    if whole == 0.0:
        return Total(1.0, math.inf)
    return Total(max(1.0, weighted / whole), whole**-0.5)

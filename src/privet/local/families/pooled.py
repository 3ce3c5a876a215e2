"""Public pools of hashes: what the hashes that all people share tie together.

A report names one of the pool's hashes, all alike, and supports a value with probability `low + gain` where the person's
value falls into the same cell, else `low`. Two values share a cell in more or fewer of the hashes than 1/cells of them: so
the estimate of a value is off by a part of the shares of others, which more reports do not mend.
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from privet._numerics import Array
from privet.local.families.hashes import hashed


@final
@dataclass(frozen=True, eq=False)
class Pool:
    """The hashes (a, b) over `cells` cells, and the law of a report: its supports of one cell (`low`, `gain`) and of two
    different ones, `both` of them with this probability, and `one` more of it where one is the person's own.

    >>> pool = Pool((np.array([3 << 60], dtype=np.uint64), np.array([5], dtype=np.uint64)), 2, low=0.2, gain=0.6)
    >>> pool.collisions, pool.means(np.array([0.5, 0.5])).round(6).tolist()
    (1.0, [0.8, 0.8])
    """

    hashes: tuple[Array, Array]
    cells: int
    low: float
    gain: float
    both: float = 0.0
    one: float = 0.0

    @property
    def collisions(self) -> float:
        """1/(hashes (cells - 1)): the mean square, over pools, of what another value adds to an estimate, by the square of
        its share."""
        return 1.0 / (len(self.hashes[0]) * (self.cells - 1))

    def _places(self, k: int) -> Array:
        """The cell of each value (a column) by each hash (a row)."""
        a, b = self.hashes
        return hashed(np.arange(k)[None, :], a[:, None], b[:, None], self.cells).astype(np.int64)

    def _near(self, shares: Array, places: Array) -> Array:
        """The share of the people in the cell of each value (a column) by each hash (a row)."""
        key = places + self.cells * np.arange(len(places))[:, None]
        total = np.bincount(key.ravel(), weights=np.tile(shares, len(places)), minlength=self.cells * len(places))
        return total[key]

    def means(self, shares: Array) -> Array:
        """The probability that a report supports each value, given the shares of all."""
        return self.low + self.gain * self._near(shares, self._places(len(shares))).mean(axis=0)

    def covariance(self, shares: Array) -> Array:
        """Of one report's supports, given its sender's value, on average over senders."""
        k, places = len(shares), self._places(len(shares))
        near = self._near(shares, places)
        together, shared = np.zeros((k, k)), np.zeros((k, k))
        for place, weight in zip(places, self.low - self.both + (self.gain - 2.0 * self.one) * near, strict=True):
            same = place[:, None] == place[None, :]
            shared += same
            together += same * weight
        mean, each = near.mean(axis=0), self.low + self.gain * shared / len(places)
        pairs = self.both + self.one * (mean[:, None] + mean[None, :]) + together / len(places)
        return pairs - each.T @ (shares[:, None] * each)

"""The distance by which counts lie outside a claim: for choosing events, never for testing them."""

from dataclasses import dataclass

import numpy as np

from privet._cache import kept_property
from privet._numerics import Array

_REFINED = 24  # events that are priced exactly after all were priced roughly: speed only


@dataclass(frozen=True, eq=False)
class Strain:
    """The claim's trade-off curve on a grid: good enough to choose an event, not used to test it.

    >>> grid = np.linspace(0.0, 1.0, 101)
    >>> Strain(grid, 1.0 - grid).depth(np.array([9, 5]), np.array([1, 5]), 10, 10).round(1).tolist()
    [3.8, 0.0]
    """

    fpr: Array
    fnr: Array

    def depth(self, tp: Array, fp: Array, n: int, n_out: int) -> Array:
        """By how many standard errors the counts lie below the curve; a normal approximation, negative above it.

        For the best of them it is measured on the scale of arcsines, on which counts of a few runs too have nearly equal
        errors.
        """
        tp, fp = np.asarray(tp, dtype=float), np.asarray(fp, dtype=float)
        q, fn = (fp + 0.25) / (n_out + 0.5), (n - tp + 0.25) / (n + 0.5)
        bound = np.interp(fp / n_out, self.fpr, self.fnr)
        slope = (np.interp(q * 0.9, self.fpr, self.fnr) - np.interp(q, self.fpr, self.fnr)) / (0.1 * q)
        variance = fn * (1.0 - fn) / n + slope**2 * q * (1.0 - q) / n_out
        rough = (bound - (n - tp) / n) / np.sqrt(variance + 0.25 / n**2)
        best = np.argsort(-rough, kind="stable")[:_REFINED] if rough.size > _REFINED else np.arange(rough.size)
        best = best[rough[best] > 0.0]
        if best.size:
            rough = rough.copy()
            rough[best] = np.minimum(self._apart(tp[best], fp[best], n, n_out), rough[best] + 1.0)
        return np.asarray(rough)

    def _apart(self, tp: Array, fp: Array, n: int, n_out: int) -> Array:
        """The distance to the curve on the scale of arcsines."""
        x, y = self._arcs
        a = 2.0 * np.arcsin(np.sqrt((fp + 0.375) / (n_out + 0.75)))
        b = 2.0 * np.arcsin(np.sqrt((n - tp + 0.375) / (n + 0.75)))
        far = _beyond(x, a)
        far *= n_out
        down = _beyond(y, b)
        down *= n
        far += down
        return np.asarray(np.sqrt(np.min(far, axis=1)))

    @kept_property
    def _arcs(self) -> tuple[Array, Array]:
        """The curve on the scale of arcsines."""
        return 2.0 * np.arcsin(np.sqrt(self.fpr)), 2.0 * np.arcsin(np.sqrt(self.fnr))

    def screen(self, left: Array, right: Array) -> Array:
        """The largest depth of a few thresholds and atoms for each column of two matrices (one row a run)."""
        n, n_out = len(left), len(right)
        pooled = np.concatenate((left, right))
        pooled = np.where(np.isnan(pooled), -np.inf, pooled)
        places = (
            np.array([0.004, 0.02, 0.06, 0.15, 0.3, 0.45, 0.55, 0.7, 0.85, 0.94, 0.98, 0.996]) * len(pooled)
        ).astype(int)
        cuts = np.partition(pooled, np.unique(places), axis=0)[places]
        best = np.full(left.shape[1], -np.inf)
        with np.errstate(invalid="ignore"):
            for cut in cuts:
                for compare in (np.less_equal, np.greater_equal, np.equal):
                    a, b = (compare(side, cut).sum(axis=0) for side in (left, right))
                    seen = (a + b > 0) & (a + b < n + n_out)
                    depth = np.maximum(self.depth(a, b, n, n_out), self.depth(b, a, n_out, n))
                    best = np.maximum(best, np.where(seen, depth, -np.inf))
        return best


def _beyond(curve: Array, points: Array) -> Array:
    """The squares of how far the curve lies beyond each point (a row each), 0 where it does not."""
    gaps = curve - points[:, None]
    np.maximum(gaps, 0.0, out=gaps)
    return np.square(gaps, out=gaps)

"""The mean of targets, bought once or twice: what a linear regression falls back to that has too few records for slopes."""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from privet._numerics import Array
from privet.learn.problem import Task
from privet.learn.solvers.equations import reach
from privet.learn.solvers.exact_totals import STEPS, Factors, WholeRows
from privet.mechanisms import Ball, Gaussian, Sensitivity, Source
from privet.privacy import Unit

_COUNTED = Fraction(3, 4)  # what a record counts beside its target: one of y = 1/2 then has the least noise in its mean
_NEAR = 0.04  # the noise of a mean (y lies in [-1, 1]) above which more is spent on it
_AGAIN = 0.5  # the most of the rest that the mean may take from slopes
# Records for each coefficient and for the noise of a product, below which slopes are left out. Of n unit rows spread over d
# columns a coefficient has the noise d sigma / n, and so has a prediction: from a fifth on it is as large as y usually
# varies by (in [-1, 1]), and slopes would predict worse than the mean alone. Accuracy alone: both ways cost the same.
_SLOPES = 5.0
LOOSE = 0.2  # the noise of a number of records, as a share of it, above which a mean is bought with that number again
_USUAL = 0.15  # a mean whose noise is larger than this (y lies in [-1, 1]) predicts hardly better than the middle of y


def level_reach(unit: Unit) -> Sensitivity:
    """Of the sum of targets and 3/4 of the number of records: 5/4 where a record comes or goes, 2 where one is exchanged.

    >>> float(level_reach(Unit()))
    1.25
    """
    return reach(1 + _COUNTED**2, 4, unit)


class Mean(NamedTuple):
    """Knowledge of the mean of targets: its value, the standard deviation of its noise, the number of records, and the
    standard deviation of the noise of that number as a share of it."""

    value: float
    noise: float
    records: float
    loose: float = 0.0

    def about(self, task: Task) -> float:
        """The variance of the constant's coefficient that this noise makes."""
        return (self.noise / task.constant) ** 2 if task.intercept else 0.0


def bought_mean(part: Gaussian | Ball, task: Task, moments: Array, source: Source) -> Mean:
    """The mean from a noisy sum of targets and a noisy number of records, read off the exact Gram of rows and targets."""
    constant = whole_constant(task)
    total, many = int(moments[-2, -1]) // constant, int(moments[-2, -2]) // constant**2  # without a rest
    noisy = part.release([Fraction(total, STEPS), _COUNTED * many], source=source).value
    # of each coordinate of a ball of two numbers, or of normal noise
    sigma = part.scale * math.sqrt(3.0) if isinstance(part, Ball) else part.sigma
    count = max(float(noisy[1]) / float(_COUNTED), sigma)
    mean = min(1.0, max(-1.0, float(noisy[0]) / count))
    own, loose = sigma / count, sigma / float(_COUNTED) / count
    return Mean(mean, math.hypot(own, mean * loose), count, loose)


def again_share(mean: Mean, whole: float, slopes: float) -> float:
    """The share of the rest of the budget that goes to the mean again: what brings its noise down to .04, at most a half;
    all where there are too few records for slopes. `whole` is the noise of the sum if it has all, `slopes` that of a
    product times the number of coefficients.

    >>> again_share(Mean(0.0, 0.02, 5_000.0), 10.0, 100.0), again_share(Mean(0.0, 0.1, 400.0), 10.0, 100.0)
    (0.0, 1.0)
    >>> round(again_share(Mean(0.0, 0.08, 500.0), 10.0, 60.0), 4)  # (1/.04^2 - 1/.08^2) (10/500)^2
    0.1875
    """
    wanted = (_NEAR**-2 - mean.noise**-2) * (whole / mean.records) ** 2
    share = min(max(wanted, 0.0), _AGAIN)
    return share if mean.records * math.sqrt(1.0 - share) >= _SLOPES * slopes else 1.0


def nearer(part: Gaussian, task: Task, data: WholeRows, mean: Mean, source: Source, many: int | None = None) -> Mean:
    """The mean, moved by a noisy sum of how far targets are from it, at most 1 each, and weighed by the noise of both.
    `many` is the number of records, not releasable, where it is bought again as well.

    The sum is small beside the number of records, so that the noise of that number counts less than in the mean itself.
    """
    product, _ = data.exact_cross(distances(round(STEPS * mean.value)), (1.0,))
    total = Fraction(int(product(0)[-1]) // whole_constant(task), STEPS)  # without a rest
    noisy = part.release([total] if many is None else [total, _COUNTED * many], source=source).value
    if many is not None:
        mean = _recounted(mean, float(noisy[1]) / float(_COUNTED), part.sigma / float(_COUNTED))
    far = float(noisy[0]) / mean.records
    own = math.hypot(part.sigma / mean.records, far * mean.loose)
    share = mean.noise**2 / (mean.noise**2 + own**2)
    return mean._replace(value=min(1.0, max(-1.0, mean.value + share * far)), noise=math.sqrt(share) * own)


def _recounted(mean: Mean, records: float, noise: float) -> Mean:
    """With both numbers of records, weighed by their noise."""
    old = mean.loose * mean.records
    share = old**2 / (old**2 + noise**2)
    records = max((1.0 - share) * mean.records + share * records, noise)
    return mean._replace(records=records, loose=math.sqrt(share) * noise / records)


def shrunk_mean(mean: float, noise: float) -> float:
    """A noisy mean of targets in [-1, 1], moved towards 0, their middle (positive-part James-Stein), and 0 where it does
    not stand out of its noise: the farther it must, the larger the noise is beside what y usually varies by.

    >>> round(shrunk_mean(0.5, 0.001), 3), shrunk_mean(0.5, 1.0), shrunk_mean(0.1, 0.1)
    (0.5, 0.0, 0.0)
    """
    least = noise * max(1.0, noise / _USUAL)
    return mean * (1.0 - (least / mean) ** 2) if abs(mean) > least else 0.0


def whole_constant(task: Task) -> int:
    """The entry of the constant column in whole steps."""
    return int(task.constant * STEPS)


def flat(task: Task, level: int) -> Array:
    """The coefficients that predict the level, in whole steps, for every row."""
    made = np.zeros(task.dimension)
    if level:
        made[-1] = level / whole_constant(task)
    return made


def distances(level: int) -> Factors:
    """y - level of every record by itself: not releasable."""
    return lambda rows, goals: np.asarray(goals - level / STEPS)

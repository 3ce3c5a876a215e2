"""The curve of an attack: true positives at few false ones and the area under it, with intervals that assume nothing."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from privet._numerics import Array, bisect
from privet._validate import count, open_fraction
from privet.audit.statistics.clopper_pearson import rate_above, rate_below
from privet.errors import InvalidData

FEW = (1e-3, 1e-2, 0.1)  # the rates of false positives at which an attack is told


@dataclass(frozen=True)
class Interval:
    """A figure with both ends of its confidence interval.

    >>> print(Interval(0.5, 0.4, 0.6))
    0.5 [0.4, 0.6]
    """

    value: float
    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]"


@dataclass(frozen=True)
class RateAt:
    """The share of members that an attack finds while it accuses a share `fpr` of the others.

    `hits` members lie above the threshold that accuses at most that share of the others who were seen; `strict` and
    `loose` count members beyond two thresholds between which the true one lies. All three are what the interval is
    computed from.

    >>> at = rate_at(0.1, np.arange(100.0) + 50.0, np.arange(100.0))
    >>> at.hits, at.tpr.value
    (60, 0.6)
    """

    fpr: float
    hits: int
    strict: int
    loose: int
    members: int
    others: int
    alpha: float

    @property
    def tpr(self) -> Interval:
        """The share, and an interval for the attack's rate at exactly this rate of false positives."""
        each = self.alpha / 4.0
        first, last = thresholds(self.fpr, self.others, self.alpha)
        low = 0.0 if first == 0 else float(rate_below(self.strict, self.members, each))
        high = 1.0 if last > self.others else float(rate_above(self.loose, self.members, each))
        return Interval(self.hits / self.members, low, high)

    @property
    def reachable(self) -> bool:
        """True if there are others enough to say anything from below at this rate."""
        return thresholds(self.fpr, self.others, self.alpha)[0] > 0


@lru_cache(maxsize=256)
def thresholds(fpr: float, others: int, alpha: float) -> tuple[int, int]:
    """Two ranks among the others, counted from the largest score, between which the true threshold lies.

    Beyond the first at most a share `fpr` of all others lies, from the second on at least that share, each with confidence
    1 - alpha/4. 0 and `others` + 1 where there is none.

    **Reference:** the share beyond the j-th largest of m scores has a Beta(j, m - j + 1) law (Wilks 1941).

    >>> thresholds(0.1, 1000, 0.05), thresholds(1e-3, 1000, 0.05)
    ((79, 123), (0, 5))
    """
    from scipy.stats import binom

    level = alpha / 4.0
    first, last = int(binom.ppf(level, others, fpr)), int(binom.isf(level, others, fpr)) + 1
    while first > 0 and binom.cdf(first - 1, others, fpr) > level:  # quantiles of other versions may be one off
        first -= 1
    while last <= others and binom.sf(last - 1, others, fpr) > level:
        last += 1
    return first, last


def rate_at(fpr: float, members: Array, others: Array, *, alpha: float = 0.05) -> RateAt:
    """The true positives of scores at a rate of false positives, with an exact interval.

    **Guarantee:** P[the interval misses the attack's rate] <= alpha, for independent members and independent others,
    whatever their laws; equal scores count against the attack below and for it above.

    >>> rate_at(0.1, np.zeros(1000), np.zeros(1000)).tpr.low
    0.0
    """
    rate, level = open_fraction("fpr", fpr), open_fraction("alpha", alpha)
    inside, outside = sorted_scores("members", members), sorted_scores("others", others)
    first, last = thresholds(rate, len(outside), level)
    accused = min(math.floor(rate * len(outside) * (1.0 + 1e-12)), len(outside) - 1)

    def beyond(rank: int, side: Any) -> int:
        return len(inside) - int(np.searchsorted(inside, outside[-rank], side))

    return RateAt(
        fpr=rate,
        hits=beyond(accused + 1, "right"),
        strict=beyond(first, "right") if first else 0,
        loose=beyond(last, "left") if last <= len(outside) else len(inside),
        members=len(inside),
        others=len(outside),
        alpha=level,
    )


@dataclass(frozen=True)
class Area:
    """The area under the curve of an attack, from whole numbers.

    `doubled` is twice the number of pairs in which the member has the larger score, where equal scores count half.

    >>> Area(doubled=3, members=1, others=2, alpha=0.05).auc.value
    0.75
    """

    doubled: int
    members: int
    others: int
    alpha: float

    @property
    def auc(self) -> Interval:
        """The chance that a member has a larger score than another record, with its interval.

        **Guarantee:** P[the interval misses it] <= alpha: pairs that share no record are coins, and averages over all
        pairings have tails no heavier than one of them. **Reference:** Hoeffding 1963, section 5.
        """
        seen = self.doubled / (2 * self.members * self.others)
        pairs, allowed = min(self.members, self.others), math.log(2.0 / self.alpha)

        def far(p: float) -> bool:
            return pairs * _divergence(seen, p) >= allowed

        low = bisect(far, seen, 0.0) if seen > 0.0 else 0.0
        high = bisect(far, seen, 1.0) if seen < 1.0 else 1.0
        return Interval(seen, low, high)


def _divergence(a: float, p: float) -> float:
    """Of a coin of mean `a` from one of mean p."""
    if not 0.0 < p < 1.0:
        return math.inf
    one = a * math.log(a / p) if a > 0.0 else 0.0
    return one + ((1.0 - a) * math.log((1.0 - a) / (1.0 - p)) if a < 1.0 else 0.0)


def area(members: Array, others: Array, *, alpha: float = 0.05) -> Area:
    """The area under the curve of scores, larger ones being those of members.

    >>> area(np.array([2.0, 3.0]), np.array([1.0, 2.0])).auc.value
    0.875
    """
    inside, outside = sorted_scores("members", members), sorted_scores("others", others)
    below = np.searchsorted(outside, inside, "left").astype(np.int64)
    equal = np.searchsorted(outside, inside, "right") - below
    level = open_fraction("alpha", alpha)
    return Area(int(2 * below.sum() + equal.sum()), len(inside), len(outside), level)


def sorted_scores(name: str, scores: object) -> Array:
    """Scores in increasing order; NaN and empty lists are refused, infinities are scores.

    >>> sorted_scores("others", [2, 1]).tolist()
    [1.0, 2.0]
    """
    values = np.asarray(scores)
    if values.ndim != 1 or values.dtype.kind not in "biuf" or np.isnan(values).any():
        raise InvalidData(f"scores of {name} must be a list of numbers, none of them NaN")
    count(f"the number of {name}", values.size, 1)
    return np.sort(values.astype(float))

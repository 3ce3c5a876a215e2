"""One event in two worlds, exact binomial bounds: the lower bound that assumes nothing."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privet._numerics import Array, special
from privet._validate import count, flag, fraction, open_fraction, set_frozen
from privet.audit.counts import Counts
from privet.audit.result import ADD_REMOVE, LowerBound
from privet.audit.statistic import Statistic
from privet.privacy import Unit

_ROUNDING = 1e-12  # relative error granted to the quantiles of the beta law, always to the safe side


def rate_below(k: Array | int, n: Array | int, alpha: Array | float) -> Array:
    """Lower confidence bound on a probability after k successes in n trials.

    **Guarantee:** P[bound > p] <= alpha for every p. **Reference:** Clopper & Pearson 1934.

    >>> rate_below(np.array([0, 5, 10]), 10, 0.025).round(6).tolist()
    [0.0, 0.187086, 0.691503]
    """
    hits, trials = np.broadcast_arrays(np.asarray(k, dtype=float), np.asarray(n, dtype=float))
    none = hits <= 0.0
    bound = special().betaincinv(np.where(none, 1.0, hits), trials - hits + 1.0, alpha)
    beyond = np.isnan(bound)  # a level beyond the quantile code
    return np.where(none | beyond, 0.0, bound * (1.0 - _ROUNDING))


def rate_above(k: Array | int, n: Array | int, alpha: Array | float) -> Array:
    """Upper confidence bound on a probability after k successes in n trials.

    **Guarantee:** P[bound < p] <= alpha for every p. **Reference:** Clopper & Pearson 1934.

    >>> rate_above(np.array([0, 5, 10]), 10, 0.025).round(6).tolist()
    [0.308497, 0.812914, 1.0]
    """
    hits, trials = np.broadcast_arrays(np.asarray(k, dtype=float), np.asarray(n, dtype=float))
    every = hits >= trials
    bound = special().betainccinv(hits + 1.0, np.where(every, 1.0, trials - hits), alpha)
    return np.where(every | np.isnan(bound), 1.0, np.minimum(bound * (1.0 + _ROUNDING), 1.0))


def point_epsilon(
    tp: Array, fp: Array, n: Array | int, n_out: Array | int, *, delta: float, alpha: float, two_sided: bool = False
) -> Array:
    """The lower bounds of `point_lower` for many events at once. Taking the largest of them is not a test.

    >>> point_epsilon(np.array([400, 4]), np.array([100, 1]), 1000, 1000, delta=1e-5, alpha=0.05).round(6).tolist()
    [1.122151, 0.0]
    """
    each = alpha / (4.0 if two_sided else 2.0)
    best = _ordered(_once(rate_below, tp, n, each), _once(rate_above, fp, n_out, each), delta)
    if two_sided:
        turned = _ordered(_once(rate_below, fp, n_out, each), _once(rate_above, tp, n, each), delta)
        best = np.maximum(best, turned)
    return best


def _once(bound: Callable[..., Array], k: Array, n: Array | int, alpha: float) -> Array:
    """A bound for many counts, each of which is asked once: thousands of events share a few hundred counts."""
    hits = np.asarray(k)
    if np.ndim(n) or hits.ndim != 1:
        return bound(hits, n, alpha)
    counts, places = np.unique(hits, return_inverse=True)
    return bound(counts, n, alpha)[places]


def _ordered(low: Array, high: Array, delta: float) -> Array:
    """Both inequalities from the same two bounds: the event in D against D', its complement in D' against D."""
    event = (np.maximum(low - delta, 0.0), high)
    complement = (np.maximum(1.0 - high - delta, 0.0), 1.0 - low)
    with np.errstate(divide="ignore"):
        ratios = [np.log(likely) - np.log(rare) for likely, rare in (event, complement)]
    return np.maximum(np.maximum(*ratios), 0.0)


def largest_refutable(n: int, alpha: float = 0.05, *, delta: float = 0.0, n_out: int | None = None) -> float:
    """The bound after the best possible counts (always in D, never in D'): no sample of this size refutes more.

    About ln(n/3.69) at alpha = 0.05. `n` counts the tested runs of a world, not those spent on choosing an event.

    >>> round(largest_refutable(100_000), 2), round(largest_refutable(1_000_000), 2)
    (10.21, 12.51)
    """
    tried = count("n", n, 1), count("n_out", n if n_out is None else n_out, 1)
    return float(
        point_epsilon(
            np.array(tried[0]),
            np.array(0),
            *tried,
            delta=fraction("delta", delta),
            alpha=open_fraction("alpha", alpha),
        )
    )


@dataclass(frozen=True)
class Point(Statistic[LowerBound]):
    """The claim "(epsilon, delta)" at one delta, from one event; see `point_lower`.

    >>> Point(delta=1e-5).test(Counts(tp=400, fp=100, n=1000), alpha=0.05).method
    'Clopper-Pearson'
    """

    delta: float
    two_sided: bool = False
    unit: Unit = ADD_REMOVE

    def __post_init__(self) -> None:
        set_frozen(self, delta=fraction("delta", self.delta))
        flag("two_sided", self.two_sided)

    def screen(self, tp: Array, fp: Array, n: int, n_out: int, alpha: float) -> Array:
        return point_epsilon(tp, fp, n, n_out, delta=self.delta, alpha=alpha, two_sided=self.two_sided)

    def test(self, counts: Counts, *, alpha: float) -> LowerBound:
        level = open_fraction("alpha", alpha)
        bound = self.screen(np.array(counts.tp), np.array(counts.fp), counts.n, counts.n_out, level)
        most = [(counts.n, 0), (0, counts.n_out)][: 1 + self.two_sided]
        ceilings = [self.screen(np.array(tp), np.array(fp), counts.n, counts.n_out, level) for tp, fp in most]
        return LowerBound(
            lower=float(bound),
            delta=self.delta,
            alpha=level,
            method="Clopper-Pearson, either world first" if self.two_sided else "Clopper-Pearson",
            ceiling=float(max(ceilings)),
            counts=counts,
            unit=self.unit,
        )


def point_lower(
    counts: Counts, *, delta: float, alpha: float = 0.05, two_sided: bool = False, unit: Unit = ADD_REMOVE
) -> LowerBound:
    """Lower bound on epsilon at this delta from one event, without any assumption on the mechanism.

    ln((TPR - delta)/FPR) with a lower confidence bound on TPR and an upper one on FPR; the same two bounds also give
    the inequality of the complement, ln((1 - FPR - delta)/(1 - TPR)), and the larger is reported. `two_sided` also tests
    the event with the worlds exchanged, at the price of four bounds instead of two.

    **Guarantee:** P[lower > epsilon] <= alpha for every mechanism that is (epsilon, delta)-DP, if the event was chosen
    without a look at these counts (see `Split`, `Bonferroni`). **Error:** rare events carry the bound, so it stays well
    below a Gaussian mechanism's epsilon: about 0.6 of it after 100,000 runs. A claim with a curve is tested more
    sharply by `curve_test`. **Reference:** Kairouz, Oh & Viswanath 2015; Jagielski, Ullman & Oprea 2020.

    >>> round(point_lower(Counts(tp=400, fp=100, n=1000), delta=1e-5).lower, 6)
    1.122151
    """
    return Point(delta, two_sided, unit).test(counts, alpha=alpha)

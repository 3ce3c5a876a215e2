"""One event in two worlds under an assumption: the mechanism's trade-off curve is that of a Gaussian mechanism."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from privet._numerics import Array, special
from privet._validate import flag, open_fraction, set_frozen
from privet.audit.counts import Counts
from privet.audit.result import ADD_REMOVE, LowerBound
from privet.audit.statistic import Statistic
from privet.audit.statistics.clopper_pearson import rate_above
from privet.errors import InvalidParameter
from privet.privacy import Unit
from privet.privacy.families.normal import gaussian_epsilon

GDP_ASSUMPTION = "the trade-off curve is that of a Gaussian mechanism (GDP)"


def gaussian_mu(
    tp: Array, fp: Array, n: Array | int, n_out: Array | int, *, alpha: float, two_sided: bool = False
) -> Array:
    """Lower bounds on mu, one per event, with their sign: a negative one says "less than nothing was seen".

    mu = Phi^-1(1 - FPR) - Phi^-1(FNR) at upper confidence bounds of both rates.

    >>> gaussian_mu(np.array([690, 310]), np.array([310, 690]), 1000, 1000, alpha=0.05).round(3).tolist()
    [0.827, -1.157]
    """
    each = alpha / (4.0 if two_sided else 2.0)
    hits, others = np.asarray(tp, dtype=float), np.asarray(fp, dtype=float)
    mu = _separation(rate_above(others, n_out, each), rate_above(np.asarray(n) - hits, n, each))
    if two_sided:
        swapped = _separation(rate_above(hits, n, each), rate_above(np.asarray(n_out) - others, n_out, each))
        mu = np.maximum(mu, swapped)
    return mu


def _separation(fpr: Array, fnr: Array) -> Array:
    # No absolute value: with few runs both rates are near 1, and the sign is what tells nothing from something.
    return -special().ndtri(fpr) - special().ndtri(fnr)


@lru_cache(maxsize=1024)  # ceilings are asked for again and again
def epsilon_of_mu(mu: float, delta: float) -> float:
    """An epsilon that no mu-GDP curve stays below at this delta, rounded downwards; 0 for mu <= 0.

    >>> round(epsilon_of_mu(0.268051, 1e-5), 4), epsilon_of_mu(-3.0, 1e-5)
    (1.0, 0.0)
    """
    if mu <= 0.0 or delta >= 1.0:
        return 0.0
    return gaussian_epsilon(mu * (1.0 - 1e-12), min(delta * (1.0 + 1e-9), 1.0)) * (1.0 - 1e-12)


@dataclass(frozen=True)
class Gaussian(Statistic[LowerBound]):
    """The family of Gaussian curves, from one event; see `gaussian_lower`.

    >>> Gaussian(delta=1e-5).test(Counts(tp=690, fp=310, n=1000), alpha=0.05).assumption
    'the trade-off curve is that of a Gaussian mechanism (GDP)'
    """

    delta: float
    two_sided: bool = False
    unit: Unit = ADD_REMOVE

    def __post_init__(self) -> None:
        if self.delta == 0.0 and not isinstance(self.delta, bool):
            raise InvalidParameter("a Gaussian curve has no finite epsilon at delta = 0; ask at a positive delta")
        set_frozen(self, delta=1.0 if self.delta == 1.0 else open_fraction("delta", self.delta))
        flag("two_sided", self.two_sided)

    def screen(self, tp: Array, fp: Array, n: int, n_out: int, alpha: float) -> Array:
        return gaussian_mu(tp, fp, n, n_out, alpha=alpha, two_sided=self.two_sided)

    def test(self, counts: Counts, *, alpha: float) -> LowerBound:
        level = open_fraction("alpha", alpha)
        best = [(counts.n, 0), (0, counts.n_out)][: 1 + self.two_sided]
        mu, *limits = (
            float(self.screen(np.array(tp), np.array(fp), counts.n, counts.n_out, level))
            for tp, fp in ((counts.tp, counts.fp), *best)
        )
        return LowerBound(
            lower=epsilon_of_mu(mu, self.delta),
            delta=self.delta,
            alpha=level,
            method=f"Gaussian, mu >= {mu:.6g}" if math.isfinite(mu) else "Gaussian, mu not bounded",
            ceiling=epsilon_of_mu(max(limits), self.delta),
            counts=counts,
            unit=self.unit,
            assumption=GDP_ASSUMPTION,
        )


def gaussian_lower(
    counts: Counts, *, delta: float, alpha: float = 0.05, two_sided: bool = False, unit: Unit = ADD_REMOVE
) -> LowerBound:
    """Lower bound on epsilon at this delta, **assuming** that the mechanism's curve is a Gaussian one.

    One event then fixes the whole curve, so that nothing rare has to be seen: after 100,000 runs the bound reaches 0.88
    to 0.99 of the truth, with the threshold halfway between the worlds.

    **Guarantee:** P[lower > epsilon] <= alpha when the curve is Gaussian. For another curve the bound may be wrong in
    both directions: use `curve_test` with the claim itself, or `point_lower`.
    **Reference:** Dong, Roth & Su 2019; Nasr et al. 2023.

    >>> bound = gaussian_lower(Counts(tp=55_300, fp=44_700, n=100_000), delta=1e-5)
    >>> round(bound.lower, 3), gaussian_lower(Counts(tp=1, fp=9, n=10), delta=1e-5).lower
    (0.93, 0.0)
    """
    return Gaussian(delta, two_sided, unit).test(counts, alpha=alpha)

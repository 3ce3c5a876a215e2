"""One event in two worlds against the claim's own trade-off curve: the sharpest test that assumes nothing else."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privet._numerics import Array, bisect
from privet._validate import above, fraction, open_fraction
from privet.accounting import tightest, tradeoff
from privet.audit.counts import Counts
from privet.audit.result import CurveTest, LowerBound
from privet.audit.statistic import Statistic
from privet.audit.statistics.clopper_pearson import rate_above
from privet.audit.statistics.gaussian import gaussian_mu
from privet.audit.statistics.supremum import LEAST, supremum_p_value
from privet.errors import InvalidParameter
from privet.privacy import PrivacyLoss

_LEAST = -600.0  # ln of the smallest p-value that is told apart from 0
_GRID = 64  # levels of a bracket, of which one step is the next bracket
_BOX = 1e-3  # share of the level that the box of two bounds has beside the supremum


def curve_refutes(
    claim: PrivacyLoss, tp: Array | int, fp: Array | int, n: Array | int, n_out: Array | int, *, alpha: Array | float
) -> Array:
    """True if each of many events, taken alone, refutes the claim at level alpha.

    >>> from privet import privacy
    >>> curve_refutes(privacy.PureLoss(0.5), np.array([7, 700]), np.array([3, 300]), [10, 1000], [10, 1000], alpha=0.05)
    array([False,  True])
    """
    hits, others = np.asarray(tp), np.asarray(fp)
    fpr = rate_above(others, n_out, np.asarray(alpha) / 2.0)
    fnr = rate_above(np.asarray(n) - hits, n, np.asarray(alpha) / 2.0)
    # The same two bounds serve the event and its complement: the curve is a bound for either order of the worlds.
    rates = np.stack(np.broadcast_arrays(fpr, fnr))
    least = tradeoff(claim, rates)
    return np.asarray((rates[::-1] < least).any(axis=0))


@dataclass(frozen=True)
class Curve(Statistic[CurveTest]):
    """A claimed price, through its whole trade-off curve; see `curve_test`.

    >>> from privet import privacy
    >>> Curve(privacy.GaussianLoss(2.0)).test(Counts(tp=700, fp=300, n=1000), alpha=0.05).verdict
    'violated'
    """

    claim: PrivacyLoss

    def __post_init__(self) -> None:
        if not isinstance(self.claim, PrivacyLoss):
            raise InvalidParameter(f"claim must be a PrivacyLoss, got {type(self.claim).__name__}")

    def screen(self, tp: Array, fp: Array, n: int, n_out: int, alpha: float) -> Array:
        return gaussian_mu(tp, fp, n, n_out, alpha=alpha)  # separates the worlds best; only a choice, so no assumption

    def test(self, counts: Counts, *, alpha: float) -> CurveTest:
        level = open_fraction("alpha", alpha)
        return CurveTest(
            claim=self.claim,
            p_value=_p_value(self.claim, counts),
            alpha=level,
            method="trade-off curve, supremum over the rates",
            counts=counts,
        )


def _p_value(claim: PrivacyLoss, counts: Counts) -> float:
    """The supremum test; where it cannot tell any smaller, a thousandth of the level goes to the box of two bounds."""
    if not isinstance(counts, Counts):
        raise InvalidParameter("a curve is tested with the counts of one event in two worlds")
    p = supremum_p_value(counts, lambda rates: np.asarray(tradeoff(claim, rates)))
    shared = min(1.0, p / (1.0 - _BOX))
    return shared if p > 2.0 * LEAST else min(shared, box_p_value(claim, counts) / _BOX)


def box_p_value(claim: PrivacyLoss, counts: Counts) -> float:
    """The p-value of `curve_refutes`, from above: two separate bounds make a box, which is valid but far too large.

    >>> from privet import privacy
    >>> box_p_value(privacy.PureLoss(0.5), Counts(tp=700, fp=300, n=1000)) < 1e-6
    True
    """
    low, high = _LEAST, 0.0  # smaller levels have wider bounds, so a bracket can be narrowed
    for _ in range(5):
        levels = np.linspace(low, high, _GRID)
        refuted = curve_refutes(claim, counts.tp, counts.fp, counts.n, counts.n_out, alpha=np.exp(levels))
        if not refuted.any():
            return 1.0
        first = int(refuted.argmax())
        low, high = float(levels[max(first - 1, 0)]), float(levels[first])
    return math.exp(high)


def box_test(counts: Counts, *, claim: PrivacyLoss, alpha: float = 0.05) -> CurveTest:
    """The curve test by two separate bounds, alpha/2 each: weaker, but it refutes whatever `point_lower` refutes.

    **Guarantee:** as of `curve_test`.

    >>> from privet import privacy
    >>> box_test(Counts(tp=700, fp=300, n=1000), claim=privacy.PureLoss(0.5)).verdict
    'violated'
    """
    return CurveTest(
        claim=claim,
        p_value=box_p_value(claim, counts),
        alpha=open_fraction("alpha", alpha),
        method="trade-off curve, Clopper-Pearson",
        counts=counts,
    )


def curve_test(counts: Counts, *, claim: PrivacyLoss, alpha: float = 0.05) -> CurveTest:
    """Test a claimed price with one event: rejects when the false-negative rate lies below the claim's curve.

    The p-value is the largest probability, over all pairs of error rates on or above `accounting.tradeoff(claim, .)`,
    that counts lie as far below that curve as the observed ones do; the curve is a certified lower bound for both orders
    of the worlds.

    **Guarantee:** P[p_value <= alpha] <= alpha if the claim is true and the event was chosen without a look at these
    counts. No assumption on the mechanism: the curve *is* the claim. **Error:** after 100,000 runs on a Gaussian
    mechanism with epsilon = 1, delta = 1e-5, a sigma that is 10% too small is found with probability 0.99.
    **Reference:** Wasserman & Zhou 2010; Dong, Roth & Su 2019; Nasr et al. 2023.

    >>> from privet import privacy
    >>> test = curve_test(Counts(tp=56_000, fp=44_000, n=100_000), claim=privacy.GaussianLoss(4.0))
    >>> test.verdict, test.p_value < 1e-6
    ('violated', True)
    """
    return Curve(claim).test(counts, alpha=alpha)


def family_lower(
    counts: Counts,
    *,
    family: Callable[[float], PrivacyLoss],
    bounds: tuple[float, float],
    delta: float,
    alpha: float = 0.05,
) -> LowerBound:
    """Lower bound on epsilon for a mechanism whose price is `family(s)`, s unknown: the curve test, inverted.

    `family` is a price that falls with s (a noise multiplier, a scale) between the two `bounds`. Every s from some
    value on is refuted; the bound is the price there.

    **Guarantee:** P[lower > epsilon] <= alpha, **assuming** that the price is one of the family and falls with s.

    >>> from privet import privacy
    >>> counts = Counts(tp=55_300, fp=44_700, n=100_000)
    >>> bound = family_lower(counts, family=lambda z: privacy.GaussianLoss(z), bounds=(0.1, 1e3), delta=1e-5)
    >>> round(bound.lower, 3)
    0.93
    """
    level, at = open_fraction("alpha", alpha), fraction("delta", delta)
    low, high = above("bounds[0]", bounds[0], 0.0), above("bounds[1]", bounds[1], 0.0)
    if not low < high:
        raise InvalidParameter("bounds must satisfy 0 < low < high")

    def refuted(s: float, seen: Counts) -> bool:
        return bool(curve_refutes(family(s), seen.tp, seen.fp, seen.n, seen.n_out, alpha=level))

    def epsilon_at(s: float | None) -> float:
        return 0.0 if s is None else tightest.epsilon(family(s), delta=at).lower

    best = Counts(tp=counts.n, fp=0, n=counts.n, n_out=counts.n_out)
    edge = _first_refuted(lambda s: refuted(s, counts), low, high)
    return LowerBound(
        lower=epsilon_at(edge),
        delta=at,
        alpha=level,
        method="trade-off curve of a family" + ("" if edge is None else f", refuted from {edge:.6g} on"),
        ceiling=epsilon_at(_first_refuted(lambda s: refuted(s, best), low, high)),
        counts=counts,
        unit=family(low).unit,
        assumption="the price is one of the given family",
    )


def _first_refuted(refuted: Callable[[float], bool], low: float, high: float) -> float | None:
    """The smallest s that is refuted (seen from above, on a logarithmic scale), or None."""
    if not refuted(high):
        return None
    if refuted(low):
        return low
    return bisect(refuted, low, high, within=1e-7)

"""An audit with one training run against a whole trade-off curve."""

from collections.abc import Callable

import numpy as np

from privet import noise
from privet._numerics import Array, bisect, bracket, special
from privet._validate import open_fraction
from privet.accounting import tradeoff
from privet.audit.coins import Coins
from privet.audit.counts import Guesses
from privet.audit.result import ADD_REMOVE, CurveTest, LowerBound
from privet.audit.statistics.canaries import guess
from privet.audit.statistics.gaussian import GDP_ASSUMPTION, epsilon_of_mu
from privet.errors import InvalidParameter
from privet.privacy import PrivacyLoss, Unit

_TABLE = 2048  # points of the curve that is tabulated, rounded to the safe side between them
# A p-value is one of these levels, or the one asked for: the smallest from which on all reject.
_LEVELS = 10.0 ** np.linspace(0.0, -9.0, 37)

Mirror = Callable[[float], float]  # x -> f(1 - x) for a symmetric trade-off curve f: never more than the truth


def one_run_rejects(guesses: Guesses, *, mirror: Mirror, alpha: float) -> bool:
    """True if a curve is refuted at level alpha by the number of correct guesses.

    `mirror(x)` is f(1 - x), which for a symmetric curve is the inverse of 1 - f.

    >>> one_run_rejects(Guesses(correct=95, made=100, canaries=1000), mirror=lambda x: x, alpha=0.05)
    True
    """
    m, r, v = guesses.canaries, guesses.made, guesses.correct
    share = r / m * (1.0 + 1e-12)
    right, wrong = alpha * v / m, alpha * (r - v) / m
    for i in range(v - 1, -1, -1):
        grown = max(wrong, mirror(right))
        if grown <= wrong:
            return False
        right = min(1.0, right + i / (r - i) * (grown - wrong))
        wrong = grown
        if right + wrong > share:
            return True
    return False


def one_run_mu(guesses: Guesses, *, alpha: float) -> float:
    """The largest mu up to which mu-GDP is refuted (0 when not even that), from below.

    >>> round(one_run_mu(Guesses(correct=95, made=100, canaries=1000), alpha=0.05), 6)
    0.786812
    """

    def refuted(mu: float) -> bool:
        return one_run_rejects(guesses, mirror=_gaussian_mirror(mu), alpha=alpha)

    if not refuted(0.0):
        return 0.0
    low, high = bracket(lambda mu: not refuted(mu), 0.5)
    return bisect(refuted, high, low, steps=44)


def one_run_fdp_lower(guesses: Guesses, *, delta: float, alpha: float = 0.05, unit: Unit = ADD_REMOVE) -> LowerBound:
    """The bound of `one_run_fdp` from the counts alone.

    >>> round(one_run_fdp_lower(Guesses(correct=95, made=100, canaries=1000), delta=1e-5).lower, 4)
    3.3233
    """
    level, slack = open_fraction("alpha", alpha), open_fraction("delta", delta)
    all_right = Guesses(correct=guesses.made, made=guesses.made, canaries=guesses.canaries)
    mu = one_run_mu(guesses, alpha=level)
    return LowerBound(
        lower=epsilon_of_mu(mu, slack),
        delta=slack,
        alpha=level,
        method=f"one run, f-DP, mu >= {mu:.6g} (Mahloujifar, Melis & Chaudhuri 2024)",
        ceiling=epsilon_of_mu(one_run_mu(all_right, alpha=level), slack),
        counts=guesses,
        unit=unit,
        assumption=GDP_ASSUMPTION,
        selection="fixed in advance (numbers of guesses)",
    )


def one_run_fdp(
    scores: Array,
    included: Coins | Array,
    *,
    delta: float,
    alpha: float = 0.05,
    top: int | None = None,
    bottom: int | None = None,
    unit: Unit = ADD_REMOVE,
    source: noise.Source | None = None,
) -> LowerBound:
    """Lower bound on epsilon from one training run, **assuming** a Gaussian trade-off curve.

    Coins, scores, `top` and `bottom` as for `one_run`, whose bound it exceeds by about a half. That mu-GDP does not
    hold below the mu it names needs no assumption; turning mu into an epsilon does.

    **Guarantee:** P[lower > epsilon] <= alpha when the curve is Gaussian. **Error:** about 0.6 of epsilon with 4,000
    Gaussian canaries. **Reference:** Mahloujifar, Melis & Chaudhuri 2024.

    >>> coins = Coins.draw(1000)
    >>> one_run_fdp(coins.included * 1.0, coins, delta=1e-5, top=200, bottom=200).lower > 6.0
    True
    """
    guesses = guess(scores, included, top=top, bottom=bottom, source=source)
    return one_run_fdp_lower(guesses, delta=delta, alpha=alpha, unit=unit)


def one_run_curve(guesses: Guesses, *, claim: PrivacyLoss, alpha: float = 0.05) -> CurveTest:
    """Test a claimed price by its whole curve, from one training run. No assumption: the curve is the claim.

    **Guarantee:** P[p_value <= alpha] <= alpha if the claim is true. The p-value is the smallest of a fixed list of
    levels from which on all reject. **Reference:** Mahloujifar, Melis & Chaudhuri 2024.

    >>> from privet import privacy
    >>> one_run_curve(Guesses(correct=95, made=100, canaries=1000), claim=privacy.GaussianLoss(2.0)).verdict
    'violated'
    """
    if not isinstance(claim, PrivacyLoss):
        raise InvalidParameter(f"claim must be a PrivacyLoss, got {type(claim).__name__}")
    level, mirror = open_fraction("alpha", alpha), _mirror(claim)
    p_value = 1.0
    for tried in sorted({level, *_LEVELS.tolist()} - {1.0}, reverse=True):
        if not one_run_rejects(guesses, mirror=mirror, alpha=tried):
            break
        p_value = tried
    return CurveTest(
        claim=claim,
        p_value=p_value,
        alpha=level,
        method="one run, f-DP (Mahloujifar, Melis & Chaudhuri 2024)",
        counts=guesses,
        selection="fixed in advance (numbers of guesses)",
    )


def _gaussian_mirror(mu: float) -> Mirror:
    ndtr, ndtri = special().ndtr, special().ndtri
    return lambda x: float(ndtr(ndtri(x) - mu))


def _mirror(claim: PrivacyLoss) -> Mirror:
    """x -> f(1 - x): in closed form for a Gaussian curve, else a convex function below it, from a table.

    The smaller of two directions' curves need not be convex, and the theorem speaks of convex curves: the convex hull
    from below is a curve that both directions obey. Each value is used one place later, since it rises with x.
    """
    mu = claim.gaussian()
    if mu is not None:
        return _gaussian_mirror(mu * (1.0 + 1e-12))
    logits = np.linspace(-40.0, 30.0, _TABLE)
    places = np.concatenate(([0.0], special().expit(logits), [1.0]))
    values = tradeoff(claim, np.concatenate(([1.0], special().expit(-logits))))
    corners = _hull_from_below(places, np.concatenate(([0.0], values)))
    return lambda x: float(np.interp(x, *corners))


def _hull_from_below(x: Array, y: Array) -> tuple[Array, Array]:
    """The corners of the largest convex function below the points."""
    kept: list[int] = []
    for i in range(len(x)):
        while len(kept) > 1:
            a, b = kept[-2:]
            if (y[b] - y[a]) * (x[i] - x[a]) < (y[i] - y[a]) * (x[b] - x[a]):
                break
            kept.pop()
        kept.append(i)
    return x[kept], y[kept]

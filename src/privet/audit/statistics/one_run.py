"""An audit with one training run: many canaries, one fair coin each."""

import math

import numpy as np

from privet import noise
from privet._numerics import LARGEST_EXPONENT, Array, bisect, special
from privet._validate import at_least, fraction, open_fraction
from privet.audit.coins import Coins
from privet.audit.counts import Guesses
from privet.audit.result import ADD_REMOVE, LowerBound
from privet.audit.statistics.canaries import guess
from privet.audit.statistics.clopper_pearson import rate_below
from privet.privacy import Unit

_REACH = 14.0  # standard deviations; the binomial mass beyond is below 1e-30 and is charged as such
_BEYOND = 1e-25  # added to a slope for what lies beyond the doubles: far below any p-value that is reported
_SCAN = 33  # claims that are tried before a bisection, so that it begins in the right place


def one_run(
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
    """Lower bound on epsilon from a single training run with canaries.

    Each canary went in or stayed out by a fair, independent coin (`Coins.draw`), everything else was fixed; a score
    is large when the output looks as if the canary was in. `top` and `bottom` are fixed before the scores are seen.

    **Guarantee:** P[lower > epsilon] <= alpha over coins and training, for every (epsilon, delta)-DP algorithm under
    `unit`: in/out coins audit `add_remove` and `zero_out`; for `replace` each coin must choose between two records.
    **Error:** about 0.4 of epsilon with 4,000 Gaussian canaries. **Reference:** Steinke, Nasr & Jagielski 2023.

    >>> coins = Coins.draw(1000)
    >>> one_run(coins.included * 1.0, coins, delta=1e-5, top=200, bottom=200).lower > 4.0
    True
    """
    return one_run_lower(
        guess(scores, included, top=top, bottom=bottom, source=source), delta=delta, alpha=alpha, unit=unit
    )


def one_run_lower(guesses: Guesses, *, delta: float, alpha: float = 0.05, unit: Unit = ADD_REMOVE) -> LowerBound:
    """The bound of `one_run` from the counts alone: the first epsilon whose p-value exceeds alpha.

    >>> round(one_run_lower(Guesses(correct=95, made=100, canaries=1000), delta=1e-5).lower, 6)
    2.165176
    """
    level, slack = open_fraction("alpha", alpha), fraction("delta", delta)
    all_right = Guesses(correct=guesses.made, made=guesses.made, canaries=guesses.canaries)
    return LowerBound(
        lower=_first_crossing(guesses, slack, level),
        delta=slack,
        alpha=level,
        method="one run (Steinke, Nasr & Jagielski 2023)",
        ceiling=_first_crossing(all_right, slack, level),
        counts=guesses,
        unit=unit,
        selection="fixed in advance (numbers of guesses)",
    )


def _first_crossing(guesses: Guesses, delta: float, alpha: float) -> float:
    """The largest epsilon up to which every p-value seen is at most alpha; a scan, then bisection inside one step."""
    if guesses.made == 0:
        return 0.0
    rate = float(rate_below(guesses.correct, guesses.made, alpha))  # the answer at delta = 0 is never exceeded
    limit = math.log(rate) - math.log1p(-rate) + 1e-6 if rate > 0.0 else 0.0
    low = 0.0
    if limit <= 0.0 or one_run_p_value(guesses, epsilon=0.0, delta=delta) > alpha:
        return 0.0
    for high in np.linspace(0.0, limit, _SCAN)[1:].tolist():
        if one_run_p_value(guesses, epsilon=high, delta=delta) > alpha:
            break
        low = high
    else:
        return low
    return bisect(lambda e: one_run_p_value(guesses, epsilon=e, delta=delta) <= alpha, high, low, steps=44)


def one_run_p_value(guesses: Guesses, *, epsilon: float, delta: float) -> float:
    """Bound on the chance of so many correct guesses under (epsilon, delta)-DP.

    p = F(v) + 2 m delta max over i of (F(v - i) - F(v))/i with F(t) = P[Bin(r, e^epsilon/(1 + e^epsilon)) >= t].

    >>> round(one_run_p_value(Guesses(correct=8, made=10, canaries=10), epsilon=0.0, delta=0.0), 6)
    0.054688
    """
    slack, r, v = fraction("delta", delta), guesses.made, guesses.correct
    q = 1.0 / (1.0 + math.exp(-min(at_least("epsilon", epsilon, 0.0), LARGEST_EXPONENT)))
    if v == 0:
        return 1.0
    tail = float(special().betainc(v, r - v + 1, q))
    if slack > 0.0:
        tail += 2.0 * guesses.canaries * slack * (_steepest(r, v, q) + _BEYOND)
    return min(1.0, tail * (1.0 + 1e-12))


def _steepest(r: int, v: int, q: float) -> float:
    """max over 1 <= i <= v of P[v - i <= Bin(r, q) < v]/i.

    Only the bulk of the binomial law has to be summed: the rest weighs nothing, and further down i only grows.
    """
    spread = _REACH * math.sqrt(r * q * (1.0 - q)) + _REACH
    low, high = max(0, math.floor(r * q - spread)), min(v - 1, r, math.ceil(r * q + spread))
    if low > high:
        return 0.0
    k = np.arange(high, low - 1, -1.0)
    ways = special().gammaln(r + 1.0) - special().gammaln(k + 1.0) - special().gammaln(r - k + 1.0)
    mass = np.exp(ways + special().xlogy(k, q) + special().xlog1py(r - k, -q))
    return float(np.max(np.cumsum(mass) / (v - k)))

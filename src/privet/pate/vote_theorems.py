"""The published data-dependent bounds of noisy votes: moments of 2017 and 2018, with all of their conditions.

They are about one direction only, and reproduce what papers print. The exact figures of `vote_law` are the default.
"""

import numpy as np

from privet._numerics import Array, special

_NEVER = 0.0  # a bound on a logarithm of a chance that says nothing


def log_losing_laplace(counts: Array, gamma: float) -> Array:
    """The logarithm of a bound on the chance that not the plurality wins, for each row of counts, Laplace noise 1/gamma.

    >>> log_losing_laplace(np.array([[250] + [0] * 9]), 0.05).round(6).tolist()
    [-9.014921]
    """
    gaps = gamma * _gaps(counts)
    return _capped(np.log((2.0 + gaps) / 4.0) - gaps, counts.shape[1])


def log_losing_normal(counts: Array, sigma: float) -> Array:
    """The same with normal noise of deviation sigma.

    >>> log_losing_normal(np.array([[250] + [0] * 9]), 40.0).round(6).tolist()
    [-10.019228]
    """
    return _capped(special().log_ndtr(-_gaps(counts) / (np.sqrt(2.0) * sigma)), counts.shape[1])


def ln_theorem(log_q: Array, gamma: float, orders: Array) -> Array:
    """Bounds on the Rényi divergence of LNMax, a row for each chance and a column for each order.

    **Reference:** Papernot et al. 2017, theorems 2 and 3: the condition is q <= 1/(exp(2 gamma) + 1).

    >>> bool(ln_theorem(np.array([-1e-9]), 0.05, np.array([2.0]))[0, 0] == 2 * 0.05**2 * 2)
    True
    """
    log_q, moments = log_q[:, None], orders[None, :] - 1.0
    plain = np.minimum(2.0 * gamma**2 * orders, 2.0 * gamma)[None, :]
    holds = log_q <= -np.logaddexp(0.0, 2.0 * gamma)
    safe = np.where(holds, log_q, -50.0 - 2.0 * gamma)
    stays = _log1mexp(safe)
    first = stays + moments * (stays - _log1mexp(np.minimum(safe + 2.0 * gamma, -1e-300)))
    found = np.logaddexp(first, safe + 2.0 * gamma * moments) / moments
    return np.where(holds, np.minimum(plain, found), plain)


def gn_theorem(log_q: Array, sigma: float, orders: Array) -> Array:
    """Bounds on the Rényi divergence of GNMax, a row for each chance and a column for each order.

    **Reference:** Papernot et al. 2018, theorem 6 and proposition 10, with the orders that they choose: mu2 = sigma
    sqrt(log 1/q) and mu1 = mu2 + 1. Conditions: order <= mu1, mu2 > 1, q exp(eps2) < 1, and q at most a bound of its own.

    >>> float(gn_theorem(log_losing_normal(np.array([[30, 0]]), 4.0), 4.0, np.array([2.0]))[0, 0].round(15))
    7.64558761e-07
    """
    log_q = np.minimum(log_q, _NEVER)[:, None]
    plain = (orders / sigma**2)[None, :]
    second = sigma * np.sqrt(-log_q)
    first = second + 1.0
    at_first, at_second = first / sigma**2, second / sigma**2
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        room = second * (np.log(first / (first - 1.0)) + np.log(second / (second - 1.0)))
        holds = (orders <= first) & (second > 1.0) & (log_q + at_second < 0.0)
        holds &= log_q <= (second - 1.0) * at_second - room
        moments = orders - 1.0
        inner = np.minimum((log_q + at_second) * (second - 1.0) / second, -1e-300)
        stays = _log1mexp(np.minimum(log_q, -1e-300))
        grown = stays + moments * (stays - _log1mexp(inner))
        found = np.logaddexp(grown, log_q + moments * (at_first - log_q / (first - 1.0))) / moments
    return np.where(holds & (found >= 0.0), np.minimum(plain, found), plain)


def threshold_theorem(tops: Array, threshold: float, sigma1: float, orders: Array) -> Array:
    """Bounds for the comparison of the largest counts with a threshold: an answer of two symbols, whose noise has half the
    variance of a difference of two counts and whose count moves by half as much.

    >>> found = threshold_theorem(np.array([250.0]), 200.0, 150.0, np.array([2.0]))
    >>> bool(found[0, 0] <= 2.0 / (2 * 150.0**2))
    True
    """
    reached = (tops - threshold) / sigma1
    log_q = special().log_ndtr(-np.abs(reached))
    return gn_theorem(log_q, np.sqrt(2.0) * sigma1, orders)


def epsilon_of(total: Array, orders: Array, delta: float, *, classic: bool = False) -> float:
    """The epsilon of a Rényi curve at a delta; `classic` is the conversion of the papers, which is larger.

    **Reference:** Canonne, Kamath & Steinke 2020, proposition 12; Mironov 2017, proposition 3.

    >>> round(epsilon_of(np.array([0.1]), np.array([10.0]), 1e-5, classic=True), 6)
    1.379214
    """
    if classic:
        return float(np.min(total - np.log(delta) / (orders - 1.0)))
    return float(np.min(total + np.log1p(-1.0 / orders) - (np.log(delta) + np.log(orders)) / (orders - 1.0)))


def _gaps(counts: Array) -> Array:
    """The distances of the other classes from the plurality."""
    ordered = np.sort(counts, axis=1)
    return np.asarray((ordered[:, -1:] - ordered[:, :-1]).astype(float))


def _capped(logs: Array, classes: int) -> Array:
    return np.asarray(np.minimum(special().logsumexp(logs, axis=1), np.log1p(-1.0 / classes)))


def _log1mexp(x: Array) -> Array:
    """ln(1 - exp(x)) of numbers below 0."""
    with np.errstate(divide="ignore"):
        return np.where(x > -0.69, np.log(-np.expm1(x)), np.log1p(-np.exp(x)))

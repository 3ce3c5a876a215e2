"""The laws of the number of tries in private selection, as probabilities and generating functions; no sampler."""

import numpy as np
from scipy.special import gammaln


def truncated_negative_binomial(eta: float, gamma: float, largest: int) -> np.ndarray:
    """P(K = k) for k = 1 .. largest: proportional to (1 - gamma)^k Gamma(k + eta)/k!; eta = 0 is the logarithmic law."""
    k = np.arange(1, largest + 1)
    if eta == 0.0:
        return (1.0 - gamma) ** k / (k * np.log(1.0 / gamma))
    sign, rising = (
        (1.0, gammaln(k + eta) - gammaln(eta)) if eta > 0.0 else (-1.0, gammaln(k + eta) - gammaln(1.0 + eta))
    )
    weight = np.exp(rising - gammaln(k + 1.0) + k * np.log1p(-gamma))
    return sign * weight * (abs(eta) if eta < 0.0 else 1.0) / (gamma**-eta - 1.0)


def mean_of_tries(eta: float, gamma: float) -> float:
    if eta == 0.0:
        return (1.0 / gamma - 1.0) / np.log(1.0 / gamma)
    return eta * (1.0 - gamma) / (gamma * (1.0 - gamma**eta))


def generating(eta: float, gamma: float, x: np.ndarray) -> np.ndarray:
    """E x^K."""
    if eta == 0.0:
        return np.log1p(-(1.0 - gamma) * x) / np.log(gamma)
    return ((1.0 - (1.0 - gamma) * x) ** -eta - 1.0) / (gamma**-eta - 1.0)


def poisson(mean: float, largest: int) -> np.ndarray:
    """P(K = k) for k = 0 .. largest."""
    k = np.arange(largest + 1)
    return np.exp(k * np.log(mean) - mean - gammaln(k + 1.0))


def best_of(law: np.ndarray, generate) -> np.ndarray:
    """The law of the best of K outputs, the last one being the best: no output (K = 0) comes first in rank."""
    reached = generate(np.concatenate(([0.0], np.minimum(np.cumsum(law), 1.0))))
    return np.diff(reached)

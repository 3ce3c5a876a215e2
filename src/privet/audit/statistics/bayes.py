"""One event in two worlds, Bayesian: a credible bound, kept apart from everything that gives verdicts."""

import numpy as np

from privet._numerics import Array, bisect, bracket, exp_capped, special
from privet._validate import at_least, fraction, open_fraction
from privet.audit.counts import Counts
from privet.audit.result import ADD_REMOVE, CredibleBound
from privet.privacy import Unit

_PANELS, _NODES = 24, 16  # of a composite Gauss-Legendre rule: small rules cost nothing to set up
_TAIL = 1e-14  # posterior mass of the false-positive rate left out at each end


def credible_lower(counts: Counts, *, delta: float, alpha: float = 0.05, unit: Unit = ADD_REMOVE) -> CredibleBound:
    """The alpha-quantile of the posterior of epsilon at this delta, under Jeffreys priors for both rates.

    Tighter than a confidence bound, and of another kind: over repeated audits of a sound mechanism it may lie above the
    truth more often than alpha.

    **Error:** quadrature, below 1e-6 in epsilon. **Reference:** Zanella-Béguelin et al. 2022.

    >>> round(credible_lower(Counts(tp=400, fp=100, n=1000), delta=1e-5).value, 4)
    1.2203
    """
    level, slack = open_fraction("alpha", alpha), fraction("delta", delta)
    rates = _false_positive_rates(counts)

    def unlikely(epsilon: float) -> bool:
        return _both_hold(counts, rates, epsilon, slack) < level

    low = 0.0
    if unlikely(0.0):
        below, beyond = bracket(lambda epsilon: not unlikely(epsilon), 1.0)
        low = bisect(unlikely, beyond, below, steps=48)
    return CredibleBound(
        value=low,
        delta=slack,
        credibility=1.0 - level,
        prior="Jeffreys, Beta(1/2, 1/2), for both rates",
        counts=counts,
        unit=unit,
    )


def posterior(counts: Counts, epsilon: float, *, delta: float) -> float:
    """Posterior probability that both inequalities hold with this epsilon (event and complement).

    >>> posterior(Counts(tp=5, fp=5, n=10), 50.0, delta=0.0) > 0.999
    True
    """
    return _both_hold(
        counts, _false_positive_rates(counts), at_least("epsilon", epsilon, 0.0), fraction("delta", delta)
    )


def _both_hold(counts: Counts, rule: tuple[Array, Array], epsilon: float, delta: float) -> float:
    rates, weights = rule
    growth = exp_capped(epsilon)
    # TPR <= e^epsilon FPR + delta, and 1 - FPR <= e^epsilon (1 - TPR) + delta solved for TPR
    most = np.minimum(growth * rates + delta, 1.0 - (1.0 - rates - delta) / growth)
    a, b = counts.tp + 0.5, counts.fn + 0.5
    return float(weights @ special().betainc(a, b, np.clip(most, 0.0, 1.0)))


def _false_positive_rates(counts: Counts) -> tuple[Array, Array]:
    """Nodes and weights for averages over the posterior of the false-positive rate.

    Gauss-Legendre in x with rate = sin^2(x): it takes the square-root poles of a Beta(1/2, .) density away.
    """
    a, b = counts.fp + 0.5, counts.tn + 0.5
    ends = np.arcsin(np.sqrt([special().betaincinv(a, b, _TAIL), special().betaincinv(a, b, 1.0 - _TAIL)]))
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    edges = np.linspace(float(ends[0]), float(ends[1]), _PANELS + 1)
    x = (0.5 * (edges[1] - edges[0]) * nodes + 0.5 * (edges[1:] + edges[:-1])[:, None]).ravel()
    sine, cosine = np.sin(x), np.cos(x)
    log_density = 2.0 * (a - 0.5) * np.log(sine) + 2.0 * (b - 0.5) * np.log(cosine)
    mass = np.tile(weights, _PANELS) * np.exp(log_density - log_density.max())
    return sine * sine, mass / mass.sum()

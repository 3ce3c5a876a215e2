"""The ladder of a fit: its price by four ways of adding up, from naive to tight."""

import math

from privet.accounting import Rdp, epsilon
from privet.errors import NoGuarantee
from privet.privacy import PrivacyLoss


def ladder(loss: PrivacyLoss, delta: float) -> dict[str, float]:
    """Epsilon at delta by basic and advanced composition, by Rényi divergences, and by the tightest method; nothing where
    there are no steps (fewer than three releases), or no delta. Only the last one is charged.

    >>> from privet.privacy import GaussianLoss, PoissonSampled, Repeated
    >>> made = ladder(Repeated(PoissonSampled(GaussianLoss(4.0), 0.01), 10_000), 1e-5)
    >>> [f"{name} {value:.3g}" for name, value in made.items()]
    ['basic 235', 'advanced 14.3', 'RDP 1.04', 'tight 0.947']
    """
    parts = loss.parts()
    steps = sum(times for _, times in parts)
    if steps < 3 or not 0.0 < delta < 1.0:
        return {}
    try:
        each = [(epsilon(part, delta=delta / (2.0 * steps)).upper, times) for part, times in parts]
        rungs = {
            "basic": sum(times * one for one, times in each),
            "advanced": math.sqrt(2.0 * math.log(2.0 / delta) * sum(times * one * one for one, times in each))
            + sum(times * one * math.tanh(one / 2.0) for one, times in each),
            "RDP": Rdp().epsilon(loss, delta).upper,
            "tight": epsilon(loss, delta=delta).upper,
        }
    except NoGuarantee:
        return {}
    return rungs if all(map(math.isfinite, rungs.values())) else {}

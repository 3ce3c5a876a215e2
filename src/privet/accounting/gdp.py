"""Gaussian differential privacy: exact for Gaussian mechanisms, a bound for everything with a certified mu."""

import math
from dataclasses import dataclass

from privet.accounting.accountant import Accountant
from privet.accounting.bound import Bound
from privet.errors import NoGuarantee
from privet.privacy import PrivacyLoss
from privet.privacy.families.normal import enclose_gaussian, gaussian_epsilon, gaussian_rounding


@dataclass(frozen=True)
class Gdp(Accountant):
    """mu composes as a root of a sum of squares. Exact (two-sided) when every part is a Gaussian mechanism.

    The central-limit mu of sampled Gaussians is *not* a bound and is not used.

    **Guarantee:** delta(e) = Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu). **Reference:** Dong, Roth & Su 2019.

    >>> from privet import privacy
    >>> round(Gdp().epsilon(privacy.Repeated(privacy.GaussianLoss(100.0), 5000), 1e-6).upper, 7)
    3.3076007
    """

    def _epsilon(self, loss: PrivacyLoss, delta: float) -> Bound:
        mu, exact = _mu(loss)
        if mu == 0.0:
            return Bound(0.0, 0.0, "GDP", loss.unit)
        error = gaussian_rounding(mu)
        upper = gaussian_epsilon(mu, delta * (1.0 - 2.0 * min(error, 0.25))) * (1.0 + 1e-12)
        lower = 0.0
        if exact and error < 0.5:
            lower = gaussian_epsilon(mu, min(delta * (1.0 + error), 1.0 - 1e-16)) * (1.0 - 1e-12)
        return Bound(lower, upper, "GDP (exact)" if exact else "GDP", loss.unit)

    def _delta(self, loss: PrivacyLoss, epsilon: float) -> Bound:
        mu, exact = _mu(loss)
        if mu == 0.0:
            return Bound(0.0, 0.0, "GDP", loss.unit)
        lower, upper = enclose_gaussian(mu, epsilon)
        return Bound(lower if exact else 0.0, upper, "GDP (exact)" if exact else "GDP", loss.unit)


def _mu(loss: PrivacyLoss) -> tuple[float, bool]:
    exact = loss.gaussian()
    mu = loss.gdp() if exact is None else exact
    if not math.isfinite(mu):
        raise NoGuarantee(f"the loss {loss.kind!r} has no finite Gaussian-DP parameter")
    return mu, exact is not None

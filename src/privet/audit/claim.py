"""Claims: what an audit holds a mechanism to, as a price, whatever it was written as."""

import math
from numbers import Real

from privet.errors import InvalidParameter
from privet.privacy import ApproxLoss, GdpLoss, Guarantee, PrivacyLoss, PureLoss, ZcdpLoss

Claim = PrivacyLoss | Guarantee | float


def as_claim(claim: object, delta: float = 0.0) -> PrivacyLoss:
    """A price as it is; a number as an epsilon, with this delta; a guarantee as the price that just keeps it. Numbers and
    guarantees name no relation: they are taken to speak of records that are added or removed.

    >>> from privet.privacy import Guarantee
    >>> as_claim(Guarantee(mu=0.5))
    GdpLoss(mu=0.5)
    """
    if isinstance(claim, PrivacyLoss):
        return claim
    if not isinstance(claim, bool) and isinstance(claim, Real):
        claim = Guarantee(float(claim), delta)
    if not isinstance(claim, Guarantee):
        raise InvalidParameter(
            "an audit needs a claim: epsilon=1.0 (and delta=1e-5), or claim= with a price such as privacy.PureLoss(1.0)"
        )
    if claim.rho is not None:
        return ZcdpLoss(claim.rho)
    if claim.mu is not None:
        return GdpLoss(claim.mu)
    assert claim.epsilon is not None
    return ApproxLoss(claim.epsilon, claim.delta) if claim.delta else PureLoss(claim.epsilon)


def delta_of(claim: PrivacyLoss) -> float:
    """The delta at which a bound is told: 0 where the claim is pure, the one that it names, else 1e-5.

    >>> from privet.privacy import ApproxLoss, PureLoss
    >>> delta_of(PureLoss(1.0)), delta_of(ApproxLoss(1.0, 1e-3))
    (0.0, 0.001)
    """
    if math.isfinite(claim.pure()):
        return 0.0
    named = getattr(claim, "delta", None)
    return float(named) if isinstance(named, float) and 0.0 < named < 1.0 else 1e-5

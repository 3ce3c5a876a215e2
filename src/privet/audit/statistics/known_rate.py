"""Events whose rate without the secret is known: bounds and tests of a claim from one world."""

import math

from privet._numerics import special
from privet._validate import fraction, open_fraction
from privet.accounting import tradeoff
from privet.audit.counts import Hits
from privet.audit.result import ADD_REMOVE, CurveTest, LowerBound
from privet.audit.statistics.clopper_pearson import rate_below
from privet.errors import InvalidParameter
from privet.privacy import Grouped, PrivacyLoss, Unit


def known_rate_lower(hits: Hits, *, delta: float = 0.0, alpha: float = 0.05, unit: Unit = ADD_REMOVE) -> LowerBound:
    """Lower bound on epsilon from secrets that were hit more often than the known `chance` of a secret that was not in.

    Secrets in runs of their own: ln((p - delta)/chance), p being a lower confidence bound on the rate of hits. Secrets that
    shared one run are *not* independent trials of that rate: given the output each is hit with a chance of at most
    e^R/(e^R + 1/chance - 1), R being the epsilon of replacing a secret, which is at most twice that of adding one; pure
    claims only. Where chance itself was estimated, half of the level has paid for its upper end. Secrets that were put in
    several times are groups: the bound is divided by the number of copies.

    **Guarantee:** P[lower > epsilon] <= alpha, the event being fixed in advance.
    **Proof:** docs/proofs/audit/statistics/known_rate.md.

    >>> round(known_rate_lower(Hits(hits=8, secrets=10, chance=2**-10)).lower, 3)
    6.224
    >>> round(known_rate_lower(Hits(hits=8, secrets=10, chance=2**-10, one_run=True)).lower, 3)
    3.451
    """
    at, level = fraction("delta", delta), open_fraction("alpha", alpha)
    if at > 0.0 and (hits.one_run or hits.copies > 1):
        raise InvalidParameter("secrets of one run, or put in several times, are held against pure claims: delta=0")
    if unit.group_size != 1:
        raise InvalidParameter("say how often a secret was put in with copies=, not in the unit")
    part = level / 2.0 if hits.estimated else level
    return LowerBound(
        lower=_bound(hits, hits.hits, at, part, unit) / hits.copies,
        delta=at,
        alpha=level,
        method=_method(hits),
        ceiling=_bound(hits, hits.secrets, at, part, unit) / hits.copies,
        counts=hits,
        unit=unit,
    )


def known_rate_test(hits: Hits, *, claim: PrivacyLoss, alpha: float = 0.05) -> CurveTest:
    """A test of a claim by hits at a known rate: of its whole trade-off curve for secrets in runs of their own, of its pure
    epsilon for secrets of one run (a claim without one is never refuted by these).

    **Guarantee:** P[p_value <= alpha] <= alpha when the claim holds. **Proof:** docs/proofs/audit/statistics/known_rate.md.

    >>> from privet.privacy import PureLoss
    >>> known_rate_test(Hits(hits=8, secrets=10, chance=2**-10), claim=PureLoss(1.0)).verdict
    'violated'
    """
    level = open_fraction("alpha", alpha)
    price = claim if hits.copies == 1 else Grouped(claim, hits.copies)
    if hits.one_run:
        replaced = price.pure() * (1.0 if claim.unit.relation == "replace" else 2.0)
        most = float(special().expit(min(replaced + float(special().logit(hits.chance)), 700.0)))
    else:
        most = 1.0 - float(tradeoff(price, hits.chance))
    tail = float(special().bdtrc(hits.hits - 1, hits.secrets, min(most, 1.0))) if hits.hits else 1.0
    p_value = min(1.0, tail * (2.0 if hits.estimated else 1.0) * (1.0 + 1e-12))
    return CurveTest(claim=claim, p_value=p_value, alpha=level, method=_method(hits), counts=hits)


def _method(hits: Hits) -> str:
    return f"known rate, {'one run' if hits.one_run else 'runs of their own'}"


def _bound(hits: Hits, seen: int, delta: float, alpha: float, unit: Unit) -> float:
    low = float(rate_below(seen, hits.secrets, alpha))
    if not hits.one_run:
        return max(0.0, math.log((low - delta) / hits.chance)) if low > delta else 0.0
    if not 0.0 < low < 1.0:
        return 0.0
    replaced = float(special().logit(low)) - float(special().logit(hits.chance))
    return max(0.0, replaced if unit.relation == "replace" else replaced / 2.0)

"""The results of audits: a lower bound with its confidence, `violated` or `not refuted`, and nothing kinder."""

import math
from dataclasses import dataclass, replace
from typing import Literal, Protocol, Self

from privet._validate import at_least
from privet.accounting import tightest
from privet.audit.counts import Counts, Guesses, Hits
from privet.errors import InternalError, MixedUnits
from privet.privacy import PrivacyLoss, Unit

Verdict = Literal["violated", "not refuted", "depends on more than its input"]  # the last: runs are not independent

ADD_REMOVE = Unit()


class Result(Protocol):
    """A result as a selection needs it: how strong it is, and a copy that states the level of the whole selection."""

    @property
    def strength(self) -> float:
        """Larger means that more is refuted."""

    def selected(self, alpha: float, selection: str) -> Self:
        """The same finding under the level and the name of the selection that led to it."""


@dataclass(frozen=True, kw_only=True)
class LowerBound:
    """With confidence 1 - alpha, no mechanism that behaves as seen is (epsilon, delta)-DP for an epsilon below `lower`.

    `ceiling` is the largest bound that these sample sizes could have given: a claim at or above it cannot be refuted by
    them. `assumption` is None, or what must be true besides: then "violated" means that the claim and the assumption do
    not both hold. `selection` says how the event was chosen.

    **Guarantee:** P[lower > true epsilon] <= alpha, over the runs. A small bound says nothing in favour of a mechanism.

    >>> from privet import audit
    >>> bound = audit.point_lower(audit.Counts(tp=400, fp=100, n=1000), delta=1e-5, alpha=0.05)
    >>> bound.verdict(1.0), bound.verdict(2.0)
    ('violated', 'not refuted')
    """

    lower: float
    delta: float
    alpha: float
    method: str
    ceiling: float
    counts: Counts | Guesses | Hits
    unit: Unit = ADD_REMOVE
    assumption: str | None = None
    selection: str = "fixed in advance"

    def __post_init__(self) -> None:
        if not 0.0 <= self.lower < math.inf:
            raise InternalError(f"{self.method}: a lower bound must be finite and not negative")

    @property
    def strength(self) -> float:
        return self.lower

    def selected(self, alpha: float, selection: str) -> "LowerBound":
        return replace(self, alpha=alpha, selection=selection)

    def verdict(self, claim: PrivacyLoss | float) -> Verdict:
        """The verdict on a claimed price, or on an epsilon at this delta: `violated` if it lies below the bound.

        A price must speak about the same neighbours as the runs did: `MixedUnits` otherwise.
        """
        if not isinstance(claim, PrivacyLoss):
            return "violated" if self.lower > at_least("claim", claim, 0.0) else "not refuted"
        same_neighbours(self.unit, claim.unit)
        return "violated" if self.lower > tightest.epsilon(claim, delta=self.delta).upper else "not refuted"

    def __float__(self) -> float:
        return self.lower

    def __str__(self) -> str:
        assuming = "" if self.assumption is None else f"; assuming that {self.assumption}"
        return (
            f"epsilon >= {self.lower:.6g} at delta = {self.delta:g} with confidence {1.0 - self.alpha:.6g} "
            f"({self.method}; event {self.selection}{assuming}; {self.unit.describe()}; "
            f"claims from {self.ceiling:.4g} on are out of reach)"
        )


@dataclass(frozen=True, kw_only=True)
class CurveTest:
    """A test of a claim's whole trade-off curve: `p_value` bounds the chance of such counts if the claim is true.

    `share` is the part of the level that this test had, where several were made; the p-value is adjusted for it.

    **Guarantee:** P[p_value <= alpha] <= alpha for every alpha, when the claim holds.

    >>> from privet import audit, privacy
    >>> audit.curve_test(audit.Counts(tp=700, fp=300, n=1000), claim=privacy.GaussianLoss(2.0)).verdict
    'violated'
    """

    claim: PrivacyLoss
    p_value: float
    alpha: float
    method: str
    counts: Counts | Guesses | Hits
    selection: str = "fixed in advance"
    share: float = 1.0

    @property
    def unit(self) -> Unit:
        """The neighbours that the claim speaks about."""
        return self.claim.unit

    @property
    def strength(self) -> float:
        return -self.p_value

    def selected(self, alpha: float, selection: str) -> "CurveTest":
        # The level of one look and its p-value are scaled alike, so the verdict stays what it was.
        return replace(self, alpha=alpha, p_value=min(1.0, self.p_value * (alpha / self.alpha)), selection=selection)

    @property
    def verdict(self) -> Verdict:
        """`violated` when the p-value is at most alpha."""
        return "violated" if self.p_value <= self.alpha else "not refuted"

    def __str__(self) -> str:
        return (
            f"{self.verdict} at level {self.alpha:g}: p-value {self.p_value:.3g} "
            f"({self.method}; event {self.selection}; {self.unit.describe()})"
        )


@dataclass(frozen=True, kw_only=True)
class CredibleBound:
    """A Bayesian figure: given the prior, epsilon is at least `value` with posterior probability `credibility`.

    It is a statement about belief, not about error rates over repetitions. So it has no verdict, and no test takes it.

    >>> from privet import audit
    >>> hasattr(audit.credible_lower(audit.Counts(tp=400, fp=100, n=1000), delta=1e-5), "verdict")
    False
    """

    value: float
    delta: float
    credibility: float
    prior: str
    counts: Counts
    unit: Unit = ADD_REMOVE

    def __str__(self) -> str:
        return (
            f"epsilon >= {self.value:.6g} at delta = {self.delta:g} is believed with probability {self.credibility:.6g} "
            f"(prior: {self.prior}); not a confidence bound, no verdict"
        )


def same_neighbours(audited: Unit, claimed: Unit) -> None:
    """Refuse to hold runs on one kind of neighbours against a claim about another kind.

    >>> same_neighbours(Unit(), Unit())
    """
    if (audited.relation, audited.group_size) != (claimed.relation, claimed.group_size):
        raise MixedUnits(
            f"the runs differ by {audited.describe()}, the claim speaks of {claimed.describe()}; "
            "run neighbours of the claim's relation, or convert the claim (privacy.to_replace, privacy.Grouped)"
        )

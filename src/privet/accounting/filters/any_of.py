"""Several rules at once, each with its share of delta."""

import math
from dataclasses import dataclass

from privet._validate import flag, fraction, open_fraction, set_frozen
from privet.accounting.filters.amounts import COMPUTED
from privet.accounting.filters.filter import Filter, Rule
from privet.accounting.filters.rules import ApproxGdpFilter, BasicFilter, ZcdpFilter
from privet.errors import InvalidParameter

_SHARES = (0.25, 0.30, 0.45)  # of delta, for basic, zCDP and GDP
_ASIDE = 0.05  # of delta, that zCDP and GDP each set aside for pairs (epsilon, delta)
_POINTS = 1000  # losses without an epsilon that basic charges before its delta is used up


@dataclass(frozen=True)
class AnyOf(Filter):
    """Grant a request while at least one of several rules still holds with it. The rules' deltas must be shares.

    Every granted request enters the sums of *all* rules, a refused one none; a rule that was crossed never recovers.

    **Guarantee:** (largest epsilon, *sum* of the deltas). Proof: sums never decrease, so a rule that holds at the end
    held throughout. Cut an output event S by the first rule that holds at the end. On the part S_j the run is, request
    by request, the run under rule j alone (what all refuse, j refuses): P(S_j) <= e^epsilon Q(S_j) + delta_j. Add up.
    Giving each rule all of delta is *not* a filter: outputs then choose the rule, and the tests hold a counterexample.
    **Reference:** docs/explanation/adaptive-budgets.

    >>> from privet import privacy
    >>> filter = AnyOf((BasicFilter(epsilon=3.0), ZcdpFilter(epsilon=3.0, delta=1e-6)))
    >>> filter.start().what_fits(privacy.PureLoss(0.5)), filter.start().what_fits(privacy.GaussianLoss(50.0))
    (6, 925)
    """

    name = "any-of"
    of: tuple[Rule, ...]

    def __post_init__(self) -> None:
        set_frozen(self, of=tuple(self.of))
        if not self.of or not all(isinstance(rule, Rule) for rule in self.of):
            raise InvalidParameter("AnyOf takes at least one rule and nothing but rules")
        if self.delta >= 1.0:
            raise InvalidParameter("the deltas of the rules are shares of one delta and must add up to less than 1")

    @property
    def theorem(self) -> str:
        return f"any of {len(self.of)} with delta split: " + " | ".join(rule.theorem for rule in self.of)

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self.of

    @property
    def epsilon(self) -> float:
        """The promise: the largest of the rules' epsilons."""
        return max(rule.epsilon for rule in self.of)

    @property
    def delta(self) -> float:
        """The promise: the sum of the rules' deltas."""
        return math.fsum(rule.delta for rule in self.of)


def basic_or_zcdp(epsilon: float, *, delta: float, approximate: bool = True) -> Filter:
    """Basic or zCDP, whichever is kinder to what is asked: the default of ledgers begun before GDP joined it.

    Half of delta pays for the deltas of basic composition; of the other half zCDP sets a fifth aside. A budget that
    only sees losses without a delta (`approximate=False`) leaves all of delta to the conversion. delta = 0: pure DP.

    **Guarantee:** (epsilon, delta)-DP by `AnyOf`.

    >>> [round(rule.limits[0], 8) for rule in basic_or_zcdp(1.0, delta=1e-5).rules]
    [1.0, 0.02776203]
    """
    delta = fraction("delta", delta)
    if delta == 0.0:
        return BasicFilter(epsilon)
    if not flag("approximate", approximate):
        return AnyOf((BasicFilter(epsilon), ZcdpFilter(epsilon, delta=delta)))
    half = open_fraction("delta", delta) / 2.0
    return AnyOf((BasicFilter(epsilon, delta=half), ZcdpFilter(epsilon, delta=half, delta0=half / 5.0)))


def basic_zcdp_or_gdp(epsilon: float, *, delta: float) -> Filter:
    """The default rule of a budget: basic, zCDP or GDP, whichever grants most of what is asked.

    A quarter of delta pays for the deltas of basic composition, a thousandth of it for each loss without an epsilon of
    its own; 30% are zCDP's and 45% GDP's, each with 5% set aside for (epsilon, delta) pairs. delta = 0: pure DP.

    **Guarantee:** (epsilon, delta)-DP by `AnyOf`. **Reference:** docs/proofs/ledger/charging-at-a-delta.

    >>> from privet import privacy
    >>> state = basic_zcdp_or_gdp(3.0, delta=1e-6).start().charge(privacy.GaussianLoss(500.0))
    >>> state.standing, state.what_fits(privacy.PureLoss(0.5))
    (('basic', 'zCDP', 'GDP'), 5)
    """
    if delta == 0.0:
        return BasicFilter(epsilon)
    whole = open_fraction("delta", delta)
    basic, zcdp, gdp = (share * whole for share in _SHARES)
    aside = _ASIDE * whole
    return AnyOf(
        (
            BasicFilter(epsilon, delta=basic, at=basic / _POINTS * COMPUTED),
            ZcdpFilter(epsilon, delta=zcdp, delta0=aside),
            ApproxGdpFilter(epsilon, delta=gdp, delta0=aside),
        )
    )

"""The rules: one class per theorem about adaptively chosen losses."""

import math
from dataclasses import dataclass, field

import numpy as np

from privet._cache import remember
from privet._calls import door
from privet._numerics import LARGEST_EXPONENT, bisect, ndtr, square_up
from privet._validate import above, at_least, set_frozen
from privet.accounting.filters.amounts import COMPUTED
from privet.accounting.filters.filter import Rule
from privet.accounting.renyi import epsilon_of_renyi
from privet.accounting.zcdp import zcdp_epsilon
from privet.errors import InvalidParameter
from privet.privacy import PrivacyLoss, PureLoss
from privet.privacy.families.normal import enclose_gaussian


@door
@dataclass(frozen=True)
class BasicFilter(Rule):
    """Epsilons and deltas add up; with delta = 0 the filter for pure DP.

    `at`, fixed with the budget, is the delta at which a loss without an epsilon of its own (a Gaussian, a sampled plan)
    is charged: as the pair (its epsilon at `at`, `at`). With `at` = 0 its price is infinite, which ends the
    rule (alone: it is refused).

    **Guarantee:** sum epsilon_i <= epsilon and sum delta_i <= delta give (epsilon, delta)-DP, adaptively.
    **Reference:** Rogers, Roth, Ullman & Vadhan 2016.

    >>> from privet import privacy
    >>> BasicFilter(epsilon=1.0).start().charge(privacy.PureLoss(0.1), 10).remaining["basic epsilon"]
    0.0
    """

    name = "basic"
    source = "Rogers, Roth, Ullman & Vadhan 2016"
    currencies = ("epsilon", "delta")
    pairs = True
    at: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        if self.delta == 0.0:  # pure DP, which other rules cannot promise: `Rule` asks for a delta above 0
            set_frozen(self, epsilon=above("epsilon", self.epsilon, 0.0))
        else:
            super().__post_init__()
        set_frozen(self, at=at_least("at", self.at, 0.0))
        if self.at > self.delta:
            raise InvalidParameter(f"at is a share of delta = {self.delta:g} and cannot be larger, got {self.at:g}")

    @property
    def share(self) -> float:
        return self.at

    @property
    def limits(self) -> tuple[float, ...]:
        return self.epsilon, self.delta

    def price(self, loss: PrivacyLoss) -> tuple[float, ...]:
        return loss.approximate()

    def pure_room(self, remaining: float) -> float:
        return remaining


@door
@dataclass(frozen=True)
class AdvancedFilter(Rule):
    """Advanced composition with adaptive parameters: sqrt(2 ln(1/delta') S) + S/2 <= epsilon, S = sum epsilon_i^2.

    `delta0` is the part of delta set aside for the parts' own deltas; delta' = delta - delta0.

    **Guarantee:** (epsilon, delta)-DP. **Reference:** Whitehouse, Ramdas, Rogers & Wu 2023.

    >>> from privet import privacy
    >>> AdvancedFilter(epsilon=1.0, delta=1e-5).start().what_fits(privacy.PureLoss(0.01))
    416
    """

    name = "advanced"
    pairs = True
    source = "Whitehouse, Ramdas, Rogers & Wu 2023"
    currencies = ("sum of epsilon^2", "delta")
    delta0: float = field(default=0.0, kw_only=True)

    @property
    def limits(self) -> tuple[float, ...]:
        # sqrt(S) is the root of x^2/2 + sqrt(twice_log) x = epsilon, written without a difference of near numbers
        twice_log = -2.0 * math.log(self._rest())
        root = 2.0 * self.epsilon / (math.sqrt(twice_log + 2.0 * self.epsilon) + math.sqrt(twice_log))
        return root * root * COMPUTED, self.delta0

    def price(self, loss: PrivacyLoss) -> tuple[float, ...]:
        epsilon, delta = loss.approximate()
        return square_up(epsilon), delta

    def pure_room(self, remaining: float) -> float:
        return math.sqrt(remaining)


@door
@dataclass(frozen=True)
class ZcdpFilter(Rule):
    """rho adds up. Every order obeys the same stopping rule, so the best one may be chosen for the conversion.

    `delta0` is the part of delta set aside for parts that are only delta0-approximate zCDP; the rest is converted.

    **Guarantee:** sum rho_i <= rho*, sum delta0_i <= delta0 give delta0-approximate rho*-zCDP: (epsilon, delta)-DP.
    **Reference:** Feldman & Zrnic 2021; Whitehouse et al. 2023 for delta0; Canonne, Kamath & Steinke 2020 (conversion).

    >>> from privet import privacy
    >>> rule = ZcdpFilter(epsilon=1.0, delta=1e-5)
    >>> round(rule.limits[0], 8), rule.start().what_fits(privacy.GaussianLoss(50.0))
    (0.0305566, 152)
    """

    name = "zCDP"
    source = "Feldman & Zrnic 2021; Whitehouse, Ramdas, Rogers & Wu 2023"
    currencies = ("rho", "delta0")
    delta0: float = field(default=0.0, kw_only=True)

    @property
    def limits(self) -> tuple[float, ...]:
        return _largest_rho(self.epsilon, self._rest()), self.delta0

    def price(self, loss: PrivacyLoss) -> tuple[float, ...]:
        return loss.zcdp()

    def pure_room(self, remaining: float) -> float:
        return math.sqrt(2.0 * remaining)  # epsilon-DP is epsilon^2/2-zCDP


@remember(2**16)  # every ledger that begins asks for it
def _largest_rho(epsilon: float, delta: float) -> float:
    """The largest rho whose conversion meets (epsilon, delta), rounded down."""
    most = epsilon
    while zcdp_epsilon(most, delta) <= epsilon:  # happens for a large delta only
        most *= 2.0
    # by logarithms, since rho may be smaller than any fixed tolerance
    minus_log = bisect(lambda x: zcdp_epsilon(math.exp(-x), delta) <= epsilon, -math.log(most), LARGEST_EXPONENT)
    return math.exp(-minus_log) * COMPUTED


@door
@dataclass(frozen=True)
class RdpFilter(Rule):
    """Rényi divergences of one order add up; the order is fixed when the budget is opened.

    Picking afterwards the order that still fits is not covered by the theorem (outputs would choose it): use `AnyOf`
    with a share of delta per order. `best_order_for` suggests an order for an expected workload.

    **Guarantee:** sum R_i(alpha) <= B, sum delta0_i <= delta0 give (epsilon, delta)-DP.
    **Reference:** Feldman & Zrnic 2021; delta0 as for `ZcdpFilter`.

    >>> from privet import privacy
    >>> step = privacy.PoissonSampled(privacy.GaussianLoss(1.0), q=0.01)
    >>> RdpFilter(epsilon=3.0, delta=1e-5, alpha=8.0).start().what_fits(step) > 1500
    True
    """

    name = "RDP"
    source = "Feldman & Zrnic 2021, at one order fixed in advance"
    currencies = ("Rényi divergence", "delta0")
    delta0: float = field(default=0.0, kw_only=True)
    alpha: float = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, alpha=above("alpha", self.alpha, 1.0))
        if self.limits[0] <= 0.0:
            raise InvalidParameter(
                f"order {self.alpha:g} proves nothing at ({self.epsilon:g}, {self.delta:g}); take a larger order"
            )

    @property
    def limits(self) -> tuple[float, ...]:
        overhead = epsilon_of_renyi(self.alpha, 0.0, self._rest())
        # the margin is that of `COMPUTED` on both numbers: on their small difference it would not cover their rounding
        return self.epsilon - overhead - 1e-12 * (self.epsilon + abs(overhead)), self.delta0

    def price(self, loss: PrivacyLoss) -> tuple[float, ...]:
        values, delta0 = loss.rdp(np.array([self.alpha]))
        return float(values[0]), delta0

    def pure_room(self, remaining: float) -> float:
        # the divergence of epsilon-DP is at most epsilon and at most alpha epsilon^2/2: either may be the smaller one
        return max(remaining, math.sqrt(2.0 * remaining / self.alpha))


@door
@dataclass(frozen=True)
class GdpFilter(Rule):
    """Squares of mu add up. The rule that grants most Gaussian releases; a loss without a finite mu is refused.

    **Guarantee:** sum mu_i^2 <= mu*^2 gives mu*-GDP, hence (epsilon, delta)-DP.
    **Reference:** Smith & Thakurta 2022; Koskela, Tobaben & Honkela 2023.

    >>> from privet import privacy
    >>> GdpFilter(epsilon=1.0, delta=1e-5).start().what_fits(privacy.GaussianLoss(50.0))
    179
    """

    name = "GDP"
    source = "Smith & Thakurta 2022; Koskela, Tobaben & Honkela 2023"
    currencies = ("sum of mu^2",)

    @property
    def limits(self) -> tuple[float, ...]:
        return (_largest_square(self.epsilon, self.delta),)

    def price(self, loss: PrivacyLoss) -> tuple[float, ...]:
        return (square_up(loss.gdp()),)

    def pure_room(self, remaining: float) -> float:
        return pure_of_square(remaining)


@remember(2**16)
def _largest_square(epsilon: float, delta: float) -> float:
    """The largest mu^2 whose Gaussian meets (epsilon, delta), rounded down."""
    # mu = delta always fits, since delta_mu(e) <= delta_mu(0) < 0.4 mu; from there ln mu is raised until it does not
    least = math.log(delta)

    def fits(log: float) -> bool:
        return enclose_gaussian(math.exp(log), epsilon)[1] <= delta

    most = least + 1.0
    while fits(most):
        most += most - least
    mu = math.exp(bisect(fits, most, least))
    return mu * mu * COMPUTED


def pure_of_square(square: float) -> float:
    """The pure epsilon whose Gaussian envelope has this mu^2."""
    half = math.sqrt(square) / 2.0
    if half < 1e-6:  # the tail is nearly 1/2, where both logarithms cancel: the first term of the series
        return 4.0 * half / math.sqrt(2.0 * math.pi)
    tail = float(ndtr(-half))
    return math.log1p(-tail) - math.log(tail) if tail > 0.0 else math.inf


@dataclass(frozen=True)
class ApproxGdpFilter(Rule):
    """Squares of mu add up, outside failures that add up to at most `delta0`.

    A loss with a finite mu costs mu^2. A pair (epsilon, delta) is epsilon-DP outside an event of probability delta, hence
    as good as a Gaussian there: it costs the square of the mu of epsilon-DP, and delta.

    **Guarantee:** sum mu_i^2 <= mu*^2, sum delta_i <= delta0 give delta0-approximate mu*-GDP: (epsilon, delta)-DP.
    **Reference:** as `GdpFilter`; for delta0 docs/proofs/ledger/charging-at-a-delta.

    >>> from privet import privacy
    >>> rule = ApproxGdpFilter(epsilon=1.0, delta=1e-5, delta0=1e-6)
    >>> rule.start().what_fits(privacy.GaussianLoss(50.0)), rule.start().what_fits(privacy.ApproxLoss(0.1, 1e-7))
    (177, 4)
    """

    name = "GDP"
    source = "Smith & Thakurta 2022; Koskela, Tobaben & Honkela 2023"
    currencies = ("sum of mu^2", "delta0")
    delta0: float = field(default=0.0, kw_only=True)

    @property
    def limits(self) -> tuple[float, ...]:
        return _largest_square(self.epsilon, self._rest()), self.delta0

    def price(self, loss: PrivacyLoss) -> tuple[float, ...]:
        mu = loss.gdp()
        if math.isfinite(mu):
            return square_up(mu), 0.0
        epsilon, delta = loss.approximate()
        return (square_up(PureLoss(epsilon).gdp()) if math.isfinite(epsilon) else math.inf), delta

    def pure_room(self, remaining: float) -> float:
        return pure_of_square(remaining)

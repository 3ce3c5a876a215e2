"""A fixed number of releases, each dominated by one loss that is fixed at opening."""

import math
from dataclasses import dataclass, field
from functools import lru_cache

from privet._validate import count as whole_number, open_fraction, set_frozen
from privet.accounting.filters.filter import Rule
from privet.accounting.filters.rules import pure_of_square
from privet.accounting.tightest import epsilon as fixed_epsilon
from privet.errors import InvalidParameter
from privet.privacy import ApproxLoss, LaplaceLoss, PoissonSampled, PrivacyLoss, PureLoss, Repeated

_MARGIN = 1.0 + 1e-9  # the same computation on another machine may end a little higher


def dominated(loss: PrivacyLoss, by: PrivacyLoss) -> bool:
    """Is it proved that every release with this loss is also one with the loss `by`? False also means "not known".

    **Guarantee:** True only where a theorem says so: equal losses; anything epsilon-DP by `PureLoss(epsilon)`, anything
    (epsilon, delta)-DP by `ApproxLoss`; anything mu-GDP by a Gaussian pair mu apart; wider Laplace noise (it is the
    narrower one with more noise added); Poisson samples at a smaller rate of a dominated loss. Numbers that happen to be
    smaller, say a smaller epsilon at one delta, prove nothing. **Reference:** docs/proofs/ledger/slots.

    >>> from privet import privacy
    >>> dominated(privacy.LaplaceLoss(3.0), privacy.LaplaceLoss(2.0))
    True
    >>> dominated(privacy.GaussianLoss(3.0), privacy.LaplaceLoss(2.0))
    False
    """
    if loss.unit != by.unit:
        return False
    if loss == by:
        return True
    if isinstance(by, PureLoss):
        return loss.pure() <= by.epsilon
    if isinstance(by, ApproxLoss):
        epsilon, delta = loss.approximate()
        return epsilon <= by.epsilon and delta <= by.delta
    if isinstance(by, LaplaceLoss):
        return isinstance(loss, LaplaceLoss) and loss.scale >= by.scale
    if isinstance(by, PoissonSampled):
        return isinstance(loss, PoissonSampled) and loss.q <= by.q and dominated(loss.of, by.of)
    mu = by.gaussian()
    return mu is not None and loss.gdp() <= mu


@lru_cache(maxsize=256)
def _whole(loss: PrivacyLoss, count: int, delta: float) -> float:
    return fixed_epsilon(Repeated(loss, count), delta=delta).upper


@dataclass(frozen=True)
class SlotsFilter(Rule):
    """`count` releases, each dominated by `loss`: adaptive questions at a fixed price, hence the exact composition.

    A release whose loss is not known to be dominated ends the rule (alone: it is refused). As one of `AnyOf` it takes a
    share of delta like any rule. `SlotsFilter.of` computes epsilon.

    **Guarantee:** (epsilon, delta)-DP, checked at construction: `accounting.epsilon(Repeated(loss, count))` is at most
    epsilon. Which questions are asked, and when to stop, may depend on outputs. **Reference:** Dong, Roth & Su 2019;
    Zhu, Dong & Wang 2022, theorem 10; docs/proofs/ledger/slots.

    >>> from privet import privacy
    >>> rule = SlotsFilter(1.0, delta=1e-6, loss=privacy.LaplaceLoss(41.5), count=100)
    >>> rule.start().what_fits(privacy.LaplaceLoss(41.5)), rule.start().what_fits(privacy.LaplaceLoss(41.0))
    (100, 0.0)
    """

    name = "slots"
    source = "Dong, Roth & Su 2019; Zhu, Dong & Wang 2022"
    currencies = ("slots",)
    loss: PrivacyLoss = field(kw_only=True)
    count: int = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.loss, PrivacyLoss):
            raise InvalidParameter(f"loss must be a loss, got {type(self.loss).__name__}")
        set_frozen(self, count=whole_number("count", self.count, 1))
        cost = _whole(self.loss, self.count, self.delta)
        if not cost <= self.epsilon:
            raise InvalidParameter(
                f"{self.count} releases with this loss cost epsilon {cost:.9g} at delta {self.delta:g}, more than "
                f"{self.epsilon:g}; take fewer slots, more noise or SlotsFilter.of"
            )

    @classmethod
    def of(cls, loss: PrivacyLoss, count: int, *, delta: float) -> "SlotsFilter":
        """The rule whose epsilon is what so many releases cost together.

        >>> from privet import privacy
        >>> round(SlotsFilter.of(privacy.LaplaceLoss(41.5), 100, delta=1e-6).epsilon, 3)
        1.0
        """
        if not isinstance(loss, PrivacyLoss):
            raise InvalidParameter(f"loss must be a loss, got {type(loss).__name__}")
        cost = _whole(loss, whole_number("count", count, 1), open_fraction("delta", delta))
        return cls(cost * _MARGIN, delta=delta, loss=loss, count=count)

    @property
    def limits(self) -> tuple[float, ...]:
        return (float(self.count),)

    def price(self, loss: PrivacyLoss) -> tuple[float, ...]:
        return (1.0 if dominated(loss, self.loss) else math.inf,)

    def pure_room(self, remaining: float) -> float:
        if remaining < 1.0:
            return 0.0
        if isinstance(self.loss, PureLoss | ApproxLoss):
            return self.loss.epsilon
        mu = self.loss.gaussian()
        return 0.0 if mu is None else pure_of_square(mu * mu) * (1.0 - 1e-8)

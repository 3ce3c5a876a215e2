"""Rules whose promise is a zCDP or GDP statement itself: nothing is converted, so nothing is lost in converting."""

import math
from dataclasses import dataclass, field

from privet._numerics import square_up
from privet._validate import above, at_least, set_frozen
from privet.accounting.filters.filter import Rule
from privet.accounting.filters.rules import pure_of_square
from privet.privacy import PrivacyLoss


@dataclass(frozen=True)
class RhoFilter(Rule):
    """rho adds up to a cap that is named in rho.

    **Guarantee:** the whole is (delta0-approximate) rho-zCDP, adaptively; ask `accounting.zcdp_epsilon` for the
    (epsilon, delta) that follows. **Reference:** Feldman & Zrnic 2021; Whitehouse et al. 2023 for delta0.

    >>> from privet import privacy
    >>> RhoFilter(rho=0.02).start().what_fits(privacy.GaussianLoss(50.0))
    100
    """

    name = "zCDP"
    source = "Feldman & Zrnic 2021; Whitehouse, Ramdas, Rogers & Wu 2023"
    currencies = ("rho", "delta0")
    epsilon: float = field(default=math.inf, init=False, repr=False)  # none without a delta
    delta: float = field(default=0.0, init=False, repr=False)
    rho: float = field(kw_only=True)
    delta0: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        set_frozen(self, rho=above("rho", self.rho, 0.0))
        set_frozen(self, delta0=at_least("delta0", self.delta0, 0.0))

    @property
    def limits(self) -> tuple[float, ...]:
        return self.rho, self.delta0

    def price(self, loss: PrivacyLoss) -> tuple[float, ...]:
        return loss.zcdp()

    def pure_room(self, remaining: float) -> float:
        return math.sqrt(2.0 * remaining)


@dataclass(frozen=True)
class MuFilter(Rule):
    """Squares of mu add up to the square of a cap that is named in mu.

    **Guarantee:** the whole is mu-GDP, adaptively. **Reference:** Smith & Thakurta 2022; Koskela et al. 2023.

    >>> from privet import privacy
    >>> MuFilter(mu=0.5).start().what_fits(privacy.GaussianLoss(5.0))
    6
    """

    name = "GDP"
    source = "Smith & Thakurta 2022; Koskela, Tobaben & Honkela 2023"
    currencies = ("sum of mu^2",)
    epsilon: float = field(default=math.inf, init=False, repr=False)
    delta: float = field(default=0.0, init=False, repr=False)
    mu: float = field(kw_only=True)

    def __post_init__(self) -> None:
        set_frozen(self, mu=above("mu", self.mu, 0.0))

    @property
    def limits(self) -> tuple[float, ...]:
        return (square_up(self.mu),)

    def price(self, loss: PrivacyLoss) -> tuple[float, ...]:
        return (square_up(loss.gdp()),)

    def pure_room(self, remaining: float) -> float:
        return pure_of_square(remaining)

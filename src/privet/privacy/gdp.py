"""Gaussian differential privacy as a statement about a mechanism that is not otherwise known."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from privet._numerics import product_up
from privet._validate import at_least, set_frozen
from privet.privacy.families.normal_loss import NormalLoss
from privet.privacy.loss import PrivacyLoss
from privet.privacy.serial import register


@register
@dataclass(frozen=True, eq=False)
class GdpLoss(NormalLoss):
    """A mechanism known to be mu-GDP: telling two worlds apart is at least as hard as N(0,1) from N(mu,1).

    **Guarantee:** delta(e) = Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu); composes to sqrt(sum of mu^2).
    **Reference:** Dong, Roth & Su 2019.
    **Proof:** docs/proofs/privacy/zcdp_rdp_gdp.md.

    >>> round(float(GdpLoss(1.0).profile(1.0)), 10)
    0.1269367375
    """

    kind = "gdp"

    mu: float = field(metadata={"help": "mu of one release"})

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, mu=at_least("mu", self.mu, 0.0))

    def gaussian(self) -> float:
        return self.mu

    def grouped(self, size: int) -> PrivacyLoss:
        return GdpLoss(product_up(self.mu, size), unit=self.unit)

    @classmethod
    def examples(cls) -> Iterable[PrivacyLoss]:
        yield cls(0.5)
        yield cls(0.0)

"""Zero-concentrated differential privacy as a statement about a mechanism that is not otherwise known."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from privet._numerics import product_up
from privet._validate import at_least, set_frozen
from privet.privacy.loss import PrivacyLoss, ZcdpBound
from privet.privacy.renyi import variable_of_rdp
from privet.privacy.serial import register
from privet.privacy.variable import Direction, LossVariable


@register
@dataclass(frozen=True, eq=False)
class ZcdpLoss(PrivacyLoss):
    """A mechanism known to be rho-zCDP.

    **Guarantee:** Rényi divergence of every order a > 1 at most rho a. **Reference:** Bun & Steinke 2016.
    **Proof:** docs/proofs/privacy/zcdp_rdp_gdp.md.

    >>> ZcdpLoss(0.5).zcdp()
    ZcdpBound(rho=0.5, delta0=0.0)
    """

    kind = "zcdp"

    rho: float = field(metadata={"help": "rho of one release"})

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, rho=at_least("rho", self.rho, 0.0))

    def pure(self) -> float:
        return 0.0 if self.rho == 0.0 else math.inf

    def zcdp(self) -> ZcdpBound:
        return ZcdpBound(self.rho, 0.0)

    def variable(self, direction: Direction) -> LossVariable:
        return variable_of_rdp(self)

    def grouped(self, size: int) -> PrivacyLoss:
        return ZcdpLoss(product_up(self.rho, size, size), unit=self.unit)

    @classmethod
    def examples(cls) -> Iterable[PrivacyLoss]:
        yield cls(0.1)
        yield cls(0.0)

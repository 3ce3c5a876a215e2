"""The Gaussian mechanism."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from privet._cache import kept_property
from privet._numerics import ratio_down, ratio_up
from privet._validate import above_or_infinite, set_frozen
from privet.privacy.families.normal_loss import NormalLoss
from privet.privacy.loss import PrivacyLoss
from privet.privacy.serial import register
from privet.privacy.unit import Unit


@register
@dataclass(frozen=True, eq=False)
class GaussianLoss(NormalLoss):
    """Normal noise of standard deviation `noise_multiplier` times the l2-sensitivity under `unit`.

    Clip norm C means sensitivity C under add_remove and 2C under replace; the multiplier is relative to that.

    **Guarantee:** mu-GDP with mu = 1/noise_multiplier, exactly; rho-zCDP with rho = mu^2/2. Infinite noise is free.
    **Sensitivity:** l2, in every dimension. **Error:** standard deviation noise_multiplier * sensitivity per coordinate.
    **Reference:** Balle & Wang 2018; Dong, Roth & Su 2019.
    **Proof:** docs/proofs/privacy/gaussian.md.

    >>> round(float(GaussianLoss(noise_multiplier=1.0).profile(0.0)), 10)
    0.3829249225
    """

    kind = "gaussian"

    noise_multiplier: float = field(metadata={"help": "standard deviation over l2-sensitivity"})

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, noise_multiplier=above_or_infinite("noise_multiplier", self.noise_multiplier, 0.0))

    @kept_property
    def mu(self) -> float:
        """Distance of the two worlds in standard deviations, rounded up."""
        return ratio_up(1.0, self.noise_multiplier)

    def gaussian(self) -> float:
        return self.mu

    def grouped(self, size: int) -> PrivacyLoss:
        return GaussianLoss(ratio_down(self.noise_multiplier, size), unit=self.unit)

    @classmethod
    def examples(cls) -> Iterable[PrivacyLoss]:
        yield cls(2.0)
        yield cls(0.7, unit=Unit("replace"))
        yield cls(math.inf)

"""A price with a label: the same answers, but equal to nothing else."""

from dataclasses import dataclass
from typing import Any

from privet._numerics import Array
from privet._validate import set_frozen
from privet.privacy import Approximate, Direction, LossVariable, PrivacyLoss, RdpCurve, ZcdpBound


@dataclass(frozen=True, eq=False)
class Labelled(PrivacyLoss):
    """`of` under a label. A composition cannot merge two labels, so n labels are n honest single releases.

    This is what makes "n singles == one n-fold" a law about *counting*: without labels both sides have the same normal
    form, and a forgotten count would be forgotten on both.

    **Guarantee:** that of `of`. It is not registered and has no place in a ledger.

    >>> from privet import privacy
    >>> a = privacy.PureLoss(0.5)
    >>> Labelled(a, 1) == Labelled(a, 2), Labelled(a, 1).pure()
    (False, 0.5)
    """

    kind = "labelled"

    of: PrivacyLoss
    label: int

    def __post_init__(self) -> None:
        set_frozen(self, unit=self.of.unit)

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """As of the loss inside."""
        return self.of.exact

    def pure(self) -> float:
        return self.of.pure()

    def approximate(self) -> Approximate:
        return self.of.approximate()

    def zcdp(self) -> ZcdpBound:
        return self.of.zcdp()

    def gdp(self) -> float:
        return self.of.gdp()

    def gaussian(self) -> float | None:
        return self.of.gaussian()

    def rdp(self, alphas: Array) -> RdpCurve:
        return self.of.rdp(alphas)

    def stated_orders(self) -> tuple[float, ...]:
        return self.of.stated_orders()

    def variable(self, direction: Direction) -> LossVariable:
        return self.of.variable(direction)

    def profile(self, epsilon: Array | float, direction: Direction | None = None) -> Array:
        return self.of.profile(epsilon, direction)

    def to_dict(self) -> dict[str, Any]:
        """The dictionary of the loss inside, marked."""
        return {"kind": self.kind, "label": self.label, "of": self.of.to_dict()}

"""A price with a label: the same answers, but equal to nothing else."""

from dataclasses import dataclass, field
from typing import Any

from privet._numerics import Array
from privet._validate import set_frozen
from privet.privacy import Direction, PrivacyLoss, Unit
from privet.privacy.families.forwarding import Forwarding


@dataclass(frozen=True, eq=False)
class Labelled(Forwarding):
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
    unit: Unit = field(default=None, kw_only=True)  # type: ignore[assignment]  # that of the part

    def __post_init__(self) -> None:
        set_frozen(self, unit=self._about(self.of.unit))

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """As of the loss inside."""
        return self.of.exact

    @property
    def _answering(self) -> PrivacyLoss:
        return self.of

    def stated_orders(self) -> tuple[float, ...]:
        return self.of.stated_orders()

    def profile(self, epsilon: Array | float, direction: Direction | None = None) -> Array:
        return self.of.profile(epsilon, direction)

    def to_dict(self) -> dict[str, Any]:
        """The dictionary of the loss inside, marked."""
        return {"kind": self.kind, "label": self.label, "of": self.of.to_dict()}

"""A number with normal noise in proportion to its smooth sensitivity."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from privet._numerics import LARGEST_EXPONENT, UNIT_ROUNDOFF, Array, round_down
from privet._validate import above, at_least, set_frozen
from privet.errors import InvalidParameter
from privet.privacy.loss import PrivacyLoss, RdpCurve, orders_of
from privet.privacy.renyi import variable_of_rdp
from privet.privacy.serial import register
from privet.privacy.unit import Unit
from privet.privacy.variable import Direction, LossVariable

_ROUNDED = 16.0 * UNIT_ROUNDOFF  # of each term, in parts of it


@register
@dataclass(frozen=True, eq=False)
class SmoothReleaseLoss(PrivacyLoss):
    """f + S (`margin` + `scale` N(0, 1)), where S is a `beta`-smooth bound on the local sensitivity of f: neighbours have
    an S that differs by a factor of at most exp(beta), and an f that differs by at most the smaller S.

    `margin` counts how many S the mean is moved upwards, so that what is released is likely above f. S is as private as f,
    and a mean that moves by it is paid for.

    **Guarantee:** the exact Rényi divergence of two normal laws at the worst factor, exp(-beta), at orders below
    1/(1 - exp(-2 beta)); at larger ones nothing.
    **Reference:** Nissim, Raskhodnikova & Smith 2007; Papernot et al. 2018, whose bound is larger.
    **Proof:** docs/proofs/privacy/smooth_release.md.

    >>> SmoothReleaseLoss(0.02, 10.0).rdp([5.0]).values.round(9).tolist()
    [0.032154967]
    """

    kind = "smooth_release"

    beta: float = field(metadata={"help": "how far the logarithm of the smooth sensitivity moves"})
    scale: float = field(metadata={"help": "standard deviation over the smooth sensitivity"})
    margin: float = field(default=0.0, metadata={"help": "smooth sensitivities that are added to the mean"})
    unit: Unit = field(default=Unit(), kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        numbers = {name: above(name, getattr(self, name), 0.0) for name in ("beta", "scale")}
        if numbers["beta"] > LARGEST_EXPONENT / 4.0:
            raise InvalidParameter(f"beta must be at most {LARGEST_EXPONENT / 4.0:g}")
        if not 1e-100 <= numbers["scale"] <= 1e100:
            raise InvalidParameter("scale must lie between 1e-100 and 1e100: its square is computed with")
        set_frozen(self, **numbers, margin=at_least("margin", self.margin, 0.0))
        if self.margin > 1e100:
            raise InvalidParameter("margin must be at most 1e100: its square is computed with")

    @property
    def largest_order(self) -> float:
        """The order below which divergences are finite."""
        return round_down(-1.0 / float(np.expm1(-2.0 * self.beta)), 4.0)

    def rdp(self, alphas: Array) -> RdpCurve:
        """The divergence of the narrower law, one S further, at each order."""
        orders = orders_of(alphas)
        lost = -np.expm1(-2.0 * self.beta)  # 1 - r
        inside = orders < self.largest_order
        order = np.where(inside, orders, 1.0 + (min(self.largest_order, 3.0) - 1.0) / 2.0)
        u = order - 1.0
        left = np.maximum(1.0 - order * lost, UNIT_ROUNDOFF) * (1.0 - _ROUNDED * order)  # k, rounded down
        with np.errstate(over="ignore"):
            # -beta + log(r/k)/(2u), with the betas together: both terms are small where beta is, and keep their digits
            wider, narrower = (
                -np.log1p(-np.minimum(order * lost, 1.0 - UNIT_ROUNDOFF)) / (2.0 * u),
                self.beta * order / u,
            )
            spread = wider - narrower + _ROUNDED * (wider + narrower) + np.where(left < 0.1, _ROUNDED / (left * u), 0.0)
            moved = 1.0 + self.margin * float(np.expm1(self.beta))
            shifted = order * (np.exp(-2.0 * self.beta) / left) * (moved / self.scale) ** 2 / 2.0 * (1.0 + _ROUNDED)
            found = np.maximum(spread, 0.0) + shifted
        return RdpCurve(np.where(inside, found, np.inf), 0.0)

    def stated_orders(self) -> tuple[float, ...]:
        """Orders that come close to the largest one."""
        room = self.largest_order - 1.0
        return tuple(1.0 + room * share for share in (0.25, 0.5, 0.75, 0.9, 0.97))

    def variable(self, direction: Direction) -> LossVariable:
        return variable_of_rdp(self)

    @classmethod
    def examples(cls) -> Iterable[PrivacyLoss]:
        yield cls(0.02, 10.0)
        yield cls(0.1, 5.0, unit=Unit("replace"))
        yield cls(0.01, 20.0, 1.6)
        yield cls(1.0, 3.0)

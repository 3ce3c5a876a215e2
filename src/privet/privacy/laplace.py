"""The Laplace mechanism."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from privet._numerics import ROOMY_EXPONENT, UNIT_ROUNDOFF, Array, ratio_down, ratio_up
from privet._validate import above_or_infinite, set_frozen
from privet.privacy.families.sampling import MARGIN
from privet.privacy.families.within import WithinEpsilon
from privet.privacy.loss import PrivacyLoss, RdpCurve, orders_of
from privet.privacy.serial import register
from privet.privacy.unit import Unit
from privet.privacy.variable import AtomicVariable, Atoms, Direction, Enclosure, LossVariable, SymmetricVariable


@dataclass(frozen=True, eq=False)
class LaplaceVariable(WithinEpsilon, SymmetricVariable):
    """The pair of two Laplace laws of scale b, one apart: atoms at +-1/b, and L = (1 - 2x)/b for outcomes x in (0, 1).

    >>> LaplaceVariable(2.0).atoms().losses.tolist()
    [-0.5, 0.5]
    """

    scale: float

    @property
    def epsilon(self) -> float:  # type: ignore[override]
        """The largest loss."""
        return 1.0 / self.scale

    def atoms(self) -> Atoms:
        e = self.epsilon
        side = np.array([math.exp(-e) / 2.0, 0.5])
        return Atoms(np.array([-e, e]), side, side[::-1])

    def cells(self, nodes: Array) -> tuple[Array, Array]:
        # under P the continuous part has density exp((L - e)/2)/4 on (-e, e); under Q it is the mirror image
        e = self.epsilon
        low, width = self._pieces(nodes)
        p = np.exp((low + width - e) / 2.0) * -np.expm1(-width / 2.0) / 2.0  # from above: no cell is too wide for that
        q = np.exp((-low - e) / 2.0) * -np.expm1(-width / 2.0) / 2.0
        return p, q

    def delta(self, epsilon: Array | float) -> Array:
        e = np.asarray(epsilon, dtype=float)
        inside = -np.expm1((np.minimum(e, self.epsilon) - self.epsilon) / 2.0) + 0.0
        return np.where(e < -self.epsilon, -np.expm1(np.minimum(e, 0.0)), inside)

    def enclose(self, epsilon: float) -> Enclosure:
        move = 8.0 * UNIT_ROUNDOFF * self.epsilon  # the loss 1/scale is a float
        low, high = (float(self.delta(at)) for at in (epsilon + move, epsilon - move))
        return low * (1.0 - 1e-14), min(1.0, high * (1.0 + 1e-14))


@register
@dataclass(frozen=True, eq=False)
class LaplaceLoss(PrivacyLoss):
    """Laplace noise of scale `scale` times the l1-sensitivity under `unit`, in any dimension.

    **Guarantee:** pure 1/scale; delta(e) = 1 - exp((e - 1/scale)/2) for |e| <= 1/scale, exactly.
    **Sensitivity:** l1; a vector with l1-sensitivity 1 is dominated by the scalar pair (proof note).
    **Reference:** Dwork et al. 2006; Dong, Roth & Su 2019, section A for the curve.
    **Proof:** docs/proofs/privacy/laplace.md.

    >>> round(float(LaplaceLoss(scale=2.0).profile(0.0)), 10)
    0.2211992169
    """

    kind = "laplace"
    exact = True

    scale: float = field(metadata={"help": "scale over l1-sensitivity"})

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, scale=above_or_infinite("scale", self.scale, 0.0))

    def pure(self) -> float:
        return ratio_up(1.0, self.scale)

    def rdp(self, alphas: Array) -> RdpCurve:
        a = orders_of(alphas)
        e = self.pure()
        # ln of a mean of exponentials; x = mean - 1 collected so that small e keeps its digits
        x = (a * np.expm1(np.minimum((a - 1.0) * e, ROOMY_EXPONENT)) + (a - 1.0) * np.expm1(-a * e)) / (2.0 * a - 1.0)
        far = (a - 1.0) * e > ROOMY_EXPONENT
        log_mean = np.where(far, (a - 1.0) * e + np.log(a / (2.0 * a - 1.0)) + 1e-15, np.log1p(np.maximum(x, 0.0)))
        line = a * (e * e / 2.0) * (1.0 + MARGIN)
        value = np.where(a * e < 1e-4, line, log_mean / (a - 1.0) * (1.0 + 4e-12))  # tiny: the zCDP line
        return RdpCurve(np.minimum(value, np.minimum(e, line)), 0.0)

    def variable(self, direction: Direction) -> LossVariable:
        if math.isinf(self.scale):
            return AtomicVariable(np.zeros(1), np.ones(1), np.ones(1))
        return LaplaceVariable(self.scale)

    def grouped(self, size: int) -> PrivacyLoss:
        return LaplaceLoss(ratio_down(self.scale, size), unit=self.unit)

    @classmethod
    def examples(cls) -> Iterable[PrivacyLoss]:
        yield cls(2.0)
        yield cls(0.5, unit=Unit("replace"))
        yield cls(math.inf)

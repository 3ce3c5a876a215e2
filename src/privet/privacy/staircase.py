"""The staircase mechanism."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from privet._numerics import ROOMY_EXPONENT
from privet._validate import above, fraction, set_frozen
from privet.privacy.loss import PrivacyLoss
from privet.privacy.serial import register
from privet.privacy.variable import AtomicVariable, Direction, LossVariable


@register
@dataclass(frozen=True, eq=False)
class StaircaseLoss(PrivacyLoss):
    """Noise with a piecewise constant density that falls by exp(-epsilon) once per sensitivity, on a scalar query.

    `shape` is the share of a step before the fall; 1/(1 + exp(epsilon/2)), the default, has the least mean error.

    **Guarantee:** pure epsilon, exact pair with the losses epsilon, 0, -epsilon. **Sensitivity:** scalar, in its own unit.
    **Error:** mean |noise| = sensitivity exp(epsilon/2)/(exp(epsilon) - 1) at the default shape.
    **Reference:** Geng, Kairouz, Oh & Viswanath 2015.
    **Proof:** docs/proofs/privacy/staircase.md.

    >>> round(float(StaircaseLoss(1.0).profile(0.0)), 6), round(StaircaseLoss(1.0).shape, 6)
    (0.44042, 0.377541)
    """

    kind = "staircase"
    exact = True

    epsilon: float = field(metadata={"help": "epsilon of one release"})
    shape: float | None = field(default=None, metadata={"help": "gamma, the share of the inner step"})

    def __post_init__(self) -> None:
        super().__post_init__()
        epsilon = above("epsilon", self.epsilon, 0.0)
        best = 1.0 / (1.0 + math.exp(min(epsilon, ROOMY_EXPONENT) / 2.0))
        set_frozen(self, epsilon=epsilon, shape=fraction("shape", best if self.shape is None else self.shape))

    def pure(self) -> float:
        return self.epsilon

    def variable(self, direction: Direction) -> LossVariable:
        e, shape = self.epsilon, float(self.shape or 0.0)
        fall = math.exp(-e)
        height = -math.expm1(-e) / (2.0 * (shape + fall * (1.0 - shape)))  # of the density around zero
        top = 0.5 + height * min(shape, 1.0 - shape)  # P-mass of the loss epsilon
        flat = height * abs(1.0 - 2.0 * shape) * (fall if shape < 0.5 else 1.0)
        losses, p = np.array([-e, 0.0, e]), np.array([top * fall, flat, top])
        if flat == 0.0:
            return AtomicVariable(losses[::2], p[::2], p[::-2].copy())
        return AtomicVariable(losses, p, p[::-1].copy(), known_lattice=(-e, e))

    @classmethod
    def examples(cls) -> Iterable[PrivacyLoss]:
        yield cls(1.0)
        yield cls(0.3, 0.8)
        yield cls(2.0, 0.5)

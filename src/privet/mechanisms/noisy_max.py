"""Report noisy max."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, final, get_args

import numpy as np

from privet import noise
from privet._numerics import Array, bisect, bracket
from privet.errors import InvalidParameter
from privet.mechanisms.families.selection import SelectionMechanism
from privet.mechanisms.mechanism import Example, Source, register
from privet.privacy import ExponentialLoss, Guarantee, PermuteAndFlipLoss, PrivacyLoss, PureLoss, Unit

Kind = Literal["laplace", "gumbel", "exponential"]
_ARGMAX = {
    "laplace": noise.argmax_laplace,
    "gumbel": noise.argmax_gumbel,
    "exponential": noise.argmax_exponential,
}


@final
@register
@dataclass(frozen=True, kw_only=True)
class NoisyMax(SelectionMechanism):
    """The candidate with the largest score plus noise of this scale. Only the candidate is released: the noisy maximum
    is not covered by the price (release the score once more, with its own noise, if it is needed).

    The noise is continuous and drawn bit by bit until the winner is certain, so there are no ties to break. `noise` is
    "laplace" (the textbook's), "gumbel" (the law of `Exponential`) or "exponential" (that of `PermuteAndFlip`; never
    worse than "laplace" at the same price).

    **Guarantee:** pure epsilon = 2 sensitivity/scale (sensitivity/scale when monotonic); a teacher's vote that moves
    from one class to another at noise Lap(1/gamma) costs 2 gamma.
    **Sensitivity:** of the score.
    **Error:** Gumbel and exponential noise: as `Exponential`. Laplace: the shortfall exceeds x scale with probability at
    most (T - T_opt) (2 + x) exp(-x)/4.
    **Reference:** Dwork & Roth 2014, section 3.3; Ding et al. 2021.

    >>> votes = NoisyMax.for_budget(epsilon=1.0, sensitivity=1)
    >>> votes.scale, votes.release([250, 40, 10]).value
    (2.0, 0)
    """

    name = "noisy_max"

    noise: Kind = "laplace"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise not in get_args(Kind):
            raise InvalidParameter(f"noise must be one of {', '.join(get_args(Kind))}")

    def _price(self, epsilon: float) -> PrivacyLoss:
        unit = self.sensitivity.unit
        if self.noise == "gumbel":
            return ExponentialLoss(2.0 * epsilon if self.monotonic else epsilon, self.monotonic, unit=unit)
        return (PermuteAndFlipLoss if self.noise == "exponential" else PureLoss)(epsilon, unit=unit)

    def _choose(self, scores: Array, runs: int, source: Source) -> Any:
        argmax, scale = _ARGMAX[self.noise], Fraction(self.scale)
        return np.array([argmax(scores, scale=scale, source=source) for _ in range(runs)], dtype=np.int64)

    def _shortfall(self, total: int, optimal: int, beta: float) -> float:
        if self.noise != "laplace":
            return super()._shortfall(total, optimal, beta)
        # A difference of two Laplace variables exceeds x scales with probability (2 + x) exp(-x)/4; union over the rest.
        goal = math.log(4.0 * beta / max(1, total - optimal))

        def rare(x: float) -> bool:
            return math.log(2.0 + x) - x <= goal

        return self.scale * bisect(rare, *bracket(rare, 2.0), within=1e-12)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        teachers = cls.for_budget(epsilon=1.0, sensitivity=1, candidates=("cat", "dog", "fox"), unit=Unit("replace"))
        yield Example(teachers, [5, 9, 9], [6, 8, 8], Guarantee(1.0))
        for kind in ("gumbel", "exponential"):
            counts = cls.for_budget(epsilon=2.0, sensitivity=1, monotonic=True, candidates=range(3), noise=kind)
            yield Example(counts, [4, 2, 2], [4, 3, 3], Guarantee(2.0))

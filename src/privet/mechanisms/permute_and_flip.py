"""Permute-and-flip selection."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet import noise
from privet._numerics import Array
from privet.mechanisms.families.selection import SelectionMechanism
from privet.mechanisms.mechanism import Example, Source, register
from privet.privacy import Guarantee, PermuteAndFlipLoss, Unit


@final
@register
@dataclass(frozen=True, kw_only=True)
class PermuteAndFlip(SelectionMechanism):
    """Candidates in random order; each is taken with probability exp(-(best score - its score)/scale), until one is.

    The best single choice at a pure epsilon: its expected shortfall is never above that of `Exponential` and down to
    half of it. It has no bounded range, so a long sequence of choices is cheaper with `Exponential`.

    Every candidate is looked at: the law is that of the largest score plus exponential noise, and the time does not
    depend on the scores. (Stopping at the first candidate that is taken would be slower, and its time would tell.)

    **Guarantee:** pure epsilon = 2 sensitivity/scale (sensitivity/scale when monotonic).
    **Sensitivity:** of the score.
    **Error:** the bounds of `Exponential` hold as they are.
    **Reference:** McKenna & Sheldon 2020; Ding, Kifer, Steinke et al. 2021 (exponential noise).

    >>> vaccines = PermuteAndFlip.for_budget(epsilon=2.0, sensitivity=1.0, candidates=("A", "B"))
    >>> vaccines.exact_probabilities([10, 15]).round(8).tolist()
    [0.00336897, 0.99663103]
    >>> vaccines.release([10, 15]).value in ("A", "B")
    True
    """

    name = "permute_and_flip"

    def _price(self, epsilon: float) -> PermuteAndFlipLoss:
        return PermuteAndFlipLoss(epsilon, unit=self.sensitivity.unit)

    def _choose(self, scores: Array, runs: int, source: Source) -> Any:
        scale = Fraction(self.scale)
        return np.array(
            [noise.argmax_exponential(scores, scale=scale, source=source) for _ in range(runs)], dtype=np.int64
        )

    def exact_probabilities(self, scores: object) -> Array:
        """The law of the choice, p_r times the integral over [0, 1] of prod_{i != r} (1 - p_i s): for tests and audits,
        not releasable. Gauss-Legendre nodes integrate these polynomials exactly.
        """
        values = self._prepare(scores).astype(float)
        p = np.exp((values - values.max()) / self.scale)
        nodes, weights = np.polynomial.legendre.leggauss(len(p) // 2 + 1)
        factors = 1.0 - np.outer((nodes + 1.0) / 2.0, p)
        products = np.exp(np.log(factors).sum(axis=1, keepdims=True) - np.log(factors))
        return p * (weights / 2.0 @ products)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        vaccines = cls.for_budget(epsilon=1.0, sensitivity=1.0, candidates=("A", "B"), unit=Unit("replace"))
        yield Example(vaccines, [10.0, 14.0], [11.0, 13.0], Guarantee(1.0))
        quick = cls.for_budget(epsilon=2.0, sensitivity=1, monotonic=True, candidates=range(3))
        yield Example(quick, [4, 2, 2], [4, 3, 3], Guarantee(2.0))

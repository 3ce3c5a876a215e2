"""The exponential mechanism."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet import noise
from privet._numerics import Array
from privet.mechanisms.families.selection import SelectionMechanism
from privet.mechanisms.mechanism import Example, Source, register
from privet.privacy import ExponentialLoss, Guarantee, Unit


@final
@register
@dataclass(frozen=True, kw_only=True)
class Exponential(SelectionMechanism):
    """One candidate, chosen with probability proportional to exp(score/scale); any finite public list.

    For a single choice `PermuteAndFlip` is never worse. Where many choices are composed take this one: its privacy loss
    stays in an interval of length epsilon, so that each choice costs rho = epsilon^2/8 instead of epsilon^2/2.

    **Guarantee:** pure epsilon = 2 sensitivity/scale (sensitivity/scale when monotonic), and bounded range.
    **Sensitivity:** of the score. Which scores are missing must not depend on the data.
    **Error:** Pr[score <= best - scale (ln(T/T_opt) + s)] <= exp(-s) for T candidates, T_opt of them best; with
    T_opt >= 1, the shortfall is at least scale ln(T/beta) with probability at most beta.
    **Reference:** McSherry & Talwar 2007; Dong, Durfee & Rogers 2020.

    >>> vaccines = Exponential.for_budget(epsilon=2.0, sensitivity=1.0, candidates=("A", "B"))
    >>> vaccines.scale, vaccines.loss.pure()
    (1.0, 2.0)
    >>> vaccines.exact_probabilities([10, 15]).round(8).tolist()
    [0.00669285, 0.99330715]
    >>> vaccines.release([10, 15]).value in ("A", "B")
    True
    >>> print(Exponential.for_budget(epsilon=1.0, sensitivity=1.0).error(0.95, candidates=100))
    [best score minus the score of the choice: +-15.2 (95%)]
    """

    name = "exponential"

    def _price(self, epsilon: float) -> ExponentialLoss:
        unit = self.sensitivity.unit
        return ExponentialLoss(2.0 * epsilon if self.monotonic else epsilon, self.monotonic, unit=unit)

    def _choose(self, scores: Array, runs: int, source: Source) -> Any:
        return noise.choice_exp(scores, scale=Fraction(self.scale), size=runs, source=source)

    def exact_probabilities(self, scores: object) -> Array:
        """The law of the choice: for tests and audits, not releasable."""
        values = self._prepare(scores).astype(float)
        weights = np.exp((values - values.max()) / self.scale)
        return weights / weights.sum()

    @classmethod
    def examples(cls) -> Iterable[Example]:
        vaccines = cls.for_budget(epsilon=1.0, sensitivity=1.0, candidates=("A", "B"), unit=Unit("replace"))
        yield Example(vaccines, [10.0, 14.0], [11.0, 13.0], Guarantee(1.0))
        counts = cls.for_budget(rho=0.1, sensitivity=1, monotonic=True, candidates=range(4))
        yield Example(counts, [3, 2, 2, 0], [3, 3, 2, 1], Guarantee(rho=0.1))
        loose = cls.for_budget(epsilon=0.5, delta=1e-3, sensitivity=0.5, candidates=range(3))
        # of so small a price one audit in five would miss half
        yield Example(loose, [0.0, 2.0, 2.0], [0.5, 1.5, 1.5], Guarantee(0.5, 1e-3), detects=0.4)

"""The plurality of votes with normal noise."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from privet import noise
from privet._numerics import Array, ratio_down, ratio_up, root_up
from privet._validate import above, set_frozen
from privet.mechanisms import Example, register
from privet.pate.aggregator import Aggregator
from privet.pate.small_votes import moved
from privet.pate.vote_law import NormalVotes
from privet.pate.vote_theorems import gn_theorem, log_losing_normal
from privet.privacy import GaussianLoss, Guarantee, PrivacyLoss, Unit

ROOT_TWO = 1.4142135623730951  # the double just above the root of two


def scale_up(moved: float, target: Guarantee) -> float:
    """The deviation of normal noise on what moves so far in l2 that keeps a promise of mu, rounded up.

    >>> scale_up(2.0, Guarantee(mu=1.0)) >= 2.0
    True
    """
    return ratio_up(moved, target.mu or 0.0) * (1.0 + 2.0**-50)  # products of rounded numbers stay within the promise


@final
@register
@dataclass(frozen=True, kw_only=True)
class GNMax(Aggregator):
    """The class with the largest count plus normal noise of standard deviation `sigma`, in each query.

    **Guarantee:** of a query mu-GDP with mu = sqrt(2)/sigma, since a vote that moves changes two counts by 1.
    **Reference:** Papernot et al. 2018. **Proof:** docs/proofs/pate/gn_max.md.

    >>> from privet import accounting
    >>> labels = GNMax(sigma=40.0, queries=286, classes=10)
    >>> round(float(accounting.epsilon(labels.loss, delta=1e-5).upper), 3)
    2.435
    """

    name = "pate_gn_max"
    _winner = staticmethod(noise.argmax_gaussian)
    _noise = "gaussian"

    sigma: float

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, sigma=above("sigma", self.sigma, 0.0))

    @property
    def noise_scale(self) -> Fraction:
        return Fraction(self.sigma)

    @property
    def law(self) -> NormalVotes:
        return NormalVotes(self.sigma)

    def _bound(self, counts: Array, orders: Array) -> Array:
        return gn_theorem(log_losing_normal(counts, self.sigma), self.sigma, orders)

    def _query(self, unit: Unit) -> PrivacyLoss:
        return GaussianLoss(ratio_down(self.sigma, ROOT_TWO), unit=unit)

    @classmethod
    def _noise_for(cls, target: Guarantee, moved: int, queries: int) -> dict[str, float]:
        return {"sigma": scale_up(moved * root_up(2 * queries), target.as_mu())}

    @classmethod
    def examples(cls) -> Iterable[Example]:
        # only the winner is shown: an audit sees less than the noisy counts, which the price is about
        yield Example(cls(sigma=1.5, queries=1, classes=2), *moved([[1, 1]], [[2, 0]]), detects=0.4)
        target = Guarantee(1.0, 1e-5)
        bought = cls.for_budget(epsilon=1.0, delta=1e-5, queries=1, classes=2)
        yield Example(bought, *moved([[4, 5]], [[5, 4]]), target, detects=0.25)
        exact = cls.for_budget(epsilon=1.0, delta=1e-5, queries=1, classes=2, teachers=3)
        yield Example(exact, *moved([[0, 3]], [[1, 2]]), target)
        replaced = cls(sigma=2.0, queries=2, classes=3, unit=Unit("replace"))
        yield Example(replaced, *moved([[3, 3, 0]] * 2, [[1, 5, 0]] * 2), detects=0.3)
        kept = cls(sigma=1.5, queries=1, classes=2, unit=Unit("replace"), fixed_ids=True)
        yield Example(kept, *moved([[1, 2]], [[2, 1]]), detects=0.4)

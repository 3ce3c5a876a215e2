"""The k best candidates, chosen one after the other by the exponential mechanism."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet import noise
from privet._numerics import Array, up
from privet._validate import count, set_frozen
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms.families.selection import SelectionMechanism
from privet.mechanisms.form import Form, ListOf, Numbers, OneOf
from privet.mechanisms.mechanism import Example, Source, register
from privet.mechanisms.repeats import epsilon_of_repeats
from privet.mechanisms.target import renyi_scale, root_of_falling
from privet.privacy import ExponentialLoss, Guarantee, PrivacyLoss, Repeated, Unit
from privet.privacy.exponential import bounded_range_rdp

_WORTH = 1e-3  # of epsilon: what the search may leave unused
# Cells of `epsilon_of_repeats` for up to _MANY choices, and for more: its curve is then right to a thousandth.
_CELLS = (24, 12)
_MANY = 15  # choices: changes speed, and the curve by a thousandth
_ROUNDING = 2.0**-40  # far above what the rounding of quotients can add


@final
@register
@dataclass(frozen=True, kw_only=True)
class TopK(SelectionMechanism):
    """k different candidates in order: the exponential mechanism, k times, each time without those chosen before.

    The same law as ranking the scores plus Gumbel noise of this scale and taking the first k. Neither the scores nor
    their noisy versions are released.

    **Guarantee:** k-fold adaptive composition of `ExponentialLoss`; with a delta, or in zCDP, far less than k epsilon.
    **Sensitivity:** of the score (of one candidate; how many scores a record moves does not matter).
    **Error:** with probability 1 - beta the j-th choice lies at most scale ln(T k/beta) below the j-th best score, for
    all j at once.
    **Reference:** McSherry & Talwar 2007; Durfee & Rogers 2019 (one-shot Gumbel).

    >>> words = TopK.for_budget(epsilon=1.0, delta=1e-6, sensitivity=1, monotonic=True, k=20)
    >>> round(words.scale, 1), round(TopK.for_budget(epsilon=1.0, sensitivity=1, monotonic=True, k=20).scale, 9)
    (9.8, 20.0)
    >>> TopK.for_budget(epsilon=1.0, sensitivity=1, k=2).release([900, 5, 700]).value
    array([0, 2])
    """

    name = "top_k"

    k: int

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, k=count("k", self.k, 1))
        if self.candidates is not None and self.k > len(self.candidates):
            raise InvalidParameter("k must not exceed the number of candidates")

    def _price(self, epsilon: float) -> PrivacyLoss:
        unit = self.sensitivity.unit
        # The epsilon of an `ExponentialLoss` is that of any utility: a monotonic one costs half of it.
        one = ExponentialLoss(2.0 * epsilon if self.monotonic else epsilon, self.monotonic, unit=unit)
        return Repeated(one, self.k)

    def _multiplier(self, target: Guarantee) -> float:
        if target.delta == 0.0:
            return super()._multiplier(target)
        # With a delta, the least ratio of scale and sensitivity that one of three bounds allows: k pure epsilons added up,
        # the Rényi divergence of a bounded range, and the curve of the composed pairs, which takes longest.
        assert target.epsilon is not None
        # about right, by zCDP: k (reach/ratio)^2/8 = epsilon^2/(4 ln(1/delta))
        start = float(self._reach) * math.sqrt(self.k * math.log(1.0 / target.delta) / 2.0) / target.epsilon

        def price(ratio: float) -> PrivacyLoss:
            return self._price(up(self._reach / Fraction(ratio)))

        def divergence(ratio: float, order: float) -> float:
            return self.k * bounded_range_rdp(float(self._reach) / ratio, order)

        def curve(ratio: float) -> float:
            widest = float(self._reach) / ratio * (1.0 + _ROUNDING)
            return epsilon_of_repeats(widest, self.k, target.delta, at_ends=0.0, cells=_CELLS[self.k > _MANY])

        pure = float(self.k * self._reach / Fraction(target.epsilon))
        while price(pure).pure() > target.epsilon:  # the last bits of sums and quotients
            pure *= 1.0 + 2.0**-52
        quick = min(pure, renyi_scale(divergence, target, min(start, pure)))
        # Where delta is large beside epsilon the curve is the better bound: worth a search if it allows a smaller ratio.
        goal = target.epsilon * (1.0 - _WORTH)
        if curve(quick * (1.0 - _WORTH)) <= goal:
            return root_of_falling(curve, goal, quick, _WORTH)
        return quick

    def _check_number(self, number: int | None) -> None:
        super()._check_number(number)
        if number is not None and number < self.k:
            raise InvalidData("there must be at least k candidates")

    def _choose(self, scores: Array, runs: int, source: Source) -> Any:
        chosen = np.empty((runs, self.k), dtype=np.int64)
        for done in range(self.k):
            # Runs that agree so far draw their next candidate from the same list.
            prefixes, group = np.unique(chosen[:, :done], axis=0, return_inverse=True)
            for number, prefix in enumerate(prefixes):
                left = np.ones(len(scores), dtype=np.int64)  # 0 for those chosen before
                left[prefix] = 0
                agreeing = np.flatnonzero(group.ravel() == number)
                many = len(agreeing)
                draws = noise.choice_exp(scores, scale=Fraction(self.scale), counts=left, size=many, source=source)
                chosen[agreeing, done] = draws
        return chosen

    @property
    def form(self) -> Form:
        return Numbers() if self.candidates is None else ListOf(OneOf(self.candidates))

    def _named(self, index: Any) -> Any:
        assert self.candidates is not None
        return tuple(self.candidates[i] for i in index)

    _of = "score of each true rank minus the score of the choice"

    def _shortfall(self, total: int, optimal: int, beta: float) -> float:
        return super()._shortfall(total, 1, beta / self.k)  # each round may miss with probability beta/k

    def exact_probability(self, scores: object, choices: Any) -> float:
        """Probability of this sequence of indices: for tests and audits, not releasable."""
        values = self._prepare(scores).astype(float)
        weights = np.exp((values - values.max()) / self.scale)
        probability = 1.0
        for choice in choices:
            probability *= float(weights[choice] / weights.sum())
            weights[choice] = 0.0
        return probability

    @classmethod
    def examples(cls) -> Iterable[Example]:
        ranked = cls.for_budget(epsilon=1.0, sensitivity=1, k=2, candidates=tuple("abcd"), unit=Unit("replace"))
        # Found by exact search over small scores. The sequence that strains both choices is rare: half of the price is
        # refuted by hardly more than chance allows, two fifths are surely.
        yield Example(ranked, [4, 4, 2, 2], [5, 5, 1, 1], Guarantee(1.0), detects=0.4)
        counts = cls.for_budget(rho=0.1, sensitivity=1, k=2, monotonic=True, candidates=range(8))
        yield Example(counts, [5] * 4 + [3] * 4, [5] * 4 + [4] * 4, Guarantee(rho=0.1))

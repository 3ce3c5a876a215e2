"""Binary randomized response."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Unpack, final

import numpy as np

from privet._calls import door
from privet.mechanisms.estimate import Estimate
from privet.mechanisms.families.response import (
    ResponseMechanism,
    epsilon_of_truth,
    largest_epsilon,
    truth_for,
)
from privet.mechanisms.mechanism import Example, register
from privet.privacy import Guarantee, Promise, RandomizedResponseLoss, Unit


@final
@register
@dataclass(frozen=True, kw_only=True)
class RandomizedResponse(ResponseMechanism):
    """A yes-or-no answer that is true with probability `truth` and its opposite otherwise; one report per person.

    **Guarantee:** pure epsilon = ln(truth/(1 - truth)), exactly, for each person against everybody. Relation: replace.
    **Error:** the share is estimated without bias; its variance from n reports is truth (1 - truth)/(n (2 truth - 1)^2).
    **Reference:** Warner 1965; Kairouz, Oh & Viswanath 2015.

    >>> survey = RandomizedResponse.warner()  # a coin decides whether to answer or to flip a second coin
    >>> survey.truth, survey.loss.epsilon
    (Fraction(3, 4), 1.0986122886681098)
    >>> reports = survey.release([True, False, False, True]).value
    >>> survey.estimate([True] * 400 + [False] * 600).value  # 2 * 0.4 - 1/2
    0.30000000000000004
    """

    name = "randomized_response"

    @classmethod
    @door
    def warner(cls) -> "RandomizedResponse":
        """Warner's survey with fair coins: heads, the truth; tails, a fair answer. Epsilon is ln 3."""
        return cls(truth=Fraction(3, 4))

    @classmethod
    def for_budget(cls, **promise: Unpack[Promise]) -> "RandomizedResponse":
        """The most truthful report within the budget, its probability rounded towards 1/2."""
        target = Guarantee(**promise)
        return cls(truth=truth_for(largest_epsilon(RandomizedResponseLoss, target), 2))._charged_at(target)

    @property
    def _k(self) -> int:
        return 2

    @property
    def loss(self) -> RandomizedResponseLoss:
        return RandomizedResponseLoss(epsilon_of_truth(self.truth, 2), unit=self.unit)

    def estimate(self, reports: object, *, confidence: float = 0.95) -> Estimate:
        """The share of people whose true answer is yes, from reports (post-processing; may lie outside [0, 1])."""
        shares, error, variance = self._shares(reports, confidence)
        return Estimate(float(shares[1]), error, variance=float(variance[1]))

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls.for_budget(epsilon=1.0), 0, 1, Guarantee(1.0))
        yield Example(cls.for_budget(epsilon=0.5, delta=1e-3), True, False, Guarantee(0.5, 1e-3))
        people = np.array([0, 1, 1]), np.array([0, 1, 0])
        yield Example(cls(truth=Fraction(2, 3), unit=Unit("replace", person="id")), *people)

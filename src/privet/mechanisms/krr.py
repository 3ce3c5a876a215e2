"""k-ary randomized response."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Unpack, final

import numpy as np

from privet._validate import count, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms.families.response import (
    Estimate,
    ResponseMechanism,
    epsilon_of_truth,
    largest_epsilon,
    truth_for,
)
from privet.mechanisms.mechanism import Example, register
from privet.privacy import Guarantee, KRRLoss, Promise


@final
@register
@dataclass(frozen=True, kw_only=True)
class KRR(ResponseMechanism):
    """One of k values, 0 to k - 1: the true one with probability `truth`, else one of the *other* k - 1, all alike.

    **Guarantee:** pure epsilon = ln(truth (k - 1)/(1 - truth)), exactly, for each person. Relation: replace.
    **Error:** all k shares are estimated without bias; see `error`.
    **Reference:** Kairouz, Bonawitz & Ramage 2016.

    >>> channel = KRR.for_budget(k=4, epsilon=1.0)
    >>> round(float(channel.truth), 9), round(float(channel.lie), 9)
    (0.475366886, 0.174877705)
    >>> channel.release([0, 3, 2, 2]).value.shape
    (4,)
    >>> channel.estimate([0, 0, 0, 1, 2, 3, 3, 0]).value.shape
    (4,)
    """

    name = "krr"

    k: int

    def __post_init__(self) -> None:
        set_frozen(self, k=_size(self.k))
        super().__post_init__()

    @classmethod
    def for_budget(
        cls,
        *,
        k: int,
        **promise: Unpack[Promise],
    ) -> "KRR":
        """The most truthful report within the budget, its probability rounded towards 1/k."""
        size, target = _size(k), Guarantee(**promise)
        best = largest_epsilon(lambda e: KRRLoss(k=size, epsilon=e), target)
        return cls(k=size, truth=truth_for(best, size))._charged_at(target)

    @property
    def _k(self) -> int:
        return self.k

    @property
    def loss(self) -> KRRLoss:
        return KRRLoss(k=self.k, epsilon=epsilon_of_truth(self.truth, self.k), unit=self.unit)

    def estimate(self, reports: Any, *, confidence: float = 0.95) -> Estimate:
        """The shares of all k values, from reports (post-processing; single shares may be negative, their sum is 1)."""
        return Estimate(*self._shares(reports, confidence))

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls.for_budget(k=4, epsilon=1.0), 0, 3, Guarantee(1.0))
        yield Example(cls.for_budget(k=3, rho=0.2), np.array([0, 2]), np.array([0, 1]), Guarantee(rho=0.2))


def _size(k: Any) -> int:
    if isinstance(k, list | tuple | set | dict | np.ndarray):
        raise InvalidParameter(
            "k is the number of values: k=len(labels). What is reported is the place of a label: labels.index(label)"
        )
    return count("k", k, 2)

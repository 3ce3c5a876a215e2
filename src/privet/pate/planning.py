"""The price of labels, how many a budget buys, and how often a majority wins: from public numbers alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from privet import accounting
from privet._numerics import special
from privet._validate import above, count, finite, open_fraction, set_frozen
from privet.errors import InvalidParameter
from privet.pate.confident_gn_max import ConfidentGNMax
from privet.pate.gn_max import GNMax
from privet.pate.two_noises import check_threshold
from privet.pate.vote_law import NormalVotes
from privet.privacy import PrivacyLoss

_MOST = 1 << 40  # labels: nobody asks for more
_SHARES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)  # of the teachers: majorities that are shown where none is asked for
_WHOLE = {"teachers": 1, "queries": 1, "answers": 1, "classes": 2}  # the least of each


@final
@dataclass(frozen=True)
class Majority:
    """A largest count of `votes`: how often its class is the answer, where one rival has all other votes and where the
    others share them, and how often the query is answered at all."""

    votes: int
    against_one: float
    against_all: float
    answered: float


@final
@dataclass(frozen=True, kw_only=True)
class VotePlan:
    """A plan of noisy votes: at most `answers` labels of `queries` queries, by normal noise of deviation `sigma`, after a
    `threshold` with noise `sigma1` where one is given. Without it nothing is left out, and so many queries as `answers`
    are asked. No data is needed, and prices do not depend on votes.

    >>> plan = VotePlan(teachers=250, queries=640, answers=286, sigma=40.0, threshold=200, sigma1=150.0)
    >>> round(plan.epsilon(delta=1e-5), 3), plan.labels(epsilon=2.0, delta=1e-5)
    (2.543, 178)
    >>> VotePlan(teachers=250, queries=640, answers=286, sigma=40.0).labels(epsilon=2.0, delta=1e-5)
    201
    """

    teachers: int
    queries: int
    answers: int
    sigma: float
    classes: int = 10
    threshold: float | None = None
    sigma1: float | None = None

    def __post_init__(self) -> None:
        whole = {name: count(name, getattr(self, name), least) for name, least in _WHOLE.items()}
        if whole["answers"] > whole["queries"]:
            raise InvalidParameter("answers must be at most queries")
        if (self.threshold is None) != (self.sigma1 is None):
            raise InvalidParameter("threshold and sigma1 come together: the noise of comparisons is sigma1")
        set_frozen(self, **whole, sigma=above("sigma", self.sigma, 0.0))
        if self.threshold is not None and self.sigma1 is not None:
            set_frozen(self, threshold=finite("threshold", self.threshold), sigma1=above("sigma1", self.sigma1, 0.0))
            check_threshold(self.threshold, self.teachers)

    @property
    def loss(self) -> PrivacyLoss:
        """The price of all labels: data-independent, and that which a ledger is charged."""
        answered: dict[str, Any] = {"classes": self.classes, "teachers": self.teachers}
        if self.threshold is None or self.sigma1 is None:
            return GNMax(sigma=self.sigma, queries=self.answers, **answered).loss
        asked: dict[str, Any] = {"threshold": self.threshold, "sigma1": self.sigma1, "queries": self.queries}
        return ConfidentGNMax(sigma2=self.sigma, answers=self.answers, **asked, **answered).loss

    def epsilon(self, *, delta: float) -> float:
        """The epsilon of all labels at a delta."""
        return float(accounting.epsilon(self.loss, delta=open_fraction("delta", delta)).upper)

    def labels(self, *, epsilon: float, delta: float) -> int:
        """The most labels that a budget buys, with the same noise: all thresholds are paid for, where there are any."""
        above("epsilon", epsilon, 0.0)

        def fits(answers: int) -> bool:
            queries = self.queries if self.threshold is not None else answers
            return replace(self, answers=answers, queries=queries).epsilon(delta=delta) <= epsilon

        most = _MOST if self.threshold is None else self.queries
        low, high = 0, 1
        while high <= most and fits(high):
            low, high = high, 2 * high
        high = min(high, most + 1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        return low

    def majorities(self, votes: Sequence[int] | None = None) -> list[Majority]:
        """Majorities of these sizes, or of 30% to 100% of the teachers, and how often they win."""
        sizes = [round(share * self.teachers) for share in _SHARES] if votes is None else list(votes)
        return [self._majority(count("majority", size, 0)) for size in sizes]

    def _majority(self, size: int) -> Majority:
        if size > self.teachers:
            raise InvalidParameter(f"a majority of {size} is more than the {self.teachers} teachers that vote")
        others, law = self.teachers - size, NormalVotes(self.sigma)
        each, more = divmod(others, self.classes - 1)
        one = np.array([size, others] + [0] * (self.classes - 2))
        shared = np.array([size] + [each + 1] * more + [each] * (self.classes - 1 - more))
        alone, together = (float(np.exp(law.log_chances(counts)[0])) for counts in (one, shared))
        answered = 1.0
        if self.threshold is not None and self.sigma1 is not None:
            answered = float(special().ndtr((size - self.threshold) / self.sigma1))
        return Majority(size, alone, together, answered)

"""Labels only where the teachers agree: a noisy threshold first, then the plurality with normal noise."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Unpack, final

import numpy as np

from privet._cache import kept_property
from privet._calls import door
from privet._numerics import Array
from privet._private import Private
from privet._validate import flag
from privet.errors import InvalidData
from privet.mechanisms import Algorithm, Example, Gaussian, Source, register
from privet.pate.aggregator import check_votes, teachers_of
from privet.pate.figures import check_figure, exact_epsilon, published_epsilon
from privet.pate.small_votes import moved
from privet.pate.two_noises import ABSTAINED, TwoNoises, with_two_noises
from privet.pate.vote_law import ConfidentVotes
from privet.pate.vote_theorems import gn_theorem, log_losing_normal, threshold_theorem
from privet.pate.votes import Votes
from privet.privacy import Composed, Guarantee, PrivacyLoss, Promise, Unit, as_unit

_WHOLE = {"queries": 1, "answers": 1, "classes": 2}  # the least of each


@final
@register
@dataclass(frozen=True, kw_only=True)
class ConfidentGNMax(TwoNoises, Algorithm[Votes, Array]):
    """Labels of those queries in which the largest count plus normal noise of deviation `sigma1` reaches `threshold`: the
    class with the largest count plus fresh noise of deviation `sigma2`. The others are -1, and so is what comes after the
    first `answers` of them.

    `queries` thresholds and `answers` answers are paid for in advance. A query without an answer costs its threshold, a
    unanimous one as much as any other, and answers that were not needed are not paid back.

    **Guarantee:** queries times 1/sigma1-GDP (the largest count moves by at most 1) and answers times sqrt(2)/sigma2-GDP.
    **Reference:** Papernot et al. 2018. **Proof:** docs/proofs/pate/confident_gn_max.md.

    >>> from privet import accounting
    >>> labels = ConfidentGNMax(threshold=200, sigma1=150.0, sigma2=40.0, queries=640, answers=286, classes=10)
    >>> round(float(accounting.epsilon(labels.loss, delta=1e-5).upper), 3)
    2.543
    """

    name = "pate_confident_gn_max"
    at_most = True

    threshold: float
    sigma1: float
    sigma2: float
    queries: int
    answers: int
    classes: int
    teachers: int | None = None
    unit: Unit = field(default=Unit())
    fixed_ids: bool = False
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_noises(_WHOLE if self.teachers is None else _WHOLE | {"teachers": 1})
        self.loss.gaussian()  # noise so small that no double holds its price is refused here

    @kept_property
    def threshold_part(self) -> Gaussian:
        """The noise on the largest counts of all queries."""
        return self._thresholds(self.queries)

    @property
    def loss(self) -> PrivacyLoss:
        return Composed((self.threshold_part.loss, self.answer_part(self.answers).loss))

    def _run(self, prepared: Votes, source: Source) -> Array:
        tops = prepared.exact_counts.max(axis=1).astype(np.int64)
        reached = np.asarray(self.threshold_part.release(tops, source=source).value) >= self.threshold
        chosen = np.flatnonzero(reached)[: self.answers]
        labels = np.full(self.queries, ABSTAINED, dtype=np.int64)
        if len(chosen):
            labels[chosen] = self.answer_part(len(chosen)).release(prepared.exact_part(chosen), source=source).value
        return labels

    @door
    def data_dependent_epsilon(self, votes: Votes, *, delta: float) -> Private[float]:
        """The epsilon of these answers by the votes that were cast, never above that of the price: a figure for the
        custodian, since it depends on the votes. Nothing is charged by it, and nothing may be promised by it.

        Each query is one answer out of the classes and silence, and counts by the exact law of that, whether it was
        answered or not.
        """
        check_votes(votes, self.queries, self.classes, self.teachers)
        check_figure(votes, delta, teachers_of(self.unit, self.fixed_ids))
        return exact_epsilon(ConfidentVotes(self.threshold, self.sigma1, self.sigma2), votes, delta, self.loss)

    def published_epsilon(self, votes: Votes, labels: object, *, delta: float, classic: bool = False) -> Private[float]:
        """The epsilon that papers print for these votes and the labels that came of them: all thresholds, and those
        queries that were answered. A sum over what happened to be answered bounds nothing: for comparison only.
        """
        check_votes(votes, self.queries, self.classes, self.teachers)
        check_figure(votes, delta, teachers_of(self.unit, self.fixed_ids))
        told = np.asarray(labels)
        if told.shape != (self.queries,) or told.dtype.kind not in "iu":
            raise InvalidData("labels are what this aggregator released: a whole number for each query")

        def bound(counts: Array, orders: Array) -> Array:
            answered = counts[told != ABSTAINED]
            thresholds = threshold_theorem(counts.max(axis=1).astype(float), self.threshold, self.sigma1, orders)
            return np.concatenate(
                [thresholds, gn_theorem(log_losing_normal(answered, self.sigma2), self.sigma2, orders)]
            )

        return published_epsilon(bound, votes, delta, classic=flag("classic", classic))

    @classmethod
    def for_budget(
        cls,
        *,
        threshold: float,
        queries: int,
        answers: int,
        classes: int,
        teachers: int | None = None,
        share: float = 0.1,
        unit: Unit | None = None,
        fixed_ids: bool = False,
        **promise: Unpack[Promise],
    ) -> "ConfidentGNMax":
        """The aggregator whose thresholds and answers keep a promise together; thresholds take `share` of it.

        >>> made = ConfidentGNMax.for_budget(epsilon=2.0, delta=1e-5, threshold=150, queries=100, answers=50, classes=10)
        >>> made.sigma1 > made.sigma2
        True
        """
        public = {
            "threshold": threshold,
            "queries": queries,
            "answers": answers,
            "classes": classes,
            "teachers": teachers,
            "unit": as_unit(unit),
            "fixed_ids": fixed_ids,
        }
        return with_two_noises(cls, public, Guarantee(**promise), share)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        def made(**more: Any) -> "ConfidentGNMax":
            return cls(threshold=4.0, sigma1=2.0, sigma2=2.0, queries=3, answers=2, classes=2, **more)

        yield Example(made(), *moved([[4, 1], [2, 3], [5, 0]], [[3, 2], [3, 2], [4, 1]]), cost="costly")
        target = Guarantee(4.0, 1e-5)
        bought = cls.for_budget(epsilon=4.0, delta=1e-5, threshold=4.0, queries=3, answers=2, classes=2)
        yield Example(bought, *moved([[4, 1], [2, 3], [5, 0]], [[3, 2], [3, 2], [4, 1]]), target, cost="costly")
        replaced = [[4, 1], [2, 3], [5, 0]], [[2, 3], [4, 1], [3, 2]]
        yield Example(made(unit=Unit("replace")), *moved(*replaced), cost="costly")

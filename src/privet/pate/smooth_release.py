"""The published cost of labels: a data-dependent epsilon with noise, which may leave and is paid for."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Unpack, final

import numpy as np

from privet import accounting, noise
from privet._cache import kept_property
from privet._numerics import Array, ndtri
from privet._validate import above, open_fraction, set_frozen
from privet.errors import InvalidData, InvalidParameter, NoGuarantee
from privet.mechanisms import Example, Mechanism, Source, register
from privet.pate.aggregator import check_votes, teachers_of
from privet.pate.confident_gn_max import ConfidentGNMax
from privet.pate.gn_max import GNMax
from privet.pate.small_votes import moved
from privet.pate.smooth_votes import SmoothVotes
from privet.pate.vote_theorems import epsilon_of, log_losing_normal
from privet.pate.votes import Votes
from privet.privacy import Guarantee, Promise, SmoothReleaseLoss

_MOST_SIGMA = 1e4  # beyond, rounding of the cost comes near to what one vote changes (proof note)
_SLACK = 1e-7  # far above what rounding does to costs and their changes, in parts of the floor
_FLOOR = 2.0**-12  # of the largest smooth sensitivity: the least that is taken
_STEPS = 2.0**31  # of the largest noise: with the floor all deviations lie between 2^19 and 2^31 steps
_HIGHEST = 2.0**50  # steps of the largest cost: doubles count them exactly


@final
@register
@dataclass(frozen=True, kw_only=True)
class SmoothRelease(Mechanism[Votes, float]):
    """An epsilon at `delta` of the labels that `aggregator` releases and of this figure together, by the votes that were
    cast: above the exact one with probability `confidence`, and fit to be published.

    What labels cost depends on the votes, and is as private as they are. This is the sum of the published bounds of all
    queries at one Rényi `order`, in both directions, plus normal noise of `scale` times its smooth sensitivity: how much a
    few changed teachers could change it, discounted by exp(-`beta`) a teacher. That sensitivity is private too, and nothing
    tells it. The votes must belong to a list of queries that was fixed before; adaptive ones are refused.

    The ledger is charged the price of the labels and that of this figure, neither of which depends on votes: the figure
    says what the labels cost these people, and buys nothing back.

    **Guarantee:** `privacy.SmoothReleaseLoss`. **Sensitivity:** smoothed, of the sum over all queries.
    **Error:** depends on the votes, hence none is stated.
    **Reference:** Papernot et al. 2018, appendix B. **Proof:** docs/proofs/pate/smooth_release.md.

    >>> asked = GNMax(sigma=40.0, queries=286, classes=10)
    >>> figure = SmoothRelease(aggregator=asked, order=20.0, delta=1e-5, beta=0.01, scale=20.0)
    >>> round(float(accounting.epsilon(figure.loss, delta=1e-5).upper), 2)
    0.41
    >>> votes = Votes([[250] + [0] * 9] * 286, teachers=250)
    >>> figure.release(votes).value > 0.0
    True
    """

    name = "pate_smooth_release"

    aggregator: GNMax | ConfidentGNMax
    order: float
    delta: float
    beta: float
    scale: float
    confidence: float = 0.95
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.aggregator, GNMax | ConfidentGNMax):
            raise InvalidParameter("aggregator must be GNMax or ConfidentGNMax: others have no smooth sensitivity here")
        set_frozen(self, order=above("order", self.order, 1.0), delta=open_fraction("delta", self.delta))
        set_frozen(self, **{name: above(name, getattr(self, name), 0.0) for name in ("beta", "scale")})
        set_frozen(self, confidence=open_fraction("confidence", self.confidence))
        if self.confidence < 0.5:
            raise InvalidParameter("confidence must be at least 0.5: the figure shall not be too small")
        if teachers_of(self.aggregator.unit, self.aggregator.fixed_ids) != 1:
            raise InvalidParameter("data-dependent figures are about one teacher: take add_remove, or fixed_ids")
        if not self.order < self.loss.largest_order:
            raise InvalidParameter(
                f"order must be below {self.loss.largest_order:.6g} for this beta: beyond, the figure has no price"
            )
        if self._sigma > _MOST_SIGMA:
            raise InvalidParameter(
                f"the noise on votes must be at most {_MOST_SIGMA:g} here: what a vote changes would be lost in rounding"
            )
        self.bound.refuse_unless_monotone()

    @property
    def _sigma(self) -> float:
        return self.aggregator.sigma2 if isinstance(self.aggregator, ConfidentGNMax) else self.aggregator.sigma

    @kept_property
    def bound(self) -> SmoothVotes:
        """The cost of one query, both directions."""
        return SmoothVotes(self._sigma, self.order, self.aggregator.classes, two_sided=True)

    @property
    def loss(self) -> SmoothReleaseLoss:
        """The price of the figure; that of the labels is the aggregator's."""
        margin = max(float(ndtri(self.confidence)), 0.0) * self.scale
        scale, unit = self.scale * (1.0 - _SLACK), self.aggregator.unit
        return SmoothReleaseLoss(self.beta + _SLACK, scale, margin * (1.0 + _SLACK), unit=unit)

    def _admit(self, value: Votes) -> None:
        asked = self.aggregator
        check_votes(value, asked.queries, asked.classes, asked.teachers)
        if value.adaptive:
            raise InvalidData(
                "queries that may follow from earlier answers have no data-dependent figure; vote(adaptive=False) says "
                "that all were fixed before"
            )

    def _prepare(self, value: Votes) -> tuple[float, float]:
        """The exact cost of all queries at the order, and its smooth sensitivity."""
        rows, many = np.unique(np.sort(value.exact_counts, axis=1), axis=0, return_counts=True)
        costs = self.bound.cost(log_losing_normal(rows.astype(np.int64), self._sigma))
        # the same teachers vote in all queries: changes are added up before the largest is looked for
        changes = sum(
            (n * self.bound.changes(row, value.teachers) for row, n in zip(rows, many, strict=True)),
            start=np.zeros(value.teachers + 1),
        )
        return float(costs @ many), max(self.bound.smooth(changes, self.beta), self._largest * _FLOOR)

    @property
    def _largest(self) -> float:
        return self.aggregator.queries * self.bound.plateau

    def _draw(self, prepared: tuple[float, float], runs: int, source: Source) -> Array:
        cost, smooth = prepared
        most = self.aggregator.queries * self.bound.plain
        step = Fraction(max(self._largest * self.scale / _STEPS, most / _HIGHEST))  # public
        raised = Fraction(cost) + Fraction(max(float(ndtri(self.confidence)), 0.0) * self.scale) * Fraction(smooth)
        sigma = Fraction(self.scale) * Fraction(smooth) / step
        drawn = noise.rounded_gaussian(sigma=sigma, center=raised / step, size=runs, source=source)
        return self._figures(np.asarray(drawn, dtype=float) * float(step))

    def _figures(self, costs: Array) -> Array:
        """The epsilons of noisy costs: computed from them and from public numbers."""
        asked, orders = self.aggregator, np.array([self.order])
        answers, thresholds = asked.queries, 0.0
        if isinstance(asked, ConfidentGNMax):
            answers, thresholds = asked.answers, float(asked.threshold_part.loss.rdp(orders).values[0])
        own = float(self.loss.rdp(orders).values[0])
        labels = np.clip(costs, 0.0, answers * self.bound.plain)  # what any votes cost, at most
        return np.asarray(labels + epsilon_of(np.array([thresholds + own]), orders, self.delta))

    def _notes(self, drawn: float) -> tuple[str, ...]:
        return (
            f"labels and this figure cost at most that with confidence {self.confidence:g}, at delta {self.delta:g}",
        )

    def error(self, confidence: float = 0.95) -> Any:
        """None: the noise depends on the votes."""
        return None

    @classmethod
    def for_budget(
        cls,
        *,
        aggregator: GNMax | ConfidentGNMax,
        order: float,
        beta: float | None = None,
        confidence: float = 0.95,
        **promise: Unpack[Promise],
    ) -> "SmoothRelease":
        """The figure that keeps a promise of its own: an epsilon and a delta, at which its epsilon is stated too.

        >>> asked = GNMax(sigma=40.0, queries=286, classes=10)
        >>> SmoothRelease.for_budget(aggregator=asked, order=20.0, epsilon=0.5, delta=1e-5).scale < 20.0
        True
        """
        target = Guarantee(**promise)
        if target.epsilon is None or target.delta == 0.0:
            raise NoGuarantee(
                "the figure keeps an epsilon and a delta: its divergences are finite at small orders alone"
            )
        chosen = 0.2 / above("order", order, 1.0) if beta is None else beta
        public: dict[str, Any] = {"aggregator": aggregator, "order": order, "delta": target.delta, "beta": chosen}
        public["confidence"] = confidence
        scale = accounting.calibrate(
            lambda each: cls(**public, scale=each).loss, bounds=(1e-3, 1e6), **target.keywords()
        )
        return cls(**public, scale=scale)._charged_at(target)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        asked = GNMax(sigma=20.0, queries=1, classes=2)
        plain = cls(aggregator=asked, order=2.0, delta=1e-2, beta=0.02, scale=0.5, confidence=0.5)
        yield Example(plain, *moved([[84, 16]], [[85, 15]]), detects=0.25)
        bought = cls.for_budget(aggregator=asked, order=2.0, beta=0.02, confidence=0.6, epsilon=8.0, delta=1e-2)
        yield Example(bought, *moved([[84, 16]], [[85, 15]]), Guarantee(8.0, 1e-2), detects=0.25)
        silent = ConfidentGNMax(threshold=60.0, sigma1=30.0, sigma2=20.0, queries=2, answers=1, classes=2)
        figure = cls(aggregator=silent, order=2.0, delta=1e-2, beta=0.1, scale=0.5, confidence=0.6)
        yield Example(figure, *moved([[84, 16], [100, 0]], [[85, 15], [99, 1]]), detects=0.25)

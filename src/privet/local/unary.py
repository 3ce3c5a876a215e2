"""Unary encoding: one bit for every value, each randomised."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet import noise
from privet._cache import kept_property
from privet._numerics import Array, up
from privet._validate import flag, set_frozen
from privet.local.families.frequency import Channel, FrequencyProtocol
from privet.local.families.population import two_binomials
from privet.local.families.words import bit_sums, cut, in_range, patterns, product_law, put, widths_of, words_for
from privet.local.state import State
from privet.mechanisms import Example, Source, chance_for, epsilon_of_odds, odds_of, register
from privet.privacy import Guarantee, PartialResponseLoss

_HALF = Fraction(1, 2)


@final
@register
@dataclass(frozen=True, kw_only=True)
class UnaryEncoding(FrequencyProtocol):
    """k bits, one for each value: the own bit is 1 with probability `own`, every other one with probability `other`.

    Optimised: own 1/2, other 1/(e + 1). `symmetric` (basic RAPPOR): both flip with probability 1/(1 + sqrt e). Reports
    are words of 64 bits, value 0 in the lowest; bits beyond k are 0.

    **Guarantee:** pure ln of own (1 - other)/(other (1 - own)), at most epsilon. Relation: replace.
    **Error:** variance 4e/(n (e - 1)^2) at f = 0, whatever k; symmetric, sqrt e/(n (sqrt e - 1)^2).
    **Reference:** Wang, Blocki, Li & Jha 2017; Erlingsson, Pihur & Korolova 2014.
    **Proof:** docs/proofs/local/unary.md.

    >>> protocol = UnaryEncoding(k=100, epsilon=2.0)
    >>> protocol.privatize([0, 99]).shape, protocol.report_bytes
    ((2, 2), 13)
    >>> float(protocol.own), round(1024 * 0 + protocol.variance(0.0), 7)
    (0.5, 0.7240617)
    """

    name = "local_unary"
    coding = "bits"
    most_values = 2**20
    symmetric: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, symmetric=flag("symmetric", self.symmetric))

    @kept_property
    def _truth(self) -> Fraction:
        """The probability that a bit which can flip does not."""
        return chance_for(self.epsilon / 2.0 if self.symmetric else self.epsilon)

    @property
    def own(self) -> Fraction:
        return self._truth if self.symmetric else _HALF

    @property
    def other(self) -> Fraction:
        return 1 - self._truth

    @property
    def loss(self) -> PartialResponseLoss:
        p, q = self.own, self.other
        epsilon = epsilon_of_odds(odds_of(p) * odds_of(1 - q))
        return PartialResponseLoss(epsilon, up(p * (1 - q) + q * (1 - p)))

    @property
    def widths(self) -> tuple[int, ...]:
        return widths_of(self.size)

    @property
    def report_shape(self) -> tuple[int, ...]:
        return (words_for(self.size),)

    def _draw(self, prepared: Array, runs: int, source: Source) -> Array:
        shape = (runs, *prepared.shape)
        count, words = int(np.prod(shape)), words_for(self.size)
        drawn = noise.bernoulli_words(p=self.other, size=(count, words), source=source)
        cut(drawn, self.size)
        mine = noise.bernoulli(p=self.own, size=count, source=source)
        put(drawn, np.broadcast_to(prepared, shape).reshape(-1), mine)
        return drawn.reshape(*shape, words)

    def valid(self, reports: Array) -> Array:
        return in_range(reports, self.size)

    def tally(self, reports: Array, candidates: Array | None) -> Array:
        return bit_sums(reports, self.size)

    def outcomes(self) -> Array:
        return patterns(self.size)

    def channel(self) -> Channel:
        patterns(self.size)  # refuses what is too long to list
        chances = [[self.own if v == x else self.other for v in range(self.size)] for x in range(self.size)]
        return tuple(product_law(row, self.size) for row in chances)

    def simulate_counts(self, counts: Any, *, source: Source = None) -> State:
        return two_binomials(self, counts, source)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls(k=3, epsilon=1.0), 0, 1, Guarantee(1.0))
        yield Example(cls(k=3, epsilon=2.0, symmetric=True), np.array([0, 2]), np.array([1, 2]), Guarantee(2.0))

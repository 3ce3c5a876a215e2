"""k-ary randomized response as a protocol."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet import mechanisms
from privet._cache import kept_property
from privet._numerics import Array
from privet.local.channels import listed
from privet.local.families.counts import counted
from privet.local.families.frequency import Channel, FrequencyProtocol
from privet.local.families.population import keep_or_uniform
from privet.local.protocol import word_of
from privet.local.state import State
from privet.mechanisms import Example, Source, chance_for, register
from privet.privacy import Guarantee, KRRLoss


@final
@register
@dataclass(frozen=True, kw_only=True)
class KRR(FrequencyProtocol):
    """The true one of k values with probability e/(e + k - 1), e = e^epsilon, else one of the *other* k - 1, all alike.

    The draw is that of `mechanisms.KRR`. A report is one number, the smallest report there is.

    **Guarantee:** pure ln(truth/lie) of the fractions that run, at most epsilon. Relation: replace.
    **Error:** variance (k - 2 + e)/(n (e - 1)^2) at f = 0: best of all while k < 3 e + 2.
    **Reference:** Kairouz, Bonawitz & Ramage 2016. **Proof:** docs/proofs/local/krr.md.

    >>> protocol = KRR(k=4, epsilon=1.0)
    >>> reports = protocol.privatize([0, 3, 2, 2])
    >>> reports.dtype, protocol.encode(reports).shape, protocol.estimate(reports).raw.shape
    (dtype('uint8'), (4, 1), (4,))
    >>> protocol.loss.pure() <= 1.0
    True
    """

    name = "local_krr"
    coding = "value"

    @kept_property
    def response(self) -> mechanisms.KRR:
        """The mechanism that draws."""
        return mechanisms.KRR(k=self.size, truth=chance_for(self.epsilon, self.size - 1))

    @property
    def loss(self) -> KRRLoss:
        return self.response.loss

    @property
    def own(self) -> Fraction:
        return self.response.truth

    @property
    def other(self) -> Fraction:
        return self.response.lie

    @property
    def pair_supports(self) -> tuple[Fraction, Fraction]:
        return Fraction(0), Fraction(0)

    @property
    def widths(self) -> tuple[int, ...]:
        return ((self.size - 1).bit_length(),)

    def _draw(self, prepared: Array, runs: int, source: Source) -> Array:
        return self.response._draw(prepared, runs, source).astype(word_of(self.widths[0]))

    def valid(self, reports: Array) -> Array:
        return (reports >= 0) & (reports < self.size)

    def tally(self, reports: Array, candidates: Array | None) -> Array:
        return counted(reports, self.size)

    def outcomes(self) -> Array:
        return np.arange(self.size)

    def channel(self) -> Channel:
        listed(self.size, self.size)
        return tuple(tuple(self.own if x == y else self.other for y in range(self.size)) for x in range(self.size))

    def simulate_counts(self, counts: Any, *, source: Source = None) -> State:
        return keep_or_uniform(self, counts, self.own - self.other, source)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls(k=4, epsilon=1.0), 0, 3, Guarantee(1.0))
        named = cls(labels=("red", "green", "none"), epsilon=1.0)
        yield Example(named, ["red", "none"], ["green", "none"], Guarantee(1.0))

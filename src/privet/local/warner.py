"""Warner's randomized response as a protocol."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet import mechanisms
from privet._cache import kept_property
from privet._numerics import Array
from privet._validate import set_frozen
from privet.errors import InvalidParameter
from privet.local.families.frequency import Channel, FrequencyProtocol
from privet.local.families.population import keep_or_uniform
from privet.local.state import State
from privet.mechanisms import Example, Source, chance_for, register
from privet.privacy import Guarantee, RandomizedResponseLoss


@final
@register
@dataclass(frozen=True, kw_only=True)
class Warner(FrequencyProtocol):
    """A yes or no that is true with probability exp(epsilon)/(exp(epsilon) + 1), and its opposite otherwise.

    The probability that is used, `own`, is a fraction that is at most this. The draw is that of
    `mechanisms.RandomizedResponse`. At epsilon = ln 3 it is the survey with two fair coins. The raw estimate has the shares
    of no and yes, in this order.

    **Guarantee:** pure, of ln(own/(1 - own)), which is at most epsilon. Relation: replace.
    **Error:** variance exp(epsilon)/(n (exp(epsilon) - 1)^2) of a share that is estimated from n reports, whatever it is.
    **Reference:** Warner 1965; Kairouz, Oh & Viswanath 2015. **Proof:** docs/proofs/local/warner.md.

    >>> import math
    >>> survey = Warner(epsilon=math.log(3))
    >>> survey.own, survey.loss.pure()
    (Fraction(3, 4), 1.0986122886681098)
    >>> survey.estimate([True] * 400 + [False] * 600).raw.round(12).tolist()
    [0.7, 0.3]
    """

    name = "local_warner"
    coding = "value"
    most_values = 2

    def __post_init__(self) -> None:
        if self.k is None and self.labels is None:
            set_frozen(self, k=2)
        super().__post_init__()
        if self.k != 2:
            raise InvalidParameter("a yes or no has two values; more are the work of KRR")

    @kept_property
    def response(self) -> mechanisms.RandomizedResponse:
        """The mechanism that draws."""
        return mechanisms.RandomizedResponse(truth=chance_for(self.epsilon))

    @property
    def loss(self) -> RandomizedResponseLoss:
        return self.response.loss

    @property
    def own(self) -> Fraction:
        return self.response.truth

    @property
    def other(self) -> Fraction:
        return self.response.lie

    @property
    def pair_supports(self) -> tuple[Fraction, Fraction]:
        return Fraction(0), Fraction(0)  # a report is yes or no, never both

    @property
    def widths(self) -> tuple[int, ...]:
        return (1,)

    def _draw(self, prepared: Array, runs: int, source: Source) -> Array:
        return self.response._draw(prepared, runs, source).astype(np.bool_)

    def valid(self, reports: Array) -> Array:
        return (reports >= 0) & (reports < 2)

    def tally(self, reports: Array, candidates: Array | None) -> Array:
        yes = int(np.count_nonzero(reports))
        return np.array([len(reports) - yes, yes])

    def outcomes(self) -> Array:
        return np.arange(2)

    def channel(self) -> Channel:
        return (self.own, self.other), (self.other, self.own)

    def simulate_counts(self, counts: Any, *, source: Source = None) -> State:
        # kept with probability own - other, and else yes or no alike: a value is reported with (own - other) + other = own
        return keep_or_uniform(self, counts, self.own - self.other, source)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls(epsilon=1.0), 0, 1, Guarantee(1.0))
        yield Example(cls(epsilon=1.0, labels=("no", "yes")), ["no", "yes"], ["yes", "yes"], Guarantee(1.0))

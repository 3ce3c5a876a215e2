"""Hadamard response: a random column, agreeing with the row of the value more often than not."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet import noise
from privet._cache import kept_property
from privet._numerics import Array
from privet.local.channels import listed
from privet.local.families.counts import counted
from privet.local.families.frequency import Channel, FrequencyProtocol, people_of
from privet.local.families.hashes import parity, walsh
from privet.local.families.population import spread
from privet.local.protocol import word_of
from privet.local.state import State
from privet.mechanisms import Example, Source, chance_for, epsilon_of_odds, odds_of, register
from privet.privacy import Guarantee, PartialResponseLoss

_HALF = Fraction(1, 2)


@final
@register
@dataclass(frozen=True, kw_only=True)
class HadamardResponse(FrequencyProtocol):
    """A column y of a Hadamard matrix, even among those with +1 in the row of the value (probability e/(e + 1)), else
    among those with -1. Value x has row x + 1: row 0 is all +1 and would say everything about nobody.

    **Guarantee:** pure ln(p/(1 - p)) of the fraction p that runs, at most epsilon. Relation: replace.
    **Error:** variance ((e + 1)/(e - 1))^2/n at f = 0; reports are single numbers below 2^ceil(log2(k + 1)).
    **Reference:** Acharya, Sun & Zhang 2019. **Proof:** docs/proofs/local/hadamard.md.

    >>> protocol = HadamardResponse(k=1024, epsilon=2.0)
    >>> protocol.order, round(protocol.variance(0.0), 7), protocol.privatize([3, 7]).dtype
    (2048, 1.7240617, dtype('uint16'))
    """

    name = "local_hadamard"
    coding = "value"
    most_values = 2**26

    @property
    def order(self) -> int:
        """The number of columns: the least power of two above k."""
        return 1 << self.size.bit_length()

    @kept_property
    def own(self) -> Fraction:
        return chance_for(self.epsilon)

    @property
    def other(self) -> Fraction:
        return _HALF

    @property
    def loss(self) -> PartialResponseLoss:
        return PartialResponseLoss(epsilon_of_odds(odds_of(self.own)), 0.5)

    @property
    def widths(self) -> tuple[int, ...]:
        return (self.size.bit_length(),)

    def _draw(self, prepared: Array, runs: int, source: Source) -> Array:
        size, word = (runs, *prepared.shape), word_of(self.widths[0])
        agrees = noise.bernoulli(p=self.own, size=size, source=source)
        column = noise.uniform_int(bound=self.order, size=size, source=source).astype(word)
        return _moved(column, prepared.astype(word) + word.type(1), agrees)

    def valid(self, reports: Array) -> Array:
        return (reports >= 0) & (reports < self.order)

    def table_shape(self, candidates: Array | None) -> tuple[int, ...]:
        return (self.order,)

    def tally(self, reports: Array, candidates: Array | None) -> Array:
        return counted(reports, self.order)

    def supports(self, state: State, candidates: Array | None) -> Array:
        rows = 1 + (np.arange(self.size) if candidates is None else candidates.astype(np.int64))
        return (state.n + walsh(state.table)[rows]) // 2

    def outcomes(self) -> Array:
        return np.arange(self.order)

    def channel(self) -> Channel:
        listed(self.size, self.order)
        half, columns = self.order // 2, np.arange(self.order)
        masses = self.own / half, (1 - self.own) / half
        return tuple(tuple(masses[int(odd)] for odd in parity(columns, x + 1)) for x in range(self.size))

    def _extra_cross(self, f: Array) -> Array:
        """Rows u and v multiply to a third row: people of that value tie the two together."""
        rows = np.arange(1, self.size + 1)
        third = rows[:, None] ^ rows[None, :]
        known = (third >= 1) & (third <= self.size)
        return np.where(known, f[np.where(known, third - 1, 0)], 0.0) * float(2 * self.own - 1) / 4.0

    def simulate_counts(self, counts: Any, *, source: Source = None) -> State:
        people = people_of(counts, self.size)
        agree = np.asarray(noise.binomial(n=people, p=2 * self.own - 1, source=source))
        table = spread(int(people.sum() - agree.sum()), self.order, source)
        many = agree > self.order
        for x in np.flatnonzero(many).tolist():
            inside = np.flatnonzero(parity(np.arange(self.order), x + 1) == 0)
            table[inside] += spread(int(agree[x]), len(inside), source)
        rows = np.repeat(np.arange(self.size)[~many] + 1, agree[~many])
        column = noise.uniform_int(bound=self.order, size=len(rows), source=source)
        table += np.bincount(_moved(column, rows, np.True_), minlength=self.order)
        return State(self).add_counts(table, int(people.sum()))

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls(k=3, epsilon=1.0), 0, 1, Guarantee(1.0))
        yield Example(cls(k=5, epsilon=1.5), np.array([4, 2]), np.array([1, 2]), Guarantee(1.5))


def _moved(column: Array, row: Array, agrees: Any) -> Array:
    """Columns that agree with their rows (or do not): where they should and do not, the lowest bit of the row is turned."""
    wrong = parity(column, row).view(np.bool_) == agrees
    return column ^ (row & (~row + row.dtype.type(1))) * wrong

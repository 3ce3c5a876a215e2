"""Subset selection: w of the k values, the own one among them more often than not."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, final

import numpy as np

from privet import noise
from privet._cache import kept_property
from privet._numerics import Array, up
from privet._validate import count, set_frozen
from privet.errors import InvalidParameter
from privet.local.channels import listed
from privet.local.families.frequency import Channel, FrequencyProtocol
from privet.local.families.population import two_binomials
from privet.local.families.words import bit_sums, cut, in_range, packed, put, widths_of, words_for
from privet.local.state import State
from privet.mechanisms import Example, Source, chance_for, epsilon_of_odds, odds_of, register
from privet.privacy import Guarantee, PartialResponseLoss

_CHUNK = 1 << 14  # people drawn together: memory and speed only
_LISTED = 5000  # subsets of a channel that is written down: time only, no report needs them


@final
@register
@dataclass(frozen=True, kw_only=True)
class SubsetSelection(FrequencyProtocol):
    """A set of `chosen` values: with probability we/(we + k - w) the own value and w - 1 others, else w others, all alike.

    w is the whole number next to k/(e + 1), at least 1 and at most k - 1, unless it is given. Reports are k bits in words.

    **Guarantee:** pure ln of p (k - w)/((1 - p) w), at most epsilon. Relation: replace.
    **Error:** the least variance there is, up to rounding of w: other (1 - other)/(n (own - other)^2) at f = 0.
    **Reference:** Ye & Barg 2018; Wang et al. 2016. **Proof:** docs/proofs/local/subset.md.

    >>> protocol = SubsetSelection(k=1024, epsilon=2.0)
    >>> protocol.chosen, round(protocol.variance(0.0), 7)
    (122, 0.7206953)
    """

    name = "local_subset"
    most_values = 2**16
    simulation = "marginals"
    chosen: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        w = self.chosen
        if w is None:
            share = math.exp(-self.epsilon) / (1.0 + math.exp(-self.epsilon))
            w = min(max(1, round(self.size * share)), self.size - 1)
        if not 1 <= count("chosen", w, 1) <= self.size - 1:
            raise InvalidParameter("chosen must be at least 1 and at most k - 1")
        set_frozen(self, chosen=count("chosen", w, 1))

    @property
    def _w(self) -> int:
        assert self.chosen is not None
        return self.chosen

    @kept_property
    def own(self) -> Fraction:
        return chance_for(self.epsilon, Fraction(self.size - self._w, self._w))

    @property
    def other(self) -> Fraction:
        return (self.own * (self._w - 1) + (1 - self.own) * self._w) / (self.size - 1)

    @property
    def pair_supports(self) -> tuple[Fraction, Fraction]:
        k, w, p = self.size, self._w, self.own
        two = (p * (w - 1) * (w - 2) + (1 - p) * w * (w - 1)) / ((k - 1) * (k - 2)) if k > 2 else Fraction(0)
        return p * Fraction(w - 1, k - 1), two

    @property
    def loss(self) -> PartialResponseLoss:
        k, w, p = self.size, self._w, self.own
        share = p * Fraction(k - w, k - 1) + (1 - p) * Fraction(w, k - 1)
        return PartialResponseLoss(epsilon_of_odds(odds_of(p, Fraction(k - w, w))), up(share))

    @property
    def widths(self) -> tuple[int, ...]:
        return widths_of(self.size)

    @property
    def report_shape(self) -> tuple[int, ...]:
        return (words_for(self.size),)

    def _draw(self, prepared: Array, runs: int, source: Source) -> Array:
        shape = (runs, *prepared.shape)
        values = np.broadcast_to(prepared, shape).reshape(-1)
        inside = noise.bernoulli(p=self.own, size=len(values), source=source)
        parts = [
            self._subsets(values[i : i + _CHUNK], inside[i : i + _CHUNK], source) for i in range(0, len(values), _CHUNK)
        ]
        drawn = np.concatenate(parts) if parts else np.zeros((0, words_for(self.size)), dtype=np.uint64)
        return drawn.reshape(*shape, words_for(self.size))

    def _subsets(self, values: Array, inside: Array, source: Source) -> Array:
        """Even subsets of the others: coins that take a little less than is needed, then even values, until it is right."""
        k, w, first = self.size, self._w, Fraction(max(0, self._w - 3 * math.isqrt(self._w)), self.size)
        words = np.asarray(noise.bernoulli_words(p=first, size=(len(values), words_for(k)), source=source))
        cut(words, k)
        put(words, values, np.zeros(len(values), dtype=np.bool_))
        missing = w - inside.astype(np.int64) - np.bitwise_count(words).sum(axis=1, dtype=np.int64)
        live, tries = np.flatnonzero(missing), 1
        while len(live):
            # more at a time for those that are left: also a source that begins anew at every call comes to an end
            for place in np.asarray(noise.uniform_int(bound=k, size=(tries, len(live)), source=source)):
                bit = np.uint64(1) << (place & 63).astype(np.uint64)
                absent = words[live, place >> 6] & bit == 0
                turn = (absent == (missing[live] > 0)) & (place != values[live]) & (missing[live] != 0)
                words[live[turn], place[turn] >> 6] ^= bit[turn]
                missing[live[turn]] -= np.sign(missing[live[turn]])
            live, tries = live[missing[live] != 0], 2 * tries
        put(words, values, inside)
        return words

    def valid(self, reports: Array) -> Array:
        ones = np.bitwise_count(reports.astype(np.uint64)).sum(axis=1)
        return in_range(reports, self.size) & (ones == self._w)

    def tally(self, reports: Array, candidates: Array | None) -> Array:
        return bit_sums(reports, self.size)

    def _sets(self) -> list[tuple[int, ...]]:
        if math.comb(self.size, self._w) > _LISTED:
            raise InvalidParameter(f"a channel over more than {_LISTED} subsets is not listed outcome by outcome")
        return list(combinations(range(self.size), self._w))

    def outcomes(self) -> Array:
        return packed(np.array([[v in chosen for v in range(self.size)] for chosen in self._sets()]))

    def channel(self) -> Channel:
        k, w = self.size, self._w
        listed(k, len(self._sets()))
        with_it, without = self.own / math.comb(k - 1, w - 1), (1 - self.own) / math.comb(k - 1, w)
        return tuple(tuple(with_it if x in chosen else without for chosen in self._sets()) for x in range(k))

    def simulate_counts(self, counts: Any, *, source: Source = None) -> State:
        return two_binomials(self, counts, source)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls(k=4, epsilon=1.0, chosen=2), 0, 1, Guarantee(1.0))
        yield Example(cls(k=5, epsilon=1.5), np.array([4, 2]), np.array([1, 2]), Guarantee(1.5))

"""Frequent values out of very many: prefixes that grow, with people split over the rounds."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from privet import noise
from privet._calls import door
from privet._numerics import Array, ndtri
from privet._validate import above, count, open_fraction, set_frozen
from privet.errors import InvalidData, InvalidParameter
from privet.local.hashing import OLH
from privet.mechanisms import Source
from privet.privacy import Parallel, PrivacyLoss


@final
@door
@dataclass(frozen=True, kw_only=True)
class PrefixSearch:
    """The values of `bits` bits that many people hold: groups of people report longer and longer prefixes, and only those
    that look frequent are followed.

    People are split over the rounds, not the budget: everyone sends one report, by optimised local hashing at the full
    epsilon, about a prefix of the length of the own group. Which group a person is in is drawn at random and public.

    **Guarantee:** pure, at most epsilon, for each person against everybody. Relation: replace.
    **Error:** a share is missed, or a rare prefix followed, at about `keep` and `confidence`; no interval is claimed for
    the values that are found, since they were chosen by the same reports.
    **Reference:** Bassily & Smith 2015; Wang, Li & Jha 2021. **Proof:** docs/proofs/local/heavy_hitters.md.

    >>> search = PrefixSearch(bits=16, epsilon=4.0, start=8, step=4)
    >>> search.lengths
    (8, 12, 16)
    >>> search.loss.pure() <= 4.0
    True
    """

    bits: int
    epsilon: float
    start: int = 8
    step: int = 4
    keep: int = 32
    confidence: float = 0.95

    def __post_init__(self) -> None:
        bits, start = count("bits", self.bits, 1), count("start", self.start, 1)
        if bits > 32:
            raise InvalidParameter("bits must be at most 32: hash longer values to 32 bits, publicly, first")
        if start > min(bits, 16):
            raise InvalidParameter("start must be at most bits and at most 16: all prefixes of that length are tried")
        set_frozen(
            self, bits=bits, start=start, step=count("step", self.step, 1), keep=count("keep", self.keep, 1),
            epsilon=above("epsilon", self.epsilon, 0.0), confidence=open_fraction("confidence", self.confidence),
        )  # fmt: skip
        if self.step > 12:
            raise InvalidParameter("step must be at most 12: each prefix grows by 2^step candidates")

    @property
    def lengths(self) -> tuple[int, ...]:
        """The length of the prefix in each round."""
        return tuple(sorted({self.bits, *range(self.start, self.bits, self.step)}))

    def protocol(self, length: int) -> OLH:
        """The protocol of a round: one of 2^length prefixes."""
        return OLH(k=2**length, epsilon=self.epsilon)

    @property
    def loss(self) -> PrivacyLoss:
        """The price that one person pays: one report."""
        return Parallel([self.protocol(length).loss for length in self.lengths], fixed_blocks=True)

    def privatize(self, values: Any, *, source: Source = None) -> list[Array]:
        """The reports of many people, those of each round together."""
        whole = self.protocol(self.bits)  # its rule for strange and missing values, each by itself
        whole.check(values)
        codes = np.asarray(whole._prepare(values)).astype(np.int64)
        if codes.ndim != 1:
            raise InvalidData("values must be whole numbers, one for each person")
        group = np.asarray(noise.uniform_int(bound=len(self.lengths), size=len(codes), source=source))
        return [
            self.protocol(length).privatize(codes[group == place] >> (self.bits - length), source=source)
            for place, length in enumerate(self.lengths)
        ]

    def search(self, reports: list[Array]) -> dict[int, float]:
        """The values that were found with their raw shares in the last group, the most frequent first (post-processing)."""
        if len(reports) != len(self.lengths):
            raise InvalidData("reports must be those of privatize: a list with one entry for each round")
        found = np.arange(2 ** self.lengths[0], dtype=np.uint64)
        before, shares = self.lengths[0], np.zeros(0)
        for length, group in zip(self.lengths, reports, strict=True):
            protocol, more = self.protocol(length), length - before
            found = ((found[:, None] << np.uint64(more)) + np.arange(2**more, dtype=np.uint64)).reshape(-1)
            told = protocol.estimate(protocol.new_state(candidates=found).add(group))
            least = -ndtri((1.0 - self.confidence) / len(found)) * float(protocol.variance(0.0, n=told.n or 1)) ** 0.5
            order = np.argsort(-told.raw)[: self.keep]
            order = order[told.raw[order] > least]
            found, shares, before = found[order], told.raw[order], length
            if not len(found):
                return {}
        return {int(value): float(share) for value, share in zip(found, shares, strict=True)}

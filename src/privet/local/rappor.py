"""RAPPOR: a Bloom filter of the value, a permanent noisy answer, and a fresh noisy report of that answer."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet import noise
from privet._cache import kept_property
from privet._numerics import Array, exact, ndtri, ratio_down
from privet._validate import count, flag, set_frozen
from privet.errors import InvalidData, InvalidParameter
from privet.local.channels import listed
from privet.local.consistency import made_consistent
from privet.local.families.frequency import Channel, FrequencyProtocol, people_of
from privet.local.families.hashes import hashed, pool
from privet.local.families.intervals import tail_of
from privet.local.families.population import spread
from privet.local.families.words import (
    bit_sums,
    in_range,
    packed,
    patterns,
    product_law,
    unpacked,
    widths_of,
    words_for,
)
from privet.local.protocol import whole_sum
from privet.local.state import State
from privet.mechanisms import ErrorBar, Estimate, Example, Source, chance_for, epsilon_of_odds, odds_of, register
from privet.privacy import Guarantee, PrivacyLoss, RandomizedResponseLoss, Repeated

_RANK = 1e-9  # singular values below it count as 0: bits of two values are then equal
_MOST = 2**12  # values that are regressed together: time, more are refused


@final
@register
@dataclass(frozen=True, kw_only=True)
class RAPPOR(FrequencyProtocol):
    """`width` bits of which `hashes` are set for a value, in one of `cohorts` sets of public hash functions. The permanent
    answer keeps each bit with probability 1 - f/2; each report sends a permanent one as 1 with probability `from_one`, a
    permanent zero with `from_zero`.

    `privatize` draws both, a permanent answer and one report of it. A device that reports again keeps its permanent answer
    (`permanent`) and sends `instantaneous` reports of it: the price covers any number of them, as long as the value stays.

    **Guarantee:** pure 2 hashes ln((1 - f/2)/(f/2)), at most epsilon, for the permanent answer and all reports of it. One
    report alone costs `first_report_epsilon`. **Error:** least squares over the k values, without bias for given hashes;
    `squared_error` has the variance of each, given all shares.
    **Reference:** Erlingsson, Pihur & Korolova 2014. **Proof:** docs/proofs/local/rappor.md.

    >>> protocol = RAPPOR(k=50, epsilon=2.0, from_zero=0.5, from_one=0.75, hashes=2, width=64, cohorts=4)
    >>> protocol.privatize([3, 4]).shape, round(float(protocol.first_report_epsilon), 6) < 2.0
    ((2, 2), True)
    >>> round(float(RAPPOR(k=2, epsilon=5.0, hashes=1).f), 6)
    0.151716
    """

    name = "local_rappor"
    exact_supports = False
    most_values = _MOST
    hashes: int = 1
    width: int = 128
    cohorts: int = 8
    from_zero: Fraction = Fraction(0)
    from_one: Fraction = Fraction(1)
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = exact("from_zero", self.from_zero), exact("from_one", self.from_one)
        if not 0 <= low < high <= 1:
            raise InvalidParameter("from_zero must be smaller than from_one, both between 0 and 1")
        whole = {name: count(name, getattr(self, name), 1) for name in ("hashes", "width", "cohorts")}
        if whole["hashes"] > whole["width"] or whole["width"] * whole["cohorts"] > 2**20:
            raise InvalidParameter("hashes must be at most width, and width times cohorts at most 2^20")
        set_frozen(self, from_zero=low, from_one=high, seed=count("seed", self.seed, 0), **whole)

    @kept_property
    def _kept(self) -> Fraction:
        """The probability that a bit of the permanent answer is the true one."""
        return chance_for(ratio_down(self.epsilon, 2.0 * self.hashes))

    @property
    def f(self) -> Fraction:
        """RAPPOR's longitudinal parameter: twice the probability that a permanent bit is false."""
        return 2 * (1 - self._kept)

    @property
    def own(self) -> Fraction:
        """The probability that a bit of the value is reported as 1."""
        return self._kept * self.from_one + (1 - self._kept) * self.from_zero

    @property
    def other(self) -> Fraction:
        """The probability that any other bit is reported as 1."""
        return (1 - self._kept) * self.from_one + self._kept * self.from_zero

    @property
    def loss(self) -> PrivacyLoss:
        return Repeated(RandomizedResponseLoss(epsilon_of_odds(odds_of(self._kept))), 2 * self.hashes)

    @property
    def first_report_epsilon(self) -> float:
        """The epsilon of a single report, from the fractions that run."""
        return epsilon_of_odds((odds_of(self.own) / odds_of(self.other)) ** self.hashes)

    # --- the client --------------------------------------------------------------------------------------------------

    @kept_property
    def bloom(self) -> Array:
        """Which bits are set, for each cohort and value: an array of cohorts, values and bits."""
        a, b = pool(self.seed, self.cohorts * self.hashes)
        place = hashed(np.arange(self.size)[None, :], a[:, None], b[:, None], self.width).astype(np.int64)
        bits = np.zeros((self.cohorts, self.size, self.width), dtype=np.bool_)
        for i, row in enumerate(place):
            bits[i // self.hashes, np.arange(self.size), row] = True
        return bits

    def permanent(self, values: Any, *, source: Source = None) -> Array:
        """Permanent answers, cohort first: to be kept on the device, never drawn again for the same value."""
        self.check(values)
        prepared = self._prepare(values)
        return self._permanent(prepared.reshape(-1), source).reshape(*prepared.shape, -1)

    def instantaneous(self, permanent: Any, *, source: Source = None) -> Array:
        """A fresh report of each permanent answer."""
        rows = self.rows(permanent).astype(np.uint64)
        return self._instantaneous(rows, source).reshape(np.shape(permanent))

    def _permanent(self, values: Array, source: Source) -> Array:
        cohort = noise.uniform_int(bound=self.cohorts, size=len(values), source=source)
        flips = noise.bernoulli(p=1 - self._kept, size=(len(values), self.width), source=source)
        made = np.empty((len(values), 1 + words_for(self.width)), dtype=np.uint64)
        made[:, 0], made[:, 1:] = cohort, packed(self.bloom[cohort, values] ^ flips)
        return made

    def _instantaneous(self, rows: Array, source: Source) -> Array:
        if self.from_zero == 0 and self.from_one == 1:
            return rows
        size = (len(rows), self.width)
        sent: Array = np.asarray(noise.bernoulli(p=self.from_zero, size=size, source=source))
        ones: Array = np.asarray(noise.bernoulli(p=self.from_one, size=size, source=source))
        made, held = rows.copy(), unpacked(rows[:, 1:], self.width) > 0
        sent[held] = ones[held]
        made[:, 1:] = packed(sent)
        return made

    def _draw(self, prepared: Array, runs: int, source: Source) -> Array:
        shape = (runs, *prepared.shape)
        rows = self._permanent(np.broadcast_to(prepared, shape).reshape(-1), source)
        made = self._instantaneous(rows, source)
        return made.reshape(*shape, made.shape[-1])

    # --- the server --------------------------------------------------------------------------------------------------

    @property
    def widths(self) -> tuple[int, ...]:
        return max(1, (self.cohorts - 1).bit_length()), *widths_of(self.width)

    @property
    def report_shape(self) -> tuple[int, ...]:
        return (1 + words_for(self.width),)

    def valid(self, reports: Array) -> Array:
        return (reports[:, 0] >= 0) & (reports[:, 0] < self.cohorts) & in_range(reports, self.width)

    def table_shape(self, candidates: Array | None) -> tuple[int, ...]:
        return self.cohorts, 1 + self.width  # the reports of the cohort, then each bit

    def tally(self, reports: Array, candidates: Array | None) -> Array:
        cohort = reports[:, 0].astype(np.int64)
        table = np.zeros(self.table_shape(None), dtype=np.int64)
        table[:, 0] = np.bincount(cohort, minlength=self.cohorts)
        for c in np.flatnonzero(table[:, 0]).tolist():
            table[c, 1:] = bit_sums(reports[cohort == c, 1:], self.width)
        return table

    def fits(self, table: Array, n: int) -> bool:
        return whole_sum(table[:, 0]) == n and bool((table[:, 1:] <= table[:, :1]).all())

    def supports(self, state: State, candidates: Array | None) -> Array:
        """The bits of a value's filter, on average: how often all of them stand together cannot be told
        from sums."""
        chosen = self.bloom if candidates is None else self.bloom[:, candidates.astype(np.int64)]
        return np.einsum("cvb,cb->v", chosen, state.table[:, 1:]) // self.hashes

    def _decoder(self, seen: Array) -> Array:
        """Least squares from the bits of the cohorts that were seen to shares: cohorts, values, bits."""
        design = self.bloom[seen].transpose(0, 2, 1).reshape(-1, self.size).astype(float)
        if np.linalg.matrix_rank(design, tol=_RANK) < self.size:
            raise InvalidData(
                "the cohorts seen so far do not tell all values apart: more cohorts, more bits or fewer values"
            )
        return np.linalg.pinv(design).reshape(self.size, -1, self.width).transpose(1, 0, 2)

    @kept_property
    def _whole(self) -> tuple[Array, Array]:
        """The decoder for all cohorts, and which are seen: all."""
        seen = np.ones(self.cohorts, dtype=np.bool_)
        return self._decoder(seen), seen

    def _noise(self, decoder: Array, seen: Array, sizes: Array, f: Array, whole: bool) -> Array:
        """The covariance of raw estimates (else its diagonal) given how many people each cohort has: flips of bits, and
        people who fall into one cohort and not into another, drawn without replacement."""
        p, q, n = float(self.own), float(self.other), float(sizes.sum())
        found: Any = 0.0
        for matrix, bloom, size in zip(decoder, self.bloom[seen].astype(float), sizes, strict=True):
            flips = (q * (1.0 - q) + (p * (1.0 - p) - q * (1.0 - q)) * (f @ bloom)) / (size * self._gap**2)
            mixed, scale = matrix @ bloom.T, n / (size * max(n - 1.0, 1.0))
            mean = mixed @ f
            if whole:
                found = found + (matrix * flips) @ matrix.T + scale * ((mixed * f) @ mixed.T - np.outer(mean, mean))
            else:
                found = found + matrix**2 @ flips + scale * (mixed**2 @ f - mean**2)
        one = np.diag(f) - np.outer(f, f) if whole else f * (1.0 - f)
        return found - one / max(n - 1.0, 1.0)

    def _covariance(self, f: Array, n: int) -> Array:
        decoder, seen = self._whole
        return self._noise(decoder, seen, np.full(self.cohorts, n / self.cohorts), f, True)

    def squared_error(self, shares: Any, *, n: int) -> Array:
        """The variance of each raw estimate from n reports, given the shares of all values: without bias for given hashes.
        Cohorts have a part of the people each, all alike."""
        decoder, seen = self._whole
        sizes = np.full(self.cohorts, count("n", n, 1) / self.cohorts)
        return self._noise(decoder, seen, sizes, self._shares(shares), False)

    @kept_property
    def _worst(self) -> tuple[float, float]:
        """The largest variance of one report's share for people who all hold another value, and who all hold it."""
        decoder, p, q = self._whole[0], float(self.own), float(self.other)
        by_holder = np.zeros((self.size, self.size))  # estimate, value that is held
        for matrix, bloom in zip(decoder, self.bloom.astype(float), strict=True):
            rates = q * (1.0 - q) + (p * (1.0 - p) - q * (1.0 - q)) * bloom
            by_holder += self.cohorts * (matrix**2 @ rates.T / self._gap**2 + (matrix @ bloom.T) ** 2)
        own = by_holder.diagonal() - 1.0
        np.fill_diagonal(by_holder, 0.0)
        return float(by_holder.max()), float(own.max())

    def _error_of(self, prepared: Array) -> ErrorBar | None:
        return None  # a device does not invert the server's regression; `error` does, when it is asked

    def _line(self, n: int) -> tuple[float, float]:
        """At most a + b f, whatever the others hold: bits that values share make it depend on the shares of all."""
        other, own = self._worst
        return other / n, (own - other) / n

    def _estimate(
        self,
        reports: Any,
        *,
        candidates: Any = None,
        confidence: float = 0.95,
        simultaneous: bool = False,
        consistency: Any = None,
    ) -> Estimate:
        """Shares by least squares over all k values, with normal intervals; `value` is `raw` unless made consistent."""
        state, wanted = self._asked(reports, candidates)
        seen = state.table[:, 0] > 0
        decoder = self._whole[0] if seen.all() else self._decoder(seen)
        rates = state.table[seen, 1:] / state.table[seen, :1]
        raw = np.einsum("cvb,cb->v", decoder, (rates - float(self.other)) / float(self.own - self.other))
        variance, labels = self._noise(decoder, seen, state.table[seen, 0], np.clip(raw, 0.0, 1.0), False), self.labels
        if wanted is not None:
            places, labels = wanted.astype(np.int64), tuple(wanted.tolist())
            raw, variance = raw[places], variance[places]
        if consistency is not None:
            value, note = made_consistent(consistency, raw, state, wanted)
            return Estimate(value, None, raw=raw, variance=variance, labels=labels, n=state.n, notes=(note,))
        joint = flag("simultaneous", simultaneous)
        tail = tail_of(confidence, among=len(raw) if joint else 1)
        radius = -ndtri(tail / 2.0) * np.sqrt(variance)
        bar = ErrorBar(radius, confidence, f"each of {len(raw)} estimated shares", joint=joint)
        ends = np.clip(raw - radius, 0.0, 1.0), np.clip(raw + radius, 0.0, 1.0)
        return Estimate(raw, bar, variance=variance, interval=ends, labels=labels, n=state.n)

    # --- the channel -------------------------------------------------------------------------------------------------

    def outcomes(self) -> Array:
        bits = patterns(self.width)
        return np.concatenate([np.insert(bits, 0, np.uint64(c), axis=1) for c in range(self.cohorts)])

    def channel(self) -> Channel:
        patterns(self.width)
        listed(self.size, self.cohorts * 2**self.width)
        made = []
        for x in range(self.size):
            laws = [product_law([self.own if bit else self.other for bit in row[x]], self.width) for row in self.bloom]
            made.append(tuple(mass / self.cohorts for law in laws for mass in law))
        return tuple(made)

    def simulate_counts(self, counts: Any, *, source: Source = None) -> State:
        people = people_of(counts, self.size)
        held = np.stack([spread(int(each), self.cohorts, source) for each in people], axis=1)  # cohorts, values
        ones = np.einsum("cv,cvb->cb", held, self.bloom.astype(np.int64))
        n = held.sum(axis=1)
        mine = np.asarray(noise.binomial(n=ones, p=self.own, source=source))
        bits = mine + np.asarray(noise.binomial(n=n[:, None] - ones, p=self.other, source=source))
        return State(self).add_counts(np.concatenate([n[:, None], bits], axis=1), int(people.sum()))

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls(k=2, epsilon=2.0, width=3, cohorts=1, seed=1), 0, 1, Guarantee(2.0), detects=0.25)

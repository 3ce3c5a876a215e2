"""Count-mean sketches: a row of public hashes, and one column of it in unary or by one Hadamard coefficient."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet import noise
from privet._cache import kept_property
from privet._numerics import Array, up
from privet._validate import count, set_frozen
from privet.errors import InvalidParameter
from privet.local.channels import listed
from privet.local.families.frequency import Channel, FrequencyProtocol, people_of
from privet.local.families.hashes import hashed, parity, pool, walsh
from privet.local.families.pooled import Pool
from privet.local.families.population import one_by_one, spread
from privet.local.families.words import bit_sums, cut, in_range, patterns, product_law, put, widths_of, words_for
from privet.local.protocol import whole_sum, word_of
from privet.local.state import State
from privet.mechanisms import Example, Source, chance_for, epsilon_of_odds, odds_of, register
from privet.privacy import Guarantee, PartialResponseLoss

_MOST = 2**26  # cells of a sketch: half a gigabyte of counts


def _columns(protocol: Any, values: Array) -> Array:
    """The column of each value (a row of the answer) in each row of the sketch."""
    a, b = protocol.hashes
    return hashed(values.astype(np.uint64)[:, None], a[None, :], b[None, :], protocol.width).astype(np.int64)


def _summed(protocol: Any, table: Array, candidates: Array | None) -> Array:
    """The cell of each value added up over the rows, one row at a time: memory does not grow with the depth."""
    values = np.arange(protocol.size, dtype=np.uint64) if candidates is None else candidates
    totals = np.zeros(len(values), dtype=np.int64)
    for row, a, b in zip(table, *protocol.hashes, strict=True):
        totals += row[hashed(values, a, b, protocol.width)]
    return totals


def _checked(protocol: Any) -> dict[str, int]:
    """Depth, width and seed, as whole numbers in range."""
    depth, width = count("depth", protocol.depth, 1), count("width", protocol.width, 2)
    if depth * width > _MOST:
        raise InvalidParameter("a sketch has at most 2^26 cells: lower depth or width")
    return {"depth": depth, "width": width, "seed": count("seed", protocol.seed, 0)}


@final
@register
@dataclass(frozen=True, kw_only=True)
class CountMeanSketch(FrequencyProtocol):
    """A row of the sketch, even among `depth`, and `width` bits of which that of the value's column is set; each bit flips
    with probability 1/(1 + e^(epsilon/2)).

    **Guarantee:** pure, that of symmetric unary encoding over the columns, at most epsilon. Relation: replace.
    **Error:** variance s/(n (s - 1)^2), s = e^(epsilon/2), and collisions of about 1/width; without bias on average over
    hashes, which follow from the public `seed`. **Reference:** Apple 2017. **Proof:** docs/proofs/local/sketch.md.

    >>> sketch = CountMeanSketch(k=10**6, epsilon=4.0, depth=16, width=256)
    >>> sketch.privatize([5, 7]).shape, sketch.new_state().table.shape
    ((2, 5), (16, 256))
    >>> sketch.estimate(sketch.privatize([5] * 200), candidates=[5, 6]).raw.shape
    (2,)
    """

    name = "local_count_mean_sketch"
    exact_supports = False
    depth: int = 64
    width: int = 1024
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, **_checked(self))

    @kept_property
    def hashes(self) -> tuple[Array, Array]:
        """The public pairs (a, b), one for each row."""
        return pool(self.seed, self.depth)

    @kept_property
    def own(self) -> Fraction:
        return chance_for(self.epsilon / 2.0)

    @property
    def other(self) -> Fraction:
        return 1 - self.own + (2 * self.own - 1) / self.width

    @kept_property
    def shared_hashes(self) -> Pool:
        low, gain = float(1 - self.own), float(2 * self.own - 1)
        return Pool(self.hashes, self.width, low, gain, low**2, low * gain)

    @property
    def loss(self) -> PartialResponseLoss:
        p = self.own
        return PartialResponseLoss(epsilon_of_odds(odds_of(p) ** 2), up(p * p + (1 - p) * (1 - p)))

    @property
    def widths(self) -> tuple[int, ...]:
        return max(1, (self.depth - 1).bit_length()), *widths_of(self.width)

    @property
    def report_shape(self) -> tuple[int, ...]:
        return (1 + words_for(self.width),)

    def _draw(self, prepared: Array, runs: int, source: Source) -> Array:
        shape = (runs, *prepared.shape)
        values = np.broadcast_to(prepared, shape).reshape(-1)
        (a, b), made = self.hashes, np.empty((len(values), 1 + words_for(self.width)), dtype=np.uint64)
        row = noise.uniform_int(bound=self.depth, size=len(values), source=source)
        bits = noise.bernoulli_words(p=1 - self.own, size=(len(values), words_for(self.width)), source=source)
        cut(bits, self.width)
        column = hashed(values, a[row], b[row], self.width).astype(np.int64)
        put(bits, column, noise.bernoulli(p=self.own, size=len(values), source=source))
        made[:, 0], made[:, 1:] = row, bits
        return made.reshape(*shape, made.shape[-1])

    def valid(self, reports: Array) -> Array:
        return (reports[:, 0] >= 0) & (reports[:, 0] < self.depth) & in_range(reports, self.width)

    def table_shape(self, candidates: Array | None) -> tuple[int, ...]:
        return self.depth, self.width

    def tally(self, reports: Array, candidates: Array | None) -> Array:
        row = reports[:, 0].astype(np.int64)
        order = np.argsort(row, kind="stable")
        ends = np.searchsorted(row[order], np.arange(self.depth + 1))
        sorted_ = reports[order, 1:]
        return np.stack([bit_sums(sorted_[ends[j] : ends[j + 1]], self.width) for j in range(self.depth)])

    def fits(self, table: Array, n: int) -> bool:
        return whole_sum(table.max(axis=1)) <= n  # a row has at least as many reports as its largest count

    def supports(self, state: State, candidates: Array | None) -> Array:
        return _summed(self, state.table, candidates)

    def outcomes(self) -> Array:
        bits = patterns(self.width)
        return np.concatenate([np.insert(bits, 0, np.uint64(j), axis=1) for j in range(self.depth)])

    def channel(self) -> Channel:
        patterns(self.width)
        listed(self.size, self.depth * 2**self.width)
        made = []
        for column in _columns(self, np.arange(self.size)).tolist():
            laws = [
                product_law([self.own if c == own else 1 - self.own for c in range(self.width)], self.width)
                for own in column
            ]
            made.append(tuple(mass / self.depth for law in laws for mass in law))
        return tuple(made)

    def simulate_counts(self, counts: Any, *, source: Source = None) -> State:
        people = people_of(counts, self.size)
        held = np.zeros((self.depth, self.width), dtype=np.int64)
        for x in np.flatnonzero(people).tolist():
            column = _columns(self, np.array([x]))[0]
            np.add.at(held, (np.arange(self.depth), column), spread(int(people[x]), self.depth, source))
        n = held.sum(axis=1, keepdims=True)
        mine = np.asarray(noise.binomial(n=held, p=self.own, source=source))
        table = mine + np.asarray(noise.binomial(n=n - held, p=1 - self.own, source=source))
        return State(self).add_counts(table, int(people.sum()))

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls(k=3, epsilon=2.0, depth=2, width=3), 0, 1, Guarantee(2.0), detects=0.25)


@final
@register
@dataclass(frozen=True, kw_only=True)
class HadamardSketch(FrequencyProtocol):
    """A row of the sketch, a column l of a Hadamard matrix, and the sign of the value's entry there, which flips with
    probability 1/(1 + e): one number, and `width` is a power of two.

    **Guarantee:** pure ln(p/(1 - p)) of the fraction that runs, at most epsilon. Relation: replace.
    **Error:** variance about ((e + 1)/(e - 1))^2/n, and collisions of about 1/width; without bias on average over hashes.
    **Reference:** Apple 2017. **Proof:** docs/proofs/local/sketch.md.

    >>> sketch = HadamardSketch(k=10**6, epsilon=4.0, depth=16, width=256)
    >>> sketch.privatize([5, 7]).dtype, sketch.report_bytes
    (dtype('uint16'), 2)
    """

    name = "local_hadamard_sketch"
    coding = "value"
    exact_supports = False
    depth: int = 64
    width: int = 1024
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, **_checked(self))
        if self.width & (self.width - 1):
            raise InvalidParameter("width must be a power of two, as the orders of these Hadamard matrices are")

    @kept_property
    def hashes(self) -> tuple[Array, Array]:
        """The public pairs (a, b), one for each row."""
        return pool(self.seed, self.depth)

    @kept_property
    def own(self) -> Fraction:
        return chance_for(self.epsilon)

    @property
    def other(self) -> Fraction:
        return Fraction(1, 2) + (self.own - Fraction(1, 2)) / self.width

    @kept_property
    def shared_hashes(self) -> Pool:
        gain = float(self.own) - 0.5  # over the columns of the matrix; two different cells agree as two fair coins do
        return Pool(self.hashes, self.width, 0.5, gain, 0.25, gain / 2.0)

    @property
    def loss(self) -> PartialResponseLoss:
        return PartialResponseLoss(epsilon_of_odds(odds_of(self.own)), 0.5)

    @property
    def widths(self) -> tuple[int, ...]:
        return ((2 * self.depth * self.width - 1).bit_length(),)

    def _draw(self, prepared: Array, runs: int, source: Source) -> Array:
        shape, (a, b) = (runs, *prepared.shape), self.hashes
        place = noise.uniform_int(bound=self.depth * self.width, size=shape, source=source)
        row, column = place // self.width, place % self.width
        flips = ~noise.bernoulli(p=self.own, size=shape, source=source)
        cell = hashed(np.broadcast_to(prepared, shape), a[row], b[row], self.width).astype(np.int64)
        sign = parity(cell, column).astype(np.bool_) ^ flips
        return (2 * place + sign).astype(word_of(self.widths[0]))

    def valid(self, reports: Array) -> Array:
        return (reports >= 0) & (reports < 2 * self.depth * self.width)

    def table_shape(self, candidates: Array | None) -> tuple[int, ...]:
        return self.depth, self.width, 2

    def tally(self, reports: Array, candidates: Array | None) -> Array:
        cells = 2 * self.depth * self.width
        return np.bincount(reports.astype(np.int64), minlength=cells).reshape(self.table_shape(None))

    def supports(self, state: State, candidates: Array | None) -> Array:
        agree = walsh(state.table[..., 0] - state.table[..., 1])
        return (state.n + _summed(self, agree, candidates)) // 2

    def outcomes(self) -> Array:
        return np.arange(2 * self.depth * self.width)

    def channel(self) -> Channel:
        listed(self.size, 2 * self.depth * self.width)
        made, even = [], Fraction(1, self.depth * self.width)
        for cells in _columns(self, np.arange(self.size)).tolist():
            odd = [int(parity(np.int64(c), np.int64(j))) for c in cells for j in range(self.width)]
            made.append(tuple(even * (self.own if sign == o else 1 - self.own) for o in odd for sign in (0, 1)))
        return tuple(made)

    def simulate_counts(self, counts: Any, *, source: Source = None) -> State:
        """Reports of single people: rows of a Hadamard matrix tie values together in a way that no short cut has."""
        return one_by_one(self, counts, source)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        sketch = cls(k=3, epsilon=2.0, depth=2, width=4)
        yield Example(sketch, 0, 2, Guarantee(2.0), detects=0.25)  # 0 and 1 share their cells: nobody tells them apart

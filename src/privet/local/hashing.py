"""Local hashing: the value falls into one of g cells by a public hash, and the cell is reported by randomized response."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from privet import mechanisms, noise
from privet._cache import kept_property
from privet._calls import door
from privet._numerics import Array, up
from privet._validate import count, set_frozen
from privet.errors import InvalidParameter
from privet.local.channels import listed
from privet.local.families.counts import counted
from privet.local.families.frequency import Channel, FrequencyProtocol
from privet.local.families.hashes import hashed, pool, third_collisions
from privet.local.families.pooled import Pool
from privet.local.families.population import one_by_one, two_binomials
from privet.local.families.walks import supported
from privet.local.protocol import word_of
from privet.local.state import State
from privet.mechanisms import Example, Source, chance_for, register
from privet.privacy import Guarantee, PartialResponseLoss

_MOST_CELLS = 2**16  # a report has two bytes
_MOST_IN_POOL = 2**26  # cells of all hashes together, as in a sketch
_SHOWN = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0))  # the hash whose channel is shown


def best_cells(epsilon: float) -> int:
    """The whole number next to e + 1 with the smaller variance at f = 0, e = e^epsilon.

    >>> best_cells(2.0), best_cells(1e-3)
    (8, 2)
    """
    if epsilon > math.log(_MOST_CELLS - 2):
        return _MOST_CELLS
    e, more = math.exp(epsilon), math.expm1(epsilon)

    def variance(g: int) -> float:
        return (e + g - 1.0) ** 2 / ((g - 1.0) * more**2)  # q (1 - q)/(p - q)^2

    below = max(2, math.floor(e + 1.0))
    return min((below, below + 1), key=variance)


class _OverCells:
    """Base of both protocols, before `FrequencyProtocol`: randomized response over the cells of a hash."""

    epsilon: float
    cells: int | None

    def _checked_cells(self) -> int:
        """The number of cells, the best one unless it is given."""
        cells = best_cells(self.epsilon) if self.cells is None else count("cells", self.cells, 2)
        if cells > _MOST_CELLS:
            raise InvalidParameter(f"cells must be at most {_MOST_CELLS}")
        return cells

    @kept_property
    def response(self) -> mechanisms.KRR:
        """Randomized response over the cells."""
        assert self.cells is not None
        return mechanisms.KRR(k=self.cells, truth=chance_for(self.epsilon, self.cells - 1))

    @property
    def own(self) -> Fraction:
        """The cell is the true one."""
        return self.response.truth

    @property
    def other(self) -> Fraction:
        """Another value falls into the reported cell, which says nothing about it."""
        return Fraction(1, self.response.k)


@final
@register
@dataclass(frozen=True, kw_only=True)
class OLH(_OverCells, FrequencyProtocol):
    """A hash of one's own, drawn anew for every report, and the cell of the value by randomized response over `cells`.

    A report has three numbers: a and b of the hash, even words of 64 bits, and the cell. `OLH.binary` has two cells. The
    server's state counts supports: give `candidates` where there are too many values to count them all. With numba
    (`pip install 'privet[fast]'`) large batches of reports are counted by compiled code.

    **Guarantee:** pure, that of randomized response over the cells, at most epsilon: the hash says nothing about the value.
    **Error:** variance about 4e/(n (e - 1)^2) at f = 0, whatever k; a hash falls into a cell with probability 1/cells up to
    cells 2^-32. **Reference:** Wang, Blocki, Li & Jha 2017. **Proof:** docs/proofs/local/hashing.md.

    >>> protocol = OLH(k=10**6, epsilon=2.0)
    >>> protocol.cells, round(protocol.variance(0.0), 7), protocol.report_bytes
    (8, 0.7245914, 17)
    >>> protocol.estimate(protocol.privatize([5] * 100), candidates=[5, 6]).raw.shape
    (2,)
    """

    name = "local_olh"
    simulation = "marginals"
    exact_supports = False
    cells: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, cells=self._checked_cells())

    @classmethod
    @door
    def binary(cls, *, k: int, epsilon: float) -> "OLH":
        """Binary local hashing: two cells."""
        return cls(k=k, epsilon=epsilon, cells=2)

    @property
    def loss(self) -> PartialResponseLoss:
        told = self.response
        share = (1 - Fraction(1, told.k)) * (told.truth + told.lie)  # two values fall apart no more often
        return PartialResponseLoss(told.loss.epsilon, up(share))

    @property
    def widths(self) -> tuple[int, ...]:
        return 64, 64, (self.response.k - 1).bit_length()

    @property
    def report_shape(self) -> tuple[int, ...]:
        return (3,)

    def _draw(self, prepared: Array, runs: int, source: Source) -> Array:
        shape = (runs, *prepared.shape)
        made = np.empty((*shape, 3), dtype=np.uint64)
        made[..., :2] = noise.bernoulli_words(p=Fraction(1, 2), size=(*shape, 2), source=source)
        cell = hashed(np.broadcast_to(prepared, shape), made[..., 0], made[..., 1], self.response.k)
        made[..., 2] = self.response._draw(cell.astype(np.int64), 1, source)[0]
        return made

    def valid(self, reports: Array) -> Array:
        return (reports[:, 2] >= 0) & (reports[:, 2] < self.response.k)

    def table_shape(self, candidates: Array | None) -> tuple[int, ...]:
        if candidates is None and self.size > 2**24:
            raise InvalidParameter("more than 2^24 values are not counted one by one: name candidates=")
        return (self.size if candidates is None else len(candidates),)

    def tally(self, reports: Array, candidates: Array | None) -> Array:
        """Supports of each value: a x + b falls into the reported cell iff it lies in one interval of words."""
        g = self.response.k
        reports = reports.astype(np.uint64)
        cell = reports[:, 2]
        low, high = _ceil(cell, g), _ceil(cell + np.uint64(1), g)  # the words of 32 bits that fall into the cell
        width = (high - low) << np.uint64(32)
        begin = reports[:, 1] - (low << np.uint64(32))
        return supported(self.size, reports[:, 0], begin, width, candidates)

    def supports(self, state: State, candidates: Array | None) -> Array:
        if candidates is None or (state.candidates is not None and np.array_equal(state.candidates, candidates)):
            return state.table
        if state.candidates is not None:
            raise InvalidParameter("this state counts other candidates; the reports themselves are needed for new ones")
        return state.table[candidates.astype(np.int64)]

    def outcomes(self) -> Array:
        """The reports with one hash, which is public: a = 0x9E3779B97F4A7C15, b = 0."""
        cells = np.arange(self.response.k, dtype=np.uint64)
        return np.stack((np.full_like(cells, _SHOWN[0]), np.full_like(cells, _SHOWN[1]), cells), axis=1)

    def channel(self) -> Channel:
        """The law of the cell given one hash, that of `outcomes`: hashes are drawn without a look at the value."""
        told = self.response
        listed(self.size, told.k)
        cell = hashed(np.arange(self.size, dtype=np.uint64), *_SHOWN, told.k).tolist()
        return tuple(tuple(told.truth if y == c else told.lie for y in range(told.k)) for c in cell)

    def _extra_cross(self, f: Array) -> Array:
        """Hashes are independent in pairs, not in threes: evenly spaced values fall into one cell more often than that."""
        told = self.response
        return float(told.truth - told.lie) * third_collisions(f, told.k)

    def simulate_counts(self, counts: Any, *, source: Source = None) -> State:
        return two_binomials(self, counts, source)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls(k=4, epsilon=2.0, cells=4), 0, 3, Guarantee(2.0), detects=0.25)


def _ceil(cell: Array, g: int) -> Array:
    """ceil(cell 2^32/g)."""
    return ((cell << np.uint64(32)) + np.uint64(g - 1)) // np.uint64(g)


@final
@register
@dataclass(frozen=True, kw_only=True)
class FLH(_OverCells, FrequencyProtocol):
    """Local hashing with a public pool of hashes: a report is one number, cells * (which hash) + (which cell).

    Reports are counted by `GROUP BY`; the state has pool * cells counts, whatever k. The pool follows from `seed`.

    **Guarantee:** pure, that of randomized response over the cells, at most epsilon.
    **Error:** as `OLH` on average over pools. Given one, two values collide in a share of its hashes that is not 1/cells
    exactly, so that an estimate is off by about sqrt(1/(pool (cells - 1))) of the other's share (`squared_error`).
    **Reference:** Cormode, Maddock & Maple 2021. **Proof:** docs/proofs/local/hashing.md.

    >>> protocol = FLH(k=1024, epsilon=2.0, pool=1000)
    >>> protocol.new_state().table.shape, protocol.report_bytes
    ((8000,), 2)
    """

    name = "local_flh"
    coding = "value"
    simulation = "marginals"
    exact_supports = False
    cells: int | None = None
    pool: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(
            self, cells=self._checked_cells(), pool=count("pool", self.pool, 1), seed=count("seed", self.seed, 0)
        )
        if self.pool * self.response.k > _MOST_IN_POOL:
            raise InvalidParameter("the pool must have at most 2^26 cells in all: lower pool or cells")

    @kept_property
    def hashes(self) -> tuple[Array, Array]:
        """The public pairs (a, b)."""
        return pool(self.seed, self.pool)

    @kept_property
    def shared_hashes(self) -> Pool:
        told = self.response
        return Pool(self.hashes, told.k, float(told.lie), float(told.truth - told.lie))

    @property
    def loss(self) -> PartialResponseLoss:
        told = self.response
        return PartialResponseLoss(told.loss.epsilon, up(told.truth + told.lie))  # a pool may keep two values apart

    @property
    def widths(self) -> tuple[int, ...]:
        return ((self.pool * self.response.k - 1).bit_length(),)

    def _draw(self, prepared: Array, runs: int, source: Source) -> Array:
        shape, (a, b), g = (runs, *prepared.shape), self.hashes, self.response.k
        which = noise.uniform_int(bound=self.pool, size=shape, source=source)
        cell = hashed(np.broadcast_to(prepared, shape), a[which], b[which], g).astype(np.int64)
        return (which * g + self.response._draw(cell, 1, source)[0]).astype(word_of(self.widths[0]))

    def valid(self, reports: Array) -> Array:
        return (reports >= 0) & (reports < self.pool * self.response.k)

    def table_shape(self, candidates: Array | None) -> tuple[int, ...]:
        return (self.pool * self.response.k,)

    def tally(self, reports: Array, candidates: Array | None) -> Array:
        return counted(reports, self.pool * self.response.k)

    def supports(self, state: State, candidates: Array | None) -> Array:
        values = np.arange(self.size, dtype=np.uint64) if candidates is None else candidates
        totals, table = np.zeros(len(values), dtype=np.int64), state.table.reshape(self.pool, -1)
        for row, a, b in zip(table, *self.hashes, strict=True):
            totals += row[hashed(values, a, b, self.response.k)]
        return totals

    def outcomes(self) -> Array:
        return np.arange(self.pool * self.response.k)

    def channel(self) -> Channel:
        told, values = self.response, np.arange(self.size, dtype=np.uint64)
        listed(self.size, self.pool * told.k)
        cells = [hashed(values, a, b, told.k).tolist() for a, b in zip(*self.hashes, strict=True)]
        return tuple(
            tuple((told.truth if y == cell[x] else told.lie) / self.pool for cell in cells for y in range(told.k))
            for x in range(self.size)
        )

    def simulate_counts(self, counts: Any, *, source: Source = None) -> State:
        """Reports of single people: a pool ties values together in a way that no short cut has."""
        return one_by_one(self, counts, source)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls(k=4, epsilon=2.0, cells=4, pool=2), 0, 3, Guarantee(2.0), detects=0.25)

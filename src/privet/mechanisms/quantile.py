"""A quantile, by the exponential mechanism over a public grid."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple, Unpack, final

import numpy as np

from privet import noise
from privet._numerics import Array, up
from privet._validate import above, count, finite, open_fraction, set_frozen
from privet.errors import InvalidParameter
from privet.mechanisms.error_bar import ErrorBar
from privet.mechanisms.families.columns import moment
from privet.mechanisms.families.record_values import Missing, admit_records, clean_records, missing_note, public_missing
from privet.mechanisms.mechanism import Example, Mechanism, Source, register
from privet.mechanisms.target import scale_for, smallest_scale
from privet.privacy import ExponentialLoss, Guarantee, Promise, Unit, as_unit

_POINTS = 2**16  # of the default grid: a step is 1.5e-5 of the range, finer than most quantiles are known
_DENOMINATOR = 10**6  # of q; scores are then whole numbers that doubles hold
_NEAR = 64  # candidates within this many scales of the best rank are looked at one by one,
_FEW = 2**16  # or fewer, within this many records, where that serves


class Pieces(NamedTuple):
    """Grid points with equal scores: where a piece starts, how many points it has, minus its score times the
    denominator of q. The last one may stand for all points outside [low, high], at a bound on their score.
    """

    starts: Array
    counts: Array
    gaps: Array
    low: int
    high: int


@final
@register
@dataclass(frozen=True, kw_only=True)
class Quantile(Mechanism[Any, float]):
    """The value below which a share `q` of the records lies: a point of a public grid from bounds[0] to bounds[1].

    A point is chosen with probability proportional to exp(score/scale); its score is minus the number of records by
    which its rank misses q n. Every grid point counts once, whether records sit on it or not, so that ties and
    duplicates do no harm. Records beyond the bounds count as the bound. Missing ones (NaN, None, no number) are left out
    (`missing="drop"`, the default under add/remove) or count as a public number (default: the lower bound). The number
    of records is not revealed, and there may be none.

    **Guarantee:** `ExponentialLoss` of epsilon = 2 sensitivity/scale, in records.
    **Sensitivity:** of the score: max(q, 1 - q) when a record is added or removed, 1 when it is exchanged; times
    `max_rows`; known here.
    **Error:** the rank of the answer misses q n by more than scale ln(T/beta) records with probability at most beta,
    for T grid points. A statement about ranks; how far that is in the units of the data depends on the data.
    **Reference:** Smith 2011; Dwork & Roth 2014, section 3.4.

    >>> median = Quantile.for_budget(epsilon=1.0, q=0.5, bounds=(0, 110), step=1)
    >>> median.scale, median.points  # in records; 0, 1, ..., 110
    (1.0, 111)
    >>> 40 <= median.release(np.arange(0, 100).repeat(100)).value <= 60
    True
    >>> print(median.error(0.95))
    [rank, in records: +-7.705 (95%)]
    """

    name = "quantile"

    q: Fraction
    bounds: tuple[float, float]
    scale: float
    step: float | None = None
    missing: Missing | None = None
    unit: Unit = field(default=Unit())
    max_rows: int = 1
    at: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = _interval(self.bounds)
        q = Fraction(self.q) if isinstance(self.q, Fraction) else Fraction(_one_q(self.q))
        if not 0 < q < 1:
            raise InvalidParameter("q must lie strictly between 0 and 1")
        step = above("step", (high - low) / _POINTS if self.step is None else self.step, 0.0)
        if not isinstance(self.unit, Unit):
            raise InvalidParameter('unit must be a Unit, such as privacy.Unit("replace")')
        drop = self.missing is None and self.unit.relation == "add_remove"
        missing = public_missing(
            "drop" if drop else low if self.missing is None else self.missing, (low, high), self.unit
        )
        clean = {
            "q": q.limit_denominator(_DENOMINATOR),
            "bounds": (low, high),
            "scale": above("scale", self.scale, 0.0),
            "step": step,
            "missing": missing,
            "max_rows": count("max_rows", self.max_rows, 1),
        }
        for name, value in clean.items():
            set_frozen(self, **{name: value})
        if not 0 < self.q < 1:
            raise InvalidParameter(f"q must lie at least {1 / _DENOMINATOR:g} away from 0 and 1")
        if not 2 <= self.points <= 2**52:
            raise InvalidParameter("the grid must have between 2 and 2^52 points: choose another step")

    @classmethod
    def for_budget(
        cls,
        *,
        q: float | Fraction,
        bounds: tuple[float, float],
        step: float | None = None,
        missing: Missing | None = None,
        unit: Unit | None = None,
        max_rows: int = 1,
        **promise: Unpack[Promise],
    ) -> "Quantile":
        """The smallest scale that stays within the budget."""
        target, whose = Guarantee(**promise), as_unit(unit)
        shape = cls(q=q, bounds=bounds, scale=1.0, step=step, missing=missing, unit=whose, max_rows=max_rows)  # type: ignore[arg-type]
        ratio = smallest_scale(lambda ratio: ExponentialLoss(up(2 / Fraction(ratio))), target)
        scale = scale_for(ratio, shape.sensitivity)
        return replace(shape, scale=scale)._charged_at(target)

    @property
    def sensitivity(self) -> Fraction:
        """The largest change of a score, in records."""
        one = max(self.q, 1 - self.q) if self.unit.relation == "add_remove" else Fraction(1)
        return one * self.unit.group_size * self.max_rows

    @property
    def loss(self) -> ExponentialLoss:
        return ExponentialLoss(up(2 * self.sensitivity / Fraction(self.scale)), unit=self.unit)

    @property
    def points(self) -> int:
        """The number of grid points."""
        return math.floor((Fraction(self.bounds[1]) - Fraction(self.bounds[0])) / Fraction(self._width)) + 1

    @property
    def _width(self) -> float:
        assert self.step is not None  # `__post_init__` fills it in
        return self.step

    def to_dict(self) -> dict[str, Any]:
        """As for every mechanism; without `max_rows` where a person has one, as it was before it existed."""
        public = super().to_dict()
        return public if self.max_rows > 1 else {name: value for name, value in public.items() if name != "max_rows"}

    def _admit(self, value: object) -> None:
        admit_records(value)

    def _notes(self, drawn: float) -> tuple[str, ...]:
        return (missing_note(self.missing),)

    def _prepare(self, value: object) -> Array:
        assert self.missing is not None  # `__post_init__` fills it in
        low = self.bounds[0]
        # Each record is mapped by itself, so rounding here cannot touch the sensitivity.
        records = clean_records(value, self.bounds, self.missing)
        return np.sort(np.minimum(np.floor((records - low) / self._width + 0.5), self.points - 1).astype(np.int64))

    def _draw(self, prepared: Array, runs: int, source: Source) -> Array:
        ranked, pieces = prepared, self._pieces(prepared)
        chosen = np.full(runs, -1, dtype=np.int64)
        while len(open_ := np.flatnonzero(chosen < 0)):
            scale = Fraction(self.scale) * self.q.denominator
            index = noise.choice_exp(-pieces.gaps, scale=scale, counts=pieces.counts, size=len(open_), source=source)
            for piece in np.unique(index):
                mine = open_[index == piece]
                place = noise.uniform_int(bound=int(pieces.counts[piece]), size=len(mine), source=source)
                if pieces.starts[piece] >= 0:
                    chosen[mine] = pieces.starts[piece] + place
                else:
                    chosen[mine] = [self._far(int(p), pieces, ranked, source) for p in place]
        low, step = Fraction(self.bounds[0]), Fraction(self._width)
        return np.array([float(low + int(point) * step) for point in chosen])

    def _far(self, place: int, pieces: Pieces, ranked: Array, source: Source) -> int:
        """A point outside [low, high], kept with the probability that its score has against the bound, else -1."""
        point = place if place < pieces.low else place - pieces.low + pieces.high + 1
        a, b = (int(np.searchsorted(ranked, point, side=side)) for side in ("left", "right"))
        excess = self._gap(a, b, len(ranked)) - int(pieces.gaps[-1])
        kept = noise.bernoulli_exp(x=Fraction(excess) / self.q.denominator / Fraction(self.scale), source=source)
        return point if kept else -1

    def _gap(self, a: Any, b: Any, n: int) -> Any:
        """Minus the score of points with a records below and b at or below, times the denominator of q."""
        top, bottom = self.q.numerator, self.q.denominator
        return np.maximum(0, np.maximum(bottom * a - top * n, top * n - bottom * b))

    def _pieces(self, ranked: Array) -> Pieces:
        """A window of records around the quantile, as small as serves: all windows give the same law, and a few rounds
        of rejection cost less than a look at every record.
        """
        widest, width = math.ceil(_NEAR * self.scale), _FEW
        while width < widest:
            pieces = self._window(ranked, width)
            weights = pieces.counts * np.exp(-pieces.gaps / (self.scale * self.q.denominator))
            if pieces.starts[-1] >= 0 or 16.0 * weights[-1] <= weights.sum():
                return pieces
            width *= 4
        return self._window(ranked, widest)

    def _window(self, ranked: Array, width: int) -> Pieces:
        """Points near the quantile piece by piece; all others as one piece with a common upper bound on their score."""
        n, points = len(ranked), self.points
        first, last = max(0, math.floor(self.q * n) - width), min(n, math.ceil(self.q * n) + width)
        low = int(ranked[first]) if first > 0 else 0
        high = int(ranked[last - 1]) if last < n else points - 1
        below, within = np.searchsorted(ranked, low), np.searchsorted(ranked, high, side="right")
        near = ranked[below:within]
        first_of_value = np.flatnonzero(np.diff(near, prepend=-1))  # grid points are not negative
        values, a = near[first_of_value], below + first_of_value
        b = np.append(a[1:], within)[: len(a)]
        ends = np.concatenate(([low - 1], values, [high + 1]))
        between = np.append(below, b)  # the rank of the points strictly between two neighbours
        parts = [
            (values, np.ones_like(values), self._gap(a, b, n)),
            (ends[:-1] + 1, np.diff(ends) - 1, self._gap(between, between, n)),
        ]
        outside = low + points - 1 - high
        if outside > 0:
            sides = [self._gap(0, first, n)] * (low > 0) + [self._gap(last, n, n)] * (high < points - 1)
            parts.append((np.array([-1]), np.array([outside]), np.array([min(sides)])))
        starts, counts, gaps = (np.concatenate(column).astype(np.int64) for column in zip(*parts, strict=True))
        return Pieces(starts, counts, gaps, low, high)

    def exact_probabilities(self, records: object) -> Array:
        """The law of the answer over all grid points: for tests and audits on small grids, not releasable."""
        ranked, grid = self._prepare(records), np.arange(self.points)
        gaps = self._gap(
            np.searchsorted(ranked, grid, side="left"), np.searchsorted(ranked, grid, side="right"), len(ranked)
        )
        weights = np.exp(-(gaps - gaps.min()) / (self.scale * self.q.denominator))
        return weights / weights.sum()

    def error(self, confidence: float = 0.95) -> ErrorBar:
        beta = 1.0 - open_fraction("confidence", confidence)
        return ErrorBar(self.scale * math.log(self.points / beta), confidence, "rank, in records", around=False)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        ages = cls.for_budget(epsilon=1.0, q=0.5, bounds=(0.0, 8.0), step=1.0)
        # Pairs found by exact search: here a second record moves the middle from one record to between two.
        yield Example(ages, [2.0], [2.0, 8.0], Guarantee(1.0))
        upper = cls.for_budget(rho=0.1, q=0.9, bounds=(-1.0, 1.0), step=0.125, unit=Unit("replace"))
        # The upper end moves from many records below it to fewer.
        low = [-0.5, -0.5, *[-1.0] * 9]
        yield Example(upper, [*low, -1.0], [*low, 1.0], Guarantee(rho=0.1))
        people = cls.for_budget(epsilon=2.0, q=0.5, bounds=(0.0, 8.0), step=1.0, max_rows=3)
        yield Example(people, [0.0, 2.0, 2.0], [0.0, 2.0, 2.0, 8.0, 8.0, 8.0], Guarantee(2.0))


def _one_q(q: object) -> float:
    if isinstance(q, list | tuple | np.ndarray):
        raise InvalidParameter(
            "q is one number, 0.5 for the median: for several quantiles release one Quantile each, or ask a table for "
            "agg(low=pv.quantile(column, 0.25), high=pv.quantile(column, 0.75))"
        )
    return open_fraction("q", q)


def _interval(bounds: object) -> tuple[float, float]:
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise InvalidParameter("bounds must be a pair (low, high) of public numbers")
    low, high = (finite(f"bounds[{i}]", moment(bounds[i])) for i in (0, 1))
    if not low < high:
        raise InvalidParameter("bounds must satisfy low < high")
    return low, high

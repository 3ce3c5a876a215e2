"""The public facts of a fit, and the rows as all solvers see them: none longer than 1."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from privet._numerics import Array
from privet._validate import above, count, finite, flag, instance, items, set_frozen
from privet.errors import InvalidData, InvalidParameter
from privet.learn.problem.lengths import squared_lengths
from privet.learn.problem.records import Chunk, Records
from privet.learn.problem.targets import Classes, Interval, NoTarget, Target
from privet.privacy import Unit

_SHRINK = 1.0 - 2.0**-20  # rows are clipped to a little less than the norm: what rounding adds in float64 is far less
_TILE = 2**17  # numbers that stay in the cache of a processor from one step to the next
_KEPT = 2**26  # numbers of unit rows that are kept from pass to pass: half a gigabyte
ROW_STEPS = 2.0**21  # of rows that are gone through several times: what is added up over them can be added up exactly
_INTERCEPT = 1.0 / 3.0  # the constant column, as a share of the row norm: 5% more noise buys the intercept


@final
@dataclass(frozen=True, kw_only=True)
class Task:
    """Everything about a fit that is public, and the map of raw records to unit rows.

    A row is moved by `centers` and divided by `scales` (one each for every column, from public bounds; or none), clipped
    to `row_norm`, given a constant column of row_norm/3 where there is an intercept, and divided by the length that it
    can then have. So unit rows are never longer than 1, whatever the data; rows with NaN or infinity, or whose target is
    not valid, become zero rows, the constant column too.

    **Sensitivity:** a record is one unit row; its length is at most 1, in exact arithmetic on the floats.

    >>> task = Task(features=2, row_norm=5.0)
    >>> chunk = next(task.unit_chunks(_example(np.array([[3.0, 4.0], [30.0, 40.0]]))))
    >>> np.linalg.norm(chunk.rows, axis=1).round(6).tolist()
    [0.999998, 0.999998]
    """

    features: int
    row_norm: float
    intercept: bool = True
    centers: tuple[float, ...] | None = None
    scales: tuple[float, ...] | None = None
    target: Target = field(default=NoTarget())
    unit: Unit = field(default=Unit())

    def __post_init__(self) -> None:
        set_frozen(self, features=count("features", self.features, 1), row_norm=above("row_norm", self.row_norm, 0.0))
        flag("intercept", self.intercept)
        instance("target", self.target, Target)
        instance("unit", self.unit, Unit)
        if self.unit.relation not in ("add_remove", "replace"):
            raise InvalidParameter('unit must be Unit("add_remove") or Unit("replace") for records')
        for name, check in (("centers", finite), ("scales", _positive)):
            given = getattr(self, name)
            if given is not None:
                values = tuple(check(name, each) for each in items(name, given))
                if len(values) != self.features:
                    raise InvalidParameter(f"{name} must hold a number for each of the columns")
                set_frozen(self, **{name: values})

    @property
    def dimension(self) -> int:
        """The length of a unit row."""
        return self.features + self.intercept

    @property
    def length(self) -> float:
        """B: how long a clipped row with its constant can be."""
        return self.row_norm * math.hypot(1.0, _INTERCEPT) if self.intercept else self.row_norm

    @property
    def constant(self) -> float:
        """The entry of the constant column in a unit row."""
        return self.row_norm * _INTERCEPT / self.length * _SHRINK if self.intercept else 0.0

    def one_margin(self) -> None:
        """Refuse several classes: one margin tells two apart."""
        if isinstance(self.target, Classes) and len(self.target.labels) > 2:
            raise InvalidParameter("this loss tells two classes apart, and classes= holds more")

    def admit(self, records: object) -> None:
        """Refuse records of the wrong type, kind or number of columns: from public facts."""
        if not isinstance(records, Records):
            raise InvalidData("a plan is run on records: the estimator's fit(X, y) makes them")
        if records.unbounded:  # a plan is priced for rows; what a person may change is priced by `PersonFit`
            raise InvalidData(
                "rows of persons are read by a release about persons alone: the estimator's fit makes one"
            )
        if records.columns != self.features:
            raise InvalidData(f"the rows must have {self.features} columns")
        if records.sparse and self.centers is not None and any(self.centers):
            raise InvalidData("sparse rows are not moved by column bounds: give row_norm, or bounds that are symmetric")
        kind = records.target_kind
        if (kind is None) != isinstance(self.target, NoTarget):
            raise InvalidData("there must be a target for each record" if kind is None else "there must be no targets")
        if kind is not None and kind not in self.target.kinds:
            raise InvalidData("the targets are of another type than the classes or bounds say")

    def admit_number(self, records: Records, rows: int) -> None:
        """Refuse records of another number than a plan is for, where it is known, and public since one is exchanged for
        another."""
        if self.unit.relation == "replace" and records.length not in (None, rows):
            raise InvalidData("the plan is for another number of records: give rows= as it is")

    def unit_chunks(self, records: Records) -> Iterator[Chunk]:
        """The unit rows and encoded targets, chunk by chunk: not releasable."""
        return self._chunks(records, lambda rows: None)

    def stepped_chunks(self, records: Records) -> Iterator[Chunk]:
        """The same with rows in multiples of 1/`ROW_STEPS`, towards zero: none gets longer. Not releasable."""
        return self._chunks(records, _to_steps)

    def _chunks(self, records: Records, finish: Callable[[Array], None]) -> Iterator[Chunk]:
        for chunk, encoded, bad in self._read(records):
            with np.errstate(all="ignore"):  # a warning would tell about values
                made = Chunk(self._unit_rows(chunk.rows, bad, finish=finish), encoded, chunk.persons)
            yield made

    def whole_tiles(self, records: Records, *, rows: int, steps: int, targets: bool = False) -> Iterator[Chunk]:
        """Unit rows times `steps` (a power of two), whole numbers as doubles, rounded towards zero, and encoded targets; of
        at most `rows` records at a time, all in the same memory: it stays in the cache of a processor. If asked, the
        targets, cut to [-1, 1], are the last column of the rows, in steps like them. Not releasable.
        """
        size = max(1, _TILE // self.dimension // rows) * rows  # so many are made at a time
        room = np.empty((size, self.dimension + targets))
        for chunk, encoded, bad in self._read(records):
            given = chunk.rows
            for start in range(0, len(bad), size):
                piece = slice(start, start + size)
                tiles = room[: len(bad[piece])]
                unit = tiles[:, : self.dimension]
                with np.errstate(all="ignore"):
                    made = self._unit_rows(given[piece], bad[piece], steps, unit)
                    if made is not unit:
                        np.multiply(made.toarray(), steps, out=unit)
                    if targets:
                        tiles[:, -1] = np.clip(encoded[piece], -1.0, 1.0) * steps
                    np.trunc(tiles, out=tiles)
                whose = None if chunk.persons is None else chunk.persons[piece]
                for first in range(0, len(tiles), rows):
                    here = slice(first, first + rows)
                    yield Chunk(tiles[here], encoded[piece][here], None if whose is None else whose[here])

    def _read(self, records: Records) -> Iterator[tuple[Chunk, Array, Array]]:
        """Records as they are given, encoded targets, and which targets are not valid."""
        for chunk in records.chunks():
            targets = np.zeros(chunk.rows.shape[0]) if chunk.targets is None else chunk.targets
            with np.errstate(all="ignore"):
                encoded, bad = self.target.encoded(targets)
            yield chunk, encoded, bad

    def passes(self, records: Records) -> Callable[[], Iterator[Chunk]]:
        """A function that goes through all unit rows whenever it is called, rounded towards zero to multiples of
        1/`ROW_STEPS`: they are kept where that takes little memory, and made anew, chunk by chunk, where it does not. Not
        releasable.
        """
        kept: list[Chunk] = []
        size = 0
        if not records.kept:
            return UnitPasses(self, records)
        for chunk in self.stepped_chunks(records):
            kept.append(chunk)
            size += int(getattr(chunk.rows, "nnz", chunk.rows.size))
            if size > _KEPT:
                return UnitPasses(self, records)
        return lambda: iter(kept)

    def _unit_rows(
        self,
        rows: Any,
        bad: Array,
        steps: int = 1,
        room: Array | None = None,
        finish: Callable[[Array], None] = lambda rows: None,
    ) -> Any:
        """Unit rows times `steps`, in `room`, finished piece by piece; those of a CSR matrix as they are."""
        if getattr(rows, "format", None) == "csr":
            sparse = self._unit_csr(rows, bad)
            finish(sparse.data)
            return sparse
        made, moved = np.empty((len(bad), self.dimension)) if room is None else room, self._moved
        size = max(1, _TILE // self.dimension)
        for start in range(0, len(bad), size):
            piece = slice(start, start + size)
            # row by row in memory: down columns a sum rounds by how many rows there are, and so by other records
            values = moved(np.require(rows[piece], np.float64, ("C", "A")))
            self._fill(made[piece], values, bad[piece], steps)
            finish(made[piece])
        return made

    @property
    def _moved(self) -> Callable[[Array], Array]:
        """The function that moves rows by the centers and divides by the scales, where these change anything."""
        low = np.array(self.centers) if self.centers is not None and any(self.centers) else None
        wide = np.array(self.scales) if self.scales is not None and set(self.scales) != {1.0} else None

        def moved(values: Array) -> Array:
            values = values if low is None else values - low
            return values if wide is None else values / wide

        return moved

    def _fill(self, made: Array, values: Array, bad: Array, steps: int) -> None:
        """Write unit rows times `steps` into `made`: a power of two in a factor rounds nothing."""
        unit, lengths = made[:, : self.features], np.sqrt(squared_lengths(values))
        clip = np.minimum(1.0, self.row_norm * _SHRINK / lengths)
        np.multiply(values, self._shares(clip, steps)[:, None], out=unit)
        # squares of small and large numbers leave the doubles; NaN fails these comparisons too
        if not (lengths.min() > 1e-100 and lengths.max() < 1e100):
            odd = ~((lengths > 1e-100) & (lengths < 1e100))
            unit[odd] = steps * self._odd_rows(values[odd])
            bad = bad | ~np.isfinite(values).all(axis=1)
        if self.intercept:
            made[:, -1] = steps * self.constant
        if bad.any():
            made[bad] = 0.0

    def _odd_rows(self, values: Array) -> Array:
        """Unit rows, without the constant, of rows whose squares may leave the doubles: divided by their largest entry
        before a length is taken.
        """
        peaks = np.max(np.abs(values), axis=1, initial=0.0)
        directions = np.where(peaks[:, None] > 0.0, values / peaks[:, None], 0.0)
        ratios = np.sqrt(squared_lengths(directions))
        unit = values * self._shares(np.ones(len(values)))[:, None]
        long = peaks * ratios > self.row_norm * _SHRINK
        unit[long] = directions[long] * self._shares(self.row_norm * _SHRINK / ratios[long])[:, None]
        return np.asarray(unit)

    def _unit_csr(self, rows: Any, bad: Array) -> Any:
        """Unit rows of a sparse matrix, as one: like `_odd_rows`, over the entries that are stored."""
        from scipy import sparse

        made = rows.astype(np.float64, copy=True)
        made.sum_duplicates()
        if self.scales is not None:
            made.data /= np.array(self.scales)[made.indices]
        place, n = np.repeat(np.arange(made.shape[0]), np.diff(made.indptr)), made.shape[0]
        peaks = np.zeros(n)
        np.maximum.at(peaks, place, np.abs(made.data))
        bad = bad | (np.bincount(place, weights=~np.isfinite(made.data), minlength=n) > 0)
        directions = np.where(peaks[place] > 0.0, made.data / peaks[place], 0.0)
        ratios = np.sqrt(np.bincount(place, weights=directions**2, minlength=n))
        long = (peaks * ratios > self.row_norm * _SHRINK)[place]
        clipped = directions * self._shares(self.row_norm * _SHRINK / np.where(ratios > 0.0, ratios, 1.0))[place]
        made.data = np.where(long, clipped, made.data * self._shares(np.ones(1)))
        made.data[bad[place]] = 0.0
        if not self.intercept:
            return made
        return sparse.hstack([made, sparse.csr_array(self._constants(bad)[:, None])], format="csr")

    def _shares(self, lengths: Array, steps: int = 1) -> Array:
        """Lengths as a share of what a row with its constant can have, times `steps`; with a constant a little less, by the
        same factor as the constant itself, so that `raw` finds both on one scale.
        """
        return lengths * (steps * (_SHRINK / self.length if self.intercept else 1.0 / self.length))

    def _constants(self, bad: Array) -> Array:
        return np.where(bad, 0.0, self.constant)

    def raw(self, theta: Array) -> tuple[Array, Array]:
        """Coefficients and intercept in the units of the data, from those for unit rows (the last axis)."""
        theta = np.asarray(theta, dtype=np.float64)
        slopes = theta[..., : self.features] / self.length
        constant = (
            theta[..., -1] * (self.row_norm * _INTERCEPT / self.length) if self.intercept else 0.0 * theta[..., 0]
        )
        if self.scales is not None:
            slopes = slopes / np.array(self.scales)
        if self.centers is not None:
            constant = constant - slopes @ np.array(self.centers)
        if isinstance(self.target, Interval):
            return slopes * self.target.half, constant * self.target.half + self.target.middle
        return slopes, constant

    def to_dict(self) -> dict[str, Any]:
        """The facts as plain JSON values: what a ledger compares when a key is used again."""
        return {
            "features": self.features,
            "row_norm": repr(self.row_norm),
            "intercept": self.intercept,
            "centers": None if self.centers is None else [repr(each) for each in self.centers],
            "scales": None if self.scales is None else [repr(each) for each in self.scales],
            "target": repr(self.target),
            "unit": self.unit.to_dict(),
        }


@final
@dataclass(frozen=True)
class UnitPasses:
    """Passes through unit rows that are made anew each time, rounded as `Task.passes` says.

    >>> sum(len(chunk.targets) for chunk in UnitPasses(Task(features=2, row_norm=1.0), _example(np.zeros((3, 2))))())
    3
    """

    task: Task
    records: Records

    def __call__(self) -> Iterator[Chunk]:
        return self.task.stepped_chunks(self.records)

    def exact_added(self, part: Callable[[Iterator[Chunk]], Any]) -> Any:
        """A sum over unit rows: not releasable."""
        task = self.task  # the records themselves are not sent anywhere
        return self.records.exact_added(lambda records: part(task.stepped_chunks(records)))


def _to_steps(held: Array) -> None:
    held *= ROW_STEPS
    np.trunc(held, out=held)
    held /= ROW_STEPS


def _positive(name: str, value: object) -> float:
    return above(name, value, 0.0)


def _example(rows: Array) -> Records:
    from privet.learn.problem.array_records import ArrayRecords

    return ArrayRecords(rows)

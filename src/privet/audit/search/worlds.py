"""The outputs of many runs on one input, as columns: numbers, lengths, marks, forms, rows, times."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from privet._numerics import Array
from privet.audit.search.reading import Reading, beyond_doubles, odd_nans

_MOST_NAMES = 4_096  # single numbers and marks of different names in one batch; the most frequent are kept


@dataclass(frozen=True, eq=False)
class Part:
    """Arrays of numbers of varying length, one a run: padded with NaN, with their true lengths."""

    values: Array
    lengths: Array

    def take(self, index: Array | slice) -> "Part":
        """Some of the runs."""
        return Part(self.values[index], self.lengths[index])


@dataclass(frozen=True, eq=False)
class World:
    """The outputs of many runs on one input: numbers, the form of each output, and the time it took.

    `values` has one row a run, padded with NaN; `forms` names type, dtype, shape, exception or warning of each run. A
    `simulate` whose outputs fit no array may return a world itself. The other fields hold what is not one array of
    numbers: further arrays by their place, single numbers, marks of texts (and of texts without their numbers), rows of
    tables; which runs came from `release`, which followed a run on the other input, and which showed something opaque.

    >>> world = World(np.array([[42.0], [41.0]]), np.array(["int", "int"], dtype=object))
    >>> world.runs, world.main.lengths.tolist()
    (2, [1, 1])
    """

    values: Array
    forms: Array
    seconds: Array | None = None
    lengths: Array | None = None
    parts: dict[str, Part] = field(default_factory=dict)
    single: dict[str, Array] = field(default_factory=dict)
    marks: dict[str, Array] = field(default_factory=dict)
    skeletons: dict[str, Array] = field(default_factory=dict)
    rows: Sequence[Array | None] | None = None
    released: Array | None = None
    after_other: Array | None = None
    opaque: Array | None = None

    @property
    def runs(self) -> int:
        """The number of runs that were observed."""
        return len(self.forms)

    @property
    def main(self) -> Part:
        """The numbers of outputs that are one number or one array; by default everything that is not NaN."""
        lengths = np.sum(~np.isnan(self.values), axis=1) if self.lengths is None else self.lengths
        return Part(self.values, lengths)

    def take(self, index: Array | slice) -> "World":
        """Some of the runs."""
        kept: dict[str, Any] = {}
        for name in ("seconds", "lengths", "released", "after_other", "opaque"):
            column = getattr(self, name)
            kept[name] = None if column is None else column[index]
        for name in ("single", "marks", "skeletons"):
            kept[name] = {key: column[index] for key, column in getattr(self, name).items()}
        if self.rows is not None:
            places = np.arange(self.runs)[index]
            kept["rows"] = [self.rows[int(i)] for i in places]
        parts = {key: part.take(index) for key, part in self.parts.items()}
        return World(self.values[index], self.forms[index], parts=parts, **kept)


@dataclass(frozen=True, eq=False)
class Look:
    """One run: its reading, how long it took, and whether it came from `release` and after a run on the other input."""

    reading: Reading
    seconds: float = 0.0
    released: bool = False
    after_other: bool = False


def stack(looks: Sequence[Look], *, timed: bool = False, wanted: Collection[str] | None = None) -> World:
    """Readings of single runs as columns; of the names, those `wanted` (default: the most frequent).

    >>> from privet.audit.search.reading import read
    >>> from privet.audit.search.rows import Marks
    >>> stack([Look(read([1.0, 2.0], Marks(b"key"))), Look(read([3.0], Marks(b"key")))]).values.tolist()
    [[1.0, 2.0], [3.0, nan]]
    """
    readings = [look.reading for look in looks]
    places = {place for reading in readings for place in reading.numbers}
    parts = {place: _padded([reading.numbers.get(place) for reading in readings]) for place in sorted(places)}
    main = parts.pop("", Part(np.empty((len(looks), 0)), np.zeros(len(looks), dtype=np.int64)))
    tables = [reading.rows for reading in readings]
    named = [_columns([getattr(r, name) for r in readings], wanted) for name in ("single", "marks", "skeletons")]
    return World(
        main.values,
        np.array([reading.form for reading in readings], dtype=object),
        np.array([look.seconds for look in looks]) if timed else None,
        main.lengths,
        parts,
        named[0],
        named[1],
        named[2],
        tables if any(table is not None for table in tables) else None,
        np.array([look.released for look in looks]),
        np.array([look.after_other for look in looks]),
        np.array([bool(reading.opaque) for reading in readings]),
    )


def world_of_array(outputs: Array) -> World:
    """Runs that came as one array, the run first.

    >>> world_of_array(np.zeros((3, 2))).forms.tolist()
    ['float64(2,)', 'float64(2,)', 'float64(2,)']
    """
    runs = len(outputs)
    flat = outputs.reshape(runs, -1)
    parts = {}
    numbers = flat.astype(np.float64)
    if flat.dtype.kind in "iu" and flat.dtype.itemsize == 8 and beyond_doubles(flat):
        low = (flat & (2**53 - 1)).astype(np.float64)
        # of a run that needs them: whether a run shows them must not depend on the others of its batch
        parts[" low"] = Part(low, np.where((np.abs(numbers) > 2.0**53).any(axis=1), flat.shape[1], 0))
    if flat.dtype.kind == "f" and (odd := odd_nans(numbers)) is not None:
        parts[" bits of nan"] = Part(odd, np.where((odd != 0.0).any(axis=1), flat.shape[1], 0))
    form = f"{outputs.dtype}{outputs.shape[1:]}"
    rows: Any = None
    if outputs.ndim in (2, 3) and outputs.shape[1] > 1:
        rows = numbers.reshape(runs, outputs.shape[1], -1)
    return World(
        numbers,
        np.full(runs, form, dtype=object),
        lengths=np.full(runs, flat.shape[1]),
        parts=parts,
        rows=rows,
    )


def _padded(arrays: list[Array | None]) -> Part:
    lengths = np.array([0 if array is None else array.size for array in arrays])
    values = np.full((len(arrays), int(lengths.max())), np.nan)
    for i, array in enumerate(arrays):
        if array is not None:
            values[i, : array.size] = array
    return Part(values, lengths)


def _columns(found: list[dict[str, float]], wanted: Collection[str] | None) -> dict[str, Array]:
    if wanted is None:
        often = Counter(name for each in found for name in each)
        wanted = [name for name, _ in often.most_common(_MOST_NAMES)]
    columns = {name: np.full(len(found), np.nan) for name in wanted}
    for i, each in enumerate(found):
        for name, number in each.items():
            if name in columns:
                columns[name][i] = number
    return columns


def join(worlds: Sequence[World]) -> World:
    """Several batches of runs on one input as one world, in the order given.

    >>> one = World(np.array([[1.0]]), np.array(["int"], dtype=object))
    >>> join([one, one]).runs
    2
    """
    if len(worlds) == 1:
        return worlds[0]
    counts = [world.runs for world in worlds]
    total = sum(counts)

    def column(name: str, missing: object) -> Array | None:
        found = [getattr(world, name) for world in worlds]
        if all(each is None for each in found):
            return None
        return np.concatenate(
            [np.full(n, missing) if each is None else each for each, n in zip(found, counts, strict=True)]
        )

    def named(name: str) -> dict[str, Array]:
        names = sorted({key for world in worlds for key in getattr(world, name)})
        blank = [np.full(n, np.nan) for n in counts]
        return {
            key: np.concatenate([getattr(w, name).get(key, none) for w, none in zip(worlds, blank, strict=True)])
            for key in names
        }

    places = sorted({place for world in worlds for place in world.parts})
    empty = [Part(np.empty((n, 0)), np.zeros(n, dtype=np.int64)) for n in counts]
    parts = {
        place: _joined([w.parts.get(place, none) for w, none in zip(worlds, empty, strict=True)]) for place in places
    }
    main = _joined([world.main for world in worlds])
    rows: list[Array | None] | None = None
    if any(world.rows is not None for world in worlds):
        rows = [row for world in worlds for row in (world.rows if world.rows is not None else [None] * world.runs)]
    joined = World(
        main.values,
        np.concatenate([world.forms for world in worlds]),
        column("seconds", np.nan),
        main.lengths,
        parts,
        named("single"),
        named("marks"),
        named("skeletons"),
        rows,
        column("released", False),
        column("after_other", False),
        column("opaque", False),
    )
    assert joined.runs == total
    return joined


def _joined(parts: Sequence[Part]) -> Part:
    width = max(part.values.shape[1] for part in parts)
    values = [
        np.pad(part.values, ((0, 0), (0, width - part.values.shape[1])), constant_values=np.nan)
        if part.values.shape[1] < width
        else part.values
        for part in parts
    ]
    return Part(np.concatenate(values), np.concatenate([part.lengths for part in parts]))


def scattered(world: World, place: Array) -> World:
    """The same runs in another order: run i of the world goes to place[i].

    >>> scattered(World(np.array([[1.0], [2.0]]), np.array(["a", "b"], dtype=object)), np.array([1, 0])).forms.tolist()
    ['b', 'a']
    """
    order = np.empty(world.runs, dtype=np.int64)
    order[place] = np.arange(world.runs)
    return replace(world.take(order))

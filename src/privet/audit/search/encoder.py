"""From outputs to named columns: one encoder for both worlds, fitted on scouting runs and then frozen.

Every column is a fixed function of one output. Nothing depends on the batch that an output came in, or on its world:
that is what makes an event about a column an event about the output.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from privet._numerics import Array
from privet.audit.search.features import exponent, first_true, lowest_set_bit, row_marks, special
from privet.audit.search.reading import CUT, SPELLING
from privet.audit.search.rows import Marks, rows_of
from privet.audit.search.strain import Strain
from privet.audit.search.unwrap import MOST_LEAVES
from privet.audit.search.worlds import Part, World

_FIRST, _BEST = 8, 64  # coordinates that are always looked at; those kept after the screen
_WIDEST = 16_384  # coordinates that are screened; of longer outputs a random sample
_SCREENED = 1_000  # runs of a world that screen columns: time and power only
_BITS = 16  # coordinates whose bits are looked at
# Pairs of columns that are looked at together, and how alike they must be: time against power.
_PAIRS, _CORRELATED = 16, 0.5
_NAMES = 256  # keys of outputs that get columns of their own: memory
_CONDITIONS, _CONDITIONED = (
    3,
    4,
)  # forms of an output, and columns, that are looked at given each other: time against power
_COMMON = 0.002  # of the scouting runs: a form whose numbers are looked at by themselves
_TARGETS = 4  # differences of the inputs that are looked for in the outputs: time against power
_UNIQUE, _ENOUGH = 0.9, 40  # a text that differs in so many of at least so many runs cannot be read
_FEW_SIDES = 24  # numbers from which on their sides are summed up
_TABLES = 1_000  # tables of different lengths that are compared at once
_MOST_MEMBERS = 2_000_000  # numbers of tables that are compared with target rows at once

Place = tuple[str, int]


@dataclass(frozen=True, eq=False)
class Encoder:
    """The features that are read of an output, fixed before the tested runs are made.

    >>> world = World(np.array([[0.5], [np.nan]]), np.array(["float", "float"], dtype=object), lengths=np.array([1, 1]))
    >>> sorted(Encoder((("", 0),), vocabulary={"float": 0}).columns(world))
    ['exponent[0]', 'form', 'lowest bit[0]', 'special', 'value[0]']
    """

    coordinates: tuple[Place, ...]
    singles: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    skeletons: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    pairs: tuple[tuple[Place, Place, float], ...] = ()
    vocabulary: dict[str, int] = field(default_factory=dict)
    conditions: tuple[int, ...] = ()
    targets: Array | None = None
    released: bool = False
    several: bool = False
    notes: tuple[str, ...] = ()
    sides: "tuple[Sides, ...]" = ()
    direction: Array | None = None
    unread: str | None = None  # what of the outputs could not be read, in words

    @property
    def wanted(self) -> frozenset[str]:
        """The names that batches of runs need to keep."""
        return frozenset((*self.singles, *self.marks, *self.skeletons))

    def columns(self, world: World) -> dict[str, Array]:
        """One number a run, by name."""
        found = {"form": self._forms(world)}
        found |= self._numbers(world)
        found |= self._summaries(world)
        found |= self._names(world)
        found |= self._differences(world)
        found |= self._members(world)
        found |= self._along(world)
        for each in self.sides:
            found |= each(_part(world, each.place))
        if world.seconds is not None:
            found["time"] = world.seconds
        return found | self._conditioned(world, found)

    def _forms(self, world: World) -> Array:
        """The number of each output's form; -1 for forms that the scouting runs did not show."""
        forms = world.forms
        if len(forms) and bool((forms == forms[0]).all()):  # nearly always
            return np.full(len(forms), float(self.vocabulary.get(forms[0], -1)))
        return np.array([self.vocabulary.get(form, -1) for form in forms], dtype=float)

    def _numbers(self, world: World) -> dict[str, Array]:
        found = {}
        spelled = [place for place in self.coordinates if place[0].endswith(SPELLING)]  # after the numbers themselves
        plain = [place for place in self.coordinates if place not in spelled]
        for order, place in enumerate((*plain, *spelled)):
            column = _coordinate(world, place)
            found[f"value{_name(place)}"] = column
            if order < min(_BITS, len(plain)):
                found[f"lowest bit{_name(place)}"] = np.where(np.isnan(column), np.nan, lowest_set_bit(column))
                found[f"exponent{_name(place)}"] = np.where(np.isnan(column), np.nan, exponent(column))
        return found

    def _summaries(self, world: World) -> dict[str, Array]:
        """About all numbers of an output, however many there are."""
        found = {}
        for place in ("", *self.places):
            part = _part(world, place)
            there = np.arange(part.values.shape[1]) < part.lengths[:, None]
            if place == "":
                found["special"] = special(part.values, there)
            if not self.several and place == "":
                continue
            numbers = np.where(there & ~np.isnan(part.values), part.values, 0.0)
            some = there.any(axis=1)
            with np.errstate(invalid="ignore", over="ignore"):
                found["sum" + place] = np.where(some, numbers.sum(axis=1), np.nan)
                found["length" + place] = part.lengths.astype(float)
                for name, pick, none in (("largest", np.max, -np.inf), ("smallest", np.min, np.inf)):
                    extreme = pick(np.where(there & ~np.isnan(part.values), part.values, none), axis=1, initial=none)
                    found[name + place] = np.where(some, extreme, np.nan)
            if place == "":
                found["first true"] = np.where(
                    some, first_true(np.where(there, part.values, np.nan), part.lengths), np.nan
                )
                found["row"] = row_marks(part.values, part.lengths)
        return found

    def _names(self, world: World) -> dict[str, Array]:
        """Single numbers by their names, and marks of texts."""
        none = np.full(world.runs, np.nan)
        found = {}
        for name in self.singles:
            column = world.single.get(name, none)
            found["score" if name == " score" else f"value{name}"] = column
        for name in self.marks:
            found[name if name in _ASIDE else f"text{name}"] = world.marks.get(name, none)
        for name in self.skeletons:
            found[f"wording{name}"] = world.skeletons.get(name, none)
        return found

    def _differences(self, world: World) -> dict[str, Array]:
        found = {}
        for left, right, factor in self.pairs:
            with np.errstate(invalid="ignore", over="ignore"):
                column = _coordinate(world, left) - factor * _coordinate(world, right)
            scaled = f"value{_name(right)}" if factor == 1.0 else f"{factor:g} value{_name(right)}"
            found[f"value{_name(left)} - {scaled}"] = column
        return found

    def _members(self, world: World) -> dict[str, Array]:
        """The number of times that a target record is in a table, and how near its nearest row comes."""
        if self.targets is None:
            return {}
        found = {}
        tables = world.rows if world.rows is not None else [None] * world.runs
        shapes = {None if rows is None else rows.shape for rows in tables}
        for t, target in enumerate(self.targets):
            if len(shapes) == 1 and None not in shapes:
                count, near = _near_all(np.asarray(tables), target)
            else:
                count, near = _near_each(tables, target)
            found[f"member[{t}]"], found[f"nearest[{t}]"] = count, near
        return found

    def _along(self, world: World) -> dict[str, Array]:
        """The numbers of answers to as many questions, added up in the direction in which these were changed."""
        if self.direction is None:
            return {}
        width = min(world.values.shape[1], len(self.direction))
        values = np.where(np.arange(width) < world.main.lengths[:, None], world.values[:, :width], 0.0)
        values = np.nan_to_num(values, nan=0.0, posinf=1e300, neginf=-1e300)
        along = self.direction[:width]
        return {"sum along the change": values @ along, "sum of signs along the change": (values > 0.0) @ along}

    def _conditioned(self, world: World, found: dict[str, Array]) -> dict[str, Array]:
        """The first numbers of runs with one form, or of released runs."""
        first = [name for name in found if name.startswith("value")][:_CONDITIONED]
        extra = {}
        for form in self.conditions:
            for name in first:
                extra[f"{name} given form {form}"] = np.where(found["form"] == form, found[name], np.nan)
        if self.released:  # a batch in which the coins released none has these columns as well
            released = np.zeros(world.runs, dtype=bool) if world.released is None else world.released
            for name in first:
                extra[f"{name} given release"] = np.where(released, found[name], np.nan)
            extra["form given release"] = np.where(released, found["form"], np.nan)
        return extra


@dataclass(frozen=True, eq=False)
class Sides:
    """On which side of its middle each of many numbers lies, summed up: many small shifts make a large one.

    >>> Sides("", np.array([0.0, 1.0]), np.array([1.0, -1.0]))(Part(np.array([[5.0, 5.0]]), np.array([2])))
    {'sum of sides': array([2.]), 'sum of sides, weighted': array([0.])}
    """

    place: str
    middles: Array
    weights: Array  # how the sides leaned from world to world in scouting runs

    def __call__(self, part: Part) -> dict[str, Array]:
        """Both sums for each run; numbers beyond an output's end, and NaN, count for nothing."""
        width = min(part.values.shape[1], len(self.middles))
        values = part.values[:, :width]
        side = np.sign(values - self.middles[:width])
        side[np.isnan(side) | (np.arange(width) >= part.lengths[:, None])] = 0.0
        sums = side.sum(axis=1), side @ self.weights[:width]
        return {f"sum of sides{self.place}": sums[0], f"sum of sides{self.place}, weighted": sums[1]}


def _sides(left: World, right: World, place: str) -> Sides | None:
    """Fitted on scouting runs; None for a few numbers, which a classifier sees as well."""
    parts = [_part(world, place) for world in (left, right)]
    width = min(max(part.values.shape[1] for part in parts), _WIDEST)
    if width < _FEW_SIDES:
        return None
    values = []
    for part in parts:
        seen = np.where(np.arange(part.values.shape[1]) < part.lengths[:, None], part.values, np.nan)[
            :_SCREENED, :width
        ]
        values.append(np.nan_to_num(np.pad(seen, ((0, 0), (0, width - seen.shape[1])), constant_values=np.nan)))
    middles = np.median(np.concatenate(values), axis=0)
    means = [np.sign(side - middles).mean(axis=0) for side in values]
    return Sides(place, middles, means[0] - means[1])


def _near_each(tables: Sequence[Array | None], target: Array) -> tuple[Array, Array]:
    """Tables of different lengths, laid end to end, some at a time; NaN for runs without such a table."""
    found = np.full((2, len(tables)), np.nan)
    fit = [i for i, rows in enumerate(tables) if rows is not None and len(rows) and rows.shape[1] == len(target)]
    for start in range(0, len(fit), _TABLES):
        block = fit[start : start + _TABLES]
        parts = [rows for rows in (tables[i] for i in block) if rows is not None]
        begins = np.concatenate(([0], np.cumsum([len(rows) for rows in parts[:-1]]))).astype(np.int64)
        apart = np.nan_to_num(np.abs(np.concatenate(parts) - target), nan=1e9, posinf=1e9).sum(axis=1)
        found[0, block] = np.add.reduceat((apart == 0.0).astype(float), begins)
        found[1, block] = np.minimum.reduceat(apart, begins)
    return found[0], found[1]


def _near_all(tables: Array, target: Array) -> tuple[Array, Array]:
    """The same for tables of one shape."""
    runs, records, width = tables.shape
    found = np.full((2, runs), np.nan)
    step = max(1, _MOST_MEMBERS // (records * width))
    for start in range(0, runs if width == len(target) else 0, step):
        part = tables[start : start + step]
        apart = np.nan_to_num(np.abs(part - target), nan=1e9, posinf=1e9).sum(axis=2)
        found[:, start : start + step] = np.sum(apart == 0.0, axis=1), apart.min(axis=1)
    return found[0], found[1]


_ASIDE = ("message", "message of warnings", "message of logs", "standard output", "standard error")


def _name(place: Place) -> str:
    return f"{place[0]}[{place[1]}]"


def _part(world: World, place: str) -> Part:
    if place == "":
        return world.main
    return world.parts.get(place, Part(np.empty((world.runs, 0)), np.zeros(world.runs, dtype=np.int64)))


def _coordinate(world: World, place: Place) -> Array:
    part, j = _part(world, place[0]), place[1]
    if j >= part.values.shape[1]:
        return np.full(world.runs, np.nan)
    column = part.values[:, j]
    return column if bool((part.lengths > j).all()) else np.where(part.lengths > j, column, np.nan)


def fit(
    left: World, right: World, strain: Strain, *, targets: Array | None = None, direction: Array | None = None
) -> Encoder:
    """Decide on scouting runs of both worlds what is looked at; refuse outputs that cannot be read.

    >>> world = World(np.zeros((4, 3)), np.full(4, "list", dtype=object))
    >>> grid = np.linspace(0.0, 1.0, 11)
    >>> [place for place in fit(world, world, Strain(grid, 1.0 - grid)).coordinates]
    [('', 0), ('', 1), ('', 2)]
    """
    unread = _unread(left, right)
    places = sorted({*left.parts, *right.parts})
    notes: list[str] = []
    coordinates, pairs = _coordinates(left, right, places, strain, notes)
    forms = Counter([*left.forms, *right.forms])
    vocabulary = {form: number for number, (form, _) in enumerate(forms.most_common())}
    common = [n for form, n in vocabulary.items() if forms[form] >= _COMMON * (left.runs + right.runs)]
    released = [world.released for world in (left, right)]
    mixed = all(r is not None and r.any() and not r.all() for r in released)
    names = [_frequent(left, right, kind, notes) for kind in ("single", "marks", "skeletons")]
    if any(CUT in form for form in vocabulary):
        notes.append(
            f"some outputs have more than {MOST_LEAVES:,} parts, or are nested too deeply: the rest is not read"
        )
    width = max(_part(left, "").values.shape[1], _part(right, "").values.shape[1])
    rows = any(world.rows is not None for world in (left, right))
    return Encoder(
        coordinates,
        tuple(names[0]),
        tuple(names[1]),
        tuple(names[2]),
        tuple(places),
        pairs,
        vocabulary,
        tuple(common[: _CONDITIONS + 1]) if len(common) > 1 else (),
        targets if rows else None,
        mixed,
        width > 1 or len({*left.main.lengths.tolist(), *right.main.lengths.tolist()}) > 1,
        tuple(notes),
        tuple(found for place in ("", *places) if (found := _sides(left, right, place)) is not None),
        direction if direction is not None and width == len(direction) else None,
        unread,
    )


def _unread(left: World, right: World) -> str | None:
    """The pieces of the outputs that cannot be read, in words."""
    for world in (left, right):
        if world.opaque is not None and world.opaque.any():
            return "they hold objects without any readable part"
    for name in {*left.skeletons, *right.skeletons}:
        seen = [w.skeletons[name][~np.isnan(w.skeletons[name])] for w in (left, right) if name in w.skeletons]
        texts = np.concatenate(seen)
        if texts.size >= _ENOUGH and len(np.unique(texts)) >= _UNIQUE * texts.size:
            return "a text in them is different in nearly every run"
    forms = [*left.forms, *right.forms]
    if len(forms) >= _ENOUGH and len(set(forms)) >= _UNIQUE * len(forms):
        often = [float(np.mean(w.main.lengths > 0)) for w in (left, right)]
        often += [float(np.mean(~np.isnan(column))) for w in (left, right) for column in w.single.values()]
        if max(often) < 0.1:
            return "nearly every form is seen once"
    return None


def _frequent(left: World, right: World, kind: str, notes: list[str]) -> list[str]:
    often: Counter[str] = Counter()
    for world in (left, right):
        for name, column in getattr(world, kind).items():
            often[name] += int(np.sum(~np.isnan(column)))
    named = [name for name, times in often.most_common() if times > 1]
    if len(named) > _NAMES:
        notes.append(f"of {len(named):,} names in the outputs the {_NAMES} most frequent are looked at")
    return named[:_NAMES]


def _coordinates(
    left: World, right: World, places: list[str], strain: Strain, notes: list[str]
) -> tuple[tuple[Place, ...], tuple[tuple[Place, Place, float], ...]]:
    """All coordinates if they are few; else the first ones and those that a screen finds; and pairs that move together."""
    every: list[Place] = []
    for place in ("", *places):
        width = max(_part(world, place).values.shape[1] for world in (left, right))
        every.extend((place, j) for j in range(width))
    if len(every) > _WIDEST:
        chosen = np.sort(np.random.default_rng(len(every)).choice(len(every), _WIDEST, replace=False))
        notes.append(f"of {len(every):,} numbers in an output {_WIDEST:,}, drawn at random, are looked at one by one")
        every = [*every[:_FIRST], *(every[i] for i in chosen if i >= _FIRST)]
    sides = [_matrix(world, every, min(world.runs, _SCREENED)) for world in (left, right)]
    kept = list(range(len(every)))
    if len(every) > _BEST:
        scores = strain.screen(*sides)
        best = np.argsort(-scores, kind="stable")[: _BEST - _FIRST]
        kept = list(dict.fromkeys([*best[: _BITS - _FIRST].tolist(), *range(_FIRST), *best.tolist()]))
        notes.append(f"{len(every):,} numbers in an output were screened, the best {len(kept)} are looked at closely")
    pairs = [(j + 1, j, 1.0) for j in range(min(len(every), _FIRST) - 1)]
    pairs += [pair for pair in _moving_together(sides) if pair not in pairs]
    return tuple(every[i] for i in kept), tuple((every[i], every[j], factor) for i, j, factor in pairs)


def _matrix(world: World, places: list[Place], runs: int) -> Array:
    columns: list[Array] = []
    cut = world.take(slice(0, runs))
    for place, group in _by_place(places):
        part = _part(cut, place)
        values = np.where(np.arange(part.values.shape[1]) < part.lengths[:, None], part.values, np.nan)
        missing = max(group) + 1 - values.shape[1]
        if missing > 0:
            values = np.pad(values, ((0, 0), (0, missing)), constant_values=np.nan)
        columns.append(values[:, group])
    return np.concatenate(columns, axis=1) if columns else np.empty((runs, 0))


def _by_place(places: list[Place]) -> list[tuple[str, list[int]]]:
    groups: dict[str, list[int]] = {}
    for place, j in places:
        groups.setdefault(place, []).append(j)
    return list(groups.items())


def _moving_together(sides: list[Array]) -> list[tuple[int, int, float]]:
    """Pairs of coordinates whose noise is one and the same, up to a factor: correlated within the worlds."""
    width = sides[0].shape[1]
    if not 2 <= width <= 2_048 or min(len(side) for side in sides) < 20:
        return []
    with np.errstate(all="ignore"):
        centred = np.concatenate([_ranked(side) for side in sides])
        spread = np.sqrt(np.mean(centred * centred, axis=0))
        live = np.flatnonzero(np.isfinite(spread) & (spread > 0.0))
        if len(live) < 2:
            return []
        scaled = centred[:, live] / spread[live]
        together = np.triu(np.abs(scaled.T @ scaled) / len(scaled), 1)
    flat = np.argsort(-together, axis=None, kind="stable")[:_PAIRS]
    found = []
    for at in flat.tolist():
        a, b = divmod(at, len(live))
        if not together[a, b] > _CORRELATED:
            break
        i, j = int(live[b]), int(live[a])
        found.append((i, j, _factor(sides, i, j)))
    return found


def _ranked(side: Array) -> Array:
    """Centred and cut at its quartiles: a few far outliers do not decide what moves together."""
    side = np.nan_to_num(side, nan=0.0, posinf=1e300, neginf=-1e300)
    low, middle, high = np.quantile(side, (0.1, 0.5, 0.9), axis=0)
    spread = np.where(high > low, high - low, 1.0)
    return np.asarray(np.clip((side - middle) / spread, -1.5, 1.5) * (high > low))


def _factor(sides: list[Array], i: int, j: int) -> float:
    """The factor between two coordinates, from the middle of its estimates; 1 and -1 are taken when they are near."""
    slopes = []
    for side in sides:
        x, y = np.diff(side[:, j]), np.diff(side[:, i])
        with np.errstate(all="ignore"):
            ratio = y / x
        ratio = ratio[np.isfinite(ratio)]
        slopes.append(float(np.median(ratio)) if ratio.size else 1.0)
    factor = 0.5 * (slopes[0] + slopes[1])
    nearest = min((1.0, -1.0, 2.0, -2.0, 0.5, -0.5), key=lambda simple: abs(simple - factor))
    return nearest if abs(nearest - factor) < 0.3 * abs(nearest) else float(f"{factor:.6g}")


def direction_of(left: object, right: object) -> Array | None:
    """Where the inputs are equally many numbers: by how much each of them changes, the largest change being 1.

    >>> direction_of([1, 2, 2], [1, 4, 1]).tolist()
    [0.0, 1.0, -0.5]
    """
    if not all(isinstance(value, list | tuple | np.ndarray) for value in (left, right)):
        return None
    try:
        ends = [np.asarray(value, dtype=float) for value in (left, right)]
    except (TypeError, ValueError, OverflowError):
        return None
    if ends[0].ndim != 1 or ends[0].shape != ends[1].shape or len(ends[0]) < 2:
        return None
    with np.errstate(all="ignore"):
        change = ends[1] - ends[0]
        most = np.abs(change).max()
    return np.asarray(change / most) if 0.0 < most < np.inf else None


def targets_of(left: object, right: object, marks: Marks) -> Array | None:
    """Records that one input has and the other has not, where the inputs are tables or bags of values.

    >>> targets_of([1, 2], [1, 2, 7], Marks(b"key")).tolist()
    [[7.0]]
    """
    tables = [rows_of(value, marks) for value in (left, right)]
    widths = {table.shape[1] for table in tables if table is not None}
    lengths = {0 if table is None else len(table) for table in tables}
    if len(widths) != 1:
        return None
    counts = [Counter(map(tuple, table.tolist())) if table is not None else Counter() for table in tables]
    if widths == {1} and len(lengths) == 1 and sum((counts[0] - counts[1]).values()) != 1:
        return None  # numbers of which several move are answers rather than records
    apart = [*(counts[0] - counts[1]), *(counts[1] - counts[0])]
    return np.array(apart[:_TARGETS], dtype=float) if apart else None

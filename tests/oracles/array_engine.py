"""The array engine: numpy, one thing after the other. Every engine of privet is compared with it, and none runs it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from privet._numerics import Array
from privet.tables import expressions as tree
from privet.tables.bounded import Aggregates, Bounded, Salts, Sources, Term, Ticks, arranged, join_ticks
from privet.tables.columns import Category, Column, Float, Time
from privet.tables.computed import Clip, Times
from privet.tables.dialect import SETTLE
from privet.tables.features import Feature
from privet.tables.frames import frame_names, raw_columns
from privet.tables.keys import plain_key
from privet.tables.late import summed
from privet.tables.mix import MISSING, P, turn_of
from privet.tables.parts import Part
from privet.tables.person import Person
from privet.tables.plan import Derive, Linked, Node, PerPerson, PersonJoin, PublicJoin, Source, Union, Where
from privet.tables.reading import no_column
from tests.oracles.array_columns import Values, canonical, persons
from tests.oracles.array_mix import folded, number_of, priority


class Frame(NamedTuple):
    """Rows: their columns, their persons where they have some, and how many there are.

    >>> Frame({}, None, 0).size
    0
    """

    columns: dict[str, Values]
    person: Values | None
    size: int

    def taken(self, places: Array) -> "Frame":
        """The rows at these places."""
        columns = {name: each.taken(places) for name, each in self.columns.items()}
        return Frame(columns, None if self.person is None else self.person.taken(places), len(places))


def exact_aggregates(plan: Bounded, sources: Sources, salts: Salts) -> Aggregates:
    """The exact sums of every group, bounded for every person: not releasable.

    >>> from privet.tables.columns import Int
    >>> from privet.tables.keys import KeySet
    >>> from privet.tables.person import Rows
    >>> visits = Source("visits", (("ward", Int(0, 9)),), Rows())
    >>> by_ward = Bounded(visits, ("ward",), KeySet(("ward",), ((1,), (2,), (3,))))
    >>> exact_aggregates(by_ward, {"visits": {"ward": [1, 2, 2]}}, salts=(1, 2, 3, 4, 5)).rows.tolist()
    [1, 2, 0]
    """
    frame = _rows(plan.rows, sources, frozenset(plan.names) | summed(plan), turn_of(salts))
    columns, kept = plan.rows.columns, np.ones(frame.size, dtype=bool)
    for name in plan.names:
        if not columns[name].null:
            kept &= ~frame.columns[name].missing
    if frame.person is not None:
        kept &= ~frame.person.missing
    frame = frame.taken(np.flatnonzero(kept))
    groups = [_plain(frame.columns[name], columns[name]) for name in plan.names]
    keyed = list(zip(*groups, strict=True)) if groups else [()] * frame.size
    if plan.keys is not None:
        places = np.array([i for i, key in enumerate(keyed) if _counts(plan, key)], dtype=np.int64)
        frame, keyed = frame.taken(places), [keyed[i] for i in places]
    terms = [_term(term, frame, columns) for term in plan.terms]
    signed = [_ticks(each.ticks, frame.columns, columns) for each in plan.signed]
    return _summed(plan, frame, keyed, terms, signed, salts)


def _summed(
    plan: Bounded, frame: Frame, keyed: list[Any], terms: list[Array], signed: list[Values], salts: Salts
) -> Aggregates:
    """Pairs of person and group, bounded, then groups."""
    ids = range(frame.size) if frame.person is None else frame.person.values.tolist()
    pairs: dict[Any, list[int]] = {}
    for row, pair in enumerate(zip(ids, keyed, strict=True)):
        pairs.setdefault(pair, []).append(row)
    limits = _limits(plan, list(pairs), [len(rows) for rows in pairs.values()], salts)
    totals: dict[Any, list[int]] = {}
    for (pair, rows), kept in zip(pairs.items(), limits, strict=True):
        if kept == 0:
            continue
        numbers = [kept, 1, *_cells(plan, rows, terms, kept), *_cuts(plan, rows, signed, kept)]
        total = totals.setdefault(pair[1], [0] * len(numbers))
        totals[pair[1]] = [a + b for a, b in zip(total, numbers, strict=True)]
    width = 2 + len(plan.cells) + len(plan.signed)
    if plan.distinct:
        values: dict[Any, list[int]] = {}
        for key in totals:
            values[key[:-1]] = [each + 1 for each in values.get(key[:-1], [0, 0])]
        totals = values
    columns = [list(each) for each in zip(*totals, strict=True)] if totals else [[] for _ in plan.found_names]
    if not plan.found_names:
        columns = []
    made = [np.array([total[i] for total in totals.values()], dtype=np.int64) for i in range(width)]
    return arranged(plan, columns, made)


def _counts(plan: Bounded, key: tuple[Any, ...]) -> bool:
    """Whether a row with this key counts at all."""
    if plan.distinct:
        return key[-1] is not None and key[:-1] in plan.places
    return plan.cell_of(key) is not None


def _cells(plan: Bounded, rows: list[int], terms: list[Array], kept: int) -> list[int]:
    sums = [int(sum(int(term[row]) for row in rows)) for term in terms]
    return [sum(factor * sums[i] for i, factor in cell.parts) * kept // len(rows) for cell in plan.cells]


def _cuts(plan: Bounded, rows: list[int], signed: list[Values], kept: int) -> list[int]:
    made = []
    for each, column in zip(plan.signed, signed, strict=True):
        there = [row for row in rows if not column.missing[row]]
        n, total = min(len(there), kept), sum(int(column.values[row]) for row in there)
        made.append(min(max(total, n * each.lower), n * each.upper))
    return made


def _limits(plan: Bounded, pairs: list[Any], counts: list[int], salts: Salts) -> list[int]:
    """How many rows of each pair are kept."""
    unit = plan.rows.unit
    if not isinstance(unit, Person):
        return counts
    numbers = np.array([number_of(person) for person, _ in pairs], dtype=np.int64)
    columns = [np.array([number_of(key[i]) for _, key in pairs], dtype=np.int64) for i in range(len(plan.names))]
    keys = folded(columns, len(pairs))
    first = priority(numbers, keys, salts)
    by_person: dict[Any, list[int]] = {}
    for i, (person, _) in enumerate(pairs):
        by_person.setdefault(person, []).append(i)
    kept = [0] * len(pairs)
    for mine in by_person.values():
        before = 0
        mine.sort(key=lambda i: (first[i], keys[i], tuple(_order(value) for value in pairs[i][1])))
        for place, i in enumerate(mine):
            capped = counts[i] if unit.max_rows_per_group is None else min(counts[i], unit.max_rows_per_group)
            left = capped if unit.max_rows is None else max(0, min(capped, unit.max_rows - before))
            before += capped
            kept[i] = left if unit.max_groups is None or place < unit.max_groups else 0
    return kept


def _order(value: Any) -> Any:
    return (1, 0) if value is None else (0, value.encode() if isinstance(value, str) else value)


# --- rows --------------------------------------------------------------------------------------------------------------


def _rows(node: Node, sources: Sources, needed: frozenset[str], turn: int) -> Frame:
    """The rows of a node. What is `needed` of them, and the `turn` of their order, decide which go into a join."""
    if isinstance(node, Source):
        return _source(node, sources)
    if isinstance(node, Where):
        frame = _rows(node.input, sources, needed | node.condition.names(), turn)
        holds, known = _condition(node.condition, frame.columns, node.input.columns)
        return frame.taken(np.flatnonzero(holds & known))
    if isinstance(node, Derive):
        below = (needed - {node.name}) | node.expression.names() if node.name in needed else needed
        frame = _rows(node.input, sources, below, turn)
        made = _value(node.expression, frame.columns, node.input.columns)
        return frame._replace(columns={**frame.columns, node.name: made})
    if isinstance(node, PublicJoin):
        return _public_join(node, _rows(node.input, sources, needed | set(node.on), turn))
    if isinstance(node, PersonJoin):
        sides = [_joined(node, side, sources, needed & set(side.columns), turn) for side in (node.left, node.right)]
        return _person_join(*sides)
    if isinstance(node, PerPerson):
        below = frozenset().union(*(each.names() for name, each in node.features if name in needed))
        return _per_person(node, _rows(node.input, sources, below, turn))
    if isinstance(node, Linked):
        return _linked(node, sources)
    assert isinstance(node, Union)
    return _union([_rows(each, sources, needed, turn) for each in node.inputs])


def _joined(node: PersonJoin, side: Node, sources: Sources, needed: frozenset[str], turn: int) -> Frame:
    """The rows of a side of a join, of each person the first ones in an order of what is needed of them."""
    frame, columns, names = _rows(side, sources, needed, turn), side.columns, sorted(needed)
    assert frame.person is not None
    held = {name: _held(frame.columns[name], columns[name]) for name in names}
    numbers = [_numbers(name, columns[name], frame, columns, held[name]) for name in names]
    first = folded(numbers, frame.size) % P * turn % P
    order = sorted(range(frame.size), key=lambda i: (first[i], *(_order(held[name][i]) for name in names)))
    met: dict[Any, int] = {}
    kept = []
    for i in order:
        if frame.person.missing[i]:
            continue
        person = frame.person.values[i]
        met[person] = met.get(person, 0) + 1
        if met[person] <= node.most_rows:
            kept.append(i)
    return frame.taken(np.array(sorted(kept), dtype=np.int64))


def _numbers(name: str, column: Column, frame: Frame, columns: Mapping[str, Column], held: list[Any]) -> Array:
    if not isinstance(column, Float):
        return np.array([number_of(each) for each in held], dtype=np.int64)
    steps = _ticks(join_ticks(name, column), frame.columns, columns)
    return np.where(steps.missing, MISSING, steps.values)


def _source(node: Source, sources: Sources, linking: str | None = None) -> Frame:
    data, about = sources[node.name], node.about
    names, held = list(node.columns), frame_names(data)
    wanted: dict[str, Column | None] = dict(node.columns)
    if isinstance(about, Person):
        wanted.setdefault(about.column, None)
    for name in wanted:
        if name not in held:
            raise no_column(node, name)
    raw = raw_columns(data, wanted) if wanted else {}
    size = len(next(iter(raw.values())).values) if raw else len(data[held[0]])
    columns = {name: canonical(name, node.columns[name], raw[name], name == linking) for name in names}
    person = None
    if isinstance(about, Person):
        person = persons(about.column, raw_columns(data, {about.column: None})[about.column])
    return Frame(columns, person, size)


def _public_join(node: PublicJoin, frame: Frame) -> Frame:
    public, mine = dict(node.listed), node.input.columns
    at = {name: place for place, (name, _) in enumerate(node.listed)}
    met: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for row in node.rows:
        met.setdefault(tuple(public[name].read(row[at[name]]) for name in node.on), []).append(row)
    columns = [_held(frame.columns[name], mine[name]) for name in node.on]
    keys = list(zip(*columns, strict=True))
    pairs = [(i, row) for i, key in enumerate(keys) if None not in key for row in met.get(key, [])]
    out = frame.taken(np.array([i for i, _ in pairs], dtype=np.int64))
    more = {name: _listed(public[name], [row[at[name]] for _, row in pairs]) for name in public if name not in node.on}
    return out._replace(columns={**out.columns, **more})


def _listed(column: Column, values: list[Any]) -> Values:
    """Public values as a column of rows."""
    missing = np.array([each is None for each in values], dtype=bool)
    read = [None if each is None else column.read(each) for each in values]
    if column.kind in ("text", "category"):
        held = np.empty(len(values), dtype=object)
        held[:] = read
        return Values(held, missing)
    dtype = np.float64 if isinstance(column, Float) else np.int64
    return Values(np.array([0 if each is None else each for each in read], dtype=dtype), missing)


def _person_join(left: Frame, right: Frame) -> Frame:
    assert left.person is not None
    assert right.person is not None
    by_person: dict[Any, list[int]] = {}
    for i, (person, absent) in enumerate(zip(right.person.values.tolist(), right.person.missing, strict=True)):
        if not absent:
            by_person.setdefault(person, []).append(i)
    pairs = [
        (i, j)
        for i, (person, absent) in enumerate(zip(left.person.values.tolist(), left.person.missing, strict=True))
        if not absent
        for j in by_person.get(person, [])
    ]
    one = left.taken(np.array([i for i, _ in pairs], dtype=np.int64))
    two = right.taken(np.array([j for _, j in pairs], dtype=np.int64))
    return one._replace(columns={**one.columns, **two.columns})


def _per_person(node: PerPerson, frame: Frame) -> Frame:
    assert frame.person is not None
    mine: dict[Any, list[int]] = {}
    for i, (person, absent) in enumerate(zip(frame.person.values.tolist(), frame.person.missing, strict=True)):
        if not absent:
            mine.setdefault(person, []).append(i)
    columns = {}
    for name, feature in node.features:
        if feature.names() <= set(frame.columns):
            made = [_feature(feature, rows, frame, node.input.columns) for rows in mine.values()]
            columns[name] = _listed_feature(node.columns[name], made)
    firsts = np.array([rows[0] for rows in mine.values()], dtype=np.int64)
    return Frame(columns, frame.person.taken(firsts), len(mine))


def _feature(feature: Feature, rows: list[int], frame: Frame, columns: Mapping[str, Column]) -> Any:
    if feature.kind == "count":
        return min(max(len(rows), int(feature.bounds[0])), int(feature.bounds[1]))
    held = frame.columns[feature.column]
    there = [i for i in rows if not held.missing[i]]
    if feature.kind == "last":
        by = frame.columns[feature.by]
        dated = [(by.values[i], held.values[i]) for i in there if not by.missing[i]]
        return max(dated)[1] if dated else None
    column = columns[feature.column]
    if not isinstance(column, Float):
        return min(max(sum(int(held.values[i]) for i in there), int(feature.bounds[0])), int(feature.bounds[1]))
    low, high = feature.ends(column)
    steps = _ticks(Ticks(tree.Ref(feature.column), 0.0, column.tick), frame.columns, columns).values
    return float(min(max(sum(int(steps[i]) for i in there), low), high)) * column.tick


def _listed_feature(column: Column, made: list[Any]) -> Values:
    dtype = np.float64 if isinstance(column, Float) else np.int64
    return Values(
        np.array([each or 0 for each in made], dtype=dtype), np.array([each is None for each in made], dtype=bool)
    )


def _linked(node: Linked, sources: Sources) -> Frame:
    rows, link = _source(node.input, sources, node.on), _source(node.link, sources, node.on)
    as_rows = rows._replace(person=rows.columns[node.on])
    assert link.person is not None
    as_link = Frame({"person": link.person}, link.columns[node.on], link.size)
    both = _person_join(as_rows, as_link)
    person = both.columns.pop("person")
    return both._replace(person=person)


def _union(frames: list[Frame]) -> Frame:
    columns = {
        name: Values(*(np.concatenate([each.columns[name][part] for each in frames]) for part in (0, 1)))
        for name in frames[0].columns
    }
    person = None
    if frames[0].person is not None:
        held = [each.person for each in frames if each.person is not None]
        person = Values(np.concatenate([p.values for p in held]), np.concatenate([p.missing for p in held]))
    return Frame(columns, person, sum(each.size for each in frames))


# --- expressions -------------------------------------------------------------------------------------------------------


def _value(what: tree.Expression, held: Mapping[str, Values], columns: Mapping[str, Column]) -> Values:
    if isinstance(what, tree.Ref):
        return held[what.name]
    if isinstance(what, tree.Plus):
        one, two = (_value(each, held, columns) for each in (what.left, what.right))
        floats = isinstance(what.column(columns), Float)
        a, b = (each.values.astype(np.float64 if floats else np.int64) for each in (one, two))
        return Values(a + b if what.sign > 0 else a - b, one.missing | two.missing)
    if isinstance(what, Times):
        one, two = (_value(each, held, columns) for each in (what.left, what.right))
        if not isinstance(what.column(columns), Float):
            return Values(one.values.astype(np.int64) * two.values.astype(np.int64), one.missing | two.missing)
        a, b = (each.values.astype(np.float64) + 2.0**-400 - 2.0**-400 for each in (one, two))
        return Values(a * b, one.missing | two.missing)
    if isinstance(what, Clip):
        inner = _value(what.of, held, columns)
        dtype = np.float64 if isinstance(what.column(columns), Float) else np.int64
        return Values(np.clip(inner.values.astype(dtype), dtype(what.lower), dtype(what.upper)), inner.missing)
    if isinstance(what, tree.Holds):
        holds, known = _condition(what.condition, held, columns)
        return Values((holds & known).astype(np.int64), np.zeros(np.shape(holds), dtype=bool))
    if isinstance(what, tree.If):
        inner = _value(what.of, held, columns)
        holds = np.logical_and(*_condition(what.condition, held, columns))
        if what.otherwise is None:
            return Values(inner.values, inner.missing | ~holds)
        dtype = np.float64 if isinstance(what.column(columns), Float) else np.int64
        other = np.full(len(holds), what.otherwise, dtype=dtype)
        return Values(np.where(holds, inner.values.astype(dtype), other), inner.missing & holds)
    if isinstance(what, tree.Pattern):
        told = [_condition(each, held, columns) for each in what.conditions]
        bits = sum((holds & known).astype(np.int64) << i for i, (holds, known) in enumerate(told))
        return Values(np.asarray(bits), np.zeros(np.shape(bits), dtype=bool))
    inner = _value(what.of, held, columns)  # type: ignore[attr-defined]
    if isinstance(what, tree.Linear):
        if isinstance(what.column(columns), Float):
            made = (inner.values.astype(np.float64) + SETTLE - SETTLE) * float(what.factor) + float(what.shift)
            return Values(made + SETTLE - SETTLE, inner.missing)
        return Values(inner.values * int(what.factor) + int(what.shift), inner.missing)
    if isinstance(what, tree.Bin):
        return _bin(what, inner, columns)
    if isinstance(what, tree.Cut):
        reached = np.searchsorted(np.array(what.exact_edges(columns)), inner.values, side="right")
        return Values(reached.astype(np.int64), inner.missing)
    if isinstance(what, tree.Place):
        return _place(what.of.column(columns), inner)
    assert isinstance(what, Part)
    if isinstance(what.of.column(columns), Time):
        if what.part in ("hour", "minute"):
            size, many = (3600, 24) if what.part == "hour" else (60, 60)
            return Values(inner.values // size % many, inner.missing)
        inner = Values(inner.values // 86_400, inner.missing)
        if what.part == "date":
            return inner
    if what.part == "weekday":
        return Values((inner.values + 3) % 7, inner.missing)
    days = inner.values.astype("datetime64[D]")
    if what.part == "year":
        return Values(days.astype("datetime64[Y]").astype(np.int64) + 1970, inner.missing)
    month = days.astype("datetime64[M]")
    if what.part == "day":
        return Values((days - month).astype(np.int64) + 1, inner.missing)
    if what.part == "week":  # that of its Thursday
        thursday = (inner.values - (inner.values + 3) % 7 + 3).astype("datetime64[D]")
        return Values((thursday - thursday.astype("datetime64[Y]")).astype(np.int64) // 7 + 1, inner.missing)
    number = month.astype(np.int64) % 12
    return Values(number // 3 + 1 if what.part == "quarter" else number + 1, inner.missing)


def _place(column: Column, inner: Values) -> Values:
    listed = list(column.values) if isinstance(column, Category) else range(column.span[0], column.span[1] + 1)
    known = {each: place for place, each in enumerate(listed)}
    places = [
        len(listed) if gone else known[each]
        for each, gone in zip(inner.values.tolist(), inner.missing.tolist(), strict=True)
    ]
    missing = np.zeros_like(inner.missing) if column.null else inner.missing
    return Values(np.array(places, dtype=np.int64), missing)


def _bin(what: tree.Bin, inner: Values, columns: Mapping[str, Column]) -> Values:
    end = what.start + what.width * what.count
    whole = isinstance(what.start, int) and isinstance(what.width, int)
    if whole and not isinstance(what.of.column(columns), Float):
        place = (inner.values - what.start) // what.width
        outside = (inner.values < what.start) | (inner.values > end)
    else:
        x = inner.values.astype(np.float64)
        outside = (x < float(what.start)) | (x > float(end))
        place = np.floor((np.where(outside, float(what.start), x) - float(what.start)) / float(what.width)).astype(
            np.int64
        )
    return Values(np.clip(place, 0, what.count - 1), inner.missing | outside)


_COMPARE: dict[str, Any] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "=": np.equal,
    "!=": np.not_equal,
}


def _condition(what: tree.Condition, held: Mapping[str, Values], columns: Mapping[str, Column]) -> tuple[Array, Array]:
    """Where it holds, and where that is known."""
    if isinstance(what, tree.Compare):
        inner = _value(what.of, held, columns)
        constant = what.of.column(columns).read(what.value)
        return np.asarray(_COMPARE[what.operator](inner.values, constant), dtype=bool), ~inner.missing
    if isinstance(what, tree.CompareColumns):
        one, two = (_value(each, held, columns) for each in (what.left, what.right))
        return np.asarray(_COMPARE[what.operator](one.values, two.values), dtype=bool), ~(one.missing | two.missing)
    if isinstance(what, tree.IsIn):
        inner, column = _value(what.of, held, columns), what.of.column(columns)
        listed = {column.read(each) for each in what.values}
        return np.array([each in listed for each in inner.values.tolist()], dtype=bool), ~inner.missing
    if isinstance(what, tree.IsMissing):
        missing = _value(what.of, held, columns).missing
        return missing, np.ones(len(missing), dtype=bool)
    if isinstance(what, tree.Negated):
        holds, known = _condition(what.of, held, columns)
        return ~holds, known
    assert isinstance(what, tree.Both | tree.Either)
    (a, known_a), (b, known_b) = (_condition(each, held, columns) for each in (what.left, what.right))
    if isinstance(what, tree.Both):  # false where one is known to be false
        return a & b, (known_a & known_b) | (known_a & ~a) | (known_b & ~b)
    holds = (a & known_a) | (b & known_b)
    return holds, (known_a & known_b) | holds


def _ticks(what: Ticks, held: Mapping[str, Values], columns: Mapping[str, Column]) -> Values:
    inner = _value(what.of, held, columns)
    steps = np.floor((inner.values.astype(np.float64) - what.start) / what.tick + 0.5)
    return Values(np.where(inner.missing, 0.0, steps).astype(np.int64), inner.missing)


def _term(term: Term, frame: Frame, columns: Mapping[str, Column]) -> Array:
    product = np.ones(frame.size, dtype=np.int64)
    for each in term.factors:
        product = product * _ticks(each, frame.columns, columns).values
    for needed in term.present:
        product = np.where(_value(needed, frame.columns, columns).missing, 0, product)
    return product


def _held(held: Values, column: Column) -> list[Any]:
    """Values as engines hold them, None where they are missing."""
    return [None if absent else each for each, absent in zip(held.values.tolist(), held.missing.tolist(), strict=True)]


def _plain(held: Values, column: Column) -> list[Any]:
    """Values as they stand in a public list of keys."""
    return [plain_key(column, each) for each in _held(held, column)]

"""Laws of aggregates: what is measured for one moves no further than it is priced for, and what is read off it is what the
aggregate says it is, with and without rows.

An example is `queries.AggregateExample`: a request about a column `x`, and what it is on known rows.
"""

import math
from collections.abc import Iterator
from functools import cache
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from privet._numerics import Array
from privet.errors import PrivetError
from privet.noise import Seeded
from privet.queries import AggregateExample, Query, Table, TableAnswers
from privet.queries.aggregates import Count
from privet.queries.family import Noisy
from privet.queries.measured import family_of
from privet.tables import Aggregates, Bounded, Category, Data, Int, Person, Rows
from privet.testing.law import law_of

Row = tuple[int, str, int | None]  # a person, a ward and a value

_SALTS = (77, 1_234_567, 5, 999_999, 31)  # of a choice of rows that depends on them: any public numbers
_COLUMNS = {"ward": Category(["A", "B"]), "x": Int(-2, 3)}
_CHOICES: tuple[tuple[str, int | None], ...] = (("A", 3), ("B", -2), ("B", 3), ("A", None))
_OTHERS: tuple[Row, ...] = ((7, "A", 1), (8, "B", None), (8, "B", 3))
_LIMITS: tuple[dict[str, int], ...] = ({"max_rows": 2}, {"max_groups": 2, "max_rows_per_group": 1})
_PROMISES: tuple[Any, ...] = ({"epsilon": 1.0}, {"mu": 1.0})  # Laplace's noise and normal noise
_KNOWN: list[int | None] = [3, 3, -2, 0, 1, None, 2, 2, -1, 3]  # with nine values, so that a middle one is there
_SURE = 1e6  # an epsilon without noise to speak of


def _query(example: AggregateExample, rows: tuple[Row, ...], unit: Any, *, columns: Any = None) -> Query:
    persons, wards, values = zip(*rows, strict=True) if rows else ((), (), ())
    given = np.ma.MaskedArray([each or 0 for each in values], [each is None for each in values], dtype=np.int64)
    data = {"id": np.array(persons, dtype=np.int64), "ward": np.array(wards, dtype=object), "x": given}
    table = Table(data, columns=columns or _COLUMNS, unit=unit, name="visits")
    made: Query = table.group_by("ward").agg(asked=example.aggregate)
    return made


@law_of("aggregate")
def check_moves_as_priced(example: AggregateExample) -> None:
    """Over all that one unit of privacy can do in a tiny table, under both relations, noisy vectors and scores move no
    further than the sensitivity that their noise was made for.

    >>> from privet.queries.aggregates import Count
    >>> check_moves_as_priced(next(iter(Count.examples())))
    """
    for relation in ("add_remove", "replace"):
        for unit in (*(Person("id", relation=relation, **limits) for limits in _LIMITS), Rows(relation=relation)):
            made = [_query(example, (), unit).for_budget(**promise) for promise in _PROMISES]
            _check_moves(example, made, unit, relation)


def _check_moves(example: AggregateExample, made: list[TableAnswers], unit: Any, relation: str) -> None:
    most = 1 if isinstance(unit, Rows) else 2
    for mechanism in made:
        for move in _moves(mechanism):
            there = [move.exact(found) for found in _in_worlds(move.plan, unit, most)]
            starts = there[:1] if relation == "add_remove" else there[1:]
            farthest = max(move.distance(one, two) for one in starts for two in there[1:])
            assert farthest <= move.priced * (1.0 + 1e-12), (
                f"{example}: one of {unit} moves {move.what} by {farthest:g}, and {move.priced:g} is priced"
            )


@cache
def _in_worlds(plan: Bounded, unit: Any, most: int) -> list[Aggregates]:
    """The measured sums of a plan in every world: plans are shared by aggregates, and their noise by none."""
    counting = AggregateExample("count", Count(), len)
    worlds = [_query(counting, (*_OTHERS, *rows), unit).data for rows in _persons(most)]
    return [data.exact_aggregates(plan, _SALTS) for data in worlds]


class _Move:
    """Something that is released: its plan, its exact value, how far two of them are apart and what that is priced as."""

    def __init__(self, plan: Bounded, exact: Any, distance: Any, priced: float, what: str) -> None:
        self.plan, self.exact, self.distance, self.priced, self.what = plan, exact, distance, priced, what


def _moves(made: TableAnswers) -> Iterator[_Move]:
    for family, part in zip(made.families, made.parts, strict=True):
        reach = part.sensitivity  # type: ignore[attr-defined]
        far = _l1 if reach.norm == "l1" else _l2
        yield _Move(family.plan_of(made.plan), family.exact, far, float(reach.value), f"its {family.kind}")
    for each in made.quantiles:
        # in every group a choice loses by its own largest move; a replacement is priced as a group of two
        twice = 2.0 if made.about.relation == "replace" else 1.0
        yield _Move(each.plan, each.scores, _by_group, twice * float(each.choice.sensitivity.value), "its scores")


def _l1(one: Array, two: Array) -> float:
    return float(np.abs(one - two).sum())


def _l2(one: Array, two: Array) -> float:
    return math.sqrt(float(((one - two).astype(float) ** 2).sum()))


def _by_group(one: Array, two: Array) -> float:
    return float(np.abs(one - two).max(axis=1).sum())


def _persons(most: int) -> Iterator[list[Row]]:
    """Nobody, and every person with up to so many rows."""
    for size in range(most + 1):
        for rows in combinations_with_replacement(_CHOICES, size):
            yield [(1, *row) for row in rows]


def _released(example: AggregateExample, query: Query, data: Data, epsilon: float) -> Any:
    try:
        return query.for_budget(epsilon=epsilon).release(data, source=Seeded(3)).value
    except PrivetError as problem:
        raise AssertionError(f"{example}: no answer ({problem})") from problem


def _told(example: AggregateExample, answer: Any) -> tuple[Array, Array, Array]:
    """Values and both ends of their intervals, which must stand in order; a choice has none, and stands for both."""
    value = np.asarray(answer["asked"], dtype=float)
    low, high = (value, value) if example.aggregate.wants() is None else answer.interval("asked")
    assert np.isfinite(value).all(), f"{example}: no number"
    assert bool(((low <= value) & (value <= high)).all()), f"{example}: a value outside its own interval"
    return value, np.asarray(low), np.asarray(high)


@law_of("aggregate")
def check_is_what_it_says(example: AggregateExample) -> None:
    """With next to no noise the answer is what `exact` says of the rows, and its interval holds that.

    >>> from privet.queries.aggregates import Mean
    >>> check_is_what_it_says(next(iter(Mean.examples())))
    """
    rows = tuple((place, ward, value) for ward in ("A", "B") for place, value in enumerate(_KNOWN))
    query = _query(example, rows, Rows())
    value, low, high = _told(example, _released(example, query, query.data, _SURE))
    expected = float(example.exact(list(_KNOWN)))
    near = 1e-3 * (1.0 + abs(expected))
    assert np.allclose(value, expected, rtol=0.0, atol=near), f"{example}: {value[0]:g} where the rows say {expected:g}"
    held = bool(((low <= expected + near) & (expected - near <= high)).all())
    assert held, f"{example}: the interval does not hold what the rows say"


@law_of("aggregate")
def check_empty_data_are_answered(example: AggregateExample) -> None:
    """Without rows, and of a column that has one value, there is a number within its interval, and no error.

    >>> from privet.queries.aggregates import Variance
    >>> check_empty_data_are_answered(next(iter(Variance.examples())))
    """
    for epsilon in (0.1, 10.0):
        query = _query(example, (), Rows())
        _told(example, _released(example, query, query.data, epsilon))
    if getattr(example.aggregate, "column", None) is None:
        return
    rows: tuple[Row, ...] = ((1, "A", 0), (2, "B", 0), (3, "B", 0))
    columns = {**_COLUMNS, "x": Int(0, 0)}
    asked = _query(example, rows, Rows(), columns=columns)
    with_rows = Query(asked.rows, asked.names, asked.keys, (("n", Count()), *asked.outputs), asked.data)
    value, low, high = _told(example, _released(example, with_rows, asked.data, _SURE))
    expected = float(example.exact([0, 0]))
    assert bool(((low <= expected) & (expected <= high)).all()), f"{example}: not so of a column of zeros"
    assert value.shape == (2,), f"{example}: not one number for each group"


@law_of("aggregate")
def check_preview_is_what_is_read(example: AggregateExample) -> None:
    """The half-width of a preview is that of the interval which is read where values lie evenly.

    >>> from privet.queries.aggregates import Sum
    >>> check_preview_is_what_is_read(next(iter(Sum.examples())))
    """
    if example.aggregate.wants() is None:
        return
    query = _query(example, (), Rows())
    for promise in _PROMISES:
        made = query.for_budget(**promise)
        place = family_of(example.aggregate, made.families)
        assert place is not None, f"{example}: nothing that is measured can be read"
        family, scale = made.families[place], made.parts[place].scale  # type: ignore[attr-defined]
        for rows in (1, 1_000):
            even = Noisy(family, family.evenly(rows), "laplace" if "epsilon" in promise else "gaussian", scale)
            said = example.aggregate.half_width(even, made.plan.rows.columns, 0.95)
            read = example.aggregate.read(even, made.plan.rows.columns, 0.95).farther()
            assert math.isclose(said, read, rel_tol=1e-9, abs_tol=1e-9), (
                f"{example}: a preview says {said:g} where {read:g} is read"
            )

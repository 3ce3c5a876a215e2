"""Filtered counts as sums of disjoint cells: which combinations of conditions are possible at all, from public facts."""

import operator
from collections.abc import Callable
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidParameter
from privet.tables import Category, Column, Float, Node, expressions as tree

_MOST = 200_000  # rows that stand for all others: looking at them takes a second; beyond, every pattern is possible
_MOST_CONDITIONS = 20  # their patterns are listed, two to this power at the most
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
}


class _Truth(NamedTuple):
    """Where a condition holds and where it fails; neither where it is unknown. An axis for each column."""

    holds: Array
    fails: Array


def possible_patterns(conditions: tuple[tree.Condition, ...], rows: Node) -> Array:
    """Every pattern of truth values (a row each, a column a condition) that some row could have, apart from none at all.

    Each column is stood for by a value between any two constants that it is compared with, those constants, and a missing
    one: conditions cannot tell other rows apart.
    """
    if len(conditions) > _MOST_CONDITIONS:
        raise InvalidParameter(f"at most {_MOST_CONDITIONS} counts with conditions are asked together")
    columns = rows.columns
    constants: dict[str, set[Any]] = {}
    mixed = False
    for condition in conditions:
        mixed |= _collect(condition, columns, constants)
    stands = {name: _stand_ins(columns[name], held) for name, held in constants.items()}
    size = int(np.prod([len(each) for each in stands.values()], dtype=np.float64)) if stands else 1
    if mixed or size > _MOST:
        return _all_patterns(len(conditions))
    shape = tuple(len(each) for each in stands.values())
    truth = [np.broadcast_to(_truth(each, stands, columns).holds, shape).ravel() for each in conditions]
    patterns = np.unique(np.stack(truth, axis=1), axis=0)
    return patterns[patterns.any(axis=1)]


def _all_patterns(many: int) -> Array:
    if many > 12:
        raise InvalidParameter("these conditions are too entangled to be counted together: ask for fewer at once")
    return np.array([row for row in product((False, True), repeat=many) if any(row)])


def _collect(condition: tree.Condition, columns: dict[str, Column], constants: dict[str, set[Any]]) -> bool:
    """The constants that each column is compared with; True where a condition is about more than one column at once."""
    if isinstance(condition, tree.Both | tree.Either):
        return _collect(condition.left, columns, constants) | _collect(condition.right, columns, constants)
    if isinstance(condition, tree.Negated):
        return _collect(condition.of, columns, constants)
    if isinstance(condition, tree.CompareColumns):
        return True
    assert isinstance(condition, tree.Compare | tree.IsIn | tree.IsMissing)
    of: tree.Expression = condition.of
    if not isinstance(of, tree.Ref):
        return True
    held = constants.setdefault(of.name, set())
    if isinstance(condition, tree.Compare):
        held.add(columns[of.name].read(condition.value))
    elif isinstance(condition, tree.IsIn):
        held.update(columns[of.name].read(value) for value in condition.values)
    return False


def _stand_ins(column: Column, held: set[Any]) -> list[Any]:
    if isinstance(column, Category):
        return [*column.values, None]
    if column.kind == "text":
        other = "x"
        while other in held:
            other += "x"
        return [*held, other, None]
    low, high = column.span
    marks = sorted({low, high, *(each for each in held if low <= each <= high)})
    between: list[Any] = []
    for a, b in pairwise(marks):
        if isinstance(column, Float):
            between.append((a + b) / 2.0)
        else:
            between += [each for each in {int(np.floor(a)) + 1, int(np.ceil(b)) - 1} if a < each < b]
    whole = [each for each in marks if isinstance(column, Float) or float(each).is_integer()]
    return [*whole, *between, None]


def _truth(condition: tree.Condition, stands: dict[str, list[Any]], columns: dict[str, Column]) -> _Truth:
    """The truth of a condition on every combination of stand-ins; a column that it does not read has length one."""
    if isinstance(condition, tree.Negated):
        of = _truth(condition.of, stands, columns)
        return _Truth(holds=of.fails, fails=of.holds)
    if isinstance(condition, tree.Both | tree.Either):
        one, two = (_truth(each, stands, columns) for each in (condition.left, condition.right))
        if isinstance(condition, tree.Both):
            return _Truth(holds=one.holds & two.holds, fails=one.fails | two.fails)
        return _Truth(holds=one.holds | two.holds, fails=one.fails & two.fails)
    assert isinstance(condition, tree.Compare | tree.IsIn | tree.IsMissing)
    assert isinstance(condition.of, tree.Ref)
    mine = condition.of.name
    told = [_told(condition, columns[mine], value) for value in stands[mine]]
    shape = [len(each) if name == mine else 1 for name, each in stands.items()]
    return _Truth(*(np.array([each is answer for each in told]).reshape(shape) for answer in (True, False)))


def _told(condition: tree.Compare | tree.IsIn | tree.IsMissing, column: Column, value: object) -> bool | None:
    """True if a condition on a column holds for a value, None for a missing one; None where that is unknown."""
    if isinstance(condition, tree.IsMissing):
        return value is None
    if value is None:
        return None
    if isinstance(condition, tree.IsIn):
        return value in {column.read(each) for each in condition.values}
    return bool(_COMPARE[condition.operator](value, column.read(condition.value)))

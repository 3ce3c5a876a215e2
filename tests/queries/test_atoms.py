"""The truth of conditions on stand-ins, beside the array engine's: three values, every kind of column."""

import random
from itertools import product
from typing import Any

import numpy as np
import pytest

from privet.queries import atoms
from privet.tables import expressions as tree
from privet.tables.columns import Bool, Category, Column, Date, Float, Int, Text
from tests.oracles import array_engine
from tests.oracles.array_columns import Values

COLUMNS: dict[str, Column] = {
    "age": Int(0, 100),
    "cost": Float(0.0, 2.0),
    "ward": Category(["A", "B"]),
    "level": Category([1, 2, 3]),
    "city": Text(),
    "day": Date("2024-01-01", "2024-12-31"),
    "ill": Bool(),
}
CONSTANTS: dict[str, tuple[Any, ...]] = {
    "age": (-5, 0, 17, 64.5, 100, 200),
    "cost": (0.0, 0.5, 1.0, 3),
    "ward": ("A", "B"),
    "level": (1, 3),
    "city": ("Rome", "x", ""),
    "day": ("2024-01-01", "2024-05-01", "2025-01-01"),
    "ill": (True, False),
}


def condition(rng: random.Random, names: list[str], depth: int) -> tree.Condition:
    """A random condition on these columns."""
    kind = rng.choice(["both", "either", "negated"] if depth else ["compare", "compare", "isin", "missing"])
    if kind == "negated":
        return tree.Negated(condition(rng, names, depth - 1))
    if kind in ("both", "either"):
        one, two = (condition(rng, names, rng.randrange(depth)) for _ in range(2))
        return tree.Both(one, two) if kind == "both" else tree.Either(one, two)
    name = rng.choice(names)
    if kind == "missing":
        return tree.IsMissing(tree.Ref(name))
    if kind == "isin":
        return tree.IsIn(tree.Ref(name), tuple(rng.choices(CONSTANTS[name], k=2)))
    ordered = not isinstance(COLUMNS[name], Category | Text)
    operators = ("<", "<=", ">", ">=", "=", "!=") if ordered else ("=", "!=")
    return tree.Compare(tree.Ref(name), rng.choice(operators), rng.choice(CONSTANTS[name]))


def as_array(column: Column, values: list[Any]) -> Values:
    """Stand-ins as the array engine holds a column."""
    missing = np.array([each is None for each in values])
    if column.kind in ("category", "text"):
        return Values(np.array(values, dtype=object), missing)
    dtype = np.float64 if isinstance(column, Float) else np.int64
    return Values(np.array([0 if each is None else each for each in values], dtype=dtype), missing)


def differences(tries: int) -> int:
    """Random conditions whose truth on some stand-in is not what the array engine says."""
    rng, found = random.Random(1), 0
    for _ in range(tries):
        asked = condition(rng, rng.sample(list(COLUMNS), 3), rng.randrange(4))
        asked.check(COLUMNS)
        constants: dict[str, set[Any]] = {}
        assert not atoms._collect(asked, COLUMNS, constants)
        stands = {name: atoms._stand_ins(COLUMNS[name], held) for name, held in constants.items()}
        rows = list(product(*stands.values()))
        held = {name: as_array(COLUMNS[name], [row[i] for row in rows]) for i, name in enumerate(stands)}
        holds, known = array_engine._condition(asked, held, COLUMNS)
        shape = tuple(map(len, stands.values()))
        truth = [np.broadcast_to(each, shape).ravel() for each in atoms._truth(asked, stands, COLUMNS)]
        found += not (np.array_equal(truth[0], holds & known) and np.array_equal(truth[1], ~holds & known))
    return found


def test_truth_on_stand_ins_is_the_array_engines():
    assert differences(400) == 0


@pytest.mark.parametrize("bug", ["missing is false", "at most is less"])
def test_a_wrong_truth_is_seen(bug, monkeypatch):
    sound = atoms._told
    if bug == "missing is false":
        monkeypatch.setattr(atoms, "_told", lambda *facts: bool(sound(*facts)))
    else:
        monkeypatch.setitem(atoms._COMPARE, "<=", atoms._COMPARE["<"])
    assert differences(100) > 0

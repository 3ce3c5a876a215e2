"""The small part of SQL beside an engine's own reading of the same text: conditions, missing values, precedence."""

import random
from datetime import date
from typing import Any

import numpy as np
import pytest

import privet as pv
from tests.effort import tries
from tests.oracles import array_engine

COLUMNS = {
    "a": pv.Int(0, 10),
    "b": pv.Float(-2.5, 3.0),
    "w": pv.Category(["x", "y", "it's"], null=True),
    "s": pv.Bool(),
    "d": pv.Date("2024-01-01", "2024-12-31"),
}
CHOICES: dict[str, list[Any]] = {
    "a": [None, *range(11)],
    "b": [None, -2.5, -1.0, 0.0, 0.5, 1.25, 3.0],
    "w": [None, "x", "y", "it's"],
    "s": [None, True, False],
    "d": [None, date(2024, 1, 1), date(2024, 2, 29), date(2024, 12, 31)],
}
ATOMS = [
    "a IN (1, 2.0, 11)", "a NOT IN (1, 2, 3)", "w NOT IN ('x')", "w IN ('x', 'it''s')", "w = 'it''s'", "w <> 'y'", "a < b",
    "b >= a", "a <> a", "a = b", "s", "s = TRUE", "s <> FALSE", "a BETWEEN 2 AND 7", "a NOT BETWEEN 3 AND 9", "a = 4.5",
    "a BETWEEN 7 AND 2", "d < DATE '2024-02-29'", "DATE '2024-02-29' <= d",
    "d BETWEEN DATE '2024-01-01' AND DATE '2024-02-29'", "EXTRACT(MONTH FROM d) = 2", "YEAR(d) <> 2024",
    "MONTH(d) IN (1, 12)", "quarter(d) BETWEEN 2 AND 4", "EXTRACT(day FROM d) > a", "a <= DAY(d)", "WEEK(d) IS NULL",
    "3 > extract(WEEK from d)",
]  # fmt: skip


def atom(rng: random.Random) -> str:
    sign = rng.choice(["=", "<>", "!=", "<", "<=", ">", ">="])
    return rng.choice(
        [
            f"a {sign} {rng.choice(['-1', '0', '5', '10', '11', '4.5', '5.0', '1e1', '.5', '+3'])}",
            f"{rng.choice(['0', '5', '10', '4.5', '-1'])} {sign} a",
            f"b {sign} {rng.choice(['-2.5', '0', '1.25', '-0.0', '2', '-1'])}",
            f"{rng.choice('abwsd')} IS {rng.choice(['', 'NOT '])}NULL",
            rng.choice(ATOMS),
        ]
    )


def condition(rng: random.Random, depth: int = 0) -> str:
    """Nested, with and without brackets."""
    kind = rng.random()
    if depth > 3 or kind < 0.35:
        return atom(rng)
    if kind < 0.5:
        inner = condition(rng, depth + 1)
        return f"NOT {inner}" if rng.random() < 0.5 else f"NOT ({inner})"
    made = rng.choice([" AND ", " OR "]).join(condition(rng, depth + 1) for _ in range(rng.choice([2, 2, 3])))
    return f"({made})" if rng.random() < 0.6 else made


def disagreements(seed: int, tries: int) -> list[str]:
    """Texts whose exact counts differ from those of DuckDB."""
    import duckdb

    rng = random.Random(seed)
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (a BIGINT, b DOUBLE, w VARCHAR, s BOOLEAN, d DATE)")
    rows = [[rng.choice(values) for values in CHOICES.values()] for _ in range(120)]
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", rows)
    held = {name: [row[i] for row in rows] for i, name in enumerate(CHOICES)}
    table, texts = pv.Table(held, columns=COLUMNS, name="t"), []
    for _ in range(tries):
        text = f"SELECT COUNT(*) AS n FROM t WHERE {condition(rng)}"
        query = table.sql(text)
        plan = query.for_budget(epsilon=1.0).plan
        found = array_engine.exact_aggregates(plan, {"t": held}, (1, 2, 3, 4, 5))
        wanted = connection.execute(text).fetchall()[0][0]
        if not np.array_equal(found.rows, [wanted]):
            texts.append(text)
    return texts


def test_conditions_are_read_as_duckdb_reads_them() -> None:
    assert disagreements(7, 120) == []


@pytest.mark.slow
def test_many_conditions_are_read_as_duckdb_reads_them() -> None:
    assert disagreements(8, tries(1_500)) == []


def test_another_reading_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that lets NOT reach over AND is told from the right one."""
    from privet.queries import sql
    from privet.tables.expressions import Negated

    right = sql._Reader.opposite

    def wrong(self: Any) -> Any:
        return Negated(self.both()) if self.words.took("NOT") else right(self)

    monkeypatch.setattr(sql._Reader, "opposite", wrong)
    assert disagreements(7, 120) != []

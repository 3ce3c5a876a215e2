"""Tables: exact bounded aggregates on DuckDB beside its raw GROUP BY and beside hand-written SQL that bounds persons.

`python benchmarks/queries.py [--rows 10000000] [--repeats 3]`. Ten million rows, a million persons, a thousand groups
with long tails; CPU time of all threads, the best of the repeats, data in memory as arrays. The hand-written SQL keeps
five groups of a person by the engine's own hash, which is not portable and has no salt: a lower limit, not a rival.
"""

import argparse
import json
import time

import duckdb
import numpy as np

from privet.tables.bounded import Bounded, Cell, Signed, Term, Ticks
from privet.tables.columns import Float, Int
from privet.tables.engines import exact_aggregates
from privet.tables.expressions import Ref
from privet.tables.keys import all_keys
from privet.tables.person import Person, Rows
from privet.tables.plan import Source

COLUMNS = (("grp", Int(0, 999)), ("val", Float(0.0, 100.0, tick=2.0**-10)))
STEPS = 102_400
SALTS = (12345, 67890, 13579, 24680, 11111)
RAW = "SELECT grp, count(*), sum(val), avg(val) FROM held GROUP BY grp"
BY_HAND = """
WITH pairs AS (SELECT "user", grp, least(count(*), 3) c, least(sum(CAST(floor(least(val, 100.0) * 1024 + 0.5) AS BIGINT)),
               least(count(*), 3) * 102400) s FROM held GROUP BY ALL),
     first AS (SELECT "user", unnest(min((hash("user", grp) % 2147483648)::BIGINT * 4294967296 + grp, 5)) AS packed
               FROM pairs GROUP BY "user")
SELECT grp, sum(c), count(*), sum(s) FROM pairs SEMI JOIN first ON pairs."user" = first."user"
AND (hash(pairs."user", grp) % 2147483648)::BIGINT * 4294967296 + grp = packed GROUP BY grp
"""
BY_WINDOW = """
WITH pairs AS (SELECT "user", grp, least(count(*), 3) c, least(sum(CAST(floor(least(val, 100.0) * 1024 + 0.5) AS BIGINT)),
               least(count(*), 3) * 102400) s FROM held GROUP BY ALL),
     ranked AS (SELECT *, row_number() OVER (PARTITION BY "user" ORDER BY hash("user", grp), grp) AS place FROM pairs)
SELECT grp, sum(c), count(*), sum(s) FROM ranked WHERE place <= 5 GROUP BY grp
"""


def table(rows):
    """The handbook's table: users, groups by a Zipf law, values by a log-normal one."""
    rng = np.random.default_rng(0)
    user, group = rng.integers(0, 10**6, rows), rng.zipf(1.3, rows) % 1000
    return {"user": user, "grp": group, "val": np.clip(rng.lognormal(3, 0.8, rows), 0, 1e6)}


def plan(about, mean):
    """Counts and a sum; for rows also the two sums of a mean."""
    ticks = Ticks(Ref("val"), 0.0, 2.0**-10)
    terms = (Term((), (Ref("val"),)), Term((ticks,), (Ref("val"),))) if mean else ()
    cells = (Cell(((1, 1),), STEPS), Cell(((0, STEPS), (1, -1)), STEPS)) if mean else ()
    keys = all_keys(dict(COLUMNS), ("grp",))
    return Bounded(Source("held", COLUMNS, about), ("grp",), keys, terms, cells, (Signed(ticks, 0, STEPS),))


def best(ask, repeats):
    """CPU seconds of all threads."""
    seconds = []
    for _ in range(repeats):
        begin = time.process_time()
        ask()
        seconds.append(time.process_time() - begin)
    return min(seconds)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=10**7)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--json", action="store_true")
    chosen = arguments.parse_args()
    held = table(chosen.rows)
    engine = duckdb.connect()
    engine.register("held", held)
    person = Person("user", max_groups=5, max_rows_per_group=3)

    def ours(about, mean):
        return best(lambda: exact_aggregates(plan(about, mean), {"held": held}, SALTS), chosen.repeats)

    raw = best(lambda: engine.execute(RAW).fetchnumpy(), chosen.repeats)
    hand = min(best(lambda sql=sql: engine.execute(sql).fetchnumpy(), chosen.repeats) for sql in (BY_HAND, BY_WINDOW))
    rows, persons = ours(Rows(), True), ours(person, False)
    lines = [
        {"task": "rows: count, sum, mean", "seconds": rows, "beside": raw, "ratio": rows / raw, "target": 1.5},
        {
            "task": "persons: 5 groups, 3 rows each",
            "seconds": persons,
            "beside": hand,
            "ratio": persons / hand,
            "target": 1.3,
        },
    ]
    if chosen.json:
        print(json.dumps(lines, indent=1))
        return
    for line in lines:
        mark = "met" if line["ratio"] <= line["target"] else "MISSED"
        print(f"{line['task']:32} {line['seconds']:7.3f} s beside {line['beside']:7.3f} s: {line['ratio']:.2f}, {mark}")


if __name__ == "__main__":
    main()

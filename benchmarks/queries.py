"""Tables: exact bounded aggregates on DuckDB beside its raw GROUP BY and beside hand-written SQL that bounds persons.

`python benchmarks/queries.py [--rows 10000000] [--repeats 3] [--opendp PYTHON] [--growth] [--postgres ADDRESS]
[--spark]`. Ten million rows, a million persons, a thousand groups with long tails; CPU time of all threads, the best of
the repeats, data in memory as arrays. The hand-written SQL keeps five groups of a person by the engine's own hash,
which is not portable and has no salt: a lower limit, not a rival. Then whole questions through `pv.Table`: planning,
previewing, the fixed cost of a release, and the same Parquet file asked by privet and, with `--opendp` and an
interpreter that has `opendp[polars]`, by OpenDP. `--growth`: time against rows, persons and groups. `--postgres` and
`--spark`: the same beside a server's own GROUP BY, in seconds of the wall clock, since the work is done in another
process. Files beyond memory: `queries_large.py`.
"""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np

import privet as pv
from privet.tables.bounded import Bounded, Cell, Signed, Term, Ticks
from privet.tables.columns import Float, Int
from privet.tables.engines import PostgresTable, exact_aggregates
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
    """Users, groups by a Zipf law, values by a log-normal one."""
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
    return in_turn((ask,), repeats)[0]


def in_turn(asks, repeats):
    """The same of several, which are asked one after the other in every repeat: what is warm or busy is so for all."""
    seconds = [[] for _ in asks]
    for _ in range(repeats):
        for ask, each in zip(asks, seconds, strict=True):
            begin = time.process_time()
            ask()
            each.append(time.process_time() - begin)
    return [min(each) for each in seconds]


def whole_questions(held, repeats, opendp):
    """Through the public door: what a user waits for."""
    columns = {"grp": pv.Int(0, 999), "val": pv.Float(0, 100, tick=2.0**-10)}
    limits = pv.Person("user", max_groups=5, max_rows_per_group=3)
    few = {name: column[:100] for name, column in held.items()}
    small = _asked(pv.Table(few, columns=columns, unit=limits))
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e9), unit=limits.unit)
    ledger.release(small, epsilon=1.0)
    lines = [
        _against("planning", best(lambda: small.for_budget(epsilon=1.0), 20), 0.005),
        _against("preview", best(lambda: small.preview(epsilon=1.0), 20), 0.005),
        _against("release of 100 rows", best(lambda: ledger.release(small, epsilon=1.0), 20), 0.02),
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "held.parquet")
        duckdb.connect().register("held", held).execute(f"COPY (SELECT * FROM held) TO '{path}' (FORMAT parquet)")
        rival = {} if opendp is None else json.loads(_rival(opendp, path))
        for name, unit, target in (("rows", pv.Rows(), None), ("persons", limits, 6.0)):
            query = _asked(pv.Table(path, columns=columns, unit=unit))
            paying = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e9), unit=unit.unit)
            seconds = best(lambda query=query, paying=paying: paying.release(query, epsilon=1.0), repeats)
            line = {"task": f"Parquet, {name}, released", "seconds": seconds}
            if rival:
                line |= {"beside": rival[name], "faster": rival[name] / seconds} | (
                    {"target": target} if target else {}
                )
            lines.append(line)
    return lines


def _asked(table):
    return table.group_by("grp").agg(n=pv.count(), s=pv.sum("val"))


def _rival(python, path):
    script = Path(__file__).parent / "rivals" / "opendp_tables.py"
    return subprocess.run([python, str(script), path], check=True, capture_output=True, text=True).stdout.splitlines()[
        -1
    ]


def _against(task, seconds, target):
    return {"task": task, "seconds": seconds, "target": target}


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=10**7)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--opendp", help="an interpreter that has opendp[polars]")
    arguments.add_argument("--growth", action="store_true", help="time against the number of rows, persons and groups")
    arguments.add_argument("--postgres", help="the address of a PostgreSQL server in which a table may be made")
    arguments.add_argument("--spark", action="store_true", help="a local Spark")
    arguments.add_argument("--json", action="store_true")
    chosen = arguments.parse_args()
    held = table(chosen.rows)
    if chosen.growth:
        growth(held, chosen.repeats)
        return
    if chosen.postgres or chosen.spark:
        lines = on_postgres(chosen.postgres, held, chosen.repeats) if chosen.postgres else []
        lines += on_spark(held, chosen.repeats) if chosen.spark else []
        print("\n".join(map(told, lines)))
        return
    engine = duckdb.connect()
    engine.register("held", held)
    person = PERSON

    def ours(about, mean):
        return lambda: exact_aggregates(plan(about, mean), {"held": held}, SALTS)

    def by_hand(sql):
        return lambda: engine.execute(sql).fetchnumpy()

    raw, rows = in_turn((by_hand(RAW), ours(Rows(), True)), max(chosen.repeats, 7))
    *hands, persons = in_turn((by_hand(BY_HAND), by_hand(BY_WINDOW), ours(person, False)), chosen.repeats)
    hand = min(hands)
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
    lines += whole_questions(held, chosen.repeats, chosen.opendp)
    print(json.dumps(lines, indent=1) if chosen.json else "\n".join(map(told, lines)))


def told(line):
    """One line of the table."""
    text = f"{line['task']:32} {line['seconds']:8.4f} s"
    if "beside" in line:
        text += f" beside {line['beside']:8.4f} s"
    if "ratio" in line:
        met = line["ratio"] <= line["target"]
        return f"{text}: {line['ratio']:.2f} of it, wish {line['target']}, {'met' if met else 'MISSED'}"
    if "faster" in line:
        wish = (
            f", wish {line['target']}, {'met' if line['faster'] >= line['target'] else 'MISSED'}"
            if "target" in line
            else ""
        )
        return f"{text}: {line['faster']:.1f} times faster{wish}"
    if "target" in line:
        return f"{text}, wish {line['target']}, {'met' if line['seconds'] <= line['target'] else 'MISSED'}"
    return text


PERSON = Person("user", max_groups=5, max_rows_per_group=3)


def growth(held, repeats):
    """CPU seconds of the exact aggregates for ever more rows, persons and groups."""

    def line(what, many, part):
        times = [
            best(lambda about=about, mean=mean: exact_aggregates(plan(about, mean), {"held": part}, SALTS), repeats)
            for about, mean in ((Rows(), True), (PERSON, False))
        ]
        print(f"{what:>10}{many:>12,}{times[0]:>12.4f}{times[1]:>12.4f}")

    rows = len(held["grp"])
    print(f"{'':>10}{'many':>12}{'by rows':>12}{'by persons':>12}")
    size = 10**4
    while size <= rows:
        line("rows", size, {name: column[:size] for name, column in held.items()})
        size *= 10
    for persons in (10, 10**3, 10**5, 10**6):
        line("persons", persons, {**held, "user": held["user"] % persons})
    for groups in (1, 10, 100, 1000):
        line("groups", groups, {**held, "grp": held["grp"] % groups})


def waited(ask, repeats):
    """Seconds of the wall clock, the least of the repeats; the first one warms up."""
    seconds = []
    for _ in range(repeats + 1):
        begin = time.perf_counter()
        ask()
        seconds.append(time.perf_counter() - begin)
    return min(seconds[1:])


def beside(engine, raw, data, repeats, targets):
    """Both units beside the engine's own GROUP BY."""
    base, lines = waited(raw, repeats), []
    for name, about, mean, target in (("rows", Rows(), True, targets[0]), ("persons", PERSON, False, targets[1])):
        ours = waited(lambda about=about, mean=mean: exact_aggregates(plan(about, mean), data, SALTS), repeats)
        line = {"task": f"{engine}, {name}", "seconds": ours, "beside": base, "ratio": ours / base, "target": target}
        lines.append(line)
    return lines


def on_postgres(address, held, repeats):
    """A table of the server that is dropped in the end."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS privet_held")
        connection.execute('CREATE TABLE privet_held ("user" bigint, grp bigint, val double precision)')
        try:
            with connection.cursor() as cursor, cursor.copy("COPY privet_held FROM STDIN") as copy:
                for row in zip(*(column.tolist() for column in held.values()), strict=True):
                    copy.write_row(row)
            connection.execute("ANALYZE privet_held")
            raw = RAW.replace("held", "privet_held")
            data = {"held": PostgresTable(address, "privet_held")}
            return beside("PostgreSQL", lambda: connection.execute(raw).fetchall(), data, repeats, (20.0, 20.0))
        finally:
            connection.execute("DROP TABLE privet_held")


def on_spark(held, repeats):
    """A local Spark that reads a Parquet file."""
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "held.parquet")
        duckdb.connect().register("held", held).execute(f"COPY (SELECT * FROM held) TO '{path}' (FORMAT parquet)")
        frame = session.read.parquet(path)
        frame.createOrReplaceTempView("held")
        made = beside("Spark", lambda: session.sql(RAW).collect(), {"held": frame}, repeats, (1.3, 5.0))
    session.stop()
    return made


if __name__ == "__main__":
    main()

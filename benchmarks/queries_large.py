"""Tables that do not fit into memory: what a release from many Parquet files takes, in time, memory and disk.

`python benchmarks/queries_large.py FOLDER [--rows 1000000000] [--persons 10000000] [--files 40] [--memory 3GB]
[--ask rows persons cancel]`. The files are made in the folder unless it has some, and stay there: a billion rows are 9 GB.
Each question is asked through `pv.Table` and a ledger by a process of its own, whose largest memory is then its own too:
a count and a mean in a thousand groups, of rows and of persons (five groups, three rows in each), and the latter again with
an interrupt in the middle. `spilled` is the most that lay in DuckDB's folder at once, looked at twice a second.
"""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import duckdb

import privet as pv
from privet._progress import listening

COLUMNS = {"grp": pv.Int(0, 999), "val": pv.Float(0, 100, tick=2.0**-10)}
UNITS = {"rows": pv.Rows(), "persons": pv.Person("person", max_groups=5, max_rows_per_group=3)}


def made(folder, rows, persons, files):
    """Files of one size: persons and groups as if drawn at random, values from 0 to 133."""
    engine, size = duckdb.connect(config={"memory_limit": "2GB"}), -(-rows // files)
    for place in range(files):
        part = (
            f"SELECT CAST(hash(range) % {persons} AS INTEGER) AS person, "
            "CAST(hash(range) // 7919 % 1000 AS SMALLINT) AS grp, "
            "CAST(hash(range) // 104729 % 4000000 AS FLOAT) / 30000 AS val "
            f"FROM range({place * size}, {min((place + 1) * size, rows)})"
        )
        engine.execute(f"COPY ({part}) TO '{folder}/part{place:03}.parquet' (FORMAT parquet)")


def asked(folder, unit, memory, cancel):
    """One release, and what it took; with `cancel` an interrupt comes at a tenth of it."""
    with tempfile.TemporaryDirectory() as spill:
        settings = {"memory_limit": memory, "temp_directory": spill}
        table = pv.Table(f"{folder}/*.parquet", columns=COLUMNS, unit=UNITS[unit], settings=settings)
        ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=10.0), unit=table.unit)
        seen, sizes, done = [], [0], threading.Event()

        def told(what, reached, total):
            seen.append((time.perf_counter(), reached))
            if cancel and reached >= total / 10 and len(seen) > 1:
                os.kill(os.getpid(), signal.SIGINT)

        def watch():
            while not done.wait(0.5):
                sizes.append(sum(each.stat().st_size for each in Path(spill).glob("*")))

        threading.Thread(target=watch, daemon=True).start()
        query = table.group_by("grp").agg(n=pv.count(), m=pv.mean("val"))
        begin, answer, cancelled = time.perf_counter(), None, None
        try:
            with listening(told):
                answer = ledger.release(query, epsilon=1.0)
        except KeyboardInterrupt:
            cancelled = time.perf_counter() - seen[-1][0]
        line = {"seconds": time.perf_counter() - begin, "cpu": time.process_time(), "steps": len(seen)}
        done.set()
    line |= {"GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, "spilled GB": max(sizes) / 1e9}
    line["epsilon spent"] = float(ledger.spent.epsilon)
    if answer is not None:
        line |= {"n": float(answer.value["n"].sum()), "m": float(answer.value["m"].mean())}
    return line | ({} if cancelled is None else {"seconds until cancelled": cancelled})


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--rows", type=int, default=10**9)
    arguments.add_argument("--persons", type=int, default=10**7)
    arguments.add_argument("--files", type=int, default=40)
    arguments.add_argument("--memory", default="3GB")
    arguments.add_argument("--ask", nargs="+", choices=(*UNITS, "cancel"), default=[*UNITS, "cancel"])
    arguments.add_argument("--here", action="store_true", help="in this process, and one question")
    chosen = arguments.parse_args()
    if chosen.here:
        (ask,) = chosen.ask
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background has none
        unit, cancel = ("persons", True) if ask == "cancel" else (ask, False)
        print(json.dumps(asked(chosen.folder, unit, chosen.memory, cancel)))
        return
    if not list(chosen.folder.glob("*.parquet")):
        made(chosen.folder, chosen.rows, chosen.persons, chosen.files)
    for ask in chosen.ask:
        command = [sys.executable, __file__, str(chosen.folder), "--memory", chosen.memory, "--here", "--ask", ask]
        line = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        told = ", ".join(f"{name} {value:,.2f}" for name, value in line.items())
        print(f"{ask}: {told}; load {os.getloadavg()[0]:.1f}", flush=True)


if __name__ == "__main__":
    main()

"""Synthesizers: error, processor time and memory on public tables, beside targets, baselines and, if asked for, mbi.

`python benchmarks/synth.py [--quick] [--only PART ...] [--mbi PYTHON --scripts FOLDER]`, data under PRIVET_DATA. PYTHON is
an interpreter with mbi 2.0, FOLDER the `mechanisms` folder of its repository, whose scripts are not in the package. Every
part runs in a process of its own, on one thread; memory is its peak above what it held with imports and data loaded.
"""

import argparse
import contextlib
import gc
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from synth_data import ROOT, TABLES, chain

import privet as pv
from privet import noise, synth, workloads
from privet.tables import Coded
from privet.tables.data import drawn_salts

DELTA = 1e-9
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
MOST_CELLS = 10_000  # of a table whose distance is counted
SWEPT = {"adult-8": 3, "titanic": 3, "nist_taxi": 3, "nltcs": 3, "nist_acs": 2}  # columns of a table in the workload
MODELS = {"Independent": synth.Independent, "MST": synth.MST, "AIM": synth.AIM}


# --- what runs in a process of its own --------------------------------------------------------------------------------


def resident(key: str) -> float:
    """Megabytes of this process: `VmRSS` now, `VmHWM` at most since `fresh_peak`."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(float(line.split()[1]) / 1024 for line in lines if line.startswith(key))
    except OSError:  # elsewhere: the peak of the whole life
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def fresh_peak() -> None:
    """Let the peak start from now, where the system can do that."""
    gc.collect()
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def cliques_of(sizes: tuple[int, ...], way: int) -> list[tuple[int, ...]]:
    every = combinations(range(len(sizes)), way)
    return [each for each in every if np.prod([float(sizes[i]) for i in each]) <= MOST_CELLS]


def variation(one: np.ndarray, two: np.ndarray) -> float:
    return 0.5 * float(np.abs(one / one.sum() - two / two.sum()).sum())


def exact(table: pv.Table, coding: Any, way: int) -> dict[tuple[int, ...], np.ndarray]:
    cliques = cliques_of(coding.sizes, way)
    return dict(
        zip(cliques, table.data.exact_marginals(Coded(table.rows, coding), cliques, drawn_salts()), strict=True)
    )


def fits(table: str, model: str, epsilon: float, seeds: int, ways: list[int], options: dict[str, Any]) -> list[Any]:
    """A line for each seed: seconds, megabytes, and mean distances of the model's tables and of sampled rows."""
    private = TABLES[table]()
    made = MODELS[model](**options)
    truth = {way: exact(private, made.task(private).coded.coding, way) for way in ways}
    made.plan(private, epsilon=epsilon, delta=DELTA)  # accountants keep what they have worked out
    found = []
    for seed in range(seeds):
        fresh_peak()
        before, start = resident("VmRSS"), time.process_time()
        fitted = made.fit(private, epsilon=epsilon, delta=DELTA, source=noise.Seeded(seed))
        fit = time.process_time() - start
        rows = fitted.sample(source=noise.Seeded(1000 + seed))
        line = {
            "fit": fit, "all": time.process_time() - start, "mb": resident("VmHWM") - before,
            "model_mb": 8 * fitted.cells / 2**20, "rounds": len(fitted.measurements) - len(fitted.coding.sizes),
        }  # fmt: skip
        for way in ways:
            line[f"rows{way}"] = synth.exact_distances(rows, private, way=way, most_cells=MOST_CELLS).mean
            line[f"model{way}"] = float(np.mean([variation(fitted.table(c), t) for c, t in truth[way].items()]))
        found.append(line)
    return found


def noisy_tables(table: str, epsilon: float, seeds: int, way: int, bins: int = 32) -> list[Any]:
    """The baseline: normal noise on the whole workload by residual tables; what is below 0 is cut, which helps it."""
    private = TABLES[table]()
    coding = synth.MST(bins=bins).task(private).coded.coding
    truth, found = exact(private, coding, way), []
    asked = workloads.Marginals(coding.sizes, tuple(truth))
    plan = workloads.LinearQueries.for_budget(
        workload=asked, strategy=workloads.ResidualTables(), epsilon=epsilon, delta=DELTA
    )
    flat = np.concatenate([each.reshape(-1) for each in truth.values()])
    for seed in range(seeds):
        start = time.process_time()
        answers = plan.release(flat, source=noise.Seeded(seed)).value
        tables = {each: np.maximum(answers.design.table(answers.measured, each), 0.0) for each in truth}
        spent = time.process_time() - start
        far = [variation(each if each.sum() else np.ones(each.shape), truth[c]) for c, each in tables.items()]
        found.append({"all": spent, f"model{way}": float(np.mean(far))})
    return found


def small_db(m: int, values: int, queries: int) -> list[Any]:
    """All databases of m rows over so many values, scored and one of them chosen."""
    rng = np.random.default_rng(0)
    private = pv.Table({"a": rng.integers(0, values, 10_000)}, columns={"a": pv.Int(0, values - 1)})
    asked = [synth.LinearQuery(np.arange(values) <= last) for last in range(queries)]
    made = synth.SmallDB(queries=asked, m=m, rows=10_000)
    plan = made.plan(private, epsilon=1.0)
    fresh_peak()
    before, start = resident("VmRSS"), time.process_time()
    made.fit(private, epsilon=1.0, source=noise.Seeded(0))
    return [{"databases": plan.databases, "fit": time.process_time() - start, "mb": resident("VmHWM") - before}]


def growth(shapes: list[list[int]], model: str) -> list[Any]:
    """Processor seconds by rows, columns and values of a column."""
    found = []
    for rows, columns, size in shapes:
        private, made = chain(rows, columns, size), MODELS[model](**({"workload": 2} if model == "AIM" else {}))
        fresh_peak()
        before, start = resident("VmRSS"), time.process_time()
        made.fit(private, epsilon=1.0, delta=DELTA, source=noise.Seeded(0))
        spent = time.process_time() - start
        found.append({"shape": [rows, columns, size], "fit": spent, "mb": resident("VmHWM") - before})
    return found


def parquet(rows: int) -> list[Any]:
    """A fit to a file that is never loaded: DuckDB counts, and the model sees tables of counts."""
    import duckdb

    sizes = {"a": 5, "b": 8, "c": 4, "d": 3, "e": 10}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.parquet"
        base = "CAST(hash(i) % 5 AS TINYINT) a"
        rest = "CAST((hash(i) % 5 + hash(i + 1) % 4) AS TINYINT) b, CAST(hash(i) // 64 % 4 AS TINYINT) c"
        last = "CAST(hash(i) // 4096 % 3 AS TINYINT) d, CAST(hash(i) % 5 + hash(i) // 64 % 4 AS TINYINT) e"
        made = f"SELECT {base}, {rest}, {last} FROM range({rows}) t(i)"
        connection = duckdb.connect(config={"threads": 1})
        connection.execute(f"COPY ({made}) TO '{file}' (FORMAT parquet)")
        connection.close()
        private = pv.Table(str(file), columns={name: pv.Int(0, size - 1) for name, size in sizes.items()})
        mst = synth.MST()
        mst.plan(private, epsilon=1.0, delta=DELTA)
        fresh_peak()
        before, start, wall = resident("VmRSS"), time.process_time(), time.monotonic()
        fitted = mst.fit(private, epsilon=1.0, delta=DELTA, source=noise.Seeded(0))
        spent, waited = time.process_time() - start, time.monotonic() - wall
        peak, bytes_ = resident("VmHWM") - before, file.stat().st_size
    return [{"rows": rows, "fit": spent, "wall": waited, "mb": peak, "file_mb": bytes_ / 2**20, "total": fitted.total}]


JOBS = {each.__name__: each for each in (fits, noisy_tables, small_db, growth, parquet)}


def apart(job: str, **given: Any) -> list[Any]:
    """A job in a process of its own, which ends with all it held."""
    command = [sys.executable, __file__, "--job", json.dumps([job, given])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=os.environ | ONE_THREAD)
    return json.loads(done.stdout.strip().splitlines()[-1])


# --- mbi --------------------------------------------------------------------------------------------------------------

PEER = """
import json, resource, sys, time, warnings
warnings.simplefilter("ignore")
facts = json.loads(sys.argv[1])
sys.path.insert(0, facts["scripts"])
from itertools import combinations
from mbi import Dataset, Domain, estimation
import numpy as np
import pandas as pd
plain = estimation.MirrorDescent.estimate
def capped(self, *given, iters=facts["steps"], potentials=None, **named):  # as many steps as ours at most, not 10,000
    start = {} if potentials is None else {"warm_start": potentials}  # as the keyword is called since 2.0
    return plain(self, *given, iters=min(iters, facts["steps"]), **start, **named)
estimation.MirrorDescent.estimate = capped
frame = pd.read_csv(facts["data"])[facts["names"]]
rows = Dataset(frame.to_dict("list"), Domain(facts["names"], facts["sizes"]))
np.random.seed(facts["seed"])
held, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
if facts["model"] == "MST":
    import mst
    model, made = None, mst.MST(rows, facts["epsilon"], facts["delta"])
else:
    from aim import AIM
    cliques = list(combinations(facts["names"], 3))
    tool = AIM(facts["epsilon"], facts["delta"], max_model_size=facts["mb"], max_iters=facts["steps"])
    model, made = tool.run(rows, [(each, 1.0) for each in cliques])
spent, peak = time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
line = {"all": spent, "mb": (peak - held) / 1024}
for way in (2, 3) if model is not None else ():
    far = []
    for each in combinations(facts["names"], way):
        one, two = (np.asarray(table.project(each).datavector(), dtype=float) for table in (rows, model))
        far.append(0.5 * np.abs(one / one.sum() - two / two.sum()).sum())
    line[f"model{way}"] = float(np.mean(far))
codes = made.to_dict()
line["codes"] = [np.asarray(codes[name]).tolist() for name in facts["names"]]
print(json.dumps(line))
"""


def ending(code: int, stderr: str, limit: float) -> str:
    """Why a script of mbi ended without a result: its time was used up, another signal came, or an error of its own."""
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        if code == -signal.SIGXCPU or used.ru_utime + used.ru_stime >= limit:
            return f"not done after {limit:.0f} s of processor time"
    if code < 0:
        return f"ended by {signal.Signals(-code).name}, not by its limit of {limit:.0f} s"
    return (stderr.strip().splitlines() or [f"ended with {code} and no word"])[-1]


def peer(python: Path, scripts: Path, model: str, table: str, steps: int, limit: float) -> dict[str, Any]:
    """What a script of mbi makes of the same table, with distances as ours are counted."""
    private = TABLES[table]()
    coding = synth.MST().task(private).coded.coding
    facts = {
        "model": model, "scripts": str(scripts), "data": str(ROOT / "adult" / "adult_discrete.csv.gz"), "mb": 10.0,
        "names": list(coding.names), "sizes": list(coding.sizes), "steps": steps, "epsilon": 1.0, "delta": DELTA,
        "seed": 0,
    }  # fmt: skip
    try:
        done = subprocess.run(
            [str(python), "-c", PEER, json.dumps(facts)],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | ONE_THREAD,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5)),
        )
    except subprocess.CalledProcessError as problem:
        return {"model": model, "failed": ending(problem.returncode, problem.stderr, limit)}
    line = json.loads(done.stdout.strip().splitlines()[-1])
    rows = synth.SyntheticTable(coding, np.array(line.pop("codes")).T, {})
    for way in (1, 2, 3):
        line[f"rows{way}"] = synth.exact_distances(rows, private, way=way, most_cells=MOST_CELLS).mean
    return {"model": model, **line}


# --- tables on screen -------------------------------------------------------------------------------------------------


def middle(lines: list[Any], key: str) -> float:
    """The median over seeds; of memory the most, since later fits find room that earlier ones have left."""
    found = [line[key] for line in lines]
    return float(max(found) if key == "mb" else statistics.median(found))


def told(name: str, figures: dict[str, tuple[float, float | None]]) -> dict[str, Any]:
    """One row: every figure with its target and their ratio."""
    parts = []
    for key, (value, target) in figures.items():
        wish = "" if target is None else f" (target {target:g}, ratio {value / target:.2f})"
        parts.append(f"{key} {value:.4g}{wish}")
    print(f"{name}: {'; '.join(parts)}", flush=True)
    return {"name": name, **{key: value for key, (value, _) in figures.items()}}


def part_mst(seeds: int) -> list[Any]:
    lines = apart("fits", table="adult", model="MST", epsilon=1.0, seeds=seeds, ways=[1, 2, 3], options={})
    targets = {"rows1": 0.0087, "rows2": 0.053, "rows3": 0.097, "all": 2.0, "mb": 100.0}
    return [
        told("MST, adult, 14 columns, epsilon 1", {key: (middle(lines, key), wish) for key, wish in targets.items()})
    ]


def part_aim(seeds: int) -> list[Any]:
    found = []
    for epsilon, many, targets in (
        (1.0, seeds, {"model2": 0.0115, "model3": 0.03, "fit": 12.0, "rows2": 0.014, "rows3": 0.035, "all": 25.0}),
        (0.1, seeds, {"model2": None, "model3": 0.107, "rows3": None, "all": None}),
        (10.0, 1, {"model2": None, "model3": None, "rows3": None, "all": 120.0}),
    ):
        lines = apart("fits", table="adult-8", model="AIM", epsilon=epsilon, seeds=many, ways=[2, 3], options={})
        keys = {**targets, "rounds": None, "model_mb": None, "mb": 110.0}
        figures = {key: (middle(lines, key), wish) for key, wish in keys.items()}
        found.append(told(f"AIM, adult, 8 columns, all 3-ways, epsilon {epsilon:g}", figures))
    return found


def part_sweep(seeds: int, tables: list[str] | None = None, epsilons: list[float] | None = None) -> list[Any]:
    """Error by epsilon beside both baselines, on the workload of all tables of two or three columns; of AIM also that of
    rows, which are drawn from its graph alone, and its processor seconds."""
    found = []
    for table, way in SWEPT.items():
        if tables is not None and table not in tables:
            continue
        for epsilon in epsilons or (0.01, 0.1, 1.0, 10.0, 100.0):
            figures: dict[str, tuple[float, float | None]] = {}
            for model in MODELS:
                options: dict[str, Any] = {"bins": 16} if table == "nist_acs" else {}
                if model == "AIM":  # a small model, so that all of it ends soon
                    options |= {"max_bytes": 2**20, "workload": way}
                given = {"table": table, "model": model, "epsilon": epsilon, "options": options}
                lines = apart("fits", seeds=seeds, ways=[way], **given)
                figures[model] = middle(lines, f"model{way}"), None
                if model == "AIM":
                    more = {"rows": f"rows{way}", "seconds": "fit", "megabytes": "mb"}
                    figures |= {f"AIM, {name}": (middle(lines, key), None) for name, key in more.items()}
            bins = 16 if table == "nist_acs" else 32
            baseline = apart("noisy_tables", table=table, epsilon=epsilon, seeds=seeds, way=way, bins=bins)
            figures["residual tables"] = middle(baseline, f"model{way}"), None
            found.append(told(f"{way}-way distance, {table}, epsilon {epsilon:g}", figures))
    return found


def part_others(seeds: int) -> list[Any]:
    found = []
    for table in ("nltcs", "titanic", "nist_taxi", "nist_acs"):
        for model in MODELS:
            options: dict[str, Any] = {"bins": 16} if table == "nist_acs" else {}
            wide = table == "nist_acs"
            if model == "AIM":
                options |= {"workload": 2 if wide else 3, "max_bytes": 2**20}
            if model == "AIM" and wide:
                options["columns"] = [name for name in TABLES[table]().columns if name != "INDP"]
            given = {"table": table, "model": model, "epsilon": 1.0, "options": options}
            lines = apart("fits", seeds=1, ways=[2] if wide else [2, 3], **given)
            keys = ["rows2", *([] if wide else ["rows3"]), "all", "model_mb", "mb"]
            found.append(told(f"{model}, {table}, epsilon 1", {key: (middle(lines, key), None) for key in keys}))
    return found


def part_small_db(seeds: int) -> list[Any]:
    (line,) = apart("small_db", m=6, values=27, queries=26)  # C(32, 6) = 906,192
    (more,) = apart("small_db", m=5, values=40, queries=39)  # C(44, 5) = 1,086,008
    return [
        told(f"SmallDB, {each['databases']:,} databases", {"fit": (each["fit"], 5.0), "mb": (each["mb"], None)})
        for each in (line, more)
    ]


def part_growth(seeds: int) -> list[Any]:
    found = []
    for what, shapes in {
        "rows": [[10**4, 8, 8], [10**5, 8, 8], [10**6, 8, 8]],
        "columns": [[10**4, 8, 4], [10**4, 32, 4], [10**4, 100, 4]],
        "values": [[10**5, 6, 4], [10**5, 6, 32], [10**5, 6, 256]],
    }.items():
        for line in apart("growth", shapes=shapes, model="MST"):
            rows, columns, size = line["shape"]
            name = f"MST by {what}: {rows:,} rows, {columns} columns of {size} values"
            found.append(told(name, {"fit": (line["fit"], None), "mb": (line["mb"], None)}))
    return found


def part_parquet(seeds: int) -> list[Any]:
    (line,) = apart("parquet", rows=10**8 if seeds > 1 else 10**6)
    figures = {key: (line[key], None) for key in ("fit", "wall", "mb", "file_mb", "total")}
    return [told(f"MST, {line['rows']:,} rows of Parquet through DuckDB, 5 columns", figures)]


def part_mbi(
    python: Path, scripts: Path, limit: float, models: list[str], most_steps: int | None, aim_table: str
) -> list[Any]:
    found = []
    for model, table, steps in (("MST", "adult", 500), ("AIM", aim_table, 100)):
        if model not in models:
            continue
        steps = most_steps or steps
        options = {"steps": steps}
        (mine,) = apart("fits", table=table, model=model, epsilon=1.0, seeds=1, ways=[1, 2, 3], options=options)
        theirs = peer(python, scripts, model, table, steps, limit)
        if "failed" in theirs:
            print(f"{model} of mbi, {table}: {theirs['failed']}", flush=True)
        else:
            keys = [key for key in ("model2", "model3", "rows1", "rows2", "rows3", "all", "mb") if key in theirs]
            told(f"{model} of mbi, {table}, {steps} steps", {key: (theirs[key], None) for key in keys})
            told(f"{model} of ours, {table}, {steps} steps", {key: (mine[key], None) for key in keys})
            print(f"  processor time of mbi over ours {theirs['all'] / mine['all']:.1f}", flush=True)
        found.append({"ours": mine, "mbi": theirs})
    return found


PARTS = {
    "mst": part_mst, "aim": part_aim, "small_db": part_small_db, "others": part_others, "growth": part_growth,
    "sweep": part_sweep, "parquet": part_parquet,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one seed, a million rows of Parquet")
    parser.add_argument("--only", nargs="+", choices=[*PARTS, "mbi"], help="these parts alone")
    parser.add_argument("--mbi", type=Path, help="an interpreter with mbi 2.0, networkx and matplotlib")
    parser.add_argument("--scripts", type=Path, help="the folder `mechanisms` of mbi's repository")
    parser.add_argument("--tables", nargs="+", choices=list(SWEPT), help="those that sweep looks at; all, if not given")
    parser.add_argument("--epsilons", nargs="+", type=float, help="those that sweep looks at")
    parser.add_argument("--seeds", type=int, help="in the place of 5, or of 1 with --quick")
    parser.add_argument("--models", nargs="+", default=["MST", "AIM"], help="those that are run beside mbi")
    parser.add_argument("--steps", type=int, help="of a fit of mbi at most, and of ours beside it")
    parser.add_argument("--aim-table", default="adult-8", choices=["adult-5", "adult-8"], help="of AIM beside mbi's")
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds of processor time for one script of mbi")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        name, given = json.loads(options.job)
        print(json.dumps(JOBS[name](**given)))
        return
    seeds, found = options.seeds or (1 if options.quick else 5), {}
    for name in options.only or PARTS:
        if name == "sweep":
            found[name] = part_sweep(min(seeds, 3), options.tables, options.epsilons)
        elif name != "mbi":
            found[name] = PARTS[name](seeds)
    if options.mbi and (not options.only or "mbi" in options.only):
        found["mbi"] = part_mbi(
            options.mbi, options.scripts or Path(), options.limit, options.models, options.steps, options.aim_table
        )
    folder = Path(__file__).parent / "results"
    folder.mkdir(exist_ok=True)
    (folder / "synth.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()

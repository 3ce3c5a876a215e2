"""The ledger: durable spends beside a bare commit of one row, reservations in memory beside OpenDP's filter, reading.

Durable rows alternate a handful of commits of each kind on the same disk, so that both meet the same weather; the ratio
is the result. Everything else is CPU time, the best of a few rounds. `--beside SRC` measures the `src` folder of another
checkout in the same way, from a process of its own, in turn with this one.
"""

import json
import multiprocessing
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402
import opendp.prelude as dp  # noqa: E402

import privet as pv  # noqa: E402
from privet.ledger import Ledger  # noqa: E402
from privet.mechanisms import Release  # noqa: E402
from privet.privacy import GaussianLoss, LaplaceLoss, PureLoss  # noqa: E402

LOSS = PureLoss(1e-5)
BUDGET = pv.Budget(30.0, 1e-6)
ENTRIES = 100_000


@dataclass
class Row:
    """One line: what was done, our figure, the peer's, the target, in the unit of the line."""

    task: str
    ours: float
    unit: str
    peer: float | None = None
    peer_is: str = ""
    target: str = ""
    met: bool | None = None

    @property
    def ratio(self) -> float | None:
        return None if self.peer is None else self.peer / self.ours


def best(action: Callable[[], object], rounds: int = 5) -> float:
    """Least CPU time in milliseconds."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return 1e3 * min(times)


def wall(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def durable_rows(folder: Path) -> list[Row]:
    bare = sqlite3.connect(folder / "bare.db", isolation_level=None)
    for pragma in ("journal_mode = WAL", "synchronous = FULL"):
        bare.execute(f"PRAGMA {pragma}")
    bare.execute("CREATE TABLE row (id INTEGER PRIMARY KEY, text TEXT)")
    ledger = Ledger.create(folder / "durable.ledger", budget=BUDGET)
    coin = Coin()
    ledger.reserve(LOSS)
    times: dict[str, list[float]] = {"bare": [], "reserve": [], "release": []}
    for _ in range(60):
        times["bare"] += [wall(lambda: bare.execute("INSERT INTO row (text) VALUES ('one row')")) for _ in range(5)]
        times["reserve"] += [wall(lambda: ledger.reserve(LOSS)) for _ in range(5)]
        times["release"] += [wall(lambda: ledger.release(coin, 0)) for _ in range(2)]
    rate = {name: 1.0 / statistics.median(found) for name, found in times.items()}
    batch = wall(lambda: ledger.reserve_many([LOSS] * 1000))
    bare.close()
    shown = f">= 400/s and >= 0.8 of bare: {rate['reserve'] / rate['bare']:.2f}"
    met = rate["reserve"] >= 400.0 and rate["reserve"] >= 0.8 * rate["bare"]
    return [
        Row("durable reserve, SQLite", rate["reserve"], "per s", rate["bare"], "bare commit of a row", shown, met),
        Row("durable release, SQLite", rate["release"], "per s", rate["bare"], "bare commit of a row"),
        Row("reserve_many of 1,000, one commit", 1e3 * batch, "ms"),
    ]


WORKER = """
import sys, time
import privet as pv
from privet.privacy import PureLoss
begin = getattr(pv.Ledger, "create", pv.Ledger.open)
ledger, loss = begin(sys.argv[1], budget=pv.Budget(30.0, 1e-6)), PureLoss(1e-5)
print("ready", flush=True)
for line in sys.stdin:
    start = time.perf_counter()
    for _ in range(int(line)):
        ledger.reserve(loss)
    print(time.perf_counter() - start, flush=True)
"""


def beside_rows(folder: Path, other: str) -> list[Row]:
    """Durable reservations of two checkouts, in turns of twenty."""
    here = str(Path(__file__).resolve().parent.parent / "src")
    workers = []
    for number, source in enumerate((here, other)):
        command = [sys.executable, "-c", WORKER, str(folder / f"beside-{number}.ledger")]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        workers.append(subprocess.Popen(command, env={**os.environ, "PYTHONPATH": source}, **pipes))  # type: ignore[call-overload]
        assert workers[-1].stdout.readline() == "ready\n"
    times: list[list[float]] = [[], []]
    for _ in range(100):
        for worker, found in zip(workers, times, strict=True):
            worker.stdin.write("20\n")
            worker.stdin.flush()
            found.append(float(worker.stdout.readline()) / 20)
    for worker in workers:
        worker.stdin.close()
        worker.wait()
    ours, theirs = (1.0 / statistics.median(found) for found in times)
    total = [1.0 / statistics.mean(found) for found in times]
    shown = f">= beside it (mean rates {total[0]:.0f} and {total[1]:.0f})"
    return [Row("durable reserve, beside another checkout", ours, "per s", theirs, "the other", shown, ours >= theirs)]


def wait_rows(folder: Path, seconds: float = 10.0) -> list[Row]:
    """Eight processes reserve as fast as they can: the longest that one of them waited."""
    path = folder / "waits.ledger"
    Ledger.create(path, budget=BUDGET).close()
    context = multiprocessing.get_context("fork")
    barrier, worst, count = context.Barrier(8), context.Array("d", 8), context.Array("i", 8)

    def work(number: int) -> None:
        ledger = Ledger.open(path)
        ledger.reserve(LOSS)
        barrier.wait()
        end = time.monotonic() + seconds
        while (start := time.monotonic()) < end:
            ledger.reserve(LOSS)
            worst[number] = max(worst[number], time.monotonic() - start)
            count[number] += 1

    workers = [context.Process(target=work, args=(number,)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    shares = f"<= 200 ms; grants per process {min(count)} to {max(count)}"
    return [
        Row("worst wait of 8 writers", 1e3 * max(worst), "ms", target=shares, met=max(worst) <= 0.2),
        Row("durable reserves of 8 writers together", sum(count) / seconds, "per s"),
    ]


@dataclass(frozen=True)
class Coin:
    """A mechanism that takes no time."""

    loss: PureLoss = LOSS

    def release(self, data: object) -> Release[int]:
        return Release(7, loss=self.loss, mechanism="coin")

    def to_dict(self) -> dict[str, str]:
        return {"mechanism": "coin"}


def memory_rows() -> list[Row]:
    def ours(count: int) -> float:
        def spend() -> None:
            for _ in range(count):
                ledger.reserve(LOSS)

        found = []
        for _ in range(5):
            ledger = Ledger.create("memory:", budget=BUDGET)
            found.append(best(spend, 1))
        return min(found)

    small, large = ours(1000), ours(4000)
    peer = best(lambda: opendp_filter(1000), 1)
    grows = f"<= 20 ms, linear (4,000 cost {large / small:.1f} times as much)"
    return [
        Row("1,000 reservations in memory", small, "ms", peer, "OpenDP filter, noise included", grows, small <= 20.0)
    ]


def opendp_filter(count: int) -> None:
    """A fully adaptive filter over Laplace counts, as OpenDP offers it."""
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    odometer = dp.c.make_fully_adaptive_composition(*space, output_measure=dp.max_divergence())
    queryable = dp.c.make_privacy_filter(odometer, d_in=1, d_out=30.0)([1, 2, 3])
    counting = space >> dp.t.then_count() >> dp.m.then_laplace(1e5)
    for _ in range(count):
        queryable(counting)


def reading_rows(folder: Path) -> list[Row]:
    """A ledger of 100,000 entries of a dozen kinds of loss."""
    losses = [LaplaceLoss(500.0 + i) for i in range(6)] + [GaussianLoss(500.0 + i) for i in range(5)] + [LOSS]
    path = folder / "long.ledger"
    ledger = Ledger.create(path, budget=pv.Budget(rho=1e6))
    for _ in range(ENTRIES // 1000):
        ledger.reserve_many([losses[i % len(losses)] for i in range(1000)])
    made = ledger.release(Coin(), 0, key="k")
    assert ledger.release(Coin(), 0, key="k").value == made.value
    replay = best(lambda: ledger.release(Coin(), 0, key="k"), 50)
    ledger.close()
    size = path.stat().st_size / (ENTRIES + 3)
    opening = best(lambda: Ledger.open(path).close(), 20)
    verifying = best(lambda: Ledger.open(path).verify(), 2)
    totalling = best(lambda: Ledger.open(path).total(delta=1e-6), 2)
    blocked = slowest_while_verifying(path)
    warm = Ledger.open(path)
    warm.total(delta=1e-6)
    again = best(lambda: (warm.reserve(LOSS), warm.total(delta=1e-6)), 3)
    return [
        Row("open a ledger of 1e5 entries", opening, "ms", target="<= 50 ms", met=opening <= 50.0),
        Row("verify 1e5 entries", verifying, "ms", target="<= 2,000 ms", met=verifying <= 2000.0),
        Row("slowest reserve while 1e5 entries are verified", blocked, "ms"),
        Row("size of an entry", size / 1000.0, "KB", target="<= 1.2 KB", met=size <= 1200.0),
        Row("total of 1e5 entries, from scratch", totalling, "ms", target="<= 1,000 ms", met=totalling <= 1000.0),
        Row("one more reservation, then the total", again, "ms"),
        Row("replay of a stored release", replay, "ms", target="<= 2 ms", met=replay <= 2.0),
    ]


@dataclass(frozen=True)
class Says(Coin):
    """A mechanism that releases an array of `size` numbers, each time another one."""

    size: int = 1_000_000
    number: int = 0

    def release(self, data: object) -> Release[np.ndarray]:
        return Release(np.full(self.size, float(self.number)), loss=self.loss, mechanism="says")

    def to_dict(self) -> dict[str, str]:
        return {"mechanism": "says", "size": str(self.size), "number": str(self.number)}


def value_rows(folder: Path, many: int = 1000) -> list[Row]:
    """Large values: a thousand of 8 MB beside a ledger, and the replay of one of 100 MB."""
    path = folder / "values.ledger"
    ledger = Ledger.create(path, budget=BUDGET)
    for number in range(many):
        ledger.release(Says(number=number), 0)
    large = Says(size=12_500_000)
    made = ledger.release(large, 0, key="large")
    again = best(lambda: ledger.release(large, 0, key="large"), 3)
    assert ledger.release(large, 0, key="large").value[-1] == made.value[-1]
    ledger.close()
    opening = best(lambda: Ledger.open(path).close(), 20)
    showing = best(lambda: pv.report.ledger_status(Ledger.open(path)), 3)
    return [
        Row(f"open a ledger of {many:,} values of 8 MB", opening, "ms", target="<= 50 ms", met=opening <= 50.0),
        Row("show it", showing, "ms"),
        Row("replay of a value of 100 MB", again, "ms", target="<= 1,000 ms", met=again <= 1000.0),
    ]


def run_rows(folder: Path) -> list[Row]:
    """Marking slices, beside reserving as often."""
    ledger = Ledger.create(folder / "run.ledger", budget=BUDGET)
    run = ledger.start([LOSS] * 10_000, key="run")
    times: dict[str, list[float]] = {"begin": [], "reserve": []}
    for _ in range(40):
        times["begin"] += [wall(run.begin) for _ in range(5)]
        times["reserve"] += [wall(lambda: ledger.reserve(LOSS)) for _ in range(5)]
    rate = {name: 1.0 / statistics.median(found) for name, found in times.items()}
    return [Row("durable marks of slices", rate["begin"], "per s", rate["reserve"], "durable reserve")]


def slowest_while_verifying(path: Path) -> float:
    """Milliseconds; another thread of the process verifies meanwhile."""
    reader, writer = Ledger.open(path), Ledger.open(path)
    thread = threading.Thread(target=reader.verify)
    slowest = 0.0
    thread.start()
    while thread.is_alive():
        slowest = max(slowest, wall(lambda: writer.reserve(LOSS)))
    thread.join()
    return 1e3 * slowest


def charging_rows() -> list[Row]:
    """How much more noise 100 adaptive releases need than 100 that are fixed in advance, under (1, 1e-6) and (3, 1e-6)."""
    from privet import accounting
    from privet.accounting.filters import SlotsFilter, basic_or_zcdp, basic_zcdp_or_gdp
    from privet.privacy import GaussianLoss, LaplaceLoss, Repeated

    def needed(fits: Callable[[float], bool], low: float, high: float) -> float:
        for _ in range(40):
            middle = (low + high) / 2.0
            low, high = (low, middle) if fits(middle) else (middle, high)
        return high

    rows = []
    for epsilon in (1.0, 3.0):
        new, old = basic_zcdp_or_gdp(epsilon, delta=1e-6), basic_or_zcdp(epsilon, delta=1e-6)
        for name, loss, most in (("Gaussians", GaussianLoss, 0.045), ("Laplaces", LaplaceLoss, None)):
            fixed = needed(
                lambda x: accounting.epsilon(Repeated(loss(x), 100), delta=1e-6).upper <= epsilon,  # noqa: B023
                1.0,
                100.0,
            )
            extra = {
                which: 100.0 * (needed(lambda x: rule.start().what_fits(loss(x)) >= 100, 1.0, 100.0) / fixed - 1.0)  # noqa: B023
                for which, rule in (("new", new), ("old", old))
            }
            limit = 100.0 * most if most is not None else extra["old"] + 3.0
            task = f"noise above the fixed optimum, 100 {name} at ({epsilon:g}, 1e-6)"
            target = f"<= {limit:.1f} %"
            rows.append(Row(task, extra["new"], "%", extra["old"], "basic or zCDP", target, extra["new"] <= limit))
    slots = SlotsFilter.of(LaplaceLoss(41.5), 100, delta=1e-6)
    rows.append(
        Row(
            "epsilon of 100 Laplace slots of scale 41.5 at 1e-6",
            slots.epsilon,
            "",
            target="<= 1",
            met=slots.epsilon <= 1.0,
        )
    )
    return rows


def show(rows: list[Row]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="The ledger")
    for heading in ("task", "privet", "beside", "ratio", "target", "met"):
        table.add_column(heading, justify="right" if heading in ("privet", "ratio") else "left")
    for row in rows:
        ratio = row.ratio if row.unit == "ms" or row.ratio is None else 1.0 / row.ratio
        peer = "" if row.peer is None else f"{row.peer_is}: {row.peer:,.1f} {row.unit}"
        met = "" if row.met is None else ("yes" if row.met else "no")
        table.add_row(
            row.task, f"{row.ours:,.2f} {row.unit}", peer, "" if ratio is None else f"{ratio:.2f}", row.target, met
        )
    Console(width=170).print(table)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        other = sys.argv[sys.argv.index("--beside") + 1] if "--beside" in sys.argv else None
        rows = [] if other is None else beside_rows(Path(name), other)
        rows += [*durable_rows(Path(name)), *wait_rows(Path(name)), *memory_rows(), *reading_rows(Path(name))]
        rows += [*value_rows(Path(name)), *run_rows(Path(name)), *charging_rows()]
    show(rows)
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    lines = [{**asdict(row), "ratio": row.ratio} for row in rows]
    (results / "ledger.json").write_text(json.dumps(lines, indent=1) + "\n")
    sys.exit(0)


if __name__ == "__main__":
    main()

"""Local protocols: users per CPU second of perturbing and aggregating, with secure coins; peers in one run if asked for.

`python benchmarks/local.py [--peers PYTHON] [--n 1000000] [--errors]`, or with `--growth`, or with `--engine FOLDER`.
PYTHON is an interpreter with multi-freq-ldpy, pure-ldp (which needs statsmodels and scikit-learn) and xxhash < 4. Where
numba is installed (`privet[fast]`), hashed reports are counted with and without it. Time is
that of the processor, the best of `--repeats`. `--errors` adds the measured squared error of every protocol over its
formula, a mean of `--repeats` populations.
`--growth` has nanoseconds of the processor for each report as n and k grow. `--engine` writes a file of `--reports` k-RR
reports into a folder, counts it by one `GROUP BY` on DuckDB within 512 MB, and deletes it.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from privet import local
from privet.mechanisms import registered_mechanisms

K, EPSILON = 1024, 2.0
TARGETS = {
    "k-RR": 10e6, "Hadamard": 10e6, "optimised unary, packed": 300e3, "fast local hashing": 1e6,
    "optimised local hashing, aggregation": 80e3, "the same, with numba": 2e6, "subset selection": 0.0,
    "simulator, k-RR": 100e6, "simulator, unary": 100e6,
}  # fmt: skip


def per_second(work: Callable[[], object], users: int, repeats: int) -> float:
    """Users per second of the processor, the best of several runs."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return users / best


def both(protocol: local.FrequencyProtocol, values: np.ndarray) -> Callable[[], object]:
    return lambda: protocol.estimate(protocol.new_state().add(protocol.privatize(values)))


def numpy_krr(values: np.ndarray) -> None:
    """The same work in plain numpy with PCG64, which protects nobody."""
    rng, e = np.random.default_rng(), np.exp(EPSILON)
    other = rng.integers(0, K - 1, len(values), dtype=np.uint16)
    other += other >= values
    keep = rng.random(len(values), dtype=np.float32) < e / (e + K - 1)
    np.bincount(np.where(keep, values, other), minlength=K)


def ours(n: int, repeats: int) -> dict[str, float]:
    rng = np.random.default_rng(1)
    values = (rng.zipf(1.5, n) % K).astype(np.int64)
    counts, few = np.bincount(values, minlength=K), values[: n // 10]
    olh = local.OLH(k=K, epsilon=EPSILON)
    reports = olh.privatize(few)
    krr, unary = local.KRR(k=K, epsilon=EPSILON), local.UnaryEncoding(k=K, epsilon=EPSILON)
    subset = local.SubsetSelection(k=K, epsilon=EPSILON)
    for protocol in (krr, unary):
        protocol.simulate_counts(counts)  # tables of the binomial law are made once
    work = {
        "k-RR": (both(krr, values), n),
        "k-RR, plain numpy": (lambda: numpy_krr(values.astype(np.uint16)), n),
        "Hadamard": (both(local.HadamardResponse(k=K, epsilon=EPSILON), values), n),
        "optimised unary, packed": (both(unary, few), len(few)),
        "fast local hashing": (both(local.FLH(k=K, epsilon=EPSILON), values), n),
        "optimised local hashing, aggregation": (lambda: in_batches(olh, reports), len(few)),
        "the same, with numba": (lambda: olh.new_state().add(reports), len(few)),  # one batch: worth compiling
        "subset selection": (both(subset, few[: n // 100]), n // 100),
        "simulator, k-RR": (lambda: krr.simulate_counts(counts), n),
        "simulator, unary": (lambda: unary.simulate_counts(counts), n),
    }
    if find_spec("numba") is None:
        del work["the same, with numba"]
    return {name: per_second(run, users, repeats) for name, (run, users) in work.items()}


def in_batches(protocol: local.OLH, reports: np.ndarray) -> None:
    """Batches that are too small to be worth compiling: numpy counts them."""
    state = protocol.new_state()
    for start in range(0, len(reports), 2**15):
        state.add(reports[start : start + 2**15])


def errors(n: int, repeats: int) -> dict[str, float]:
    """The mean squared error of all shares over what `squared_error` says, for every registered protocol."""
    found = {}
    for name, kind in registered_mechanisms().items():
        if issubclass(kind, local.FrequencyProtocol) and kind is not local.Warner:
            k = 256 if kind is local.RAPPOR else K
            weights = np.arange(1, k + 1) ** -1.1
            people = np.floor(n * weights / weights.sum()).astype(np.int64)
            protocol, total = kind(k=k, epsilon=EPSILON), int(people.sum())
            seen = [
                np.mean((protocol.estimate(protocol.simulate_counts(people)).raw - people / total) ** 2)
                for _ in range(repeats)
            ]
            found[f"error of {name}"] = float(np.mean(seen) / np.mean(protocol.squared_error(people / total, n=total)))
    return found


def growth(repeats: int) -> dict[str, float]:
    """Nanoseconds of the processor for each report: perturbing, aggregating and estimating k values."""
    found = {}
    kinds = (local.KRR, local.HadamardResponse, local.FLH, local.UnaryEncoding, local.SubsetSelection, local.OLH)
    for kind in kinds:
        heavy = kind in (local.UnaryEncoding, local.SubsetSelection, local.OLH)  # work for every value
        for n, k in ((10_000, 1024), (100_000, 1024), (1_000_000, 1024), (100_000, 64), (100_000, 16_384)):
            people = n // 10 if heavy else n
            protocol, values = kind(k=k, epsilon=EPSILON), np.arange(people) % k
            found[f"{kind.__name__}, n = {people:,}, k = {k:,}"] = 1e9 / per_second(
                both(protocol, values), people, repeats
            )
    return found


def engine(folder: Path, reports: int) -> dict[str, float]:
    """One GROUP BY over a generated file, in a process of its own: seconds of the processor and its largest memory."""
    import duckdb

    path = folder / "reports.parquet"
    protocol = local.KRR(k=K, epsilon=EPSILON)
    kept = float(protocol.own - protocol.other)  # everybody holds value 7
    lies = f"CAST(CASE WHEN random() < {kept} THEN 7 ELSE floor(random() * {K}) END AS USMALLINT)"
    duckdb.sql(f"COPY (SELECT {lies} AS report FROM range({reports})) TO '{path}' (FORMAT parquet)")
    try:
        done = subprocess.run(
            [sys.executable, "-c", COUNT.format(path=path)], capture_output=True, text=True, check=True
        )
        return {
            "reports": float(reports),
            "file, MB": path.stat().st_size / 1e6,
            **json.loads(done.stdout.splitlines()[-1]),
        }
    finally:
        path.unlink()


COUNT = """
import json, resource, time
import duckdb
from privet import local
protocol = local.KRR(k=1024, epsilon=2.0)
connection = duckdb.connect(config={{"memory_limit": "512MB"}})
start = time.process_time()
rows = connection.sql(local.counting_sql(protocol, table="reports").replace("FROM reports", "FROM '{path}'")).fetchall()
state = local.state_of_rows(protocol, rows)
spent = time.process_time() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
told = {{"counted": float(state.n), "seconds": spent, "peak, MiB": peak, "state, KiB": state.table.nbytes / 1024}}
print(json.dumps(told | {{"share of value 7": float(protocol.estimate(state).raw[7])}}))
"""

PEER = """
import json, time, warnings
import numpy as np
warnings.simplefilter("ignore")
K, E, N = 1024, 2.0, {n}
values = np.random.default_rng(1).integers(0, K, N)
found = {{}}
def rate(name, work, users):
    work(values[:20])  # whatever is compiled is compiled now
    start = time.process_time()
    work(values[:users])
    found[name] = users / (time.process_time() - start)
try:
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client, GRR_Aggregator_MI
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client, UE_Aggregator_MI
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client, LH_Aggregator_MI
    rate("k-RR, multi-freq-ldpy", lambda d: GRR_Aggregator_MI([GRR_Client(v, K, E) for v in d], K, E), N)
    work = lambda d: UE_Aggregator_MI([UE_Client(v, K, E, True) for v in d], E, True)
    rate("optimised unary, multi-freq-ldpy", work, N // 10)
    work = lambda d: LH_Aggregator_MI([LH_Client(v, K, E, True) for v in d], K, E, True)
    rate("optimised local hashing, multi-freq-ldpy", work, 1000)
except Exception as problem:
    found["multi-freq-ldpy"] = repr(problem)
try:
    from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
    from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer
    from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer
    def through(client, server, data):
        for v in data:
            server.aggregate(client.privatise(int(v) + 1))
        return server.estimate_all(range(1, K + 1), suppress_warnings=True)
    rate("k-RR, pure-ldp", lambda d: through(DEClient(E, K), DEServer(E, K), d), N)
    server = HadamardResponseServer(E, K)
    work = lambda d: through(HadamardResponseClient(E, K, server.get_hash_funcs()), server, d)
    rate("Hadamard, pure-ldp", work, N // 10)
    work = lambda d: through(UEClient(E, K, use_oue=True), UEServer(E, K, use_oue=True), d)
    rate("optimised unary, pure-ldp", work, N // 10)
    from pure_ldp.frequency_oracles.local_hashing import FastLHClient, FastLHServer
    server = FastLHServer(E, K, 1000, use_olh=True)  # its table of hashes is made before the clock runs
    work = lambda d: through(FastLHClient(E, K, 1000, use_olh=True), server, d)
    rate("fast local hashing, pure-ldp", work, N // 10)
except Exception as problem:
    found["pure-ldp"] = repr(problem)
print(json.dumps(found))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peers", type=Path, help="an interpreter with multi-freq-ldpy, pure-ldp and xxhash < 4")
    parser.add_argument("--errors", action="store_true", help="measured squared errors over their formulas")
    parser.add_argument("--growth", action="store_true", help="time for each report as n and k grow, and nothing else")
    parser.add_argument(
        "--engine", type=Path, metavar="FOLDER", help="one GROUP BY over a file there, and nothing else"
    )
    parser.add_argument("--reports", type=int, default=100_000_000, help="of --engine: a gigabyte for 1e9")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.growth or options.engine:
        part = growth(options.repeats) if options.growth else engine(options.engine, options.reports)
        for name, number in part.items():
            print(f"{name:45}{number:20,.1f}{' ns a report' if options.growth else ''}")
        return
    found: dict[str, float] = ours(options.n, options.repeats)
    if options.peers:
        code = PEER.format(n=min(options.n, 100_000))
        done = subprocess.run([options.peers, "-c", code], capture_output=True, text=True, check=True)
        found |= json.loads(done.stdout.strip().splitlines()[-1])
    measured = errors(options.n, options.repeats) if options.errors else {}
    if options.json:
        print(json.dumps(found | measured, indent=1))
        return
    print(f"k = {K}, epsilon = {EPSILON}, n = {options.n}: users per second of the processor")
    for name, rate in found.items():
        told = f"{rate:14,.0f}" if isinstance(rate, float) else f"  {rate}"
        target = TARGETS.get(name, 0.0)
        print(f"{name:45}{told}{f'   (target {target:,.0f})' if target else ''}")
    for name, ratio in measured.items():
        print(f"{name:45}{ratio:14.3f} of its formula")


if __name__ == "__main__":
    main()

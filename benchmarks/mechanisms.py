"""Mechanisms as a user meets them: do the bars cover, does the time tell a value, what does a release cost?

    python benchmarks/mechanisms.py [--quick] [--only coverage,persons,width,time,cost]

Rows are printed as they come. Coverage: 2,000 releases of every registered example through `release`, the middle of 20,000
further runs as the exact answer. Persons: the same where a person may have several records, with the exact answer of the
records. Time: the audit that also looks at clocks, over neighbours that differ in one hostile record. Cost: CPU time and
memory of single releases, of calibrations and of the first draw in a new process.
"""

import argparse
import json
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from privet import audit, mechanisms, testing
from privet.errors import PrivetError
from privet.privacy import Unit
from privet.testing.conduct import _measured, _near_the_best

Row = dict[str, Any]
RESULTS = Path(__file__).parent / "results"
HOSTILE = {"None": None, "text": "x", "10^400": 10**400, "nan": float("nan"), "inf": float("inf"), "2^60": 2**60}


def coverage(releases: int) -> Iterator[Row]:
    """Share of releases within their own bars, for each example that has bars."""
    for place, example in enumerate(testing.example_mechanisms()):
        made = [example.mechanism.release(example.left) for _ in range(releases)]
        if any(release.error is None for release in made):
            continue
        first = made[0].error
        if first.around:
            runs = np.array([_measured(run, first) for run in example.mechanism.simulate(example.left, 10 * releases)])
            middle = np.nanmedian(runs.astype(float), axis=0)
            inside = [bool(np.all(np.abs(_measured(r.value, r.error) - middle) <= r.error.radius)) for r in made]
        elif isinstance(example.mechanism, mechanisms.SelectionMechanism):
            inside = [_near_the_best(example.mechanism, example.left, release) for release in made]
        else:
            continue
        name = f"{example.mechanism.name} ({place})"
        yield {"example": name, "stated": first.confidence, "covered": float(np.mean(inside))}


def exact_answers() -> list[tuple[str, Callable[..., Any], dict[str, Any], Any, Any, str | None]]:
    """Mechanisms that take `max_rows`, with options, data, the exact answer, and which part of the release it is."""
    rng = np.random.default_rng(0)
    ages, yes = np.clip(rng.normal(50, 20, 600), 0, 100), rng.uniform(size=600) < 0.3
    wards = rng.choice(3, size=600)
    vectors = rng.normal(size=(600, 3))
    short = vectors / np.maximum(1.0, np.linalg.norm(vectors, axis=1, keepdims=True))
    tallied = {label: int(np.sum(wards == label)) for label in range(3)}
    years, m = {"bounds": (0, 100)}, mechanisms
    return [
        ("sum", m.BoundedSum, years, ages, ages.sum(), None),
        ("mean", m.BoundedMean, years, ages, ages.mean(), "mean"),
        ("variance", m.BoundedVariance, years, ages, ages.var(), "variance"),
        ("count", m.Count, {}, yes, yes.sum(), None),
        ("rows", m.RowCount, {}, ages, len(ages), None),
        ("histogram", m.Histogram, {"labels": tuple(range(3))}, wards, list(tallied.values()), None),
        ("vector sum", m.VectorSum, {"clip_norm": 1.0, "dimension": 3}, vectors, short.sum(axis=0), None),
        ("vector mean", m.VectorMean, {"clip_norm": 1.0, "dimension": 3}, vectors, short.mean(axis=0), "mean"),
        ("median", m.Quantile, {"q": 0.5, "step": 0.5, **years}, ages, np.sort(ages), "rank"),
        ("9th decile", m.Quantile, {"q": 0.9, "step": 0.5, **years}, ages, np.sort(ages), "rank"),
    ]


def persons(releases: int) -> Iterator[Row]:
    """Share of releases within their own bars where a person has up to `max_rows` records, under both relations."""
    for name, kind, options, data, answer, part in exact_answers():
        for unit in (Unit(person="id"), Unit("replace", person="id")):
            for rows in (2, 5):
                for budget in ({"epsilon": 1.0}, {"rho": 0.05}):
                    label = f"{name}, {unit.relation}, {rows} rows, {next(iter(budget))}"
                    fixed = (
                        {"n": len(data)}
                        if unit.relation == "replace" and name in ("mean", "variance", "vector mean")
                        else {}
                    )
                    try:
                        made = kind.for_budget(**options, **fixed, **budget, unit=unit, max_rows=rows)
                    except PrivetError as problem:
                        yield {"example": label, "refused": str(problem)}
                        continue
                    yield {"example": label, **_covered(made, data, answer, part, releases)}


def _covered(made: Any, data: Any, answer: Any, part: str | None, releases: int) -> Row:
    inside, bars, missed = 0, [], []
    for _ in range(releases):
        release = made.release(data)
        value = release.value if part in (None, "rank") else release.value[part]
        value = list(value.values()) if isinstance(value, dict) else value
        if part == "rank":  # how many records must move for the value to be the quantile
            below, upto = np.searchsorted(answer, value, "left"), np.searchsorted(answer, value, "right")
            missed.append(max(0.0, below - made.q * len(answer), made.q * len(answer) - upto))
        else:
            missed.append(float(np.max(np.abs(np.asarray(value, dtype=float) - answer))))
        bars.append(release.error.radius)
        inside += missed[-1] <= bars[-1] * (1.0 + 1e-12)
    wide = float(np.median(bars) / max(np.quantile(missed, 0.95), 1e-300))
    return {"stated": 0.95, "covered": inside / releases, "wide": wide}


def widths(releases: int) -> Iterator[Row]:
    """Median bar of means and variances over the radius that holds 95% of the errors, for data of several shapes."""
    rng, size = np.random.default_rng(0), 2_000
    shapes = {
        "uniform": rng.uniform(0, 10, size),
        "near 9": np.clip(rng.normal(9, 0.3, size), 0, 10),
        "0 or 10": 10.0 * (rng.uniform(size=size) < 0.3),
        "around 5": rng.normal(5, 0.2, size),
    }
    for kind, of, exactly in (
        (mechanisms.BoundedMean, "mean", np.mean),
        (mechanisms.BoundedVariance, "variance", np.var),
    ):
        for budget in ({"epsilon": 1.0}, {"rho": 0.05}):
            made = kind.for_budget(bounds=(0, 10), **budget)
            for shape, data in shapes.items():
                found = [made.release(data) for _ in range(releases)]
                missed = np.array([abs(release.value[of] - exactly(data)) for release in found])
                bars = np.array([release.error.radius for release in found])
                wide = float(np.median(bars) / np.quantile(missed, 0.95))
                name = f"{made.name}, {made.noise.name}, {shape}"
                yield {"example": name, "covered": float(np.mean(missed <= bars)), "wide": wide}


def hostile_pairs() -> list[tuple[str, object, list[tuple[object, object]]]]:
    """Mechanisms of records and of vectors, each with neighbours that differ in one hostile entry of a list."""
    plain = [1.0] * 500
    records = {
        "bounded_sum": mechanisms.BoundedSum.for_budget(epsilon=0.5, bounds=(0, 10)),
        "bounded_mean": mechanisms.BoundedMean.for_budget(epsilon=0.5, bounds=(0, 10)),
        "bounded_variance": mechanisms.BoundedVariance.for_budget(epsilon=0.5, bounds=(0, 10)),
        "quantile": mechanisms.Quantile.for_budget(epsilon=0.5, q=0.5, bounds=(0, 10), step=1),
        "count": mechanisms.Count.for_budget(epsilon=0.5),
        "row_count": mechanisms.RowCount.for_budget(epsilon=0.5),
        "histogram": mechanisms.Histogram.for_budget(epsilon=0.5, edges=(0, 5, 10)),
    }
    found = [(name, made, [(plain, [*plain, value]) for value in HOSTILE.values()]) for name, made in records.items()]
    flip = mechanisms.PermuteAndFlip.for_budget(epsilon=0.5, sensitivity=1.0)
    found.append(("permute_and_flip", flip, [([0.0] * 400, [1.0] * 400), ([2.0**52] * 400, [2.0**52 + 1] * 400)]))
    return found


def timed(runs: int) -> Iterator[Row]:
    for name, made, pairs in hostile_pairs():
        verdicts = [audit.mechanism(made, neighbours=[pair], runs=runs, timed=True).verdict for pair in pairs]
        yield {"mechanism": name, "pairs": len(pairs), "violated": sum(v == "violated" for v in verdicts)}


def cpu(run, times: int) -> float:
    """Best CPU time of one call, in microseconds, over five rounds."""
    run()
    best = float("inf")
    for _ in range(5):
        begin = time.process_time()
        for _ in range(times):
            run()
        best = min(best, (time.process_time() - begin) / times)
    return best * 1e6


def peak(run, size: int) -> float:
    """Peak memory of a call in units of an array of `size` doubles."""
    tracemalloc.start()
    run()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / (8 * size)


def costs(_: int) -> list[Row]:
    laplace = mechanisms.Laplace.for_budget(epsilon=1.0, sensitivity=1.0)
    gaussian = mechanisms.Gaussian.for_budget(epsilon=1.0, delta=1e-6, sensitivity=1.0)
    array = np.zeros(1_000_000)
    first = "import time, privet.noise as n; b = time.process_time(); n.rounded_gaussian(sigma=3.0); "
    first += "print(time.process_time() - b)"
    start = min(
        float(subprocess.run([sys.executable, "-c", first], capture_output=True, check=True).stdout) for _ in range(3)
    )
    topk = {"epsilon": 1.0, "delta": 1e-6, "sensitivity": 1, "k": 3}
    watch = {"epsilon": 1.0, "delta": 1e-6, "sensitivity": 1, "threshold": 0.0, "positives": 5, "answer_share": 0.25}
    return [
        {"what": "one Laplace release", "value": cpu(lambda: laplace.release(42.0), 2_000), "unit": "us", "wish": 60},
        {"what": "one Gaussian release", "value": cpu(lambda: gaussian.release(42.0), 2_000), "unit": "us", "wish": 60},
        {"what": "first Gaussian draw in a process", "value": 1e3 * start, "unit": "ms", "wish": 50},
        {
            "what": "TopK at a delta",
            "value": cpu(lambda: mechanisms.TopK.for_budget(**topk), 3) / 1e3,
            "unit": "ms",
            "wish": 5,
        },
        {
            "what": "AboveThreshold at a delta",
            "value": cpu(lambda: mechanisms.AboveThreshold.for_budget(**watch), 3) / 1e3,
            "unit": "ms",
            "wish": 5,
        },
        {
            "what": "peak, Laplace of 1e6",
            "value": peak(lambda: laplace.release(array), array.size),
            "unit": "x",
            "wish": 4,
        },
        {
            "what": "peak, Gaussian of 1e6",
            "value": peak(lambda: gaussian.release(array), array.size),
            "unit": "x",
            "wish": 4,
        },
    ]


def line(row: Row) -> str:
    if "refused" in row:
        return f"{row['example']:44s} refused: {row['refused']:.60s}"
    if "what" in row:
        return f"{row['what']:36s} {row['value']:8.1f} {row['unit']}  (wish {row['wish']})"
    if "pairs" in row:
        return f"{row['mechanism']:28s} {row['violated']} of {row['pairs']} hostile pairs told apart by time or value"
    wide = f"  {row['wide']:.2f} times the radius that is needed" if "wide" in row else ""
    return f"{row['example']:44s} covered {row['covered']:.4f}{wide}"


PARTS = {
    "cost": (costs, 0, 0),
    "coverage": (coverage, 300, 2_000),
    "persons": (persons, 300, 2_000),
    "width": (widths, 300, 2_000),
    "time": (timed, 200, 400),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer releases and runs")
    parser.add_argument("--only", default=",".join(PARTS), help="parts to run, with commas between them")
    options = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    found: dict[str, list[Row]] = {}
    for part in options.only.split(","):
        make, few, many = PARTS[part]
        found[part] = []
        for row in make(few if options.quick else many):
            found[part].append(row)
            print(f"{part:9s} {line(row)}", flush=True)
        (RESULTS / "mechanisms.json").write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()

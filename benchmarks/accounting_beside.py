"""The rows of accounting.py that an older source of privet can answer too, asked of two sources in turn.

Run as a script this file is the worker: it names its questions, then reads the name of one from each line, asks it once
with cold caches and prints the CPU milliseconds and the upper end. `compare` starts one worker per source and alternates
between them, so that both meet the same weather on the machine; the figure is the best of the rounds.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from privet import accounting, privacy  # noqa: E402

CASES = {
    "A": (0.01, 4.0, 10_000, 1e-5),
    "B": (0.01, 1.0, 1_000, 1e-5),
    "C": (0.001, 0.8, 100_000, 1e-6),
    "D": (256 / 60_000, 1.1, 14_062, 1e-5),
    "E": (0.1, 20.0, 1_000, 1e-8),
    "F": (1.0, 100.0, 5_000, 1e-6),
}
TINY_CASE = (1e-5, 1.0, 1_000_000, 1e-8)
MULTIPLIERS = [1.0 + 0.1 * i for i in range(15)]
ROUNDS = 7


@dataclass
class Beside:
    """One question, and the CPU milliseconds that each source took for it."""

    task: str
    ours_ms: float
    other_ms: float


def sampled(q: float, z: float, steps: int) -> privacy.PrivacyLoss:
    return privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(noise_multiplier=z), q=q), steps)


def without_replacement() -> privacy.PrivacyLoss:
    base = privacy.GaussianLoss(noise_multiplier=1.1, unit=privacy.Unit("replace"))
    return privacy.Repeated(privacy.FixedSampled(base, m=256, n=60_000), 14_062)


def odometer() -> float:
    """Fifteen distinct noise multipliers, 100 steps each; epsilon is asked after every one, as tightly as by the peer."""
    spent: list[privacy.PrivacyLoss] = []
    for z in MULTIPLIERS:
        spent.append(sampled(0.01, z, 100))
        total = accounting.Tightest(tol=2e-5).epsilon(privacy.Composed(spent), 1e-5).upper
    return total


def _epsilon(loss: privacy.PrivacyLoss, delta: float, accountant: accounting.Accountant) -> Callable[[], float]:
    return lambda: accountant.epsilon(loss, delta).upper


def questions() -> dict[str, Callable[[], float]]:
    """What is asked, by the names of the rows."""
    asked: dict[str, Callable[[], float]] = {}
    quick, default = accounting.Tightest(tol=1e-3, two_sided=False), accounting.Tightest()
    for name, (q, z, steps, delta) in CASES.items():
        loss = sampled(q, z, steps)
        if q < 1.0:
            asked[f"RDP epsilon {name}"] = _epsilon(loss, delta, accounting.Rdp())
        asked[f"PLD upper {name}"] = _epsilon(loss, delta, quick)
        asked[f"two-sided {name}"] = _epsilon(loss, delta, default)
    for delta in (1e-12, 1e-20, 1e-50):
        asked[f"B at delta {delta:g}"] = _epsilon(sampled(*CASES["B"][:3]), delta, default)
    asked["z=0.3"] = _epsilon(sampled(0.01, 0.3, 1000), 1e-5, default)
    asked["T=1e7"] = _epsilon(sampled(0.001, 0.8, 10_000_000), 1e-6, default)
    asked["q=1e-5, T=1e6, within 1%"] = _epsilon(sampled(*TINY_CASE[:3]), TINY_CASE[3], accounting.Tightest(tol=1e-3))
    asked["WOR 256 of 60,000"] = _epsilon(without_replacement(), 1e-5, default)
    q, _, steps, delta = CASES["D"]
    for epsilon in (1.0, 3.0, 8.0):
        asked[f"calibrate epsilon={epsilon:g}"] = lambda e=epsilon: accounting.calibrate(  # type: ignore[misc]
            lambda z: sampled(q, z, steps), epsilon=e, delta=delta
        )
    asked["odometer, 15 distinct z"] = odometer
    return dict(sorted(asked.items()))


def work() -> None:
    """Answer one question for each line read."""
    asked = questions()
    for question in (asked["two-sided B"], asked["RDP epsilon B"]):
        question()  # loads scipy
    print(json.dumps(list(asked)), flush=True)
    for line in sys.stdin:
        accounting.clear_caches()
        start = time.process_time()
        value = asked[line.strip()]()
        print(json.dumps([1e3 * (time.process_time() - start), value]), flush=True)


def compare(other: str, only: str = "") -> list[Beside]:
    """Every question (whose name contains `only`) asked of this checkout and of the `src` folder of another one."""
    here = str(Path(__file__).resolve().parent.parent / "src")
    workers = []
    for source in (here, other):
        workers.append(
            subprocess.Popen(
                [sys.executable, str(Path(__file__).resolve())],
                env={**os.environ, "PYTHONPATH": source},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
    names = [json.loads(worker.stdout.readline()) for worker in workers]  # type: ignore[union-attr]
    rows = []
    for name in (name for name in names[0] if only in name):
        times: list[list[float]] = [[], []]
        for _ in range(ROUNDS):
            for worker, found in zip(workers, times, strict=True):
                assert worker.stdin is not None
                assert worker.stdout is not None
                worker.stdin.write(name + "\n")
                worker.stdin.flush()
                found.append(json.loads(worker.stdout.readline())[0])
        rows.append(Beside(name, min(times[0]), min(times[1])))
    for worker in workers:
        worker.stdin.close()  # type: ignore[union-attr]
        worker.wait()
    return rows


if __name__ == "__main__":
    work()

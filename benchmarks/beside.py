"""Questions asked of two sources of privet in turn: this checkout and the `src` folder of another one.

A script that holds questions is its own worker: it names them, then reads the name of one from each line, asks it once
and prints the CPU milliseconds. `compare` starts one worker per source and alternates between them, so that both meet the
same weather on the machine; the figure is the best of the rounds.
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

ROUNDS = 7
Questions = dict[str, Callable[[], object]]


@dataclass
class Beside:
    """One question, and the CPU milliseconds that each source took for it."""

    task: str
    ours_ms: float
    other_ms: float


def work(asked: Questions, before: Callable[[], object]) -> None:
    """Answer one question for each line read, `before` each of which is called and not timed."""
    print(json.dumps(list(asked)), flush=True)
    for line in sys.stdin:
        before()
        start = time.process_time()
        asked[line.strip()]()
        print(json.dumps(1e3 * (time.process_time() - start)), flush=True)


def compare(script: str, other: str, only: str = "", rounds: int = ROUNDS) -> list[Beside]:
    """Every question of a script that both can answer, and whose name contains `only`."""
    here = str(Path(__file__).resolve().parent.parent / "src")
    workers = [_worker(script, source) for source in (here, other)]
    names = [json.loads(worker.stdout.readline()) for worker in workers]  # type: ignore[union-attr]
    rows = []
    for name in (name for name in names[0] if only in name and name in names[1]):
        times: list[list[float]] = [[], []]
        for _ in range(rounds):
            for worker, found in zip(workers, times, strict=True):
                assert worker.stdin is not None
                assert worker.stdout is not None
                worker.stdin.write(name + "\n")
                worker.stdin.flush()
                found.append(json.loads(worker.stdout.readline()))
        rows.append(Beside(name, min(times[0]), min(times[1])))
    for worker in workers:
        worker.stdin.close()  # type: ignore[union-attr]
        worker.wait()
    return rows


def _worker(script: str, source: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, str(Path(script).resolve())],
        env={**os.environ, "PYTHONPATH": source},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

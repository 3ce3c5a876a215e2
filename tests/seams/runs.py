"""Processes that run slices and end in the middle: started by the tests of runs, in an interpreter of their own."""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import privet as pv
from privet.errors import LedgerError
from privet.ledger import runs
from privet.privacy import PureLoss
from tests.ledger.hostile.faults import Faults
from tests.ledger.hostile.nursery import fork

SLICES = [PureLoss(1e-3)] * 40


def touch(path: Path, slice: Any) -> None:
    """The slice touches data: noted in a file before anything else, as somebody who looks on would see it."""
    with path.open("a") as file:
        file.write(f"{slice.index} {slice.seq}\n")


def fault_points(url: str, folder: str, how: str, phase: str) -> list[dict[str, Any]]:
    """Start a run and begin two slices, with a fault around the n-th statement; then go on with it."""
    told = []
    for number in range(100):
        key = f"{how}-{phase}-{number}"
        path = Path(folder, f"{key}.seen")

        def attempt(number: int = number, key: str = key, path: Path = path) -> None:
            faults = Faults(number, how=how, phase=phase)
            with faults.planted():
                ledger = pv.Ledger.open(url)
                faults.armed = True
                try:
                    run = ledger.start(SLICES[:4], key=key)
                    for _ in range(2):
                        touch(path, run.begin())
                except LedgerError:
                    os._exit(3)
            os._exit(0 if faults.fired else 4)

        code = os.waitstatus_to_exitcode(os.waitpid(fork(attempt), 0)[1])
        if code == 4:
            break

        def rest(key: str = key, path: Path = path) -> None:
            for slice in pv.Ledger.open(url).start(SLICES[:4], key=key):
                touch(path, slice)

        assert os.waitstatus_to_exitcode(os.waitpid(fork(rest), 0)[1]) == 0
        told.append({"key": key, "code": code, "seen": [line.split()[0] for line in path.read_text().splitlines()]})
    return told


def kills(url: str, folder: str, workers: int, seed: int) -> list[list[str]]:
    """Several processes work on one run; each is killed again and again, and started again, until no slice is left."""
    coins, paths = random.Random(seed), [Path(folder, f"{i}.seen") for i in range(workers)]
    deadline = time.monotonic() + 300.0

    def work(path: Path) -> None:
        for slice in pv.Ledger.open(url).start(SLICES, key="run"):
            touch(path, slice)
            time.sleep(0.002)

    alive = {fork(lambda path=path: work(path)): path for path in paths}  # type: ignore[misc]
    while alive and time.monotonic() < deadline:
        time.sleep(coins.uniform(0.02, 0.08))
        for pid, path in list(alive.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended and os.waitstatus_to_exitcode(status) == 0:
                del alive[pid]
            elif coins.random() < 0.4 or ended:
                if not ended:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                del alive[pid]
                alive[fork(lambda path=path: work(path))] = path  # type: ignore[misc]
    for pid in alive:
        os.kill(pid, signal.SIGKILL)
    return [path.read_text().splitlines() if path.exists() else [] for path in paths]


def twin_marks_late() -> None:
    """The planted bug: the mark is written once the slice is done, so a crash in between lets it run again."""
    real = runs.Run.begin

    def begin(self: Any) -> Any:
        number = self.position
        if number >= len(self.slices):
            return real(self)
        return Late(self, number, real)

    class Late:
        def __init__(self, run: Any, index: int, mark: Any) -> None:
            self.index, self.seq = index, 0
            self._run, self._mark = run, mark

        def __del__(self) -> None:
            self._mark(self._run)

    runs.Run.begin = begin  # type: ignore[method-assign]


if __name__ == "__main__":
    order = json.load(sys.stdin)
    if order["twin"]:
        twin_marks_late()
    print(json.dumps(globals()[order["job"]](**order["arguments"])), flush=True)
    os._exit(0)

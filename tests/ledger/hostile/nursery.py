"""A process of its own that forks workers: crashes, kills and races happen here, far from the process of the tests.

`run("name", ...)` calls `jobs.name(...)` in a new process and returns its JSON answer. That process is forked from a
server which has imported everything and runs nothing but its main thread: a start costs next to nothing, and no job
finds what an earlier one has left behind.
"""

import json
import multiprocessing
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
PARTS = [f"tests.ledger.hostile.{name}" for name in ("nursery", "jobs", "jobs_around", "twins")]


def run(job: str, *, timeout: float = 600.0, twin: str | None = None, **arguments: Any) -> Any:
    """The answer of a job, from another process; whatever fails there fails here. `twin`: a bug to plant there."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PARTS)
    order = json.dumps({"job": job, "twin": twin, "arguments": arguments}, default=str)
    with tempfile.TemporaryDirectory() as folder:
        child = context.Process(target=main, args=(order, folder))
        child.start()
        child.join(timeout)
        if child.exitcode is None:
            child.kill()
        said = Path(folder, "said").read_text(errors="replace")
        assert child.exitcode == 0, f"{job} failed: {said[-3000:]}"
        return json.loads(Path(folder, "answer").read_text())


def main(order: str, folder: str) -> None:
    """In the new process: what it prints goes to one file, its answer to another."""
    said = os.open(Path(folder, "said"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(said, 1)
    os.dup2(said, 2)
    os.chdir(ROOT)
    try:
        Path(folder, "answer").write_text(json.dumps(_done(**json.loads(order))))
    except BaseException:
        traceback.print_exc()
        os._exit(70)
    os._exit(0)  # nothing is tidied up on the way out


def _done(job: str, twin: str | None, arguments: dict[str, Any]) -> Any:
    from tests.ledger.hostile import jobs, jobs_around, twins

    if twin is not None:
        twins.PLANTS[twin](setattr)
    return getattr(jobs if hasattr(jobs, job) else jobs_around, job)(**arguments)


def fork(work: Callable[[], None]) -> int:
    """Run `work` in a child, which never returns into the caller's code."""
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def join(*pids: int) -> list[int]:
    """Exit codes; a negative one is the signal that killed the child."""
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]


def kill(pid: int) -> int:
    os.kill(pid, signal.SIGKILL)
    return join(pid)[0]


class Seen:
    """A file of values that a caller has really got: one line each, synced before the next step."""

    def __init__(self, path: str | Path) -> None:
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def add(self, value: float) -> None:
        os.write(self.file, f"{value.hex()}\n".encode())
        os.fsync(self.file)


def read_seen(folder: str | Path) -> list[float]:
    """All values in all files; a line that was cut short by a kill was never seen whole."""
    lines = [line for path in Path(folder).glob("*.seen") for line in path.read_text().split("\n")[:-1]]
    return [float.fromhex(line) for line in lines]

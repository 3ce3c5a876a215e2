"""A process of its own that forks workers: crashes, kills and races happen here, far from the process of the tests.

`run("name", ...)` starts a fresh interpreter, calls `jobs.name(...)` in it and returns its JSON answer. Forking from
there is cheap (everything is imported already), and safe (nothing but the main thread runs).
"""

import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]


def run(job: str, *, timeout: float = 600.0, twin: str | None = None, **arguments: Any) -> Any:
    """The answer of a job, from another process; whatever fails there fails here. `twin`: a bug to plant there."""
    code = "from tests.ledger.hostile import nursery; nursery.main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps({"job": job, "twin": twin, "arguments": arguments}, default=str),
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=timeout,
    )
    assert done.returncode == 0, f"{job} failed: {done.stderr[-3000:]}"
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    from tests.ledger.hostile import jobs, jobs_around, twins

    order = json.load(sys.stdin)
    if order["twin"] is not None:
        twins.PLANTS[order["twin"]](setattr)
    room = jobs if hasattr(jobs, order["job"]) else jobs_around
    print(json.dumps(getattr(room, order["job"])(**order["arguments"])), flush=True)
    os._exit(0)  # nothing is tidied up on the way out


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

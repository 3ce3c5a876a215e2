"""Stores for the ledger's tests: memory, a file, and a PostgreSQL server that lives as long as the test session."""

import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ACCOUNT = "postgres"  # the server refuses to run as root


def server_programs() -> Path | None:
    """The folder with initdb: on the PATH, or where Debian keeps it."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


def as_server(command: list[str]) -> list[str]:
    """Run as the server's account when the tests run as root."""
    return ["runuser", "-u", ACCOUNT, "--", *command] if os.getuid() == 0 else command


def why_not() -> str | None:
    if server_programs() is None:
        return "no PostgreSQL server is installed"
    if os.getuid() == 0 and (
        shutil.which("runuser") is None or ACCOUNT not in {user.pw_name for user in pwd.getpwall()}
    ):
        return f"PostgreSQL does not run as root, and there is no account {ACCOUNT!r} to run it as"
    return None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Cluster:
    """A server of our own in a temporary folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        programs = server_programs()
        assert programs is not None
        self.programs = programs

    def run(self, program: str, *arguments: str) -> None:
        command = as_server([str(self.programs / program), "-D", str(self.folder / "data"), *arguments])
        log = self.folder / f"{program}.out"  # a pipe would be held open by the server that pg_ctl leaves behind
        with log.open("w") as out:
            done = subprocess.run(command, cwd=self.folder, stdout=out, stderr=out, timeout=120)
        assert done.returncode == 0, log.read_text()

    def start(self) -> str:
        if os.getuid() == 0:
            shutil.chown(self.folder, ACCOUNT)
        self.run("initdb", "-A", "trust", "-U", "privet", "-E", "UTF8", "--no-locale")
        settings = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder} -c fsync=on"
        self.run("pg_ctl", "-o", settings, "-l", str(self.folder / "log"), "-w", "start")
        return f"postgresql://privet@127.0.0.1:{self.port}/postgres"

    def guard(self) -> subprocess.Popen[bytes]:
        """Whoever holds the other end of its input keeps the server alive: when the test session ends, in whatever way,
        the guardian stops the server and removes the folder.
        """
        stop = as_server([str(self.programs / "pg_ctl"), "-D", str(self.folder / "data"), "-m", "immediate", "stop"])
        return subprocess.Popen(
            [sys.executable, "-c", GUARDIAN, str(self.folder), *stop], stdin=subprocess.PIPE, start_new_session=True
        )


GUARDIAN = """
import shutil, subprocess, sys
sys.stdin.buffer.read()
subprocess.run(sys.argv[2:], cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
shutil.rmtree(sys.argv[1], ignore_errors=True)
"""


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The address of a fresh server; skipped with a reason where none can run."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    folder = Path(tempfile.mkdtemp(prefix="privet-postgres-"))
    folder.chmod(0o700)
    cluster = Cluster(folder)
    guardian = cluster.guard()
    try:
        yield cluster.start()
    finally:
        guardian.communicate(timeout=90)
    assert not folder.exists()


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An address that nobody has used before, of each kind of store."""
    if request.param == "memory":
        return "memory:"
    if request.param == "sqlite":
        return str(tmp_path / "visits.ledger")
    return f"{request.getfixturevalue('postgres_url')}#t{uuid.uuid4().hex[:20]}"


@pytest.fixture(params=["sqlite", "postgres"])
def durable(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The same, of stores that outlive their process."""
    if request.param == "sqlite":
        return str(tmp_path / "visits.ledger")
    return f"{request.getfixturevalue('postgres_url')}#t{uuid.uuid4().hex[:20]}"


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    return str(tmp_path / "visits.ledger")


Make = Callable[..., object]

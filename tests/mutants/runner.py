"""Planting a bug and running the tests that should notice, in a child that inherits everything but privet.

Starting Python, importing the scientific stack and compiling the source cost more than the test that notices. So the
parent imports the libraries once and never `privet`; each child is forked from it, finds the changed file in a copy of
the source whose other files are compiled already, and runs one group of tests after the other until one is red.
"""

import contextlib
import importlib
import os
import shlex
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.mutants.mutant import SOURCE, Mutant

__all__ = ["Outcome", "healthy_failures", "outcomes"]

ROOT = SOURCE.parents[1]
_INHERITED = ("numpy", "scipy.special", "scipy.stats", "scipy.optimize", "mpmath", "hypothesis", "pandas")
_QUIET = ("-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", "--tb=line")
_QUIET += ("-W", "ignore::pytest.PytestAssertRewriteWarning")  # plugins that the parent has imported already


@dataclass(frozen=True)
class Outcome:
    """What became of one bug: the first test that was red, or None; `trouble` where pytest itself could not run."""

    mutant: Mutant
    killer: str | None
    seconds: float
    trouble: str = ""


class _FirstRed:
    """A pytest plugin that keeps the name of the first test, or file, that fails."""

    def __init__(self) -> None:
        self.name: str | None = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and self.name is None:
            self.name = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and self.name is None:
            self.name = f"{report.nodeid} (cannot be collected)"


def _run_groups(groups: Sequence[str], notes: Path) -> None:
    """In the child: one group after the other until one is red; its name is written as the last line of `notes`."""
    for tests in groups:
        notes.write_text(f"began\t{tests}\n", encoding="utf-8")  # stands if this child has to be ended
        seen = _FirstRed()
        code = int(pytest.main([*_QUIET, *shlex.split(tests)], plugins=[seen]))
        if seen.name is not None:
            notes.write_text(f"killed\t{seen.name}\n", encoding="utf-8")
            return
        if code not in (0, 4, 5):  # 4, 5: a remembered name that is gone, a choice that matches no test
            notes.write_text(f"trouble\tpytest ended with {code} on {tests}\n", encoding="utf-8")
            return
    notes.write_text("survives\t\n", encoding="utf-8")


def _child(package: Path, groups: Sequence[str], folder: Path) -> int:
    """Fork; the child sees `package` as privet and ends without returning."""
    if number := os.fork():
        return number
    try:
        log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.chdir(ROOT)
        os.setsid()
        sys.path[:0] = [str(package), str(ROOT)]
        os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[:2])
        assert "privet" not in sys.modules, "the parent must not hold the healthy package"
        _run_groups(groups, folder / "notes")
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(0)


def _planted(mutant: Mutant, folder: Path) -> Path:
    """A copy of the source with the bug in it; bytecode is copied too, and is stale for the changed file alone."""
    package = folder / "source"
    shutil.copytree(SOURCE, package / "privet")
    changed = package / "privet" / mutant.file
    for stale in (changed.parent / "__pycache__").glob(f"{changed.stem}.*"):
        stale.unlink()
    changed.write_text(mutant.text(), encoding="utf-8")
    return package


def _ended(number: int, deadline: float) -> bool | None:
    """True when the child has ended, None when it was ended for taking too long, False while it runs."""
    if os.waitpid(number, os.WNOHANG)[0]:
        return True
    if time.monotonic() < deadline:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.killpg(number, 9)
    os.waitpid(number, 0)
    return None


def _inherit() -> None:
    for name in _INHERITED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def outcomes(mutants: Sequence[Mutant], hints: dict[str, str], jobs: int, timeout: float) -> Iterator[Outcome]:
    """Every bug planted, `jobs` at a time, as they are decided; a hint is the test that noticed last time."""
    _inherit()
    waiting, running = list(mutants), {}
    with tempfile.TemporaryDirectory() as base:
        while waiting or running:
            while waiting and len(running) < jobs:
                mutant = waiting.pop(0)
                folder = Path(tempfile.mkdtemp(dir=base))
                hint = hints.get(mutant.key)
                groups = ((shlex.quote(hint),) if hint else ()) + mutant.tests
                begin = time.monotonic()
                running[_child(_planted(mutant, folder), groups, folder)] = (mutant, folder, begin)
            time.sleep(0.05)
            for number, (mutant, folder, begin) in list(running.items()):
                ended = _ended(number, begin + timeout)
                if ended is not False:
                    del running[number]
                    yield _outcome(mutant, folder, time.monotonic() - begin, hangs=ended is None)
                    shutil.rmtree(folder)


def _outcome(mutant: Mutant, folder: Path, seconds: float, *, hangs: bool) -> Outcome:
    verdict, what = _notes(folder)
    if verdict == "killed":
        return Outcome(mutant, what, seconds)
    if verdict == "began" and hangs:
        return Outcome(mutant, f"{what} (hangs)", seconds)
    trouble = "" if verdict == "survives" else f"{what}\n{(folder / 'log').read_text()[-3000:]}"
    return Outcome(mutant, None, seconds, trouble)


def _notes(folder: Path) -> tuple[str, str]:
    verdict, _, what = (folder / "notes").read_text(encoding="utf-8").strip("\n").partition("\t")
    return verdict, what


def healthy_failures(tests: Sequence[str], timeout: float) -> list[str]:
    """Those of these tests that are red on the source as it is: what they noticed proves nothing."""
    red = []
    with tempfile.TemporaryDirectory() as base:
        left = list(tests)  # together, since collecting costs more than most of them; a red one is taken out
        while left:
            folder = Path(tempfile.mkdtemp(dir=base))
            number = _child(SOURCE.parent, [" ".join(shlex.quote(t) for t in left)], folder)
            deadline = time.monotonic() + timeout
            while _ended(number, deadline) is False:
                time.sleep(0.05)
            verdict, what = _notes(folder)
            if verdict == "survives":
                break
            if verdict != "killed":
                raise RuntimeError(f"the tests that noticed could not be run on the healthy source: {what}")
            red.append(what)
            left = [t for t in left if t != what]
    return red

"""`python -m tests.mutants`: plant every bug in a copy of the source and say which ones no test noticed."""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.mutants import MUTANTS
from tests.mutants.mutant import SOURCE, Mutant

ROOT = SOURCE.parents[1]


def killed_by(mutant: Mutant, timeout: float) -> str | None:
    """The first of its tests that goes red (or hangs), or None when the bug survives them all."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(SOURCE, Path(folder) / "privet", ignore=shutil.ignore_patterns("__pycache__"))
        (Path(folder) / "privet" / mutant.file).write_text(mutant.text(), encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
        for tests in mutant.tests:
            command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
            command += shlex.split(tests)
            try:
                done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=timeout)
            except subprocess.TimeoutExpired:
                return f"{tests} (hangs)"
            if done.returncode == 1:
                return tests
            if done.returncode != 0:
                raise RuntimeError(f"{mutant.name}: pytest could not run {tests}\n{done.stdout.decode()[-2000:]}")
    return None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--only", default="", help="plant only bugs whose file or name holds this text")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once (default: 2)")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for one run of tests (default: 600)")
    options = parser.parse_args()
    chosen = [m for m in MUTANTS if options.only in f"{m.file} {m.name}"]
    survivors, begin = [], time.monotonic()
    with ThreadPoolExecutor(options.jobs) as pool:
        for i, (mutant, by) in enumerate(
            zip(chosen, pool.map(lambda m: killed_by(m, options.timeout), chosen), strict=True), 1
        ):
            print(
                f"{i:3d}/{len(chosen)}  {mutant.file}: {mutant.name}: {'SURVIVES' if by is None else f'killed by {by}'}",
                flush=True,
            )
            survivors += [mutant] if by is None else []
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} killed in {time.monotonic() - begin:.0f} s")
    for mutant in survivors:
        print(f"survivor: {mutant.file}: {mutant.name}")
    return 1 if survivors else 0


if __name__ == "__main__":
    raise SystemExit(main())

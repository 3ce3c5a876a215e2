"""The repository is about privet, not about the machine it was written on."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.architecture.source import ROOT

# Spelt in pieces so that this file does not find itself.
MACHINE_FOLDERS = tuple("/".join(["", folder, ""]) for folder in ("work", "root", "home", "Users"))
MACHINE_PATHS = re.compile("|".join(rf"(?<![\w.:/-]){folder}" for folder in MACHINE_FOLDERS))
SKIPPED_SUFFIXES = {".png", ".jpg", ".gz", ".npz", ".parquet", ".ico", ".woff2"}


def repository_files() -> list[Path]:
    """Everything tracked or about to be, as git sees it."""
    # A checkout may belong to another user, as it does in containers; only listing it is safe.
    command = ["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [ROOT / line for line in listing.splitlines()]
    return [path for path in paths if path.is_file() and path.suffix not in SKIPPED_SUFFIXES]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git checkout")
def test_no_file_names_a_path_of_some_machine():
    found = []
    for path in repository_files():
        text = path.read_text(encoding="utf-8")
        if any(name in text for name in MACHINE_FOLDERS):  # quick, and hardly any file goes on
            for number, line in enumerate(text.splitlines(), 1):
                if MACHINE_PATHS.search(line):
                    found.append(f"{path.relative_to(ROOT)}:{number}")
    assert found == []


def test_the_pattern_tells_paths_from_addresses():
    assert MACHINE_PATHS.search("open('" + "/".join(["", "home", "ada", "data.csv"]) + "')")
    assert not MACHINE_PATHS.search("https://example.org" + "/".join(["", "work", "data"]))

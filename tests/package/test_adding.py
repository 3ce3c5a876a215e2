"""Adding a mechanism by the page: the files it names and no other, in a copy of the repository."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.docs.markdown import ROOT, blocks

PAGE = ROOT / "docs" / "develop" / "add-a-mechanism.md"
COPIED = ("src", "tests", "docs", "tools", "conftest.py", "pyproject.toml")


@dataclass(frozen=True)
class Copy:
    """A copy of the repository that a test may change."""

    root: Path

    @classmethod
    def into(cls, root: Path) -> "Copy":
        for name in COPIED:
            place = ROOT / name
            if place.is_dir():
                shutil.copytree(place, root / name)  # with compiled code, which knows its source by the time of it
            else:
                shutil.copy(place, root / name)
        return cls(root)

    def add(self, room: str, file: str, code: str, export: str) -> None:
        """What the page asks for: the file, the line in the face of its room, the proof note."""
        (self.root / "src" / "privet" / room / f"{file}.py").write_text(code, encoding="utf-8")
        face = self.root / "src" / "privet" / room / "__init__.py"
        head, mark, tail = face.read_text(encoding="utf-8").partition("\n__all__")
        face.write_text(f"{head.rstrip()}\n{export}\n{mark}{tail}", encoding="utf-8")
        note = self.root / "docs" / "proofs" / room / f"{file}.md"
        note.write_text(f"# {file}\n\n## Statement\n\n## Assumptions\n\n## Proof\n\n## Not claimed\n", encoding="utf-8")
        sorted_imports = ["check", "--quiet", "--fix", "--select", "I", "--config", "pyproject.toml", str(face)]
        self.run("-m", "ruff", *sorted_imports)

    def touched(self) -> set[str]:
        """Files that differ from those of this repository, or are new."""
        here = {path.relative_to(self.root) for path in self.root.rglob("*") if path.is_file()}
        changed = {
            path
            for path in here
            if not (ROOT / path).exists() or (ROOT / path).read_bytes() != (self.root / path).read_bytes()
        }
        return {
            path.as_posix() for path in changed if not {"__pycache__", ".pytest_cache", ".ruff_cache"} & {*path.parts}
        }

    def run(self, *command: str) -> str:
        """Output of this Python over the copy; a failure is shown whole."""
        environment = {**os.environ, "PYTHONPATH": str(self.root / "src")}
        done = subprocess.run(
            [sys.executable, *command], cwd=self.root, env=environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout


def of_the_page(start: str) -> tuple[str, str]:
    """The file that the page shows, by its first words, and the export line that follows it."""
    shown = list(blocks(PAGE.read_text(encoding="utf-8")))
    (place,) = (i for i, block in enumerate(shown) if block.language == "python" and block.code.startswith(start))
    export = next(block.code.strip() for block in shown[place:] if block.language == "text")
    return shown[place].code, export


PRICE = of_the_page('"""The price of a shy response."""')
MECHANISM = of_the_page('"""A shy response to a yes-or-no question."""')


def mechanism_file() -> str:
    """Where the price has a file of its own, it is imported from there; the page has defined it further up."""
    line, note = "from privet.privacy import Guarantee", "  # in the file: Guarantee, ShyResponseLoss"
    assert MECHANISM[0].count(line + note) == 1
    return MECHANISM[0].replace(line + note, line + ", ShyResponseLoss")


def three_files(room: str) -> set[str]:
    return {
        f"src/privet/{room}/shy_response.py",
        f"src/privet/{room}/__init__.py",
        f"docs/proofs/{room}/shy_response.md",
    }


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """The copy with the price and the mechanism of the page, and what each of them touched."""
    copy = Copy.into(tmp_path_factory.mktemp("copy"))
    before = copy.touched()
    copy.add("privacy", "shy_response", *PRICE)
    price = copy.touched()
    copy.add("mechanisms", "shy_response", mechanism_file(), MECHANISM[1])
    return copy, price - before, copy.touched() - price


def test_three_files_are_touched_for_a_price_and_three_for_a_mechanism(grown):
    _, price, mechanism = grown
    assert price == three_files("privacy")
    assert mechanism == three_files("mechanisms")


def test_the_mechanism_is_found_by_name_and_documented(grown):
    copy, _, _ = grown
    found = copy.run(
        "-c",
        "from tools.site import reference; from privet import mechanisms, privacy;"
        "assert mechanisms.registered_mechanisms()['example_shy_response'] is mechanisms.ShyResponse;"
        "print(privacy.__file__, reference.public('privet.mechanisms'))",
    )
    assert str(copy.root) in found
    assert "'ShyResponse'" in found


# Three commands, in one interpreter: its start and the rooms are most of the time.
COMMANDS = """
import contextlib, io, json, pathlib, sys
from privet.cli import main

def run(*words):
    written = io.StringIO()
    with contextlib.redirect_stdout(written), contextlib.suppress(SystemExit):
        main(list(words))
    return written.getvalue()

kind, file = "example-shy-response", sys.argv[1]
priced = run("price", kind, "--epsilon0", "0.5", "--steps", "10", "--delta", "1e-6", "--json")
pathlib.Path(file).write_text(priced, encoding="utf-8")
again = run("price", "--json-loss", file, "--delta", "1e-6", "--json")
print(json.dumps([priced, again, run("calibrate", kind, "--epsilon", "2", "--delta", "0", "--json")]))
"""


def test_the_command_line_finds_the_price_and_its_json(grown, tmp_path):
    copy, _, _ = grown
    priced, again, found = map(json.loads, json.loads(copy.run("-c", COMMANDS, str(tmp_path / "price.json"))))
    assert priced["loss"]["of"]["kind"] == "example_shy_response"
    assert again == priced
    assert found["calibration"]["parameter"] == "epsilon0"
    assert 1.99 < found["calibration"]["value"] <= 2.0


@pytest.mark.slow
def test_style_architecture_laws_and_audit_agree(grown):
    copy, _, _ = grown
    copy.run("-m", "ruff", "check", "src")
    copy.run("-m", "ruff", "format", "--check", "src")
    chosen = ["architecture/test_imports", "architecture/test_public_names"]
    chosen += ["laws/test_losses", "laws/test_mechanisms", "audit/test_every_mechanism"]
    files = [f"tests/{name}.py" for name in chosen]
    files += [f"src/privet/{room}/shy_response.py" for room in ("privacy", "mechanisms")]
    told = copy.run(
        "-m", "pytest", "-p", "no:cacheprovider", "-v", *files, "-k", "shy_response or test_imports or public_names"
    )
    seen = [line for line in told.splitlines() if "shy_response" in line and "PASSED" in line]
    for name in files[2:]:
        assert any(line.startswith(name) for line in seen), f"{name} did not look at it"


def test_a_change_of_another_file_is_noticed(tmp_path):
    copy = Copy.into(tmp_path)
    (tmp_path / "tests" / "whole_run.py").write_text("", encoding="utf-8")
    (tmp_path / "tests" / "golden.json").write_text("{}", encoding="utf-8")
    assert copy.touched() == {"tests/whole_run.py", "tests/golden.json"}

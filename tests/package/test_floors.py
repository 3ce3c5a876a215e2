"""The oldest versions that pyproject.toml allows are those that `make test-lowest` installs, and groups stay private."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def floors(requirements: list[str]) -> dict[str, tuple[int, ...]]:
    """The least version of each requirement, by the name of its package."""
    found = {}
    for line in requirements:
        match = re.fullmatch(r"([\w.-]+)(?:\[[\w,-]+\])?>=([\d.]+)", line)
        assert match is not None, f"{line!r} has no floor"
        found[match[1].lower()] = version(match[2])
    return found


def version(text: str) -> tuple[int, ...]:
    """1.13 and 1.13.0 are the same version."""
    numbers = [int(part) for part in text.split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def pinned() -> dict[str, tuple[int, ...]]:
    text = (ROOT / "constraints-lowest.txt").read_text(encoding="utf-8")
    return {name.lower(): version(number) for name, number in re.findall(r"^([\w.-]+)==([\d.]+)$", text, re.MULTILINE)}


def declared() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_floors_are_what_is_tested():
    wanted = floors(declared()["project"]["dependencies"])
    assert len(wanted) >= 7
    assert {name: pinned().get(name) for name in wanted} == wanted


def test_a_floor_that_is_not_tested_is_noticed():
    assert floors(["typer>=0.15"]) != {"typer": pinned()["typer"]}
    assert floors(["numpy>=2.0"]) == {"numpy": version("2.0.0")}


def test_what_developers_need_is_no_extra():
    whole = declared()
    assert not {"dev", "docs", "peers", "test"} & set(whole["project"]["optional-dependencies"])
    assert {"dev", "docs", "peers", "test"} <= set(whole["dependency-groups"])


def test_every_python_that_is_named_is_allowed():
    project = declared()["project"]
    named = [entry.rsplit(" ", 1)[1] for entry in project["classifiers"] if re.search(r":: 3\.\d+$", entry)]
    assert project["requires-python"] == f">={named[0]}"

"""Doors: few, visible, and the only functions that are wrapped; their examples run."""

import ast
import doctest
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import privet as pv
from privet import mechanisms, privacy
from privet._face import installed
from tests.newcomer.callables import is_door, public

SOURCE = Path(pv.__file__).parent
MOST = 210  # written by hand, about fourteen a room: what people type, which `tests/newcomer` finds; constructors and
# `for_budget` of registered kinds come on top


def written() -> list[str]:
    """Every `@door` in the source, by file and name."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "@door" in text else ():  # to parse all files takes seconds
            for decorator in getattr(node, "decorator_list", ()):
                name = decorator.func if isinstance(decorator, ast.Call) else decorator
                if isinstance(name, ast.Name) and name.id == "door":
                    found.append(f"{path.relative_to(SOURCE)}:{node.name}")
    return found


def wrapped() -> dict[str, Any]:
    """Every function of ours that is wrapped as a door, wherever it hangs."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        if "__main__" in parts or parts[1:2] in (("cli",), ("testing",)):
            continue
        # A file that needs torch is not imported without it, though some could be: it would register what cannot run.
        if (parts[1:2] == ("deep",) or "gans" in parts) and not installed("torch"):
            continue
        if parts[-1] == "stream_kernel" and not installed("triton"):
            continue
        module = import_module(".".join(parts).removesuffix(".__init__"))
        for place, value in members(module):
            if is_door(value):
                found[place] = value
    return found


def members(module: Any) -> Iterator[tuple[str, Any]]:
    for name, value in vars(module).items():
        if getattr(value, "__module__", None) != module.__name__:
            continue
        if isinstance(value, type):
            for inner, member in vars(value).items():
                plain = getattr(member, "__func__", member)
                if inspect.isfunction(plain):
                    yield f"{module.__name__}.{name}.{inner}", plain
        elif inspect.isfunction(value):
            yield f"{module.__name__}.{name}", value


def test_doors_are_few_and_written_where_they_stand():
    assert 60 <= len(written()) <= MOST
    kinds = len(privacy.registered_kinds()) + 2 * len(mechanisms.registered_mechanisms())
    assert len(wrapped()) <= len(written()) + kinds + 40  # strategies register too


def test_what_is_no_door_is_plain_python():
    plain = [value for value in public().values() if inspect.isfunction(value) and not is_door(value)]
    assert len(plain) > 100
    assert all(
        value.__module__ == value.__globals__["__name__"] for value in plain if not hasattr(value, "__wrapped__")
    )


DOORS = {name: door for name, door in wrapped().items() if ">>>" in (door.__doc__ or "")}


@pytest.mark.parametrize("name", DOORS)
def test_examples_of_doors_run(name, tmp_path, monkeypatch):
    """`--doctest-modules` does not look behind a wrapper."""
    monkeypatch.chdir(tmp_path)
    inner = inspect.unwrap(DOORS[name])
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    (example,) = doctest.DocTestFinder(recurse=False).find(inner, name, globs=dict(inner.__globals__))
    runner = doctest.DocTestRunner(verbose=False, optionflags=flags)
    assert example.examples
    assert runner.run(example, out=lambda text: None).failed == 0

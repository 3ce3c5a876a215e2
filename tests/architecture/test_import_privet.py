"""`import privet` is light: rooms load when first used."""

import ast
import importlib
import json
import subprocess
import sys

import pytest

import privet
from tests.architecture.source import source_modules

# What a bare import may bring in besides the standard library, and which heavy parts of that library stay out.
ALLOWED = {"privet"}
HEAVY_STANDARD = {
    "asyncio",
    "concurrent",
    "ctypes",
    "decimal",
    "email",
    "http",
    "multiprocessing",
    "sqlite3",
    "unittest",
}
SECONDS = 0.3

PROBE = """
import json, sys, time
before = set(sys.modules)
start = time.process_time()
import privet
seconds = time.process_time() - start
print(json.dumps({"seconds": seconds, "modules": sorted(set(sys.modules) - before)}))
"""


def bare_import() -> dict:
    run = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def test_a_bare_import_loads_only_what_is_allowed():
    loaded = {name.partition(".")[0] for name in bare_import()["modules"]}
    standard = set(sys.stdlib_module_names) - HEAVY_STANDARD
    assert loaded - standard - ALLOWED == set()


def test_a_bare_import_loads_no_room():
    assert [name for name in bare_import()["modules"] if name.startswith("privet.")] == []


def test_a_bare_import_is_fast():
    # Time of the processor, the best of three: what else the machine does hardly matters.
    assert min(bare_import()["seconds"] for _ in range(3)) <= SECONDS


def test_every_public_name_is_reachable_and_listed():
    assert set(privet.__all__) <= set(dir(privet))
    for name in privet.__all__:
        assert getattr(privet, name) is not None


def test_a_name_with_a_home_is_the_one_its_room_holds():
    for name, room in privet._HOMES.items():
        assert name in privet.__all__
        assert getattr(privet, name) is getattr(importlib.import_module(f"privet.{room}"), name)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="privet has no 'nothing'"):
        _ = privet.nothing


def test_type_checkers_see_the_same_names():
    (root,) = (module for module in source_modules() if module.name == "privet")
    block = next(node for node in root.tree.body if isinstance(node, ast.If))
    imported = {alias.name for node in block.body for alias in node.names}
    assert imported == set(privet.__all__) - {"__version__"}


def test_completion_shows_public_names_only():
    from privet import accounting, privacy, server

    assert dir(privet) == sorted(privet.__all__)
    for room in (privacy, accounting):
        assert dir(room) == room.__all__
        assert [name for name in dir(room) if name.startswith("_") or name in ("face", "loss", "rdp")] == []
    with pytest.raises(AttributeError, match="server is not in this version"):
        _ = server.serve

"""Tests of the tests: each asserts something, and a whole run says what it left out."""

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from privet import noise, testing
from privet.testing.law import Subject
from tests import fixed_coins
from tests.architecture.source import ROOT, Function, suite_modules
from tests.fixed_coins import COINS
from tests.whole_run import laws_not_run, modules_not_run, registered_members

ASSERTING_CALLS = ("raises", "warns", "fail", "deprecated_call")
ASSERTING_PREFIXES = ("assert_", "check_", "verify")


def called_name(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def asserts_something(function: Function) -> bool:
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            name = called_name(node)
            if name in ASSERTING_CALLS or name.startswith(ASSERTING_PREFIXES):
                return True
    return False


def test_every_test_asserts_something():
    idle = [
        f"{module.where(function)} {function.name}"
        for module in suite_modules()
        if module.path.name.startswith("test_")
        for function in module.functions()
        if function.name.startswith("test_") and not asserts_something(function)
    ]
    assert idle == []


def test_an_idle_test_is_found():
    (idle,) = ast.parse("def test_nothing():\n    compute(1)\n").body
    assert not asserts_something(idle)
    (checked,) = ast.parse("def test_law():\n    laws.check_order(loss)\n").body
    assert asserts_something(checked)


def test_a_law_that_did_not_run_is_named():
    testing.load_rooms()  # whichever test came before
    loss_laws = testing.laws_of("loss")
    members = registered_members()
    assert all(members.values())
    everything = {
        (law.__name__, member)
        for subject, names in [*members.items(), ("losses", ["list"])]
        for law in testing.laws_of(subject)
        for member in names
    }
    assert laws_not_run(everything) == []
    assert laws_not_run(everything - {(loss_laws[0].__name__, "pure")}) == [f"{loss_laws[0].__name__} over pure"]
    lonely = testing.laws_of("losses")[0].__name__
    assert laws_not_run(everything - {(lonely, "list")}) == [f"{lonely} at all"]


def test_every_kind_with_laws_has_members_that_must_meet_them():
    testing.load_rooms()
    subjects = {subject for subject in get_args(Subject) if testing.laws_of(subject)}
    assert subjects - {"losses"} == set(registered_members())


def test_a_test_module_that_did_not_run_is_named():
    ran = {module.path.relative_to(ROOT).as_posix() for module in suite_modules()}
    here = "tests/architecture/test_tests.py"
    assert modules_not_run(ran) == []
    assert modules_not_run(ran - {here}) == [here]


# --- coins -----------------------------------------------------------------------------------------------------------


def draws(name: str | None) -> list[int]:
    with COINS.of(name):
        return [*noise.discrete_laplace(scale=2**50, size=64).tolist(), int(noise.uniform_int(bound=2**60))]


def test_the_coins_of_a_test_are_fixed_by_its_name(monkeypatch: pytest.MonkeyPatch):
    assert draws("one") == draws("one") != draws("two")
    assert draws(None) != draws(None)
    monkeypatch.setattr(fixed_coins.Tape, "read", lambda self, count: os.urandom(count))  # the broken twin
    assert draws("one") != draws("one")


def test_this_test_has_fixed_coins(request: pytest.FixtureRequest):
    fixed = os.environ.get("HYPOTHESIS_PROFILE", "ci") == "ci"
    seen = [*noise.discrete_laplace(scale=2**50, size=64).tolist(), int(noise.uniform_int(bound=2**60))]
    assert (seen == draws(request.node.nodeid)) is fixed


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks there")
def test_a_forked_child_draws_other_coins():
    with COINS.of("one"):
        read, write = os.pipe()
        if os.fork() == 0:
            os.write(write, int(noise.uniform_int(bound=2**60)).to_bytes(8, "big"))
            os._exit(0)
        os.wait()
        assert int.from_bytes(os.read(read, 8), "big") != int(noise.uniform_int(bound=2**60))
        os.close(read)
        os.close(write)


WAITS = """
import threading

def test_that_waits():
    assert threading.Event().wait()
"""


def test_every_test_has_an_end(request: pytest.FixtureRequest, tmp_path: Path):
    assert 0.0 < float(request.config.getini("timeout")) <= 600.0
    (tmp_path / "test_waits.py").write_text(WAITS)
    quiet = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", str(tmp_path), "-o", "timeout=1"]
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), *quiet, str(tmp_path)]
    # no plugins but the one that ends tests and the one that the conftest needs: others take seconds to load
    command += ["-p", "pytest_timeout", "-p", "_hypothesis_pytestplugin"]
    alone = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT, env=alone)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Timeout" in done.stdout

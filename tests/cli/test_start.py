"""The command starts quickly, helps, shows its demo, and its examples run."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import privet as package
from privet.cli import app, calibrate, price

HEAVY = ("numpy", "scipy", "rich", "matplotlib", "sklearn", "duckdb")


def examples(command):
    """The lines of the help that start with `privet`."""
    (info,) = (c for c in app.registered_commands if c.name == command.__name__)
    return [line.strip() for line in (info.epilog or "").splitlines() if line.strip().startswith("privet ")]


def test_the_version(privet):
    outcome = privet("--version")
    assert (outcome.code, outcome.out) == (0, f"privet {package.__version__}\n")


def test_python_dash_m_is_the_command():
    run = subprocess.run([sys.executable, "-m", "privet", "--version"], capture_output=True, text=True, check=True)
    assert run.stdout == f"privet {package.__version__}\n"


def test_importing_the_command_loads_nothing_heavy():
    code = f"import sys, json, privet.cli; print(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(run.stdout) == []


@pytest.mark.parametrize("command", ["price", "calibrate", "demo", "query"])
def test_every_command_explains_itself(privet, command):
    outcome = privet(command, "--help")
    assert outcome.code == 0
    assert "Example" in outcome.out
    assert f"privet {command}" in outcome.out


@pytest.mark.parametrize("line", [*examples(price), *examples(calibrate)])
def test_the_examples_of_the_help_run(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    loss = package.privacy.Repeated(package.privacy.LaplaceLoss(10.0), 3)
    (tmp_path / "price.json").write_text(package.privacy.to_json(loss), encoding="utf-8")
    result = CliRunner().invoke(app, line.split()[1:])
    assert result.exit_code == 0, (result.output, result.exception)


def test_there_are_examples():
    assert len(examples(price)) >= 3
    assert len(examples(calibrate)) >= 3


def test_the_demo_needs_the_core_only(privet, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    outcome = privet("demo")
    assert outcome.code == 0, outcome.err
    for expected in ("11,997", "0.9469", "noise multiplier", '"kind": "laplace"', "What this means for one person"):
        assert expected in outcome.out

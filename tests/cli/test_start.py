"""The command starts quickly, helps, shows its demo, and its examples run."""

import json
import os
import re
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


def test_the_demo_needs_the_core_only_and_fits_on_a_screen(privet, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = tmp_path / "demo.html"
    outcome = privet("demo", "--html", page)
    assert outcome.code == 0, outcome.err
    lines = outcome.out.splitlines()
    assert 30 <= len(lines) <= 42
    assert max(map(len, lines)) <= 120
    assert "truth     99" in outcome.out
    assert outcome.out.count("truth ") >= 9
    for expected in ("442 diabetes patients", "Spent 0.9 of 1.0", "was refused", "What that means for one patient"):
        assert expected in outcome.out
    assert str(page) in outcome.out
    named = [words.split() for words in re.findall(r"privet ((?:[a-z]+ )+)", outcome.out.split("Where to go")[1])]
    assert ["table", "draft"] in named
    for words in named:
        known = [word for word in words if word not in ("gaussian", "then")]
        assert privet(*known, "--help").code == 0, known
    assert "{" not in outcome.out  # no JSON
    told = page.read_text(encoding="utf-8")
    assert "Privacy ledger of patients" in told
    assert told.count("<tr>") > 10


def test_signs_that_a_terminal_cannot_show_become_letters():
    command = [sys.executable, "-m", "privet", "price", "gaussian", "--noise-multiplier", "4", "--steps", "9"]
    plain = {**os.environ, "PYTHONIOENCODING": "ascii", "LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0"}
    run = subprocess.run([*command, "--delta", "1e-5"], capture_output=True, env=plain, check=True)
    assert run.stdout.isascii()
    assert b"9 x gaussian" in run.stdout

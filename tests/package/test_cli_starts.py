"""The `privet` command starts, helps and knows its demo."""

from typer.testing import CliRunner

from privet.cli import app


def test_help_names_the_demo():
    result = CliRunner().invoke(app, ["--help"])
    assert result.exit_code == 0
    assert "demo" in result.output


def test_the_demo_states_an_epsilon():
    result = CliRunner().invoke(app, ["demo"])
    assert result.exit_code == 0, result.exception
    assert "epsilon" in result.output

"""The command as a user meets it: through `main`, which turns errors into messages."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import pytest
import typer.main

from privet.cli import main

# The tree of commands is built anew at every call, which is once in a process of a user: here it is built once, too.
COMMANDS = cache(typer.main.get_command)


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def privet(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    monkeypatch.setattr(typer.main, "get_command", COMMANDS)

    def run(*arguments: object) -> Outcome:
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        written = capsys.readouterr()
        return Outcome(int(stop.value.code or 0), written.out, written.err)

    return run

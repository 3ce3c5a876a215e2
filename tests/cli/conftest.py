"""The command as a user meets it: through `main`, which turns errors into messages."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from privet.cli import main


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def privet(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    def run(*arguments: object) -> Outcome:
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        written = capsys.readouterr()
        return Outcome(int(stop.value.code or 0), written.out, written.err)

    return run

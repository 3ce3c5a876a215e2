"""Every option of every command says what it is for, with an example, and one word for what it takes."""

import inspect
import os
import re
import subprocess
import sys
from typing import Annotated, get_origin

import pytest
import typer

from privet.cli import calibrate, price
from privet.cli.app import Commands, app
from privet.cli.described import EXAMPLES, described
from privet.cli.ledger import preview
from privet.cli.release import _typed
from privet.cli.terminal import in_letters
from privet.cli.words import in_words, usage_in_words
from tests.firsts import slow

WORDS = {"NUMBER", "INTEGER", "TEXT", "FILE", "HEX", "KIND", "DELTA", "HEX|FILE", "JSON|FILE", "MODULE:NAME", "", None}


def commands(group: typer.Typer = app, path: str = "privet"):
    """Every command of the tree with its function."""
    for info in group.registered_commands:
        yield f"{path} {info.name or info.callback.__name__}", info
    for inner in group.registered_groups:
        yield from commands(inner.typer_instance, f"{path} {inner.name or inner.typer_instance.info.name}")


def options_of(function):
    for name, hint in function.__annotations__.items():
        if get_origin(hint) is Annotated:
            yield name, hint.__origin__, hint.__metadata__[0]


ALL = dict(commands())


def complaints(path: str, function) -> list[str]:
    found = []
    for name, kind, info in options_of(function):
        is_option = hasattr(info, "prompt")
        if not info.help:
            found.append(f"{path} {name}: no help")
        if is_option and kind not in (bool, bool | None) and not re.search(r"e\.g\. \S|such as", info.help or ""):
            found.append(f"{path} {name}: no example in {info.help!r}")
        if info.metavar not in WORDS if is_option else info.metavar in (None, "TEXT", "INTEGER", "NUMBER"):
            found.append(f"{path} {name}: takes {info.metavar!r}")
    return found


def test_there_are_commands():
    assert {"privet price", "privet demo", "privet ledger init", "privet audit zoo"} <= set(ALL)
    assert all(isinstance(group.typer_instance, Commands) for group in app.registered_groups)


def test_every_option_has_help_with_an_example():
    assert [line for path, info in ALL.items() for line in complaints(path, info.callback)] == []


RELEASES = {"price": price, "calibrate": calibrate, "ledger preview": preview}


@pytest.mark.parametrize("name", RELEASES)
def test_the_options_of_a_release_have_too(name):
    assert complaints(f"privet {name}", described(_typed(RELEASES[name]))) == []


def test_a_command_without_help_is_noticed():
    def bare(
        size: Annotated[float, typer.Option()] = 1.0, colour: Annotated[str, typer.Option(help="Which.")] = ""
    ) -> None: ...

    assert complaints("bare", described(bare)) == [
        "bare size: no help",
        "bare size: no example in ''",
        "bare colour: no example in 'Which.'",
    ]


def test_every_command_shows_how_it_is_typed():
    silent = [path for path, info in ALL.items() if path.removeprefix("privet ") not in (info.epilog or "")]
    assert silent == []


def test_no_example_waits_for_an_option_that_is_gone():
    functions = [info.callback for info in ALL.values()] + [_typed(each) for each in RELEASES.values()]
    used = {name for function in functions for name in inspect.signature(function).parameters}
    assert sorted(set(EXAMPLES) - used) == []


@pytest.mark.parametrize(
    ("typed", "place", "expected"),
    [
        ("privet pri", 1, "price"),
        slow(("privet price gau", 2, "gaussian")),
        ("privet price gaussian --noi", 3, "--noise-multiplier"),
        slow(("privet ledger ver", 2, "verify")),
    ],
)
def test_a_shell_completes(typed, place, expected):
    asked = {**os.environ, "_PRIVET_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(place)}
    run = subprocess.run([sys.executable, "-m", "privet"], capture_output=True, text=True, env=asked, check=False)
    assert expected in run.stdout.split()


def test_the_exit_codes_are_in_the_help(privet):
    told = " ".join(privet("--help").out.split())
    for words in ("0 done", "1 violated", "2 usage", "3 refused by a budget", "4 the store", "5 tampering"):
        assert words in told


def test_mistakes_are_answered_with_what_was_meant(privet, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command, meant in {
        "price gausian --noise-multiplier 4 --delta 1e-5": "did you mean gaussian?",
        "price gaussian --sigma 1 --delta 1e-5": "gaussian takes --noise-multiplier (standard deviation",
        "price gaussian --noise-multiplier 1 --detla 1e-5": "--delta",
        "pric gaussian": "price",
        "audit mechanism lapalce": "did you mean laplace?",
        "ledger show nope.ledger": "privet ledger init FILE",
        "price laplace --scale -1 --delta 1e-5": "--scale must be greater than 0",
        "price laplace --scale much --delta 1e-5": "expected a number",
        "price gaussian --noise-multiplier 1 --delta 1e-5 --accountant plf": "Did you mean pld?",
    }.items():
        outcome = privet(*command.split())
        assert outcome.code == 2
        last = outcome.err.splitlines()[-1]
        assert last.startswith("privet: ")
        assert meant in last, command
        assert "Ledger." not in last


def test_a_mechanism_that_needs_only_a_budget_is_audited_for_it(privet):
    outcome = privet("audit", "mechanism", "count", "--epsilon", "1", "--runs", "300")
    assert outcome.code == 0, outcome.err
    assert "not refuted" in outcome.out


def test_words_of_the_command_line():
    assert in_words("give budget= or odometer=...", []) == "give --budget or --odometer"
    assert in_words("q must lie in [0, 1]", ["--delta", "1"]) == "q must lie in [0, 1]"
    assert in_words("q must lie in [0, 1]", ["--q", "7"]) == "--q must lie in [0, 1]"
    assert usage_in_words("'x' is not a valid float.") == "expected a number"
    with pytest.raises(UnicodeDecodeError):
        in_letters(UnicodeDecodeError("ascii", b"x", 0, 1, "no"))

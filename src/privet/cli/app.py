"""The application object and the one place where errors become messages."""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from privet import __version__
from privet.cli.described import described
from privet.cli.terminal import write_anywhere
from privet.cli.words import in_words, usage_in_words
from privet.errors import BudgetExceeded, LedgerBusy, LedgerTampered, LedgerUnavailable, PrivetError

COMPLETING = "_PRIVET_COMPLETE" in os.environ  # a shell asks which words may follow


ORDER = (
    "demo",
    "price",
    "calibrate",
    "table",
    "query",
    "ledger",
    "fit",
    "train",
    "synth",
    "audit",
    "ranges",
    "local",
    "pate",
)  # of the help


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _bare_flags(super().get_params(ctx))


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return _bare_flags(super().get_params(ctx))

    def list_commands(self, ctx: Any) -> list[str]:
        listed = super().list_commands(ctx)
        return sorted(listed, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))


def _bare_flags(options: list[Any]) -> list[Any]:
    """A flag takes nothing, whatever the version of the parser says about it."""
    for option in options:
        if getattr(option, "is_flag", False):
            option.metavar = ""
    return options


class Commands(typer.Typer):
    """A group of commands, whose options all have an example and one word for what they take."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"cls": _Group, **options})

    def command(self, name: str | None = None, **options: Any) -> Callable[[Any], Any]:
        register = super().command(name, **{"cls": _Command, **options})

        def described_command(function: object) -> Any:
            return register(described(function))

        return described_command


app = Commands(
    name="privet",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"privet {__version__}")
        raise typer.Exit


@app.callback(
    epilog="Start with: privet demo. Every command explains itself with --help. Exit codes: 0 done, 1 violated (an audit, "
    "a charge below its price), 2 usage, 3 refused by a budget, 4 the store cannot be used, 5 tampering."
)
def privet(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True, metavar=""),
    ] = False,
) -> None:
    """A hedge around your data: differential privacy, priced and paid for."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the `privet` script: one clear line on stderr, and an exit code that says what kind of no it is.

    0 done, 1 violated (an audit, a charge below its price), 2 usage, 3 refused by a budget, 4 the store cannot be used,
    5 tampering.

    >>> main(["--version"])
    Traceback (most recent call last):
        ...
    SystemExit: 0
    """
    write_anywhere()
    typed = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = app(args=typed, prog_name="privet", standalone_mode=False)
    except PrivetError as error:
        typer.echo(f"privet: {in_words(str(error), typed)}", err=True)
        sys.exit(_code(error))
    except Exception as error:
        if not hasattr(error, "format_message"):  # of the parser, whichever version of it is installed
            raise
        sys.exit(_usage(error))
    sys.exit(code if isinstance(code, int) else 0)


def _usage(error: Any) -> int:
    """The answer to a line that cannot be parsed: how the command is called, and one line on what was wrong."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError" and context is not None:
        typer.echo(context.get_help(), nl=False)
        return 2
    if context is not None:
        typer.echo(" ".join(context.get_usage().split()), err=True)
        typer.echo(f"Try: {context.command_path} --help", err=True)
    listed: list[str] = getattr(getattr(context, "command", None), "list_commands", lambda _: [])(context)
    typer.echo(f"privet: {usage_in_words(error.format_message(), listed)}", err=True)
    return int(error.exit_code)


def _code(error: PrivetError) -> int:
    if isinstance(error, LedgerTampered):
        return 5
    if isinstance(error, LedgerBusy | LedgerUnavailable):
        return 4
    return 3 if isinstance(error, BudgetExceeded) else 2

"""The application object and the one place where errors become messages."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from privet import __version__
from privet.errors import BudgetExceeded, LedgerBusy, LedgerTampered, LedgerUnavailable, PrivetError

app = typer.Typer(
    name="privet",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"privet {__version__}")
        raise typer.Exit


@app.callback(epilog="Start with: privet demo. Every command explains itself with --help.")
def privet(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
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
    try:
        app(args=None if arguments is None else list(arguments), prog_name="privet")
    except PrivetError as error:
        typer.echo(f"privet: {' '.join(str(error).split())}", err=True)
        sys.exit(_code(error))


def _code(error: PrivetError) -> int:
    if isinstance(error, LedgerTampered):
        return 5
    if isinstance(error, LedgerBusy | LedgerUnavailable):
        return 4
    return 3 if isinstance(error, BudgetExceeded) else 2

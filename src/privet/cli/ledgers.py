"""The common ground of the commands `privet ledger ...`: their group, their options, and how they open a ledger, read a
budget from options, print facts and write files that only their owner may read.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privet.cli.app import Commands, app
from privet.errors import InvalidParameter

if TYPE_CHECKING:
    from privet.ledger import Budget, Ledger


ledger_app = Commands(
    no_args_is_help=True,
    help="A budget that is kept: begin, show, verify, report, ration. Exit codes: 0 done, 1 violated, 2 usage, 3 refused "
    "by the budget, 4 store, 5 tampering.",
)
app.add_typer(ledger_app, name="ledger")

Url = Annotated[str, typer.Argument(help="A file, sqlite:///path or postgresql://host/database#schema.")]
EpsilonOption = Annotated[float | None, typer.Option(help="Budget: epsilon.", rich_help_panel="The budget")]
DeltaOption = Annotated[float, typer.Option(help="Budget: delta.", rich_help_panel="The budget")]
RhoOption = Annotated[float | None, typer.Option(help="Budget: rho of zCDP instead.", rich_help_panel="The budget")]
MuOption = Annotated[float | None, typer.Option(help="Budget: mu of GDP instead.", rich_help_panel="The budget")]
AnchorOption = Annotated[Path | None, typer.Option(help="The file of the anchor.", metavar="FILE")]
PublicKeyOption = Annotated[str | None, typer.Option(help="The key that must have signed the anchor.", metavar="HEX")]
CustodianOption = Annotated[
    Path | None, typer.Option(help="The key file of the custodian, where one is appointed.", metavar="FILE")
]
AnalystOption = Annotated[str | None, typer.Option(help="The name of an analyst.")]
GroupOption = Annotated[str | None, typer.Option(help="The name of a group.")]
ReasonOption = Annotated[str, typer.Option(help="Why; kept in the entry.")]


def open_ledger(
    url: str,
    anchor: Path | None = None,
    public_key: str | None = None,
    key: Path | None = None,
    *,
    read_only: bool = False,
    custodian: Path | None = None,
) -> "Ledger":
    """A ledger that exists, with the anchor and the custodian's key that were named.

    Three keys, which are easily confused: `key` is the file of the private key that signs new anchors, `public_key` the
    key (in hex) that must have signed the anchor, `custodian` the key file of the custodian, where one is appointed.
    """
    from privet.ledger import AnchorFile, Ledger

    place: AnchorFile | None = None
    if anchor is not None:
        place = AnchorFile(anchor.absolute(), key=key, public_key=public_key)
    ledger = Ledger.open(url, anchor=place, read_only=read_only)
    if custodian is not None:
        ledger.unlock(custodian)
    return ledger


def budget_of(epsilon: float | None, delta: float, rho: float | None, mu: float | None) -> "Budget | None":
    """The budget that the options name, or None: a delta alone, which has a default, names none."""
    from privet.ledger import Budget

    if epsilon is None and rho is None and mu is None:
        return None
    return Budget(epsilon, delta, rho=rho, mu=mu)


def print_facts(facts: list[tuple[str, str]]) -> None:
    """Print names and values, a line each."""
    from rich.console import Console

    from privet.report import facts_table

    Console(highlight=False).print(facts_table(facts, width=11))


def write_private(path: Path, text: str) -> None:
    """Write a file for its owner alone (0600), since requests, purposes and answers stand in it; replace what exists."""
    # A new file that then takes the name: nobody sees half of it, and the wider rights of an old file end with that file.
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(draft, path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise InvalidParameter(f"cannot write {path.name!r}: {error.strerror}") from None
    typer.echo(f"wrote {path}", err=True)

"""`privet ledger`, for the custodian: caps and rations, parts, suspension, closing, anchors, backups and moves."""

import json as json_text
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privet.cli import options as o
from privet.cli.ledgers import (
    AnalystOption,
    AnchorOption,
    CustodianOption,
    DeltaOption,
    EpsilonOption,
    GroupOption,
    MuOption,
    ReasonOption,
    RhoOption,
    Url,
    budget_of,
    ledger_app,
    open_ledger,
)
from privet.cli.output import print_json
from privet.errors import InvalidParameter

if TYPE_CHECKING:
    from privet.ledger import Ledger


custody_commands = ledger_app


@ledger_app.command(epilog="Example: privet ledger budget visits.ledger --analyst ann --epsilon 1")
def budget(
    url: Url,
    analyst: Annotated[str | None, typer.Option(help="Whose ration: an analyst, registered if new.")] = None,
    group: Annotated[str | None, typer.Option(help="Whose ration: a group, registered if new.")] = None,
    epsilon: EpsilonOption = None,
    delta: DeltaOption = 0.0,
    rho: RhoOption = None,
    mu: MuOption = None,
    reason: Annotated[str | None, typer.Option(help="Why a cap is raised; kept in the entry.")] = None,
    following: Annotated[bool, typer.Option("--next", help="Raise to the next budget of the schedule.")] = False,
    lower: Annotated[bool, typer.Option("--lower", help="Lower the cap instead.")] = False,
    anchor: AnchorOption = None,
    custodian: CustodianOption = None,
    json: o.JsonOption = False,
) -> None:
    """Show all caps; register an analyst or a group with a ration; raise or lower a cap. Every change is an entry.

    With --analyst and --group together the analyst joins the group.
    """
    from rich.console import Console

    from privet import report

    ledger = open_ledger(url, anchor, custodian=custodian)
    wanted = budget_of(epsilon, delta, rho, mu)
    if lower:
        if wanted is None:
            raise InvalidParameter("say to which budget: --lower --epsilon 1 --reason ...")
        ledger.lower_budget(wanted, analyst=analyst, group=None if analyst else group, reason=reason or "")
    elif analyst is not None or group is not None or wanted is not None or following:
        _change(ledger, wanted, analyst, group, reason)
    accounts = ledger.accounts()
    if json:
        print_json({scope: {"promise": each.promise, "spent": each.to_dict()} for scope, each in accounts.items()})
    else:
        Console(highlight=False).print(report.accounts_table(accounts))


def _change(ledger: "Ledger", wanted: Any, analyst: str | None, group: str | None, reason: str | None) -> None:
    known = ledger.policy
    if analyst is not None and analyst not in known.analysts:
        ledger.add_analyst(analyst, budget=wanted, group=group)
    elif analyst is None and group is not None and group not in known.groups:
        ledger.add_group(group, budget=wanted)
    else:
        ledger.raise_budget(wanted, analyst=analyst, group=None if analyst else group, reason=reason)


@ledger_app.command(epilog="Example: privet ledger checkpoint visits.ledger --anchor visits.anchor --key custodian.key")
def checkpoint(
    url: Url,
    anchor: Annotated[Path, typer.Option(help="Where the anchor is kept: best on another host.", metavar="FILE")],
    key: Annotated[Path | None, typer.Option(help="The Ed25519 key that signs.", metavar="FILE")] = None,
    new_key: Annotated[bool, typer.Option("--new-key", help="Make that key first.")] = False,
    json: o.JsonOption = False,
) -> None:
    """Sign the head of the ledger and keep it elsewhere, so that a cut tail or an old copy is seen."""
    from privet.ledger import new_signing_key

    if new_key:
        if key is None:
            raise InvalidParameter("say where the new key is to be kept: --key custodian.key")
        new_signing_key(key)
    made = open_ledger(url, anchor, None, key).checkpoint()
    if json:
        print_json(json_text.loads(made.to_json()))
    else:
        signed = f"signed by {made.public_key}" if made.signature else "not signed"
        typer.echo(f"anchored entry {made.seq} ({made.hash[:16]}…), {signed}")


@ledger_app.command(epilog="Example: privet ledger suspend visits.ledger --analyst ann --reason 'on leave'")
def suspend(
    url: Url,
    reason: ReasonOption,
    analyst: AnalystOption = None,
    group: GroupOption = None,
    resume: Annotated[bool, typer.Option("--resume", help="End a suspension instead.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the analyst for good instead.")] = False,
    anchor: AnchorOption = None,
    custodian: CustodianOption = None,
) -> None:
    """Grant an analyst or a group nothing until resumed; or resume; or remove an analyst for good."""
    ledger = open_ledger(url, anchor, custodian=custodian)
    if resume and remove:
        raise InvalidParameter("choose one: --resume or --remove")
    if remove:
        if analyst is None or group is not None:
            raise InvalidParameter("say who is removed: --remove --analyst ann")
        ledger.remove_analyst(analyst, reason=reason)
    elif resume:
        ledger.resume(analyst=analyst, group=group, reason=reason)
    else:
        ledger.suspend(analyst=analyst, group=group, reason=reason)
    typer.echo(f"{analyst or group}: {'removed' if remove else 'resumed' if resume else 'suspended'}")


@ledger_app.command(epilog="Example: privet ledger partition visits.ledger ward A B C")
def partition(
    url: Url,
    name: Annotated[str, typer.Argument(help="The name of the partition.")],
    parts: Annotated[list[str], typer.Argument(help="The names of its parts.")],
    per_person: Annotated[int, typer.Option(help="In how many parts one person can be.")] = 1,
    anchor: AnchorOption = None,
    custodian: CustodianOption = None,
) -> None:
    """Declare disjoint parts, before the first charge on one. That a person is in so many parts is your word."""
    made = open_ledger(url, anchor, custodian=custodian).open_partition(name, parts, per_person=per_person)
    typer.echo(f"{made.name}: {', '.join(made.parts)}; a person is in at most {made.per_person}, which nobody checks")


@ledger_app.command(epilog="Example: privet ledger close visits.ledger --reason 'the study has ended'")
def close(url: Url, reason: ReasonOption, anchor: AnchorOption = None, custodian: CustodianOption = None) -> None:
    """Grant nothing more, for good. Stored releases are still answered."""
    open_ledger(url, anchor, custodian=custodian).close_dataset(reason)
    typer.echo("closed")


@ledger_app.command(epilog="Example: privet ledger backup visits.ledger backup.ledger")
def backup(url: Url, path: Annotated[Path, typer.Argument(help="A new file.")], anchor: AnchorOption = None) -> None:
    """Write a verified copy while the ledger is in use. It is no second budget: see restore."""
    typer.echo(str(open_ledger(url, anchor, read_only=True).backup(path)))


@ledger_app.command(
    epilog="Example: privet ledger restore visits.ledger --source backup.ledger --anchor visits.anchor ..."
)
def restore(
    url: Url,
    reason: ReasonOption,
    source: Annotated[
        Path | None, typer.Option(help="The backup; else what lies there already.", metavar="FILE")
    ] = None,
    anchor: AnchorOption = None,
    key: Annotated[Path | None, typer.Option(help="The key that signs the anchor.", metavar="FILE")] = None,
    complete: Annotated[bool, typer.Option("--complete", help="You state that nothing was spent since.")] = False,
) -> None:
    """Go on with a copy. What was spent since is unknown: it counts as spent, unless an anchor or your word says more."""
    from privet.ledger import AnchorFile, Ledger

    place = None if anchor is None else AnchorFile(anchor.absolute(), key=key)
    ledger = Ledger.restore(url, source=source, anchor=place, reason=reason, complete=complete)
    typer.echo(ledger.remaining.headline)


@ledger_app.command(epilog="Example: privet ledger adopt visits.ledger --known visits.anchor --reason 'disk failed'")
def adopt(
    url: Url,
    reason: ReasonOption,
    known: Annotated[Path, typer.Option(help="The anchor whose sums count as spent.", metavar="FILE")],
    anchor: AnchorOption = None,
) -> None:
    """Count as spent what an anchor says, and what may have been spent after it."""
    from privet.ledger import AnchorFile

    found = AnchorFile(known.absolute()).read()
    if found is None:
        raise InvalidParameter(f"there is no anchor in {known.name!r}")
    ledger = open_ledger(url, anchor)
    ledger.adopt(found, reason=reason)
    typer.echo(ledger.remaining.headline)


@ledger_app.command(epilog="Example: privet ledger migrate visits.ledger 'postgresql://db/people#visits'")
def migrate(
    url: Url,
    to: Annotated[str, typer.Argument(help="The new address, where nothing is yet.")],
    anchor: AnchorOption = None,
    key: Annotated[Path | None, typer.Option(help="The key that signs the anchor.", metavar="FILE")] = None,
    custodian: CustodianOption = None,
) -> None:
    """Move to another store, entry by entry, hash by hash. The old one is closed when the new one is ready."""
    moved = open_ledger(url, anchor, None, key, custodian=custodian).migrate(to)
    typer.echo(f"moved to {moved!r}")

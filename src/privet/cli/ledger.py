"""`privet ledger`: begin, show, check, export, explain and ration a budget."""

import json as json_text
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privet.cli.base import app, check_plot, print_json
from privet.cli.base import options as o
from privet.cli.base.release import RelationName
from privet.errors import InvalidParameter

if TYPE_CHECKING:
    from privet.ledger import Budget, Ledger

__all__ = ["ledger_app"]

ledger_app = typer.Typer(
    no_args_is_help=True, help="A budget that is kept: begin, show, verify, export, explain, ration."
)
app.add_typer(ledger_app, name="ledger")

Url = Annotated[str, typer.Argument(help="A file, sqlite:///path or postgresql://host/database#schema.")]
EpsilonOption = Annotated[float | None, typer.Option(help="Budget: epsilon.", rich_help_panel="The budget")]
DeltaOption = Annotated[float, typer.Option(help="Budget: delta.", rich_help_panel="The budget")]
RhoOption = Annotated[float | None, typer.Option(help="Budget: rho of zCDP instead.", rich_help_panel="The budget")]
MuOption = Annotated[float | None, typer.Option(help="Budget: mu of GDP instead.", rich_help_panel="The budget")]
AnchorOption = Annotated[Path | None, typer.Option(help="The file of the anchor.", metavar="FILE")]
PublicKeyOption = Annotated[str | None, typer.Option(help="The key that must have signed the anchor.", metavar="HEX")]


def _open(
    url: str,
    anchor: Path | None = None,
    public_key: str | None = None,
    key: Path | None = None,
    *,
    read_only: bool = False,
) -> "Ledger":
    from privet.ledger import AnchorFile, Ledger

    place: AnchorFile | None = None
    if anchor is not None:
        place = AnchorFile(anchor.absolute(), key=key, public_key=public_key)
    return Ledger.open(url, anchor=place, read_only=read_only)


def _budget(epsilon: float | None, delta: float, rho: float | None, mu: float | None) -> "Budget | None":
    from privet.ledger import Budget

    if epsilon is None and rho is None and mu is None:
        return None
    return Budget(epsilon, delta, rho=rho, mu=mu)


def _print_facts(facts: list[tuple[str, str]]) -> None:
    from rich.console import Console

    from privet.report import facts_table

    Console(highlight=False).print(facts_table(facts, width=11))


@ledger_app.command(epilog="Example: privet ledger init visits.ledger --epsilon 3 --delta 1e-6 --dataset visits")
def init(
    url: Url,
    epsilon: EpsilonOption = None,
    delta: DeltaOption = 0.0,
    rho: RhoOption = None,
    mu: MuOption = None,
    dataset: Annotated[str, typer.Option(help="The name of the data set.")] = "default",
    relation: Annotated[RelationName, typer.Option(help="What one person is.")] = "add_remove",
    group_size: Annotated[int, typer.Option(help="Records of one person that change at once.")] = 1,
    person: Annotated[str | None, typer.Option(help="The column that names a person.")] = None,
    json: o.JsonOption = False,
) -> None:
    """Begin a ledger. One ledger is one data set, with all its views, versions and copies."""
    from privet.ledger import Ledger
    from privet.privacy import Unit

    budget = _budget(epsilon, delta, rho, mu)
    if budget is None:
        raise InvalidParameter("a new ledger needs a budget: --epsilon 3 --delta 1e-6, --rho 0.1 or --mu 0.5")
    ledger = Ledger.create(url, budget=budget, dataset=dataset, unit=Unit(relation, group_size, person))
    facts = [("Data set", ledger.dataset), ("Promise", budget.describe()), ("One person", ledger.unit.describe())]
    if json:
        named = {name.lower().replace(" ", "_"): value for name, value in facts}
        print_json({"ledger": ledger.policy.ledger, **named})
    else:
        _print_facts(facts)


@ledger_app.command(epilog="Example: privet ledger show visits.ledger --plot budget.png")
def show(
    url: Url,
    anchor: AnchorOption = None,
    public_key: PublicKeyOption = None,
    total: Annotated[float | None, typer.Option(help="Also total all losses, at this delta.", metavar="DELTA")] = None,
    json: o.JsonOption = False,
    plot: o.PlotOption = None,
) -> None:
    """What is promised, spent and left, in numbers and in words; analysts, orphans, the last anchor."""
    check_plot(plot)
    from rich.console import Console

    from privet import report

    ledger = _open(url, anchor, public_key, read_only=True)
    status = report.ledger_status(ledger)
    bound = None if total is None else ledger.total(delta=total)
    if json:
        print_json({**status.to_dict(), "total": None if bound is None else {"epsilon": bound.upper, "delta": total}})
    else:
        _print_facts(status.facts())
        Console(highlight=False).print(report.accounts_table(status.accounts))
        if bound is not None:
            typer.echo(
                f"If every loss had been fixed in advance, all of it would be epsilon {bound} at delta {total:g}."
            )
    if plot is not None:
        report.save_figure(report.budget_figure(ledger), plot)
        typer.echo(f"wrote {plot}", err=True)


@ledger_app.command(epilog="Example: privet ledger verify visits.ledger --anchor visits.anchor")
def verify(
    url: Url,
    anchor: AnchorOption = None,
    public_key: PublicKeyOption = None,
    head: Annotated[str | None, typer.Option(help="A hash that the chain must contain.", metavar="HEX")] = None,
    json: o.JsonOption = False,
) -> None:
    """Read everything again: the chain, every sum, the balance cache, the anchor. Exit code 2 names the first bad entry."""
    result = _open(url, anchor, public_key, read_only=True).verify(head=head)
    if json:
        print_json(result.to_dict())
    else:
        typer.echo(str(result))


@ledger_app.command(epilog="Example: privet ledger export visits.ledger --out visits.json")
def export(url: Url, out: Annotated[Path | None, typer.Option(help="Write to a file.", metavar="FILE")] = None) -> None:
    """The whole ledger as one JSON document, stored releases included."""
    document = _open(url, read_only=True).export()
    if out is None:
        print_json(document)
        return
    try:
        out.write_text(json_text.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise InvalidParameter(f"cannot write {out.name!r}: {error.strerror}") from None
    typer.echo(f"wrote {out}", err=True)


@ledger_app.command(epilog="Example: privet ledger explain visits.ledger 2")
def explain(
    url: Url, seq: Annotated[int, typer.Argument(help="The number of the entry.")], json: o.JsonOption = False
) -> None:
    """One entry in words: who, when, what was asked, what it cost in every account, what it paid for."""
    from privet import report

    told = _open(url, read_only=True).explain(seq)
    if json:
        print_json(_without_infinity(told.to_dict()))
    else:
        _print_facts(report.explanation_facts(told))


def _without_infinity(value: Any) -> Any:
    """JSON has no infinity; what has no finite amount is null."""
    if isinstance(value, dict):
        return {name: _without_infinity(each) for name, each in value.items()}
    return None if value == float("inf") else value


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
    json: o.JsonOption = False,
) -> None:
    """Show all caps; register an analyst or a group with a ration; raise a cap. Every change is an entry.

    With --analyst and --group together the analyst joins the group.
    """
    from rich.console import Console

    from privet import report

    ledger = _open(url)
    wanted = _budget(epsilon, delta, rho, mu)
    if analyst is not None or group is not None or wanted is not None or following:
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
    made = _open(url, anchor, None, key).checkpoint()
    if json:
        print_json(json_text.loads(made.to_json()))
    else:
        signed = f"signed by {made.public_key}" if made.signature else "not signed"
        typer.echo(f"anchored entry {made.seq} ({made.hash[:16]}…), {signed}")

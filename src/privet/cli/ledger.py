"""`privet ledger`: begin, show, check, export, explain, list, report and preview a budget."""

import json as json_text
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from privet.cli import options as o
from privet.cli.ledgers import (
    AnalystOption,
    AnchorOption,
    DeltaOption,
    EpsilonOption,
    MuOption,
    PublicKeyOption,
    RhoOption,
    Url,
    budget_of,
    ledger_app,
    open_ledger,
    print_facts,
    write_private,
)
from privet.cli.losses import RelationName, Release
from privet.cli.output import check_plot, print_json
from privet.cli.release import release_command
from privet.errors import InvalidParameter, LedgerTampered


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

    budget = budget_of(epsilon, delta, rho, mu)
    if budget is None:
        raise InvalidParameter("a new ledger needs a budget: --epsilon 3 --delta 1e-6, --rho 0.1 or --mu 0.5")
    ledger = Ledger.create(url, budget=budget, dataset=dataset, unit=Unit(relation, group_size, person))
    facts = [("Data set", ledger.dataset), ("Promise", budget.describe()), ("One person", ledger.unit.describe())]
    if json:
        named = {name.lower().replace(" ", "_"): value for name, value in facts}
        print_json({"ledger": ledger.policy.ledger, **named})
    else:
        print_facts(facts)


@ledger_app.command(epilog="Example: privet ledger show visits.ledger --plot budget.png")
def show(
    url: Url,
    anchor: AnchorOption = None,
    public_key: PublicKeyOption = None,
    total: Annotated[float | None, typer.Option(help="Also total all losses, at this delta.", metavar="DELTA")] = None,
    json: o.JsonOption = False,
    plot: o.PlotOption = None,
) -> None:
    """Show what is promised, spent and left, in numbers and in words; analysts, orphans, the last anchor."""
    check_plot(plot)
    from rich.console import Console

    from privet import report

    ledger = open_ledger(url, anchor, public_key, read_only=True)
    status = report.ledger_status(ledger)
    bound = None if total is None else ledger.total(delta=total)
    if json:
        print_json({**status.to_dict(), "total": None if bound is None else {"epsilon": bound.upper, "delta": total}})
    else:
        print_facts(status.facts())
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
    values: Annotated[bool, typer.Option("--values", help="Also read the large values beside the chain.")] = False,
    json: o.JsonOption = False,
) -> None:
    """Read everything again: the chain, every sum, the balance cache, the anchor; of an export (a .json file) all but the
    last two, without the store. Exit code 5 names the first bad entry, 1 means that a charge is below its price.
    """
    if url.endswith(".json"):
        from privet.ledger import verify_export

        result = verify_export(_document(Path(url)), head)
    else:
        result = open_ledger(url, anchor, public_key, read_only=True).verify(head=head, values=values)
    if json:
        print_json(result.to_dict())
    else:
        typer.echo(str(result))
    if result.underpriced:
        raise typer.Exit(1)


def _document(path: Path) -> Any:
    try:
        return json_text.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidParameter(f"cannot read {path.name!r}: {error.strerror}") from None
    except ValueError:
        raise LedgerTampered(f"{path.name!r} is not JSON: the export was cut or edited") from None


@ledger_app.command(epilog="Example: privet ledger export visits.ledger --out visits.json")
def export(url: Url, out: Annotated[Path | None, typer.Option(help="Write to a file.", metavar="FILE")] = None) -> None:
    """The whole ledger as one JSON document, stored releases included."""
    document = open_ledger(url, read_only=True).export()
    if out is None:
        print_json(document)
        return
    write_private(out, json_text.dumps(document, indent=1, allow_nan=False) + "\n")


@ledger_app.command(epilog="Example: privet ledger explain visits.ledger 2")
def explain(
    url: Url, seq: Annotated[int, typer.Argument(help="The number of the entry.")], json: o.JsonOption = False
) -> None:
    """One entry in words: who, when, what was asked, what it cost in every account, what it paid for."""
    from privet import report

    told = open_ledger(url, read_only=True).explain(seq)
    if json:
        print_json(_without_infinity(told.to_dict()))
    else:
        print_facts(report.explanation_facts(told))


def _without_infinity(value: object) -> Any:
    """JSON has no infinity; what has no finite amount is null."""
    if isinstance(value, dict):
        return {name: _without_infinity(each) for name, each in value.items()}
    return None if value == float("inf") else value


@ledger_app.command(epilog="Example: privet ledger log visits.ledger --csv --out visits.csv")
def log(
    url: Url,
    charges: Annotated[bool, typer.Option("--charges", help="Only charges, no acts of the custodian.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Comma-separated values, all columns.")] = False,
    json: o.JsonOption = False,
    out: Annotated[Path | None, typer.Option(help="Write to a file.", metavar="FILE")] = None,
) -> None:
    """Every charge with date, analyst, purpose and price, and every act, oldest first."""
    from privet import report

    entries = report.ledger_log(open_ledger(url, read_only=True), acts=not charges)
    if csv:
        text = report.ledger_csv(entries)
    elif json:
        text = json_text.dumps([report.log_columns(each) for each in entries], indent=2) + "\n"
    else:
        text = "".join(f"{each}\n" for each in entries)
    if out is not None:
        write_private(out, text)
    else:
        typer.echo(text, nl=False)


@ledger_app.command("report", epilog="Example: privet ledger report visits.ledger --html visits.html")
def report_command(
    url: Url,
    page: Annotated[Path, typer.Option("--html", help="Write a web page that loads nothing.", metavar="FILE")],
    anchor: AnchorOption = None,
    public_key: PublicKeyOption = None,
) -> None:
    """The whole ledger for a regulator or the people in the data, as one web page. Exit code 5 if it was tampered with."""
    from privet import report

    ledger = open_ledger(url, anchor, public_key, read_only=True)
    write_private(page, report.ledger_page(ledger))
    ledger.verify()


@release_command(
    ledger_app, epilog="Example: privet ledger preview visits.ledger gaussian --noise-multiplier 50 --at 1e-9"
)
def preview(
    url: Url,
    release: Release,
    at: Annotated[float | None, typer.Option(help="Charge it as one point at this delta.", metavar="DELTA")] = None,
    analyst: AnalystOption = None,
    part: Annotated[str | None, typer.Option(help="A part of a partition.")] = None,
    json: o.JsonOption = False,
) -> None:
    """Say what a release would cost, what it would leave and which rules it would end. Pays nothing; exit code 3:
    refused."""
    ledger = open_ledger(url, read_only=True)
    asked = release if release.json_loss else replace(release, relation=release.relation or ledger.unit.relation)
    told = ledger.preview(asked.loss(), analyst=analyst, part=part, at=at)
    if json:
        left = None if told.after is None else told.after.to_dict()
        many = None if told.fits == float("inf") else told.fits
        facts = {"allowed": told.allowed, "fits": many, "ends": list(told.ends), "at": told.at, "after": left}
        print_json({**facts, "refusal": told.refusal, "headline": (told.after or told.before).headline})
    else:
        typer.echo(str(told))
    if not told.allowed:
        raise typer.Exit(3)

"""`privet synth`: synthetic rows for a file, by its schema, paid from a ledger."""

import os
from glob import glob
from pathlib import Path
from typing import Annotated, Any

import typer

from privet.cli import options as o
from privet.cli.app import app
from privet.cli.ledgers import open_ledger
from privet.cli.output import print_json, progress, refuse_unwritable, stoppable
from privet.errors import InvalidParameter

_EXAMPLES = """\
Examples (begin with: privet table draft visits.csv --out visits.toml, and fill in the bounds):

  privet synth visits.parquet --schema visits.toml --epsilon 1 --delta 1e-9 --preview

  privet synth visits.parquet --schema visits.toml --epsilon 1 --delta 1e-9 --ledger visits.ledger --out synthetic.parquet

  privet synth visits.parquet --schema visits.toml --model AIM --workload 3 --epsilon 1 --delta 1e-9 --ledger
  visits.ledger --out synthetic.csv --evaluate holdout.parquet
"""
_UNASKED = 10**6  # rows that are drawn at most where --n is not given: a small budget may say billions
_MODELS = ("MST", "AIM", "MWEMGraph", "Independent")
_WITH_WORKLOAD = ("AIM", "MWEMGraph")


@app.command(epilog=_EXAMPLES)
def synth(
    file: Annotated[str, typer.Argument(help="A Parquet or CSV file, or several by a pattern such as 'visits-*.csv'.")],
    schema: Annotated[Path, typer.Option(help="What the columns may contain, such as visits.toml.", metavar="FILE")],
    model: Annotated[str, typer.Option(help=f"One of {', '.join(_MODELS)}, such as AIM.")] = "MST",
    workload: Annotated[
        int | None, typer.Option(help="Of AIM and MWEMGraph: all tables of so many columns shall be good, such as 3.")
    ] = None,
    bins: Annotated[int, typer.Option(help="Into how many bins a column of fractions is cut, such as 16.")] = 32,
    n: Annotated[
        int | None,
        typer.Option(
            "--n",
            min=1,
            max=10**8,
            help="How many rows to draw, such as 10000; as many as were paid for, up to a million, if not given.",
        ),
    ] = None,
    epsilon: o.PaidEpsilonOption = None,
    delta: Annotated[
        float, typer.Option(help="... at this delta, such as 1e-9 (0: pure).", rich_help_panel=o.PAYING)
    ] = 0.0,
    ledger: o.PayerOption = None,
    key: o.FitKeyOption = None,
    preview: Annotated[
        bool, typer.Option("--preview", help="Say what would be done and paid; nothing is read or paid.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Where the rows go, such as synthetic.parquet or .csv.", metavar="FILE")
    ] = None,
    evaluate: Annotated[
        str | None,
        typer.Option(help="A holdout or public file to compare with exactly, such as holdout.parquet.", metavar="FILE"),
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="A page about all columns, such as synthetic.html.", metavar="FILE")
    ] = None,
    json: o.JsonOption = False,
    separator: o.SeparatorOption = None,
    decimal: o.DecimalOption = None,
) -> None:
    """Synthetic rows for a table, from a model that is fitted privately and paid from a ledger."""
    from privet import synth as room
    from privet.queries import Table
    from privet.tables import Coded, drawn_salts

    made = _synthesizer(room, model, workload, bins)
    table = Table(file, schema=schema, separator=o.mark(separator), decimal=o.mark(decimal))
    if preview:
        plan = made.plan(table, epsilon=epsilon, delta=delta)
        facts = {"model": model, "plan": plan.describe(), "protects": table.rows.unit.describe()}
        size = {"noise on a count": f"{plan.expected_error:.4g}", "bytes of the model": f"at most {plan.max_bytes:,}"}
        _tell(facts | size, json)
        return
    if ledger is None:
        raise InvalidParameter("who pays? Give --ledger FILE; begin one with: privet ledger init FILE --epsilon 3")
    _refuse_unwritable(out, page)
    _refuse_overwriting((out, page), (*glob(file), schema, ledger, *glob(evaluate or "")))
    _refuse_private_holdout(file, evaluate)
    holdout = (
        None
        if evaluate is None
        else Table(evaluate, schema=schema, separator=o.mark(separator), decimal=o.mark(decimal))
    )
    if holdout is not None:  # a file that cannot be compared with is seen before paying
        coding = made.plan(table, epsilon=epsilon, delta=delta).task.coded.coding
        holdout.data.exact_marginals(Coded(holdout.rows, coding), [()], drawn_salts())
    with stoppable(), progress():
        fitted = made.fit(table, epsilon=epsilon, delta=delta, ledger=open_ledger(ledger), key=key)
    rows = fitted.sample(n if n is not None else min(round(fitted.total), _UNASKED))
    if n is None and fitted.total > _UNASKED:
        typer.echo(f"{_UNASKED:,} rows were drawn of a paid total of {fitted.total:,.0f}: --n asks for more", err=True)
    if out is not None:
        room.write_table(rows.columns(), out)
    _show(model, fitted, rows, holdout, page, json)


def _synthesizer(room: object, model: str, workload: int | None, bins: int) -> Any:
    if model not in _MODELS:
        raise InvalidParameter(f"--model must be one of {', '.join(_MODELS)}")
    if workload is None:
        return getattr(room, model)(bins=bins)
    if model not in _WITH_WORKLOAD:
        raise InvalidParameter(f"--workload is for --model {' and '.join(_WITH_WORKLOAD)}")
    return getattr(room, model)(bins=bins, workload=workload)


def _show(model: str, fitted: Any, rows: Any, holdout: Any, page: Path | None, json: bool) -> None:
    from privet import report, synth

    far = {}
    if holdout is not None:
        ways = range(1, min(3, len(rows.coding.names)) + 1)
        far = {str(way): synth.exact_distances(rows, holdout, way=way).mean for way in ways}
    if page is not None:
        told = [("Model", model), ("Price", str(fitted.privacy_))]
        page.write_text(report.synth_page(rows, beside=holdout, facts=told), encoding="utf-8")
    if json:
        facts = {"model": model, "rows": len(rows), "privacy": fitted.privacy_.to_dict()}
        print_json(facts | ({"distance": far} if far else {}))
        return
    typer.echo(f"{model}: {len(rows):,} synthetic rows of {', '.join(rows.coding.names)}")
    typer.echo(str(fitted.privacy_))
    for way, each in far.items():
        typer.echo(f"mean distance of the tables of {way} columns from the other file: {each:.4g}")


def _tell(facts: dict[str, Any], json: bool) -> None:
    if json:
        print_json(facts)
        return
    for name, value in facts.items():
        typer.echo(f"{name}: {value}")


def _refuse_overwriting(written: tuple[Path | None, ...], given: tuple[str | Path, ...]) -> None:
    """Rows and pages take the place of no file that was handed in: the private table above all."""
    for path in written:
        if path is not None and path.exists() and any(os.path.exists(each) and path.samefile(each) for each in given):
            raise InvalidParameter(f"{str(path)!r} is a file that was handed in; name another one. Nothing was paid")


def _refuse_private_holdout(file: str, evaluate: str | None) -> None:
    """A refusal to compare exactly with a file that is protected: that figure would have no noise and no price."""
    private = [each for each in glob(file) if os.path.exists(each)]
    if any(os.path.samefile(each, other) for each in glob(evaluate or "") for other in private):
        raise InvalidParameter(
            "--evaluate compares exactly, and names the private file itself: give a holdout that was set aside, or ask "
            "for the distance with noise (synth.distance). Nothing was paid"
        )


def _refuse_unwritable(out: Path | None, page: Path | None) -> None:
    """A refusal of what cannot be written, before it is paid for: it would be lost."""
    from privet.synth import check_table_file

    if out is not None:
        check_table_file(out)
        if page is not None and out.resolve() == page.resolve():
            raise InvalidParameter("--out and --page name one file: the page would take the place of the rows")
    for path in (out, page):
        refuse_unwritable(path, "fitted")

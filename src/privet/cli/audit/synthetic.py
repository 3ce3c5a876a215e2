"""`privet audit synthetic`: what a synthetic table gives away about the people behind it, beside people who were not."""

from pathlib import Path
from typing import Annotated

import typer

from privet.cli import options as o
from privet.cli.audit.shared import LevelOption, audit_app, columns_of, numbers_of, read
from privet.cli.output import check_plot, print_json

_EXAMPLES = """\
Examples (begin with: privet table draft real.csv --out real.toml, and fill in the bounds):

  privet audit synthetic real.parquet made.parquet --schema real.toml --holdout others.parquet --secret ill

  privet audit synthetic real.csv made.csv --schema real.toml --holdout others.csv --secret ill --known age,sex --json
"""


@audit_app.command("synthetic", epilog=_EXAMPLES)
def synthetic_rates(
    real: Annotated[Path, typer.Argument(metavar="FILE", help="The rows behind the synthetic table.")],
    made: Annotated[Path, typer.Argument(metavar="FILE", help="The synthetic table.")],
    schema: Annotated[Path, typer.Option(metavar="FILE", help="What the columns may contain, such as real.toml.")],
    holdout: Annotated[
        Path, typer.Option(metavar="FILE", help="People of the same kind who were not in it, such as others.parquet.")
    ],
    secret: Annotated[str, typer.Option(help="The column that is guessed, such as ill.")],
    known: Annotated[
        str | None, typer.Option(help="Columns that one source has, the rest being in another, such as age,sex.")
    ] = None,
    guesses: Annotated[int, typer.Option(help="How many people are attacked, such as 400.")] = 400,
    alpha: LevelOption = 0.05,
    json: o.JsonOption = False,
    plot: o.PlotOption = None,
) -> None:
    """Singling out, linkability and inference, each beside the same on people who were not in the data.

    Exit code 1 if one of them succeeds more often on people in the data, beyond its interval. Exact, for the custodian.
    """
    from privet import audit, report
    from privet.tables import read_schema

    check_plot(plot)
    columns = read_schema(read(schema))[0]
    tables = [columns_of(path, numbers_of(columns)) for path in (real, made, holdout)]
    chosen = None if known is None else [name.strip() for name in known.split(",") if name.strip()]
    found = audit.exact_synthetic_rates(*tables, secret=secret, known=chosen, guesses=guesses, alpha=alpha)
    if plot is not None:
        report.save_figure(report.rates_figure(found, name=made.name), plot)
    if json:
        print_json(found.to_dict())
    else:
        typer.echo(found.explain())
    if found.accused:
        raise typer.Exit(1)

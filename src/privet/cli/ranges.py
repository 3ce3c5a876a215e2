"""The command `privet ranges plan`: the strategy that answers all range queries best, before anything is paid."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from privet.cli.app import Commands, app
from privet.cli.output import check_plot, print_json
from privet.cli.release import whole_number

ranges_app = Commands(name="ranges", no_args_is_help=True, help="All range queries of a histogram at once.")
app.add_typer(ranges_app)

_EXAMPLES = """\
Examples:

  privet ranges plan --domain 1024 --epsilon 1

  privet ranges plan --domain 1024 --workload prefix --epsilon 1 --delta 1e-6

  privet ranges plan --domain 1e6 --rho 0.1 --json

  privet ranges plan --domain 256 --epsilon 1 --plot errors.png
"""


@ranges_app.command(epilog=_EXAMPLES)
def plan(
    domain: Annotated[int, typer.Option(help="Cells of the histogram.", parser=whole_number, metavar="INTEGER")],
    workload: Annotated[Literal["ranges", "prefix", "cells"], typer.Option(help="What is asked.")] = "ranges",
    epsilon: Annotated[float | None, typer.Option(help="Budget: epsilon ...")] = None,
    delta: Annotated[float, typer.Option(help="... at this delta (0: pure).")] = 0.0,
    rho: Annotated[float | None, typer.Option(help="Instead: rho of zCDP.")] = None,
    mu: Annotated[float | None, typer.Option(help="Instead: mu of Gaussian DP.")] = None,
    relation: Annotated[
        Literal["add_remove", "replace"], typer.Option(help="Which two data sets are neighbours.")
    ] = "add_remove",
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw errors by the length of a range: .png, .svg or .pdf.", metavar="FILE")
    ] = None,
) -> None:
    """Plan the error of answers to every range. No data is needed and nothing is paid."""
    check_plot(plot)
    from privet.privacy import Unit
    from privet.workloads import AllRanges, Points, Prefix, RangeQueries

    asked = AllRanges(domain) if workload == "ranges" else Prefix(domain) if workload == "prefix" else Points(domain)
    queries = RangeQueries(workload=asked, unit=Unit(relation))
    promise = {"epsilon": epsilon, "delta": delta or None, "rho": rho, "mu": mu}
    found = queries.plan(**{name: value for name, value in promise.items() if value is not None})  # type: ignore[arg-type]
    if json:
        print_json(found.to_dict())
    else:
        typer.echo(found.explain())
    if plot is not None:
        from privet import report

        best: dict[str, Any] = {}
        for each in found.candidates[:4]:  # best first; of candidates with one description the better one is drawn
            best.setdefault(each.mechanism.strategy.describe(), each.mechanism)
        report.save_figure(report.range_error_figure(best), plot)
        typer.echo(f"wrote {plot}", err=True)

"""`privet ranges plan`: which strategy answers all range queries best, before anything is paid."""

from typing import Annotated, Literal

import typer

from privet.cli.app import app
from privet.cli.options import whole_number
from privet.cli.output import print_json

ranges_app = typer.Typer(name="ranges", no_args_is_help=True, help="All range queries of a histogram at once.")
app.add_typer(ranges_app)

_EXAMPLES = """\
Examples:

  privet ranges plan --domain 1024 --epsilon 1

  privet ranges plan --domain 1024 --workload prefix --epsilon 1 --delta 1e-6

  privet ranges plan --domain 1e6 --rho 0.1 --json
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
) -> None:
    """What would it cost in error to answer every range? No data is needed and nothing is paid."""
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

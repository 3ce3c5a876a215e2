"""`privet pate`: what the labels of teachers cost, before anything is trained."""

from dataclasses import asdict
from typing import Annotated

import typer

from privet.cli.app import Commands, app
from privet.cli.output import print_json
from privet.cli.release import whole_number

pate_app = Commands(name="pate", no_args_is_help=True, help="Teachers of private parts, whose noisy votes are labels.")
app.add_typer(pate_app)

_BUDGETS = (1.0, 2.0, 4.0, 8.0)  # that are shown where none is asked for
_PLAN = """\
Examples:

  privet pate plan --teachers 250 --queries 640 --answers 286 --sigma 40

  privet pate plan --teachers 250 --queries 640 --answers 286 --sigma 40 --threshold 200 --sigma1 150

  privet pate plan --teachers 100 --queries 400 --sigma 100 --classes 2 --epsilon 1 --json
"""


@pate_app.command(epilog=_PLAN)
def plan(
    teachers: Annotated[int, typer.Option(help="Number of teachers.", parser=whole_number, metavar="INTEGER")],
    queries: Annotated[int, typer.Option(help="Queries that are tried.", parser=whole_number, metavar="INTEGER")],
    sigma: Annotated[float, typer.Option(help="Deviation of the noise on every count of votes.")],
    answers: Annotated[
        int | None,
        typer.Option(
            help="The most that are answered: all queries unless it is said.", parser=whole_number, metavar="INTEGER"
        ),
    ] = None,
    classes: Annotated[int, typer.Option(help="Number of classes.", parser=whole_number, metavar="INTEGER")] = 10,
    threshold: Annotated[float | None, typer.Option(help="Votes that a query needs to be answered.")] = None,
    sigma1: Annotated[float | None, typer.Option(help="Deviation of the noise on the threshold.")] = None,
    delta: Annotated[float, typer.Option(help="Probability that the promise does not cover.")] = 1e-5,
    epsilon: Annotated[float | None, typer.Option(help="A budget: how many labels does it buy?")] = None,
    majority: Annotated[
        int | None,
        typer.Option(help="Votes of the largest class: how often does it win?", parser=whole_number, metavar="INTEGER"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """The price of labels, how many a budget buys, and how often a majority wins. No data is needed, nothing is paid, and
    the price is the one that a ledger is charged."""
    from privet import pate

    planned = pate.VotePlan(
        teachers=teachers,
        queries=queries,
        answers=queries if answers is None else answers,
        sigma=sigma,
        classes=classes,
        threshold=threshold,
        sigma1=sigma1,
    )
    cost = planned.epsilon(delta=delta)
    budgets = _BUDGETS if epsilon is None else (epsilon,)
    bought = [(each, planned.labels(epsilon=each, delta=delta)) for each in budgets]
    wins = planned.majorities(None if majority is None else [majority])
    if json:
        labels = [{"epsilon": each, "labels": many} for each, many in bought]
        shown = {"epsilon": cost, "delta": delta, "labels": labels, "majorities": [asdict(each) for each in wins]}
        print_json({"format": "privet pate plan", **asdict(planned), **shown})
        return
    asked = f"the first {planned.answers:,}" if threshold is None else f"at most {planned.answers:,}"
    typer.echo(f"{asked} of {queries:,} queries answered by {teachers:,} teachers, noise {sigma:g} on every count")
    if threshold is not None:
        typer.echo(f"only where {threshold:g} votes are reached, with noise {sigma1:g}")
    typer.echo(f"price: epsilon {cost:.6g} at delta {delta:g}, whatever the votes are")
    for each, many in bought:
        typer.echo(f"a budget of epsilon {each:g} buys {many:,} labels")
    typer.echo(f"{'majority':>10}{'wins against one':>20}{'against all others':>20}{'answered':>12}")
    for won in wins:
        typer.echo(f"{won.votes:>10,}{won.against_one:>20.2%}{won.against_all:>20.2%}{won.answered:>12.2%}")

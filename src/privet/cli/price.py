"""`privet price`: what a release costs."""

from typing import Annotated

import typer

from privet.cli import options as o
from privet.cli.app import app
from privet.cli.losses import Release, accountant_named
from privet.cli.output import check_plot, print_json, show_quote, write_plot
from privet.cli.release import release_command
from privet.errors import InvalidParameter

_EXAMPLES = """\
Examples:

  privet price gaussian --noise-multiplier 4 --q 0.01 --steps 10000 --delta 1e-5

  privet price laplace --scale 10 --steps 365 --delta 1e-6 --json

  privet price k-rr --epsilon0 2 --k 10 --shuffled 10000 --delta 1e-6

  privet price gaussian --noise-multiplier 1.1 --sample-size 256 --population 60000 --steps 14062 --delta 1e-5

  privet price k-rr --k 10 --epsilon0 1 --epsilon 0.5

  privet price --json-loss price.json --delta 1e-6 --plot price.png
"""


@release_command(app, epilog=_EXAMPLES)
def price(
    release: Release,
    delta: Annotated[
        float | None, typer.Option(help="Ask for epsilon at this delta.", rich_help_panel="The question")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Ask for delta at this epsilon.", rich_help_panel="The question")
    ] = None,
    accountant: o.AccountantOption = "auto",
    tol: o.TolOption = None,
    json: o.JsonOption = False,
    plot: o.PlotOption = None,
    picture: o.PictureOption = "profile",
) -> None:
    """Price a release. No data is needed.

    Prints the certified epsilon at a delta (or delta at an epsilon), how it was counted, and what it means for one
    person.
    """
    check_plot(plot)
    loss = release.loss()
    if (delta is None) == (epsilon is None):
        raise InvalidParameter(
            "ask one question: --delta 1e-5 (the answer is epsilon) or --epsilon 1 (the answer is delta)"
        )
    counted = accountant_named(accountant, tol)

    from privet.report import quote

    answer = quote(loss, delta=delta, epsilon=epsilon, accountant=counted, ladder=accountant == "auto")
    if json:
        print_json(answer.to_dict())
    else:
        show_quote(answer)
    write_plot(answer, plot, picture)

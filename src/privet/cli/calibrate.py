"""`privet calibrate`: how much noise, how many steps or how large a sample a target allows."""

from typing import Annotated, Literal

import typer

from privet.cli import options as o
from privet.cli.app import app
from privet.cli.kinds import kinds
from privet.cli.losses import Release, accountant_named
from privet.cli.output import check_plot, print_json, show_quote, write_plot
from privet.cli.release import release_command
from privet.errors import InvalidParameter

_EXAMPLES = """\
Examples:

  privet calibrate gaussian --epsilon 3 --delta 1e-5 --q 0.00427 --steps 14062

  privet calibrate laplace --epsilon 1 --delta 0 --steps 10

  privet calibrate gaussian --find steps --noise-multiplier 1 --q 0.01 --epsilon 2 --delta 1e-5

  privet calibrate gaussian --advantage 0.1 --delta 1e-5 --steps 100 --json
"""

_TARGET = "The target"
_BOUNDS = {"q": (1e-9, 1.0), "steps": (1.0, 1e9)}


@release_command(app, epilog=_EXAMPLES)
def calibrate(
    release: Release,
    find: Annotated[
        Literal["noise", "steps", "q"],
        typer.Option(
            help="What to look for: the kind's own parameter, the most steps, or the largest q.",
            rich_help_panel=_TARGET,
        ),
    ] = "noise",
    epsilon: Annotated[
        float | None, typer.Option(help="Stay at or below this epsilon ...", rich_help_panel=_TARGET)
    ] = None,
    delta: Annotated[float | None, typer.Option(help="... at this delta.", rich_help_panel=_TARGET)] = None,
    advantage: Annotated[
        float | None,
        typer.Option(help="Instead: no attack's advantage exceeds this.", rich_help_panel=_TARGET),
    ] = None,
    tpr: Annotated[
        float | None,
        typer.Option(help="Instead: no attack's true-positive rate exceeds this ...", rich_help_panel=_TARGET),
    ] = None,
    fpr: Annotated[float | None, typer.Option(help="... at this false-positive rate.", rich_help_panel=_TARGET)] = None,
    accountant: o.AccountantOption = "auto",
    json: o.JsonOption = False,
    plot: o.PlotOption = None,
    picture: o.PictureOption = "profile",
) -> None:
    """Which noise meets a target? The least that does, on the safe side of the target.

    The value that is printed is then priced on its own, and that price is shown. --delta is always needed: the result
    is stated at it.
    """
    check_plot(plot)
    if delta is None:
        raise InvalidParameter("calibrate needs --delta, at which the result is stated (0 for pure epsilon)")
    option = _sought(release, find)
    counted = None if accountant == "auto" else accountant_named(accountant, None)

    from privet.report import calibration, quote

    found = calibration(
        lambda value: release.with_value(option, value).loss(),
        parameter=option,
        delta=delta,
        epsilon=epsilon,
        advantage=advantage,
        tpr=tpr,
        fpr=fpr,
        more_is_cheaper=None if find == "noise" else False,
        bounds=_BOUNDS.get(find),
        integer=find == "steps",
        accountant=counted,
    )
    answer = quote(release.with_value(option, found.value).loss(), delta=delta, accountant=counted, ladder=False)
    if json:
        print_json({**answer.to_dict(), "calibration": found.to_dict()})
    else:
        show_quote(answer, found)
    write_plot(answer, plot, picture)


def _sought(release: Release, find: str) -> str:
    """The option that is looked for; it must not be given as well."""
    if find == "noise":
        if release.kind is None:
            raise InvalidParameter("name the kind whose noise is wanted; with --json-loss use --find steps or --find q")
        option = kinds()[release.kind].main_option
    else:
        option = find
    if release.given(option) is not None:
        name = "--" + option.replace("_", "-")
        raise InvalidParameter(f"{name} is what calibrate looks for here; leave it out, or choose another --find")
    return option

"""The options that several commands share, with their help."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from privet.cli.losses import AccountantName

Picture = Literal["profile", "tradeoff", "ladder"]

_METHOD = "How it is counted"
_OUTPUT = "Output"
PAYING = "What it may cost, and who pays"


AccountantOption = Annotated[
    AccountantName, typer.Option(help="auto takes the best valid bound of all.", rich_help_panel=_METHOD)
]
TolOption = Annotated[
    float | None,
    typer.Option(help="Relative width of the interval (auto, pld).", rich_help_panel=_METHOD, show_default="1e-4"),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document instead of tables.", rich_help_panel=_OUTPUT)
]
PlotOption = Annotated[
    Path | None,
    typer.Option(
        help="Draw a picture (.png, .svg, .pdf); needs the extra 'plot'.",
        metavar="FILE",
        rich_help_panel=_OUTPUT,
    ),
]
PictureOption = Annotated[Picture, typer.Option(help="Which picture --plot draws.", rich_help_panel=_OUTPUT)]

PaidEpsilonOption = Annotated[
    float | None, typer.Option(help="Pay at most this epsilon, such as 1 ...", rich_help_panel=PAYING)
]
PayerOption = Annotated[
    str | None,
    typer.Option(
        help="The ledger that pays, such as visits.ledger; begin one with: privet ledger init.", rich_help_panel=PAYING
    ),
]
FitKeyOption = Annotated[
    str | None,
    typer.Option(
        help="A name for the fit, such as 'May': asked again, it is read back and costs nothing.",
        rich_help_panel=PAYING,
    ),
]
AboutOption = Annotated[
    str | None,
    typer.Option(
        help="The version of the data in public words, such as 2026-05: another one under a used key is refused.",
        rich_help_panel=PAYING,
    ),
]
SeparatorOption = Annotated[
    str | None,
    typer.Option(help="What splits the columns of a CSV file: comma, semicolon, tab or bar."),
]
DecimalOption = Annotated[str | None, typer.Option(help="The decimal mark of a CSV file: point or comma.")]

_MARKS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "point": ".", "\\t": "\t"}


def mark(word: str | None) -> str | None:
    """The letter that a word stands for.

    >>> mark("semicolon"), mark(";"), mark(None)
    (';', ';', None)
    """
    return None if word is None else _MARKS.get(word, word)

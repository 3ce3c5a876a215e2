"""The options that several commands share, with their help."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from privet.cli.losses import AccountantName, KindName, RelationName

Picture = Literal["profile", "tradeoff", "ladder"]

_RELEASE = "What is released"
_SAMPLING = "On whom and how often"
_METHOD = "How it is counted"
_OUTPUT = "Output"


def whole_number(text: str) -> int:
    """A count as people write it: 10000, 10_000 or 1e4.

    >>> whole_number("1e4"), whole_number("10_000")
    (10000, 10000)
    """
    try:
        return int(text)
    except ValueError:
        try:
            number = float(text)
        except ValueError:
            number = 0.5
        if not number.is_integer():
            raise typer.BadParameter(f"{text!r} is not a whole number") from None
        return int(number)


def _count(help_text: str, panel: str, *names: str) -> object:
    return typer.Option(*names, help=help_text, parser=whole_number, metavar="INTEGER", rich_help_panel=panel)


KindArgument = Annotated[KindName | None, typer.Argument(help="Kind of release.", show_default=False)]

JsonLossOption = Annotated[
    Path | None,
    typer.Option(
        help="Read the release from a file instead: a loss as JSON.", metavar="FILE", rich_help_panel=_RELEASE
    ),
]
NoiseMultiplierOption = Annotated[
    float | None,
    typer.Option(help="gaussian: standard deviation over l2-sensitivity.", rich_help_panel=_RELEASE),
]
ScaleOption = Annotated[
    float | None,
    typer.Option(
        help="laplace: scale over l1-sensitivity. discrete-laplace: scale itself.",
        rich_help_panel=_RELEASE,
    ),
]
SigmaOption = Annotated[
    float | None, typer.Option(help="discrete-gaussian: its parameter sigma.", rich_help_panel=_RELEASE)
]
Epsilon0Option = Annotated[
    float | None,
    typer.Option(
        "--epsilon0",
        help="pure, approx, randomized-response, k-rr, exponential: epsilon of one release.",
        rich_help_panel=_RELEASE,
    ),
]
Delta0Option = Annotated[
    float | None, typer.Option("--delta0", help="approx: delta of one release.", rich_help_panel=_RELEASE)
]
KOption = Annotated[int | None, _count("k-rr: number of possible answers.", _RELEASE, "--k")]
RhoOption = Annotated[float | None, typer.Option(help="zcdp: rho of one release.", rich_help_panel=_RELEASE)]
MuOption = Annotated[float | None, typer.Option(help="gdp: mu of one release.", rich_help_panel=_RELEASE)]
SensitivityOption = Annotated[
    int | None,
    _count("discrete noise: the integer sensitivity (default 1).", _RELEASE, "--sensitivity"),
]
DimensionOption = Annotated[
    int | None, _count("discrete-gaussian: number of coordinates (default 1).", _RELEASE, "--dimension")
]
MonotonicOption = Annotated[
    bool | None,
    typer.Option("--monotonic", help="exponential: the utility moves one way only.", rich_help_panel=_RELEASE),
]
QOption = Annotated[
    float | None,
    typer.Option(help="Poisson sampling: each record takes part with this probability.", rich_help_panel=_SAMPLING),
]
SampleSizeOption = Annotated[
    int | None,
    _count("Sampling without replacement: so many records ...", _SAMPLING, "--sample-size"),
]
PopulationOption = Annotated[
    int | None, _count("... out of so many (priced for replacing a record).", _SAMPLING, "--population")
]
StepsOption = Annotated[int | None, _count("How many times (default 1).", _SAMPLING, "--steps")]
RelationOption = Annotated[
    RelationName | None,
    typer.Option(
        help="What one person is: a record added or removed, replaced, or blanked.",
        rich_help_panel=_SAMPLING,
        show_default="the usual one of the kind",
    ),
]
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

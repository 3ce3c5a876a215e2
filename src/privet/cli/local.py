"""`privet local`: what a survey without a trusted curator can tell, before it and after it."""

from pathlib import Path
from typing import Annotated, Any

import typer

from privet.cli.app import Commands, app
from privet.cli.output import check_plot, print_json
from privet.cli.release import whole_number
from privet.errors import InvalidData, InvalidParameter, SerialisationError

local_app = Commands(name="local", no_args_is_help=True, help="Reports that are randomised before they leave a device.")
app.add_typer(local_app)

_PLAN = """\
Examples:

  privet local plan --k 1024 --epsilon 2 --n 1000000

  privet local plan --k 1024 --epsilon 2 --n 1000000 --max-bytes 8 --json

  privet local plan --k 64 --epsilon 1 --n 1e5 --plot errors.png
"""

_ESTIMATE = """\
Examples:

  privet local estimate reports.parquet --protocol protocol.json

  privet local estimate reports.parquet --protocol protocol.json --simultaneous --json

  privet local estimate reports.parquet --protocol protocol.json --candidates 17,4711
"""


@local_app.command(epilog=_PLAN)
def plan(
    k: Annotated[int, typer.Option(help="Number of possible values.", parser=whole_number, metavar="INTEGER")],
    epsilon: Annotated[float, typer.Option(help="What one report may cost its sender.")],
    n: Annotated[int, typer.Option(help="Number of reports.", parser=whole_number, metavar="INTEGER")],
    max_bytes: Annotated[
        int | None, typer.Option(help="Largest size of a report.", parser=whole_number, metavar="INTEGER")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the errors by the number of reports: .png, .svg or .pdf.", metavar="FILE")
    ] = None,
) -> None:
    """Which protocol finds the shares of k values best? No data is needed and nothing is paid."""
    check_plot(plot)
    from privet import local

    found = local.offers(k=k, epsilon=epsilon, n=n, max_bytes=max_bytes)
    if json:
        offers = [
            {"protocol": each.protocol.to_dict(), "deviation": each.deviation, "report_bytes": each.report_bytes}
            for each in found
        ]
        print_json({"format": "privet local plan", "k": k, "epsilon": epsilon, "n": n, "offers": offers})
    else:
        typer.echo(f"shares of {k:,} values from {n:,} reports of epsilon {epsilon:g}, the best protocol first")
        typer.echo(f"{'protocol':<20}{'standard deviation':>20}{'bytes':>8}")
        for each in found:
            name = f"{type(each.protocol).__name__}{' (symmetric)' if getattr(each.protocol, 'symmetric', 0) else ''}"
            typer.echo(f"{name:<28}{each.deviation:>12.3g}{each.report_bytes:>8,}")
    if plot is not None:
        _draw({type(each.protocol).__name__: each for each in reversed(found)}, n, plot)


@local_app.command(epilog=_ESTIMATE)
def estimate(
    reports: Annotated[Path, typer.Argument(help="Packets of reports: a Parquet file.", metavar="FILE")],
    protocol: Annotated[Path, typer.Option(help="The protocol, as its to_json wrote it.", metavar="FILE")],
    confidence: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="Intervals that hold for all shares at once.")
    ] = False,
    candidates: Annotated[
        str | None,
        typer.Option(help="Public values to look for among very many, e.g. 17,4711.", metavar="TEXT"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """Read what the reports say: shares of values or a mean, unbiased, with intervals; nothing is paid by reading
    reports."""
    from privet import local

    agreed = local.from_json(_text(protocol))
    how: dict[str, Any] = {"confidence": confidence}
    if not isinstance(agreed, local.FrequencyProtocol):
        if simultaneous or candidates is not None:
            named = "--simultaneous" if simultaneous else "--candidates"
            raise InvalidParameter(f"{named} is about shares of values; this protocol estimates a mean")
        state = agreed.new_state()
    else:
        how["simultaneous"], state = simultaneous, agreed.new_state(candidates=_values(candidates))
    local.read_packets(state, reports)
    if state.dropped and not state.n:
        raise InvalidData(f"none of {state.dropped:,} reports belongs to this protocol: give the one that made them")
    told = agreed.estimate(state, **how)
    columns = {name: values.tolist() for name, values in told.columns().items()}
    if json:
        head = {"n": state.n, "dropped": state.dropped, "epsilon": agreed.loss.pure(), "confidence": confidence}
        print_json({"format": "privet local estimate", **head, "estimate": columns})
        return
    typer.echo(f"{state.n:,} reports, {state.dropped:,} dropped; each cost its sender epsilon {agreed.loss.pure():.6g}")
    for i, value in enumerate(columns["value"]):
        low, high = columns["low"][i], columns["high"][i]
        label = columns["label"][i] if isinstance(agreed, local.FrequencyProtocol) else "mean"
        typer.echo(f"{label!s:>12}  {value:10.5f}  [{low:.5f}, {high:.5f}]")


def _draw(offers: dict[str, Any], n: int, path: Path) -> None:
    """Standard deviations by the number of reports, from a hundredth of n to a hundred times n."""
    from privet import report

    people = [max(1, round(n * 10.0 ** (power / 4.0))) for power in range(-8, 9)]
    curves = {name: [each.deviation * (n / many) ** 0.5 for many in people] for name, each in offers.items()}
    report.save_figure(report.local_error_figure(people, curves), path)
    typer.echo(f"wrote {path}", err=True)


def _values(listed: str | None) -> list[int] | None:
    """Whole numbers between commas."""
    if listed is None:
        return None
    if not all(each.strip().isdecimal() for each in listed.split(",")):
        raise InvalidParameter("--candidates must be whole numbers with commas between them, such as 17,4711")
    return [int(each) for each in listed.split(",")]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise SerialisationError(f"cannot read {path.name!r}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SerialisationError(f"{path.name!r} is not a text file; expected a protocol as JSON") from None

"""`privet demo`: a short tour that needs nothing but the core install."""

import json
from typing import TYPE_CHECKING

import typer

from privet.cli.base import app, show_quote

if TYPE_CHECKING:
    from privet.privacy import PrivacyLoss

__all__ = ["demo"]


@app.command(epilog="Example: privet demo")
def demo() -> None:
    """A short tour: price a private training run, calibrate its noise, read the result."""
    from privet import privacy, report

    _chapter(
        1, "A price needs no data", "privet price gaussian --noise-multiplier 4 --q 0.01 --steps 10000 --delta 1e-5"
    )
    typer.echo("A model is trained with 10,000 noisy gradient steps, each on a random 1% of the people.")
    typer.echo("How much epsilon is that? It depends on who counts:\n")
    step = privacy.PoissonSampled(privacy.GaussianLoss(noise_multiplier=4.0), q=0.01)
    quote = report.quote(privacy.Repeated(step, 10_000), delta=1e-5)
    show_quote(quote)

    _chapter(
        2, "From a target to the noise", "privet calibrate gaussian --epsilon 3 --delta 1e-5 --q 0.00427 --steps 14062"
    )
    found = report.calibration(_training, parameter="noise_multiplier", epsilon=3.0, delta=1e-5)
    for name, value in found.facts():
        typer.echo(f"  {name:<17} {value}")

    _chapter(3, "A price is a value", "privet price laplace --scale 10 --delta 0 --json")
    typer.echo("It can be stored, compared and priced again years later; privet price --json-loss reads it back.\n")
    document = report.quote(privacy.LaplaceLoss(scale=10.0), delta=0.0).to_dict()
    typer.echo(json.dumps({key: document[key] for key in ("bound", "loss")}, indent=2))

    typer.echo("\nNext: privet price --help, or the tutorial docs/tutorials/first-price.md")


def _training(noise_multiplier: float) -> "PrivacyLoss":
    from privet import privacy

    return privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(noise_multiplier), q=0.00427), 14_062)


def _chapter(number: int, title: str, command: str) -> None:
    typer.secho(f"\n{number}. {title}", bold=True)
    typer.echo(f"$ {command}\n")

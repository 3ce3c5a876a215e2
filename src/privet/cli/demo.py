"""`privet demo`: a short tour that needs nothing but the core install."""

import json
from typing import TYPE_CHECKING

import typer

from privet.cli.app import app
from privet.cli.output import show_quote

if TYPE_CHECKING:
    from privet.privacy import PrivacyLoss


@app.command(epilog="Example: privet demo")
def demo() -> None:
    """A short tour: price a private training run, calibrate its noise, then answer questions from a ledger."""
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

    _chapter(4, "Pay, then look", "privet ledger init patients.ledger --epsilon 1 --delta 1e-6")
    _questions()

    typer.echo("\nNext: privet price --help, privet ledger --help, or the tutorials first-price and first-ledger")


def _questions() -> None:
    """A count, a histogram and a choice about the patients of a clinic, paid from a ledger file."""
    from tempfile import TemporaryDirectory

    from sklearn.datasets import load_diabetes

    from privet import mechanisms, report
    from privet.ledger import Budget, Ledger

    table = load_diabetes(scaled=False).data
    age, bmi = table[:, 0], table[:, 2]
    decades = tuple(f"{start}-{start + 9}" for start in range(20, 80, 10))  # public: chosen without a look
    members = [(age >= start) & (age < start + 10) for start in range(20, 80, 10)]
    with TemporaryDirectory() as folder:
        ledger = Ledger.create(f"{folder}/patients.ledger", budget=Budget(epsilon=1.0, delta=1e-6), dataset="patients")
        typer.echo(
            "A ledger file holds the budget of a clinic's patients. A question is paid for before data is read.\n"
        )

        heavy = ledger.release(mechanisms.Count.for_budget(epsilon=0.2), bmi >= 30.0, purpose="BMI of 30 or more")
        typer.echo(f"  Patients with a BMI of 30 or more: {heavy}\n")

        bins = mechanisms.DiscreteLaplace.for_budget(
            epsilon=0.5, sensitivity=mechanisms.histogram_sensitivity(norm="l1")
        )
        ages = ledger.release(bins, [int(inside.sum()) for inside in members], purpose="ages")
        typer.echo(f"  Patients by age, each {ages.error}:")
        for decade, number in zip(decades, ages.value.tolist(), strict=True):
            typer.echo(f"    {decade}  {max(number, 0):>4}  {'#' * max(0, round(number / 4))}")

        best = mechanisms.PermuteAndFlip.for_budget(
            epsilon=0.2, sensitivity=1, monotonic=True, candidates=decades
        )  # adding a patient raises scores only
        scores = [int((inside & (bmi >= 30.0)).sum()) for inside in members]
        typer.echo(f"\n  Age with most such patients: {ledger.release(best, scores, purpose='age of most').value}\n")

        for name, value in report.ledger_status(ledger).facts():
            typer.echo(f"  {name:<11} {value}")
        typer.echo(f"  {'Checked':<11} {ledger.verify()}")


def _training(noise_multiplier: float) -> "PrivacyLoss":
    from privet import privacy

    return privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(noise_multiplier), q=0.00427), 14_062)


def _chapter(number: int, title: str, command: str) -> None:
    typer.secho(f"\n{number}. {title}", bold=True)
    typer.echo(f"$ {command}\n")

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

    typer.echo(
        "\nNext: privet price --help, privet query --help, or the tutorials first-price, first-ledger and a-hospital"
    )


def _questions() -> None:
    """A count, a histogram and a choice about the patients of a clinic, asked of a table and paid from a ledger file."""
    from tempfile import TemporaryDirectory

    from sklearn.datasets import load_diabetes

    import privet as pv
    from privet import report

    measured = load_diabetes(scaled=False).data
    columns = {"age": pv.Int(20, 79), "bmi": pv.Float(10.0, 60.0)}  # public: chosen without a look
    patients = pv.Table({"age": measured[:, 0], "bmi": measured[:, 2]}, columns=columns, name="patients")
    heavy = patients.where(patients["bmi"] >= 30.0)
    with TemporaryDirectory() as folder:
        budget = pv.Budget(epsilon=1.0, delta=1e-6)
        ledger = pv.Ledger.create(f"{folder}/patients.ledger", budget=budget, dataset="patients", unit=patients.unit)
        typer.echo("A table says what its columns may contain. A ledger file holds the budget of a clinic's patients.")
        typer.echo("A question is paid for before data is read.\n")

        counted = ledger.release(heavy.agg(n=pv.count()), epsilon=0.2, purpose="BMI of 30 or more").value
        low, high = (int(end[0]) for end in counted.interval("n"))
        typer.echo(f"  Patients with a BMI of 30 or more: {counted['n'][0]}, between {low} and {high} (95%)\n")

        ages = ledger.release(patients.histogram("age", width=10), epsilon=0.5, purpose="ages")
        typer.echo("  Patients by age:")
        for decade, number in zip(range(20, 80, 10), ages.value["n"].tolist(), strict=True):
            typer.echo(f"    {decade}-{decade + 9}  {number:>4}  {'#' * round(number / 4)}")

        most = ledger.release(heavy.bin("age", width=10).top_k("age_bin", 1), epsilon=0.2, purpose="age of most")
        decade = 20 + 10 * int(most.value[0])
        typer.echo(f"\n  Age with most such patients: {decade}-{decade + 9}\n")

        for name, value in report.ledger_status(ledger).facts():
            typer.echo(f"  {name:<11} {value}")
        typer.echo(f"  {'Checked':<11} {ledger.verify()}")


def _training(noise_multiplier: float) -> "PrivacyLoss":
    from privet import privacy

    return privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(noise_multiplier), q=0.00427), 14_062)


def _chapter(number: int, title: str, command: str) -> None:
    typer.secho(f"\n{number}. {title}", bold=True)
    typer.echo(f"$ {command}\n")

"""`privet demo`: three questions about real patients, answered from one budget, with the truth beside the answers."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privet.cli.app import app

if TYPE_CHECKING:
    from privet.ledger import Ledger
    from privet.queries import Table

_DECADES = range(10, 80, 10)  # of the made-up people, as the histogram of the demonstration has them


@app.command(epilog="Example: privet demo --html demo.html")
def demo(
    html: Annotated[
        Path | None,
        typer.Option("--html", help="Where the page about the ledger is left.", show_default="a temporary folder"),
    ] = None,
) -> None:
    """A short tour: three questions about public patients, answered from one budget, the truth beside the answers."""
    from tempfile import mkdtemp

    import privet as pv
    from privet import report

    folder = Path(mkdtemp(prefix="privet-demo-"))
    people = _patients()
    budget = pv.Budget(epsilon=1.0)
    ledger = pv.Ledger.create(str(folder / "patients.ledger"), budget=budget, dataset="patients", unit=people.unit)
    typer.secho("Answers about people, paid from a privacy budget\n", bold=True)
    typer.echo("  Data     442 diabetes patients (Efron et al. 2004; comes with scikit-learn). They are public, so")
    typer.echo("           that the truth can stand beside each answer. With data of your own it would not.")
    typer.echo("  Budget   epsilon 1.0 for everything that is ever released about them.\n")
    _count(ledger, people)
    _histogram(ledger, people)
    _mean(ledger, people)
    _budget(ledger, people)

    page = html or folder / "ledger.html"
    page.write_text(report.ledger_page(ledger), encoding="utf-8")
    typer.secho("\nWhere to go", bold=True)
    typer.echo(f"  The page for a regulator     {page}")
    typer.echo(f"  The ledger in your terminal  privet ledger show {folder / 'patients.ledger'}")
    typer.echo("  Your own table               privet table draft visits.csv, then privet query --help")
    typer.echo("  The price of a training run  privet price gaussian --noise-multiplier 4 --steps 100 --delta 1e-5")


@dataclass(frozen=True)
class _Truth:
    """The true answers of the demo: its patients are public, yours are not."""

    age: Any
    bmi: Any


def _truth() -> _Truth:
    from sklearn.datasets import load_diabetes

    measured = load_diabetes(scaled=False).data
    return _Truth(measured[:, 0], measured[:, 2])


def _patients() -> "Table":
    import privet as pv

    truth = _truth()
    columns = {"age": pv.Int(10, 79), "bmi": pv.Float(10.0, 60.0)}  # public: chosen without a look
    return pv.Table({"age": truth.age, "bmi": truth.bmi}, columns=columns, name="patients")


def _question(number: int, text: str, epsilon: float) -> None:
    typer.secho(f"{number}. {text:<58}", bold=True, nl=False)
    typer.echo(f" costs epsilon {epsilon:g}")


def _count(ledger: "Ledger", people: "Table") -> None:
    import privet as pv

    _question(1, "How many have a body mass index (BMI) of 30 or more?", 0.2)
    heavy = people.where(people["bmi"] >= 30.0).agg(n=pv.count())
    answer = ledger.release(heavy, epsilon=0.2, purpose="BMI of 30 or more").value
    truth = int((_truth().bmi >= 30.0).sum())
    typer.echo(f"     released {answer['n'][0]:>6}   {_bar(answer, 'n'):<12} truth {truth:>6}\n")


def _histogram(ledger: "Ledger", people: "Table") -> None:
    import numpy as np

    _question(2, "How old are they?", 0.5)
    answer = ledger.release(people.histogram("age", width=10), epsilon=0.5, purpose="ages").value
    released = np.asarray(answer["n"])
    for i, decade in enumerate(_DECADES):
        age = _truth().age
        truth = int(((age >= decade) & (age < decade + 10)).sum())
        bars = "#" * round(max(0, released[i]) / 5)
        typer.echo(
            f"     {decade}-{decade + 9}    {released[i]:>6}   {_bar(answer, 'n', i):<12} truth {truth:>6}   {bars}"
        )
    typer.echo("")


def _mean(ledger: "Ledger", people: "Table") -> None:
    import privet as pv

    _question(3, "What is their mean BMI?", 0.2)
    answer = ledger.release(people.agg(bmi=pv.mean("bmi")), epsilon=0.2, purpose="mean BMI").value
    typer.echo(
        f"     released {answer['bmi'][0]:>6.1f}   {_bar(answer, 'bmi'):<12} truth {_truth().bmi.mean():>6.1f}\n"
    )


def _bar(answer: Any, name: str, row: int = 0) -> str:
    """The distance that the truth may have, as it is said: +-15 (95%)."""
    low, high = (float(end[row]) for end in answer.interval(name))
    value = float(answer[name][row])
    half = max(value - low, high - value)  # an interval of counts ends at 0
    return f"+-{half:.0f} (95%)" if half >= 3.0 else f"+-{half:.1f} (95%)"


def _budget(ledger: "Ledger", people: "Table") -> None:
    import privet as pv
    from privet import report
    from privet.errors import BudgetExceeded
    from privet.report.numbers import percent_up

    spent, left = ledger.spent.epsilon or 0.0, ledger.remaining.epsilon or 0.0
    typer.secho(f"Spent {spent:.1f} of 1.0; {left:.1f} is left", bold=True)
    try:
        ledger.release(people.agg(n=pv.count()), epsilon=0.2, purpose="one more")
    except BudgetExceeded:
        typer.echo("  A fourth question for 0.2 was refused, and the data were not looked at.")
    enough = report.remaining_in_words(ledger.remaining, ledger.unit).partition(", or")[0]
    typer.echo(f"  What is left is enough for {enough}.")
    sure, doubtful = (percent_up(report.posterior(1.0, prior=prior)) for prior in (0.5, 0.01))
    typer.secho("\nWhat that means for one patient", bold=True)
    typer.echo("  Whoever sees all of this, and knows everything about everybody else, learns little about one of")
    typer.echo(f"  them: who thought it even odds (50%) that you are in these data is at most {sure} sure afterwards,")
    typer.echo(f"  who thought 1% at most {doubtful}. That holds for the whole budget, whatever is asked next.")

"""Twenty tasks of a first hour, each in the words that somebody types who knows pandas, SQL and scikit-learn."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet as pv
from privet import accounting, audit, learn, report
from privet.errors import BudgetExceeded, PrivacyWarning, UnknownName
from privet.learn.estimators import surroundings

RNG = np.random.default_rng(7)
N = 4_000
DATA = {"age": RNG.integers(18, 95, N), "ward": RNG.choice(["A", "B"], N), "cost": RNG.gamma(2.0, 150.0, N)}
COLUMNS = {"age": pv.Int(0, 110), "ward": pv.Category(["A", "B"]), "cost": pv.Float(0, 2_000)}
X, Y = np.c_[DATA["age"], DATA["cost"]], (DATA["age"] > 60).astype(int)
BOUNDS = ([0, 0], [110, 2_000])
TASKS: list[Callable[..., None]] = []


def task(function: Callable[..., None]) -> Callable[..., None]:
    TASKS.append(function)
    return function


@task
def count(df: pv.Table, ledger: pv.Ledger, folder: Path) -> None:
    release = ledger.release(df.where(df["age"] >= 65).agg(n=pv.count()), epsilon=0.5)
    low, high = release.value.interval("n")
    assert low[0] - 20 <= np.sum(DATA["age"] >= 65) <= high[0] + 20


@task
def mean(df: pv.Table, ledger: pv.Ledger, folder: Path) -> None:
    assert ledger.release(df.agg(m=pv.mean("cost")), epsilon=0.5).value["m"][0] == pytest.approx(
        DATA["cost"].mean(), rel=0.1
    )


@task
def group_by(df: pv.Table, ledger: pv.Ledger, folder: Path) -> None:
    frame = ledger.release(df.group_by(["ward"]).agg(n=pv.count(), m=pv.mean("cost")), epsilon=0.5).to_pandas()
    assert list(frame["ward"]) == ["A", "B"]


@task
def rate(df: pv.Table, ledger: pv.Ledger, folder: Path) -> None:
    made = ledger.release(df.group_by("ward").agg(old=pv.mean(df["age"] >= 65)), epsilon=0.5).value["old"]
    assert np.all((made > 0.2) & (made < 0.6))


@task
def histogram_with_edges(df: pv.Table, ledger: pv.Ledger, folder: Path) -> None:
    frame = ledger.release(df.histogram("age", bins=[18, 30, 45, 95]), epsilon=0.5).to_pandas()
    assert list(frame["age_bin"]) == ["[18, 30)", "[30, 45)", "[45, 95]"]


@task
def median(df: pv.Table, ledger: pv.Ledger, folder: Path) -> None:
    answer = ledger.release(df.quantiles("cost", [0.5]), epsilon=0.5).value
    low, high = answer.interval("value")
    assert low[0] <= answer["value"][0] <= high[0]
    assert high[0] - low[0] < 200


@task
def pick_an_epsilon(df: pv.Table, ledger: pv.Ledger, folder: Path) -> None:
    epsilon = df.agg(n=pv.count()).for_error(within=10)
    assert 0.2 < epsilon < 0.4
    assert ledger.preview(df.agg(n=pv.count()), epsilon=epsilon).allowed


@task
def what_is_left(df: pv.Table, ledger: pv.Ledger, folder: Path) -> None:
    ledger.release(df.agg(n=pv.count()), epsilon=0.5)
    assert str(ledger.spent).startswith("spent: 0.5 of 10 epsilon")
    assert str(ledger.remaining).startswith("remaining: 9.5 of 10 epsilon")


@task
def ask_again(df: pv.Table, ledger: pv.Ledger, folder: Path) -> None:
    first, again = (ledger.release(df.agg(n=pv.count()), epsilon=0.5, key="n") for _ in range(2))
    assert first.value["n"] == again.value["n"]
    assert ledger.spent.epsilon == 0.5


@task
def ask_for_too_much(df: pv.Table, ledger: pv.Ledger, folder: Path) -> None:
    with pytest.raises(BudgetExceeded, match="asked epsilon 50, 10 left; nothing was spent"):
        ledger.release(df.agg(n=pv.count()), epsilon=50)


@task
def share_a_budget(df: pv.Table, ledger: pv.Ledger, folder: Path) -> None:
    ledger.add_analyst("ann", epsilon=0.5)
    ledger.release(df.agg(n=pv.count()), epsilon=0.25, analyst="ann")
    with pytest.raises(BudgetExceeded, match=r"analyst ann: asked epsilon 0\.5, 0\.25 left"):
        ledger.release(df.agg(n=pv.count()), epsilon=0.5, analyst="ann")


@task
def price_a_training(df: pv.Table, ledger: pv.Ledger, folder: Path) -> None:
    said = {"batch_size": 600, "n": 60_000, "epochs": 10, "delta": 1e-5}
    noise = accounting.noise_for(epsilon=2, **said)
    assert accounting.dp_sgd(noise_multiplier=noise, **said) <= 2


@task
def logistic_regression(df: pv.Table, ledger: pv.Ledger, folder: Path) -> None:
    model = learn.LogisticRegression(epsilon=2.0, bounds=BOUNDS, classes=[0, 1], ledger=ledger).fit(X, Y)
    assert model.score(X, Y) > 0.6
    assert "plus noise for its rounding" in model.privacy_.solver  # a whole sentence


@task
def k_means(df: pv.Table, ledger: pv.Ledger, folder: Path) -> None:
    centres = learn.KMeans(n_clusters=3, epsilon=2.0, bounds=BOUNDS).fit(X).cluster_centers_
    assert np.all((centres >= BOUNDS[0]) & (centres <= BOUNDS[1]))


@task
def grid_search(df: pv.Table, ledger: pv.Ledger, folder: Path) -> None:
    from sklearn.model_selection import GridSearchCV

    surroundings._told.clear()
    model = learn.LogisticRegression(epsilon=2.0, bounds=BOUNDS, classes=[0, 1])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        GridSearchCV(model, {"fit_intercept": [True, False]}, cv=3).fit(X[:400], Y[:400])
    assert [each.category for each in seen if "copy" in str(each.message)] == [PrivacyWarning]


@task
def audit_my_function(df: pv.Table, ledger: pv.Ledger, folder: Path) -> None:
    def mine(values: Any) -> float:
        return float(np.sum(values) + round(RNG.laplace(0.0, 0.2)))  # five times too little noise for epsilon 1

    found = audit.mechanism(mine, epsilon=1.0, neighbours=[([0], [1])], runs=4_000)
    assert found.verdict == "violated"


@task
def report_for_a_regulator(df: pv.Table, ledger: pv.Ledger, folder: Path) -> None:
    ledger.release(df.group_by("ward").agg(n=pv.count()), epsilon=0.5)
    page = report.ledger_page(ledger)
    assert "Epsilon 10 in all, for one person" in page
    assert "n: count by ward" in page


@task
def plot_with_bars(df: pv.Table, ledger: pv.Ledger, folder: Path) -> None:
    ledger.release(df.histogram("age", width=10), epsilon=0.5).plot(folder / "ages.png")
    assert (folder / "ages.png").stat().st_size > 5_000


@task
def semicolon_file(df: pv.Table, ledger: pv.Ledger, folder: Path) -> None:
    import pandas as pd

    pd.DataFrame(DATA).to_csv(folder / "visits.csv", sep=";", decimal=",", index=True)  # with a column without a name
    table = pv.Table(folder / "visits.csv", columns=COLUMNS, separator=";", decimal=",")
    made = ledger.release(table.agg(m=pv.mean("cost")), epsilon=0.5)
    assert made.value["m"][0] == pytest.approx(DATA["cost"].mean(), rel=0.1)


@task
def undo_a_mistake(df: pv.Table, ledger: pv.Ledger, folder: Path) -> None:
    with pytest.raises(UnknownName, match="what was paid stays paid"):
        ledger.undo()
    assert "began the ledger" in str(ledger.history())


@pytest.mark.parametrize("asked", TASKS, ids=lambda each: each.__name__)
def test_a_first_task(asked: Callable[..., None], tmp_path: Path) -> None:
    table = pv.Table(DATA, columns=COLUMNS)
    ledger = pv.Ledger.create(str(tmp_path / "visits.ledger"), epsilon=10, unit=table.unit)
    asked(table, ledger, tmp_path)
    assert ledger.verify().underpriced == ()


def test_there_are_twenty() -> None:
    assert len(TASKS) == 20

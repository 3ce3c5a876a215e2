"""What an analyst asks of a table on the first day, and the first tasks of a newcomer: each as it would be typed."""

import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import privet as pv

ROWS = 2_000
SURE = 1e4  # an epsilon without noise to speak of: what is asked is looked at here, and not the noise
COLUMNS = {
    "ward": pv.Category(["A", "B", "Bb"]),
    "city": pv.Text(),
    "age": pv.Int(0, 110, null=True),
    "sex": pv.Category(["f", "m"]),
    "hours": pv.Float(0, 80),
    "weight": pv.Float(0, 4),
    "day": pv.Date("2024-01-01", "2024-12-31"),
}


def frame() -> pd.DataFrame:
    draw = np.random.default_rng(6)
    made = pd.DataFrame(
        {
            "who": draw.integers(0, ROWS // 2, ROWS),
            "ward": draw.choice(["A", "B", "Bb"], ROWS),
            "city": draw.choice(["Rome", "Bonn", "Oslo"], ROWS),
            "age": draw.integers(0, 111, ROWS).astype(float),
            "sex": draw.choice(["f", "m"], ROWS),
            "hours": np.round(draw.uniform(0, 80, ROWS), 1),
            "weight": np.round(draw.uniform(0.5, 2, ROWS), 2),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(draw.integers(0, 366, ROWS), unit="D"),
        }
    )
    made.loc[draw.random(ROWS) < 0.05, "age"] = np.nan
    return made


def typed(text: str, **names: Any) -> dict[str, Any]:
    """The names that a text leaves, which begins where a newcomer is: with data, a table and a ledger."""
    df = frame()
    table = pv.Table(df, columns=COLUMNS, name="visits")
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e6, delta=1e-4), unit=table.unit)
    held = {"pv": pv, "np": np, "pd": pd, "df": df, "t": table, "ledger": ledger, "E": SURE, **names}
    exec(compile(textwrap.dedent(text), "typed", "exec"), held)
    return held


QUESTIONS = {
    "counts and means by group": """
        answer = ledger.release(t.group_by("ward").agg(n=pv.count(), h=pv.mean("hours")), epsilon=E).to_pandas()
        wanted = df.groupby("ward").hours.agg(["size", "mean"])
        assert answer["n"].tolist() == wanted["size"].tolist()
        assert np.allclose(answer["h"], wanted["mean"], atol=0.01)
    """,
    "keys that nobody listed": """
        answer = ledger.release(t.group_by("city", discover=True).agg(n=pv.count()), epsilon=E, delta=1e-6).to_pandas()
        again = t.sql("SELECT city, COUNT(*) AS n FROM visits GROUP BY city", discover=True)
        assert dict(zip(answer["city"], answer["n"])) == df.city.value_counts().to_dict()
        assert len(ledger.release(again, epsilon=E, delta=1e-6).value) == 3
    """,
    "means and deviations after a filter": """
        old = t.where(t["age"] >= 65)
        answer = ledger.release(old.agg(m=pv.mean("hours"), s=pv.std("hours"), v=pv.variance("hours")), epsilon=E).value
        hours = df[df.age >= 65].hours
        wanted = [hours.mean(), hours.std(ddof=0), hours.var(ddof=0)]
        assert np.allclose([answer[name][0] for name in "msv"], wanted, atol=0.1)
    """,
    "several quantiles by group": """
        answer = ledger.release(t.group_by("ward").quantiles("hours", [0.25, 0.5, 0.75]), epsilon=E).to_pandas()
        wanted = df.groupby("ward").hours.quantile([0.25, 0.5, 0.75])
        assert np.allclose(answer["value"], wanted, atol=0.3)
        assert (answer["value_low"] <= answer["value_high"]).all()
    """,
    "quantiles, ranges and the distribution": """
        found = ledger.release(t.quantiles("hours", [0.1, 0.9]), epsilon=E).value
        assert np.allclose(found["value"], df.hours.quantile([0.1, 0.9]), atol=0.3)
        ages = ledger.release(t.ranges("age"), epsilon=E).value
        assert round(ages.between(18, 64).value) == df.age.between(18, 64).sum()
        assert abs(ledger.release(t.cdf("age"), epsilon=E).value.share_below(64) - (df.age.dropna() <= 64).mean()) < 0.01
    """,
    "two tables by person": """
        unit = pv.Person("who", max_rows=20)
        people = pd.DataFrame({"who": range(1000), "smoker": np.arange(1000) % 2 == 0})
        visits = pv.Table(df, columns={"hours": pv.Float(0, 80)}, unit=unit, name="visits")
        both = visits.join(pv.Table(people, columns={"smoker": pv.Bool()}, unit=unit, name="people"))
        books = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e6), unit=both.unit)
        ledger = books
        answer = ledger.release(both.group_by("smoker").agg(n=pv.count()), epsilon=E).to_pandas()
        assert answer["n"].tolist() == df.merge(people).groupby("smoker").size().tolist()
        assert "of the joined rows" in str(both.agg(n=pv.count()).preview(epsilon=1.0))
    """,
    "different values": """
        answer = ledger.release(t.group_by("ward").agg(n=pv.count_distinct("city"), a=pv.count_distinct("age")), epsilon=E)
        assert answer.value["a"].tolist() == df.groupby("ward").age.nunique().tolist()
        sql = ledger.release(t.sql("SELECT COUNT(DISTINCT city) AS n FROM visits"), epsilon=E)
        assert sql.value["n"].tolist() == [3]
    """,
    "filters": """
        kept = (~(t["age"] < 18) | t["age"].is_missing()) & t["city"].isin(["Rome", "Bonn"]) & t["age"].between(10, 90)
        n = ledger.release(t.where(kept & (t["hours"] > t["age"])).agg(n=pv.count()), epsilon=E).value["n"][0]
        wanted = df[(df.age >= 18) & df.city.isin(["Rome", "Bonn"]) & df.age.between(10, 90) & (df.hours > df.age)]
        assert n == len(wanted)
    """,
    "derived columns": """
        more = t.derive(
            twice=t["hours"] * 2 + 1,
            both=t["hours"] + t["weight"],
            group=t["age"].cut([18, 30, 65]),
            old=t["age"] >= 65,
            weighted=t["hours"] * t["weight"],
        )
        asked = more.agg(a=pv.mean("twice"), b=pv.sum("both"), c=pv.sum("old"), d=pv.sum("weighted"))
        answer = ledger.release(asked, epsilon=E)
        wanted = [df.hours.mean() * 2 + 1, (df.hours + df.weight).sum(), (df.age >= 65).sum(), (df.hours * df.weight).sum()]
        assert np.allclose([answer.value[name][0] for name in "abcd"], wanted, rtol=1e-3)
        groups = ledger.release(more.group_by("group").agg(n=pv.count()), epsilon=E)
        assert "[18, 30)" in str(groups.value)
        case = t.sql("SELECT ward, AVG(CASE WHEN age >= 65 THEN 1 ELSE 0 END) AS rate FROM visits GROUP BY ward")
        assert len(ledger.release(case, epsilon=E).value) == 3
    """,
    "time buckets": """
        days = df.day.dt
        wanted = {"month": days.month, "weekday": days.day_of_week, "quarter": days.quarter, "day": days.day}
        wanted["week"] = days.isocalendar().week
        for part, values in wanted.items():
            made = t.derive(bucket=getattr(t["day"], part)).group_by("bucket").agg(n=pv.count())
            found = ledger.release(made, epsilon=E).to_pandas().set_index("bucket")["n"]
            assert found[found > 0].to_dict() == values.value_counts().sort_index().to_dict()
    """,
    "the most frequent values": """
        top = ledger.release(t.top_k("ward", 2), epsilon=E).value
        assert list(top) == df.ward.value_counts().index[:2].tolist()
    """,
    "SQL as it is written elsewhere": '''
        answer = ledger.release(
            t.sql(
                """
                -- hours of the working
                SELECT ward, COUNT(age) AS known, SUM(2 * hours - 1) AS twice,
                    AVG(CASE WHEN age >= 65 THEN 1 ELSE 0 END) AS old
                FROM visits v /* all of them */
                WHERE ward LIKE 'B%' AND NOT age < 18
                GROUP BY 1;
                """
            ),
            epsilon=E,
        ).to_pandas()
        kept = df[df.ward.str.startswith("B") & (df.age >= 18)]
        assert answer["known"].tolist()[1:] == kept.groupby("ward").age.count().tolist()
    ''',
    "histograms with edges": """
        shown = ledger.release(t.histogram("age", bins=[18, 30, 65, 110]), epsilon=E)
        assert shown.to_pandas()["age_bin"].tolist() == ["[18, 30)", "[30, 65)", "[65, 110]"]
        assert shown.value["n"].tolist() == np.histogram(df.age.dropna(), bins=[18, 30, 65, 110])[0].tolist()
    """,
    "rates by group": """
        asked = t.group_by("ward").agg(old=pv.mean(t["age"] >= 65), n=pv.count(where=t["sex"] == "f"))
        rate = ledger.release(asked, epsilon=E)
        assert np.allclose(rate.value["old"], (df.age >= 65).groupby(df.ward).mean(), atol=1e-3)
        assert rate.value["n"].tolist() == (df.sex == "f").groupby(df.ward).sum().tolist()
    """,
    "crosstabs and frames": """
        release = ledger.release(t.crosstab("ward", "sex"), epsilon=E)
        wide = release.value.wide("sex")
        assert [wide["f"].tolist(), wide["m"].tolist()] == pd.crosstab(df.ward, df.sex).T.to_numpy().tolist()
        assert len(release.to_pandas()) == len(release.to_polars()) == len(release.to_arrow()) == 6
        assert {"n_low", "n_high"} <= set(release.to_pandas())
    """,
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_analyst_asks(question: str) -> None:
    assert typed(QUESTIONS[question])["ledger"].spent.epsilon > 0


def test_there_are_fifteen_questions_and_twenty_tasks() -> None:
    assert (len(QUESTIONS), len(TASKS)) == (15, 20)


TASKS = {
    "count": 'assert ledger.release(t.agg(n=pv.count()), epsilon=E).value["n"][0] == len(df)',
    "mean": 'assert abs(ledger.release(t.agg(m=pv.mean("hours")), epsilon=E).value["m"][0] - df.hours.mean()) < 0.01',
    "group by": 'assert len(ledger.release(t.group_by("ward").agg(n=pv.count()), epsilon=1.0).to_pandas()) == 3',
    "histogram": 'assert "[10, 20)" in str(ledger.release(t.histogram("age", width=10), epsilon=1.0).value)',
    "median": 'assert "50% quantile" in str(ledger.release(t.agg(m=pv.median("hours")), epsilon=1.0))',
    "maximum": 'assert "99% quantile" in str(ledger.release(t.agg(m=pv.max("age")), epsilon=1.0))',
    "pick an epsilon": "assert 0.1 < t.agg(n=pv.count()).for_error(within=10) < 1.0",
    "what is left": """
        ledger.release(t.agg(n=pv.count()), epsilon=1.0)
        assert ledger.remaining.epsilon < 1e6 and "1e+06" in str(ledger)
    """,
    "ask again": """
        first, again = (ledger.release(t.agg(n=pv.count()), epsilon=1.0, key="rows") for _ in range(2))
        assert first.value == again.value and ledger.spent.epsilon <= 1.0
    """,
    "ask too much": """
        small = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0))
        try:
            small.release(t.agg(n=pv.count()), epsilon=50.0)
        except pv.errors.BudgetExceeded as refused:
            assert "nothing was spent" in str(refused) and small.spent.epsilon == 0
        else:
            raise AssertionError("more than the budget")
    """,
    "share a budget": """
        ledger.add_analyst("ann", budget=pv.Budget(epsilon=2.0))
        release = ledger.release(t.agg(n=pv.count()), epsilon=1.0, analyst="ann", key="rows")
        assert release.paid is not None
    """,
    "price of a training": """
        assert 0.1 < pv.accounting.dp_sgd(batch_size=256, n=60_000, epochs=3, noise_multiplier=1.1, delta=1e-5).upper < 3
    """,
    "noise for an epsilon": """
        noise = pv.accounting.noise_for(epsilon=2, batch_size=256, n=60_000, epochs=3, delta=1e-5)
        assert 0.3 < float(noise) < 1.2
    """,
    "logistic regression": """
        from privet.learn import LogisticRegression
        X = df[["hours", "weight"]].to_numpy()
        y = (df.hours > 40).to_numpy().astype(int)
        model = LogisticRegression(epsilon=5.0, bounds=([0, 0], [80, 4]), classes=[0, 1]).fit(X, y)
        assert model.score(X, y) > 0.8
    """,
    "k-means": """
        from privet.learn import KMeans
        X = df[["hours", "weight"]].to_numpy()
        centres = KMeans(n_clusters=2, epsilon=2.0, bounds=([0, 0], [80, 4])).fit(X).cluster_centers_
        assert ((centres >= 0) & (centres <= [80, 4])).all()
    """,
    "audit my function": """
        half = pv.mechanisms.Laplace(scale=0.5, sensitivity=pv.mechanisms.Sensitivity(1, norm="l1"))
        found = pv.audit.replay(half.release, 0.0, 1.0)
        assert half.loss.pure() == 2.0 and not found.refuted
    """,
    "report for a regulator": """
        ledger.release(t.agg(n=pv.count()), epsilon=1.0)
        page = pv.report.ledger_page(ledger)
        assert "epsilon" in str(page)
    """,
    "Polars": """
        import polars
        table = pv.Table(polars.from_pandas(df), columns={"hours": pv.Float(0, 80)})
        books = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e6))
        assert books.release(table.agg(n=pv.count()), epsilon=E).to_polars()["n"][0] == len(df)
    """,
    "a CSV with semicolons": """
        df.to_csv(folder / "visits.csv", sep=";", index=False)
        table = pv.Table(folder / "visits.csv", columns={"hours": pv.Float(0, 80)}, separator=";")
        books = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e6))
        assert books.release(table.agg(n=pv.count()), epsilon=E).value["n"][0] == len(df)
    """,
    "undo a mistake": """
        try:
            ledger.undo
        except AttributeError as why:
            assert len(str(why)) > 20
    """,
}


@pytest.mark.parametrize("task", TASKS)
def test_a_newcomer_does(task: str, tmp_path: Path) -> None:
    assert typed(TASKS[task], folder=tmp_path)["pv"] is pv

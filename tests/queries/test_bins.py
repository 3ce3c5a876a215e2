"""Bins: edges as numpy has them, starts that people expect, and labels that can be read."""

import datetime

import numpy as np
import pandas as pd
import pytest

import privet as pv
from privet.errors import InvalidParameter

COLUMNS = {
    "age": pv.Int(18, 80),
    "cost": pv.Float(0.0, 500.0),
    "balance": pv.Float(-10.0, 10.0, null=True),
    "day": pv.Date("2026-01-01", "2026-12-31"),
    "ward": pv.Category(["A", "B"]),
}


def data(rows=400):
    rng = np.random.default_rng(7)
    days = [datetime.date(2026, 1, 1) + datetime.timedelta(days=int(each)) for each in rng.integers(0, 365, rows)]
    return {
        "age": rng.integers(18, 81, rows),
        "cost": np.round(rng.uniform(0, 500, rows)),
        "balance": np.where(rng.random(rows) < 0.1, np.nan, np.round(rng.uniform(-10, 10, rows))),
        "day": days,
        "ward": ["A", "B"] * (rows // 2),
    }


def visits():
    return pv.Table(data(), columns=COLUMNS)


def counted(query):
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e9))
    return ledger.release(query, epsilon=1e6).to_pandas()


@pytest.mark.parametrize(
    ("column", "edges"),
    [
        ("age", [18, 30, 40]),
        ("age", [18, 80]),
        ("age", [0, 17.5, 18.5, 80, 200]),
        ("age", (20, 21, 22)),
        ("age", np.array([18.0, 49.0, 80.0])),
        ("cost", [0, 100, 500]),
        ("cost", [0.0, 250.0, 499.0]),
        ("cost", pd.Series([1, 2, 3])),
        ("balance", [-10, 0, 10]),
        ("balance", [-3, 0, 2.0]),
    ],
)
def test_edges_mean_what_numpy_says(column, edges):
    found = counted(visits().histogram(column, bins=edges))
    values = data()[column]
    wanted, _ = np.histogram(values[~np.isnan(values)], bins=np.asarray(edges))
    assert found["n"].tolist() == wanted.tolist()
    assert len(set(found[f"{column}_bin"])) == len(edges) - 1


def test_edges_of_days():
    found = counted(visits().histogram("day", bins=["2026-01-01", datetime.date(2026, 6, 1), "2026-12-31"]))
    early = sum(each < datetime.date(2026, 6, 1) for each in data()["day"])
    assert found["n"].tolist() == [early, 400 - early]
    assert found["day_bin"].tolist() == ["[2026-01-01, 2026-06-01)", "[2026-06-01, 2026-12-31]"]


@pytest.mark.parametrize(
    ("asked", "labels"),
    [
        (lambda t: t.histogram("age", bins=[18, 30, 40]), ["[18, 30)", "[30, 40]"]),
        (lambda t: t.histogram("age", width=30), ["[0, 30)", "[30, 60)", "[60, 90)"]),
        (lambda t: t.histogram("cost", bins=2), ["[0, 250)", "[250, 500]"]),
        (lambda t: t.histogram("cost", width=250), ["[0, 250)", "[250, 500]"]),
        (lambda t: t.histogram("balance", width=8.0), ["[-16, -8)", "[-8, 0)", "[0, 8)", "[8, 16]", None]),
        (lambda t: t.bin("age", width=40).group_by("age_bin").agg(n=pv.count()), ["[18, 58)", "[58, 98)"]),
        (lambda t: t.derive(g=t["age"].cut([30])).group_by("g").agg(n=pv.count()), ["[18, 30)", "[30, 80]"]),
        (lambda t: t.derive(g=t["age"].cut([18, 90])).where(t["cost"] > 3).group_by("g").agg(n=pv.count()),
         ["below 18", "[18, 90)", "90 or more"]),
    ],
)  # fmt: skip
def test_labels_say_where_a_bin_begins_and_ends(asked, labels):
    shown = counted(asked(visits()))
    assert [None if pd.isna(each) else each for each in shown.iloc[:, 0]] == labels


def test_every_value_is_in_the_bin_whose_label_says_so():
    """Bins of a width over bounds that are no multiples of it: by the labels, not by the code that made them."""
    for low, high, width in [(18, 80, 10), (-7, 9, 5), (0, 110, 7), (-9, -2, 4), (3, 3, 10)]:
        values = list(range(low, high + 1))
        table = pv.Table({"x": values}, columns={"x": pv.Int(low, high)})
        found = counted(table.histogram("x", width=width))
        for label, n in zip(found["x_bin"], found["n"], strict=True):
            first, last = map(int, label[1:-1].split(","))
            assert first % width == 0
            assert n == sum(first <= each < last for each in values)
        assert found["n"].sum() == len(values)


def test_labels_are_kept_and_shown_everywhere():
    table = visits()
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=10))
    query = table.histogram("age", bins=[18, 30, 80])
    first = ledger.release(query, epsilon=1.0, key="ages")
    again = ledger.release(query, epsilon=1.0, key="ages")
    for each in (first, again):
        assert "[30, 80]" in str(each.value)
        assert "[30, 80]" in each.value._repr_html_()
        assert each.to_pandas()["age_bin"].tolist() == ["[18, 30)", "[30, 80]"]
        assert each.value["age_bin"].tolist() == [1, 2]  # the number, for whoever computes with it


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (lambda t: t.histogram("age", bins=[30, 18]), "rise"),
        (lambda t: t.histogram("age", bins=[30]), "two of them"),
        (lambda t: t.histogram("age", bins=[]), "two of them"),
        (lambda t: t.histogram("age", bins=[18, None]), "number"),
        (lambda t: t.histogram("age", bins=[18, float("nan")]), "finite|number"),
        (lambda t: t.histogram("age", bins=["18", "30"]), "number"),
        (lambda t: t.histogram("age", bins="18, 30"), "list of edges"),
        (lambda t: t.histogram("age", bins=[18, 30], width=3), "either"),
        (lambda t: t.histogram("age", width=0), "greater than 0"),
        (lambda t: t.histogram("age", width=float("inf")), "greater than 0|finite"),
        (lambda t: t.histogram("ward", bins=[1, 2]), "no bins"),
        (lambda t: t.histogram("day", bins=[1, 2]), "day|date"),
    ],
)
def test_mistakes_are_seen_when_they_are_typed(asked, words):
    with pytest.raises(InvalidParameter, match=words):
        asked(visits())


@pytest.mark.parametrize(
    ("asked", "labels"),
    [
        (lambda t: t.bin("x", width=1e-6).group_by("x_bin", keys=[10**6, 2 * 10**6]), ["[1, 1.000001)", "[2, 2.000001)"]),
        (lambda t: t.bin("late", width=400).group_by("late_bin"), ["[9999-01-01, 9999-12-31)"]),
        (lambda t: t.derive(g=t["late"].cut([-(2**80), 2**90])).group_by("g"), None),
    ],
)  # fmt: skip
def test_labels_never_fail_after_the_payment(asked, labels):
    """More bins than fit into memory, bins that end after the last day, edges that no day has."""
    data = {"x": [1.0, 2.0], "late": ["9999-05-01", "9999-12-31"]}
    table = pv.Table(data, columns={"x": pv.Float(0, 500), "late": pv.Date("9999-01-01", "9999-12-31")})
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e9))
    found = ledger.release(asked(table).agg(n=pv.count()), epsilon=1e6).to_pandas()
    assert found["n"].sum() == 2
    assert labels is None or found.iloc[:, 0].tolist() == labels

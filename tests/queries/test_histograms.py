"""Filtered counts, quantiles, marginals and the most frequent values from one histogram."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import privet as pv
from privet import audit, noise
from privet.errors import InvalidParameter
from privet.mechanisms import TopK
from privet.queries.atoms import possible_patterns
from privet.queries.histogram_answers import Distribution, _answered
from privet.queries.reading import counted
from tests.oracles.array_engine import exact_aggregates

SALTS = (1, 2, 3, 4, 5)


def bmi() -> pv.Table:
    """The five rows of the lecture: height and weight made into one number."""
    feet = [(6, 2, 210), (5, 3, 190), (5, 9, 160), (5, 3, 180), (6, 7, 250)]
    values = [703.0 * weight / (12 * foot + inch) ** 2 for foot, inch, weight in feet]
    columns = {"sex": pv.Category(["m", "f"]), "bmi": pv.Float(10.0, 60.0)}
    return pv.Table({"sex": ["m", "f", "f", "m", "m"], "bmi": values}, columns=columns, name="people")


def test_the_planner_finds_disjoint_cells_by_itself():
    """Men and women below 25, and both together: 12/epsilon^2 in place of 128/epsilon^2 for questions one by one."""
    people = bmi()
    slim = people["bmi"] < 25
    question = people.counts(men=slim & (people["sex"] == "m"), women=slim & (people["sex"] == "f"), all=slim)
    made = question.for_budget(epsilon=1.0)
    assert made.queries.workload.cells == 3  # men, women, and those whose sex is missing; nobody is both
    total = made.queries.rmse**2 * made.queries.workload.queries
    assert total <= 12.0
    exact = people.data.exact_aggregates(made.plan, SALTS).rows
    answers = made.queries.workload.answers(exact)
    assert dict(zip(made.labels, answers.tolist(), strict=True)) == {"men": 0.0, "women": 1.0, "all": 1.0}


VALUES = {
    "age": (0, 1, 17, 18, 19, 64, 65, 66, 99, 100, None),
    "cost": (0.0, 0.5, math.nextafter(1.0, 0.0), 1.0, math.nextafter(1.0, 2.0), 2.0, None),
    "ward": ("A", "B", None),
    "city": ("Rome", "Bonn", "x", "xx", "", None),
    "day": ("2024-01-01", "2024-05-01", "2024-05-02", "2024-12-31", None),
    "ill": (True, False, None),
}
COLUMNS = {
    "age": pv.Int(0, 100),
    "cost": pv.Float(0.0, 2.0),
    "ward": pv.Category(["A", "B"]),
    "city": pv.Text(),
    "day": pv.Date("2024-01-01", "2024-12-31"),
    "ill": pv.Bool(),
}


def full(*names: str) -> dict[str, list[object]]:
    """A row for every combination of these values."""
    rows = list(product(*(VALUES[name] for name in names)))
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


CONDITIONS = {
    "ends and middles of whole numbers": lambda t: {"a": t["age"] >= 18, "b": t["age"] > 64.5, "c": t["age"] <= 0},
    "no whole number between": lambda t: {"a": t["age"] > 17, "b": t["age"] < 18, "c": t["age"] != 18},
    "beyond the bounds": lambda t: {"a": t["age"] >= 101, "b": t["age"] > -5, "c": ~(t["age"] > -5)},
    "fractions and their neighbours": lambda t: {"a": t["cost"] < 1.0, "b": t["cost"] <= 1.0, "c": t["cost"] == 1.0},
    "missing values": lambda t: {"a": t["age"].is_missing(), "b": ~t["age"].is_missing() & (t["age"] < 50)},
    "unknown is not false": lambda t: {"a": ~(t["ward"] == "A"), "b": (t["ward"] == "A") | (t["age"] > 17)},
    "texts": lambda t: {"a": t["city"] == "Rome", "b": t["city"].isin(["x", "Bonn"]), "c": t["city"] != "Rome"},
    "days and yes or no": lambda t: {"a": t["day"] > "2024-05-01", "b": (t["ill"] == True) & (t["age"] > 17)},  # noqa: E712
    "two columns at once": lambda t: {"a": t["age"] + t["age"] > 100, "b": t["age"] > 17},
}


@pytest.mark.parametrize("conditions", CONDITIONS.values(), ids=CONDITIONS)
def test_cells_hold_every_row_that_can_be(conditions):
    """No row with a condition that holds may fall outside of the cells: it would be left out without a word."""
    template = pv.Table({}, columns=COLUMNS, name="t")
    asked = conditions(template)
    used = sorted(set().union(*(each.condition.names() for each in asked.values())))
    frame = full(*used)
    table = pv.Table(frame, columns={name: COLUMNS[name] for name in used}, name="t")
    made = table.counts(**conditions(table)).for_budget(epsilon=1.0)
    cells = exact_aggregates(made.plan, {"t": frame}, SALTS).rows
    answers = made.queries.workload.answers(cells)
    for (name, each), exact in zip(asked.items(), answers, strict=True):
        plain = table.where(each).agg(n=pv.count()).for_budget(epsilon=1.0)
        assert exact_aggregates(plain.plan, {"t": frame}, SALTS).rows[0] == exact, name


def test_cells_of_derived_columns():
    frame = full("age")
    table = pv.Table(frame, columns={"age": COLUMNS["age"]}, name="t")
    table = table.derive(twice=table["age"] * 2, age=table["age"] - 50)  # a name with a new meaning
    asked = {"a": table["age"] >= 0, "b": table["twice"] > 129, "c": (table["age"] < 0) & (table["twice"] > 100)}
    made = table.counts(**asked).for_budget(epsilon=1.0)
    answers = made.queries.workload.answers(exact_aggregates(made.plan, {"t": frame}, SALTS).rows)
    ages = [value for value in VALUES["age"] if value is not None]
    twice = [2 * value for value in ages]
    assert answers.tolist() == [sum(a >= 50 for a in ages), sum(b > 129 for b in twice), sum(a < 50 < a for a in ages)]


def test_a_pattern_that_is_left_out_is_seen(monkeypatch):
    """The same comparison with stand-ins that forget missing values."""
    from privet.queries import atoms

    sound = atoms._stand_ins
    monkeypatch.setattr(atoms, "_stand_ins", lambda *facts: [each for each in sound(*facts) if each is not None])
    with pytest.raises(AssertionError):
        test_cells_hold_every_row_that_can_be(CONDITIONS["missing values"])


def test_conditions_that_nobody_can_meet_or_too_many():
    table = pv.Table({"age": [3]}, columns={"age": pv.Int(0, 100)})
    with pytest.raises(InvalidParameter, match="no row can meet"):
        table.counts(a=table["age"] > 200)
    with pytest.raises(InvalidParameter, match="at most 20"):
        table.counts(**{f"c{i}": table["age"] > i for i in range(21)})
    patterns = possible_patterns(((table["age"] > 200).condition, (table["age"] >= 0).condition), table.rows)
    assert patterns.tolist() == [[False, True]]


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_cells_of_a_person_with_several_rows_are_priced(relation):
    """All rows of a person may share a cell: three of them, and under replace three go and three come."""
    unit = pv.Person("id", max_rows=3, relation=relation)
    rng = np.random.default_rng(1)
    columns = {"age": pv.Int(0, 7)}
    made = pv.Table({}, columns=columns, unit=unit, name="t").ranges("age").for_budget(epsilon=1.0)
    matrix = np.stack([made.queries.design.measure(row) for row in np.eye(8, dtype=np.int64)])
    weights = np.repeat([float(w) for _, w in made.queries.design.groups], [s for s, _ in made.queries.design.groups])
    base = {"id": list(range(50, 60)), "age": rng.integers(0, 8, 10).tolist()}
    worst = 0.0
    for _ in range(60):
        worlds = []
        for _ in range(2):
            mine = rng.integers(0, 8, rng.integers(0, 6)).tolist() if rng.random() < 0.7 else [int(rng.integers(8))] * 6
            frame = {"id": [*base["id"], *([1] * len(mine))], "age": [*base["age"], *mine]}
            worlds.append(exact_aggregates(made.plan, {"t": frame}, SALTS).rows)
        if relation == "add_remove":
            worlds[1] = exact_aggregates(made.plan, {"t": base}, SALTS).rows
        worst = max(worst, float(np.abs((worlds[0] - worlds[1]) @ matrix * weights).sum()))
    assert worst / float(made.queries.scale) <= made.loss.pure() * (1 + 1e-9)
    assert worst / float(made.queries.scale) > 0.7 * made.loss.pure()  # and a person can use it up


def test_replay_sees_nothing_but_what_is_paid_for():
    columns = {"ward": pv.Category(["A", "B"]), "age": pv.Int(0, 9)}
    left = {"id": [1, 1, 2, 3], "ward": ["A", "B", "A", "B"], "age": [3, 9, None, 4]}
    right = {name: column[2:] for name, column in left.items()}
    tables = [pv.Table(data, columns=columns, unit=pv.Person("id", max_rows=2), name="t") for data in (left, right)]
    one = tables[0]
    questions = {
        "counts": one.counts(a=one["age"] > 3, b=one["ward"] == "A"),
        "quantiles": one.quantiles("age", [0.5]),
        "marginals": one.marginals("ward", "age"),
        "top": one.top_k("ward", 1),
        "query": one.group_by("ward").agg(n=pv.count(), m=pv.mean("age"), q=pv.median("age")),
    }
    for name, question in questions.items():
        made = question.for_budget(epsilon=1.0)
        found = audit.replay(made.release, tables[0].data, tables[1].data)
        assert not found.refuted, name


def test_intervals_of_filtered_counts_cover():
    rng = np.random.default_rng(2)
    columns = {"a": pv.Int(0, 2), "b": pv.Int(0, 24)}
    frame = {"a": rng.integers(0, 3, 400), "b": rng.integers(0, 25, 400)}
    table = pv.Table(frame, columns=columns, name="t")
    counts = table.counts(x=table["b"] > 11, y=(table["b"] > 5) & (table["a"] == 1), z=table["a"] < 2)
    made = counts.for_budget(epsilon=0.5)
    cells = exact_aggregates(made.plan, {"t": frame}, SALTS).rows.reshape(made.queries.workload.shape)
    truth = made.queries.workload.answers(cells)
    held, runs = np.zeros(len(truth)), 150
    _, wide = _answered(made.queries.release(cells).value, made.queries.workload)
    for seed in range(runs):
        answers = made.queries.release(cells, source=noise.Seeded(seed)).value
        _, low, high = counted(made.queries.workload.answers(answers._cells), wide)
        held += (low <= truth) & (truth <= high)
    assert held.min() >= runs * 0.95 - 5 * math.sqrt(runs * 0.05 * 0.95)
    assert held.mean() >= 0.95 * runs - 2.5  # over all answers together


def rank_error(x: np.ndarray, value: float, q: float) -> float:
    """How far the share q of the rows is from the ranks that this value has."""
    below, upto = np.sum(x < value), np.sum(x <= value)
    return float(max(below - q * len(x), q * len(x) - upto, 0.0))


def test_nine_quantiles_from_one_release_are_no_worse_than_nine_alone():
    x = np.clip(np.random.default_rng(5).normal(50.0, 15.0, 2_000).round(), 0, 100).astype(int)
    table = pv.Table({"x": x}, columns={"x": pv.Int(0, 100)}, name="t")
    shares = [i / 10 for i in range(1, 10)]
    made = table.quantiles("x", shares).for_budget(epsilon=0.2)
    cells = exact_aggregates(made.plan, {"t": {"x": x}}, SALTS).rows
    together, runs = [], 60
    held = np.zeros(9)
    truth = np.array([np.sort(x)[math.ceil(q * len(x)) - 1] for q in shares])
    for seed in range(runs):
        answers = made.queries.release(cells, source=noise.Seeded(seed)).value
        found = Distribution(answers, made.start, made.width, made.whole, made.days).quantiles(made.shares)
        together += [rank_error(x, value, q) for value, q in zip(found["value"], shares, strict=True)]
        low, high = found.interval("value")
        held += (low <= truth) & (truth <= high)
    alone = []
    for q in shares:
        one = table.agg(q=pv.quantile("x", q)).for_budget(epsilon=0.2 / 9)
        (part,) = one.quantiles
        scores = part.scores(exact_aggregates(part.plan, {"t": {"x": x}}, SALTS))[0]
        for seed in range(runs):
            value = part.values(np.array([part.choice.release(scores, source=noise.Seeded(seed)).value]))[0]
            alone.append(rank_error(x, float(value), q))
    assert np.mean(together) <= np.mean(alone)
    assert held.min() >= runs * 0.95 - 5 * math.sqrt(runs * 0.05 * 0.95)


@pytest.mark.parametrize(("kind", "x"), [("ties", [5] * 400), ("two values", [0] * 300 + [9] * 100)])
def test_quantiles_of_values_that_many_rows_share(kind, x):
    table = pv.Table({"x": x}, columns={"x": pv.Int(0, 9)}, name="t")
    made = table.agg(q=pv.median("x")).for_budget(epsilon=1.0)
    found = [made.release(table.data, source=noise.Seeded(seed)).value["q"][0] for seed in range(5)]
    assert found == [x[0]] * 5, kind


def test_quantiles_of_wide_bins_and_of_days_hold_the_whole_bin():
    x = np.full(500, 700.9)
    fractions = pv.Table({"x": x}, columns={"x": pv.Float(0.0, 1024.0)}, name="t")
    answer = fractions.quantiles("x", [0.5], bins=1024).for_budget(epsilon=50.0).release(fractions.data).value
    low, high = answer.interval("value")
    assert low[0] <= 700.9 <= high[0]
    assert high[0] - low[0] == 1.0
    days = pv.Table({"d": ["2024-03-01"] * 200}, columns={"d": pv.Date("2024-01-01", "2024-12-31")}, name="t")
    answer = days.quantiles("d", [0.5]).for_budget(epsilon=50.0).release(days.data).value
    assert answer["value"].tolist() == [np.datetime64("2024-03-01").item()]
    whole = days.cdf("d").for_budget(epsilon=50.0).release(days.data).value
    assert round(whole.between("2024-02-01", "2024-03-31").value) == 200
    assert whole.between("2024-03-31", "2024-02-01").value == 0.0


def test_top_values_are_not_monotonic_under_replace():
    columns, unit = {"w": pv.Category(["A", "B", "C"])}, pv.Rows(relation="replace")
    table = pv.Table({"w": ["A"] * 60 + ["B"]}, columns=columns, unit=unit, name="t")
    made = table.top_k("w", 1).for_budget(epsilon=1.0)
    assert not made.choice.monotonic
    assert made.release(table.data).value == ["A"]
    with pytest.raises(InvalidParameter, match="monotonic"):
        TopK.for_budget(epsilon=1.0, sensitivity=made.choice.sensitivity, monotonic=True, k=1)
    added = TopK.for_budget(epsilon=1.0, sensitivity=1, monotonic=True, k=1)  # half the noise, for another unit
    with pytest.raises(InvalidParameter, match="the unit"):
        type(made)(plan=made.plan, choice=added, about=made.about)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("asked", ["ranges", "quantiles", "counts", "median"])
def test_cells_of_a_question_without_groups_are_no_groups(asked, relation):
    """A person with rows in many bins keeps as many of them as one group may have, and that is what is priced."""
    unit = pv.Person("who", max_groups=2, max_rows_per_group=5, relation=relation)
    data = {"who": [1] * 8 + [2], "age": [*range(10, 90, 10), 95]}
    table = pv.Table(data, columns={"age": pv.Int(0, 110)}, unit=unit, name="t")
    if asked == "median":
        (part,) = table.agg(m=pv.median("age")).for_budget(epsilon=1.0).quantiles
        plan, moved = part.plan, part.choice.sensitivity.value
        assert moved == 5
    else:
        question = {
            "ranges": lambda: table.ranges("age"),
            "quantiles": lambda: table.quantiles("age", [0.5]),
            "counts": lambda: table.counts(**{f"c{i}": table["age"] == 10 * i for i in range(1, 9)}),
        }[asked]()
        plan = question.plan
        assert question.for_budget(epsilon=1.0).queries.max_rows == 5
    kept = table.data.exact_aggregates(plan, (1, 2, 3, 4, 5)).rows
    assert int(kept.sum()) == 5 + (asked != "counts")
    assert plan.rows.unit.unit == unit.unit


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_bins_of_a_quantile_in_groups_are_no_groups(relation):
    """A person with six values in two wards keeps all of them, where two groups of three rows are allowed; with twelve
    values the price is still that of six rows."""
    unit = pv.Person("who", max_groups=3, max_rows_per_group=3, relation=relation)
    for often, kept in ((1, 6), (2, 6)):
        data = {"who": [1] * (6 * often), "ward": ["A", "B"] * (3 * often), "age": list(range(10, 10 + 6 * often))}
        columns = {"ward": pv.Category(["A", "B"]), "age": pv.Int(0, 110)}
        table = pv.Table(data, columns=columns, unit=unit, name="t")
        (part,) = table.group_by("ward").agg(m=pv.median("age")).for_budget(epsilon=1.0).quantiles
        assert int(table.data.exact_aggregates(part.plan, SALTS).rows.sum()) == kept
        assert part.choice.sensitivity.value == 6  # of two wards, not of the three groups that were allowed


def test_queries_that_are_priced_for_fewer_rows_are_refused():
    """Of a person three rows are kept: noise for two would be too little."""
    held, columns = {"who": ["a"], "v": [1]}, {"v": pv.Int(0, 9)}
    two, three = (
        pv.Table(held, columns=columns, unit=pv.Person("who", max_rows=rows)).ranges("v").for_budget(epsilon=1.0)
        for rows in (2, 3)
    )
    assert replace(two, queries=three.queries).loss == three.loss  # dearer than it must be, and right
    with pytest.raises(InvalidParameter, match="priced for all rows of a person"):
        replace(three, queries=two.queries)

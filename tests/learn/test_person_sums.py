"""Gradients that are added up by person and clipped as one: how far a person moves them, wherever their records stand."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import privet as pv
from privet import learn, noise
from privet.errors import InvalidData, InvalidParameter
from privet.learn.losses import Logistic, Softmax
from privet.learn.problem import ArrayRecords, Classes, GridRows, Interval, TableRecords, Task, gradient_grid, grid_rows
from privet.learn.problem.person_sums import MOST_ROWS, clipped_sums, sums_of_persons
from privet.learn.solvers import NoisyGD, PersonFit, SufficientStatistics, exact_totals
from privet.privacy import Guarantee, Unit

CLIP, MOST, SALTS = 0.5, 6, (1, 2, 3, 4, 5)
COLUMNS = {"x": pv.Float(-1.0, 1.0), "z": pv.Float(-1.0, 1.0), "y": pv.Int(0, 2)}


def people(n=40, seed=4):
    """Of 1 to 9 rows each, in no order."""
    random = np.random.default_rng(seed)
    ids = np.repeat(np.arange(n), random.integers(1, 10, size=n))
    random.shuffle(ids)
    columns = {"x": random.uniform(-1, 1, len(ids)), "z": random.uniform(-1, 1, len(ids))}
    return pd.DataFrame({**columns, "y": random.integers(0, 3, len(ids)), "id": ids})


def read(data, work, most=MOST, classes=3):
    """What `work` makes of the rows of a table about persons, as a fit about them sees these."""
    table = pv.Table(data, columns=COLUMNS, unit=pv.Person("id", max_rows=most))
    records = TableRecords(table.rows, table.data, learn.Encoding(COLUMNS, "y")).salted(SALTS)
    task = Task(features=2, row_norm=1.0, intercept=False, target=Classes(range(classes)))
    try:
        return work(GridRows(task, records))
    finally:
        records.close()


WEIGHTS = np.array([[0.5, -1.0], [0.25, 2.0], [0.0, 0.0]])


def gradient(data, most=MOST, clip=CLIP):
    return read(data, lambda rows: rows.person_gradient(Softmax(3), WEIGHTS, clip), most)


def length(steps, clip=CLIP):
    return math.sqrt(sum(int(each) ** 2 for each in np.ravel(steps))) * gradient_grid(clip).step


def check_one_person(data):
    """Each person moves the sum by no more than the clipping norm, and some reach it."""
    whole, moved = gradient(data), []
    for person in data["id"].unique():
        moved.append(length(whole - gradient(data[data["id"] != person])))
        assert moved[-1] <= CLIP, "a person moves the sum by more than the clipping norm"
    assert max(moved) > 0.99 * CLIP


def test_a_person_moves_the_sum_by_the_clipping_norm_at_most():
    check_one_person(people(12))


def test_rows_that_are_clipped_one_by_one_are_noticed(monkeypatch):
    monkeypatch.setattr(GridRows, "person_gradient", GridRows.gradient)
    with pytest.raises(AssertionError, match="by more than"):
        check_one_person(people(12))


def test_it_is_the_sum_of_clipped_sums():
    """By an oracle of its own, in floats."""
    data, total = people(), np.zeros((3, 2))
    for _, mine in data[data.groupby("id")["id"].transform("size") <= MOST].groupby("id"):
        rows = mine[["x", "z"]].to_numpy()
        rows = rows / np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True))
        shares = np.exp(rows @ WEIGHTS.T)
        slopes = shares / shares.sum(axis=1, keepdims=True) - np.eye(3)[mine["y"].to_numpy()]
        sums = slopes.T @ rows
        total += sums * min(1.0, CLIP / np.linalg.norm(sums))
    few = data[data.groupby("id")["id"].transform("size") <= MOST]
    found = gradient(few) * float(gradient_grid(CLIP).step)
    np.testing.assert_allclose(found, total, atol=2e-3)
    assert (
        np.abs(
            read(few, lambda rows: rows.gradient(Softmax(3), WEIGHTS, CLIP)) * gradient_grid(CLIP).step - total
        ).max()
        > 0.1
    )


def check_blocks(monkeypatch, sizes=(1, 2, 3, 7, 64)):
    data = people()
    whole = gradient(data), read(data, lambda rows: rows.exact_persons())
    assert whole[1] == data["id"].nunique()
    for size in sizes:
        with monkeypatch.context() as cut:
            cut.setattr("privet.learn.problem.table_records.BLOCK", size)
            cut.setattr("privet.learn.problem.spool.BLOCK", size)
            cut.setattr(grid_rows, "_TILE", max(1, size // 2))
            assert np.array_equal(gradient(data), whole[0]), "a person is cut where a block ends"
            assert read(data, lambda rows: rows.exact_persons()) == whole[1]


def test_it_does_not_matter_where_blocks_end(monkeypatch):
    check_blocks(monkeypatch)
    shuffled = people().sample(frac=1.0, random_state=5)
    assert np.array_equal(gradient(shuffled), gradient(people()))


def forgetful(parts):
    for part in parts:
        yield from sums_of_persons([part])


def test_persons_that_are_cut_where_a_block_ends_are_noticed(monkeypatch):
    monkeypatch.setattr(grid_rows, "sums_of_persons", forgetful)
    with pytest.raises(AssertionError, match="is cut where"):
        check_blocks(monkeypatch, sizes=(7,))


def test_rows_without_a_person_are_left_out():
    """Were they one person's, or each a person's own, the count would say so."""
    data = people(10)
    named = [float(each) for each in data["id"]]
    lost = pd.DataFrame({"x": [0.9] * 5, "z": [0.1] * 5, "y": [2] * 5, "id": [None] * 5})
    both = pd.concat([data.assign(id=named), lost]).astype({"id": "Int64"})
    assert np.array_equal(gradient(both), gradient(data))
    assert read(both, lambda rows: rows.exact_persons()) == 10
    for twin in (both.assign(id=both["id"].fillna(99)), both.assign(id=both["id"].fillna(3))):
        assert not np.array_equal(gradient(twin), gradient(data))


def test_no_sum_is_longer_than_it_may_be():
    random = np.random.default_rng(1)
    sums = random.integers(-(2**62), 2**62, size=(300, 7)) >> random.integers(0, 62, size=(300, 1))
    for longest in (1.0, 3.7, 2.0**38, 2.0**60):
        for before, after in zip(sums.tolist(), clipped_sums(sums, longest).tolist(), strict=True):
            assert sum(each**2 for each in after) <= Fraction(longest) ** 2
            if sum(each**2 for each in before) <= Fraction(longest) ** 2 * Fraction(99, 100):
                assert after == before


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize(
    "promise", [Guarantee(1.0, 1e-6), Guarantee(mu=0.5), Guarantee(rho=0.1)], ids=["delta", "mu", "rho"]
)
def test_the_price_is_that_of_one_record(promise, relation):
    def plan(unit, share, **how):
        task = Task(features=2, row_norm=1.0, target=Classes((0, 1)), unit=unit)
        return NoisyGD(steps=3, **how).plan(task, Logistic(), share)

    about, ends = Unit(relation, person="id"), 2 if relation == "replace" else 1
    made = PersonFit.planned(lambda unit, share: plan(unit, share, by_person=True), about, MOST, promise)
    assert promise.covers(made.loss)
    assert made.loss.unit == about
    assert made.loss.gdp() == pytest.approx(ends * made.rows.loss.gdp(), rel=1e-9)
    group = PersonFit.planned(plan, about, MOST, promise)
    relative = [each.rows.noise.scale / float(each.rows.noise.sensitivity.value) for each in (made, group)]
    assert relative[0] == pytest.approx(relative[1], rel=1e-6)
    assert group.rows.noise.scale == pytest.approx(MOST * made.rows.noise.scale, rel=1e-6)
    # rows that are clipped one by one are not sold for the price of a sum
    assert not promise.covers(PersonFit(rows=plan(Unit(), promise), about=about, max_rows=MOST).loss)


def test_what_has_no_persons_is_refused_before_it_is_paid():
    rows, labels = np.ones((4, 2)), np.array([0, 1, 0, 1])
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0, delta=1e-5))
    model = learn.LogisticRegression(
        epsilon=0.5, delta=1e-6, row_norm=1.0, classes=[0, 1], solver=NoisyGD(by_person=True), ledger=ledger
    )
    with pytest.raises(InvalidData, match="table about persons"):
        model.fit(rows, labels)
    assert not [entry for entry in ledger.entries() if entry.kind == "reserve"]
    with pytest.raises(InvalidParameter, match="by_person"):
        NoisyGD(by_person="no")
    task = Task(features=2, row_norm=1.0, target=Classes((0, 1)))
    plan = NoisyGD(steps=1, by_person=True).plan(task, Logistic(), Guarantee(mu=1.0))
    with pytest.raises(InvalidData, match="table about persons"):
        plan.release(ArrayRecords(rows, labels))
    with pytest.raises(InvalidParameter, match="one, however many"):
        replace(plan, task=replace(task, unit=Unit(group_size=2)))
    with pytest.raises(InvalidParameter, match="max_rows"):
        PersonFit(rows=plan, about=Unit(person="id"), max_rows=MOST_ROWS + 1)


def test_a_file_is_fitted_as_a_frame_is(tmp_path):
    data = people()
    data.to_parquet(tmp_path / "people.parquet")
    models = []
    for held in (data, tmp_path / "people.parquet"):
        table = pv.Table(held, columns=COLUMNS, unit=pv.Person("id", max_rows=MOST))
        solver = NoisyGD(steps=3, by_person=True)
        model = learn.LogisticRegression(
            epsilon=2.0, delta=1e-6, classes=[0, 1, 2], solver=solver, source=noise.Seeded(5)
        )
        models.append(model.fit(table, target="y"))
    assert np.array_equal(models[0].coef_, models[1].coef_)
    assert "added up and clipped as one" in str(models[0].privacy_)


def person_gram(data, made=exact_totals.exact_person_gram, most=MOST):
    table = pv.Table(data, columns=COLUMNS, unit=pv.Person("id", max_rows=most))
    records = TableRecords(table.rows, table.data, learn.Encoding(COLUMNS, "y")).salted(SALTS)
    task = Task(features=2, row_norm=1.0, target=Interval(0.0, 2.0))
    try:
        return np.asarray(made(task, records, 2) * float(exact_totals.GRID.step), dtype=float)
    finally:
        records.close()


def check_gram_of_one_person(data, made=exact_totals.exact_person_gram):
    whole = person_gram(data, made)
    moved = [np.linalg.norm(whole - person_gram(data[data["id"] != person], made)) for person in data["id"].unique()]
    assert max(moved) <= 2.0, "a person moves the Gram by more than one record may"
    assert max(moved) > 1.99


def test_a_person_moves_the_gram_as_far_as_one_record_may():
    check_gram_of_one_person(people(12))
    with pytest.raises(AssertionError, match="by more than one record"):
        check_gram_of_one_person(
            people(12), lambda task, records, _: exact_totals.exact_gram(task, records, targets=True)
        )


def test_a_gram_by_person_is_that_of_weighted_records(monkeypatch):
    """By an oracle of its own; and wherever blocks end. A twin that cuts persons there is noticed."""
    data = people()
    few = data[data.groupby("id")["id"].transform("size") <= MOST]
    total = np.zeros((4, 4))
    for _, mine in few.groupby("id"):
        rows = mine[["x", "z"]].to_numpy()
        rows = rows / np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True))
        rows = np.column_stack([rows, np.full(len(rows), 1.0 / 3.0)]) / math.hypot(1.0, 1.0 / 3.0)
        z = np.column_stack([rows, mine["y"].to_numpy() - 1.0])
        total += z.T @ z * min(1.0, 2.0 / np.linalg.norm(z.T @ z))
    found = person_gram(few)
    np.testing.assert_allclose(found, total, atol=1e-3)
    monkeypatch.setattr("privet.learn.problem.table_records.BLOCK", 7)
    monkeypatch.setattr(exact_totals, "_PRODUCTS", 50)
    assert np.array_equal(person_gram(few), found)
    monkeypatch.setattr(exact_totals, "sums_of_persons", forgetful)
    assert not np.array_equal(person_gram(few), found)


def test_a_regression_by_person_has_the_noise_of_one_record():
    table = pv.Table(people(400), columns=COLUMNS, unit=pv.Person("id", max_rows=MOST))
    plans = {}
    for by_person in (False, True):
        solver = SufficientStatistics(by_person=by_person)
        model = learn.LinearRegression(epsilon=1.0, delta=1e-6, solver=solver).fit(table, target="y")
        plans[by_person] = model.privacy_
    noises = [float(plans[each].plan["rows"]["noise"]["noise"]["scale"]) for each in (False, True)]
    assert noises[0] == pytest.approx(MOST * noises[1], rel=1e-6)
    assert any("clipped as one" in note for note in plans[True].notes)
    with pytest.raises(InvalidData, match="a table about persons"):
        learn.LinearRegression(
            epsilon=1.0, delta=1e-6, row_norm=1.0, bounds_y=(0, 1), solver=SufficientStatistics(by_person=True)
        ).fit(np.zeros((3, 1)), np.zeros(3))

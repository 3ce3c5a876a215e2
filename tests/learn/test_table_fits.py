"""Fits of tables: equal to fits of arrays, of one state of the data, paid before a row is read, and about persons."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import privet as pv
from privet import learn, noise
from privet.errors import InvalidData, InvalidParameter, KeyConflict, MixedUnits, PrivetError
from privet.learn.encoding import Encoding
from privet.learn.estimators.table_fit import solvers_by_totals
from privet.learn.losses import Logistic
from privet.learn.problem import Classes, GridRows, TableRecords, Task, gradient_grid
from privet.learn.solvers import NoisyGD, ObjectivePerturbation, PersonFit, Preconditioned, SufficientStatistics
from privet.learn.solvers.noisy_gd import NoisyGDFit
from privet.privacy import Guarantee, Unit
from privet.tables import person_rows
from privet.tables.data import Data
from privet.tables.person_rows import bounded_rows
from privet.tables.plan import Source as Table

RNG = np.random.default_rng(3)
N = 700
AGE = RNG.integers(0, 101, size=N)
FRAME = pd.DataFrame(
    {
        "age": AGE,
        "ward": RNG.choice(["A", "B", "C"], size=N),
        "dose": RNG.uniform(-1.0, 12.0, size=N),
        "ill": np.where(AGE + RNG.normal(0, 10, N) > 50, "yes", "no"),
        "cost": AGE * 1.5 + RNG.uniform(0, 20, N),
        "id": RNG.integers(0, N // 3, size=N),
    }
)
COLUMNS = {
    "age": pv.Int(0, 100),
    "ward": pv.Category(["A", "B", "C"]),
    "dose": pv.Float(0.0, 10.0),
    "ill": pv.Category(["no", "yes"]),
    "cost": pv.Float(0.0, 200.0),
}
FEATURES = ["age", "ward", "dose"]
PROMISE = {"epsilon": 2.0, "delta": 1e-6}


def seeded(kind, **more):
    return kind(**PROMISE, **more, source=noise.Seeded(11))


def logistic(solver=None):
    return seeded(learn.LogisticRegression, solver=solver), "ill"


def linear(solver=None):
    return seeded(learn.LinearRegression, solver=solver), "cost"


MODELS = {
    "objective": lambda: logistic(),
    "gradient": lambda: logistic(NoisyGD(steps=3)),
    "preconditioned": lambda: logistic(Preconditioned(steps=3)),
    "boosted": lambda: linear(),
    "statistics": lambda: linear(SufficientStatistics()),
    "bayes": lambda: (seeded(learn.GaussianNB), "ill"),
    "lasso": lambda: (seeded(learn.Lasso), "cost"),
    "pca": lambda: (seeded(learn.PCA), None),
    "means": lambda: (seeded(learn.KMeans, n_clusters=2, rounds=2), None),
    "scaler": lambda: (seeded(learn.StandardScaler), None),
}


def facts_of(model, encoding):
    """The public facts, as a user of arrays gives them."""
    told = {"classes": "classes", "bounds_y": "bounds_y", "row_norm": "row_norm"}
    made = {name: getattr(encoding, at) for name, at in told.items() if hasattr(model, name)}
    return made if hasattr(model, "row_norm") else made | {"bounds": (-1.0, 1.0)}


def learned(model):
    return {name: value for name, value in vars(model).items() if isinstance(value, np.ndarray)}


def fitted(name, data):
    model, target = MODELS[name]()
    return model.fit(pv.Table(data, columns=COLUMNS), target=target, features=FEATURES)


@pytest.mark.parametrize("name", MODELS)
def test_a_table_is_fitted_as_its_arrays_are(name, tmp_path):
    model = fitted(name, FRAME)
    read = model.encoding_.of(FRAME)
    plain, _ = MODELS[name]()
    plain.set_params(**facts_of(plain, model.encoding_)).fit(read.rows, read.targets)
    assert learned(model)
    for what, value in learned(model).items():
        assert np.array_equal(value, getattr(plain, what)), what
    FRAME.to_parquet(tmp_path / "v.parquet", index=False)
    for what, value in learned(fitted(name, tmp_path / "v.parquet")).items():
        assert np.array_equal(value, learned(model)[what]), what


@pytest.mark.parametrize("name", ["gradient", "boosted", "bayes", "objective"])
def test_the_order_of_rows_and_the_size_of_blocks_do_not_matter(name, monkeypatch):
    """To the last bit where sums are exact; a certified minimum is within twice the tolerance over the strength."""
    one = fitted(name, FRAME)
    monkeypatch.setattr("privet.learn.problem.spool.BLOCK", 64)
    monkeypatch.setattr("privet.learn.problem.table_records.BLOCK", 64)
    other = fitted(name, FRAME.iloc[RNG.permutation(N)])
    for what, value in learned(one).items():
        if name == "objective" and value.dtype.kind == "f":
            assert np.allclose(value, getattr(other, what), rtol=0.0, atol=1e-4), what
        else:
            assert np.array_equal(value, getattr(other, what)), what


def test_values_are_read_as_the_schema_says(tmp_path):
    odd = {
        "age": [200.0, -5.0, 49.5, np.nan, np.inf],
        "ward": ["A", "?", None, "B", "C"],
        "dose": [1.0, 2.0, 3.0, 4.0, 5.0],
        "ill": ["yes", "no", "maybe", None, "yes"],
    }
    columns = {name: COLUMNS[name] for name in odd}
    encoding = learn.Encoding(columns, "ill")
    table = pv.Table({name: np.array(values, dtype=object) for name, values in odd.items()}, columns=columns)
    pd.DataFrame(odd).to_parquet(tmp_path / "odd.parquet")
    for held in (table, pv.Table(tmp_path / "odd.parquet", columns=columns)):
        (chunk,) = TableRecords(held.rows, held.data, encoding).chunks()
        rows, targets, names = encoding.of({name: np.array(values, dtype=object) for name, values in odd.items()})
        assert np.array_equal(chunk.rows, rows, equal_nan=True)
        assert names == ("age", "ward=A", "ward=B", "ward=C", "dose")
        assert rows[:3, 0].tolist() == [1.0, -1.0, 0.0]
        assert chunk.targets.tolist() == ["yes", "no", None, None, "yes"]
        _, bad = Classes(("no", "yes")).encoded(targets)
        assert np.array_equal(Classes(("no", "yes")).encoded(chunk.targets)[1], bad)


def test_all_passes_see_one_state_of_the_table(tmp_path, monkeypatch):
    """The file is written over after the engine has read it; a twin that asks the engine for every pass sees both."""
    place = tmp_path / "v.parquet"
    FRAME.to_parquet(place, index=False)
    asked = []
    real = Data.exact_rows

    def once(data, scan):
        yield from real(data, scan)
        asked.append(1)
        FRAME.iloc[:50].to_parquet(place, index=False)

    expected = learned(fitted("gradient", FRAME))
    monkeypatch.setattr(Data, "exact_rows", once)
    monkeypatch.setattr("privet.learn.problem.table_records._FEW", 0)  # nothing is kept in memory
    assert np.array_equal(learned(fitted("gradient", place))["coef_"], expected["coef_"])
    assert len(asked) == 1
    monkeypatch.setattr(
        TableRecords, "chunks", lambda records: iter_chunks(records._data.exact_rows(records.scan), records._encoding)
    )
    FRAME.to_parquet(place, index=False)
    assert not np.array_equal(learned(fitted("gradient", place))["coef_"], expected["coef_"])
    assert len(asked) > 2


def iter_chunks(blocks, encoding):
    from privet.learn.problem.table_records import _chunks

    return _chunks(blocks, encoding)


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), None])
def test_a_fit_is_paid_before_a_row_is_read_and_stays_paid(failure, tmp_path, monkeypatch):
    place = tmp_path / "v.parquet"
    FRAME.to_parquet(place, index=False)
    table = pv.Table(place, columns=COLUMNS)
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(10.0, 1e-4), unit=table.unit)
    model = learn.LogisticRegression(**PROMISE, ledger=ledger)
    entries = len(list(ledger.entries()))

    def broken(data, scan):
        assert len(list(ledger.entries())) > entries  # the charge is there already
        yield np.zeros((1, scan.width))
        if failure is not None:
            raise failure
        raise InvalidData("the engine could not answer")

    monkeypatch.setattr(Data, "exact_rows", broken)
    with pytest.raises((KeyboardInterrupt, PrivetError)):
        model.fit(table, target="ill")
    assert ledger.total(delta=1e-6).upper > 1.9
    assert not hasattr(model, "coef_")


def test_what_the_schema_shows_to_be_wrong_is_refused_for_nothing(tmp_path):
    place = tmp_path / "v.parquet"
    FRAME.drop(columns="dose").to_parquet(place, index=False)
    table = pv.Table(place, columns=COLUMNS)
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(10.0, 1e-4), unit=table.unit)
    model = learn.LogisticRegression(**PROMISE, ledger=ledger)
    entries = len(list(ledger.entries()))
    named = pv.Table(FRAME, columns={**COLUMNS, "id": pv.Text()})
    for call, problem, words in (
        (lambda: model.fit(table, target="ill"), InvalidData, "no column 'dose'"),
        (lambda: model.fit(pv.Table("none.parquet", columns=COLUMNS), target="ill"), InvalidData, "no file"),
        (lambda: model.fit(table), InvalidParameter, "target="),
        (lambda: model.fit(table, FRAME["ill"]), InvalidParameter, "target="),
        (lambda: model.fit(table, target="none"), InvalidParameter, "no column"),
        (lambda: model.fit(table, target="ill", features="age"), InvalidParameter, "list"),
        (lambda: model.fit(table, target="ill", features=["ill"]), InvalidParameter, "target"),
        (lambda: model.fit(table, target="dose"), InvalidParameter, "classifier"),
        (lambda: model.fit(named, target="ill"), InvalidParameter, "'id' is a Text"),
        (lambda: model.fit(table.union(table), target="ill"), InvalidParameter, "each row once"),
        (lambda: model.fit(np.zeros((2, 2)), [0, 1], target="ill"), InvalidParameter, "pv.Table"),
        (lambda: learn.PCA(**PROMISE, ledger=ledger).fit(table, target="ill"), InvalidParameter, "no column"),
        (lambda: learn.PCA(epsilon=np.inf).fit(table, features=["age"]), InvalidParameter, "memory"),
    ):
        with pytest.raises(problem, match=words):
            call()
    persons = pv.Table(FRAME, columns=COLUMNS, unit=pv.Person("id", max_rows=2))
    with pytest.raises(MixedUnits):
        model.fit(persons, target="ill")
    assert len(list(ledger.entries())) == entries


def test_a_key_stands_for_the_rows_and_columns_of_a_fit_and_for_no_data():
    """Two features and a target of one form: the plans are equal, and the question is told by names alone."""
    kinds = dict.fromkeys("abc", pv.Category(["no", "yes"]))
    held = {name: ["no", "yes"] * 20 for name in kinds}
    table = pv.Table(held, columns=kinds, name="t")
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(10.0, 1e-4))
    model = learn.LogisticRegression(**PROMISE, ledger=ledger)
    first = model.fit(table, target="a", features=["b"], key="k").coef_
    other = pv.Table({name: ["yes"] * 7 for name in kinds}, columns=kinds, name="t")
    assert np.array_equal(model.fit(other, target="a", features=["b"], key="k").coef_, first)
    asks = [
        (table, {"target": "b", "features": ["a"]}),
        (table, {"target": "a", "features": ["c"]}),
        (table.where(table["c"] == "no"), {"target": "a", "features": ["b"]}),
        (pv.Table(held, columns=kinds, name="u"), {"target": "a", "features": ["b"]}),
    ]
    for rows, names in asks:
        with pytest.raises(KeyConflict):
            model.fit(rows, **names, key="k")
    assert [entry.kind for entry in ledger.entries()] == ["open", "reserve", "release"]


def test_a_fit_of_a_table_is_read_back_by_its_key_and_saved_with_its_encoding(tmp_path):
    place = tmp_path / "v.parquet"
    FRAME.to_parquet(place, index=False)
    table = pv.Table(place, columns=COLUMNS, unit=pv.Person("id", max_rows=2))
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(10.0, 1e-4), unit=table.unit)
    model, again = (learn.LogisticRegression(**PROMISE, ledger=ledger).fit(table, target="ill", key="a") for _ in "ab")
    assert np.array_equal(model.coef_, again.coef_)
    assert "read back from entry 3" not in str(model.privacy_)
    assert "read back from entry 3" in str(again.privacy_)
    assert ledger.total(delta=1e-5).upper <= 2.0
    assert model.privacy_.unit == table.unit
    assert "at most 2 rows of a person" in str(model.privacy_)
    learn.save(model, tmp_path / "m.json")
    loaded = learn.load(tmp_path / "m.json")
    assert loaded.encoding_ == model.encoding_
    read = loaded.encoding_.of(FRAME.drop(columns="ill"))
    assert read.targets is None
    assert np.array_equal(loaded.predict(read.rows), model.predict(read.rows))


# --- persons -----------------------------------------------------------------------------------------------------------

SALTS = (11, 22, 33, 44, 55)


def blocks_of(rows, cuts):
    rows = rows[np.argsort(rows[:, -1], kind="stable")]
    return [rows[a:b] for a, b in itertools.pairwise([0, *sorted(cuts), len(rows)])]


def kept(rows, most=3, cuts=()):
    made = list(bounded_rows(iter(blocks_of(rows, cuts)), most, SALTS))
    return np.concatenate(made) if made else np.zeros((0, rows.shape[1]))


def check_bounded(rows, most=3):
    """At most so many of each; the same whatever stands beside them, in whatever order and blocks."""
    whole = kept(rows, most)
    for person in np.unique(rows[:, -1]):
        alone = rows[rows[:, -1] == person]
        mine = whole[whole[:, -1] == person]
        assert len(mine) == min(most, len(alone)), "too many rows of a person"
        shuffled = np.concatenate([rows[rows[:, -1] != person], alone[RNG.permutation(len(alone))]])
        cut = kept(shuffled, most, RNG.integers(0, len(rows), size=5))
        for others in (kept(alone, most), cut[cut[:, -1] == person]):
            assert sorted(map(tuple, mine.tolist())) == sorted(map(tuple, others.tolist())), "others decide"


def persons(n=60):
    rows = RNG.normal(size=(n, 3)).round(1)
    return np.column_stack([rows, RNG.integers(0, 9, size=n)])


def test_what_is_kept_of_a_person_depends_on_that_person_alone():
    for n in (1, 7, 60, 400):
        check_bounded(persons(n))
    check_bounded(np.ones((20, 4)))
    assert list(bounded_rows(iter([]), 2, SALTS)) == []


@pytest.mark.parametrize("twin", ["one more", "as they come", "by place"])
def test_planted_faults_of_the_bounding_are_seen(twin, monkeypatch):
    real, real_mix = person_rows._best, person_rows.row_mix

    def by_place(rows, salts):  # mixes in where a row stands
        return (real_mix(rows, salts) + np.arange(len(rows)) * 519_000_001) % 2**31

    if twin == "one more":
        monkeypatch.setattr(person_rows, "_best", lambda rows, most, salts: real(rows, most + 1, salts))
    elif twin == "as they come":
        monkeypatch.setattr(person_rows, "row_mix", lambda rows, salts: np.zeros(len(rows)))
        monkeypatch.setattr(person_rows.np, "lexsort", lambda keys: np.argsort(keys[-1], kind="stable"))
    else:
        monkeypatch.setattr(person_rows, "row_mix", by_place)
    with pytest.raises(AssertionError, match=r"too many rows|others decide"):
        check_bounded(persons(60))


def gradient_of(data, most):
    """The exact clipped gradient of a table of persons, as a fit about them sees it."""
    columns = {"x": pv.Float(-1.0, 1.0), "y": pv.Int(0, 1)}
    table = pv.Table(data, columns=columns, unit=pv.Person("id", max_rows=most))
    records = TableRecords(table.rows, table.data, learn.Encoding(columns, "y")).salted(SALTS)
    task = Task(features=1, row_norm=1.0, intercept=False, target=Classes((0, 1)))
    try:
        return GridRows(task, records).gradient(Logistic(), np.zeros(1), 0.5)
    finally:
        records.close()


def test_a_person_moves_a_sum_by_no_more_than_their_rows_and_reaches_that():
    most, step = 2, gradient_grid(0.5).step
    data = {"x": np.ones(9), "y": np.array([1, 0] + [1] * 7), "id": np.array([1, 2] + [3] * 7)}
    fewer = {name: values[:2] for name, values in data.items()}
    moved = abs(int(gradient_of(data, most)[0]) - int(gradient_of(fewer, most)[0])) * step
    assert moved <= most * 0.5
    assert moved >= most * 0.5 * 0.999
    other = {**data, "x": np.where(data["id"] == 3, -1.0, 1.0)}  # that person replaced by one who pulls the other way
    replaced = abs(int(gradient_of(data, most)[0]) - int(gradient_of(other, most)[0])) * step
    assert 0.999 * 2 * most * 0.5 <= replaced <= 2 * most * 0.5


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize(
    ("promise", "solver"),
    [
        (Guarantee(1.0, 1e-6), None),
        (Guarantee(1.0, 1e-6), ObjectivePerturbation()),
        (Guarantee(1.0), ObjectivePerturbation()),
        (Guarantee(mu=0.5), NoisyGD(steps=2)),
        (Guarantee(rho=0.1), None),
    ],
    ids=str,
)
def test_the_price_of_a_fit_about_persons_is_that_of_a_group(promise, solver, relation):
    about, most = Unit(relation, person="id"), 3
    changed = most * (2 if relation == "replace" else 1)

    def plan(unit, share):
        model = learn.LogisticRegression(row_norm=1.0, classes=[0, 1], solver=solver)
        return model._plan(2, unit, share)

    made = PersonFit.planned(plan, about, most, promise)
    assert made.loss.unit == about
    assert promise.covers(made.loss)
    each = made.rows.loss.unit.group_size
    assert each in (1, most)
    if promise.mu is not None:
        assert made.loss.gdp() == pytest.approx(changed / each * made.rows.loss.gdp(), rel=1e-6)
    if promise.delta == 0.0 and promise.epsilon is not None:
        assert made.loss.pure() == pytest.approx(changed / each * made.rows.loss.pure(), rel=1e-6)
    # a twin that plans one row with the whole promise is not covered, or refused
    if made.rows_epsilon is None:
        assert not promise.covers(PersonFit(rows=plan(Unit(), promise), about=about, max_rows=most).loss)
    else:
        with pytest.raises(InvalidParameter, match="costs more"):
            replace(made, rows_epsilon=made.rows_epsilon / 2.0)


def test_a_fit_about_persons_is_run_on_such_tables_alone():
    plan = next(iter(PersonFit.examples())).mechanism
    columns = {"x": pv.Int(-1, 1), "y": pv.Int(0, 1)}
    data = {"x": np.ones(3), "y": np.ones(3), "id": np.ones(3), "other": np.ones(3)}
    for unit in (pv.Rows(), pv.Person("id", max_rows=3), pv.Person("other", max_rows=2)):
        table = pv.Table(data, columns=columns, unit=unit)
        with pytest.raises(InvalidData, match=r"persons|rows of a person"):
            plan.release(TableRecords(table.rows, table.data, learn.Encoding(columns, "y")))


def test_a_table_without_a_piece_adds_up_to_nothing(monkeypatch):
    """Spark may have no partition at all for an empty table: that must not show as an error of another kind."""
    from privet.tables.engines import SparkRows

    table = pv.Table({"age": []}, columns={"age": pv.Int(0, 100)})
    records = TableRecords(table.rows, table.data, learn.Encoding(table.columns))
    monkeypatch.setattr(SparkRows, "exact_parts", lambda self, part: [])
    records._apart, records._held = True, SparkRows(records.scan, {})
    assert records.exact_added(lambda piece: sum(len(chunk.rows) for chunk in piece.chunks())) == 0


@pytest.mark.parametrize("by_person", [False, True])
def test_a_plan_about_rows_is_not_run_on_rows_of_persons(by_person):
    """It was charged, and failed then: its price is that of a row, which nobody has bounded."""
    person = pv.Person("who", max_rows=2)
    data = {"x": np.ones(4, dtype=int), "y": np.ones(4, dtype=int), "who": np.array([1, 1, 2, 3])}
    columns = {"x": pv.Int(-1, 1), "y": pv.Int(0, 1)}
    records = TableRecords(Table("few", tuple(columns.items()), person), Data({"few": data}), Encoding(columns, "y"))
    task = Task(features=1, row_norm=1.0, intercept=False, target=Classes((0, 1)))
    plan = NoisyGD(steps=2, clip_norm=0.5, by_person=by_person).plan(task, Logistic(), Guarantee(1.0, 1e-5))
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(3.0, 1e-3))
    before = len(list(ledger.entries()))
    with pytest.raises(InvalidData, match="about persons alone"):
        ledger.release(plan, records)
    assert len(list(ledger.entries())) == before


def test_the_sentence_about_rows_that_stay_names_every_registered_solver_that_could_be_taken(monkeypatch):
    """A list written by hand named four of six, and would not know the next one."""
    named = solvers_by_totals()
    assert {"BoostedSSP()", "NoisyGD()", "OutputPerturbation()", "SufficientStatistics()"} <= set(named)
    assert "NoisySGD()" not in named
    monkeypatch.setattr(NoisyGDFit, "by_totals", False)
    assert set(named) - set(solvers_by_totals()) == {"NoisyGD()"}

"""Models in files, encodings by a schema, and the command that fits them."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import privet as pv
from privet import learn
from privet.cli import app
from privet.errors import InvalidData, InvalidParameter, SerialisationError
from privet.learn.estimators import registered_estimators

RNG = np.random.default_rng(3)
ROWS = RNG.normal(size=(400, 3))
LABELS = (ROWS[:, 0] > 0).astype(int)
MODELS = [
    learn.LogisticRegression(epsilon=2.0, delta=1e-6, row_norm=3.0, classes=[0, 1]).fit(ROWS, LABELS),
    learn.LogisticRegression(mu=1.0, row_norm=3.0, classes=["no", "yes"]).fit(ROWS, np.where(LABELS, "yes", "no")),
    learn.HuberRegressor(epsilon=2.0, delta=1e-6, row_norm=3.0, bounds_y=(-4, 4)).fit(ROWS, ROWS[:, 0]),
    learn.LinearRegression(epsilon=2.0, delta=1e-6, row_norm=3.0, bounds_y=(-4, 4)).fit(ROWS, ROWS[:, 0]),
    learn.GaussianNB(epsilon=2.0, delta=1e-6, bounds=(-3, 3), classes=[0, 1]).fit(ROWS, LABELS),
    learn.LogisticRegression(epsilon=float("inf")).fit(ROWS, LABELS),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_model_read_back_predicts_the_same_and_knows_its_price(model, tmp_path):
    learn.save(model, tmp_path / "model.json")
    again = learn.load(tmp_path / "model.json")
    assert type(again) is type(model)
    assert (again.predict(ROWS) == model.predict(ROWS)).all()
    assert again.privacy_.loss == model.privacy_.loss
    assert str(again.privacy_) == str(model.privacy_)
    assert ROWS[0].tolist()[0].__repr__() not in (tmp_path / "model.json").read_text()


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d | {"class": "load"},
        lambda d: d | {"class": "PrivateEstimator.__init__"},
        lambda d: d | {"form": "other"},
        lambda d: d | {"fitted": {"__class__": 3}},
        lambda d: d | {"fitted": {"predict": 3}},
        lambda d: {"form": d["form"]},
        lambda d: [],
    ],
)
def test_a_wrong_file_is_refused(change, tmp_path):
    place = tmp_path / "model.json"
    learn.save(MODELS[0], place)
    place.write_text(json.dumps(change(json.loads(place.read_text()))))
    with pytest.raises(SerialisationError):
        learn.load(place)


def test_files_that_are_none_and_models_that_are_not_fitted(tmp_path):
    with pytest.raises(SerialisationError):
        learn.load(tmp_path / "nothing.json")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(SerialisationError):
        learn.load(tmp_path / "text")
    (tmp_path / "deep").write_text("[" * 100_000 + "]" * 100_000)
    with pytest.raises(SerialisationError):
        learn.load(tmp_path / "deep")
    with pytest.raises(InvalidParameter):
        learn.save(learn.LogisticRegression(), tmp_path / "x")
    with pytest.raises(SerialisationError, match="still here"):
        learn.save(MODELS[0], tmp_path)  # a folder


COLUMNS = {"age": pv.Int(0, 100), "ward": pv.Category(["A", "B"]), "dose": pv.Float(-1.0, 3.0), "ill": pv.Bool()}


def test_rows_are_no_longer_than_the_schema_says_whatever_is_in_them():
    encoding = learn.Encoding(COLUMNS, "ill")
    wild = {
        "age": np.array([-5.0, 50.0, 1e308, np.nan]),
        "ward": np.array(["A", "?", None, "B"], dtype=object),
        "dose": np.array(["2", "x", "-inf", "1e400"], dtype=object),
        "ill": np.array([1, 0, 1, 7]),
    }
    rows = encoding.of(wild).rows
    finite = rows[np.isfinite(rows).all(axis=1)]
    assert np.linalg.norm(finite, axis=1).max() <= encoding.row_norm
    assert rows.shape == (4, 4)


@pytest.mark.parametrize(
    ("columns", "target"), [(COLUMNS, "none"), ({"ill": pv.Bool()}, "ill"), ({**COLUMNS, "t": pv.Text()}, "ill")]
)
def test_schemas_that_make_no_rows_are_refused(columns, target):
    with pytest.raises(InvalidParameter):
        learn.Encoding(columns, target)


def test_a_column_that_is_missing_is_named():
    with pytest.raises(InvalidData, match="dose"):
        learn.Encoding(COLUMNS, "ill").of({"age": [1], "ward": ["A"], "ill": [0]})


SCHEMA = """
[unit]
kind = "rows"
[columns.age]
kind = "int"
lower = 0
upper = 100
[columns.ward]
kind = "category"
values = ["A", "B"]
[columns.ill]
kind = "category"
values = ["no", "yes"]
[columns.cost]
kind = "float"
lower = 0.0
upper = 200.0
"""


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_command_fits_pays_and_leaves_a_model(ending, tmp_path):
    age = RNG.integers(0, 101, size=3_000)
    frame = pd.DataFrame(
        {
            "age": age,
            "ward": RNG.choice(["A", "B"], size=3_000),
            "ill": np.where(age + RNG.normal(0, 10, 3_000) > 50, "yes", "no"),
            "cost": age * 1.5 + RNG.uniform(0, 20, 3_000),
        }
    )
    data, schema, books, model = (tmp_path / name for name in (f"v.{ending}", "s.toml", "l.ledger", "m.json"))
    (frame.to_csv if ending == "csv" else frame.to_parquet)(data, index=False)
    schema.write_text(SCHEMA)
    with pv.Ledger.create(str(books), budget=pv.Budget(4.0, 1e-5)):
        pass
    call = ["fit", str(data), "--schema", str(schema), "--epsilon", "1", "--delta", "1e-6", "--ledger", str(books)]
    told = CliRunner().invoke(app, [*call, "--target", "ill", "--out", str(model)])
    assert told.exit_code == 0, told.output
    assert "(1, 1e-06)-DP" in told.output
    read = learn.Encoding(
        {"age": pv.Int(0, 100), "ward": COLUMNS["ward"], "ill": pv.Category(["no", "yes"]), "cost": pv.Float(0, 200)},
        "ill",
    ).of(frame)
    assert learn.load(model).score(read.rows, frame["ill"].to_numpy()) > 0.75
    told = CliRunner().invoke(app, [*call, "--target", "cost", "--model", "linear", "--json"])
    assert told.exit_code == 0, told.output
    assert json.loads(told.output)["privacy"]["promise"] == {"epsilon": 1.0, "delta": 1e-6}
    assert pv.Ledger.open(str(books)).total(delta=1e-5).upper <= 2.0


@pytest.mark.parametrize(
    ("more", "word"),
    [
        (["--target", "none"], "no column"),
        (["--target", "ill", "--model", "linear"], "regression"),
        (["--target", "cost"], "classifier"),
        (["--target", "ill", "--model", "forest"], "--model"),
        (["--target", "ill", "--out", "."], "--out"),
        (["--target", "ill", "--out", "no/such/folder/m.json"], "--out"),
    ],
)
def test_the_command_answers_mistakes_in_one_sentence(more, word, tmp_path):
    (tmp_path / "s.toml").write_text(SCHEMA)
    books = str(tmp_path / "l.ledger")
    pv.Ledger.create(books, budget=pv.Budget(4.0, 1e-5)).close()
    call = ["fit", str(tmp_path / "v.csv"), "--schema", str(tmp_path / "s.toml"), "--epsilon", "1", "--ledger", books]
    told = CliRunner().invoke(app, [*call, *more])
    assert told.exit_code != 0
    assert word in told.output + str(told.exception)


def test_the_command_knows_every_estimator_that_predicts_a_column(tmp_path):
    """A list kept by hand had forgotten one."""
    words = {kind.called: kind for kind in registered_estimators().values() if kind.called is not None}
    predicting = {kind for kind in registered_estimators().values() if kind._has_targets}
    assert set(words.values()) == predicting - {learn.PrivateSearchCV}  # which needs a model to search for
    call = ["fit", "v.csv", "--schema", "s.toml", "--target", "ill", "--ledger", "l.ledger", "--model", "?"]
    told = CliRunner().invoke(app, call)
    assert all(each in told.output + str(told.exception) for each in words)

"""Scaling to a range: by public bounds, free of charge; by quantiles that are paid for."""

import math

import numpy as np
import pytest
from sklearn import preprocessing
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import privet as pv
from privet import learn, noise, testing
from privet.errors import InvalidParameter
from privet.learn.solvers import ColumnRanges
from privet.privacy import ExponentialLoss, Repeated, Unit

ROWS = np.random.default_rng(1).uniform([20.0, -3.0], [60.0, 5.0], size=(4_000, 2))
BOX = ([0, -10], [100, 10])


@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("feature_range", [(0, 1), (-2.0, 3.0)])
def test_public_bounds_are_scikit_learns_arithmetic_and_free(clip, feature_range):
    ends = np.array(BOX, dtype=float)
    plain = preprocessing.MinMaxScaler(feature_range, clip=clip).fit(ends)
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0))
    with ledger:
        ours = learn.MinMaxScaler(bounds=BOX, feature_range=feature_range, clip=clip).fit(ROWS)
    fresh = np.vstack([ROWS, [[-50.0, 99.0]]])
    assert (ours.transform(fresh) == plain.transform(fresh)).all()
    assert (ours.inverse_transform(ours.transform(ROWS)) == plain.inverse_transform(plain.transform(ROWS))).all()
    for name in ("min_", "scale_", "data_min_", "data_max_", "data_range_"):
        assert (getattr(ours, name) == getattr(plain, name)).all()
    assert not [entry for entry in ledger.entries() if entry.kind == "reserve"]
    assert ours.privacy_.epsilon == 0.0
    assert "free of charge" in str(ours.privacy_)
    assert not hasattr(ours, "n_samples_seen_")


def test_a_fit_by_public_bounds_does_not_depend_on_the_rows():
    one, two = (learn.MinMaxScaler(bounds=BOX).fit(rows) for rows in (ROWS, ROWS[:1] + 7.0))
    assert all((getattr(one, each) == getattr(two, each)).all() for each in ("min_", "scale_"))


@pytest.mark.parametrize("bounds", [None, ([0, -0.5], [1, 0.5])])
def test_a_table_has_public_bounds_and_is_not_read(bounds, tmp_path):
    """The schema moves its columns to [-1, 1]; the file need not even be there."""
    columns = {"a": pv.Float(0.0, 100.0), "b": pv.Float(-10.0, 10.0)}
    table = pv.Table(tmp_path / "none.parquet", columns=columns, unit=pv.Person("id", max_rows=3))
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0), unit=table.unit)
    ours = learn.MinMaxScaler(bounds=bounds, ledger=ledger).fit(table)
    plain = learn.MinMaxScaler(bounds=(-1, 1) if bounds is None else bounds).fit(ROWS)
    assert (ours.min_ == plain.min_).all()
    assert (ours.scale_ == plain.scale_).all()
    assert ours.encoding_.names == ("a", "b")
    assert ours.privacy_.epsilon == 0.0
    assert ours.bounds is bounds
    assert not [entry for entry in ledger.entries() if entry.kind == "reserve"]
    with pytest.raises(InvalidParameter, match="exactly one"):
        learn.StandardScaler().fit(table)  # what is read is paid for


def test_what_is_missing_or_wrong_is_named():
    for promise in ({}, {"epsilon": 1.0}):
        with pytest.raises(InvalidParameter, match="give bounds"):
            learn.MinMaxScaler(**promise).fit(ROWS)
    with pytest.raises(InvalidParameter, match="free of charge"):
        learn.MinMaxScaler().fit(ROWS)
    wrong = [{"feature_range": (1, 0)}, {"feature_range": 3}, {"bounds": (1, 0)}, {"clip": "yes"}]
    wrong += [{"epsilon": 1.0, "tail": 0.5}, {"epsilon": 1.0, "feature_range": (1, 1)}]
    for each in wrong:
        with pytest.raises(InvalidParameter):
            learn.MinMaxScaler(**{"bounds": BOX, **each}).fit(ROWS)


@pytest.mark.parametrize("unit", [Unit(), Unit("replace")], ids=["add_remove", "replace"])
@pytest.mark.parametrize("promise", [{"epsilon": 4.0}, {"epsilon": 4.0, "delta": 1e-6}, {"rho": 0.5}, {"mu": 1.0}])
def test_a_bought_range_is_that_of_the_data(unit, promise):
    made = learn.MinMaxScaler(bounds=(-1_000, 1_000), unit=unit, source=noise.Seeded(1), **promise).fit(ROWS)
    assert np.abs(made.data_min_ - [20.0, -3.0]).max() < 2.0
    assert np.abs(made.data_max_ - [60.0, 5.0]).max() < 2.0
    assert made.privacy_.promise.covers(made.privacy_.loss)
    assert made.privacy_.loss == Repeated(ExponentialLoss(made.privacy_.loss.parts()[0][0].epsilon, unit=unit), 4)


def test_two_scalers_of_a_pipeline_are_paid_once_each_and_names_are_kept(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS, columns=["a", "b"])
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=3.0))
    bought = learn.MinMaxScaler(epsilon=1.0, bounds=(-100, 100), clip=True)
    model = clone(make_pipeline(bought, learn.MinMaxScaler(bounds=(0, 1)))).set_output(transform="pandas")
    with ledger:
        made = model.fit_transform(frame)
    assert list(made.columns) == ["a", "b"]
    assert made.to_numpy().min() >= 0.0
    assert made.to_numpy().max() <= 1.0
    assert len([entry for entry in ledger.entries() if entry.kind == "reserve"]) == 1
    learn.save(model[-1], tmp_path / "scaler.json")
    again = learn.load(tmp_path / "scaler.json")
    assert (again.transform(frame) == model[-1].transform(frame)).all(axis=None)
    assert str(again.privacy_) == str(model[-1].privacy_)


def test_rows_without_numbers_and_no_rows():
    made = ColumnRanges.planned(
        learn.estimators.columns.column_task((-1, 1), 1, Unit()), 0.1, pv.privacy.Guarantee(1.0)
    )
    for rows in (np.zeros((0, 1)), np.array([[math.nan], [math.inf]])):
        low, high = made.release(learn.problem.ArrayRecords(rows), source=noise.Seeded(2)).value
        assert -1.0 <= low <= high <= 1.0


def test_a_twin_that_pays_for_the_lows_alone_is_caught():
    class LowsAlone(ColumnRanges):
        name = "example_lows_alone"

        @property
        def loss(self):
            return self.low.loss

    made = next(iter(ColumnRanges.examples()))
    plan = made.mechanism
    twin = LowsAlone(task=plan.task, low=plan.low, high=plan.high)
    with pytest.raises(AssertionError, match="a part is not charged"):
        testing.check_parts_are_the_price(pv.mechanisms.Example(twin, made.left, made.right))


def test_plans_refuse_quantiles_of_others():
    plan = next(iter(ColumnRanges.examples())).mechanism
    other = pv.mechanisms.Quantile.for_budget(epsilon=1.0, q=0.75, bounds=(-1.0, 1.0), unit=Unit("replace"))
    with pytest.raises(InvalidParameter, match="unit of the task"):
        ColumnRanges(task=plan.task, low=plan.low, high=other)
    with pytest.raises(InvalidParameter, match="below the high"):
        ColumnRanges(task=plan.task, low=plan.high, high=plan.low)

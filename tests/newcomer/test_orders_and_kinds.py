"""Sets where an order matters, columns as arrays, kinds of pandas that no column holds, ranges from end to start."""

from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

import privet as pv
from privet import learn, local, mechanisms, pate
from privet.errors import InvalidCall, InvalidData, InvalidParameter
from privet.workloads import RangeQueries

WARDS = ["a", "b", "c"]


def table() -> pv.Table:
    frame = pd.DataFrame({"x": [1, 2, 3], "w": WARDS})
    return pv.Table(frame, columns={"x": pv.Int(0, 9), "w": pv.Category(WARDS)})


@pytest.mark.parametrize("kind", [set, frozenset])
def test_a_set_has_no_order_that_lasts(kind):
    for make in (
        lambda: local.KRR(epsilon=1.0, labels=kind(WARDS)),
        lambda: pv.Category(kind(WARDS)),
        lambda: mechanisms.PermuteAndFlip.for_budget(epsilon=1.0, sensitivity=1.0, candidates=kind(WARDS)),
        lambda: pate.Teachers(object, pate.KeyedPartition(2, b"k"), classes=kind(WARDS)),
    ):
        with pytest.raises(InvalidParameter, match="a set has none that lasts"):
            make()


def test_a_set_to_look_in_is_the_same_question_in_every_process():
    asked = table()
    listed, unlike = asked["w"].isin(["a", "b", "c"]), asked["w"].isin({"c", "a", "b"})
    assert repr(listed.condition) == repr(unlike.condition)


def test_a_set_that_cannot_be_put_in_order_is_a_question_like_others():
    """What the column says to it is said where it is asked, not a bare TypeError here."""
    zoned = datetime(2024, 1, 1, tzinfo=UTC)
    for odd in ({1j, 2j}, {zoned, zoned.replace(tzinfo=None)}, {None, 1, "a"}):
        other = set()
        for each in sorted(odd, key=repr, reverse=True):
            other.add(each)
        assert repr(table()["x"].isin(odd).condition) == repr(table()["x"].isin(other).condition)


def test_a_column_is_no_array():
    column = table()["x"]
    for use in (np.mean, np.asarray, np.array):
        with pytest.raises(InvalidCall, match="ask for aggregates"):
            use(column)
    assert repr(np.int64(2) < column) == repr(column > 2)


@pytest.mark.parametrize(
    ("held", "declared"),
    [
        (pd.period_range("2024-01", periods=3, freq="M"), pv.Date("2024-01-01", "2024-03-31")),
        (pd.period_range("2024-01", periods=3, freq="M"), pv.Int(0, 10)),
        (pd.interval_range(0, 3), pv.Int(0, 10)),
        (pd.interval_range(0, 3), pv.Category(WARDS)),
    ],
)
def test_stretches_are_no_values(held, declared):
    ledger = pv.Ledger.create("memory:", epsilon=1.0)
    asked = pv.Table(pd.DataFrame({"x": held}), columns={"x": declared})
    with pytest.raises(InvalidData, match="another kind"):
        ledger.release(asked.where(asked["x"].is_missing()).agg(n=pv.count()), epsilon=0.5)
    assert float(ledger.remaining["basic epsilon"]) == 1.0


def test_ranges_go_from_their_first_cell_to_their_last():
    asked = RangeQueries(domain=8)
    value = asked.release(np.arange(8), epsilon=1.0).value
    assert value.answer(3, 2).value == 0.0
    with pytest.raises(InvalidParameter, match="first must not lie behind last"):
        value.answer(5, 2)
    with pytest.raises(InvalidCall, match="max_rows belongs to the question"):
        asked.release(np.arange(8), epsilon=1.0, max_rows=3)


def test_many_clusters_of_few_rows_come_back():
    made = learn.KMeans(n_clusters=120, epsilon=1.0, bounds=(-1, 1)).fit(np.zeros((3, 2)))
    assert made.cluster_centers_.shape == (120, 2)

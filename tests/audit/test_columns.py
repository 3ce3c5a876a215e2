"""Tables in memory as columns: ranges, and distances of rows from a record."""

import numpy as np

from privet.audit.columns import alike, columns_of, gaps


def test_the_range_of_small_integers_does_not_wrap_around():
    assert columns_of({"x": np.array([-100, 100], dtype=np.int8)}).spans == {"x": 200.0}
    assert columns_of({"x": np.array([0, 2**64 - 1], dtype=np.uint64)}).spans == {"x": float(2**64 - 1)}


def test_missing_numbers_are_far_from_others_and_near_to_each_other():
    rows = columns_of({"x": np.array([np.nan, 1.0, 3.0])})
    for missing in (None, float("nan")):
        assert gaps(rows, {"x": missing}, rows)["x"].tolist() == [0.0, 1.0, 1.0]
    assert gaps(rows, {"x": 2.0}, rows)["x"].tolist() == [1.0, 0.5, 0.5]


def test_equal_infinities_are_equal():
    rows = columns_of({"x": np.array([np.inf, -np.inf, 1.0])})
    assert gaps(rows, {"x": np.inf}, rows)["x"].tolist() == [0.0, 1.0, 1.0]


def test_columns_with_gaps_are_numbers_in_all_tables():
    whole, holes = alike(columns_of({"x": [1, 2]}), columns_of({"x": [1.0, None]}))
    assert whole.values["x"].dtype == holes.values["x"].dtype == float

"""Canaries in data sets of every kind: lists, arrays, columns, frames, and the inputs of privet itself."""

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import privet as pv
from privet.audit.datasets import extended
from privet.errors import InvalidData, InvalidParameter
from privet.learn.problem.array_records import ArrayRecords
from privet.tables.data import Data

RECORDS = [{"a": 3, "w": "z"}, {"a": 4, "w": None}]


@pytest.mark.parametrize(
    "held",
    [
        {"a": [1], "w": ["x"]},
        {"a": np.array([1]), "w": np.array(["x"], dtype=object)},
        {"a": np.ma.MaskedArray([1], [True]), "w": ["x"]},
        pd.DataFrame({"a": [1], "w": ["x"]}),
        pl.DataFrame({"a": [1], "w": ["x"]}),
    ],
)
def test_data_of_a_table_in_memory_say_how_they_are_extended(held: Any) -> None:
    before = len(held["a"])
    made = extended(Data({"t": held}, {"threads": 1}), RECORDS)
    table = made.exact_content()["t"]
    assert list(np.ma.getdata(np.asarray(table["a"])))[-2:] == [3, 4]
    assert len(table["w"]) == 3
    assert made._settings == {"threads": 1}
    assert len(held["a"]) == before == 1


def test_masks_stay_what_they_are() -> None:
    made = extended(np.ma.MaskedArray([1, 2], [True, False]), [5])
    assert made.tolist() == [None, 2, 5]


def test_records_of_a_fit_take_rows_with_their_targets() -> None:
    made = extended(ArrayRecords(np.zeros((2, 3)), np.zeros(2)), [(np.ones(3), 1.0)])
    (chunk,) = made.chunks()
    assert chunk.rows[2].tolist() == [1.0, 1.0, 1.0]
    assert chunk.targets.tolist() == [0.0, 0.0, 1.0]
    alone = extended(ArrayRecords(np.zeros((2, 3))), [np.ones(3)])
    assert alone.length == 3


@pytest.mark.parametrize(
    ("data", "records", "told"),
    [
        (Data({"t": "visits.parquet"}), RECORDS, "tables in memory"),
        (Data({"t": {"a": [1]}, "u": {"a": [1]}}), RECORDS, "one table"),
        (ArrayRecords(np.zeros((1, 2)), np.zeros(1)), [np.ones(2)], "pairs"),
        (pv.noise, RECORDS, "by hand"),
    ],
)
def test_what_cannot_be_extended_says_so_in_one_sentence(data: Any, records: Any, told: str) -> None:
    with pytest.raises(InvalidData, match=told):
        extended(data, records)


def test_data_of_a_table_are_copied_for_every_training_and_are_still_not_pickled() -> None:
    column = np.array([1, 2])
    held = Data({"t": {"a": column}, "u": "visits.parquet"}, {"threads": 1})
    copied = copy.deepcopy(held)
    column[0] = 9
    assert copied.exact_content()["t"]["a"].tolist() == [1, 2]
    assert copied.exact_content()["u"] == "visits.parquet"
    with pytest.raises(InvalidParameter, match="not pickled"):
        pickle.dumps(held)

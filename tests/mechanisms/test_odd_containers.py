"""Containers that few have thought of, over every mechanism: refused before anything is paid, or released. Nothing else."""

import array
import collections
import datetime as dt
import enum
import itertools
import warnings
from decimal import Decimal
from unittest.mock import patch

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privet.errors import InvalidData
from tests.firsts import mechanism_examples

EVERY = {example.mechanism.name: example.mechanism for example in mechanism_examples()}
SECRET = "4711"


class Grade(enum.IntEnum):
    GOOD = 1


class Own(collections.abc.Sequence):
    def __init__(self, items):
        self._items = items

    def __len__(self):
        return len(self._items)

    def __getitem__(self, place):
        return self._items[place]


class Boastful(Own):
    def __len__(self):
        return 10


class AsArray:
    def __init__(self, numbers):
        self._numbers = np.asarray(numbers)

    def __array__(self, dtype=None, copy=None):
        return self._numbers


class Stubborn:
    __hash__ = None

    def __float__(self):
        raise RuntimeError(SECRET)

    def __eq__(self, other):
        raise RuntimeError(SECRET)


ODD = {
    "memory": lambda: memoryview(array.array("d", [1, 2, 3])),
    "array of letters": lambda: array.array("w" if "w" in array.typecodes else "u", "ab"),
    "queue": lambda: collections.deque([1, 2, 3]),
    "values of a dict": lambda: {"a": 1}.values(),
    "chain": lambda: itertools.chain([1], [2]),
    "zip": lambda: zip([1], [2], strict=True),
    "index": lambda: pd.Index([1, 2, 3]),
    "intervals": lambda: pd.interval_range(0, 3),
    "periods": lambda: pd.period_range("2020", periods=3, freq="D"),
    "windows": lambda: pd.Series([1, 2, 3]).rolling(2),
    "groups": lambda: pd.Series([1, 2, 3]).groupby([0, 0, 1]),
    "groups of a table": lambda: pd.DataFrame({"a": [1, 2]}).groupby("a"),
    "NA": lambda: pd.NA,
    "NaT": lambda: pd.NaT,
    "masked": lambda: np.ma.masked,
    "number as an array": lambda: np.array(5.0),
    "own array": lambda: AsArray([1.0, 2.0]),
    "own array of one number": lambda: AsArray(3.0),
    "own array of texts": lambda: AsArray(["a"]),
    "arrays in a list": lambda: [np.float32(1), np.array(2.0), np.array([3.0])],
    "cube": lambda: np.ones((2, 2, 2)),
    "nothing of nothing": lambda: np.zeros((0, 3)),
    "bytes without a type": lambda: np.zeros(2, dtype="V4"),
    "other byte order": lambda: np.array([1, 2], dtype=">f8"),
    "read only": lambda: np.broadcast_to(np.float64(1), (3,)),
    "own sequence": lambda: Own([1, 2, 3]),
    "boastful sequence": lambda: Boastful([1, 2, 3]),
    "stubborn items": lambda: [Stubborn(), 1.0],
    "stubborn": Stubborn,
    "enumeration": lambda: Grade.GOOD,
    "signalling NaN": lambda: [Decimal("sNaN"), Decimal("Infinity"), 10**400, 5e-324],
    "lists in polars": lambda: pl.Series([[1, 2], [3]]),
    "128 bits": lambda: pl.Series([1, 2], dtype=pl.Int128),
    "expression": lambda: pl.col("a"),
    "nothing known": lambda: pl.Series([None, None]),
    "times of day": lambda: pl.Series([dt.time(1)]),
    "arrow scalar": lambda: pa.scalar(3),
    "arrow nothing": lambda: pa.nulls(3),
    "arrow dictionary": lambda: pa.array([1, 2, 1]).dictionary_encode(),
    "arrow lists": lambda: pa.array([[1]]),
}


def judged(mechanism, make):
    """Whether it is admitted; raises where the door says one thing and the release another."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            mechanism.check(make())
        except InvalidData:
            with pytest.raises(InvalidData, match=f"^(?!.*{SECRET})"):
                mechanism.release(make())
            return False
        mechanism.release(make())
        return True


@pytest.mark.parametrize("name", EVERY)
def test_what_passes_the_door_is_released(name):
    admitted = {kind: judged(EVERY[name], make) for kind, make in ODD.items()}
    for neither in ("windows", "groups", "groups of a table", "expression"):
        assert not admitted[neither], "neither a table nor a column"


def test_a_door_that_lets_everything_pass_is_noticed():
    mechanism = EVERY["bounded_sum"]
    with patch.object(type(mechanism), "_admit", lambda self, value: None), pytest.raises(InvalidData):
        judged(mechanism, ODD["own array of one number"])

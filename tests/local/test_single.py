"""One person's value: a report by the same rule as within a list, whatever the value is; only containers are refused."""

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privet import local, noise
from privet.errors import InvalidData
from tests.local.members import KINDS, made

ODD = [None, pd.NA, pd.NaT, 1j, math.nan, math.inf, -math.inf, 10**400, "red", b"red", np.str_("red"), np.datetime64("NaT"),
       Decimal("NaN"), Decimal("sNaN"), object(), np.ma.masked, 2, 1.6, True, np.float32(1.4), pa.scalar(None)]  # fmt: skip
CONTAINERS = [{"a": 1}, {1, 2}, pd.DataFrame({"a": [1]}), pl.LazyFrame({"a": [1]}), iter([1]), np.array(["red"])]
MEANS = [kind(epsilon=1.0, bounds=(-1.0, 3.0)) for kind in (local.Duchi, local.Piecewise, local.Hybrid)]


def same_law(protocol, value) -> bool:
    alone, listed = protocol._prepare(value), protocol._prepare([value])
    return alone.shape == () and listed.shape == (1,) and alone.item() == listed[0]


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_strange_value_alone_is_reported_as_within_a_list(kind):
    labels = ("blue", "red") if kind is local.Warner else ("blue", "red", "green")
    for protocol in (made(kind), kind(epsilon=1.0, labels=labels)):
        for value in ODD:
            protocol.check(value)
            assert same_law(protocol, value), repr(value)
            one, listed = (
                protocol.rows(protocol.privatize(given, source=noise.Seeded(3))) for given in (value, [value])
            )
            assert np.array_equal(one, listed), repr(value)


@pytest.mark.parametrize("protocol", MEANS, ids=lambda protocol: protocol.name)
def test_a_strange_number_alone_is_reported_as_within_a_list(protocol):
    for value in ODD:
        protocol.check(value)
        assert same_law(protocol, value), repr(value)
        assert protocol.rows(protocol.privatize(value)).shape == (1,)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_person_whose_value_is_a_list_refuses_nobody(kind):
    """In a list there is one value per person; a list there is no number, first or last; others stay as they were."""
    labels = ("blue", "red") if kind is local.Warner else ("blue", "red", "green")
    for protocol, other in ((made(kind), 1), (kind(epsilon=1.0, labels=labels), "red")):
        for strange in ([], [1], [1, 0], (1,), [[1]], ["red"]):
            for given in ([strange, other], [other, strange], (strange, strange)):
                protocol.check(given)
                zeros = [None if each is strange else each for each in given]
                assert protocol._prepare(given).tolist() == protocol._prepare(zeros).tolist()
            assert len(protocol.rows(protocol.privatize([strange, other]))) == 2


@pytest.mark.parametrize("protocol", MEANS, ids=lambda protocol: protocol.name)
def test_a_list_among_numbers_refuses_nobody(protocol):
    for strange in ([], [1.0], (1.0, 2.0), [[1.0]]):
        assert protocol._prepare([2.0, strange]).tolist() == protocol._prepare([2.0, None]).tolist()
        assert protocol.rows(protocol.privatize([strange, 2.0])).shape == (2,)


def test_containers_that_hold_no_column_are_refused_by_their_type():
    for protocol in (local.KRR(k=4, epsilon=1.0), MEANS[0]):
        for wrong in CONTAINERS:
            with pytest.raises(InvalidData):
                protocol.privatize(wrong)
    for wrong in ({"a": 1}, {"a"}, pd.DataFrame({"a": ["x"]}), np.zeros(3)):
        with pytest.raises(InvalidData):
            local.KRR(labels=("a", "b"), epsilon=1.0).privatize(wrong)

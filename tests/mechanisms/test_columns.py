"""Columns, tables and lists: the right answer, or one sentence by type before anything is paid."""

import contextlib
import math
import subprocess
import sys
from array import array
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from privet import accounting, mechanisms as m, noise
from privet._numerics import BEYOND, exact_ratio
from privet.errors import InvalidData, NoEntropy
from privet.mechanisms.families import record_values
from privet.mechanisms.families.columns import read_column
from tests.calls import calls_of, exceptions_of

SUM = m.BoundedSum.for_budget(epsilon=1e8, bounds=(0, 100_000))  # scale 0.001: a tolerance of 1 is e^-1000
COUNT = m.Count.for_budget(epsilon=1e6)
ROWS = m.RowCount.for_budget(epsilon=1e6)
CHOICE = m.Exponential.for_budget(epsilon=1e6, sensitivity=1)
VECTOR = m.Laplace.for_budget(epsilon=1e6, sensitivity=1)
FRAME = pd.DataFrame({"age": [30, 40, 50], "city": ["A", "B", "B"]})


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (FRAME, "whole table"), (FRAME[["age"]], "whole table"), (pl.DataFrame(FRAME), "whole table"),
        (pa.table({"age": [1]}), "whole table"), (np.zeros(2, dtype=[("a", int)]), "whole table"),
        ({"a": 1}, "labels"), ({1, 2}, "set"), ("abc", "text"), (FRAME["city"], "text"), (pl.Series(["a"]), "text"),
        (pa.array(["a"]), "text"), (np.array(["a"]), "text"), (FRAME["city"].astype("category"), "text"),
        (np.array([1, None], dtype=object), "Python objects"), (pd.Series([1, "x"], dtype=object), "Python objects"),
        (np.array([1j]), "neither numbers"), (pl.Series([[1, 2]]), "neither numbers"), (None, "neither"),
        (pa.scalar(3), "neither"), (np.array([1], dtype="timedelta64[Y]"), "neither numbers"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("mechanism", [SUM, COUNT, CHOICE, VECTOR], ids=lambda mechanism: mechanism.name)
def test_what_holds_no_numbers_is_refused_by_its_type(mechanism, data, said):
    with pytest.raises(InvalidData, match=said):
        mechanism.check(data)
    with pytest.raises(InvalidData, match=said):
        mechanism.release(data)


@pytest.mark.parametrize(
    ("data", "total"),
    [
        (FRAME["age"], 120), (FRAME.set_index("city")["age"].to_numpy(), 120), (pd.Series([1, None, 3], dtype="Int64"), 4),
        (pd.Series([True, None], dtype="boolean"), 1), (pd.Series([1.5, None], dtype="Float64"), 1.5),
        (pd.Series([1, None], dtype="int64[pyarrow]"), 1), (pd.Series(pd.to_timedelta(["5s", None])), 5),
        (pd.Series(pd.to_datetime(["1970-01-01 00:00:05"]).tz_localize("US/Eastern")), 18_005),
        (pl.Series([1, None, 3]), 4), (pl.Series([date(1970, 1, 2), None]), 86_400),
        (pl.Series([datetime(1970, 1, 1, 0, 0, 5)]).dt.replace_time_zone("US/Eastern"), 18_005),
        (pa.array([1, None, 3]), 4), (pa.chunked_array([[1], [None, 3]]), 4), (pa.array([date(1970, 1, 2)]), 86_400),
        (pa.array([Decimal("1.50"), None]), 1.5), (np.array(["1970-01-02", "NaT"], dtype="datetime64[D]"), 86_400),
        (np.ma.array([7.0, 2.0], mask=[True, False]), 2), (array("d", [1, 2]), 3), (range(4), 6),
        ([1, None, "x", 2.5, [3], Fraction(1, 2), np.ma.masked, np.timedelta64(3, "D"), Decimal("sNaN")], 4),
    ],
)  # fmt: skip
def test_columns_are_read_by_a_public_rule(data, total):
    SUM.check(data)
    assert SUM.release(data).value == pytest.approx(total, abs=2)
    assert ROWS.release(data).value == len(data)


def test_a_count_takes_a_condition():
    assert COUNT.release(FRAME["age"] >= 40).value == 2
    assert COUNT.release(pl.Series([True, None, True])).value == 2
    assert COUNT.release(pa.array([True, None])).value == 1
    assert ROWS.release(FRAME).value == ROWS.release(pl.DataFrame(FRAME)).value == 3
    for wrong in (FRAME["age"], np.ones(3), range(100), 42, pl.Series([1, 2])):
        with pytest.raises(InvalidData, match="condition"):
            COUNT.check(wrong)


def test_labels_are_not_lost():
    counted = FRAME["city"].value_counts()
    for mechanism in (CHOICE, VECTOR):
        with pytest.raises(InvalidData, match="labelled"):
            mechanism.check(counted)
        mechanism.check(counted.to_numpy())
    assert CHOICE.release(FRAME["age"]).value == 2


NUMBERED = pd.Series([20.0, 40.0, 60.0])
GROUPED = {
    "value_counts": FRAME["city"].value_counts(),
    "value_counts of numbers": pd.Series([3, 3, 4]).value_counts(),
    "shares": FRAME["city"].value_counts(normalize=True),
    "groupby": FRAME.groupby("city")["age"].sum(),
    "text": NUMBERED.set_axis(["a", "b", "c"]),
    "nullable text": NUMBERED.set_axis(pd.Index(["a", "b", "c"], dtype="string")),
    "categories": NUMBERED.set_axis(pd.CategoricalIndex(["a", "b", "a"])),
    "intervals": NUMBERED.set_axis(pd.interval_range(0, 3)),
    "two keys": NUMBERED.set_axis(pd.MultiIndex.from_tuples([(1, 1), (1, 2), (2, 1)])),
}


@pytest.mark.parametrize("grouped", GROUPED.values(), ids=GROUPED)
def test_one_number_per_label_is_no_column_of_records(grouped):
    for mechanism in (SUM, m.Quantile.for_budget(epsilon=1.0, q=0.5, bounds=(0, 100), step=1)):
        with pytest.raises(InvalidData, match=r"to_numpy\(\).*Histogram"):
            mechanism.check(grouped)
        mechanism.check(grouped.to_numpy())
    with pytest.raises(InvalidData, match="labelled"):
        COUNT.check(grouped > 2)


@pytest.mark.parametrize(
    "index", [[5, 3, 9], [0.5, 1.5, 2.5], pd.date_range("2026-01-01", periods=3), pd.period_range("2026", periods=3)]
)
def test_a_numbered_or_dated_index_is_that_of_records(index):
    assert SUM.release(NUMBERED.set_axis(index)).value == pytest.approx(120.0, abs=1.0)
    assert COUNT.release(NUMBERED.set_axis(index) > 30).value == 2


ODD = [None, "x", 10**400, -(10**400), 2**1000, Fraction(1, 3), Fraction(10**400, 3), np.nan, math.inf, object(), True,
       Decimal("1e999999"), Decimal("1e-999999"), Decimal("1.5"), Decimal("sNaN"), np.float32(2.0), np.int64(3), [1], b"x",
       date(2020, 1, 1)]  # fmt: skip
READERS = {
    "sum": SUM, "count": COUNT, "vector": VECTOR,
    "median": m.Quantile.for_budget(epsilon=1.0, q=0.5, bounds=(0, 9), step=1),
    "mean": m.BoundedMean.for_budget(epsilon=1.0, bounds=(0, 9)), "best": m.NoisyMax.for_budget(epsilon=1.0, sensitivity=1),
    "bins": m.Histogram.for_budget(epsilon=1.0, edges=[0, 1, 2]),
}  # fmt: skip


@pytest.mark.parametrize(
    "odd", ODD, ids=lambda odd: f"{type(odd).__name__} {str(odd)[:8]}".rpartition(" at")[0] or None
)
@pytest.mark.parametrize("kind", READERS)
def test_one_odd_record_is_as_much_work_as_another(kind, odd):
    """It used to send all records another way, thirty times slower, or to be asked ten questions about its type."""
    plain, other = ([1.0] * 100, [1.0] * 99 + [odd])
    calls = [calls_of(lambda data=data: READERS[kind]._prepare(data)) for data in (plain, plain, other)]
    assert -20 <= calls[2] - calls[1] <= 10
    assert exceptions_of(lambda: READERS[kind]._prepare(other)) == 0, "that takes as long as ten records"


@pytest.mark.parametrize("odd", [10**400, None, "x", Decimal("1e999999")], ids=["huge", "none", "text", "decimal"])
def test_a_reading_that_asks_every_item_is_noticed(odd, monkeypatch):
    """The broken twin: the list is searched for what is odd, and then read another way."""
    real = record_values.as_records

    def twice(value):
        return real([exact_ratio(x) and x for x in value] if odd in value else value)

    monkeypatch.setattr("privet.mechanisms.families.records.as_records", twice)
    calls = [calls_of(lambda data=data: SUM._prepare(data)) for data in ([1.0] * 100, [1.0] * 99 + [odd])]
    assert calls[1] - calls[0] > 10
    monkeypatch.setattr(record_values, "_OVERFLOWS", math.inf)  # huge integers by the exception that they raise
    assert exceptions_of(lambda: as_far_as_it_goes([1.0, 10**400])) >= 1


def as_far_as_it_goes(data):
    with contextlib.suppress(OverflowError):
        SUM._prepare(data)


@pytest.mark.parametrize("number", [0, 1, -3, 2**53 + 1, 2**60 + 127, 0.25, 1e300, 5e-324])
def test_a_number_is_one_ratio_whatever_its_type(number):
    exact, read = Fraction(number), 0
    for kind in (int, float, Fraction, Decimal, np.float64, np.longdouble, np.int64, np.float32):
        try:
            with np.errstate(over="ignore"):
                other = kind(number)
            holds = Fraction(*other.as_integer_ratio()) == exact
        except (OverflowError, ValueError, TypeError, AttributeError):
            holds = kind is np.int64 and isinstance(number, int)
        if holds:
            assert Fraction(*exact_ratio(other)) == exact
            read += 1
    assert read >= 4
    assert exact_ratio(Decimal("-1e999999999")) == exact_ratio(float("-inf")) == (-BEYOND, 1)
    assert exact_ratio(Decimal("1e-999999999"))[0] == 0


def test_the_first_gaussian_draw_loads_no_scipy():
    code = (
        "import sys; from privet import mechanisms as m; m.Gaussian(scale=3.0, sensitivity=1).release(5.0);"
        "print('scipy' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


@pytest.mark.system_coins
def test_a_stuck_generator_raises(monkeypatch):
    monkeypatch.setattr("privet.noise.entropy.os.urandom", lambda count: bytes(count))
    for draw in (lambda: noise.discrete_laplace(scale=3), lambda: noise.rounded_gaussian(sigma=3, size=10_000)):
        with pytest.raises(NoEntropy):
            draw()


def test_a_source_without_a_flag_is_insecure():
    class Own(noise.Source):
        def stream(self):
            return noise.Seeded(1).stream()

    assert VECTOR.release(1.0, source=Own()).insecure


@pytest.mark.parametrize(("epsilon", "delta", "k"), [(1.0, 1e-6, 20), (0.1, 1e-9, 8), (8.0, 1e-5, 100), (1.0, 1e-6, 2)])
def test_the_budget_of_many_choices_is_used(epsilon, delta, k):
    mechanism = m.TopK.for_budget(epsilon=epsilon, delta=delta, sensitivity=1, k=k)
    assert 0.99 < accounting.epsilon(mechanism.loss, delta=delta).upper / epsilon <= 1.0
    assert mechanism.at == delta


def test_the_delta_of_a_charge():
    assert m.Gaussian.for_budget(epsilon=1.0, delta=1e-6, sensitivity=1).to_dict()["at"] == "1e-06"
    assert "at" not in m.Laplace.for_budget(epsilon=1.0, sensitivity=1).to_dict()
    assert m.Gaussian.for_budget(rho=0.1, sensitivity=1).at is None
    assert m.BoundedSum.for_budget(epsilon=0.01, delta=1e-2, bounds=(0, 1)).at == 1e-2
    assert m.SmoothMedian.for_budget(epsilon=1.0, delta=1e-3, bounds=(0, 1)).at == 1e-3


@pytest.mark.parametrize("kind", ["csr_matrix", "csr_array", "csc_matrix", "coo_array", "lil_matrix"])
@pytest.mark.parametrize("made", [m.Laplace, m.Gaussian, m.BoundedSum, m.Quantile, m.Count], ids=lambda each: each.name)
def test_sparse_matrices_are_refused_by_their_type(made, kind):
    """Rows of one were taken for elements that are no numbers: paid for, and answered for 0."""
    facts = {
        m.Laplace: {"sensitivity": 1.0},
        m.Gaussian: {"sensitivity": 1.0, "delta": 1e-6},
        m.Quantile: {"bounds": (0, 1), "q": 0.5},
        m.BoundedSum: {"bounds": (0, 1)},
    }
    mechanism = made.for_budget(epsilon=1.0, **facts.get(made, {}))
    with pytest.raises(InvalidData, match="sparse"):
        mechanism.check(getattr(sparse, kind)(np.array([[1.0]])))


@pytest.mark.parametrize("unit", ["s", "ms"])
def test_a_moment_with_a_zone_that_is_centuries_away_is_itself(unit):
    """Nanoseconds end in 2262: read as them, the year 2500 was 1915."""
    far = pd.Series(np.array(["2500-01-01"], dtype=f"datetime64[{unit}]")).dt.tz_localize("UTC")
    assert (
        read_column(far).values.tolist() == read_column(far.dt.tz_localize(None)).values.tolist() == [16_725_225_600.0]
    )

"""A newcomer's first inputs, over every mechanism: the right answer, or one sentence before anything is paid."""

import datetime as dt
import math
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

import privet as pv
from privet import mechanisms as M
from privet.errors import InvalidData
from privet.privacy import Unit
from tests.firsts import mechanism_examples

REPLACE = Unit("replace")
EVERY = list({example.mechanism.name: example.mechanism for example in mechanism_examples()}.values())

NUMBERS = [20, 30.5, 70, 41, 20, 65]
WITH_GAPS = [20, None, 70, math.nan, 20, 65]


def columns(values):
    """The same numbers in every container that has a public rule."""
    plain = [math.nan if v is None else v for v in values]
    nulls = [None if v is None or v != v else float(v) for v in values]
    odd = {30.5: Fraction(61, 2), 70: Decimal(70), 41: np.int8(41)}
    yield "list", list(values)
    yield "tuple", tuple(values)
    yield "generator", (v for v in list(values))
    yield "numpy", np.array(plain, dtype=float)
    yield "float32", np.array(plain, dtype=np.float32)
    yield "masked", np.ma.masked_invalid(np.array(plain, dtype=float))
    yield "pandas", pd.Series(plain)
    yield "pandas Float64", pd.Series(plain).astype("Float64")
    yield "pandas arrow", pd.Series(pa.array(nulls), dtype=pd.ArrowDtype(pa.float64()))
    yield "polars", pl.Series(nulls)
    yield "arrow", pa.array(nulls)
    yield "arrow chunks", pa.chunked_array([nulls])
    yield "mixed types", [odd.get(v, v) for v in values]


STATISTICS = {
    "sum": (M.BoundedSum.for_budget(epsilon=1e8, bounds=(0, 100)), lambda v: v, lambda x: sum(x)),
    "mean": (M.BoundedMean.for_budget(epsilon=1e8, bounds=(0, 100)), lambda v: v["mean"], lambda x: sum(x) / len(x)),
    "variance": (M.BoundedVariance.for_budget(epsilon=1e8, bounds=(0, 100)), lambda v: v["variance"], np.var),
    "quantile": (M.Quantile.for_budget(epsilon=1e4, q=0.5, bounds=(0, 100), step=0.5), lambda v: v, None),
    "rows": (M.RowCount.for_budget(epsilon=500.0), lambda v: v, None),
    "bins": (
        M.Histogram.for_budget(epsilon=500.0, edges=(0, 50, 100)),
        lambda v: v["[0, 50)"],
        lambda x: sum(v < 50 for v in x),
    ),
}


@pytest.mark.parametrize("values", [NUMBERS, WITH_GAPS], ids=["numbers", "with gaps"])
@pytest.mark.parametrize("name", STATISTICS)
def test_every_container_gives_the_right_answer(name, values):
    mechanism, read, truth = STATISTICS[name]
    known = [v for v in values if v is not None and v == v]
    for kind, column in columns(values):
        value = read(mechanism.release(column).value)
        if name == "rows":
            assert value == len(values), kind
        elif name == "quantile":
            below, within = sum(v < value for v in known), sum(v <= value for v in known)
            assert below <= len(known) / 2 <= within, kind
        else:
            assert value == pytest.approx(float(truth(known)), abs=0.01), kind


FRAME = pd.DataFrame({"age": [20.0, 30.0, 70.0]})
REFUSED = {
    "frame": FRAME,
    "mixed frame": pd.DataFrame({"age": [1, 2], "city": ["a", "b"]}),
    "polars frame": pl.DataFrame({"age": [1, 2]}),
    "lazy frame": pl.LazyFrame({"age": [1, 2]}),
    "arrow table": pa.table({"age": [1, 2]}),
    "record array": np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]),
    "dict": {"a": 3, "b": 4},
    "set": {1, 2, 3},
    "text": "twenty",
    "bytes": b"20",
    "text column": np.array(["a", "b", "c"]),
    "pandas text": pd.Series(["a", "b"]),
    "polars text": pl.Series(["a", "b"]),
    "arrow text": pa.array(["a", "b"]),
    "category": pd.Series(["a", "b"], dtype="category"),
    "complex": np.array([1j, 2j]),
    "128 bits": pl.Series([1, 2], dtype=pl.Int128),
    "group by": FRAME.groupby("age"),
    "None": None,
    "a class": object,
    "a function": len,
}
# What a histogram by labels takes by its nature.
COLUMNS_OF_LABELS = {"text column", "pandas text", "polars text", "arrow text", "category", "complex", "128 bits"}

# What one person may hold: a device reports it as it would a missing value, since a refusal would tell.
ONE_VALUE = {"text", "bytes", "None", "a class", "a function"}


@pytest.mark.parametrize("mechanism", EVERY, ids=lambda mechanism: mechanism.name)
def test_what_holds_no_numbers_is_refused_before_payment(mechanism):
    for kind in REFUSED:  # in one test: two thousand would take longer to begin and to end than to run
        check_is_refused_before_payment(mechanism, kind)


def check_is_refused_before_payment(mechanism, kind):
    local = mechanism.name.startswith("local_")
    by_label = mechanism.name == "histogram" or (local and getattr(mechanism, "labels", None) is not None)
    if (local and kind in ONE_VALUE) or (by_label and kind in COLUMNS_OF_LABELS):
        mechanism.check(REFUSED[kind])
        assert mechanism.release(REFUSED[kind]).value is not None
        return
    if mechanism.name == "row_count" and kind not in ("None", "a class", "a function", "text", "bytes"):
        return  # rows of a table or a column of any kind can be counted; RowCount has its own tests
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InvalidData) as refused:
            mechanism.check(REFUSED[kind])
    text = str(refused.value)
    assert 20 < len(text) < 400
    assert "twenty" not in text
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1e9, delta=0.5), unit=mechanism.unit)
    with pytest.raises(InvalidData):
        ledger.release(mechanism, REFUSED[kind])
    assert not [entry for entry in ledger.entries() if entry.kind == "reserve"]


@pytest.mark.parametrize(
    "value",
    [
        7,
        7.0,
        np.int8(7),
        np.uint64(7),
        np.float16(7),
        np.float32(7),
        np.longdouble(7),
        Fraction(7),
        Decimal(7),
        Decimal("7.0"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_one_number_of_any_type(value):
    for made in (M.Laplace.for_budget(epsilon=1e6, sensitivity=1), M.Gaussian.for_budget(mu=1e6, sensitivity=1)):
        assert made.release(value).value == pytest.approx(7.0, abs=1e-3)


@pytest.mark.parametrize("size", [2**53 + 1, 2**60 + 129, 2**63, 10**30])
@pytest.mark.parametrize("kind", [int, Fraction, Decimal])
def test_large_numbers_keep_their_place(size, kind):
    released = M.Laplace.for_budget(epsilon=1.0, sensitivity=1).release(kind(size)).value
    assert abs(Fraction(released) - size) <= max(200, Fraction(size, 2**52))


def test_dates_are_seconds():
    days = [dt.date(2026, 1, d) for d in (1, 2, 3)]
    bounds = (dt.date(2025, 1, 1), dt.date(2027, 1, 1))
    mean = M.BoundedMean.for_budget(epsilon=1e8, bounds=bounds)
    middle = dt.datetime(2026, 1, 2, tzinfo=dt.UTC).timestamp()
    for column in (
        pd.Series(pd.to_datetime(days)),
        pl.Series(days),
        pa.array(days),
        np.array(days, dtype="datetime64[D]"),
    ):
        assert mean.release(column).value["mean"] == pytest.approx(middle, abs=60.0)


def test_conditions_are_counted_whatever_holds_them():
    count = M.Count.for_budget(epsilon=500.0)
    yes = [True, False, True, True]
    for column in (
        yes,
        np.array(yes),
        pd.Series(yes),
        pd.Series([*yes, None], dtype="boolean"),
        pl.Series(yes),
        pa.array(yes),
    ):
        assert count.release(column).value == 3
    for wrong in (np.array([1, 0]), pd.Series([20.5]), range(10), 42, "yes"):
        with pytest.raises(InvalidData):
            count.check(wrong)


def test_value_counts_is_not_released_without_its_labels():
    counts = pd.Series(["a", "b", "a"]).value_counts()
    with pytest.raises(InvalidData, match="label"):
        M.Geometric.for_budget(epsilon=1.0, sensitivity=1).release(counts)


@pytest.mark.parametrize(
    "empty", [[], np.array([]), pd.Series([], dtype=float), pl.Series([], dtype=pl.Float64), pa.array([], pa.float64())]
)
def test_nobody_at_all(empty):
    assert M.BoundedSum.for_budget(epsilon=1e6, bounds=(0, 100)).release(empty).value == pytest.approx(0.0, abs=0.01)
    assert M.RowCount.for_budget(epsilon=500.0).release(empty).value == 0


def test_the_release_says_what_became_of_missing_records():
    dropped = M.BoundedSum.for_budget(epsilon=1.0, bounds=(0, 100)).release([1, None])
    counted = M.BoundedSum.for_budget(epsilon=1.0, bounds=(0, 100), unit=REPLACE, missing=30).release([1, None])
    assert any("left out" in note for note in dropped.provenance)
    assert any("30" in note for note in counted.provenance)


def test_labels_that_cannot_stand_in_a_column_are_not_looked_for():
    """Every count would be 0, with a confident bar."""
    texts = M.Histogram.for_budget(epsilon=600.0, labels=("a", "b"))
    counts = pd.Series(["a", "b", "a"]).value_counts()
    for wrong in (counts, pd.Series([1.0]), np.array([1, 2]), np.array([b"a"]), pl.Series([True]), pa.array([1])):
        with pytest.raises(InvalidData, match=r"labels are texts|value_counts"):
            texts.check(wrong)
    for right in (np.array(["a"]), pd.Series(["a"], index=["x"]), pl.Series(["a"]), pa.array(["a"]), ["a", 3, b"b"]):
        assert texts.release(right).value == {"a": 1, "b": 0}
    with pytest.raises(InvalidData, match="value_counts"):
        M.Histogram.for_budget(epsilon=1.0, labels=(1, 2)).check(counts)


class OnlyAnArray:
    def __array__(self, dtype=None, copy=None):
        return np.ones(3)


LENGTHS = [
    M.Exponential.for_budget(epsilon=1.0, sensitivity=1, candidates=("a", "b")),
    M.TopK.for_budget(epsilon=1.0, sensitivity=1, k=2, candidates=("a", "b", "c", "d")),
    M.DiscreteGaussian.for_budget(rho=0.1, sensitivity=1, dimension=2),
    M.BoundedMean.for_budget(epsilon=1.0, bounds=(0, 1), unit=REPLACE, n=2),
]


@pytest.mark.parametrize("mechanism", LENGTHS, ids=lambda mechanism: mechanism.name)
def test_a_public_length_is_checked_before_payment(mechanism):
    for lengthless in (lambda: iter([1, 2, 3]), lambda: map(float, [1, 2]), lambda: (x for x in [1]), OnlyAnArray):
        with pytest.raises(InvalidData):
            mechanism.check(lengthless())


def test_matrices_and_sparse_tables():
    vectors = M.VectorSum.for_budget(mu=1e6, clip_norm=100.0, dimension=2)
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.matrix([[1.0, 2.0], [3.0, 4.0]])
    assert vectors.release(matrix).value == pytest.approx([4.0, 6.0], abs=0.01)
    with pytest.raises(InvalidData, match="one row"):
        M.RowCount.for_budget(epsilon=1.0).check(csr_array(np.eye(3)))

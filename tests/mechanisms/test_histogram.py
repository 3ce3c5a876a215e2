"""Histograms: right counts from every kind of column, labels kept, the sensitivity of both relations."""

import math
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privet import privacy
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms import DiscreteLaplace, Histogram, Release

SURE = {"epsilon": 500.0}  # noise that rounds to nothing
WARDS = ["A"] * 5 + ["C"] * 3 + ["?"] * 2 + [None]
LABELLED = Histogram.for_budget(**SURE, labels=("A", "B", "C"))
BINNED = Histogram.for_budget(**SURE, edges=(0, 18, 65, 120))
AGES = [0, 17.999, 18, 64, 65, 120, 120.5, -1, math.nan, None]


@pytest.mark.parametrize(
    "column",
    [
        WARDS,
        tuple(WARDS),
        iter(WARDS),
        np.array([w or "" for w in WARDS]),
        np.array(WARDS, dtype=object),
        pd.Series(WARDS),
        pd.Series(WARDS, dtype="category"),
        pd.Series(WARDS, dtype=object),
        pl.Series(WARDS),
        pl.Series(WARDS).cast(pl.Categorical),
        pa.array(WARDS),
        pa.array(WARDS).dictionary_encode(),
        [*WARDS, [], {}, float("nan"), 3],
    ],
    ids=lambda column: f"{type(column).__module__}.{type(column).__name__}-{getattr(column, 'dtype', '')}",
)
def test_labels(column):
    assert LABELLED.release(column).value == {"A": 5, "B": 0, "C": 3}


@pytest.mark.parametrize(
    "column",
    [
        AGES,
        np.array(AGES, dtype=float),
        pd.Series(AGES),
        pl.Series(AGES, strict=False),
        pa.array(AGES[:8] + [None] * 2),
    ],
    ids=lambda column: type(column).__module__,
)
def test_bins(column):
    assert BINNED.release(column).value == {"[0, 18)": 2, "[18, 65)": 2, "[65, 120]": 2}


def test_dates_fall_into_bins():
    import datetime as dt

    edges = [dt.date(2026, 1, 1), dt.date(2026, 2, 1), dt.date(2026, 3, 1)]
    days = pd.Series(pd.to_datetime(["2026-01-15", "2026-02-01", "2026-02-28"]))
    assert list(Histogram.for_budget(**SURE, edges=edges).release(days).value.values()) == [1, 2]


def test_numbers_of_different_types_are_one_label():
    made = Histogram.for_budget(**SURE, labels=(1, 2))
    assert made.release([1, 1.0, np.int8(1), True, np.float32(2), 2.5]).value == {1: 4, 2: 1}


def test_order_and_labels_survive_json():
    made = Histogram.for_budget(epsilon=1.0, labels=("z", "a", 3))
    release = made.release(["z", 3])
    again = Release.from_json(release.to_json())
    assert list(again.value) == ["z", "a", 3]
    assert again.value == release.value


@pytest.mark.parametrize(
    ("unit", "max_rows", "l1", "l2"),
    [
        (privacy.Unit(), 1, 1.0, 1.0),
        (privacy.Unit("replace"), 1, 2.0, math.sqrt(2.0)),
        (privacy.Unit(), 3, 3.0, 3.0),
        (privacy.Unit("replace", 2), 3, 12.0, 6.0 * math.sqrt(2.0)),
    ],
)
def test_noise_follows_the_sensitivity(unit, max_rows, l1, l2):
    options = {"labels": ("A", "B"), "unit": unit, "max_rows": max_rows}
    assert float(Histogram.for_budget(epsilon=1.0, **options).noise.sensitivity) == l1
    many = Histogram.for_budget(epsilon=1.0, delta=1e-3, edges=range(400), unit=unit, max_rows=max_rows)
    assert float(many.noise.sensitivity) == pytest.approx(l2 if many.noise.name == "gaussian" else l1)


def test_brute_force_over_neighbours():
    """Every exchange, addition and removal of one record moves the exact counts by no more than the sensitivity."""
    records = ["A", "B", None]
    base = ["A", "B", "B"]
    counts = [LABELLED._prepare(base)]
    changed = [[*base, r] for r in records] + [base[:i] + base[i + 1 :] for i in range(3)]
    exchanged = [[*base[:i], r, *base[i + 1 :]] for i in range(3) for r in records]
    assert max(np.abs(LABELLED._prepare(c) - counts[0]).sum() for c in changed) == 1
    assert max(np.abs(LABELLED._prepare(c) - counts[0]).sum() for c in exchanged) == 2


def test_bar_covers_all_bins_at_once():
    made = Histogram.for_budget(epsilon=0.3, labels=range(10))
    truth = Counter({i: 10 * i for i in range(10)})
    column = [i for i, n in truth.items() for _ in range(n)]
    outputs = made.simulate(column, 4_000)
    radius = made.error(0.95).radius
    covered = np.mean([all(abs(out[i] - truth[i]) <= radius for i in range(10)) for out in outputs])
    assert covered >= 0.95 - 6 * math.sqrt(0.05 * 0.95 / 4_000)


@pytest.mark.parametrize(
    "value",
    [pd.DataFrame({"w": ["A"]}), {"A": 3}, {"A"}, "AAB", 3, None, np.array([["A"]]), pl.DataFrame({"w": ["A"]})],
    ids=lambda value: type(value).__name__,
)
def test_wrong_input_is_refused_by_its_type(value):
    with pytest.raises(InvalidData) as refused:
        LABELLED.check(value)
    assert "histogram" in str(refused.value)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({}, "labels"),
        ({"labels": ("A",), "edges": (0, 1)}, "labels"),
        ({"labels": ()}, "labels"),
        ({"labels": "ABC"}, "labels"),
        ({"labels": ("A", "A")}, "differ"),
        ({"labels": (1, True)}, "differ"),
        ({"labels": (1.5,)}, "edges"),
        ({"edges": (0,)}, "edges"),
        ({"edges": (0, 0)}, "edges"),
        ({"edges": (1, 0)}, "edges"),
        ({"edges": (0, math.nan)}, "edges"),
        ({"edges": 3}, "edges"),
    ],
)
def test_wrong_parameters(options, word):
    with pytest.raises(InvalidParameter, match=word):
        Histogram.for_budget(epsilon=1.0, **options)


def test_noise_for_one_count_is_too_little_under_replace():
    small = DiscreteLaplace.for_budget(epsilon=1.0, sensitivity=1, unit=privacy.Unit("replace"))
    with pytest.raises(InvalidParameter, match="smaller"):
        Histogram(noise=small, labels=("A", "B"))

"""Error bars per cell: arrays, columns, two sides and a bias; their JSON, intervals, text, and the law that holds them."""

import copy
import json
import pickle
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from privet import noise, testing
from privet.errors import InvalidParameter, SerialisationError
from privet.mechanisms import ErrorBar, Example, Mechanism, Release
from privet.privacy import Composed, LaplaceLoss, PureLoss
from tests.firsts import ends

OLD = '{"radius": 2.5, "confidence": 0.95, "of": "mean", "expected": null, "around": true}'
BARS = [
    ErrorBar(2.5, 0.95),
    ErrorBar(np.array([[1.0, 2.0], [0.0, 4.0]]), 0.9),
    ErrorBar([1.0, 2.0], 0.9, below=0.5, joint=False),
    ErrorBar({"n": 3.0, "mean": [0.1, 0.2]}, 0.9, below={"mean": [0.0, 0.2]}, bias={"mean": 1.0}),
    ErrorBar(1.0, 0.9, bias=2.0, bias_below=0.0),
    ErrorBar(np.zeros((0, 3)), 0.5),
]


@pytest.mark.parametrize("bar", BARS, ids=str)
def test_a_bar_comes_back_from_json_pickle_and_copy(bar):
    release = Release({"n": 1.0}, PureLoss(1.0), bar)
    for again in (
        ErrorBar.from_dict(json.loads(json.dumps(bar.to_dict(), allow_nan=False))),
        Release.from_json(release.to_json()).error,
        pickle.loads(pickle.dumps(bar)),
        copy.deepcopy(bar),
        replace(bar),
    ):
        assert again == bar
        assert hash(again) == hash(bar)
        assert str(again) == str(bar)
    assert bar != replace(bar, confidence=0.42)


def test_old_texts_read_and_plain_bars_are_written_as_before():
    assert ErrorBar.from_dict(json.loads(OLD)) == ErrorBar(2.5, 0.95, "mean")
    assert json.dumps(ErrorBar(2.5, 0.95, "mean").to_dict()) == OLD


def test_intervals_by_cell_by_side_and_by_column():
    value = np.array([10.0, 20.0])
    low, high = ErrorBar([1.0, 2.0], 0.9, below=[0.0, 3.0]).interval(value)
    assert low.tolist() == [10.0, 17.0]
    assert high.tolist() == [11.0, 22.0]
    table = {"ward": ["a", "b"], "n": [5, 7], "mean": np.array([1.0, 2.0])}
    low, high = ErrorBar({"n": 1.0, "mean": [0.5, 0.25]}, 0.9).interval(table)
    assert {name: end.tolist() for name, end in low.items()} == {"n": [4.0, 6.0], "mean": [0.5, 1.75]}
    assert list(high) == ["n", "mean"]
    counts = np.array([1, 200], dtype=np.uint8)
    assert ErrorBar([2.0, 100.0], 0.9).interval(counts)[0].tolist() == [-1.0, 100.0]
    assert Release(value, PureLoss(1.0), ErrorBar([1.0, 2.0], 0.9)).interval[1].tolist() == [11.0, 22.0]


def test_a_bias_stands_apart_and_is_added():
    bar = ErrorBar(1.0, 0.95, bias=3.0, bias_below=0.0)
    assert bar.interval(10.0) == (9.0, 14.0)
    assert bar.interval(10.0, bias=False) == (9.0, 11.0)
    assert str(bar) == "+-1 (95%) (bias at most -0 +3)"
    by_column = ErrorBar({"n": 1.0, "sum": [1.0, 2.0]}, 0.95, bias={"sum": [0.0, 5.0]})
    low, high = by_column.interval({"n": 0.0, "sum": np.zeros(2)})
    assert low["n"] == -1.0
    assert high["sum"].tolist() == [1.0, 7.0]


@pytest.mark.parametrize(
    ("bar", "text"),
    [
        (ErrorBar(2.0, 0.95), "+-2 (95%)"),
        (ErrorBar(2.0, 0.95, below=1.0), "-1 +2 (95%)"),
        (ErrorBar([2.0, 2.0], 0.95), "+-2 (95%, 2 cells)"),
        (ErrorBar([1.0, 2.0], 0.95, joint=False), "+-1 to 2 (95% each, 2 cells)"),
        (ErrorBar({"n": 1.0, "mean": 0.5}, 0.9), "n: +-1, mean: +-0.5 (90%)"),
        (ErrorBar(2.0, 0.95, "rank", around=False), "[rank: +-2 (95%)]"),
        (ErrorBar(2.0, 0.95, bias=0.5), "+-2 (95%) (bias at most 0.5)"),
    ],
)
def test_printing(bar, text):
    assert str(bar) == text
    assert str(Release(1.5, PureLoss(1.0), bar)) == f"1.5 {text}"


@pytest.mark.parametrize(
    "make",
    [
        lambda: ErrorBar([1.0, -1.0], 0.9),
        lambda: ErrorBar([1.0, np.nan], 0.9),
        lambda: ErrorBar([1.0, np.inf], 0.9),
        lambda: ErrorBar(["a"], 0.9),
        lambda: ErrorBar({}, 0.9),
        lambda: ErrorBar({1: 2.0}, 0.9),
        lambda: ErrorBar({"n": {"m": 2.0}}, 0.9),
        lambda: ErrorBar(None, 0.9),
        lambda: ErrorBar(1.0, 0.9, below={"n": 1.0}),
        lambda: ErrorBar({"n": 1.0}, 0.9, bias={"m": 1.0}),
        lambda: ErrorBar([1.0, 2.0], 0.9, below=[1.0, 2.0, 3.0]),
        lambda: ErrorBar(1.0, 0.9, bias_below=1.0),
        lambda: ErrorBar([1.0, 2.0], 0.9).interval(np.zeros(3)),
        lambda: ErrorBar([1.0, 2.0], 0.9).interval(1.0),
        lambda: ErrorBar({"n": 1.0}, 0.9).interval({"m": 1.0}),
        lambda: ErrorBar({"n": 1.0}, 0.9).interval(3.0),
    ],
)
def test_bars_that_say_nothing_are_refused(make):
    with pytest.raises(InvalidParameter):
        make()


@pytest.mark.parametrize(
    "text", ['{"radius": {"cells": [1.0]}}', '{"radius": {"columns": 3}, "confidence": 0.9}', "{}"]
)
def test_texts_that_are_no_bars_are_refused(text):
    with pytest.raises(SerialisationError):
        ErrorBar.from_dict(json.loads(text))


def test_nobody_changes_a_bar_from_outside():
    cells, columns = np.array([1.0, 2.0]), {"n": 1.0}
    by_cell, by_column = ErrorBar(cells, 0.9), ErrorBar(columns, 0.9)
    cells[0], columns["n"] = 99.0, 99.0
    assert by_cell.radius[0] == 1.0
    assert by_column.radius["n"] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        by_cell.radius[0] = 5.0
    with pytest.raises(TypeError):
        by_column.radius["n"] = 5.0


# --- the law -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class TwoColumns(Mechanism):
    """Counts and totals of two groups, with noise of different scales and a bar of the form that is asked for."""

    name = "two_columns_of_the_tests"
    form: str = "columns"
    width: float = 1.0
    joint: bool = True

    @property
    def loss(self):
        return Composed([LaplaceLoss(scale=100.0), LaplaceLoss(scale=100.0)])

    def _prepare(self, value):
        return np.asarray(value)

    def _draw(self, prepared, runs, source):
        small = noise.rounded_laplace(scale=100, center=np.tile(prepared[0], (runs, 1)), source=source)
        large = noise.rounded_laplace(scale=10_000, center=np.tile(prepared[1], (runs, 1)), source=source)
        if self.form == "array":
            return np.stack([small, large], axis=1).astype(float)
        return [{"n": a.astype(float), "total": b.astype(float)} for a, b in zip(small, large, strict=True)]

    def error(self, confidence=0.95):
        tail = (1.0 - confidence) / (4 if self.joint else 1)
        radius = -np.log(tail) * self.width * np.array([100.0, 10_000.0])
        if self.form == "array":
            cells = np.repeat(radius[:, None], 2, axis=1)
            return ErrorBar(cells, confidence, below=cells, joint=self.joint)
        columns = {"n": radius[0], "total": np.full(2, radius[1])}
        return ErrorBar(columns, confidence, bias={"total": 1e9}, joint=self.joint)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example(cls(), [[0.0, 1.0], [0.0, 50.0]], [[1.0, 1.0], [0.0, 50.0]])


INPUTS = [[0.0, 10.0], [0.0, 5000.0]], [[1.0, 10.0], [0.0, 5000.0]]


@pytest.mark.parametrize(
    ("joint", "form"), ends([(joint, form) for joint in (True, False) for form in ("columns", "array")])
)
def test_the_law_accepts_bars_that_cover_and_catches_half_of_them(form, joint):
    sound = Example(TwoColumns(form=form, joint=joint), *INPUTS)
    testing.check_error_bars_cover(sound)
    testing.check_error_bar_is_public(sound)
    testing.check_release_round_trip(sound)
    with pytest.raises(AssertionError, match="within bars"):
        testing.check_error_bars_cover(Example(TwoColumns(form=form, joint=joint, width=0.5), *INPUTS))


def test_one_bad_cell_among_good_ones_is_caught():
    """All widths right but that of one column: the mean over cells would hide it."""

    @dataclass(frozen=True, kw_only=True)
    class OneColumn(TwoColumns):
        def error(self, confidence=0.95):
            bar = super().error(confidence)
            return replace(bar, radius={**bar.radius, "n": 0.4 * bar.radius["n"]})

    for joint in (True, False):
        with pytest.raises(AssertionError, match="within bars"):
            testing.check_error_bars_cover(Example(OneColumn(joint=joint), *INPUTS))


def test_a_bar_that_shrinks_with_confidence_is_caught():
    @dataclass(frozen=True, kw_only=True)
    class Shrinking(TwoColumns):
        def error(self, confidence=0.95):
            bar = super().error(confidence)
            return replace(bar, radius={**bar.radius, "total": [1.0, 2.0 - confidence]})

    with pytest.raises(AssertionError, match="smaller bar"):
        testing.check_error_bar_is_public(Example(Shrinking(), *INPUTS))

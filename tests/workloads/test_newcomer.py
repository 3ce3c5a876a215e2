"""Wrong and odd input at the public door: one clear refusal before anything is paid, or the answer that was meant."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import privet as pv
from privet.errors import InvalidCall, InvalidData, InvalidParameter, NoGuarantee, PrivetError
from privet.mechanisms import ErrorBar
from privet.privacy import Unit
from privet.workloads import (
    Answers,
    Cells,
    Fourier,
    Hierarchical,
    LinearQueries,
    Marginals,
    Optimised,
    PIdentity,
    Prefix,
    RangeQueries,
    Ranges,
    Rows,
    SquareRoot,
    Wavelet,
)
from privet.workloads.design import whole_weight

FOUR = RangeQueries(domain=4)
SURE = {"epsilon": 1e6}  # no noise to speak of


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4]),
        ((1, 2, 3, 4), [1, 2, 3, 4]),
        (range(4), [0, 1, 2, 3]),
        (np.array([1, 2, 3, 4], dtype=np.uint8), [1, 2, 3, 4]),
        (np.array([True, False, True, True]), [1, 0, 1, 1]),
        (np.array([0.5, 1.49, -0.5, 2.5], dtype=np.float16), [1, 1, 0, 3]),
        (np.array([1, 2, 3, 4], dtype=np.longdouble), [1, 2, 3, 4]),
        ([1, math.nan, None, -4], [1, 0, 0, -4]),
        ([Decimal("1.5"), "text", 3, 4], [2, 0, 3, 4]),
        (np.ma.array([1, 2, 3, 4], mask=[0, 1, 0, 0]), [1, 0, 3, 4]),
        (pd.Series([1, None, 3, 4], dtype="Int64"), [1, 0, 3, 4]),
    ],
    ids=repr,
)
def test_counts_are_read(given, read):
    assert FOUR.release(given, **SURE).value.histogram.tolist() == read


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_columns_of_other_libraries(library):
    frames = pytest.importorskip(library)
    column = frames.Series([1, None, 3, 4]) if library == "polars" else frames.array([1, None, 3, 4])
    assert FOUR.release(column, **SURE).value.histogram.tolist() == [1, 0, 3, 4]


@pytest.mark.parametrize(
    "given",
    [
        np.ones((2, 2)),
        [[1], [2], [3], [4]],
        [1, 2, 3],
        [],
        5,
        None,
        "1234",
        b"1234",
        {"a": 1},
        {1, 2, 3, 4},
        iter([1, 2, 3, 4]),
        np.array([1, 2, 3, 4], dtype=complex),
        np.array([1, 2, 3, 4], dtype=object),
        np.array(list("abcd")),
        np.array(["2020-01-01"] * 4, dtype="M8[D]"),
        pd.DataFrame({"n": [1, 2, 3, 4]}),
        pd.Series([1, 2, 3, 4], index=list("dcba")),
        pd.Series(list("abcd"), dtype="category"),
    ],
    ids=lambda given: f"{type(given).__name__}",
)
def test_what_is_no_histogram_costs_nothing(given):
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0))
    with ledger, pytest.raises(InvalidData):
        FOUR.release(given, epsilon=0.5)
    assert ledger.spent["basic epsilon"] == 0.0


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda: RangeQueries(4), "by name"),
        (lambda: RangeQueries(domain=0), "domain"),
        (lambda: RangeQueries(domain="4"), "whole number"),
        (lambda: RangeQueries(domain=2**31), r"2\^30"),
        (lambda: RangeQueries(workload=Prefix), "a workload is needed"),
        (lambda: RangeQueries(domain=4, unit="replace"), "Unit"),
        (lambda: Prefix(), "needs domain"),
        (lambda: Ranges([(0, 1)], domain=4), "Ranges"),
        (lambda: Hierarchical(branch=2), "did you mean branching"),
        (lambda: Rows([[math.nan, 1.0]]), "finite"),
        (lambda: RangeQueries(workload=Rows(np.zeros((2, 3)))).plan(epsilon=1.0), "asks nothing"),
        (lambda: FOUR.plan(), "exactly one of"),
        (lambda: FOUR.plan(epsilon=1.0, strategy="tree"), "Hierarchical"),
        (lambda: FOUR.plan(epsilon=1.0, strategy=Cells), "Cells"),
        (lambda: FOUR.plan(mu=1.0, strategy=PIdentity(steps=2)), "not priced in mu"),
        (lambda: FOUR.plan(epsilon=1.0, strategy=SquareRoot()), "give a delta"),
        (lambda: FOUR.for_error(within=0.0), "within"),
    ],
)
def test_one_clear_refusal(ask, told):
    with pytest.raises(PrivetError, match=told) as caught:
        ask()
    assert isinstance(caught.value, InvalidCall | InvalidParameter | NoGuarantee)


@pytest.mark.parametrize(
    "strategy", [Cells(), Hierarchical(), Wavelet(), SquareRoot(), Optimised(), Fourier(), PIdentity()], ids=str
)
def test_empty_queries_are_refused_by_every_strategy(strategy):
    """Weights were quotients of nothing: a bare ValueError or LinAlgError, or one about other things."""
    for norm in strategy.norms:
        with pytest.raises(InvalidParameter, match="asks nothing"):
            strategy.design(Ranges(16, ((9, 6), (12, 5))), norm)


@pytest.mark.parametrize(
    "strategy", [Cells(), Hierarchical(), Wavelet(), SquareRoot(), Optimised(), Fourier()], ids=str
)
@pytest.mark.parametrize("promise", [{"epsilon": 1e-17}, {"mu": 1e-17}, {"rho": 1e-40}], ids=str)
def test_a_budget_too_small_for_the_grid(strategy, promise):
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0, delta=1e-6))
    with ledger, pytest.raises((InvalidParameter, NoGuarantee), match=r"budget is too small|no pure guarantee"):
        FOUR.release([1, 2, 3, 4], strategy=strategy, **promise)
    assert ledger.spent["basic epsilon"] == 0.0


class TestAnswersRefuse:
    found: Answers = FOUR.release([1, 2, 3, 4], epsilon=1.0).value

    @pytest.mark.parametrize("workload", [None, Prefix, "all", Prefix(5)])
    def test_workloads(self, workload):
        with pytest.raises(InvalidParameter, match="workload"):
            self.found.answers(workload)

    @pytest.mark.parametrize("query", [list("abcd"), [1, 2], [1, math.nan, 0, 0], None, [[1, 2, 3, 4]]])
    def test_queries(self, query):
        with pytest.raises(InvalidParameter, match="for each cell"):
            self.found.linear(query)

    @pytest.mark.parametrize("ends", [(-1, 2), (0, 4), (1.5, 2), (None, 2), (True, 2)])
    def test_ranges(self, ends):
        with pytest.raises(InvalidParameter):
            self.found.answer(*ends)


class TestBars:
    @pytest.mark.parametrize("strategy", [Cells(), Hierarchical(), Hierarchical(weights="uniform"), Wavelet()], ids=str)
    def test_a_bar_for_every_cell(self, strategy):
        mechanism = RangeQueries(domain=13).for_budget(epsilon=1.0, strategy=strategy)
        released = mechanism.release(range(13))
        one_by_one = [released.value.linear(cell).radius for cell in np.eye(13)]
        assert released.error.radius == pytest.approx(one_by_one, rel=1e-9)
        low, high = released.interval
        assert (low + high) / 2 == pytest.approx(released.value.histogram)
        assert not released.error.joint

    def test_gaussian_bars_scale_with_the_length_of_a_cell(self):
        mechanism = RangeQueries(domain=13).for_budget(mu=1.0, strategy=SquareRoot())
        released = mechanism.release(range(13))
        one_by_one = [released.value.linear(cell).radius for cell in np.eye(13)]
        assert released.error.radius == pytest.approx(one_by_one, rel=1e-9)

    def test_bars_have_the_shape_of_the_histogram(self):
        tables = RangeQueries(workload=Marginals((2, 3), ((0, 1),)))
        released = tables.release(np.ones((2, 3)), epsilon=1.0)
        assert released.error.radius.shape == released.interval[0].shape == (2, 3)

    def test_cells_that_are_not_determined_have_no_bar(self):
        released = RangeQueries(workload=Marginals((2, 3), ((0,), (1,)))).release(np.ones((2, 3)), rho=1.0)
        assert released.error.of == "the first query" or released.error.radius.shape == (2, 3)
        many = RangeQueries(domain=2**12).release([1] * 2**12, epsilon=1.0, strategy=Hierarchical())
        assert (many.error.of, many.error.around) == ("the first query", False)

    def test_a_bar_about_an_attribute(self):
        class Found:
            cells = np.array([1.0, 2.0])

        low, high = ErrorBar([0.5, 1.0], 0.95, "cells").interval(Found())
        assert (low.tolist(), high.tolist()) == ([0.5, 1.0], [1.5, 3.0])


@pytest.mark.parametrize("strategy", [Cells(), PIdentity(steps=2)], ids=str)
def test_the_cut_of_huge_cells_is_said_on_the_release(strategy):
    mechanism = LinearQueries.for_budget(epsilon=1.0, workload=Prefix(4), strategy=strategy)
    released = mechanism.release([10**30, 1, 1, 1])
    assert f"cells beyond {mechanism.design.most:,} are cut there" in released.provenance
    assert released.value.histogram[0] == pytest.approx(mechanism.design.most, rel=1e-3)


class TestWhatIsPriced:
    """The price is that of what runs, the same for all data, and within the budget for each kind of noise."""

    @pytest.mark.parametrize("counts", [np.zeros(12, dtype=int), np.arange(12) * 10**6, np.full(12, -5)])
    @pytest.mark.parametrize("promise", [{"epsilon": 0.5}, {"rho": 0.5}], ids=str)
    def test_the_design_does_not_depend_on_data(self, counts, promise):
        asked = RangeQueries(domain=12)
        planned = asked.plan(**promise).mechanism
        assert asked.release(counts, **promise).value.design == planned.design
        assert asked.of(counts).for_budget(**promise).design == planned.design

    @pytest.mark.parametrize("unit", [Unit(), Unit("replace")], ids=str)
    @pytest.mark.parametrize("strategy", [Cells(), Hierarchical(), Wavelet()], ids=str)
    def test_prices_are_sensitivity_over_scale(self, strategy, unit):
        facts = {"workload": Prefix(9), "strategy": strategy, "unit": unit, "max_rows": 2}
        pure = LinearQueries.for_budget(epsilon=0.7, norm="l1", **facts)
        assert pure.loss.pure() == pytest.approx(float(pure.sensitivity) / pure.scale, rel=1e-12)
        assert 0.7 * (1.0 - 1e-9) <= pure.loss.pure() <= 0.7
        normal = LinearQueries.for_budget(mu=0.7, norm="l2", **facts)
        assert normal.loss.gaussian() == pytest.approx(float(normal.sensitivity) / normal.scale, rel=1e-12)
        assert normal.loss.gaussian() <= 0.7 * (1.0 + 1e-12)

    @pytest.mark.parametrize("norm", ["l1", "l2"])
    def test_a_promise_in_rho_is_kept_by_both_noises(self, norm):
        made = LinearQueries.for_budget(rho=0.3, norm=norm, workload=Prefix(9), strategy=Hierarchical())
        assert made.loss.zcdp().rho <= 0.3 * (1.0 + 1e-12)

    def test_tiny_weights_stay_above_zero(self):
        assert whole_weight(1e-12) == Fraction(1, 2**20)

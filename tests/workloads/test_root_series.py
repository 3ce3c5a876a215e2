"""The square root as a series: exact products, brute force over columns, the matrix that it stands for, and no step."""

import math
from fractions import Fraction

import numpy as np
import pytest

from privet.errors import InvalidParameter
from privet.mechanisms.stored import packed, unpack
from privet.privacy import Unit
from privet.workloads import AllRanges, Points, Prefix, RangeQueries, SquareRoot
from privet.workloads.families import convolution
from privet.workloads.families.convolution import digit_bits, exact_product, inverse_series
from privet.workloads.families.dense import Dense
from privet.workloads.families.root_series import _PAIRS, RootSeries, blocks
from tests.firsts import ends
from tests.workloads.test_designs import farthest, matrix_of, moves

TAPERS = [(0.0, 0.0), (0.1, 0.3), (-0.45, 0.4)]
SMALL = (1, 2, 3, 5, 8)


def by_hand(series, values):
    """In Python's whole numbers."""
    return [
        sum(int(series[i - j]) * int(values[j]) for j in range(i + 1) if i - j < len(series))
        for i in range(len(values))
    ]


@pytest.mark.parametrize("terms", [1, 2, 3, 17, 200])
@pytest.mark.parametrize("largest", [1, 255, 2**30, 2**44])
def test_products_of_whole_numbers_are_exact(terms, largest):
    rng = np.random.default_rng(terms)
    series = np.sort(rng.integers(1, 500, terms))[::-1]
    for values in (rng.integers(-largest, largest + 1, terms), np.full(terms, largest), np.full(terms, -largest)):
        assert exact_product(series, values, largest).tolist() == by_hand(series, values)


def test_digits_are_short_enough_on_a_long_series():
    """Against the same product by remainders of a prime, on digits at their largest."""
    series = RootSeries.plain(2**15, (0.0, 0.0))._series
    values = np.full(2**15, 2**33)
    found = exact_product(series, values, 2**33)
    sums = np.cumsum(series).astype(object) * 2**33
    assert found.tolist() == sums.tolist()
    assert digit_bits(series, 2**15) < 30


def test_a_twin_without_digits_is_caught(monkeypatch):
    monkeypatch.setattr(convolution, "digit_bits", lambda *_: 60)
    series, values = np.arange(1, 301)[::-1] * 1_000, np.full(300, 2**36 - 1)
    assert exact_product(series, values, 2**36).tolist() != by_hand(series, values)


@pytest.mark.parametrize("taper", TAPERS)
@pytest.mark.parametrize("k", SMALL)
@pytest.mark.parametrize(("unit", "rows"), [(Unit(), 1), (Unit(), 2), (Unit("replace"), 1), (Unit("replace"), 2)])
def test_sensitivity_is_that_of_all_neighbours(k, taper, unit, rows):
    for design in (RootSeries.plain(k, taper), RootSeries.normalised(k, taper)):
        worst = farthest(design, "l2", moves(k, unit, rows))
        assert float(design.sensitivity("l2", unit, max_rows=rows)) == pytest.approx(worst, rel=1e-12)


LARGE = [(k, taper) for k in (_PAIRS, _PAIRS + 1, 300, 1_025) for taper in TAPERS]


@pytest.mark.parametrize(("k", "taper"), ends(LARGE, also=[each for each in LARGE if each[0] <= _PAIRS + 1]))
def test_sensitivity_of_more_cells(k, taper):
    """The longest column exactly; the farthest pair up to a bound beyond 64 cells."""
    design = RootSeries.normalised(k, taper)
    whole = np.stack([design.measure(cell) for cell in np.eye(k, dtype=np.int64)], axis=1)
    scale = min(design.rows)
    weights = [int(row / scale * 2**30) for row in design.rows]  # rounded down: never longer than the truth
    square = (whole.astype(float) * np.repeat(weights, design._widths)[:, None] / 2**30) ** 2
    longest = math.sqrt(square.sum(axis=0).max()) * float(scale)
    assert float(design.sensitivity("l2")) == pytest.approx(longest, rel=1e-8)
    assert design.sensitivity("l2").value ** 2 >= design._longest("l2")
    matrix = matrix_of(design)
    gram = matrix.T @ matrix
    apart = math.sqrt(np.max(np.diag(gram)[:, None] + np.diag(gram) - 2.0 * gram))
    claimed = float(design.sensitivity("l2", Unit("replace")))
    assert apart * (1.0 - 1e-12) <= claimed <= 1.03 * apart
    if k <= _PAIRS:
        assert claimed == pytest.approx(apart, rel=1e-12)


@pytest.mark.parametrize("taper", TAPERS)
@pytest.mark.parametrize("k", ends([*SMALL, 100, 300], also=SMALL))
def test_cells_come_back_and_errors_are_those_of_linear_algebra(k, taper):
    rng = np.random.default_rng(k)
    design = RootSeries.normalised(k, taper)
    cells = rng.integers(0, 1_000, k)
    assert design.reconstruct(design.measure(cells)) == pytest.approx(cells, abs=1e-6)
    assert design.measure(cells.astype(float)) == pytest.approx(design.measure(cells).astype(float), rel=1e-9)
    covariance = np.linalg.inv(matrix_of(design).T @ matrix_of(design))
    measured = rng.normal(size=k)
    for workload in (Prefix(k), AllRanges(k), Points(k)):
        assert design.trace(workload) == pytest.approx(float(np.sum(workload.gram() * covariance)), rel=1e-9)
        query = workload.query(workload.queries // 2)
        assert design.coefficients(query) @ measured == pytest.approx(query @ design.reconstruct(measured), abs=1e-9)
        assert design.variance(query) == pytest.approx(query @ covariance @ query, rel=1e-9)


def test_counts_at_their_largest_do_not_overflow():
    design = RootSeries.normalised(2_000, (-0.45, 0.4))
    full = np.full(2_000, design.most)
    assert np.max(design.measure(full)) <= 2**61
    assert np.min(design.measure(full)) > 0
    assert design.reconstruct(design.measure(full)) == pytest.approx(full, rel=1e-9)


def rmse(workload):
    design = SquareRoot(tapered=True).design(workload, "l2")
    return float(design.sensitivity("l2")) * math.sqrt(design.trace(workload) / workload.queries)


def test_four_thousand_cells():
    assert rmse(Prefix(4_096)) <= 3.43
    assert rmse(AllRanges(4_096)) <= 4.34


SEAMS = [(k, kind) for k in (1_024, 2_048, 4_096, 65_536) for kind in (Prefix, AllRanges)][:-1]


@pytest.mark.parametrize(("k", "kind"), ends(SEAMS, also=[(1_024, AllRanges), (2_048, Prefix)]))
def test_no_step_between_neighbouring_sizes(kind, k):
    """Where a matrix ends and the series begins, 0.4% are lost to blocks; elsewhere nothing."""
    assert rmse(kind(k)) / rmse(kind(k + 1)) == pytest.approx(1.0, abs=0.008 if k in (1_024, 65_536) else 0.001)


def test_a_plan_searches_only_where_closed_forms_leave_something():
    near = RangeQueries(workload=Prefix(1_024)).plan(mu=1.0)
    assert near.best.rmse <= 1.02 * near.bound
    assert not any(each.mechanism.strategy.searched for each in near.candidates)
    far = RangeQueries(workload=Prefix(16)).plan(mu=1.0)  # 4% above the bound of singular values
    assert any(each.mechanism.strategy.searched for each in far.candidates)


def test_large_counts_are_released_and_stored():
    asked = RangeQueries(workload=Prefix(1_500))
    released = asked.release(np.arange(1_500), mu=2.0, strategy=SquareRoot(tapered=True))
    assert isinstance(released.value.design, RootSeries)
    assert released.value.histogram == pytest.approx(np.arange(1_500), abs=10.0)
    assert unpack(packed(released.value)) == released.value


def test_blocks_reach_the_end_and_are_few():
    for cells in (1, 2, 100, 2**16, 2**16 + 1, 2**20, 2**20 + 1, 2**24):
        ends = blocks(cells)
        assert ends[-1] == cells
        assert all(low < high for low, high in zip((0, *ends), ends, strict=False))
        assert len(ends) <= 256


def test_the_inverse_of_a_series():
    series = RootSeries.plain(500, (0.0, 0.0))._series.astype(float)
    product = np.convolve(series, inverse_series(series, 500))[:500]
    assert product == pytest.approx(np.eye(500)[0], abs=1e-10)


class TestTwins:
    def test_columns_that_are_priced_without_their_weight(self):
        design = RootSeries.normalised(8, (0.1, 0.3))
        twin = RootSeries(8, design.ends, (2**9,) * 8, design.rows)
        assert float(twin.sensitivity("l2")) < farthest(
            RootSeries(8, design.ends, (2**10,) * 8, design.rows), "l2", moves(8, Unit(), 1)
        )

    @pytest.mark.parametrize(
        "wrong",
        [
            lambda: RootSeries(4, (2, 3), (1, 1), (Fraction(1),) * 2),
            lambda: RootSeries(4, (4,), (0,), (Fraction(1),)),
            lambda: RootSeries(4, (2, 2, 4), (1,) * 3, (Fraction(1),) * 3),
            lambda: RootSeries.plain(4, (0.0, 0.0)).sensitivity("l1"),
        ],
    )
    def test_refusals(self, wrong):
        with pytest.raises(InvalidParameter):
            wrong()

    def test_a_matrix_is_kept_for_other_workloads(self):
        assert isinstance(SquareRoot().design(Points(1_500), "l2"), Dense)

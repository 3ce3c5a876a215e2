"""Errors after least squares against values from dense linear algebra elsewhere, and by hand."""

import math
from fractions import Fraction

import numpy as np
import pytest

from privet.workloads import AllRanges, Cells, Hierarchical, Optimised, PIdentity, Prefix, SquareRoot, Wavelet

# RMSE per query: Laplace at epsilon 1 / Gaussian at sigma = l2 sensitivity; add/remove.
TABLE = {
    Cells(): (("13.114877 9.273618", "16.031220 11.335784"), ("26.153394 18.493242", "32.015621 22.638463")),
    Hierarchical(weights="uniform"): (
        ("16.272071 3.835364", "13.161678 3.102237"),
        ("21.829992 4.654170", "17.289617 3.686159"),
    ),
    Hierarchical(weights="uniform", root=False): (
        ("14.834576 3.708644", "12.587999 3.147000"),
        ("20.262819 4.530904", "16.747579 3.744873"),
    ),
    Hierarchical(branching=4, weights="uniform"): (
        ("12.402682 3.922073", "10.101437 3.194355"),
        ("16.601707 4.792500", "13.185984 3.806466"),
    ),
    Hierarchical(branching=4, weights="uniform", root=False): (
        ("10.519007 3.719030", "9.463834 3.345970"),
        ("14.499256 4.585067", "12.583482 3.979246"),
    ),
    Hierarchical(branching=16, weights="uniform"): (
        ("11.635989 4.750373", "9.789544 3.996564"),
        ("17.742940 6.273077", "13.555443 4.792573"),
    ),
    Hierarchical(branching=16, weights="uniform", root=False): (
        ("8.900868 4.450434", "8.970540 4.485270"),
        ("13.637887 5.567644", "11.006991 4.493585"),
    ),
    Wavelet(weights="uniform"): (
        ("14.870512 3.505013", "13.088800 3.085060"),
        ("20.255661 4.318522", "17.201627 3.667399"),
    ),
}


def rmse(strategy, workload, norm):
    design = strategy.design(workload, norm)
    variance = (2.0 if norm == "l1" else 1.0) * float(design.sensitivity(norm)) ** 2
    return math.sqrt(variance * design.trace(workload) / workload.queries)


@pytest.mark.parametrize("strategy", TABLE, ids=str)
@pytest.mark.parametrize(("size", "column"), [(256, 0), (1024, 1)])
@pytest.mark.parametrize(("workload", "row"), [(AllRanges, 0), (Prefix, 1)])
def test_table(strategy, size, column, workload, row):
    wanted = [float(number) for number in TABLE[strategy][column][row].split()]
    found = [rmse(strategy, workload(size), norm) for norm in ("l1", "l2")]
    assert found == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize(
    ("workload", "size", "laplace", "gaussian"),
    [
        (AllRanges, 256, 14.46783, 3.43640),
        (Prefix, 256, 12.50356, 2.97681),
        (AllRanges, 1024, 19.79935, 4.24842),
        (Prefix, 1024, 16.52012, 3.55289),
    ],
)
def test_best_wavelet_weights(workload, size, laplace, gaussian):
    found = [rmse(Wavelet(), workload(size), norm) for norm in ("l1", "l2")]
    assert found == pytest.approx([laplace, gaussian], abs=2e-5)


@pytest.mark.parametrize(
    ("workload", "size", "laplace"),
    [
        (AllRanges, 256, 8.8847),
        (Prefix, 256, 8.4124),
        (AllRanges, 1024, 12.4303),
        (Prefix, 1024, 10.9068),
        (AllRanges, 4096, 16.152),
        (AllRanges, 65536, 24.772),
        (AllRanges, 2**20, 34.839),
        (AllRanges, 2**24, 45.663),
    ],
)
def test_best_level_weights_are_at_least_as_good(workload, size, laplace):
    assert rmse(Hierarchical(), workload(size), "l1") <= laplace * 1.0001


@pytest.mark.parametrize(
    ("workload", "branching", "norm", "wanted"),
    [
        (AllRanges(2**24), 2, "l1", 73.3429),
        (AllRanges(2**24), 16, "l1", 50.7399),
        (AllRanges(2**24), 2, "l2", 10.3723),
        (Prefix(2**24), 2, "l2", 7.7487),
        (AllRanges(4096), 16, "l1", 19.7648),
        (AllRanges(65536), 16, "l1", 29.0652),
        (AllRanges(2**20), 16, "l1", 39.4207),
    ],
)
def test_large_domains(workload, branching, norm, wanted):
    # with the root, as tabulated
    assert rmse(Hierarchical(branching=branching, weights="uniform"), workload, norm) == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize(
    ("strategy", "ranges", "prefix"),
    [
        (Hierarchical(weights="uniform"), (Fraction(146, 21), Fraction(88, 3)), (Fraction(18, 7), Fraction(192, 35))),
        (
            Hierarchical(weights="uniform", root=False),
            (Fraction(28, 3), Fraction(724, 21)),
            (Fraction(4), Fraction(52, 7)),
        ),
        (Wavelet(weights="uniform"), (Fraction(6), Fraction(187, 8)), (Fraction(11, 4), Fraction(45, 8))),
    ],
    ids=str,
)
def test_traces_by_hand(strategy, ranges, prefix):
    for size, wanted in zip((4, 8), ranges, strict=True):
        assert strategy.design(AllRanges(size), "l1").trace(AllRanges(size)) == pytest.approx(float(wanted), rel=1e-12)
    for size, wanted in zip((4, 8), prefix, strict=True):
        assert strategy.design(Prefix(size), "l1").trace(Prefix(size)) == pytest.approx(float(wanted), rel=1e-12)


def test_consistency_by_hand():
    design = Hierarchical(weights="uniform").design(Prefix(4), "l1")
    fitted = design.reconstruct(np.array([1.0, 2.0, 5.0, 1.0, 4.0, 7.0, 10.0]))
    assert fitted == pytest.approx(np.array([9, 16, 37, 9]) / 7.0)


@pytest.mark.parametrize(("normalised", "ranges", "prefix"), [(False, 3.263002, 2.668782), (True, 3.086019, 2.557265)])
def test_square_root(normalised, ranges, prefix):
    strategy = SquareRoot(normalised=normalised)
    found = [rmse(strategy, workload, "l2") for workload in (AllRanges(256), Prefix(256))]
    assert found == pytest.approx([ranges, prefix], abs=3e-6)  # the matrix is rounded to multiples of 2^-22


def test_tapered_square_root_is_close_to_the_optimum_without_a_search():
    assert rmse(SquareRoot(tapered=True), Prefix(256), "l2") <= 2.5244 * 1.003
    assert rmse(SquareRoot(tapered=True), Prefix(1024), "l2") <= 2.99
    assert rmse(SquareRoot(tapered=True), AllRanges(256), "l2") <= 2.901435 * 1.055


def test_square_root_keeps_its_asymptotic_sensitivity():
    design = SquareRoot(normalised=False).design(Prefix(256), "l2")
    assert float(design.sensitivity("l2")) ** 2 == pytest.approx(2.831050, abs=1e-5)


@pytest.mark.parametrize(("workload", "most"), [(AllRanges(256), 8.10), (Prefix(256), 7.40)], ids=str)
def test_search_is_ahead_of_the_published_one(workload, most):
    assert rmse(PIdentity(), workload, "l1") <= most


@pytest.mark.parametrize(("workload", "optimum"), [(AllRanges(256), 2.901435), (Prefix(256), 2.5244)], ids=str)
def test_optimised_is_within_a_thousandth_of_the_dual_value(workload, optimum):
    assert optimum - 5e-5 <= rmse(Optimised(), workload, "l2") <= optimum * 1.001


def test_four_queries_under_gaussian_noise():
    """Cells with their sex: the optimum is 2 phi^2, where measuring cells gives 6."""
    from privet.workloads import Rows

    workload = Rows([[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]])
    assert Cells().design(workload, "l2").trace(workload) == pytest.approx(6.0)
    best = Optimised().design(workload, "l2")
    assert best.trace(workload) * float(best.sensitivity("l2")) ** 2 == pytest.approx(5.236068, rel=1.1e-3)

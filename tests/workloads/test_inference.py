"""Projection never hurts in the norm it was made in, and hurts in another: both are shown."""

from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import nnls

from privet.errors import InvalidParameter
from privet.workloads import AllRanges, Hierarchical, Points, Prefix
from privet.workloads.inference import clipped, intersection, isotonic, least_squares, non_negative, sum_to_parent

VECTORS = st.lists(st.floats(-50, 50), min_size=2, max_size=12).map(np.array)


@given(VECTORS, st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_projection_never_hurts_where_the_truth_lies_in_the_set(noisy, seed):
    rng = np.random.default_rng(seed)
    truth = np.sort(rng.uniform(-50, 50, len(noisy)))
    assert np.sum((isotonic(noisy) - truth) ** 2) <= np.sum((noisy - truth) ** 2) + 1e-9
    inside = np.abs(truth)
    assert np.sum((clipped(noisy) - inside) ** 2) <= np.sum((noisy - inside) ** 2) + 1e-9
    total = inside.sum()
    assert np.sum((sum_to_parent(noisy, total) - inside) ** 2) <= np.sum((noisy - inside) ** 2) + 1e-9
    both = intersection(noisy, [clipped, lambda x: sum_to_parent(x, total)])
    assert np.sum((both - inside) ** 2) <= np.sum((noisy - inside) ** 2) + 1e-6


def test_it_may_hurt_where_the_truth_lies_outside():
    """The condition of the theorem is needed: a falling truth is made worse by a rising fit."""
    truth = np.array([5.0, 0.0])
    assert np.sum((isotonic(truth) - truth) ** 2) > 0.0


@given(VECTORS, st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_non_negativity_in_the_norm_of_the_workload(noisy, seed):
    truth = np.random.default_rng(seed).integers(0, 20, len(noisy)).astype(float)
    for workload in (Prefix(len(noisy)), AllRanges(len(noisy)), Points(len(noisy))):
        fixed = non_negative(noisy, workload)
        assert np.min(fixed) >= -1e-9
        before = np.sum((workload.answers(noisy) - workload.answers(truth)) ** 2)
        after = np.sum((workload.answers(fixed) - workload.answers(truth)) ** 2)
        assert after <= before * (1.0 + 1e-7) + 1e-6


def test_prefix_projection_is_the_one_of_the_general_solver():
    noisy = np.array([2.0, -3.0, 1.0, -1.0, 4.0])
    values, vectors = np.linalg.eigh(Prefix(5).gram())
    root = np.sqrt(values)[:, None] * vectors.T
    assert non_negative(noisy, Prefix(5)) == pytest.approx(nnls(root, root @ noisy)[0], abs=1e-8)


def test_clipping_leaves_makes_ranges_worse():
    """Cut at 0, cells only grow: over a sparse histogram prefix answers drift away. The projection is no such thing."""
    rng = np.random.default_rng(7)
    k, truth = 256, np.zeros(256)
    truth[128] = 1_000.0
    design = Hierarchical().design(Prefix(k), "l1")
    errors = {"plain": 0.0, "clipped": 0.0, "projected": 0.0}
    for _ in range(20):
        noise = rng.laplace(scale=1.0, size=design.measurements) / design._row_weights()
        fitted = design.reconstruct(design.measure(truth) + noise)
        for name, cells in (
            ("plain", fitted),
            ("clipped", clipped(fitted)),
            ("projected", non_negative(fitted, Prefix(k))),
        ):
            errors[name] += np.sum((np.cumsum(cells) - np.cumsum(truth)) ** 2)
    assert errors["clipped"] > 2.0 * errors["plain"]
    assert errors["projected"] < errors["plain"]


def test_alternating_alone_is_not_the_projection():
    """Non-negative parts of a known total: walking to and fro ends in both sets, farther away than the nearest point."""
    point = np.array([-1.4, -2.5, -1.2, 0.1])
    sets = [clipped, lambda x: sum_to_parent(x, 1.0)]
    nearest, walked = intersection(point, sets), point
    for _ in range(1_000):
        for project in sets:
            walked = project(walked)
    assert nearest == pytest.approx([0.0, 0.0, 0.0, 1.0], abs=1e-6)
    assert walked.sum() == pytest.approx(1.0)
    assert np.sum((walked - point) ** 2) > np.sum((nearest - point) ** 2) + 1e-3


def test_isotonic_by_hand():
    assert isotonic(np.array([14.0, 9.0, 10.0, 15.0, 11.0])).tolist() == [11.0, 11.0, 11.0, 13.0, 13.0]
    assert isotonic(np.array([3.0, 1.0]), np.array([1.0, 3.0])).tolist() == [1.5, 1.5]


def test_least_squares_by_conjugate_gradients_is_the_direct_fit(monkeypatch):
    rng = np.random.default_rng(3)
    rows, more = rng.normal(size=(30, 12)), rng.normal(size=(9, 12))
    measured = [(rows, rng.normal(size=30), 1.0), (more, rng.normal(size=9), 4.0)]
    direct = least_squares(measured)
    monkeypatch.setattr(import_module("privet.workloads.inference.least_squares"), "_DIRECT", 1)
    assert least_squares(measured) == pytest.approx(direct, abs=1e-8)


@pytest.mark.parametrize(
    "call",
    [
        lambda: isotonic(np.zeros((2, 2))),
        lambda: isotonic(np.zeros(0)),
        lambda: isotonic(np.zeros(3), np.ones(2)),
        lambda: clipped(np.zeros(2), 1.0, 0.0),
        lambda: sum_to_parent(np.zeros(2), 1.0, np.zeros(2)),
        lambda: least_squares([]),
        lambda: least_squares([(np.eye(2), np.zeros(2), 1.0), (np.eye(3), np.zeros(3), 1.0)]),
    ],
)
def test_wrong_calls_are_refused(call):
    with pytest.raises(InvalidParameter):
        call()

"""Reconstruction: exact and nearly exact counts give bits away, private ones do not."""

import numpy as np
import pytest

from privet import audit, noise
from privet.errors import InvalidData, InvalidParameter

N, M = 128, 512
WAYS = [audit.LeastSquares(), audit.LinearProgramme()]


@pytest.fixture(scope="module")
def asked():
    rng = np.random.default_rng(7)
    secret, subsets = rng.integers(0, 2, N), rng.integers(0, 2, (M, N))
    return secret, subsets, subsets @ secret


@pytest.mark.parametrize("by", WAYS, ids=lambda by: type(by).__name__)
def test_the_figures_of_the_page(asked, by):
    secret, subsets, exact = asked
    rng = np.random.default_rng(8)
    quick = isinstance(by, audit.LeastSquares)  # a programme takes a second
    right = {
        "exact": audit.reconstruct(subsets, exact, by=by).right(secret),
        "small": audit.reconstruct(subsets, exact + rng.normal(0, 2.8, M), by=by).right(secret),
    }
    assert right["exact"] == 1.0
    assert right["small"] > 0.88
    if quick:
        assert audit.reconstruct(subsets, 5 * np.rint(exact / 5), by=by).right(secret) > 0.95
        assert 0.5 < audit.reconstruct(subsets, exact + rng.normal(0, 11.3, M), by=by).right(secret) < 0.78


@pytest.mark.parametrize("by", WAYS, ids=lambda by: type(by).__name__)
def test_private_counts_leave_a_coin_toss(asked, by):
    secret, subsets, exact = asked
    private = exact + np.asarray(noise.discrete_laplace(scale=M / 1.0, size=M))  # a total epsilon of 1
    assert 0.36 < audit.reconstruct(subsets, private, by=by).right(secret) < 0.66


def test_all_marginals_of_two_axes_give_a_sparse_table_away():
    rng = np.random.default_rng(9)
    table = np.zeros((3, 3, 2), dtype=int)
    for cell in rng.integers(0, 18, 6):
        table.reshape(-1)[cell] += 1
    pairs = {(0, 1): table.sum(2), (0, 2): table.sum(1), (1, 2): table.sum(0)}
    assert audit.reconstruct_table(table.shape, pairs).right(table) >= 0.8
    whole = audit.reconstruct_table(table.shape, {**pairs, (0, 1, 2): table})
    assert whole.right(table) == 1.0
    assert audit.reconstruct_table(table.shape, {(): table.sum(), (0, 1, 2): table}).right(table) == 1.0


def test_noisy_marginals_give_less_away():
    rng = np.random.default_rng(10)
    table = (rng.random((4, 4, 2)) < 0.2).astype(int)
    noisy = {
        axes: table.sum(other) + np.asarray(noise.discrete_laplace(scale=6, size=(4, 4 if other == 2 else 2)))
        for axes, other in (((0, 1), 2), ((0, 2), 1), ((1, 2), 0))
    }
    exact = {(0, 1): table.sum(2), (0, 2): table.sum(1), (1, 2): table.sum(0)}
    assert audit.reconstruct_table(table.shape, noisy).right(table) < audit.reconstruct_table(table.shape, exact).right(
        table
    )


def test_what_cannot_be_solved_is_refused():
    with pytest.raises(InvalidData, match="one for each answer"):
        audit.reconstruct(np.eye(3), [1.0])
    with pytest.raises(InvalidData, match="finite"):
        audit.reconstruct(np.eye(2), [1.0, np.nan])
    with pytest.raises(InvalidData, match="sizes of the axes"):
        audit.reconstruct_table((2, 2), {(0,): [1, 2, 3]})
    with pytest.raises(InvalidParameter, match="LeastSquares"):
        audit.reconstruct(np.eye(2), [1.0, 0.0], by="lp")
    with pytest.raises(InvalidParameter, match="at least one"):
        audit.reconstruct_table((2, 2), {})


def test_words_for_numbers_are_refused_without_being_quoted():
    for given in ([["SECRET"]], [1.0]), ([[1.0]], ["SECRET"]):
        with pytest.raises(InvalidData, match="must be numbers") as caught:
            audit.reconstruct(*given)
        assert "SECRET" not in str(caught.value)
    with pytest.raises(InvalidData, match="must be numbers"):
        audit.reconstruct_table((2,), {(0,): ["SECRET", 1]})
    with pytest.raises(InvalidData, match="finite counts"):
        audit.reconstruct_table((2,), {(0,): [np.nan, 1]})


@pytest.mark.parametrize("axes", [(2,), (-1,), (0, 0), 0, "a", (True,), (0.0,)])
def test_axes_that_a_table_has_not_are_refused(axes):
    with pytest.raises(InvalidParameter, match="the axes of the table"):
        audit.reconstruct_table((2, 2), {axes: [1, 1]})

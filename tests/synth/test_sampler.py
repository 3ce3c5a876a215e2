"""Rows of a model: within rounding of it, unbiased, and defined where the model expects nothing."""

import numpy as np

from privet.noise import Seeded
from privet.synth.graph import Coins, GraphModel, TreePlan, rounded, sampled
from tests.oracles.whole_joint import joint_of


def _model(seed: int = 0) -> GraphModel:
    rng = np.random.default_rng(seed)
    cliques = [(0, 1), (1, 2), (3,)]
    return GraphModel(TreePlan((2, 3, 2, 4), cliques), [rng.normal(size=s) for s in ((2, 3), (3, 2), (4,))], 100.0)


def test_counts_of_a_clique_are_within_one_of_the_model() -> None:
    model, n = _model(), 997
    rows = sampled(model, n, Coins(Seeded(1)))
    assert rows.shape == (n, 4)
    root = model.plan.tree.cliques[0]
    made = np.zeros([model.plan.sizes[i] for i in root])
    np.add.at(made, tuple(rows[:, i] for i in root), 1)
    assert np.abs(made - model.marginal(root) * n / 100.0).max() < 1.0 + 1e-9
    for i, size in enumerate(model.plan.sizes):
        assert rows[:, i].min() >= 0
        assert rows[:, i].max() < size


def test_rows_have_the_joint_of_the_model() -> None:
    model, n = _model(3), 200_000
    rows = sampled(model, n, Coins(Seeded(2)))
    joint = model.marginal((0, 1, 2, 3)) / 100.0
    made = np.zeros(joint.shape)
    np.add.at(made, tuple(rows.T), 1.0 / n)
    assert np.abs(made - joint).max() < 5.0 * np.sqrt(0.25 / n)


def test_rounding_is_unbiased_and_sums_exactly() -> None:
    shares, runs = np.array([[0.05, 0.15, 0.35, 0.45], [1.0, 0.0, 0.0, 0.0]]), 20_000
    totals = np.array([3, 2])
    drawn = rounded(np.tile(shares, (runs, 1)), np.tile(totals, runs), Coins(Seeded(5))).reshape(runs, 2, 4)
    assert np.all(drawn.sum(axis=2) == totals)
    expected = shares * totals[:, None]
    assert np.all(np.abs(drawn - expected) < 1.0)
    assert np.abs(drawn.mean(axis=0) - expected).max() < 5.0 * 0.5 / np.sqrt(runs)


def test_where_nothing_is_expected_rows_are_still_drawn() -> None:
    made = rounded(np.zeros((1, 4)), np.array([8]), Coins(Seeded(1)))
    assert made.tolist() == [[2, 2, 2, 2]]
    model = GraphModel(
        TreePlan((2, 2), [(0, 1)], {(0, 1): np.array([[True, True], [False, False]])}), [np.zeros((2, 2))], 5.0
    )
    assert np.all(sampled(model, 50, Coins(Seeded(1)))[:, 0] == 0)


def test_no_rows_and_one_row() -> None:
    assert sampled(_model(), 0, Coins(Seeded(1))).shape == (0, 4)
    assert sampled(_model(), 1, Coins(Seeded(1))).shape == (1, 4)


def test_columns_without_a_path_are_independent_among_the_rows() -> None:
    potentials = {(0,): np.log([0.3, 0.7]), (1,): np.log([0.6, 0.4])}
    model = GraphModel(TreePlan((2, 2), list(potentials)), list(potentials.values()), 10.0)
    n = 100_000
    rows = sampled(model, n, Coins(Seeded(9)))
    made = np.bincount(2 * rows[:, 0] + rows[:, 1], minlength=4).reshape(2, 2) / n
    assert np.abs(made - joint_of((2, 2), potentials, 1.0)).max() < 0.01

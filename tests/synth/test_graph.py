"""The graphical model against the page's golden values and against the joint that is written out."""

from itertools import combinations
from math import prod

import numpy as np
import pytest

from privet.errors import InvalidParameter
from privet.synth.graph import (
    GraphModel,
    Measurement,
    TreePlan,
    combined,
    fitted,
    junction_tree,
    least_variance_total,
    onto_simplex,
    tree_cells,
)
from privet.synth.graph.reduction import Reduction
from tests.oracles.whole_joint import distance, joint_of, least_distance, summed

CHAIN = [
    Measurement((0, 1), np.array([[30.0, 10.0], [20.0, 40.0]]), 1.0),
    Measurement((1, 2), np.array([[30.0, 25.0], [5.0, 40.0]]), 2.0),
]
NEGATIVE = [
    Measurement((0, 1), np.array([[30.0, -6.0], [20.0, 40.0]]), 1.0),
    Measurement((1, 2), np.array([[30.0, 25.0], [-9.0, 40.0]]), 2.0),
]


def test_two_tables_that_share_a_column_meet_where_the_page_says() -> None:
    model = fitted((2, 2, 2), CHAIN, 100.0, tolerance=1e-14)
    assert np.allclose(model.marginal((0, 1)), [[30.5, 9.5], [20.5, 39.5]], atol=1e-4)
    assert np.allclose(model.marginal((1, 2)), [[28.0, 23.0], [7.0, 42.0]], atol=1e-4)
    assert model.loss == pytest.approx(2.5, abs=1e-9)
    assert model.marginal((0, 1, 2))[0, 0, 0] == pytest.approx(16.74509804, abs=1e-5)


def test_negative_counts_are_fitted_as_near_as_counts_can_be() -> None:
    model = fitted((2, 2, 2), NEGATIVE, 100.0, steps=2000, tolerance=1e-13)
    assert np.allclose(model.marginal((0, 1)), [[33.5, 0.0], [23.5, 43.0]], atol=1e-3)
    assert np.allclose(model.marginal((1, 2)), [[31.0, 26.0], [0.0, 43.0]], atol=1e-3)
    assert model.loss == pytest.approx(46.25, abs=1e-6)


def test_totals_are_weighted_by_what_their_noise_allows() -> None:
    made = [
        Measurement((0,), np.full(n, total / n), s)
        for n, total, s in ((2, 104.0, 3.0), (4, 96.0, 3.0), (8, 101.0, 2.0))
    ]
    total = least_variance_total(made)
    assert total.value == pytest.approx(101.242424, abs=1e-6)
    assert total.deviation == pytest.approx(2.954196, abs=1e-6)
    assert least_variance_total([Measurement((0,), np.full(3, -5.0), 1.0)]).value == 1.0


SIZES = (2, 3, 2, 4, 3)
GRAPHS = {
    "chain": [(0, 1), (1, 2), (2, 3), (3, 4)],
    "cycle": [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)],
    "apart": [(0, 1), (3, 4)],
    "star": [(0, 1), (0, 2), (0, 3, 4)],
    "nested": [(0, 1, 2), (0, 1), (1,), (2, 3), (4,)],
    "nothing": [],
}


@pytest.mark.parametrize("graph", GRAPHS)
def test_every_table_is_that_of_the_joint(graph: str) -> None:
    rng = np.random.default_rng(len(graph))
    cliques = GRAPHS[graph]
    potentials = {c: rng.normal(size=[SIZES[i] for i in c]) * 2.0 for c in cliques}
    model = GraphModel(TreePlan(SIZES, cliques), list(potentials.values()), 50.0)
    joint = joint_of(SIZES, potentials, 50.0)
    for many in range(1, len(SIZES) + 1):
        for clique in combinations(range(len(SIZES)), many):
            assert np.allclose(model.marginal(clique), summed(joint, clique), atol=1e-9), clique


def test_answers_on_random_graphs_are_those_of_the_joint() -> None:
    rng = np.random.default_rng(7)
    for _ in range(25):
        d = int(rng.integers(2, 8))
        sizes = tuple(int(s) for s in rng.integers(1, 4, size=d))
        cliques = list(
            {
                tuple(sorted(rng.choice(d, size=int(rng.integers(1, min(3, d) + 1)), replace=False).tolist()))
                for _ in range(d)
            }
        )
        potentials = {c: rng.normal(size=[sizes[i] for i in c]) for c in cliques}
        model = GraphModel(TreePlan(sizes, cliques), list(potentials.values()), 10.0)
        joint = joint_of(sizes, potentials, 10.0)
        for clique in [tuple(range(d)), *combinations(range(d), 2)]:
            assert np.allclose(model.marginal(clique), summed(joint, clique), atol=1e-9)


def _noisy(cliques: list[tuple[int, ...]], sizes: tuple[int, ...], seed: int) -> list[Measurement]:
    rng = np.random.default_rng(seed)
    joint = rng.gamma(0.3, size=sizes)
    joint *= 60.0 / joint.sum()
    return [
        Measurement(c, summed(joint, c) + rng.normal(size=[sizes[i] for i in c]) * s, s)
        for c, s in zip(cliques, np.geomspace(0.5, 8.0, len(cliques)), strict=True)
    ]


@pytest.mark.parametrize(
    ("name", "cliques"),
    [
        ("mixed noise", [(0, 1), (1, 2), (0, 2)]),
        ("repeated", [(0, 1), (0, 1), (2,), (2,), (1, 2)]),
        ("apart", [(0,), (1, 2)]),
        ("one inside another", [(0, 1, 2), (0, 2), (1,)]),
    ],
)
def test_a_fit_is_as_near_as_any_joint(name: str, cliques: list[tuple[int, ...]]) -> None:
    sizes = (3, 2, 3)
    measurements = _noisy(cliques, sizes, len(name))
    model = fitted(sizes, measurements, 60.0, steps=3_000, tolerance=1e-10)
    least = least_distance(sizes, measurements, 60.0)
    reached = distance(model.marginal((0, 1, 2)), measurements)
    assert least - 1e-6 <= reached <= least + 1e-3 * max(1.0, least)  # cells that end at 0 are reached slowly


def test_a_total_of_one_row_is_fitted() -> None:
    model = fitted((2, 2), [Measurement((0, 1), np.full((2, 2), -4.0), 3.0)], 1.0, tolerance=1e-13)
    assert np.allclose(model.marginal((0, 1)), 0.25, atol=1e-6)


def test_a_warm_start_ends_where_a_cold_one_does() -> None:
    sizes, (first, *rest) = (3, 2, 3), _noisy([(0, 1), (1, 2), (0, 2)], (3, 2, 3), 3)
    before = fitted(sizes, [first], 60.0)
    warm = fitted(sizes, [first, *rest], 60.0, start=before, steps=3_000, tolerance=1e-10)
    cold = fitted(sizes, [first, *rest], 60.0, steps=3_000, tolerance=1e-10)
    assert warm.loss == pytest.approx(cold.loss, rel=1e-4)
    assert np.allclose(warm.marginal((0, 1, 2)), cold.marginal((0, 1, 2)), atol=0.02)


def test_a_fit_that_has_nothing_to_gain_hands_its_step_on() -> None:
    measurements = [Measurement((0,), np.array([30.0, 70.0]), 1.0)]
    done = fitted((2, 2), measurements, 100.0, tolerance=1e-15)
    again = fitted((2, 2), measurements, 100.0, start=done, tolerance=1e-15)
    more = [*measurements, Measurement((0, 1), np.array([[5.0, 25.0], [60.0, 10.0]]), 1.0)]
    after = fitted((2, 2), more, 100.0, start=again, steps=100, tolerance=1e-4)
    assert after.loss < 1.0  # with a step that had been halved to nothing, it would have stayed where it was


def test_measurements_of_one_table_are_merged_by_their_precision() -> None:
    one, two = Measurement((0,), np.array([4.0]), 1.0), Measurement((0,), np.array([1.0]), 2.0)
    mean, weight = combined([one, two])[(0,)]
    assert mean.tolist() == [3.4]
    assert weight.tolist() == [1.25]
    cells = Measurement((0,), np.array([1.0, 2.0]), 1.0, np.array([1.0, 3.0]))
    assert cells.weights.tolist() == [1.0, 1.0 / 3.0]


# --- the tree ----------------------------------------------------------------------------------------------------------


def test_fill_in_counts() -> None:
    cycle = [(i, i + 1) for i in range(11)] + [(0, 11)]
    assert tree_cells((10,) * 12, cycle) == 10 * 10**3  # ten triangles; eleven edges alone would be 1200
    chain = [(i, i + 1, i + 2) for i in range(10)]
    assert tree_cells((10,) * 12, chain) == 10 * 10**3
    assert tree_cells((10,) * 12, [*chain, (0, 11)]) > 10**4


def test_the_counted_cells_are_those_of_the_tree() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        d = int(rng.integers(1, 9))
        sizes = tuple(int(s) for s in rng.integers(1, 6, size=d))
        cliques = [tuple(sorted(rng.choice(d, size=min(2, d), replace=False).tolist())) for _ in range(d)]
        tree = junction_tree(sizes, cliques)
        assert tree.cells == tree_cells(sizes, cliques) == sum(prod(sizes[i] for i in c) for c in tree.cliques)
        for clique in cliques:
            assert any(set(clique) <= set(each) for each in tree.cliques)
        assert {i for each in tree.cliques for i in each} == set(range(d))
        for i in range(d):  # the cliques that hold a column hang together: one of them has no such parent
            holding = [k for k, each in enumerate(tree.cliques) if i in each]
            heads = [k for k in holding if i not in tree.separators[k]]
            assert len(heads) == 1


def test_tables_inside_of_one_large_clique_are_summed_from_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, cliques = (4, 5, 6, 3, 4, 2), [*combinations(range(6), 3), (0,), (2, 3)]
    plan = TreePlan(sizes, cliques)
    assert plan.tree.cliques == ((0, 1, 2, 3, 4, 5),)
    rng = np.random.default_rng(5)
    potentials = [rng.normal(size=[sizes[i] for i in each]) for each in cliques]
    before = [each.copy() for each in potentials]
    beliefs = plan.calibrated(potentials, 50.0)
    logs = sum(
        each.reshape([sizes[i] if i in clique else 1 for i in range(6)])
        for clique, each in zip(cliques, potentials, strict=True)
    )
    joint = np.exp(logs) * (50.0 / np.exp(logs).sum())
    assert np.allclose(beliefs[0], joint, rtol=1e-12)
    assert all(np.array_equal(one, two) for one, two in zip(potentials, before, strict=True))
    through, plain = [], Reduction.sum
    monkeypatch.setattr(Reduction, "sum", lambda self, table: (through.append(table.size), plain(self, table))[1])
    for clique, table in zip(cliques, plan.marginals(beliefs), strict=True):
        assert np.allclose(table, joint.sum(axis=tuple(i for i in range(6) if i not in clique)), rtol=1e-12)
    assert sum(through) < 8 * joint.size  # each of 20 by itself would go through all of it


def test_a_sum_over_axes_is_the_sum_whatever_lies_between() -> None:
    rng = np.random.default_rng(2)
    sizes = (3, 2, 17, 1, 4)
    table = rng.normal(size=sizes)
    for many in range(6):
        for part in combinations(range(5), many):
            onto = Reduction(range(5), part, sizes)
            assert np.allclose(onto.sum(table), summed(table, part))
            shape = tuple(sizes[i] if i in part else 1 for i in range(5))
            spread = np.broadcast_to(onto.spread(onto.sum(table)), onto.shape).reshape(sizes)
            assert np.allclose(spread, np.broadcast_to(onto.sum(table).reshape(shape), sizes))


# --- log(0) ------------------------------------------------------------------------------------------------------------


def test_what_underflows_in_one_clique_may_matter_in_another() -> None:
    far = np.array([[0.0, 0.0], [-900.0, -901.0]])
    near = np.array([[-900.0, -900.0], [0.0, 0.0]])
    potentials = {(0, 1): far, (0, 2): near}
    model = GraphModel(TreePlan((2, 2, 2), list(potentials)), list(potentials.values()), 8.0)
    joint = joint_of((2, 2, 2), potentials, 8.0)
    assert np.allclose(model.marginal((0, 1, 2)), joint, atol=1e-9)
    assert joint[1, 1].sum() > 0.5


@pytest.mark.parametrize("low", [-700.0, -715.0, -744.0, -760.0])
def test_a_code_that_has_next_to_no_rows_has_finite_tables(low: float) -> None:
    """Both sides of the smallest numbers there are: 1 over such a count is no double any more."""
    plan = TreePlan((2, 2, 2), [(0, 1), (1, 2)])
    model = GraphModel(plan, [np.array([[0.0, low], [0.0, low]]), np.zeros((2, 2))], 100.0)
    np.testing.assert_allclose(model.marginal((0, 2)), np.full((2, 2), 25.0), rtol=1e-12)
    assert model.marginal((0, 1, 2))[:, 1, :].max() < 1e-290


def test_structural_zeros_stay_empty_and_the_rest_is_fitted() -> None:
    allowed = {(0, 1): np.array([[True, False], [True, True]]), (1, 2): np.array([[True, True], [False, True]])}
    model = fitted((2, 2, 2), CHAIN, 100.0, allowed=allowed, steps=3_000, tolerance=1e-10)
    open_ = allowed[(0, 1)][:, :, None] & allowed[(1, 2)][None, :, :]
    joint = model.marginal((0, 1, 2))
    assert np.all(joint[~open_] == 0.0)
    assert joint.sum() == pytest.approx(100.0)
    assert model.loss == pytest.approx(least_distance((2, 2, 2), CHAIN, 100.0, open_), rel=1e-4)


def test_constraints_that_leave_nothing_are_refused() -> None:
    allowed = {(0,): np.array([True, False]), (0, 1): np.array([[False, False], [True, True]])}
    plan = TreePlan((2, 2), [(0,)], allowed)
    with pytest.raises(InvalidParameter, match="leave no combination"):
        plan.calibrated([np.zeros(2)], 10.0)


def test_columns_of_one_value_cost_nothing() -> None:
    model = fitted((1, 3, 1), [Measurement((0, 1), np.array([[5.0, 3.0, 2.0]]), 1.0)], 10.0)
    assert model.marginal((0, 1, 2)).shape == (1, 3, 1)
    assert model.marginal((1,)).sum() == pytest.approx(10.0)


def test_the_nearest_table_with_a_total_has_no_negative_cell() -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        values, total = rng.normal(size=6) * 10, float(rng.uniform(0.5, 20.0))
        near = onto_simplex(values, total)
        assert near.min() >= 0.0
        assert near.sum() == pytest.approx(total)
        for _ in range(50):  # no other one is nearer
            other = rng.dirichlet(np.ones(6)) * total
            assert np.sum((near - values) ** 2) <= np.sum((other - values) ** 2) + 1e-9


def test_an_answer_that_does_not_fit_in_memory_is_refused() -> None:
    model = GraphModel(TreePlan((1000,) * 3, []), [], 10.0)
    with pytest.raises(InvalidParameter, match="too large"):
        model.marginal((0, 1, 2))


def test_what_is_no_measurement_is_refused() -> None:
    for bad in (((1, 0), np.ones((2, 2)), 1.0), ((0,), np.ones((2, 2)), 1.0), ((0,), np.array([np.nan]), 1.0)):
        with pytest.raises(InvalidParameter):
            Measurement(*bad)
    with pytest.raises(InvalidParameter):
        Measurement((0,), np.ones(2), 0.0)

"""The tree of pairs: its noise, its merged values, its choices."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from privet import synth
from privet.mechanisms import Exponential
from privet.noise import Seeded
from privet.privacy import Guarantee
from privet.synth import mst
from privet.synth.compression import Compression, without_rare
from privet.synth.graph import Coins, Measurement
from privet.synth.money import UNITS, choice_by_distance, table_noise
from privet.synth.mst import _at_the_edge, _merged
from privet.synth.small_examples import data_of, task_of
from tests.synth.tables import SIZES, coded_table, correlated


@pytest.mark.parametrize(
    ("d", "first", "edge", "choice"), [(8, 28.309707, 26.481306, 0.075524976), (14, 37.450222, 36.087937, 0.055420181)]
)
def test_noise_and_choices_are_those_of_the_page(d: int, first: float, edge: float, choice: float) -> None:
    plan = synth.MST()._plan(task_of(sizes=(2,) * d), Guarantee(1.0, 1e-9))
    one, chosen, two = plan.shares
    assert table_noise(plan.money.share(one), plan.task).scale == pytest.approx(first, rel=1e-4)
    assert table_noise(plan.money.share(two), plan.task).scale == pytest.approx(edge, rel=1e-4)
    mechanism = choice_by_distance(plan.money.share(chosen), plan.task)
    assert 2.0 * UNITS / mechanism.scale == pytest.approx(choice, rel=1e-4)  # weights exp(epsilon score/2)


def test_a_replaced_row_costs_twice_in_scores_and_root_two_in_tables() -> None:
    add, replace = (synth.MST()._plan(task_of(relation), Guarantee(rho=0.1)) for relation in ("add_remove", "replace"))
    share = add.shares[0]
    ratio = (
        table_noise(replace.money.share(share), replace.task).scale
        / table_noise(add.money.share(share), add.task).scale
    )
    assert ratio == pytest.approx(2.0**0.5, rel=1e-9)
    one, two = (choice_by_distance(plan.money.share(share), plan.task).scale for plan in (add, replace))
    assert two / one == pytest.approx(2.0, rel=1e-9)


def test_the_parts_add_up_to_the_budget() -> None:
    for d in (1, 2, 5):
        plan = synth.MST()._plan(task_of(sizes=(2,) * d), Guarantee(rho=0.1))
        one, chosen, two = plan.shares
        assert d * one + plan.edges * (chosen + two) == pytest.approx(1.0, abs=1e-12)


def test_rare_values_become_one_with_the_noise_of_all_of_them() -> None:
    made = without_rare([np.array([90.0, 3.0, -4.0, 5.0]), np.array([50.0, 50.0]), np.array([50.0, 1.0])], 10.0)
    assert made.sizes == (2, 2, 2)
    assert made.groups[1] is None
    assert made.groups[2] is None  # a single rare value stays as it is
    merged = _merged(Measurement((0,), np.array([90.0, 3.0, -4.0, 5.0]), 2.0), made)
    assert merged.values.tolist() == [90.0, 4.0]
    assert merged.cell_variance is not None
    assert merged.cell_variance.tolist() == [4.0, 12.0]
    assert _merged(Measurement((1,), np.array([50.0, 50.0]), 2.0), made).cell_variance is None


def test_values_below_three_deviations_are_rare_and_those_at_it_are_not() -> None:
    plan = synth.MST()._plan(task_of(sizes=(5, 2)), Guarantee(rho=0.5))
    sigma = plan._first_noise().scale
    counts = sigma * np.array([50.0, 3.001, 2.999, 0.5, -1.0])
    found = [Measurement((0,), counts, sigma), Measurement((1,), sigma * np.array([40.0, 2.0]), sigma)]
    assert plan._compressed(found).groups[0].tolist() == [0, 1, 2, 2, 2]  # type: ignore[union-attr]
    assert plan._compressed(found).groups[1] is None
    kept = replace(plan, task=task_of(sizes=(5, 2), constraints=(synth.Forbidden(("a",), [(4,)]),)))
    assert kept._compressed(found).groups == (None, None)  # constraints are about codes


def test_merged_tables_come_back_evenly() -> None:
    made = Compression((4, 2), (np.array([0, 1, 1, 0]), None))
    table = np.arange(8).reshape(4, 2)
    assert made.shrunk(table, (0, 1)).tolist() == [[6, 8], [6, 8]]
    assert made.spread(np.array([[6.0, 8.0], [6.0, 8.0]]), (0, 1)).tolist() == [[3, 4], [3, 4], [3, 4], [3, 4]]
    rows = made.expanded(np.tile([[1, 0]], (4000, 1)), Coins(Seeded(1)))
    assert set(rows[:, 0]) == {1, 2}
    assert np.mean(rows[:, 0] == 1) == pytest.approx(0.5, abs=0.05)


def test_a_column_of_rare_values_alone_is_one_value() -> None:
    model = synth.MST().fit(coded_table([], (3, 2)), rho=1e-4, source=Seeded(1))  # an empty table under much noise
    assert len(model.sample(5)) == 5
    assert model.marginal("a").shape == (3,)


def test_pairs_that_belong_together_are_chosen() -> None:
    model = synth.MST().fit(coded_table(correlated(), SIZES), rho=1.0, source=Seeded(3))
    cliques = {m.clique for m in model.measurements}
    assert {(0, 1), (1, 2)} <= cliques
    exact = np.zeros((3, 3))
    np.add.at(exact, tuple(correlated()[:, :2].T), 1)
    assert np.abs(model.marginal("a", "b") - exact).sum() < 0.05 * 2_000


def test_distances_of_pairs_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, plain = [], mst.exact_distance
    monkeypatch.setattr(mst, "exact_distance", lambda *given: seen.append(1) or plain(*given))
    model = synth.MST(steps=5).fit(coded_table(correlated(), SIZES), rho=1.0, source=Seeded(3))
    assert len([each for each in model.measurements if len(each.clique) == 2]) == 3
    assert len(seen) == 6  # six pairs, three choices


def test_scores_that_have_63_bits_are_read_at_once_and_chosen_from_as_others(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds, plain = [], Exponential.release
    monkeypatch.setattr(
        Exponential, "release", lambda self, value, **how: kinds.append(type(value)) or plain(self, value, **how)
    )
    models = []
    for most in (2_000.0, 1_999.0):  # rows of the model
        monkeypatch.setattr(mst, "_FITS", most)
        made = synth.MST(rows=2_000, steps=5)
        models.append(made.fit(coded_table(correlated(), SIZES), rho=0.05, source=Seeded(3)))
    assert kinds == [np.ndarray] * 3 + [list] * 3
    assert models[0] == models[1]


def test_columns_that_noise_hides_have_all_of_the_budget() -> None:
    rows = coded_table(correlated(), SIZES)
    plan = synth.MST().plan(rows, rho=1e-4)
    model = plan.release(rows.data, source=Seeded(1)).value
    assert [each.clique for each in model.measurements] == [(0,), (1,), (2,), (3,)] * 2
    spent = sum(1.0 / (2.0 * each.sigma**2) for each in model.measurements)
    assert spent == pytest.approx(1e-4, rel=1e-6)


def test_the_decision_for_columns_alone_has_two_sides() -> None:
    plan = synth.MST()._plan(task_of(), Guarantee(rho=_at_the_edge(200.5)))
    assert plan._hidden(200.0)
    assert not plan._hidden(201.0)
    pairs = {rows: replace(plan, task=task_of(rows=rows)).release(data_of([[0, 0, 0]] * 200)) for rows in (200, 201)}
    assert [max(len(m.clique) for m in pairs[rows].value.measurements) for rows in (200, 201)] == [1, 2]
    wide = synth.MST()._plan(task_of(sizes=(1000, 2, 2)), Guarantee(rho=_at_the_edge(200.5)))
    assert not wide._hidden(201.0)  # one wide column does not decide for all


def test_a_tree_is_not_worse_than_columns_alone_where_noise_is_large() -> None:
    """Columns that have little to do with each other: with pairs the mean distance was .29, without them it is .17."""
    rng, sizes, n = np.random.default_rng(5), (9, 16, 7, 15, 6, 5), 20_000
    shared = rng.random(n)
    rows = np.stack([(size * (0.3 * shared + 0.7 * rng.random(n)) ** 2).astype(int) for size in sizes], axis=1)
    table, exact = coded_table(rows, sizes), {}
    for i, j in combinations(range(len(sizes)), 2):
        exact[i, j] = np.bincount(rows[:, i] * sizes[j] + rows[:, j], minlength=sizes[i] * sizes[j]) / n

    def far(made: synth.Synthesizer) -> float:
        models = [made.fit(table, rho=1e-5, source=Seeded(seed)) for seed in range(4)]
        return float(
            np.mean([np.abs(m.table(c).ravel() / m.total - t).sum() for m in models for c, t in exact.items()])
        )

    assert far(synth.MST(steps=100)) < 1.1 * far(synth.Independent())


def test_a_single_column_has_all_of_the_budget() -> None:
    plan = synth.MST()._plan(task_of(sizes=(3,)), Guarantee(rho=0.1))
    assert plan.shares == (1.0, 0.0, 0.0)
    assert plan.release(data_of([[0], [1]])).value.total >= 1.0


@pytest.mark.parametrize("rows", [2**45, 2**50])
def test_distances_that_pass_64_bits_choose_as_well(rows: int) -> None:
    """So many rows are public, and nearly none are there: the distance of a pair has up to 64 bits, or more."""
    sizes = (3, 3, 3)
    plan = synth.MST(steps=5)._plan(task_of("replace", sizes, rows=rows), Guarantee(rho=0.5))
    model = plan.release(data_of([[0, 0, 0], [1, 1, 1], [2, 2, 2]] * 20), source=Seeded(1)).value
    assert sum(len(each.clique) == 2 for each in model.measurements) == 2
    assert model.total == rows

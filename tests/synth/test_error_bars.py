"""Error bars of models: they cover what they say."""

import math

import numpy as np
import pytest

import privet as pv
from privet import synth
from privet._numerics import ndtri
from privet.errors import InvalidParameter
from privet.mechanisms import DiscreteLaplace
from privet.noise import Seeded
from privet.privacy import Guarantee
from privet.synth.compression import Compression
from privet.synth.error_bars import _merged_radius, cell_bar, table_bound
from privet.synth.graph import Measurement
from privet.synth.money import measured
from privet.synth.small_examples import data_of, task_of
from tests.synth.tables import SIZES, correlated

ROWS = correlated(800)


def exact_table(clique: tuple[int, ...]) -> np.ndarray:
    made = np.zeros([SIZES[i] for i in clique])
    np.add.at(made, tuple(ROWS[:, i] for i in clique), 1)
    return made


@pytest.mark.parametrize("promise", [Guarantee(rho=0.2), pytest.param(Guarantee(2.0), marks=pytest.mark.slow)], ids=str)
def test_bars_of_measured_and_contained_tables_cover(promise: Guarantee) -> None:
    plan = synth.MST(steps=60)._plan(task_of(sizes=SIZES), promise)
    runs, inside = 40, 0
    for seed in range(runs):
        model = plan.release(data_of(ROWS), source=Seeded(seed)).value
        pairs = [m.clique for m in model.measurements if len(m.clique) == 2]
        covered = []
        for clique in [pairs[0], (3,)]:
            bar = model.error(*("abcd"[i] for i in clique), confidence=0.9)
            covered.append(np.all(np.abs(model.table(clique) - exact_table(clique)) <= bar.radius))
        inside += all(covered)
    assert inside >= runs * 0.65  # both at once at 80% or more; fewer than 26 of 40 has a chance below 2%


@pytest.mark.parametrize("promise", [Guarantee(rho=0.1), Guarantee(2.0)], ids=str)
def test_bars_know_that_codes_were_picked_by_their_own_noise(promise: Guarantee) -> None:
    """Of 1,000 codes that nobody has, those that stand alone are the ones with most noise."""
    size, rows = 1_000, [[0]] * 900 + [[1]] * 600
    plan = synth.MST(steps=5)._plan(task_of(sizes=(size,)), promise)
    exact = np.bincount(np.ravel(rows), minlength=size)
    runs, inside, picked = 30, 0, 0
    for seed in range(runs):
        model = plan.release(data_of(rows), source=Seeded(seed)).value
        picked += model.compression.sizes[0] > 3  # others than the two that people have stand alone
        inside += bool(np.all(np.abs(model.marginal("a") - exact) <= model.error("a").radius))
    assert picked >= runs / 2
    assert inside >= runs * 0.85  # at 95%, fewer than 26 of 30 has a chance below 2%


@pytest.mark.parametrize("promise", [{"rho": 0.2}, pytest.param({"epsilon": 3.0}, marks=pytest.mark.slow)], ids=str)
def test_bars_of_codes_that_were_merged_after_two_looks_cover(promise: dict[str, float]) -> None:
    """Where noise hides the columns, MST counts them twice and merges by both looks. Persons have up to three rows, and
    all of the noise is that much larger; bars of the codes that are left, as if nobody had picked them, would miss."""
    size, persons = 400, np.repeat(np.arange(500), 3)
    codes = np.where(persons < 300, 0, 1)
    columns = {"id": pv.Int(0, 999), "a": pv.Int(0, size - 1), "b": pv.Int(0, 1)}
    table = pv.Table({"id": persons, "a": codes, "b": codes}, columns=columns, unit=pv.Person("id", max_rows=3))
    exact, made = np.bincount(codes, minlength=size), synth.MST(columns=("a", "b"), steps=5)
    runs, inside, naive = 24, 0, 0
    for seed in range(runs):
        model = made.fit(table, source=Seeded(seed), **promise)
        looks = [each for each in model.measurements if each.clique == (0,)]
        assert len(looks) == 2
        assert all(each.cell_variance is not None for each in looks)
        far = np.abs(model.marginal("a") - exact)
        inside += bool(np.all(far <= model.error("a").radius))
        members = model.compression.members(0)
        deviation = sum(each.sigma**-2.0 for each in looks) ** -0.5
        alone = members[model.compression.groups[0]] == 1  # type: ignore[index]
        naive += bool(np.all(far[alone] <= 1.96 * deviation))
    assert inside >= runs * 0.8  # at 95%, fewer than 20 of 24 has a chance below 1%
    assert naive <= runs / 2


def test_bars_of_two_looks_are_the_mean_of_theirs_by_weight() -> None:
    members, beta = np.array([1.0, 1.0, 8.0]), 0.05
    looks = [Measurement((0,), np.zeros(3), sigma, members * sigma**2) for sigma in (2.0, 1.0)]
    tail = -float(ndtri(beta / 2.0 / 10.0 / 2.0))  # half for each look, ten codes, two sides
    expected = members * tail * (2.0 * 2.0**-2 + 1.0) / (2.0**-2 + 1.0)
    assert _merged_radius(looks, beta).tolist() == pytest.approx(expected.tolist())
    single = _merged_radius(looks[1:], beta)
    assert single.tolist() == pytest.approx((members * -float(ndtri(beta / 10.0 / 2.0))).tolist())


def test_the_l1_bound_of_a_table_covers() -> None:
    rng = np.random.default_rng(1)
    noise = np.abs(rng.normal(size=(4_000, 30))).sum(axis=1) * 2.0
    for confidence in (0.5, 0.9, 0.99):
        assert np.mean(noise <= table_bound(2.0, 30, confidence)) >= confidence


def test_bars_of_candidates_cover() -> None:
    plan = synth.AIM(workload=[("a", "b"), ("c", "d"), ("a", "d")], rounds=2, steps=50)._plan(
        task_of(sizes=SIZES), Guarantee(rho=0.1)
    )
    runs, inside, asked = 20, 0, 0
    for seed in range(runs):
        model = plan.release(data_of(ROWS), source=Seeded(seed)).value
        for clique, bound in model.candidates.items():
            asked += 1
            inside += np.abs(model.table(clique) - exact_table(clique)).sum() <= bound.radius(0.9)
    assert asked >= runs
    assert inside >= 0.9 * asked


def test_a_table_of_which_nothing_is_known_has_no_bar() -> None:
    model = synth.Independent()._plan(task_of(sizes=SIZES), Guarantee(1.0)).release(data_of(ROWS)).value
    assert model.error("a").radius.shape == (3,)
    with pytest.raises(InvalidParameter, match="nothing was measured"):
        model.error("a", "b")


QUERY = synth.LinearQuery(np.arange(9).reshape(3, 3) % 4)


@pytest.mark.parametrize("promise", [Guarantee(rho=0.2), Guarantee(2.0)], ids=str)
def test_bars_of_linear_queries_cover_and_are_no_wider_than_those_of_all_cells(promise: Guarantee) -> None:
    plan = synth.MWEMGraph(workload=[("a", "b", "c")], rounds=2, steps=60)._plan(task_of(sizes=SIZES), promise)
    runs, inside = 30, 0
    exact = float((QUERY.weights * exact_table((0, 1))).sum())
    for seed in range(runs):
        model = plan.release(data_of(ROWS), source=Seeded(seed)).value
        bar = model.answer_error(QUERY, "a", "b", confidence=0.9)
        inside += abs(model.answer(QUERY, "a", "b") - exact) <= bar.radius
        assert bar.radius < np.sum(QUERY.weights * model.error("a", "b", confidence=0.9).radius)
    assert inside >= runs * 0.7  # 90% or more: fewer than 21 of 30 has a chance below .1%


def test_bars_of_queries_follow_the_order_of_their_columns_and_merged_codes() -> None:
    model = synth.MST(steps=60)._plan(task_of(sizes=SIZES), Guarantee(rho=0.5)).release(data_of(ROWS)).value
    clique = next(m.clique for m in model.measurements if len(m.clique) == 2)
    names, shape = ["abcd"[i] for i in clique], [SIZES[i] for i in clique]
    one = synth.LinearQuery(np.arange(np.prod(shape)).reshape(shape))
    two = synth.LinearQuery(one.weights.T)
    assert model.answer(one, *names) == pytest.approx(model.answer(two, *reversed(names)))
    assert model.answer_error(one, *names).radius == pytest.approx(model.answer_error(two, *reversed(names)).radius)
    merged = (
        synth.MST(steps=60)
        ._plan(task_of(sizes=(8, 2)), Guarantee(rho=0.01))
        .release(data_of(ROWS[:, [0, 2]]), source=Seeded(1))
        .value
    )
    assert merged.compression.groups[0] is not None
    cells = synth.LinearQuery(np.ones(8))
    assert merged.answer_error(cells, "a").radius >= abs(merged.answer(cells, "a") - len(ROWS))


def test_bars_of_queries_about_candidates_and_about_nothing() -> None:
    plan = synth.AIM(workload=[("a", "b"), ("c", "d"), ("a", "d")], rounds=2, steps=50)._plan(
        task_of(sizes=SIZES), Guarantee(rho=0.1)
    )
    model = plan.release(data_of(ROWS), source=Seeded(1)).value
    held = [set(m.clique) for m in model.measurements]
    clique = next(c for c in model.candidates if not any(set(c) <= each for each in held))
    query = synth.LinearQuery(3 * np.ones([SIZES[i] for i in clique]))
    names = ["abcd"[i] for i in clique]
    assert model.answer_error(query, *names).radius == pytest.approx(3 * float(model.error(*names).radius))
    with pytest.raises(InvalidParameter, match="nothing was measured"):
        model.answer_error(synth.LinearQuery(np.ones(SIZES)))
    with pytest.raises(InvalidParameter, match="shape"):
        model.answer(query, "b")


@pytest.mark.parametrize("scale", [1e-3, 0.02, 0.1, 1.0, 1e3, 1e9, 1e15])
def test_bars_of_whole_noise_know_its_scale(scale: float) -> None:
    """Whether there is next to no noise, or so much that its law is smooth: the radius is scale ln(2 / tail)."""
    noise = DiscreteLaplace(scale=scale, sensitivity=1)
    seen = measured((0,), [0.0, 0.0], noise)
    bar = cell_bar(np.zeros(2), [seen], Compression.none((2,)), (0,), 0.95)
    least = min(scale * math.log(2.0 / 0.025), seen.sigma / math.sqrt(0.025))
    if seen.sigma > 2.0**-64:  # else the noise is taken as a little more than it is
        assert bar == pytest.approx(np.full(2, least), rel=1e-9)
    assert bar is not None
    assert np.all(bar >= least * (1.0 - 1e-9))


def test_a_model_of_next_to_no_noise_has_intervals() -> None:
    table = pv.Table({"a": [0, 1, 1]}, columns={"a": pv.Int(0, 1)})
    model = synth.Independent().fit(table, epsilon=1e4, source=Seeded(1))
    assert np.all(model.error("a").radius < 1e-6)
    assert len(model.counts("a").columns()["a"]) == 2

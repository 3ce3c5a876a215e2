"""All tables of a workload at once: when AIM turns to them, what it pays, and the tables that are made of them."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import privet as pv
from privet import synth
from privet._numerics import ndtri
from privet.errors import InvalidParameter
from privet.mechanisms import DiscreteLaplace, Exponential, Gaussian
from privet.mechanisms.payment import observed
from privet.noise import Seeded
from privet.privacy import Guarantee
from privet.synth.compression import Compression
from privet.synth.error_bars import cell_bar, query_bar
from privet.synth.graph import GraphModel, Measurement, TreePlan, onto_simplex
from privet.synth.marginal_workload import MarginalWorkload
from privet.synth.small_examples import data_of, task_of
from privet.synth.whole_workload import WholeWorkload, noisy_distance
from privet.workloads import LinearQueries
from tests.calls import calls_of
from tests.firsts import slow
from tests.synth.tables import coded_table

SIZES = (3, 3, 4, 4)
PAIRS = list(combinations(range(4), 2))


def tied(n: int = 2_000) -> np.ndarray:
    """Rows in which every column belongs to every other, so that a model of few pairs misses something."""
    rng = np.random.default_rng(3)
    one, two = rng.integers(0, 4, n), rng.integers(0, 4, n)
    mixed = [(one + two) % 3, np.maximum(one, two) % 3, one, (one * two + rng.integers(0, 2, n)) % 4]
    return np.stack(mixed, axis=1)


ROWS = tied()


def exact(clique: tuple[int, ...], rows: np.ndarray = ROWS) -> np.ndarray:
    made = np.zeros([SIZES[i] for i in clique])
    np.add.at(made, tuple(rows[:, i] for i in clique), 1)
    return made


def far(model: Any) -> float:
    return float(np.mean([np.abs(model.table(c) - exact(c)).sum() for c in PAIRS]))


class _Watch:
    """Notes every part, and those that were asked for one number."""

    def __init__(self) -> None:
        self.parts: list[Any] = []
        self.looks: list[Any] = []

    def __call__(self, mechanism: object, value: object, run: Any) -> Any:
        self.parts.append(mechanism)
        if isinstance(value, int):
            self.looks.append(mechanism)
        return run()

    def coins(self, what: str, draw: Any, source: object) -> Any:
        return draw(source)


def run(promise: Guarantee, **facts: Any) -> tuple[Any, list[Any]]:
    """A model and what it was made of."""
    model, watch = watched(promise, **facts)
    return model, watch.parts[1:] if watch.parts[0].name == "synth_aim" else watch.parts[:-1]


def watched(promise: Guarantee, **facts: Any) -> tuple[Any, _Watch]:
    plan = synth.AIM(workload=2, max_bytes=300, steps=50, **facts)._plan(task_of(sizes=SIZES), promise)
    watch = _Watch()
    with observed(watch):
        model = plan.release(data_of(ROWS), source=Seeded(1)).value
    return model, watch


def test_a_large_budget_is_no_worse_than_noise_on_every_table() -> None:
    """A model of 300 bytes holds two of six pairs: however much is paid, its own tables stay far from the data."""
    promise = Guarantee(rho=2.0)
    model, _ = run(promise)
    whole = WholeWorkload.of(MarginalWorkload.of(2, task_of(sizes=SIZES)), task_of(sizes=SIZES))
    noise = whole.deviations(whole.part(promise))
    plain = np.mean([math.sqrt(2.0 / math.pi) * noise[c] * exact(c).size for c in PAIRS])
    assert far(model) <= plain
    graph = np.mean([np.abs(model.graph.marginal(c) - exact(c)).sum() for c in PAIRS])
    assert graph > 20.0 * plain  # what the graph alone would say
    assert 8 * model.cells <= 300


@pytest.mark.parametrize("promise", [Guarantee(rho=2.0), Guarantee(40.0), Guarantee(mu=2.0)], ids=str)
def test_the_tables_are_paid_with_all_that_is_left(promise: Guarantee) -> None:
    model, parts = run(promise)
    assert model.answers
    if promise.rho is not None:
        spent = math.fsum(each.loss.zcdp().rho for each in parts) / promise.rho
        assert isinstance(parts[-1], LinearQueries)
    elif promise.mu is not None:
        spent = math.fsum(each.loss.gdp() ** 2 for each in parts) / promise.mu**2
    else:
        spent = math.fsum(each.loss.pure() for each in parts) / promise.epsilon
        assert all(isinstance(each, DiscreteLaplace) for each in parts[-6:])
    assert spent <= 1.0
    assert spent == pytest.approx(1.0, rel=1e-6)


def test_a_small_budget_pays_for_no_look() -> None:
    """Noise on all tables would hide more than half of the rows, which public facts say."""
    _, small = watched(Guarantee(rho=3e-4))
    assert any(isinstance(each, Exponential) for each in small.parts)
    assert not small.looks
    assert not any(isinstance(each, LinearQueries) for each in small.parts)
    _, large = watched(Guarantee(rho=2.0))
    assert [type(each) for each in large.looks] == [Gaussian]


def test_the_look_is_priced_for_the_distance_in_l1() -> None:
    task = task_of("replace", SIZES)
    whole = WholeWorkload.of(MarginalWorkload.of(2, task), task)
    assert whole.distance_noise(Guarantee(rho=0.5)).sensitivity.value == Fraction(2)  # sqrt(2) is for a whole table
    assert whole.distance_noise(Guarantee(1.0)).sensitivity.value == Fraction(2)


def test_a_row_moves_the_mean_distance_by_no_more_than_is_said() -> None:
    task = task_of("replace", SIZES)
    whole = WholeWorkload.of(MarginalWorkload.of({("a", "b"): 1.0, ("c", "d"): 0.3}, task), task)
    rng = np.random.default_rng(0)
    most = 0
    for _ in range(200):
        rows = rng.integers(0, 3, (9, 4))
        other = np.vstack([rows[:-1], rng.integers(0, 3, (1, 4))])
        guess = {c: rng.random([SIZES[i] for i in c]) * 3.0 for c in whole.weights}
        one, two = (
            whole.exact_mean_distance({c: exact(c, each) for c in whole.weights}, guess) for each in (rows, other)
        )
        most = max(most, abs(one - two))
    assert most == 2


@pytest.mark.parametrize("sigma", [0.5, 5.0, 50.0])
def test_what_noise_does_is_foreseen(sigma: float) -> None:
    rng = np.random.default_rng(1)
    table = np.maximum(rng.normal(size=400) * 30.0 - 20.0, 0.0)
    total = float(table.sum())
    seen = [np.abs(onto_simplex(table + sigma * rng.normal(size=400), total) - table).sum() for _ in range(200)]
    assert noisy_distance(table, sigma, total) == pytest.approx(float(np.mean(seen)), rel=0.03)


def test_persons_are_priced_with_all_of_their_rows() -> None:
    persons = np.repeat(np.arange(500), 4)
    rows = dict(zip("abcd", ROWS.T, strict=True)) | {"who": persons}
    columns = {name: pv.Int(0, size - 1) for name, size in zip("abcd", SIZES, strict=True)} | {"who": pv.Int(0, 499)}
    table = pv.Table(rows, columns=columns, unit=pv.Person("who", max_rows=4))
    task = synth.AIM(workload=2).task(table)
    whole, one = (WholeWorkload.of(MarginalWorkload.of(2, each), each) for each in (task, task_of(sizes=SIZES)))
    promise = Guarantee(rho=0.5)
    many, few = whole.part(promise), one.part(promise)
    assert isinstance(many, LinearQueries)
    assert isinstance(few, LinearQueries)
    assert many.scale == pytest.approx(4.0 * few.scale, rel=1e-9)
    assert whole.distance_noise(promise).sensitivity.value == 4


def test_answers_keep_constraints_and_the_total() -> None:
    rows = ROWS[ROWS[:, 0] <= ROWS[:, 2]]
    rules = [synth.AtMost("a", "c"), synth.Forbidden(("a", "b"), [(2, 0)])]
    rows = rows[(rows[:, 0] != 2) | (rows[:, 1] != 0)]
    made = synth.AIM(workload=2, max_bytes=420, steps=50, constraints=rules)
    model = made.fit(coded_table(rows, SIZES), rho=2.0, source=Seeded(2))
    assert model.answers
    for clique, table in model.answers.items():
        assert table.min() >= 0.0
        assert table.sum() == pytest.approx(model.total)
        assert np.array_equal(model.table(clique), table)
    told = model.marginal("a", "c")
    assert np.all(told[np.arange(3)[:, None] > np.arange(4)[None, :]] == 0.0)
    assert model.marginal("a", "b")[2, 0] == 0.0
    bound = model.marginal("b", "c")[np.ix_([0], [0, 1])]  # b = 0 leaves a < 2, and any c
    assert bound.shape == (1, 2)


def test_a_model_with_answers_is_kept_and_read_back(tmp_path: Any) -> None:
    model, _ = run(Guarantee(rho=2.0))
    synth.save(model, tmp_path / "m.json")
    back = synth.load(tmp_path / "m.json")
    assert back == model
    for clique in PAIRS:
        assert np.array_equal(back.table(clique), model.table(clique))
    old = model.to_arrays()
    del old["answers"]  # as models were written before
    assert synth.SyntheticModel.from_arrays(old).answers == {}


def test_smaller_tables_are_sums_of_answers() -> None:
    model, _ = run(Guarantee(rho=2.0))
    clique = next(iter(model.answers))
    inside = [each for each in model.answers if clique[0] in each]
    nearest = min(inside, key=lambda each: (model.answers[each].size, each))
    axis = 1 - nearest.index(clique[0])
    assert model.table((clique[0],)) == pytest.approx(model.answers[nearest].sum(axis=axis))


def test_bars_of_answers_cover() -> None:
    plan = synth.AIM(workload=2, max_bytes=300, steps=50)._plan(task_of(sizes=SIZES), Guarantee(rho=2.0))
    runs, inside = 25, 0
    for seed in range(runs):
        model = plan.release(data_of(ROWS), source=Seeded(seed)).value
        clique = PAIRS[seed % 6]
        bar = model.error(*("abcd"[i] for i in clique), confidence=0.9)
        inside += bool(np.all(np.abs(model.table(clique) - exact(clique)) <= bar.radius))
    assert inside >= 18  # at 90%, fewer than 18 of 25 has a chance below 1%


def _covariance(whole: WholeWorkload, part: Any, clique: tuple[int, ...]) -> np.ndarray:
    """Of the noise on the cells of a table, from what is measured: every measurement by itself, through the answer."""
    counts, scales = zip(*((many, part.scale / float(weight)) for many, weight in part.design.groups), strict=True)
    reach = np.repeat(scales, counts)
    every = [part.design.table(one, clique).reshape(-1) for one in np.eye(len(reach))]
    moved = np.stack(every, axis=1) * reach
    return np.asarray(moved @ moved.T)


@pytest.mark.parametrize(("sizes", "k"), [(SIZES, 2), ((2,) * 5, 3), ((3, 1, 2, 2), 3), ((4, 4), 1)])
def test_a_bar_of_a_sum_of_cells_knows_that_their_noise_belongs_together(sizes: tuple[int, ...], k: int) -> None:
    """A difference of differences of binary columns has more noise than cells that are independent of each other."""
    task = task_of(sizes=sizes)
    whole = WholeWorkload.of(MarginalWorkload.of(k, task), task)
    part = whole.part(Guarantee(rho=0.5))
    assert isinstance(part, LinearQueries)
    flat = np.zeros(sum(map(task.cells, whole.weights)), dtype=np.int64)
    rng, most = np.random.default_rng(0), 0.0
    for seen in whole.read(part, part.release(flat, source=Seeded(1)).value):
        truth = _covariance(whole, part, seen.clique)
        other = Measurement(seen.clique, np.zeros(seen.values.shape), 3.0 * seen.sigma)
        contrast = np.array(1.0)
        for i in seen.clique:
            contrast = np.multiply.outer(
                contrast, np.eye(1, sizes[i])[0] - np.eye(1, sizes[i], min(1, sizes[i] - 1))[0]
            )
        one = np.zeros(seen.values.shape)
        one[(0,) * len(seen.clique)] = 1.0
        for asked in (contrast, one, np.ones(one.shape), rng.normal(size=one.shape)):
            q = asked.reshape(-1)
            variance, alone = float(q @ truth @ q), seen.sigma**2 * float(q @ q)
            most = max(most, variance / alone) if alone else most
            far = query_bar(seen.values, [seen], Compression.none(sizes), seen.clique, asked, 0.95)
            assert far == pytest.approx(-float(ndtri(0.025)) * math.sqrt(variance), abs=1e-9)
            mean, share = (0.9 * seen.values + 0.1 * other.values), 0.81 * variance + 0.01 * 9.0 * alone
            far = query_bar(mean, [seen, other], Compression.none(sizes), seen.clique, asked, 0.95)
            assert far == pytest.approx(-float(ndtri(0.025)) * math.sqrt(share), abs=1e-9)
        for axis in range(len(seen.clique)):  # what cells of smaller tables are told is no less than their noise
            onto = np.eye(one.size).reshape(*one.shape, -1).sum(axis=axis).reshape(-1, one.size)
            least = np.sqrt(np.einsum("ij,jk,ik->i", onto, truth, onto))
            inside = tuple(i for place, i in enumerate(seen.clique) if place != axis)
            told = seen.values.sum(axis=axis)
            bar = cell_bar(told, [seen], Compression.none(sizes), inside, 0.95)
            assert bar is not None
            assert np.all(bar.reshape(-1) >= -ndtri(0.025 / max(1, told.size)) * least * (1.0 - 1e-9))
    assert k == 1 or most > 1.2


def test_what_cells_have_in_common_is_kept_and_read_back(tmp_path: Any) -> None:
    model, _ = run(Guarantee(rho=2.0))
    synth.save(model, tmp_path / "m.json")
    contrast = synth.LinearQuery(np.outer([1.0, -1.0, 0.0], [1.0, -1.0, 0.0]))
    far = model.answer_error(contrast, "a", "b").radius
    assert synth.load(tmp_path / "m.json").answer_error(contrast, "a", "b").radius == far
    old = model.to_arrays()
    old["measured"] = [each[:5] for each in old["measured"]]  # as models were written before
    assert synth.SyntheticModel.from_arrays(old).answer_error(contrast, "a", "b").radius < far
    with pytest.raises(InvalidParameter, match="set of its columns"):
        Measurement((0,), np.zeros(2), 1.0, part_variance=np.ones(3))


@pytest.mark.parametrize(("shown", "turns"), [(0, False), (10**9, True)])
@pytest.mark.parametrize("rows", [ROWS, np.zeros((2_000, 4), dtype=np.int64)])
def test_the_paid_look_decides_and_nothing_else_of_the_data(shown: int, turns: bool, rows: np.ndarray) -> None:
    """Whatever the tables are, the number that was released says whether all of them are measured."""
    plan = synth.AIM(workload=2, max_bytes=300, steps=50)._plan(task_of(sizes=SIZES), Guarantee(rho=2.0))
    parts: list[Any] = []

    def told(mechanism: object, value: object, run: Any) -> Any:
        parts.append(mechanism)
        found = run()
        return replace(found, value=shown) if isinstance(value, int) else found

    with observed(told):
        plan.release(data_of(rows), source=Seeded(1))
    assert any(isinstance(each, LinearQueries) for each in parts) is turns


def test_counts_of_cells_that_may_not_occur_are_not_answered() -> None:
    """However many rows noise shows there, and however far the model is."""
    task = task_of(sizes=SIZES, constraints=(synth.AtMost("a", "c"),))
    whole = synth.AIM(workload=2, max_bytes=420, steps=50)._plan(task, Guarantee(rho=2.0)).whole
    model = GraphModel(TreePlan(SIZES, [], task.allowed), [], 120.0)
    found = whole.answers([Measurement((0, 2), np.where(np.eye(3, 4) > 0.0, 60.0, 50.0), 1.0)], model)
    may = np.arange(3)[:, None] <= np.arange(4)[None, :]
    assert np.all(found[(0, 2)][~may] == 0.0)
    assert found[(0, 2)].sum() == pytest.approx(120.0)
    assert found[(0, 2)][may].min() > 5.0


@pytest.mark.parametrize("promise", [Guarantee(rho=0.5)])
def test_the_parts_of_a_run_follow_from_releases_alone(promise: Guarantee) -> None:
    """The releases of one table, told again to a run on quite another table: it buys the same parts, to the last one."""
    plan = synth.AIM(workload=2, max_bytes=300, steps=50)._plan(task_of(sizes=SIZES), promise)
    noted: list[tuple[Any, Any]] = []
    again: list[Any] = []

    def noting(mechanism: Any, value: object, run: Any) -> Any:
        found = run()
        if mechanism.name != plan.name:
            noted.append((mechanism, found))
        return found

    def telling(mechanism: Any, value: object, run: Any) -> Any:
        if mechanism.name == plan.name:
            return run()
        again.append(mechanism)
        return noted[len(again) - 1][1]

    with observed(noting):
        first = plan.release(data_of(ROWS), source=Seeded(1)).value
    with observed(telling):
        second = plan.release(data_of(np.zeros((5, 4), dtype=np.int64)), source=Seeded(1)).value
    assert again == [mechanism for mechanism, _ in noted]
    assert all(np.array_equal(first.table(each), second.table(each)) for each in PAIRS)


@pytest.mark.parametrize(("relation", "columns"), [("add_remove", 14), slow(("replace", 11))])
def test_work_of_many_tables_grows_with_what_they_hold(relation: str, columns: int) -> None:
    """A look at all tables of three of so many binary columns was a walk through all sets for each table, or, where rows
    are replaced, through all sets for each way in which two rows may differ: minutes of work at twenty columns."""

    def look() -> None:
        task = task_of(relation, (2,) * columns)
        whole = WholeWorkload.of(MarginalWorkload.of(3, task), task)
        part = whole.part(Guarantee(rho=1.0))
        assert isinstance(part, LinearQueries)
        whole.deviations(part)
        flat = np.zeros(8 * len(whole.weights), dtype=np.int64)
        whole.read(part, part.release(flat, source=Seeded(1)).value)

    work = calls_of(look)
    assert work < 4 * 10**6

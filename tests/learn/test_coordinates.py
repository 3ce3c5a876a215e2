"""Coordinate descent, greedy coordinates, Frank-Wolfe: exact sensitivities, prices, twins, and what they fit."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

import privet as pv
from privet import accounting, audit, learn, noise, testing
from privet.errors import InvalidParameter, NoGuarantee
from privet.learn import ElasticNet, Lasso
from privet.learn.losses import Huber, Logistic
from privet.learn.problem import ArrayRecords, Classes, Interval, Task
from privet.learn.solvers import (
    CoordinateDescent,
    CoordinateFit,
    FrankWolfe,
    GreedyCoordinateDescent,
    GreedyCoordinateFit,
    ObjectivePerturbation,
    Penalty,
)
from privet.learn.solvers.columns import LEVELS, SIZES, Columns, clip_bounds, largest_entries, sum_reach
from privet.learn.solvers.coordinate import quantile_of_sizes, sizes_reach
from privet.learn.solvers.curvatures import Curvatures, levels_reach
from privet.learn.solvers.greedy_coordinate import promises, score_reach
from privet.learn.solvers.penalty import UnitPenalty
from privet.mechanisms import Example, Gaussian
from privet.privacy import Composed, Guarantee, Repeated, Unit

PLAIN = Task(features=3, row_norm=2.0, target=Interval(-1.0, 1.0))
RULES = ("add_remove", "replace")


def drawn(n, seed, columns=3):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, columns)) * np.exp(rng.normal(size=(n, 1)) * 3.0)
    return rows, rng.normal(size=n) * 2.0


def placed(task, rows, targets, moves, loss=Huber(2.0)):  # noqa: B008
    columns = Columns(task, loss, ArrayRecords(rows, targets))
    for j, by in moves:
        columns.move(j, by)
    return columns


# --- sensitivities, exactly ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [Huber(2.0), Logistic()], ids=repr)
def test_one_record_moves_a_clipped_sum_by_at_most_one_exactly(loss):
    target = Interval(-1.0, 1.0) if isinstance(loss, Huber) else Classes((0, 1))
    task = Task(features=3, row_norm=2.0, target=target)
    rows, targets = drawn(25, 1)
    rows[3], rows[4] = 1e300, 0.0
    targets = targets if isinstance(loss, Huber) else (targets > 0).astype(int)
    moves = [(0, 0.7), (2, -3.0), (3, 0.1), (0, 1e5)]
    whole = placed(task, rows, targets, moves, loss)
    largest = 0.0
    for i in range(len(rows)):
        less = placed(task, np.delete(rows, i, 0), np.delete(targets, i), moves, loss)
        moved = np.delete(rows, i, 0)[::-1], np.delete(targets, i)[::-1]  # another order
        same = placed(task, *moved, moves, loss)
        for j in range(4):
            for bound in (1e-3, 0.05, 1.0):
                a, b = (Fraction(each.clipped_sum(j, bound)) for each in (whole, less))
                assert abs(a - b) <= sum_reach(task).value
                assert b == Fraction(same.clipped_sum(j, bound))
                largest = max(largest, float(abs(a - b)))
        for reach, (a, b) in counts_of(task, whole, less):
            assert min(a - b) >= 0
            assert sum((a - b) ** 2) <= reach.value**2
        assert sum(abs(a - b)) == 1  # the last ones: of sizes every record has one
    assert largest == 1.0  # attained, so nothing smaller is right


def counts_of(task, *both):
    """Sensitivity and values of what is counted: levels of entries, and sizes of contributions."""
    tops, shares = largest_entries(task)[:3], np.array([0.9, 1e-3, 0.1, 0.1])
    yield levels_reach(task), [each.levels(tops) for each in both]
    yield sizes_reach(task), [each.sizes(each.lengths(shares), 0.5) for each in both]


def test_an_exchange_moves_twice_as_much():
    task = replace(PLAIN, unit=Unit("replace"))
    a = placed(task, np.array([[9.0, 0, 0]]), np.array([1.0]), [])
    b = placed(task, np.array([[-9.0, 0, 0]]), np.array([1.0]), [])
    assert abs(a.clipped_sum(0, 0.1) - b.clipped_sum(0, 0.1)) == 2.0 == float(sum_reach(task))
    c = placed(task, np.array([[1.0, 1.0, 1.0]]), np.array([1.0]), [])
    d = placed(task, np.array([[0.1, 0.1, 0.1]]), np.array([-1.0]), [])
    for reach, (x, y) in counts_of(task, c, d):
        assert sum((x - y) ** 2) == pytest.approx(float(reach) ** 2)  # attained: sqrt 6 for three columns, and sqrt 2
        assert sum((x - y) ** 2) <= reach.value**2


def test_levels_are_those_of_squares_and_moments_come_back():
    """Columns of scales that differ by 10,000: their moments within a third, and never too small for a step of 2/M."""
    rng = np.random.default_rng(11)
    rows = rng.normal(size=(15_000, 3)) * [1.0, 0.01, 1e-4]
    task = Task(features=3, row_norm=6.0, target=Interval(-1.0, 1.0))
    columns, tops = placed(task, rows, np.zeros(15_000), []), largest_entries(task)
    counts = columns.levels(tops[:3])
    unit = next(iter(task.unit_chunks(ArrayRecords(rows, np.zeros(15_000))))).rows
    ratio = (unit[:, 1] / tops[1]) ** 2
    for b in range(LEVELS):
        assert counts[LEVELS + b] == ((ratio > 2.0 ** -(b + 1)) & (ratio <= 2.0**-b)).sum()
    true = (unit**2).sum(axis=0)
    noisy = counts + 50.0 * rng.normal(size=len(counts))
    assert (np.abs(np.array(Curvatures.released(noisy, 50.0, task).moments) / true - 1.0) < 1 / 3).all()
    few = Curvatures.released(noisy / 1e3, 50.0, task)  # nothing is seen: as much as there can be
    assert few.moments[:3] == pytest.approx(((few.records + 50.0) * tops[:3] ** 2).tolist())


def test_the_quantile_of_sizes():
    columns = placed(PLAIN, np.full((1_000, 3), 0.2), np.linspace(-1.0, 1.0, 1_000), [])
    lengths = columns.lengths(np.ones(4))
    counts = columns.sizes(lengths, 0.5)
    assert counts.sum() == 1_000
    sizes = np.abs(np.linspace(-1.0, 1.0, 1_000)) * lengths
    found = quantile_of_sizes(counts, 1.0, 0.5)
    assert found / 2**0.5 <= np.quantile(sizes, 0.9) <= found
    assert quantile_of_sizes(np.full(SIZES, 2.0), 1.0, 0.5) is None


def test_sparse_rows_are_the_same_rows():
    rows, targets = drawn(40, 2)
    rows[rows < 0] = 0.0
    dense, csr = (placed(PLAIN, each, targets, [(1, 2.0)]) for each in (rows, sparse.csr_array(rows)))
    for j in range(4):
        assert abs(dense.clipped_sum(j, 0.3) - csr.clipped_sum(j, 0.3)) <= 1e-5
    for _, (a, b) in counts_of(PLAIN, dense, csr):
        assert abs(a - b).sum() <= 2


def test_a_promise_moves_no_more_than_its_sum():
    rng = np.random.default_rng(3)
    u, sums, moved = (rng.normal(size=400) * 10.0 ** rng.uniform(-3, 9, 400) for _ in range(3))
    penalty = UnitPenalty(rng.exponential(size=400) * 5, rng.exponential(size=400), -1e3 * np.ones(400), np.ones(400))
    change = np.abs(promises(u, sums, penalty) - promises(u, sums + np.clip(moved, -1, 1), penalty))
    assert change.max() <= float(score_reach(PLAIN))
    assert change.max() > 0.9
    doubled = np.abs(penalty.prox(u - 2 * sums, 1.0) - penalty.prox(u - 2 * (sums + np.clip(moved, -1, 1)), 1.0))
    assert doubled.max() > float(score_reach(PLAIN))  # steps of twice the length are noticed


def test_the_proximal_map_is_the_minimum():
    penalty = UnitPenalty(np.array([2.0]), np.array([3.0]), np.array([-0.5]), np.array([0.4]))
    grid = np.linspace(-0.5, 0.4, 90_001)
    for value in (-4.0, -0.3, 0.2, 1.0, 7.0):
        for step in (0.1, 1.0):
            values = (grid - value) ** 2 / (2 * step) + 2.0 * np.abs(grid) + 1.5 * grid**2
            assert abs(grid[np.argmin(values)] - penalty.prox(value, step, 0)) < 2e-5


# --- prices -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", RULES)
def test_the_noise_of_a_step_is_exact_composition(relation):
    task = replace(PLAIN, unit=Unit(relation))
    known = {"moments": (1.0,) * 4, "records": 10.0}
    plan = CoordinateDescent(rounds=3, steps=20, last=4, clipping="lipschitz", **known).plan(
        task, Huber(2.0), Guarantee(1.0, 1e-6)
    )
    ends = 1 if relation == "add_remove" else 2
    assert plan.step.sigma == pytest.approx(ends * math.sqrt(120) * 4.224679, rel=1e-6)
    assert plan.step.sigma < 0.41 * ends * math.sqrt(120) * math.sqrt(8 * math.log(1e6))  # the lecture's constant


@pytest.mark.parametrize(
    ("solver", "target"),
    [
        (CoordinateDescent(), Guarantee(1.0, 1e-6)),
        (CoordinateDescent(choice="importance"), Guarantee(rho=0.3)),
        (CoordinateDescent(clipping="uniform", choice="cyclic"), Guarantee(mu=0.7)),
        (GreedyCoordinateDescent(steps=8), Guarantee(1.0, 1e-6)),
        (FrankWolfe(steps=8), Guarantee(1.0, 1e-6)),
        (FrankWolfe(steps=8), Guarantee(0.5)),
    ],
    ids=repr,
)
def test_plans_meet_their_target(solver, target):
    plan = solver.plan(PLAIN, Huber(2.0), target)
    if target.mu is not None:
        spent, asked = plan.loss.gdp(), target.mu
    elif target.rho is not None:
        spent, asked = plan.loss.zcdp().rho, target.rho
    elif target.delta == 0.0:
        spent, asked = plan.loss.pure(), target.epsilon
    else:
        spent, asked = accounting.epsilon(plan.loss, delta=target.delta).upper, target.epsilon
    assert 0.99 * asked <= spent <= asked


class UnpaidMoments(CoordinateFit):
    name = "twin_unpaid_moments"

    @property
    def loss(self):
        return Repeated(self.step.loss, self.every)


class UnpaidLength(CoordinateFit):
    name = "twin_unpaid_length"

    @property
    def every(self):
        return self.rounds * self.steps


class UnpaidQuantiles(CoordinateFit):
    name = "twin_unpaid_quantiles"

    @property
    def loss(self):
        return Composed([Repeated(self.step.loss, self.every), self.curvatures.loss])


class UnpaidChoice(GreedyCoordinateFit):
    name = "twin_unpaid_choice"

    @property
    def loss(self):
        return Composed([Repeated(self.step.loss, self.steps), self.curvatures.loss])


class OneEnd(CoordinateFit):
    name = "twin_one_end"

    def _check_reach(self):
        """Twice the clip is forgotten."""


def twin_of(kind, plan, **changes):
    fields = {name: getattr(plan, name) for name in plan.__dataclass_fields__}
    return kind(**{**fields, **changes})


@pytest.mark.parametrize(
    ("kind", "solver"),
    [
        (UnpaidMoments, CoordinateDescent(rounds=1, steps=3, clipping="lipschitz")),
        (UnpaidLength, CoordinateDescent(rounds=2, steps=3, last=2)),
        (UnpaidQuantiles, CoordinateDescent(rounds=2, steps=3, last=1)),
        (UnpaidChoice, GreedyCoordinateDescent(steps=2)),
    ],
)
def test_what_is_looked_at_is_paid(kind, solver):
    plan = solver.plan(PLAIN, Huber(2.0), Guarantee(rho=0.5))
    rows, targets = drawn(6, 4)
    pair = ArrayRecords(rows, targets), ArrayRecords(rows[:-1], targets[:-1])
    testing.check_parts_are_the_price(Example(plan, *pair))
    with pytest.raises(AssertionError, match="a part is not charged"):
        testing.check_parts_are_the_price(Example(twin_of(kind, plan), *pair))


def test_replays_see_the_forgotten_two():
    """Under replace, a clipped sum moves by twice the clip: noise for one end is refused, and a replay sees it."""
    task = Task(features=1, row_norm=1.0, intercept=False, target=Interval(-1.0, 1.0), unit=Unit("replace"))
    plan = CoordinateDescent(
        rounds=1, steps=1, last=1, clipping="lipschitz", clip=0.1, moments=(4.0,), records=4.0
    ).plan(task, Huber(1.0), Guarantee(mu=1.0))
    one = np.array([[1.0]])
    pair = ArrayRecords(one, np.array([1.0])), ArrayRecords(one, np.array([-1.0]))
    assert not audit.replay(plan.release, *pair).refuted
    half = Gaussian.for_budget(mu=1.0, sensitivity=1.0, unit=Unit("replace"))
    with pytest.raises(InvalidParameter, match="smaller reach"):
        twin_of(CoordinateFit, plan, step=half)
    assert audit.replay(twin_of(OneEnd, plan, step=half).release, *pair).refuted


# --- what is fitted -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(
    "made", [Lasso(alpha=0.05), ElasticNet(alpha=0.1, l1_ratio=0.3)], ids=lambda m: type(m).__name__
)
def test_without_privacy_it_is_scikit_learn(made, intercept):
    from sklearn import linear_model

    rows, targets = np.random.default_rng(5).normal(size=(60, 8)), np.random.default_rng(6).normal(size=60)
    made.set_params(epsilon=math.inf, fit_intercept=intercept).fit(rows, targets)
    shared = {"alpha": made.alpha, "fit_intercept": intercept, "tol": 1e-12, "max_iter": 10**6}
    if isinstance(made, ElasticNet):
        shared["l1_ratio"] = made.l1_ratio
    peer = getattr(linear_model, type(made).__name__)(**shared).fit(rows, targets)
    assert np.allclose(made.coef_, peer.coef_, atol=1e-6)
    assert np.allclose(made.intercept_, peer.intercept_, atol=1e-6)
    assert not np.allclose(made.coef_, 0.0)


@pytest.mark.parametrize("facts", [{"row_norm": 6.0}, {"bounds": ([-1, -4, -4, -4], 4.0)}], ids=str)
@pytest.mark.parametrize(
    "solver",
    [
        CoordinateDescent(rounds=2, steps=200, choice="cyclic", clipping="lipschitz", clip=9.0),
        GreedyCoordinateDescent(steps=40, clip=9.0),
    ],
    ids=repr,
)
def test_with_next_to_no_noise_the_penalty_is_in_the_units_of_the_data(facts, solver):
    from sklearn import linear_model

    rng = np.random.default_rng(7)
    rows = np.clip(rng.normal(size=(1_500, 4)), -1.0, 4.0)
    targets = rows @ [1.0, 0.0, -0.5, 0.02] + 0.3
    peer = linear_model.ElasticNet(alpha=0.2, l1_ratio=0.7).fit(rows, targets)
    model = ElasticNet(
        alpha=0.2, l1_ratio=0.7, rho=1e9, bounds_y=(-6, 6), solver=solver, source=noise.Seeded(1), **facts
    ).fit(rows, targets)
    assert np.allclose(model.coef_, peer.coef_, atol=0.01)
    assert abs(model.intercept_ - peer.intercept_) < 0.02
    assert np.abs(peer.coef_).max() > 0.5
    twin = linear_model.ElasticNet(alpha=0.25, l1_ratio=0.7).fit(rows, targets)
    assert not np.allclose(model.coef_, twin.coef_, atol=0.01)


def test_frank_wolfe_stays_in_its_ball_and_finds_the_corner():
    rng = np.random.default_rng(8)
    rows = rng.choice([-1.0, 1.0], size=(2_000, 30))
    task = Task(features=30, row_norm=math.sqrt(30), intercept=False, scales=(1.0,) * 30, target=Interval(-1.0, 1.0))
    plan = FrankWolfe(steps=10, radius=3.0).plan(task, Huber(2.0), Guarantee(2.0, 1e-6))
    value = plan.release(ArrayRecords(rows, 0.5 * rows[:, 4]), source=noise.Seeded(2)).value
    assert np.abs(value).sum() <= 3.0 + 1e-9
    assert int(np.argmax(np.abs(value))) == 4
    assert np.count_nonzero(value) <= 10


@pytest.mark.parametrize(("last", "tail", "skipped"), [(1, 1.0, 0), (3, 0.5, 1), (2, 0.0, 1)])
def test_the_average_of_a_round_starts_the_next(last, tail, skipped):
    """One coordinate, no noise to speak of, slopes known: the lecture's two loops by hand, and with a longer last round."""
    task = Task(features=1, row_norm=1.0, intercept=False, target=Interval(-1.0, 1.0))
    rows, targets = np.full((8, 1), 1.0), np.full(8, 0.5)
    unit = (1.0 - 2.0**-20) / 1.0
    known = {"moments": (16.0,), "records": 8.0, "clipping": "lipschitz", "clip": 99.0}
    solver = CoordinateDescent(rounds=2, steps=2, last=last, tail=tail, **known)
    value = solver.plan(task, Huber(2.0), Guarantee(rho=1e12)).release(ArrayRecords(rows, targets)).value[0]
    w = 0.0
    for steps in (2, 2 * last):
        seen = []
        for _ in range(steps):
            w -= 8.0 * (w * unit - 0.5) * unit / 16.0
            seen.append(w)
        w = sum(seen[skipped:]) / (steps - skipped)
    assert abs(value - w) < 1e-4
    assert abs(value - seen[-1]) > 1e-2  # the last iterate would be another answer


@pytest.mark.parametrize(
    "call",
    [
        lambda: CoordinateDescent(choice="greedy"),
        lambda: CoordinateDescent(clipping="none"),
        lambda: CoordinateDescent(tail=1.5),
        lambda: CoordinateDescent(last=0),
        lambda: replace(next(iter(CoordinateFit.examples())).mechanism, skipped=2),
        lambda: CoordinateDescent(moments=(1.0,)),
        lambda: CoordinateDescent(moments=(1.0,), records=3.0).plan(PLAIN, Huber(1.0), Guarantee(mu=1.0)),
        lambda: GreedyCoordinateDescent().plan(PLAIN, Huber(1.0), Guarantee(mu=1.0)),
        lambda: GreedyCoordinateDescent().plan(PLAIN, Huber(1.0), Guarantee(1.0)),
        lambda: Penalty(low=1.0),
        lambda: Lasso(epsilon=1.0, delta=1e-6, row_norm=1.0).fit(np.ones((3, 2)), np.ones(3)),
        lambda: Lasso(epsilon=1.0, delta=1e-6, row_norm=1.0, bounds_y=(0, 1), solver=ObjectivePerturbation()).fit(
            np.ones((3, 2)), np.ones(3)
        ),
    ],
)
def test_refusals(call):
    with pytest.raises(InvalidParameter):
        call()
    with pytest.raises(NoGuarantee):
        CoordinateDescent().plan(PLAIN, Huber(1.0), Guarantee(1.0))


def test_clipping_rules_of_the_lecture():
    moments, wide = np.array([9.0, 1.0]), np.ones(2)
    assert clip_bounds(moments, 2.0, "uniform", wide * 9).tolist() == pytest.approx([2**0.5, 2**0.5])
    assert clip_bounds(moments, 2.0, "lipschitz", wide * 9).tolist() == pytest.approx([2 * 0.9**0.5, 2 * 0.1**0.5])
    assert clip_bounds(moments, 2.0, "lipschitz", wide).tolist() == pytest.approx([1.0, 2 * 0.1**0.5])


@pytest.mark.parametrize(
    "solver", [GreedyCoordinateDescent(), CoordinateDescent()], ids=lambda each: type(each).__name__
)
def test_a_loss_without_a_largest_slope_is_clipped_as_others_are(solver):
    """The bound of a contribution was infinite then: greedy fits failed after payment, others answered noise."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(size=(2_000, 3))
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=9.0, delta=1e-4))
    model = learn.LinearRegression(
        epsilon=4.0, delta=1e-6, bounds=(0, 1), bounds_y=(0, 1), solver=solver, ledger=ledger
    )
    assert np.isfinite(model.fit(rows, rows[:, 0]).coef_).all()

"""Sufficient statistics: exact sums, sensitivities against random and attaining neighbours, noise off the diagonal."""

import math
from fractions import Fraction

import numpy as np
import pytest

from privet import noise, privacy
from privet.errors import InvalidParameter, NoGuarantee
from privet.learn import LinearRegression, Ridge
from privet.learn.losses import Logistic, Squared
from privet.learn.problem import ArrayRecords, Classes, Interval, Task
from privet.learn.solvers import BoostedSSP, SufficientStatistics, SymmetricGaussian
from privet.learn.solvers.exact_totals import STEPS, WholeRows, exact_gram, exact_margins
from privet.mechanisms import Gaussian
from privet.privacy import Guarantee, Unit

RNG = np.random.default_rng(5)
TARGET = Interval(-1.0, 1.0)
REPLACE = Unit("replace")


def task(columns=3, intercept=True, unit=REPLACE):
    return Task(features=columns, row_norm=1.0, intercept=intercept, target=TARGET, unit=unit)


def neighbours(columns, count):
    """A few common records, and the two that differ: at the ends of what is allowed, where moments move most."""
    for _ in range(count):
        rows = RNG.normal(size=(5, columns))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True) * RNG.choice([1.0, 0.2, 3.0], size=(5, 1))
        goals = RNG.choice([-1.0, 1.0, 0.3], size=5)
        yield rows, goals


# --- exact sums ----------------------------------------


def test_grams_are_exact_integers_in_whatever_order():
    rows, goals = RNG.normal(size=(5_000, 3)), RNG.uniform(-2, 2, size=5_000)
    places = RNG.permutation(5_000)
    one = exact_gram(task(), ArrayRecords(rows, goals), targets=True)
    assert (one == exact_gram(task(), ArrayRecords(rows[places], goals[places]), targets=True)).all()
    parts = sum(exact_gram(task(), ArrayRecords(rows[k::7], goals[k::7]), targets=True) for k in range(7))
    assert (one == parts).all()
    few = next(task().unit_chunks(ArrayRecords(rows[:40], goals[:40])))
    z = [[int(v * STEPS) for v in (*row, y)] for row, y in zip(few.rows.tolist(), few.targets.tolist(), strict=True)]
    exact = [[sum(a[i] * a[j] for a in z) for j in range(5)] for i in range(5)]
    assert (exact_gram(task(), ArrayRecords(rows[:40], goals[:40]), targets=True) == exact).all()


@pytest.mark.parametrize("few", [0, 2**26], ids=["made again", "kept"])
def test_sums_over_rows_that_are_kept_are_those_over_rows_that_are_made_again(few, monkeypatch):
    from privet.learn.solvers import exact_totals
    from privet.learn.solvers.boosted_ssp import residuals

    monkeypatch.setattr(exact_totals, "_HELD", few)
    rows, goals, clips = RNG.normal(size=(3_000, 3)), RNG.uniform(-2, 2, size=3_000), (1.0, 0.3, 0.01)
    rows[7], goals[11] = np.inf, np.nan
    data, again = (WholeRows(task(), ArrayRecords(rows, goals)) for _ in range(2))
    assert (data.exact_gram() == exact_gram(task(), ArrayRecords(rows, goals), targets=True)).all()
    assert (data._held is not None) == (few > 0)
    assert (data.exact_gram() == exact_gram(task(), ArrayRecords(rows, goals), targets=True)).all()
    one, told = data.exact_cross(residuals(np.array([0.5, -0.3, 0.1, 2.0])), clips)
    other, same = again.exact_cross(residuals(np.array([0.5, -0.3, 0.1, 2.0])), clips)
    assert told == same
    assert all((one(k) == other(k)).all() for k in range(3))


def test_margins_come_from_their_row_alone():
    rows = np.trunc(RNG.uniform(-0.5, 0.5, size=(300, 7)) * STEPS)
    weights = RNG.normal(size=7) * 1e3
    together = exact_margins(rows, weights)
    assert all(exact_margins(rows[k : k + 1], weights)[0] == together[k] for k in range(300))
    assert np.allclose(together, rows @ weights / STEPS, rtol=0.0, atol=1e-5)
    assert exact_margins(rows, np.zeros(7)).tolist() == [0.0] * 300


# --- sensitivities through the public door ----------------------------------------


def captured(plan, records, monkeypatch):
    """What the parts of a plan are asked to protect, with noise from one seed."""
    seen = []
    for kind in (Gaussian, SymmetricGaussian):
        draw = kind._prepare

        def spy(self, value, draw=draw):
            seen.append((self, value))
            return draw(self, value)

        monkeypatch.setattr(kind, "_prepare", spy)
    plan.release(records, source=noise.Seeded(3))
    monkeypatch.undo()
    return seen


def distance(part, one, other):
    if isinstance(part, SymmetricGaussian):
        return float(np.linalg.norm((one - other).astype(np.float64))) / STEPS**2
    return math.sqrt(sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(np.ravel(one), np.ravel(other), strict=True)))


def bound(part):
    return float(part.noise.sensitivity if isinstance(part, SymmetricGaussian) else part.sensitivity)


def farthest(solver, unit, pairs, monkeypatch):
    """Of every part, the largest distance as a share of its sensitivity; parts that depend on earlier noise are seen with
    the same start on both sides only where the earlier releases agree, so only the first of each kind is held."""
    shares: dict[int, float] = {}
    for columns, intercept, left, right in pairs:
        plan = solver.plan(task(columns, intercept, unit), Squared(), Guarantee(mu=1.0))
        one, two = captured(plan, left, monkeypatch), captured(plan, right, monkeypatch)
        for k, ((part, a), (_, b)) in enumerate(zip(one, two, strict=True)):
            shares[k] = max(shares.get(k, 0.0), distance(part, a, b) / bound(part))
    return shares


def pairs_of(unit):
    far = np.array([[1.0, 0.0], [0.0, 1.0]])
    for columns in (1, 2):
        for rows, goals in neighbours(columns, 8):
            whole = ArrayRecords(rows, goals)
            if unit == REPLACE:
                other, y = rows.copy(), goals.copy()
                other[-1], y[-1] = RNG.choice([-1.0, 1.0]) * rows[0], -goals[0]
                yield columns, False, whole, ArrayRecords(other, y)
            else:
                yield columns, False, whole, ArrayRecords(rows[:-1], goals[:-1])
    one = ArrayRecords(far[:1], np.ones(1))
    if unit == REPLACE:
        yield 2, False, one, ArrayRecords(far[:1], -np.ones(1))
        yield 2, False, one, ArrayRecords(far[1:], np.ones(1))
    else:
        yield 2, False, one, ArrayRecords(far[:0], np.ones(0))


@pytest.mark.parametrize("unit", [Unit(), REPLACE], ids=["add_remove", "replace"])
def test_the_joint_gram_moves_by_its_sensitivity_and_no_more(unit, monkeypatch):
    shares = farthest(SufficientStatistics(), unit, pairs_of(unit), monkeypatch)
    assert 0.999 < shares[0] <= 1.0


@pytest.mark.parametrize("unit", [Unit(), REPLACE], ids=["add_remove", "replace"])
def test_gram_and_product_of_the_boosted_fit_move_by_their_sensitivities_and_no_more(unit, monkeypatch):
    shares = farthest(BoostedSSP(), unit, pairs_of(unit), monkeypatch)
    assert all(0.999 < shares[k] <= 1.0 for k in (0, 1))


@pytest.mark.parametrize("unit", [Unit(), REPLACE], ids=["add_remove", "replace"])
def test_the_level_and_the_products_from_it_move_by_their_sensitivities(unit, monkeypatch):
    """With an intercept: the sum of targets and the number of records, and the products for a level that is given."""
    from privet.learn.solvers.boosted_ssp import _products, exact_products
    from privet.learn.solvers.level import distances

    shares = farthest(BoostedSSP(), unit, [(c, True, *pair) for c, _, *pair in pairs_of(unit)], monkeypatch)
    assert 0.999 < shares[0] <= 1.0
    public, level = task(2, True, unit), -STEPS // 2
    many = int(unit == REPLACE)
    far, opposite = ArrayRecords(np.eye(1, 2), np.ones(1)), ArrayRecords(-np.eye(many, 2), np.ones(many))
    one, two = (exact_products(public, exact_gram(public, each, targets=True), level) for each in (far, opposite))
    ends = 2.0 if unit == REPLACE else 1.0
    moved = float(np.linalg.norm((one - two).astype(float))) / STEPS**2
    assert 1.4 * ends < moved <= 1.5 * ends  # a target of 1 is 3/2 from the level: a reach of 1 would not hold
    one, two = (WholeRows(public, each).exact_cross(distances(level), (1.0,))[0](0) for each in (far, opposite))
    clipped = float(np.linalg.norm((one - two).astype(float))) / STEPS**2
    assert 0.9 * ends < clipped <= ends  # and does where distances are clipped
    for noisy in (False, True):  # what is handed to the noise, which is made for a reach of 1
        (one, unit_of), (two, same) = (
            _products(public, WholeRows(public, each), exact_gram(public, each, targets=True), level, noisy)
            for each in (far, opposite)
        )
        handed = float(np.linalg.norm((one - two).astype(float))) / STEPS**2 / float(unit_of)
        assert unit_of == same
        assert 0.9 * ends < handed <= ends


@pytest.mark.parametrize("unit", [Unit(), REPLACE], ids=["add_remove", "replace"])
def test_residuals_for_a_fixed_start_move_by_their_sensitivities(unit):
    start = np.array([0.4, -2.0])
    from privet.learn.solvers.boosted_ssp import residuals

    clips, worst = (1.0, 0.25), np.zeros(3)
    for columns, _, left, right in pairs_of(unit):
        if columns != 2:
            continue
        made = [WholeRows(task(2, False, unit), each).exact_cross(residuals(start), clips) for each in (left, right)]
        moved = np.stack([made[0][0](k) - made[1][0](k) for k in range(2)]).astype(float) / STEPS**2
        rest = (np.array(made[0][1], dtype=object) - np.array(made[1][1], dtype=object)).astype(float) / STEPS**2
        worst = np.maximum(worst, [*np.linalg.norm(moved, axis=1), np.linalg.norm(rest)])
    ends, spread = (2.0, 1.0) if unit == REPLACE else (1.0, math.sqrt(2.0))
    assert (worst[:2] <= ends).all()
    assert worst[1] > 0.99 * ends
    assert worst[2] <= spread


def test_a_sensitivity_of_two_thirds_is_refuted_and_plans_refuse_smaller_ones(monkeypatch):
    shares = farthest(SufficientStatistics(), REPLACE, pairs_of(REPLACE), monkeypatch)
    assert shares[0] * math.sqrt(8.0) > 2.0  # so a sensitivity of 2 (that of add/remove) would not hold under replace
    made = SufficientStatistics().plan(task(), Squared(), Guarantee(mu=1.0))
    small = SymmetricGaussian.for_budget(mu=1.0, size=5, sensitivity=2.0, unit=REPLACE)
    with pytest.raises(InvalidParameter, match="smaller reach"):
        type(made)(task=made.task, ridge=0.0, noise=small)
    boosted = BoostedSSP().plan(task(), Squared(), Guarantee(mu=1.0))
    with pytest.raises(InvalidParameter, match="smaller reach"):
        type(boosted)(
            task=boosted.task,
            ridge=0.0,
            level=boosted.level,
            gram=boosted.gram,
            first=Gaussian.for_budget(mu=1.0, sensitivity=1.0, unit=REPLACE),
            spread=boosted.spread,
            second=boosted.second,
        )


# --- noise ----------------------------------------


def ratio_of_variances(draws):
    """Off the diagonal against on it."""
    on = np.concatenate([draws[:, i, i] for i in range(draws.shape[1])])
    upper = np.triu_indices(draws.shape[1], 1)
    off = draws[:, upper[0], upper[1]].ravel()
    return float(off.var() / on.var()), float(on.std())


def test_noise_off_the_diagonal_has_half_the_variance():
    made = SymmetricGaussian.for_budget(mu=0.5, size=4, sensitivity=1.0)
    draws = made.simulate(np.zeros((4, 4), dtype=np.int64), 4_000, source=noise.Seeded(11))
    ratio, deviation = ratio_of_variances(draws)
    assert abs(ratio - 0.5) < 0.05
    assert abs(deviation - 2.0) < 0.1
    assert (draws == draws.transpose(0, 2, 1)).all()
    full = noise.Seeded(12)
    broken = np.array(
        Gaussian(scale=2.0, sensitivity=made.noise.sensitivity).simulate(np.zeros((4, 4)), 4_000, source=full)
    )
    assert abs(ratio_of_variances(broken)[0] - 0.5) > 0.3  # the same noise everywhere is noticed


@pytest.mark.parametrize("solver", [BoostedSSP(), SufficientStatistics()])
@pytest.mark.parametrize("target", [Guarantee(1.0, 1e-6), Guarantee(rho=0.1), Guarantee(mu=0.7)])
def test_the_parts_add_up_to_the_request(solver, target):
    plan = solver.plan(task(unit=Unit()), Squared(), target)
    mu = plan.loss.gaussian()
    wanted = {1.0: 1.0 / 4.2246788893}.get(target.epsilon or 0.0, target.mu or math.sqrt(2.0 * (target.rho or 0.0)))
    assert 0.99 * wanted <= mu <= wanted * (1.0 + 1e-12)
    assert plan.to_dict()["mechanism"] == plan.name


def test_golden_noise():
    plain = task(unit=Unit())
    assert SufficientStatistics().plan(plain, Squared(), Guarantee(1.0, 1e-6)).noise.sigma == pytest.approx(
        8.449358, rel=1e-6
    )
    pure = SufficientStatistics().plan(plain, Squared(), Guarantee(1.0))
    assert pure.loss.pure() == pytest.approx(1.0, rel=1e-9)
    assert pure.noise.scale == pytest.approx(2.0, rel=1e-9)


def test_losses_and_targets_that_are_no_squares_are_refused():
    with pytest.raises(InvalidParameter, match="squared loss"):
        BoostedSSP().plan(task(), Logistic(), Guarantee(1.0, 1e-6))
    labels = Task(features=1, row_norm=1.0, target=Classes((0, 1)))
    with pytest.raises(InvalidParameter, match="bounds_y"):
        SufficientStatistics().plan(labels, Squared(), Guarantee(1.0, 1e-6))
    with pytest.raises(NoGuarantee, match="pure"):
        BoostedSSP().plan(task(), Squared(), Guarantee(1.0))


# --- estimators ----------------------------------------


def linear(n=4_000, d=3, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.uniform(-1, 1, size=(n, d))
    return rows, rows @ np.linspace(-1, 1, d) + 0.5 + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("make", [LinearRegression, Ridge])
def test_infinite_epsilon_is_scikit_learn(make):
    from sklearn import linear_model

    rows, y = linear()
    ours = make(epsilon=math.inf).fit(rows, y)
    theirs = getattr(linear_model, make.__name__)().fit(rows, y)
    assert np.abs(ours.coef_ - theirs.coef_).max() < 1e-6
    assert abs(ours.intercept_ - theirs.intercept_) < 1e-6


@pytest.mark.parametrize("solver", [None, SufficientStatistics()], ids=["default", "joint"])
@pytest.mark.parametrize("unit", [Unit(), REPLACE], ids=["add_remove", "replace"])
def test_much_data_gives_nearly_what_least_squares_give(solver, unit):
    rows, y = linear(40_000)
    model = LinearRegression(
        epsilon=4.0, delta=1e-6, bounds=(-1, 1), bounds_y=(-3, 4), solver=solver, unit=unit, source=noise.Seeded(1)
    ).fit(rows, y)
    exact = LinearRegression(epsilon=math.inf).fit(rows, y)
    assert model.score(rows, y) > exact.score(rows, y) - 0.01
    assert np.abs(model.coef_ - exact.coef_).max() < 0.1


@pytest.mark.parametrize("box", [((0, 100), (0, 200)), ((-1, 5), (-3, 8)), ((5, 6), (-1, 9))])
def test_bounds_of_any_place_and_width(box):
    (low, high), (bottom, top) = box
    rng = np.random.default_rng(3)
    rows = rng.uniform(low, high, size=(20_000, 2))
    y = bottom + (top - bottom) * (rows[:, 0] - low) / (high - low)
    model = LinearRegression(
        epsilon=4.0, delta=1e-6, bounds=(low, high), bounds_y=(bottom, top), source=noise.Seeded(2)
    ).fit(rows, y)
    assert model.score(rows, y) > 0.98
    for broken in ((low, low), (high, low)):
        with pytest.raises(InvalidParameter):
            LinearRegression(epsilon=1.0, delta=1e-6, bounds=broken, bounds_y=(0, 1)).fit(rows, y)


@pytest.mark.parametrize("n", [1, 30, 400])
@pytest.mark.parametrize("middle", [0.0, 0.8])
def test_too_little_data_predicts_the_middle_instead_of_running_away(n, middle):
    rng = np.random.default_rng(4)
    rows = rng.uniform(-1, 1, size=(n, 20))
    y = middle + 0.1 * rng.normal(size=n)
    model = LinearRegression(epsilon=0.1, delta=1e-6, bounds=(-1, 1), bounds_y=(-1, 1), source=noise.Seeded(n)).fit(
        rows, y
    )
    assert np.abs(model.predict(rows)).max() < 1.5


def test_both_products_count_where_neither_tells_much():
    """The shares of mu^2 of both add up, .25 and .3, where residuals are as large as targets."""
    plan = BoostedSSP().plan(task(2, False), Squared(), Guarantee(mu=0.1))
    made = plan.release(ArrayRecords(np.eye(2), np.ones(2)), source=noise.Seeded(1)).value
    assert made["noise"][1] == pytest.approx((0.3 / 0.55) ** 0.5 * plan.second.sigma, rel=0.02)


def test_targets_are_clipped_near_their_mean_where_noise_is_large():
    """500 records of 5 columns at epsilon 1, whose targets have the mean .5: not clipped, the median was .17."""
    scores = []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        rows = rng.uniform(-1, 1, size=(500, 5))
        y = 0.5 + 0.25 * rows @ np.full(5, 0.6**0.5) + 0.165 * rng.normal(size=500)
        facts = {"epsilon": 1.0, "delta": 500**-2.0, "bounds": (-1, 1), "bounds_y": (-1, 1)}
        scores.append(LinearRegression(**facts, source=noise.Seeded(seed)).fit(rows, y).score(rows, y))
    assert np.median(scores) >= 0.26


def test_targets_far_from_their_mean_are_not_clipped_where_noise_is_small():
    """One of eight targets is 1.75 below the mean: a clip at 1 would cost about .015 of R2 for any number of records."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, size=(20_000, 5))
    y = np.where(rows @ [1.0, -1.0, 0.5, 0.5, 0.0] + 0.5 * rng.normal(size=20_000) > -0.8, 1.0, -1.0)
    facts = {"epsilon": 1.0, "delta": 1e-9, "bounds": (-1, 1), "bounds_y": (-1, 1)}
    score = LinearRegression(**facts, source=noise.Seeded(0)).fit(rows, y).score(rows, y)
    design = np.column_stack([rows, np.ones(len(rows))])
    best = 1.0 - np.var(y - design @ np.linalg.lstsq(design, y)[0]) / np.var(y)
    assert score >= best - 0.005


def test_ridge_shrinks_as_alpha_says():
    rows, y = linear(40_000)
    facts = {"bounds": (-1, 1), "bounds_y": (-3, 4), "source": noise.Seeded(1)}
    weak = Ridge(epsilon=20.0, delta=1e-6, alpha=1.0, **facts).fit(rows, y)
    strong = Ridge(epsilon=20.0, delta=1e-6, alpha=40_000.0, **facts).fit(rows, y)
    exact = Ridge(epsilon=math.inf, alpha=40_000.0).fit(rows, y)
    assert np.abs(strong.coef_ - exact.coef_).max() < 0.03 < np.abs(weak.coef_ - exact.coef_).max()
    with pytest.raises(InvalidParameter):
        Ridge(epsilon=1.0, delta=1e-6, alpha=-1.0, **facts).fit(rows, y)


def test_a_missing_fact_is_an_error_and_a_fit_is_paid_once():
    import privet as pv

    rows, y = linear(50)
    with pytest.raises(InvalidParameter, match="bounds_y"):
        LinearRegression(epsilon=1.0, delta=1e-6, row_norm=2.0).fit(rows, y)
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=3.0, delta=1e-5))
    model = LinearRegression(epsilon=1.0, delta=1e-6, row_norm=2.0, bounds_y=(-3, 3), ledger=ledger).fit(
        rows, y, key="a"
    )
    again = LinearRegression(epsilon=1.0, delta=1e-6, row_norm=2.0, bounds_y=(-3, 3), ledger=ledger).fit(
        rows, y, key="a"
    )
    assert (model.coef_ == again.coef_).all()
    assert len([entry for entry in ledger.entries() if entry.kind == "reserve"]) == 1
    assert isinstance(model.privacy_.loss, privacy.Composed)


def test_a_replay_measures_exact_sums():
    from privet import audit

    part = Gaussian.for_budget(mu=1.0, sensitivity=1.0)

    def run(records):
        return part.release([Fraction(each) for each in records]).value

    assert not audit.replay(run, [1, 2], [Fraction(8, 5), Fraction(6, 5)]).refuted
    assert audit.replay(run, [1, 2], [2, 3]).refuted


# --- alpha ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [1e-7, 0.0])
def test_a_ridge_in_small_units_is_no_evidence_against_slopes(delta):
    """Columns of 1e-4: alpha = 1 is 1e8 on unit rows. It stood among the data, and no prior with slopes explained why they
    were seen to be 0: the answer was the mean of y, R^2 0 for 0.78."""
    rng = np.random.default_rng(0)
    scale = np.r_[1.0, np.full(12, 1e-4)]
    rows = rng.uniform(-1, 1, (3_000, 13)) * scale
    y = rows[:, 0] + rng.normal(0, 0.3, 3_000)
    facts = {"epsilon": 2.0 if delta else 8.0, "delta": delta, "bounds": (-scale, scale), "bounds_y": (-2, 2)}
    for seed in range(4):
        assert Ridge(source=noise.Seeded(seed), **facts).fit(rows, y).score(rows, y) > 0.75


@pytest.mark.parametrize("alpha", [1e-3, 100.0, 3_000.0, 1e5])
@pytest.mark.parametrize("solver", [None, SufficientStatistics])
def test_alpha_counts_as_it_does_in_scikit_learn(alpha, solver):
    from sklearn.linear_model import Ridge as Plain

    rng = np.random.default_rng(1)
    rows = rng.uniform(-1, 1, (20_000, 3))
    y = np.clip(rows @ [1.0, -0.5, 0.2] + 0.3 + rng.normal(0, 0.3, 20_000), -2, 2)
    facts = {"epsilon": 8.0, "delta": 1e-6, "bounds": (-1, 1), "bounds_y": (-2, 2), "source": noise.Seeded(2)}
    made = Ridge(alpha=alpha, solver=None if solver is None else solver(ridge=alpha), **facts).fit(rows, y)
    plain = Plain(alpha=alpha).fit(rows, y)
    np.testing.assert_allclose(made.coef_, plain.coef_, atol=0.01)
    assert made.intercept_ == pytest.approx(plain.intercept_, abs=0.01)

"""row_norm="private": a norm that is bought, and the fit for it, within one promise."""

import math
from dataclasses import fields

import numpy as np
import pytest
from scipy import sparse

import privet as pv
from privet import audit, learn, noise, testing
from privet.errors import InvalidParameter
from privet.learn.losses import Logistic, Squared
from privet.learn.problem import ArrayRecords, Classes, Interval, Task
from privet.learn.solvers import BoughtNorm, NoisyGD, NoisyGDFit, ObjectivePerturbation, SufficientStatistics, TukeyEM
from privet.learn.solvers.bought_norm import exact_exponents
from privet.privacy import Guarantee, Unit, ZcdpLoss

BOTH = [Unit(), Unit("replace")]
PURE = Guarantee(1.0)
RNG = np.random.default_rng(5)
ROWS = RNG.normal(size=(2_000, 3)) * 40.0  # the upper quartile of lengths is 81
LABELS = (ROWS @ [1.0, -1.0, 0.5] > 0.0).astype(int)


@pytest.mark.parametrize(
    ("model", "unit"),
    [
        (learn.LogisticRegression(classes=[0, 1]), BOTH[0]),
        (learn.LinearSVC(classes=[0, 1]), BOTH[1]),
        (learn.LinearRegression(bounds_y=(0, 1)), BOTH[0]),
        (learn.Ridge(bounds_y=(0, 1)), BOTH[1]),
        (learn.HuberRegressor(bounds_y=(0, 1)), BOTH[0]),
        (learn.Lasso(bounds_y=(0, 1), alpha=0.001), BOTH[0]),
        (learn.ElasticNet(bounds_y=(0, 1), alpha=0.001), BOTH[1]),
    ],
)
def test_the_norm_is_bought_and_fits(model, unit):
    model.set_params(epsilon=2.0, delta=1e-6, unit=unit, row_norm="private", source=noise.Seeded(3)).fit(ROWS, LABELS)
    assert any(note.startswith("row_norm was bought: 128,") for note in model.privacy_.notes)
    assert model.privacy_.plan["norm"]["mechanism"] == "quantile"
    assert "mechanism" in model.privacy_.plan["fit"]
    assert Guarantee(2.0, 1e-6).covers(model.privacy_.loss)
    assert model.privacy_.unit == unit
    assert ((model.predict(ROWS) > 0.5) == LABELS).mean() > 0.9
    assert model.row_norm == "private"  # parameters stay as they were given


@pytest.mark.parametrize("rows", [ROWS, sparse.csr_array(ROWS)])
def test_coefficients_are_those_of_the_same_norm_given(rows):
    """With next to no noise: in the units of the data, whatever the norm that the plan was made for."""
    facts = {"rho": 1e9, "bounds_y": (-200, 200), "source": noise.Seeded(1)}
    goals = ROWS[:, 0] + 20.0 * RNG.normal(size=len(ROWS))
    bought = learn.Ridge(row_norm="private", **facts).fit(rows, goals)
    given = learn.Ridge(row_norm=128.0, **facts).fit(rows, goals)
    assert np.allclose(bought.coef_, given.coef_, atol=1e-4)
    assert np.isclose(bought.intercept_, given.intercept_, atol=1e-2)
    assert np.allclose(bought.confidence_intervals(), given.confidence_intervals(), atol=1e-2)


def test_lengths_are_exact_and_of_one_record_alone():
    rows = np.array(
        [[3.0, 4.0], [0.0, 0.0], [1.0, 0.0], [math.nan, 1.0], [-math.inf, 1.0], [1e300, 1e300], [5e-324, 0.0]]
    )
    found = exact_exponents(ArrayRecords(rows))
    assert np.array_equal(found, [3, np.nan, 0, np.nan, np.nan, 998, -1074], equal_nan=True)
    assert np.array_equal(exact_exponents(ArrayRecords(sparse.csr_array(rows))), found, equal_nan=True)
    assert len(exact_exponents(ArrayRecords(rows[:0]))) == 0


@pytest.mark.parametrize("made", [np.asarray, np.asfortranarray, sparse.csr_array])
def test_lengths_of_ten_thousand_columns_round_by_their_own_row_alone(made):
    rows = np.random.default_rng(8).normal(size=(40, 10_000))
    rows /= np.linalg.norm(rows, axis=1)[:, None]  # 1 up to the last bit, which decides about the exponent
    alone = [exact_exponents(ArrayRecords(made(rows[i : i + 1])))[0] for i in range(len(rows))]
    assert exact_exponents(ArrayRecords(made(rows))).tolist() == alone


ODD = [[1e308, 1e308], [0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0], [5e-324, 0.0], [2.0**30, 0.0], [2.0**31, 1.0]]


@pytest.mark.parametrize("unit", BOTH)
def test_one_odd_record_shows_in_the_noise_alone(unit):
    """The largest and smallest lengths, those without any, and those on both sides of the last exponent."""
    plan = planned(NoisyGD(steps=2, clip_norm=0.5), Logistic(), Classes((0, 1)), unit, Guarantee(mu=0.5))
    rows, labels = np.random.default_rng(2).normal(size=(6, 2)), np.array([0, 1, 0, 1, 0, 1])
    plain = np.vstack([rows, [[1.0, -1.0]]]), np.append(labels, 0)
    other = ArrayRecords(rows, labels) if unit.relation == "add_remove" else ArrayRecords(*plain)
    for odd in ODD:
        one = ArrayRecords(np.vstack([rows, [odd]]), np.append(labels, 1))
        assert audit.replay(plan.release, one, other).verdict == "not refuted"


def test_a_ledger_pays_once_and_a_key_reads_it_back():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=1.0, delta=1e-5))
    model = learn.LinearRegression(epsilon=0.8, delta=1e-6, row_norm="private", bounds_y=(0, 1), ledger=ledger)
    first = model.fit(ROWS, LABELS, key="May").coef_
    spent = ledger.spent["basic epsilon"]
    assert (model.fit(ROWS, LABELS, key="May").coef_ == first).all()
    assert ledger.spent["basic epsilon"] == spent


def test_what_cannot_be_bought_names_the_remedy():
    model = learn.LinearSVC(epsilon=1.0, classes=[0, 1])
    with pytest.raises(InvalidParameter, match='row_norm="private" buys'):
        model.fit(ROWS, LABELS)
    model.set_params(row_norm="private")
    with pytest.raises(InvalidParameter, match="bounds= bound the rows already"):
        learn.LinearSVC(epsilon=1.0, classes=[0, 1], row_norm="private", bounds=(-1, 1)).fit(ROWS, LABELS)
    with pytest.raises(InvalidParameter, match="epsilon=inf clips no rows"):
        learn.LinearSVC(epsilon=math.inf, classes=[0, 1], row_norm="private").fit(ROWS, LABELS)
    table = pv.Table({"age": [1, 2], "ill": [True, False]}, columns={"age": pv.Int(0, 110), "ill": pv.Bool()})
    with pytest.raises(InvalidParameter, match="give a number here, or bounds="):
        model.fit(table, target="ill")
    with pytest.raises(InvalidParameter, match="give a number here, or bounds="):
        learn.PCA(epsilon=1.0, delta=1e-6, row_norm="private", n_components=1).fit(ROWS)
    tukey = learn.LinearRegression(
        epsilon=1.0, delta=1e-6, row_norm="private", bounds_y=(0, 1), solver=TukeyEM(models=400)
    )
    with pytest.raises(InvalidParameter, match="give row_norm= as a number"):
        tukey.fit(ROWS, LABELS)


def planned(solver, loss, target, unit=BOTH[0], promise=PURE):
    task = Task(features=2, row_norm=1.0, target=target, unit=unit)
    return BoughtNorm.planned(lambda share: solver.plan(task, loss, share), unit, promise)


@pytest.mark.parametrize("unit", BOTH)
def test_every_norm_has_the_same_price(unit):
    for plan in (
        planned(ObjectivePerturbation(), Logistic(), Classes((0, 1)), unit),
        planned(SufficientStatistics(ridge=1.0), Squared(), Interval(-1.0, 1.0), unit),
        planned(NoisyGD(), Logistic(), Classes((0, 1)), unit, Guarantee(mu=0.5)),
    ):
        for exponent in range(-30, 31, 4):
            assert plan.fit_for(2.0**exponent).loss.to_dict() == plan.fit.loss.to_dict()
    assert planned(ObjectivePerturbation(), Logistic(), Classes((0, 1)), unit).loss.pure() <= 1.0


def test_what_the_norm_leaves_over_is_for_the_fit():
    """With a delta prices do not add up: the fit has more than 95%, and a promise that is used up all the same."""
    promise = Guarantee(1.0, 1e-6)
    plan = planned(SufficientStatistics(), Squared(), Interval(-1.0, 1.0), promise=promise)
    assert 0.95 < plan.share < 1.0
    assert promise.covers(plan.loss)
    assert not Guarantee(0.99, 1e-6).covers(plan.loss)
    for other in (PURE, Guarantee(rho=0.1)):
        made = planned(SufficientStatistics(), Squared(), Interval(-1.0, 1.0), promise=other)
        assert made.share == 0.95


@pytest.mark.parametrize("unit", BOTH)
@pytest.mark.parametrize(
    "rows", [np.zeros((9, 2)), np.full((9, 2), 7.0), np.full((9, 2), 1e300), np.full((1, 2), 1e-300)]
)
def test_odd_rows_end_in_no_error(rows, unit):
    facts = {"epsilon": 0.5, "delta": 1e-6, "row_norm": "private", "unit": unit}
    for model in (learn.Ridge(bounds_y=(0, 1), **facts), learn.ElasticNet(bounds_y=(0, 1), **facts)):
        assert np.isfinite(model.fit(rows, np.ones(len(rows))).coef_).all()


def test_a_quantile_for_another_unit_or_a_fit_for_another_norm_is_refused():
    plan = planned(ObjectivePerturbation(), Logistic(), Classes((0, 1)))
    other = planned(ObjectivePerturbation(), Logistic(), Classes((0, 1)), BOTH[1])
    with pytest.raises(InvalidParameter, match="unit of the fit"):
        BoughtNorm(norm=other.norm, fit=plan.fit)
    with pytest.raises(InvalidParameter, match="rows of length 1"):
        BoughtNorm(norm=plan.norm, fit=plan.fit_for(2.0))


def test_a_fit_whose_price_follows_the_norm_is_refused():
    class Dearer(NoisyGDFit):
        name = "example_dearer_fit"

        @property
        def loss(self):
            return ZcdpLoss(0.1 * self.task.row_norm, unit=self.task.unit)

    sound = planned(NoisyGD(rows=100, steps=1), Logistic(), Classes((0, 1)), promise=Guarantee(rho=0.5))
    dearer = Dearer(**{each.name: getattr(sound.fit, each.name) for each in fields(sound.fit)})
    with pytest.raises(InvalidParameter, match="price of this solver depends on row_norm"):
        BoughtNorm(norm=sound.norm, fit=dearer)


def test_a_twin_that_does_not_pay_for_the_norm_is_caught():
    class Unpaid(BoughtNorm):
        name = "example_unpaid_norm"

        @property
        def loss(self):
            return self.fit.loss

    made = next(iter(BoughtNorm.examples()))
    twin = Unpaid(norm=made.mechanism.norm, fit=made.mechanism.fit)
    with pytest.raises(AssertionError, match="a part is not charged"):
        testing.check_parts_are_the_price(pv.mechanisms.Example(twin, made.left, made.right))


def test_a_twin_that_reads_the_norm_off_the_rows_is_caught():
    class Exact(BoughtNorm):
        name = "example_exact_norm"

        def _run(self, prepared, source):
            row_norm = 2.0 ** float(np.nanmax(exact_exponents(prepared), initial=-30.0))
            return {"row_norm": row_norm, "fit": self.fit_for(row_norm).release(prepared, source=source).value}

    made = next(iter(BoughtNorm.examples()))
    twin = Exact(norm=made.mechanism.norm, fit=made.mechanism.fit)
    assert audit.replay(made.mechanism.release, made.left, made.right).verdict == "not refuted"
    assert audit.replay(twin.release, made.left, made.right).verdict == "violated"

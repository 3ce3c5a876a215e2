"""Searches over every estimator of the room, and over pipelines with its encoders: prices, twins, rows by themselves."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler as Plain

import privet as pv
from privet import accounting, audit, learn, noise, testing
from privet.errors import InvalidData, InvalidParameter
from privet.learn import (
    PCA,
    GaussianNB,
    KMeans,
    LinearRegression,
    LogisticRegression,
    MinMaxScaler,
    PrivateSearchCV,
    StandardScaler,
)
from privet.learn.estimators import registered_estimators
from privet.learn.problem import ArrayRecords
from privet.learn.search.chain import Mapped, Seen
from privet.learn.search.private_search import SearchFit
from privet.learn.solvers import SufficientStatistics
from privet.mechanisms import Example
from privet.privacy import Guarantee, Unit

RNG = np.random.default_rng(2)
ROWS = RNG.uniform(0.0, 10.0, size=(900, 3))
LABELS = (ROWS[:, 0] + RNG.normal(size=900) > 5.0).astype(int)
NUMBERS = np.clip(ROWS[:, 0] / 10.0 + 0.1 * RNG.normal(size=900), 0.0, 1.0)
FACTS = {"epsilon": 4.0, "delta": 1e-6, "mean_tries": 2.0}
UNSCORED = (KMeans, PCA, StandardScaler, MinMaxScaler, PrivateSearchCV)
LOGISTIC = LogisticRegression(classes=[0, 1], row_norm=2.0)
PIPES = {
    "public facts": (
        make_pipeline(MinMaxScaler(bounds=(0, 10)), LOGISTIC),
        {"logisticregression__row_norm": [1.0, 2.0]},
        LABELS,
    ),
    "an encoder that pays": (
        make_pipeline(StandardScaler(), LOGISTIC),
        {"standardscaler__bounds": [(0, 10), (0, 20)]},
        LABELS,
    ),
    "a range that is bought": (
        make_pipeline(MinMaxScaler(bounds=(0, 100), epsilon=1.0), GaussianNB(classes=[0, 1], bounds=(0, 1))),
        {"gaussiannb__var_smoothing": [1e-4, 1e-2]},
        LABELS,
    ),
    "components": (
        make_pipeline(
            MinMaxScaler(bounds=(0, 10)),
            PCA(bounds=(0, 1)),
            LinearRegression(row_norm=1.0, bounds_y=(0, 1), solver=SufficientStatistics()),
        ),
        {"pca__n_components": [1, 2]},
        NUMBERS,
    ),
}


def grid_of(model):
    """Two candidates that are different fits."""
    if hasattr(model, "row_norm"):
        return {"row_norm": [1.0, 2.0], "bounds": [None]}
    return {"var_smoothing": [1e-4, 1e-2]}


@pytest.mark.parametrize("kind", sorted(registered_estimators()))
def test_every_estimator_is_searched_or_refused_unpaid(kind):
    scored = not issubclass(registered_estimators()[kind], UNSCORED)
    for example in registered_estimators()[kind].examples():
        ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=5.0, delta=1e-5))
        rows, *targets = example.records(300, 3)
        grid = grid_of(example.estimator) if scored else {"bounds": [(-1, 1), (-2, 2)]}
        search = PrivateSearchCV(clone(example.estimator), grid, ledger=ledger, **FACTS)
        if not scored:
            with pytest.raises((InvalidParameter, InvalidData), match=r"search scores classifiers|requires y"):
                search.fit(rows, *targets)
            assert not [entry for entry in ledger.entries() if entry.kind == "reserve"]
            continue
        search.fit(rows, *targets)
        assert search.predict(rows).shape == targets[0].shape
        assert search.best_params_ in search._candidates()
        assert len([entry for entry in ledger.entries() if entry.kind == "reserve"]) == 1


@pytest.mark.parametrize("name", PIPES)
def test_pipelines_are_searched_within_their_promise(name, monkeypatch):
    whole, grid, targets = PIPES[name]
    search = PrivateSearchCV(whole, grid, source=noise.Seeded(3), **FACTS).fit(ROWS, targets)
    assert search.predict(ROWS).shape == targets.shape
    assert search.best_estimator_.predict(ROWS[:5]).tolist() == search.predict(ROWS[:5]).tolist()
    plan = search._plan(3, Unit(), Guarantee(4.0, 1e-6))
    assert accounting.epsilon(plan.loss, delta=1e-6).upper <= 4.0
    assert any(each.plan is not None for each in plan.encoders[0]) == (name != "public facts")
    monkeypatch.setattr(SearchFit, "_number", lambda self, source: 0)  # none was tried: public zeros
    assert np.isfinite(search.fit(ROWS, targets).predict(ROWS).astype(float)).all()


class UnpaidEncoder(SearchFit):
    name = "twin_unpaid_encoder"

    def _tries(self):
        return [(plan.loss, self.judge.loss) for plan in self.plans]


@pytest.mark.parametrize("holdout", [0.5, None])
@pytest.mark.parametrize("name", ["an encoder that pays", "components"])
def test_encoders_are_paid_for_and_replays_find_nothing(name, holdout):
    whole, grid, targets = PIPES[name]
    made = PrivateSearchCV(whole, grid, mean_tries=2.0, holdout=holdout)._plan(3, Unit(), Guarantee(4.0, 1e-6))
    pair = ArrayRecords(ROWS[:12], targets[:12]), ArrayRecords(ROWS[:11], targets[:11])
    testing.check_parts_are_the_price(Example(made, *pair))
    assert not audit.replay(made.release, *pair).refuted
    twin = UnpaidEncoder(**{each: getattr(made, each) for each in made.__dataclass_fields__})
    with pytest.raises(AssertionError, match="no common price"):
        testing.check_parts_are_the_price(Example(twin, *pair))


@pytest.mark.parametrize("encoder", [StandardScaler(), MinMaxScaler(clip=True), PCA(n_components=2)], ids=repr)
def test_a_row_is_encoded_by_itself(encoder):
    """Whatever the others are, and NaN stays: then it counts as a row of zeros."""
    model = clone(encoder).set_params(epsilon=8.0, delta=1e-6, bounds=(0, 10)).fit(ROWS)
    rows = np.vstack([ROWS[:20], [[np.nan, 1.0, 1.0], [1e308, -1e308, 1e308]]])
    made = next(Mapped(ArrayRecords(rows, LABELS[:22]), model).chunks()).rows
    for place in range(len(rows)):
        alone = next(Mapped(ArrayRecords(rows[place : place + 1], LABELS[:1]), model).chunks()).rows
        assert np.array_equal(made[place : place + 1], alone, equal_nan=True)
    assert np.allclose(made[:20], model.transform(ROWS[:20]), atol=1e-12)
    assert np.isnan(made[20]).any()
    assert Seen(ArrayRecords(rows, LABELS[:22])).target_kind is None


@pytest.mark.parametrize(
    ("whole", "grid", "said"),
    [
        (make_pipeline(Plain(), LOGISTIC), {"logisticregression__row_norm": [1.0, 2.0]}, "before its model must be"),
        (make_pipeline(MinMaxScaler(bounds=(0, 1)), PCA()), {"pca__n_components": [1, 2]}, "search scores classifiers"),
        (
            make_pipeline(StandardScaler(bounds=(0, 10)), LOGISTIC),
            {"standardscaler__epsilon": [1.0, 2.0]},
            "what a fit costs",
        ),
        (make_pipeline(StandardScaler(bounds=(0, 10)), LOGISTIC), {"logisticregression__C": [1.0, 2.0]}, "C counts at"),
        (make_pipeline(MinMaxScaler(), LOGISTIC), {"logisticregression__row_norm": [1.0, 2.0]}, "give bounds"),
        (
            make_pipeline(*[StandardScaler(bounds=(0, 10))] * 5, LOGISTIC),
            {"logisticregression__row_norm": [1.0]},
            "leave nothing",
        ),
        (GaussianNB(classes=[0, 1], bounds=(0, 10)), {"var_smoothing": [1e-4, 1e-4]}, "the same private fit"),
    ],
    ids=str,
)
def test_what_cannot_be_searched_is_refused_unpaid(whole, grid, said):
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=5.0, delta=1e-5))
    with pytest.raises(InvalidParameter, match=said):
        PrivateSearchCV(whole, grid, ledger=ledger, **FACTS).fit(ROWS, LABELS)
    assert not [entry for entry in ledger.entries() if entry.kind == "reserve"]


def test_naive_bayes_and_counts_are_scored_by_what_they_predict():
    from privet.learn.search.holdout import score_of

    bayes = GaussianNB(epsilon=8.0, delta=1e-6, classes=[0, 1], bounds=(0, 10), source=noise.Seeded(1)).fit(
        ROWS, LABELS
    )
    task = bayes._plan(3, Unit(), Guarantee(8.0, 1e-6)).task
    assert score_of(bayes, task, ArrayRecords(ROWS, LABELS)) == (bayes.predict(ROWS) == LABELS).sum()
    counts = np.minimum(RNG.poisson(np.exp(ROWS[:, 0] / 5.0)), 20).astype(float)
    model = learn.PoissonRegressor(epsilon=8.0, delta=1e-6, row_norm=20.0, bounds_y=(0, 20), source=noise.Seeded(1))
    model.fit(ROWS, counts)
    off = np.minimum(np.abs(model.predict(ROWS) - counts) / 20.0, 1.0)
    plan = model._plan(3, Unit(), Guarantee(8.0, 1e-6))
    assert float(score_of(model, plan.task, ArrayRecords(ROWS, counts))) == pytest.approx(
        (1.0 - off**2).sum(), abs=1e-3
    )


@pytest.mark.parametrize("second", [MinMaxScaler, StandardScaler])
def test_bounds_behind_components_are_of_what_these_make(second):
    """Found after the charge before: public bounds were held against the columns of the first step."""
    rows, labels = np.random.default_rng(3).uniform(-1, 1, (60, 4)), np.arange(60) % 2
    model = LogisticRegression(row_norm=1.0, classes=[0, 1])
    for size, fits in ((4, False), (2, True)):
        first = PCA(row_norm=2.0, n_components=2)
        whole = make_pipeline(first, second(bounds=([-1.0] * size, [1.0] * size)), model)
        ledger = pv.Ledger.create("memory:", epsilon=10.0)
        search = PrivateSearchCV(
            whole, {"logisticregression__row_norm": [0.5, 1.0]}, epsilon=4.0, mean_tries=2, ledger=ledger
        )
        if fits:
            assert search.fit(rows, labels).predict(rows[:3]).shape == (3,)
            continue
        with pytest.raises(InvalidParameter, match="bounds must be"):
            search.fit(rows, labels)
        assert ledger.length == 1

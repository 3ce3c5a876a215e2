"""Private search: prices, exact laws of small searches, twins, and the interface of scikit-learn."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone, is_classifier, is_regressor

import privet as pv
from privet import accounting, audit, noise, testing
from privet.errors import InvalidParameter
from privet.learn import Lasso, LinearRegression, LogisticRegression, PrivateSearchCV
from privet.learn.problem import ArrayRecords, Classes, Interval, Task
from privet.learn.search.holdout import STEPS, in_two, score_of
from privet.learn.search.private_search import SearchFit, try_epsilon
from privet.learn.solvers import NoisyGD, OutputPerturbation
from privet.mechanisms import Example
from privet.privacy import GaussianLoss, Guarantee, PureLoss, Selected, Unit

RNG = np.random.default_rng(1)
ROWS = RNG.normal(size=(1_500, 2))
LABELS = (ROWS[:, 0] + 0.3 * RNG.normal(size=1_500) > 0).astype(int)
MODEL = LogisticRegression(classes=[0, 1], row_norm=3.0)
GRID = {"solver": [OutputPerturbation(strength=10.0), OutputPerturbation(strength=40.0)]}


def planned(law="logarithmic", holdout=0.3, unit=Unit(), promise=Guarantee(2.0, 1e-5), mean=3.0):  # noqa: B008
    models = PrivateSearchCV(MODEL, GRID)._models()
    return SearchFit.planned(models, 2, unit, 0.5, promise, mean, law, holdout)


# --- prices -------------------------------------------------------------------------------------------------------------


def test_the_prices_of_the_handbook():
    """One Gaussian try of sigma 5 at delta 1e-6: numbers that were computed elsewhere."""
    logarithmic = (1 - 0.02) / (0.02 * math.log(50.0))
    for mean, eta, poisson, wanted in (
        (10.0, 1.0, False, 1.8135),
        (50.0, 1.0, False, 2.1356),
        (logarithmic, 0.0, False, 1.5434),
        (10.0, 1.0, True, 1.6128),
    ):
        price = Selected(GaussianLoss(5.0), mean=mean, eta=eta, poisson=poisson)
        assert accounting.epsilon(price, delta=1e-6).upper == pytest.approx(wanted, abs=6e-4)


@pytest.mark.parametrize("law", ["logarithmic", "geometric", "poisson"])
def test_tries_of_normal_noise_use_up_the_promise(law):
    promise = Guarantee(1.0, 1e-6)
    each = try_epsilon(promise, 10.0, law)
    one = GaussianLoss(pv.mechanisms.Gaussian.for_budget(epsilon=each, delta=1e-6, sensitivity=1.0).sigma)
    price = Selected(one, mean=10.0, eta=0.0 if law == "logarithmic" else 1.0, poisson=law == "poisson")
    assert 0.99 <= accounting.epsilon(price, delta=1e-6).upper <= 1.0


@pytest.mark.parametrize("holdout", [0.3, None])
def test_a_fit_meets_its_promise(holdout):
    search = PrivateSearchCV(MODEL, GRID, mean_tries=3, holdout=holdout)
    made = search._plan(2, Unit(), Guarantee(2.0, 1e-5))
    assert 0.97 * 2.0 <= accounting.epsilon(made.loss, delta=1e-5).upper <= 2.0
    pure = search._plan(2, Unit("replace"), Guarantee(1.0))
    assert 0.99 <= pure.loss.pure() <= 1.0
    groups = PrivateSearchCV(MODEL, GRID, holdout=holdout)._plan(2, Unit(group_size=2), Guarantee(1.0))
    assert groups.loss.pure() <= 1.0
    assert type(groups.loss.of.blocks[0]).__name__ == "Composed"  # a person's records may lie in both parts


# --- laws ---------------------------------------------------------------------------------------------------------------


def law_of_best(p, counts):
    """Pr[the best of K tries is good], where a try is good with chance p."""
    return 1.0 - sum(weight * (1.0 - p) ** k for k, weight in counts.items())


def test_a_secret_number_is_within_the_price_and_a_shown_one_is_not():
    """Tries of pure epsilon 0.4 with one bit, by exact enumeration of logarithmic and geometric numbers."""
    epsilon = 0.4
    bad = 1.0 / (1.0 + math.exp(epsilon))
    k = np.arange(1, 400)
    for eta, chances in ((0.0, stats.logser.pmf(k, 0.9)), (1.0, stats.geom.pmf(k, 0.1))):
        counts = dict(zip(k.tolist(), chances.tolist(), strict=True))
        mean = float((k * chances).sum())
        price = Selected(PureLoss(epsilon), mean=mean, eta=eta).pure()
        good, other = law_of_best(bad, counts), law_of_best(1.0 - bad, counts)
        hidden = max(abs(math.log(good / other)), abs(math.log((1 - good) / (1 - other))))
        shown = max(j * abs(math.log((1 - bad) / bad)) for j in counts)  # "K = j, and no try was good"
        assert hidden <= price < shown


@pytest.mark.parametrize("law", ["logarithmic", "geometric", "poisson"])
def test_the_number_of_tries_follows_its_law(law):
    made, source = planned(law), noise.Seeded(3)
    drawn = np.array([made._number(source) for _ in range(3_000)])
    if law == "poisson":
        pmf = lambda k: stats.poisson.pmf(k, 3.0)  # noqa: E731
    elif law == "geometric":
        pmf = lambda k: stats.geom.pmf(k, 1.0 / 3.0)  # noqa: E731
    else:
        from privet.privacy.selected import stopping_probability

        p = 1.0 - stopping_probability(3.0, 0.0)
        pmf = lambda k: np.where(k >= 1, stats.logser.pmf(np.maximum(k, 1), p), 0.0)  # noqa: E731
    testing.check_samples(drawn, pmf)
    with pytest.raises(AssertionError, match="do not follow the law"):
        testing.check_samples(np.full(3_000, 3), pmf)  # a fixed number, which is no secret


def test_nothing_tells_how_often_it_was_tried(monkeypatch):
    """The same best try after 1 and after 5 tries: the model cannot be told apart, except by its best score."""
    made, seen = planned(), {}
    for tries in (1, 5):
        monkeypatch.setattr(SearchFit, "_number", lambda self, source, tries=tries: tries)
        seen[tries] = made.release(ArrayRecords(ROWS, LABELS), source=noise.Seeded(4)).value
    assert set(seen[1]) == set(seen[5]) == {"candidate", "score", "value"}
    assert seen[1]["value"].shape == seen[5]["value"].shape
    assert seen[1]["candidate"] in (0, 1)


def test_no_try_gives_a_fixed_public_answer(monkeypatch):
    monkeypatch.setattr(SearchFit, "_number", lambda self, source: 0)
    made = planned("poisson")
    for rows, labels in ((ROWS, LABELS), (-ROWS[:7], LABELS[:7])):
        value = made.release(ArrayRecords(rows, labels)).value
        assert value["candidate"] == 0
        assert value["score"] == 0.0
        assert not value["value"].any()
        assert value["value"].shape == (3,)


SEARCHED = {
    "steps": (LogisticRegression(classes=[0, 1], solver=NoisyGD(steps=2)), LABELS),
    "classes": (LogisticRegression(classes=[0, 1, 2]), LABELS),
    "records of numbers": (LinearRegression(bounds_y=(-1, 1)), ROWS[:, 0]),
}


@pytest.mark.parametrize("name", SEARCHED)
def test_fits_of_every_form_can_be_searched(name, monkeypatch):
    """Fits that are algorithms themselves, several classes, fits that release records; and none of them tried."""
    model, targets = SEARCHED[name]
    search = PrivateSearchCV(model, {"row_norm": [1.0, 2.0]}, epsilon=2.0, delta=1e-6, mean_tries=2)
    tried = np.shape(search.fit(ROWS, targets).best_estimator_.coef_)
    monkeypatch.setattr(SearchFit, "_number", lambda self, source: 0)
    never = search.fit(ROWS, targets).best_estimator_
    assert np.shape(never.coef_) == tried
    assert not np.any(never.coef_)
    if name == "records of numbers":
        assert np.isinf(never.confidence_intervals()).all()


def test_scores_are_exact_however_many_records():
    """A quotient in floats would round from 2^29 records on, and two of them could be more than 1 apart."""
    task = Task(features=1, row_norm=1.0, target=Classes((0, 1)))
    model = LogisticRegression(classes=[0, 1], row_norm=1.0)
    model.coef_, model.intercept_ = np.ones((1, 1)), np.zeros(1)
    score = score_of(model, task, ArrayRecords(np.ones((3, 1)), np.array([1, 1, 0])))
    assert isinstance(score, Fraction)
    assert score == 2
    assert STEPS * score == 2 * STEPS


# --- what a try releases ------------------------------------------------------------------------------------------------


class UnpaidScore(SearchFit):
    name = "twin_unpaid_score"

    def _tries(self):
        return [(plan.loss,) for plan in self.plans]


class ExactScore(SearchFit):
    name = "twin_exact_score"

    def _run(self, prepared, source):
        right = [self._score(0, sign * np.ones(3), prepared) for sign in (1.0, -1.0)]  # every record is right in one
        return {**super()._run(prepared, source), "score": right[0] + 2.0 * right[1]}


def as_twin(kind, made):
    return kind(**{name: getattr(made, name) for name in made.__dataclass_fields__})


@pytest.mark.parametrize("holdout", [0.5, None])
def test_scores_are_paid_and_replays_find_nothing(holdout):
    made = planned(holdout=holdout)
    pair = ArrayRecords(ROWS[:8], LABELS[:8]), ArrayRecords(ROWS[:7], LABELS[:7])
    testing.check_parts_are_the_price(Example(made, *pair))
    assert not audit.replay(made.release, *pair).refuted
    with pytest.raises(AssertionError, match="no common price"):
        testing.check_parts_are_the_price(Example(as_twin(UnpaidScore, made), *pair))
    assert audit.replay(as_twin(ExactScore, made).release, *pair).refuted


@pytest.mark.parametrize("target", [Classes((0, 1)), Interval(-1.0, 1.0)], ids=repr)
def test_a_record_moves_the_score_by_at_most_one(target):
    task = Task(features=2, row_norm=1.0, target=target)
    model = clone(MODEL)
    model.coef_, model.intercept_ = np.array([[1.0, -2.0]]), np.array([0.1])
    rows = np.vstack([ROWS[:40], [[np.nan, 0.0], [1e308, 1e308], [0.0, 0.0]]])
    targets = LABELS[:43] if isinstance(target, Classes) else ROWS[:43, 1] * 3.0
    whole = score_of(model, task, ArrayRecords(rows, targets))
    moves = []
    for i in range(len(rows)):
        less = score_of(model, task, ArrayRecords(np.delete(rows, i, 0)[::-1], np.delete(targets, i)[::-1]))
        moves.append(whole - less)
    assert min(moves) >= 0.0
    assert 0.9 < max(moves) <= 1.0
    assert sum(moves) == pytest.approx(whole)


def test_parts_are_disjoint_and_whole():
    records = ArrayRecords(ROWS, LABELS)
    left, right = in_two(records, lambda n: noise.poisson_subset(n, q=0.3, source=noise.Seeded(2)))
    sizes = [sum(len(chunk.targets) for chunk in part.chunks()) for part in (left, right)]
    assert sum(sizes) == len(LABELS)
    assert 300 < sizes[1] < 600
    assert left.columns == 2


# --- scikit-learn -------------------------------------------------------------------------------------------------------


def test_it_finds_the_better_candidate():
    grid = {"solver": [OutputPerturbation(strength=0.01), OutputPerturbation(strength=300.0)]}  # the first is all noise
    found = Counter()
    for seed in range(6):
        search = PrivateSearchCV(
            MODEL, grid, epsilon=4.0, delta=1e-5, mean_tries=12, law="geometric", source=noise.Seeded(seed)
        )
        found[search.fit(ROWS, LABELS).best_index_] += 1
        assert search.best_params_["solver"] == grid["solver"][search.best_index_]
        assert search.predict(ROWS).shape == (1_500,)
        assert search.best_index_ == 0 or search.score(ROWS, LABELS) > 0.8
    assert found[1] >= 5
    assert search.classes_.tolist() == [0, 1]


def test_it_is_an_estimator():
    search = PrivateSearchCV(MODEL, GRID, epsilon=1.0, delta=1e-6)
    assert is_classifier(search)
    assert is_regressor(PrivateSearchCV(Lasso(), {"alpha": [0.1]}))
    twin = clone(search)
    assert twin is not search
    assert twin.get_params()["estimator__row_norm"] == 3.0
    assert not hasattr(twin, "best_estimator_")
    exact = PrivateSearchCV(LogisticRegression(classes=[0, 1]), {"C": [1e-4, 1.0]}, epsilon=math.inf)
    assert exact.fit(ROWS, LABELS).best_params_ == {"C": 1.0}


def test_a_search_is_paid_once():
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=3.0, delta=1e-5))
    search = PrivateSearchCV(MODEL, GRID, epsilon=2.0, delta=1e-6, mean_tries=4, ledger=ledger).fit(ROWS, LABELS)
    assert len([entry for entry in ledger.entries() if entry.kind == "reserve"]) == 1
    assert search.privacy_.epsilon == 2.0
    assert search.privacy_.paid is not None


@pytest.mark.parametrize(
    "made",
    [
        PrivateSearchCV(None, GRID, epsilon=1.0, delta=1e-6),
        PrivateSearchCV(MODEL, None, epsilon=1.0, delta=1e-6),
        PrivateSearchCV(MODEL, {"row_norm": []}, epsilon=1.0, delta=1e-6),
        PrivateSearchCV(MODEL, {"epsilon": [1.0, 8.0]}, epsilon=1.0, delta=1e-6),
        PrivateSearchCV(MODEL, GRID, rho=0.1),
        PrivateSearchCV(MODEL, GRID, epsilon=1.0, delta=1e-6, law="fixed"),
        PrivateSearchCV(MODEL, GRID, epsilon=1.0, law="poisson"),
        PrivateSearchCV(MODEL, GRID, epsilon=1.0, delta=1e-6, holdout=1.5),
        PrivateSearchCV(MODEL, GRID, epsilon=1.0, delta=1e-6, mean_tries=0.0),
    ],
    ids=lambda made: repr(made)[:60],
)
def test_refusals(made):
    with pytest.raises(InvalidParameter):
        made.fit(ROWS, LABELS)


# --- candidates that differ, and scores that can be read -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "grid", "said"),
    [
        (MODEL, {"C": [1e-6, 1.0]}, "C counts at epsilon=inf only"),
        (pv.learn.LinearSVC(classes=[0, 1]), {"C": [1.0], "row_norm": [1.0, 2.0]}, "C counts"),
        (pv.learn.HuberRegressor(bounds_y=(0, 1), row_norm=1.0), {"alpha": [1.0, 2.0]}, "alpha counts"),
        (MODEL, {"row_norm": [1.0, 1.0]}, "candidates 0 and 1 are the same"),
        (MODEL, {"row_norm": [1.0, 2.0], "n_rows": [10**8, 2 * 10**8]}, "are the same"),
    ],
)
def test_a_search_among_equal_models_is_refused_before_it_is_paid(model, grid, said):
    """With C alone every candidate is the same fit: the search was paid for, and named one of them the best."""
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=5.0, delta=1e-4))
    search = PrivateSearchCV(model, grid, epsilon=2.0, delta=1e-5, ledger=ledger)
    targets = LABELS if model is MODEL or isinstance(model, pv.learn.LinearSVC) else LABELS.astype(float)
    with pytest.raises(InvalidParameter, match=said):
        search.fit(ROWS, targets)
    assert not [entry for entry in ledger.entries() if entry.kind == "reserve"]


@pytest.mark.parametrize("model", [pv.learn.LogisticRegression, pv.learn.LinearSVC])
def test_a_parameter_that_does_not_count_is_named(model):
    facts = {"epsilon": 1.0, "delta": 1e-5, "row_norm": 1.0, "classes": [0, 1]}
    with pytest.warns(UserWarning, match="C of .* counts at epsilon=inf only"):
        model(C=0.1, **facts).fit(ROWS, LABELS)
    model(**facts).fit(ROWS, LABELS)  # and else there is no warning


@pytest.mark.parametrize("holdout", [0.3, None])
def test_best_score_is_a_mean_where_the_number_of_records_is_public(holdout):
    public = clone(MODEL).set_params(n_rows=len(ROWS))
    known = PrivateSearchCV(public, GRID, epsilon=8.0, delta=1e-5, mean_tries=3, holdout=holdout).fit(ROWS, LABELS)
    scored = len(ROWS) * (holdout or 1.0)
    assert known.best_score_ == pytest.approx(min(1.0, max(0.0, known.best_total_ / scored)))
    secret = PrivateSearchCV(MODEL, GRID, epsilon=8.0, delta=1e-5, mean_tries=3, holdout=holdout).fit(ROWS, LABELS)
    assert secret.best_total_ != known.best_total_
    assert not hasattr(secret, "best_score_")

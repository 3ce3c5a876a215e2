"""Private search: the best of a secret random number of tries, each a fit and a noisy score, all paid at once."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, final, get_args

import numpy as np
from sklearn.base import clone

from privet import accounting, noise
from privet._calls import door
from privet._numerics import Array, bisect
from privet._validate import above, instance, items, open_fraction, set_frozen
from privet.errors import InvalidParameter, NoGuarantee
from privet.learn.estimators import (
    PCA,
    EstimatorExample,
    LogisticRegression,
    PrivateEstimator,
    register as register_estimator,
)
from privet.learn.estimators.example_records import labelled
from privet.learn.problem import ArrayRecords, Classes, Counts, Interval, Records
from privet.learn.search.chain import (
    Encoders,
    admit,
    check_different,
    check_model,
    checked_encoders,
    fit_of,
    fitted_encoder,
    freed,
    last_step,
    losses_of,
    mapped_by,
    nothing_known,
    planned,
    ran,
    steps_of,
)
from privet.learn.search.holdout import in_two, score_of
from privet.learn.solvers import OutputPerturbation
from privet.mechanisms import (
    Algorithm,
    Anything,
    Example,
    Form,
    Gaussian,
    Laplace,
    Mechanism,
    Numbers,
    Record,
    Sensitivity,
    Source,
    register,
)
from privet.privacy import (
    Composed,
    GaussianLoss,
    Guarantee,
    Parallel,
    PrivacyLoss,
    Selected,
    Unit,
    analytic_noise_multiplier,
)
from privet.privacy.selected import stopping_probability

Law = Literal["logarithmic", "geometric", "poisson"]
_ETA = {"logarithmic": 0.0, "geometric": 1.0, "poisson": 1.0}
_MOST_TRIES = 10_000  # on average: each is a whole fit
_SCORE = 0.2  # of a try's price, for a score on the records of the fit
_LESS = 0.005  # how much cheaper than it seems to be needed a try is made where its price is not that of normal noise
_SHARES = 40  # how often a try is made cheaper


@door
@final
@register_estimator
@dataclass(eq=False, repr=False)
class PrivateSearchCV(PrivateEstimator):
    """The best of a random number of private fits with parameters from `param_grid`, for one price.

    A secret number of tries is drawn by `law` with the mean `mean_tries`: "logarithmic" (cheapest), "geometric", or
    "poisson" (which may be 0: then the answer is a fixed public model). Each try takes parameters at random, fits
    `estimator` with them on the training records, and gets a noisy score on the held-out ones, a share `holdout` that
    private coins pick; `holdout=None` scores on the records of the fit, at a price. The best score wins. How often it was
    tried is not told, and must not be: it would cost extra. The time that a fit takes tells about it; do not show that.

    The budget is that of the search: `epsilon`, `delta`, `unit`, `ledger` of `estimator` do not count. A larger grid costs
    nothing, a larger `mean_tries` little.

    `best_total_` is the noisy sum of the scores of the records that were held out: 1 for a right class, or
    1 - (residual/width of bounds_y)^2. `best_score_` is their mean, where the number of records is public: give `n_rows=`
    to `estimator`. It is that sum over the expected number, `holdout` times `n_rows`, between 0 and 1, and for numbers not
    scikit-learn's R^2. How many records there are is private else, and there is no `best_score_`.

    `estimator` is a classifier or a regression, or a `Pipeline` of one behind `MinMaxScaler`, `StandardScaler` or `PCA`;
    parameters of its steps are named as scikit-learn does (`standardscaler__bounds`). A fifth of the price of a fit goes to
    each encoder that reads records.

    Candidates must differ: parameters that do not count in a private fit, such as `C`, are refused in `param_grid`.

    **Guarantee:** `privacy.Selected` of one try; in `privacy_`.
    **Reference:** Papernot & Steinke 2022; Liu & Talwar 2019.

    >>> rows = np.random.default_rng(0).normal(size=(3_000, 2))
    >>> labels = (rows[:, 0] > 0).astype(int)
    >>> model = LogisticRegression(classes=[0, 1])
    >>> search = PrivateSearchCV(model, {"row_norm": [1.0, 3.0]}, epsilon=2.0, delta=1e-6, mean_tries=4)
    >>> bool(search.fit(rows, labels).predict(rows).mean() < 0.7), sorted(search.best_params_)
    (True, ['row_norm'])
    """

    estimator: Any = None
    param_grid: Any = None
    mean_tries: float = 10.0
    law: Law = "logarithmic"
    holdout: float | None = 0.2

    def _candidates(self) -> list[dict[str, Any]]:
        from sklearn.model_selection import ParameterGrid

        model = steps_of(self.estimator)[1]
        grid = self.param_grid
        if not isinstance(grid, Mapping | Sequence) or isinstance(grid, str):
            raise InvalidParameter("param_grid must be a dict of lists, or a list of dicts, as scikit-learn takes it")
        try:
            found = [dict(each) for each in ParameterGrid(grid if isinstance(grid, Mapping) else list(grid))]
        except (TypeError, ValueError) as problem:
            raise InvalidParameter(f"param_grid: {problem}") from None
        paid = {"epsilon", "delta", "rho", "mu", "unit", "ledger", "source", "bad_rows"}
        asked = {name.rpartition("__")[2] for each in found for name in each}
        if not found or paid & asked:
            raise InvalidParameter("param_grid must hold parameters of the model, not what a fit costs or who pays")
        unused = sorted(set(model._without_privacy) & asked)
        if unused and not self._is_exact():
            raise InvalidParameter(
                f"param_grid: {', '.join(unused)} counts at epsilon=inf only, so that all candidates would be the same "
                "model: search over row_norm, or over solver, such as ObjectivePerturbation(strength=...)"
            )
        return found

    def _models(self) -> list[Any]:
        made = []
        for each in self._candidates():
            try:
                model = clone(self.estimator).set_params(**each)
            except ValueError as problem:
                raise InvalidParameter(f"param_grid: {problem}") from None
            made.append(freed(model))
        return made

    def _plan(self, columns: int, unit: Unit, promise: Guarantee) -> "Mechanism[Records, Any]":
        if promise.epsilon is None:
            raise InvalidParameter("a search is planned for epsilon, with or without delta")
        if self.law not in get_args(Law):
            raise InvalidParameter(f"law must be one of {', '.join(get_args(Law))}")
        if self.holdout is not None:
            open_fraction("holdout", self.holdout)
        mean, models = above("mean_tries", self.mean_tries, 0.0), self._models()
        if mean > _MOST_TRIES:
            raise InvalidParameter(f"mean_tries must be at most {_MOST_TRIES:,}")
        each = try_epsilon(promise, mean, self.law)
        less = 0.0
        check_different(models, columns, unit, Guarantee(each, promise.delta))
        for _ in range(_SHARES):
            made = SearchFit.planned(
                models, columns, unit, each * math.exp(-less), promise, mean, self.law, self.holdout
            )
            found = _epsilon(promise, made.loss)
            if found <= promise.epsilon:
                return made
            less += min(0.5, math.log(found / promise.epsilon)) + _LESS  # nearly: prices grow with those of tries
        raise NoGuarantee("no try is cheap enough for this promise; take another solver")

    def _set(self, value: Any, plan: Any) -> None:
        place = int(value["candidate"])
        self.best_index_, self.best_params_ = place, self._candidates()[place]
        whole, encoders, told = clone(self._models()[place]), plan.encoders_of(place), value["value"]
        steps, best = steps_of(whole)
        seen = iter(told["encoders"]) if encoders else iter(())
        columns = self.n_features_in_
        for step, encoder in zip(steps, encoders, strict=True):
            vars(step).update(vars(fitted_encoder(encoder, None if encoder.plan is None else next(seen), columns)))
            columns = len(step.components_) if isinstance(step, PCA) else columns
        best.n_features_in_ = columns
        for name in ("feature_names_in_", "encoding_"):
            if hasattr(self, name):
                setattr(steps[0] if steps else best, name, getattr(self, name))
        best._set(_released(fit_of(encoders, told)), plan.plans[place])
        self.best_estimator_, self.best_total_ = whole, float(value["score"])
        if getattr(best, "n_rows", None) is not None:
            expected = best.n_rows * (1.0 if self.holdout is None else self.holdout)
            self.best_score_ = min(1.0, max(0.0, self.best_total_ / expected))
        if hasattr(best, "classes_"):
            self.classes_ = best.classes_

    def _fit_exactly(self, rows: object, targets: object) -> None:
        from sklearn.model_selection import GridSearchCV

        grid = [{name: [value] for name, value in each.items()} for each in self._candidates()]
        whole = clone(self.estimator)
        encoders, model = steps_of(whole)
        for step in (*encoders, model):
            step.set_params(epsilon=math.inf, delta=0.0, rho=None, mu=None)
        plain = GridSearchCV(whole, grid)
        plain.fit(rows, targets)
        self.best_index_, self.best_params_ = int(plain.best_index_), dict(plain.best_params_)
        self.best_estimator_, self.best_score_ = plain.best_estimator_, float(plain.best_score_)
        if hasattr(self.best_estimator_, "classes_"):
            self.classes_ = self.best_estimator_.classes_

    def _is_quiet(self) -> bool:
        """Also where the model alone asks for it: one that is tried may not refuse what it was told to bear."""
        return "zero" in (self.bad_rows, getattr(last_step(self.estimator), "bad_rows", None))

    def _predicts_numbers(self) -> bool:
        last = last_step(self.estimator)
        return isinstance(last, PrivateEstimator) and last._predicts_numbers()

    def _check_targets(self, targets: Array) -> None:
        last = last_step(self.estimator)
        if isinstance(last, PrivateEstimator):
            last._check_targets(targets)

    def _best(self) -> Any:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def predict(self, X: object) -> Array:
        """Predictions of the best model."""
        return np.asarray(self._best().predict(X))

    def predict_proba(self, X: object) -> Array:
        """Probabilities of classes by the best model."""
        return np.asarray(self._best().predict_proba(X))

    def decision_function(self, X: object) -> Array:
        """Margins of the best model."""
        return np.asarray(self._best().decision_function(X))

    def score(self, X: object, y: object) -> float:
        """The score of the best model on these records, without privacy: for public ones."""
        return float(self._best().score(X, y))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        last = last_step(self.estimator)
        if isinstance(last, PrivateEstimator):
            inner = last.__sklearn_tags__()
            tags.estimator_type = inner.estimator_type
            tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        return tags

    @classmethod
    def examples(cls) -> Iterable[EstimatorExample]:
        model, grid = LogisticRegression(classes=[0, 1]), {"row_norm": [1.0, 3.0]}
        yield EstimatorExample("search", cls(estimator=model, param_grid=grid, mean_tries=2.0), labelled(2))


def _released(value: object) -> Any:
    """The output of a fit: an array, or a record of them."""
    return value if isinstance(value, Mapping) else np.asarray(value)


def _epsilon(promise: Guarantee, loss: PrivacyLoss) -> float:
    """The price of a search at the delta of the promise. It is priced by its Rényi curve: no accountant knows
    better."""
    if promise.delta == 0.0:
        return loss.pure()
    return accounting.Rdp().epsilon(loss, promise.delta).upper


@lru_cache(maxsize=64)
def try_epsilon(promise: Guarantee, mean: float, law: Law) -> float:
    """The epsilon of one try, at the delta of the promise: exact for normal noise, where others begin.

    >>> try_epsilon(Guarantee(1.0), 10.0, "logarithmic")
    0.4999999995
    """
    eta, poisson = _ETA[law], law == "poisson"
    assert promise.epsilon is not None
    if promise.delta == 0.0:
        if poisson:
            raise InvalidParameter('a Poisson number of tries has no pure price: take law="logarithmic"')
        return promise.epsilon / (2.0 + eta) * (1.0 - 1e-9)

    def enough(log_share: float) -> bool:
        assert promise.epsilon is not None
        one = GaussianLoss(analytic_noise_multiplier(promise.epsilon * math.exp(-log_share), promise.delta))
        return _epsilon(promise, Selected(one, mean=mean, eta=eta, poisson=poisson)) <= promise.epsilon

    return promise.epsilon * math.exp(-bisect(enough, 0.0, 12.0, within=1e-3)) * (1.0 - 1e-6)


def shared_epsilon(epsilon: float, delta: float) -> tuple[float, float]:
    """The epsilons of a fit and of a score that together cost what one release of normal noise at (epsilon, delta) costs;
    without delta their sum is epsilon.

    >>> shared_epsilon(1.0, 0.0)
    (0.8, 0.2)
    """
    if delta == 0.0:
        return (1.0 - _SCORE) * epsilon, _SCORE * epsilon
    whole = analytic_noise_multiplier(epsilon, delta)
    first, second = (
        accounting.epsilon(GaussianLoss(whole / math.sqrt(share)), delta=delta).upper
        for share in (1.0 - _SCORE, _SCORE)
    )
    return first, second


@final
@register
@dataclass(frozen=True, kw_only=True)
class SearchFit(Algorithm[Any, Any]):
    """The best of a secret random number of tries: parameters at random, a fit, and a noisy score.

    **Guarantee:** `Selected` of one try, whose price is the largest over the candidates; a fit and a score on disjoint
    records cost the larger of the two.
    **Sensitivity:** of a score: 1, as whole numbers of 2^-24.
    **Reference:** Papernot & Steinke 2022; Liu & Talwar 2019.
    **Proof:** docs/proofs/learn/search_fit.md.
    """

    name = "search_fit"
    at_most = True  # the number of tries is random: the price is for all of its law

    plans: tuple[Mechanism[Any, Any], ...]
    models: tuple[Any, ...] = field(repr=False)
    judge: Gaussian | Laplace
    mean: float
    law: Law = "logarithmic"
    holdout: float | None = 0.2
    encoders: tuple[Encoders, ...] = field(default=(), repr=False)
    at: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, plans=items("plans", self.plans), models=items("models", self.models))
        if not self.plans or len(self.plans) != len(self.models):
            raise InvalidParameter("plans must hold one plan for each of the models, and at least one")
        for plan, model in zip(self.plans, self.models, strict=True):
            instance("plans", plan, Mechanism)
            if not isinstance(plan.task.target, Classes | Interval | Counts):  # type: ignore[attr-defined]
                raise InvalidParameter("a search scores models of classes, or of numbers within bounds_y")
            check_model(model)
        set_frozen(self, encoders=checked_encoders(self.encoders, len(self.plans)))
        instance("judge", self.judge, Gaussian, Laplace)
        set_frozen(self, mean=above("mean", self.mean, 0.0))
        if self.law not in get_args(Law):
            raise InvalidParameter(f"law must be one of {', '.join(get_args(Law))}")
        if self.holdout is not None:
            set_frozen(self, holdout=open_fraction("holdout", self.holdout))
        if self.judge.sensitivity.value < self.judge.sensitivity.unit.group_size:
            raise InvalidParameter("the noise of scores was made for a smaller sensitivity than a search has")

    @classmethod
    def planned(
        cls,
        models: Sequence[Any],
        columns: int,
        unit: Unit,
        epsilon: float,
        promise: Guarantee,
        mean: float,
        law: Law,
        holdout: float | None,
    ) -> "SearchFit":
        """Tries of this epsilon each, at the delta of the promise."""
        apart = holdout is not None and unit.group_size == 1
        fit, score = (epsilon, epsilon) if apart else shared_epsilon(epsilon, promise.delta)
        one = Sensitivity(Fraction(unit.group_size), norm="l1" if promise.delta == 0.0 else "l2", unit=unit)
        judge: Any = (
            Laplace.for_budget(epsilon=score, sensitivity=one)
            if promise.delta == 0.0
            else Gaussian.for_budget(epsilon=score, delta=promise.delta, sensitivity=one)
        )
        made = [planned(model, columns, unit, Guarantee(fit, promise.delta)) for model in models]
        return cls(
            plans=tuple(plan for _, plan in made),
            encoders=tuple(encoders for encoders, _ in made),
            models=tuple(models),
            judge=judge,
            mean=mean,
            law=law,
            holdout=holdout,
            at=promise.delta or None,
        )

    @property
    def loss(self) -> PrivacyLoss:
        tries = Parallel([self._price_of(parts) for parts in self._tries()], fixed_blocks=True)
        return Selected(tries, mean=self.mean, eta=_ETA[self.law], poisson=self.law == "poisson")

    def _tries(self) -> list[tuple[PrivacyLoss, ...]]:
        """The outputs of a try with each of the candidates."""
        return [(*losses_of(self.encoders_of(place), plan), self.judge.loss) for place, plan in enumerate(self.plans)]

    def encoders_of(self, place: int) -> Encoders:
        """The encoders of a candidate."""
        return self.encoders[place] if self.encoders else ()

    def _price_of(self, parts: Iterable[PrivacyLoss]) -> PrivacyLoss:
        """One try: on disjoint records the larger price, else both. A person with several records may be in both parts."""
        held = self.holdout is not None and self.judge.sensitivity.unit.group_size == 1
        *fit, score = parts
        one = fit[0] if len(fit) == 1 else Composed(fit)
        return Parallel([one, score], fixed_blocks=True) if held else Composed([*fit, score])

    @property
    def form(self) -> Form:
        return Record({"candidate": Numbers(), "score": Numbers(), "value": Anything()})

    def _admit(self, value: object) -> None:
        for place, plan in enumerate(self.plans):
            admit(self.encoders_of(place), plan, value)

    def _run(self, prepared: Records, source: Source) -> dict[str, Any]:
        fitted, held = prepared, prepared
        if self.holdout is not None:
            share = self.holdout
            fitted, held = in_two(
                prepared,
                lambda n: self._coins("split", lambda s: noise.poisson_subset(n, q=share, source=s), source),
            )
        tries = int(self._coins("tries", self._number, source))
        bound = len(self.plans)
        picks = [
            int(self._coins("pick", lambda s: noise.uniform_int(bound=bound, source=s), source)) for _ in range(tries)
        ]
        best: dict[str, Any] = {"candidate": 0, "score": 0.0, "value": self._fallback}
        with self._priced(lambda parts: self._whole(parts, picks)):
            for first, place in enumerate(picks):
                value = ran(self.encoders_of(place), self.plans[place], fitted, source)
                score = self.judge.release(self._score(place, value, held), source=source).value
                if first == 0 or score > best["score"]:
                    best = {"candidate": place, "score": float(score), "value": value}
        return best

    def _number(self, source: Source) -> int:
        if self.law == "poisson":
            return int(noise.poisson(mean=self.mean, source=source))
        eta = _ETA[self.law]
        # a mean that is a little smaller, never larger than the one that is priced
        gamma = min(1.0, stopping_probability(self.mean, eta) * (1.0 + 1e-12))
        return int(noise.truncated_negative_binomial(eta=eta, gamma=gamma, source=source))

    def _whole(self, parts: Sequence[PrivacyLoss], picks: Sequence[int]) -> PrivacyLoss:
        """The price of all tries together, provided that they released what a try is priced for."""
        known = self._tries()
        ran = Counter(dict(Composed(parts).parts()))
        priced = Counter(dict(Composed([loss for place in picks for loss in known[place]]).parts()))
        if ran != priced:
            raise InvalidParameter("a try released something else than what it is priced for")
        return self.loss

    def _score(self, place: int, value: object, records: Records) -> Fraction:
        """Not releasable: `judge` adds its noise."""
        model, plan, encoders = clone(last_step(self.models[place])), self.plans[place], self.encoders_of(place)
        model._set(_released(fit_of(encoders, value)), plan)
        return score_of(model, plan.task, mapped_by(encoders, value, records))  # type: ignore[attr-defined]

    @property
    def _fallback(self) -> Any:
        """The answer without a try: a model of zeros, of which nothing is known. It is public."""
        return nothing_known(self.encoders_of(0), self.plans[0])

    @classmethod
    def examples(cls) -> Iterable[Example]:
        models = [
            LogisticRegression(classes=[0, 1], row_norm=1.0, solver=OutputPerturbation(strength=strength))
            for strength in (4.0, 8.0)
        ]
        rows, labels = np.array([[1.0], [-1.0], [0.5]]), np.array([1, 0, 1])
        pair = ArrayRecords(rows, labels), ArrayRecords(rows[:2], labels[:2])
        promise = Guarantee(2.0, 1e-5)
        each = try_epsilon(promise, 3.0, "logarithmic")
        made = cls.planned(models, 1, Unit(), each, promise, 3.0, "logarithmic", 0.5)
        yield Example(made, *pair, cost="costly", detects=0.25)
        pure = cls.planned(models, 1, Unit("replace"), 0.3, Guarantee(0.9), 2.0, "geometric", None)
        other = ArrayRecords(np.array([[1.0], [-1.0], [-0.5]]), np.array([1, 0, 0]))
        yield Example(pure, pair[0], other, Guarantee(0.9), cost="costly", detects=0.25)
        many, sides = np.repeat([[0.5], [-0.5]], 150, axis=0), np.repeat([1, 0], 150)
        more = np.vstack([many, [[1.0]]])  # every model is right about one of the two labels of the last record
        turned = ArrayRecords(more, np.append(sides, 1)), ArrayRecords(more, np.append(sides, 0))
        yield Example(pure, *turned, Guarantee(0.9), cost="costly", detects=0.25)

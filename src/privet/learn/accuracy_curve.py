"""Accuracy against epsilon: the same model fitted at several promises, on data that are public or paid for each time."""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from privet._validate import above, count, flag, instance, items
from privet.errors import InvalidParameter
from privet.learn.estimators import PrivateEstimator
from privet.ledger import current


@final
@dataclass(frozen=True)
class AccuracyCurve:
    """Scores of one model at several epsilons.

    `scores` holds a row of scores for each epsilon, `exact` the score of the fit without privacy (public data only), and
    `cost` the sum of all epsilons: what the curve costs on private data by basic composition.

    >>> AccuracyCurve((0.1, 1.0), ((0.5, 0.7), (0.8, 0.8)), 0.9, 2.2).means
    (0.6, 0.8)
    """

    epsilons: tuple[float, ...]
    scores: tuple[tuple[float, ...], ...]
    exact: float | None
    cost: float

    @property
    def means(self) -> tuple[float, ...]:
        """The mean score at each epsilon."""
        return tuple(float(np.mean(row)) for row in self.scores)

    @property
    def deviations(self) -> tuple[float, ...]:
        """The standard deviation of one fit at each epsilon: how far a single private model may lie from the mean."""
        return tuple(float(np.std(row, ddof=1)) if len(row) > 1 else math.nan for row in self.scores)


def accuracy_curve(
    model: PrivateEstimator,
    X: object,
    y: object,
    X_test: object,
    y_test: object,
    *,
    epsilons: Sequence[float] = (0.1, 0.3, 1.0, 3.0),
    runs: int = 5,
    public: bool = False,
) -> AccuracyCurve:
    """Fit a model `runs` times at each epsilon, and score it on test rows, which must be public.

    `public=True` declares that X and y are public or synthetic: then nothing is paid, and the fit without privacy is the
    end of the scale. Otherwise every single fit is paid by the model's ledger, or the one in force: the sum of all
    epsilons times `runs`, which is why such a curve is drawn on data like one's own rather than on one's own.
    `report.accuracy_figure` draws it.

    >>> from privet.learn import LogisticRegression
    >>> rows = np.random.default_rng(0).normal(size=(400, 2))
    >>> labels = (rows[:, 0] > 0).astype(int)
    >>> model = LogisticRegression(epsilon=1.0, delta=1e-5, row_norm=3.0, classes=[0, 1])
    >>> curve = accuracy_curve(model, rows, labels, rows, labels, epsilons=[0.5, 5.0], runs=2, public=True)
    >>> len(curve.scores), curve.cost, curve.exact > 0.9
    (2, 11.0, True)
    """
    instance("model", model, PrivateEstimator)
    flag("public", public)
    if model.rho is not None or model.mu is not None:
        raise InvalidParameter("the curve is over epsilon: give the model epsilon and delta instead of rho or mu")
    asked = tuple(above("epsilons", each, 0.0) for each in items("epsilons", epsilons))
    if not asked or not all(math.isfinite(each) for each in asked):
        raise InvalidParameter("epsilons must hold at least one finite number; the fit without privacy is drawn anyway")
    runs = count("runs", runs, 1)
    cost = runs * math.fsum(asked)
    _check_payer(model, public, cost)
    scores = tuple(
        tuple(_score(model, each, model.delta, (X, y), (X_test, y_test)) for _ in range(runs)) for each in asked
    )
    exact = _score(model, math.inf, 0.0, (X, y), (X_test, y_test)) if public else None
    return AccuracyCurve(asked, scores, exact, cost)


def _check_payer(model: PrivateEstimator, public: bool, cost: float) -> None:
    payer = model.ledger is not None or current() is not None
    if public and payer:
        raise InvalidParameter(
            "public data need no ledger, and one is in force: leave it out, or leave out public=True"
        )
    if not public and not payer:
        raise InvalidParameter(
            f"on private data this curve costs {cost:g} in epsilon: give the model a ledger that pays for every fit, or "
            "say public=True where the data are public or synthetic"
        )


def _score(model: PrivateEstimator, epsilon: float, delta: float, train: Any, test: Any) -> float:
    tried: Any = copy.deepcopy(model).set_params(epsilon=epsilon, delta=delta)
    return float(tried.fit(*train).score(*test))

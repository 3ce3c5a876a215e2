"""Private learning in the shape of scikit-learn estimators."""

from privet._face import face
from privet.learn import losses as losses, solvers as solvers
from privet.learn.estimators import (
    FitPrivacy as FitPrivacy,
    HuberRegressor as HuberRegressor,
    LinearSVC as LinearSVC,
    LogisticRegression as LogisticRegression,
    PoissonRegressor as PoissonRegressor,
    PrivateEstimator as PrivateEstimator,
    QuantileRegressor as QuantileRegressor,
)

__all__, __dir__ = face(globals(), "losses", "solvers")

"""Private learning in the shape of scikit-learn estimators."""

from privet._face import face
from privet.learn import losses as losses, solvers as solvers
from privet.learn.estimators import (
    PCA as PCA,
    FitPrivacy as FitPrivacy,
    GaussianNB as GaussianNB,
    KMeans as KMeans,
    LinearRegression as LinearRegression,
    LogisticRegression as LogisticRegression,
    PrivateEstimator as PrivateEstimator,
    Ridge as Ridge,
    StandardScaler as StandardScaler,
)

__all__, __dir__ = face(globals(), "losses", "solvers")

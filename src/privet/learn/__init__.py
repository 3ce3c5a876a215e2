"""Private learning in the shape of scikit-learn estimators."""

from privet._face import face
from privet.learn import losses as losses, solvers as solvers, theory as theory
from privet.learn.estimators import (
    ElasticNet as ElasticNet,
    FitPrivacy as FitPrivacy,
    Lasso as Lasso,
    LogisticRegression as LogisticRegression,
    PrivateEstimator as PrivateEstimator,
)
from privet.learn.search import PrivateSearchCV as PrivateSearchCV, SearchFit as SearchFit

__all__, __dir__ = face(globals(), "losses", "solvers", "theory")

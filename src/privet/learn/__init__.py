"""Private learning in the shape of scikit-learn estimators."""

from privet._face import face
from privet.learn import losses as losses, solvers as solvers, theory as theory
from privet.learn.accuracy_curve import AccuracyCurve as AccuracyCurve, accuracy_curve as accuracy_curve
from privet.learn.encoding import Encoded as Encoded, Encoding as Encoding
from privet.learn.estimators import (
    PCA as PCA,
    ElasticNet as ElasticNet,
    FitPrivacy as FitPrivacy,
    GaussianNB as GaussianNB,
    HuberRegressor as HuberRegressor,
    KMeans as KMeans,
    Lasso as Lasso,
    LinearRegression as LinearRegression,
    LinearSVC as LinearSVC,
    LogisticRegression as LogisticRegression,
    MinMaxScaler as MinMaxScaler,
    PoissonRegressor as PoissonRegressor,
    PrivateEstimator as PrivateEstimator,
    QuantileRegressor as QuantileRegressor,
    Ridge as Ridge,
    StandardScaler as StandardScaler,
)
from privet.learn.model_file import load as load, save as save
from privet.learn.search import PrivateSearchCV as PrivateSearchCV, SearchFit as SearchFit

__all__, __dir__ = face(globals(), "losses", "solvers", "theory")

"""Estimators in the shape of scikit-learn's."""

from privet._face import face
from privet.learn.estimators.estimator import PrivateEstimator as PrivateEstimator
from privet.learn.estimators.huber_regressor import HuberRegressor as HuberRegressor
from privet.learn.estimators.linear_svc import LinearSVC as LinearSVC
from privet.learn.estimators.logistic_regression import LogisticRegression as LogisticRegression
from privet.learn.estimators.poisson_regressor import PoissonRegressor as PoissonRegressor
from privet.learn.estimators.privacy import FitPrivacy as FitPrivacy
from privet.learn.estimators.quantile_regressor import QuantileRegressor as QuantileRegressor

__all__, __dir__ = face(globals())

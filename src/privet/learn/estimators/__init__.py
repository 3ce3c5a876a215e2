"""Estimators in the shape of scikit-learn's."""

from privet._face import face
from privet.learn.estimators.elastic_net import ElasticNet as ElasticNet
from privet.learn.estimators.estimator import (
    EstimatorExample as EstimatorExample,
    PrivateEstimator as PrivateEstimator,
    register as register,
    registered_estimators as registered_estimators,
)
from privet.learn.estimators.gaussian_nb import GaussianNB as GaussianNB
from privet.learn.estimators.huber_regressor import HuberRegressor as HuberRegressor
from privet.learn.estimators.k_means import KMeans as KMeans
from privet.learn.estimators.lasso import Lasso as Lasso
from privet.learn.estimators.linear_regression import LinearRegression as LinearRegression
from privet.learn.estimators.linear_svc import LinearSVC as LinearSVC
from privet.learn.estimators.logistic_regression import LogisticRegression as LogisticRegression
from privet.learn.estimators.min_max_scaler import MinMaxScaler as MinMaxScaler
from privet.learn.estimators.pca import PCA as PCA
from privet.learn.estimators.poisson_regressor import PoissonRegressor as PoissonRegressor
from privet.learn.estimators.privacy import FitPrivacy as FitPrivacy
from privet.learn.estimators.quantile_regressor import QuantileRegressor as QuantileRegressor
from privet.learn.estimators.ridge import Ridge as Ridge
from privet.learn.estimators.standard_scaler import StandardScaler as StandardScaler

__all__, __dir__ = face(globals())

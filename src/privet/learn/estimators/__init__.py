"""Estimators in the shape of scikit-learn's."""

from privet._face import face
from privet.learn.estimators.elastic_net import ElasticNet as ElasticNet
from privet.learn.estimators.estimator import PrivateEstimator as PrivateEstimator
from privet.learn.estimators.lasso import Lasso as Lasso
from privet.learn.estimators.logistic_regression import LogisticRegression as LogisticRegression
from privet.learn.estimators.privacy import FitPrivacy as FitPrivacy

__all__, __dir__ = face(globals())

"""Mechanisms: a loss and a release, from Laplace to above-threshold. They know no tables, ledgers or counts."""

from privet.mechanisms.above_threshold import AboveThreshold, ThresholdStream
from privet.mechanisms.base import (
    AdditiveMechanism,
    ErrorBar,
    Estimate,
    Example,
    Mechanism,
    Release,
    ResponseMechanism,
    SelectionMechanism,
    Sensitivity,
    register,
    registered_mechanisms,
)
from privet.mechanisms.bounded_mean import BoundedMean
from privet.mechanisms.bounded_sum import BoundedSum
from privet.mechanisms.bounded_variance import BoundedVariance
from privet.mechanisms.count import Count
from privet.mechanisms.discrete_gaussian import DiscreteGaussian
from privet.mechanisms.discrete_laplace import DiscreteLaplace
from privet.mechanisms.exponential import Exponential
from privet.mechanisms.for_error import for_error
from privet.mechanisms.gaussian import Gaussian
from privet.mechanisms.geometric import Geometric
from privet.mechanisms.histogram import Histogram
from privet.mechanisms.krr import KRR
from privet.mechanisms.laplace import Laplace
from privet.mechanisms.noisy_max import NoisyMax
from privet.mechanisms.noisy_max_gap import NoisyMaxGap
from privet.mechanisms.permute_and_flip import PermuteAndFlip
from privet.mechanisms.propose_test_release import ProposeTestRelease, StableMedian, StableQuery
from privet.mechanisms.quantile import Quantile
from privet.mechanisms.randomized_response import RandomizedResponse
from privet.mechanisms.row_count import RowCount
from privet.mechanisms.sensitivities import (
    count_sensitivity,
    counts_sensitivity,
    histogram_sensitivity,
    mean_sensitivity,
    sum_sensitivity,
)
from privet.mechanisms.sensitivity_search import Counterexample, find_counterexample
from privet.mechanisms.smallest_budget import smallest_budget
from privet.mechanisms.smooth_sensitivity import SmoothMedian
from privet.mechanisms.staircase import Staircase
from privet.mechanisms.top_k import TopK
from privet.mechanisms.vector_mean import VectorMean
from privet.mechanisms.vector_sum import VectorSum

__all__ = [
    "Quantile",
    "ThresholdStream",
    "AboveThreshold",
    "AdditiveMechanism",
    "BoundedMean",
    "BoundedSum",
    "BoundedVariance",
    "Count",
    "Counterexample",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "ErrorBar",
    "Estimate",
    "Example",
    "Exponential",
    "Gaussian",
    "Geometric",
    "Histogram",
    "KRR",
    "Laplace",
    "Mechanism",
    "NoisyMax",
    "NoisyMaxGap",
    "PermuteAndFlip",
    "ProposeTestRelease",
    "RandomizedResponse",
    "Release",
    "ResponseMechanism",
    "RowCount",
    "SelectionMechanism",
    "Sensitivity",
    "SmoothMedian",
    "Staircase",
    "StableMedian",
    "StableQuery",
    "TopK",
    "VectorMean",
    "VectorSum",
    "count_sensitivity",
    "counts_sensitivity",
    "find_counterexample",
    "for_error",
    "histogram_sensitivity",
    "mean_sensitivity",
    "register",
    "registered_mechanisms",
    "sum_sensitivity",
    "smallest_budget",
]

"""Mechanisms: a loss and a release, from Laplace to above-threshold. They know no tables, ledgers or counts."""

from privet._face import face
from privet.mechanisms.above_threshold import AboveThreshold as AboveThreshold, ThresholdStream as ThresholdStream
from privet.mechanisms.algorithm import Algorithm as Algorithm
from privet.mechanisms.ball import Ball as Ball
from privet.mechanisms.blocks import BlockAlgorithm as BlockAlgorithm
from privet.mechanisms.bounded_mean import BoundedMean as BoundedMean
from privet.mechanisms.bounded_sum import BoundedSum as BoundedSum
from privet.mechanisms.bounded_variance import BoundedVariance as BoundedVariance
from privet.mechanisms.count import Count as Count
from privet.mechanisms.discrete_gaussian import DiscreteGaussian as DiscreteGaussian
from privet.mechanisms.discrete_laplace import DiscreteLaplace as DiscreteLaplace
from privet.mechanisms.display import price_in_words as price_in_words
from privet.mechanisms.error_bar import ErrorBar as ErrorBar
from privet.mechanisms.estimate import Estimate as Estimate
from privet.mechanisms.exponential import Exponential as Exponential
from privet.mechanisms.families.additive import AdditiveMechanism as AdditiveMechanism
from privet.mechanisms.families.odds import (
    chance_for as chance_for,
    epsilon_of_odds as epsilon_of_odds,
    odds_of as odds_of,
)
from privet.mechanisms.families.records import row_sensitivity as row_sensitivity
from privet.mechanisms.families.response import ResponseMechanism as ResponseMechanism
from privet.mechanisms.families.selection import SelectionMechanism as SelectionMechanism
from privet.mechanisms.form import (
    Anything as Anything,
    Columns as Columns,
    Dates as Dates,
    Form as Form,
    Kept as Kept,
    ListOf as ListOf,
    Maybe as Maybe,
    Numbers as Numbers,
    OneOf as OneOf,
    Record as Record,
    Texts as Texts,
    Unstorable as Unstorable,
)
from privet.mechanisms.gaussian import Gaussian as Gaussian
from privet.mechanisms.geometric import Geometric as Geometric
from privet.mechanisms.here import carry as carry
from privet.mechanisms.histogram import Histogram as Histogram
from privet.mechanisms.krr import KRR as KRR
from privet.mechanisms.laplace import Laplace as Laplace
from privet.mechanisms.least_noise import least_noise as least_noise
from privet.mechanisms.mechanism import (
    STREAM as STREAM,
    Example as Example,
    Mechanism as Mechanism,
    Source as Source,
    register as register,
    registered_mechanisms as registered_mechanisms,
)
from privet.mechanisms.noisy_max import NoisyMax as NoisyMax
from privet.mechanisms.noisy_max_gap import NoisyMaxGap as NoisyMaxGap
from privet.mechanisms.payment import observed as observed, outside as outside, sealed as sealed
from privet.mechanisms.permute_and_flip import PermuteAndFlip as PermuteAndFlip
from privet.mechanisms.propose_test_release import (
    ProposeTestRelease as ProposeTestRelease,
    StableMedian as StableMedian,
    StableQuery as StableQuery,
)
from privet.mechanisms.quantile import Quantile as Quantile
from privet.mechanisms.randomized_response import RandomizedResponse as RandomizedResponse
from privet.mechanisms.receipt import proof_of as proof_of, read_back as read_back, receipt as receipt
from privet.mechanisms.release import Release as Release
from privet.mechanisms.row_count import RowCount as RowCount
from privet.mechanisms.sensitivities import (
    count_sensitivity as count_sensitivity,
    counts_sensitivity as counts_sensitivity,
    histogram_sensitivity as histogram_sensitivity,
    mean_sensitivity as mean_sensitivity,
    sum_sensitivity as sum_sensitivity,
)
from privet.mechanisms.sensitivity import Sensitivity as Sensitivity
from privet.mechanisms.smallest_budget import smallest_budget as smallest_budget
from privet.mechanisms.smooth_sensitivity import SmoothMedian as SmoothMedian
from privet.mechanisms.staircase import Staircase as Staircase
from privet.mechanisms.stored import (
    Outside as Outside,
    storable as storable,
    storable_kinds as storable_kinds,
)
from privet.mechanisms.target import pure_scale as pure_scale, scale_for as scale_for, smallest_scale as smallest_scale
from privet.mechanisms.top_k import TopK as TopK
from privet.mechanisms.vector_mean import VectorMean as VectorMean
from privet.mechanisms.vector_sum import VectorSum as VectorSum
from privet.mechanisms.vectors import clipped_steps as clipped_steps

__all__, __dir__ = face(globals())

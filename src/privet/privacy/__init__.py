"""What things cost: frozen prices, their combinators, divergences and the JSON form. No data, no randomness."""

from privet.privacy import divergences
from privet.privacy.above_threshold import AboveThresholdLoss
from privet.privacy.approx import ApproxLoss
from privet.privacy.base import (
    Approximate,
    AtomicVariable,
    Direction,
    LossVariable,
    OpaqueLoss,
    PrivacyLoss,
    RdpCurve,
    Relation,
    Unit,
    ZcdpBound,
    from_json,
    register,
    registered_kinds,
    to_json,
)
from privet.privacy.composed import Composed, Repeated
from privet.privacy.discrete_gaussian import DiscreteGaussianLoss
from privet.privacy.discrete_laplace import DiscreteLaplaceLoss
from privet.privacy.drawn_sampled import WithReplacementSampled
from privet.privacy.exponential import ExponentialLoss
from privet.privacy.finite_pair import FinitePairLoss
from privet.privacy.fixed_sampled import FixedSampled
from privet.privacy.gaussian import GaussianLoss
from privet.privacy.gdp import GdpLoss
from privet.privacy.geometric import GeometricLoss
from privet.privacy.grouped import Grouped, to_replace
from privet.privacy.k_rr import KRRLoss
from privet.privacy.laplace import LaplaceLoss
from privet.privacy.mixture_of_gaussians import MixtureOfGaussiansLoss
from privet.privacy.parallel import Parallel
from privet.privacy.permute_and_flip import PermuteAndFlipLoss
from privet.privacy.poisson_sampled import PoissonSampled
from privet.privacy.pure import PureLoss
from privet.privacy.random_allocation import RandomAllocation
from privet.privacy.randomized_response import RandomizedResponseLoss
from privet.privacy.rdp import RdpLoss
from privet.privacy.selected import Selected
from privet.privacy.skellam import SkellamLoss
from privet.privacy.staircase import StaircaseLoss
from privet.privacy.tree_aggregation import TreeAggregationLoss
from privet.privacy.truncated_sampled import TruncatedPoissonSampled
from privet.privacy.zcdp import ZcdpLoss

__all__ = [
    "AboveThresholdLoss",
    "ApproxLoss",
    "Approximate",
    "AtomicVariable",
    "Composed",
    "Direction",
    "DiscreteGaussianLoss",
    "DiscreteLaplaceLoss",
    "ExponentialLoss",
    "FinitePairLoss",
    "FixedSampled",
    "GaussianLoss",
    "GdpLoss",
    "GeometricLoss",
    "Grouped",
    "KRRLoss",
    "LaplaceLoss",
    "LossVariable",
    "MixtureOfGaussiansLoss",
    "OpaqueLoss",
    "Parallel",
    "PermuteAndFlipLoss",
    "PoissonSampled",
    "PrivacyLoss",
    "PureLoss",
    "RandomAllocation",
    "RandomizedResponseLoss",
    "RdpCurve",
    "RdpLoss",
    "Relation",
    "Repeated",
    "Selected",
    "SkellamLoss",
    "StaircaseLoss",
    "TreeAggregationLoss",
    "TruncatedPoissonSampled",
    "Unit",
    "WithReplacementSampled",
    "ZcdpBound",
    "ZcdpLoss",
    "divergences",
    "from_json",
    "register",
    "registered_kinds",
    "to_json",
    "to_replace",
]

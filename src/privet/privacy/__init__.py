"""Privacy losses: frozen prices, their combinators, divergences and the JSON form. No data, no randomness."""

from privet._face import face
from privet.privacy import divergences as divergences
from privet.privacy.above_threshold import AboveThresholdLoss as AboveThresholdLoss
from privet.privacy.approx import ApproxLoss as ApproxLoss
from privet.privacy.binary_vote import BinaryVoteLoss as BinaryVoteLoss, VoteNoise as VoteNoise
from privet.privacy.composed import Composed as Composed, Repeated as Repeated
from privet.privacy.discrete_gaussian import DiscreteGaussianLoss as DiscreteGaussianLoss
from privet.privacy.discrete_laplace import DiscreteLaplaceLoss as DiscreteLaplaceLoss
from privet.privacy.drawn_sampled import WithReplacementSampled as WithReplacementSampled
from privet.privacy.exponential import ExponentialLoss as ExponentialLoss
from privet.privacy.families.analytic_gaussian import analytic_noise_multiplier as analytic_noise_multiplier
from privet.privacy.finite_pair import FinitePairLoss as FinitePairLoss
from privet.privacy.fixed_sampled import FixedSampled as FixedSampled
from privet.privacy.gaussian import GaussianLoss as GaussianLoss
from privet.privacy.gdp import GdpLoss as GdpLoss
from privet.privacy.geometric import GeometricLoss as GeometricLoss
from privet.privacy.grouped import Grouped as Grouped, to_replace as to_replace
from privet.privacy.guarantee import Guarantee as Guarantee, Promise as Promise, spelt_out as spelt_out
from privet.privacy.k_rr import KRRLoss as KRRLoss
from privet.privacy.laplace import LaplaceLoss as LaplaceLoss
from privet.privacy.loss import (
    Approximate as Approximate,
    PrivacyLoss as PrivacyLoss,
    RdpCurve as RdpCurve,
    ZcdpBound as ZcdpBound,
)
from privet.privacy.mixture_of_gaussians import MixtureOfGaussiansLoss as MixtureOfGaussiansLoss
from privet.privacy.objective_perturbation import ObjectivePerturbationLoss as ObjectivePerturbationLoss
from privet.privacy.parallel import Parallel as Parallel
from privet.privacy.partial_response import PartialResponseLoss as PartialResponseLoss
from privet.privacy.per_person import PerPerson as PerPerson, per_person as per_person
from privet.privacy.permute_and_flip import PermuteAndFlipLoss as PermuteAndFlipLoss
from privet.privacy.poisson_sampled import PoissonSampled as PoissonSampled
from privet.privacy.pure import PureLoss as PureLoss
from privet.privacy.random_allocation import RandomAllocation as RandomAllocation
from privet.privacy.randomized_response import RandomizedResponseLoss as RandomizedResponseLoss
from privet.privacy.rdp import RdpLoss as RdpLoss
from privet.privacy.selected import Selected as Selected
from privet.privacy.serial import (
    OpaqueLoss as OpaqueLoss,
    from_json as from_json,
    register as register,
    registered_kinds as registered_kinds,
    to_json as to_json,
)
from privet.privacy.shuffled import Shuffled as Shuffled
from privet.privacy.skellam import SkellamLoss as SkellamLoss
from privet.privacy.smooth_release import SmoothReleaseLoss as SmoothReleaseLoss
from privet.privacy.softmax_perturbation import SoftmaxPerturbationLoss as SoftmaxPerturbationLoss
from privet.privacy.staircase import StaircaseLoss as StaircaseLoss
from privet.privacy.tree_aggregation import TreeAggregationLoss as TreeAggregationLoss
from privet.privacy.truncated_sampled import TruncatedPoissonSampled as TruncatedPoissonSampled
from privet.privacy.unit import (
    Relation as Relation,
    Unit as Unit,
    a_unit as a_unit,
    as_unit as as_unit,
    same_unit as same_unit,
)
from privet.privacy.variable import (
    DIRECTIONS as DIRECTIONS,
    AtomicVariable as AtomicVariable,
    Direction as Direction,
    LossVariable as LossVariable,
)
from privet.privacy.zcdp import ZcdpLoss as ZcdpLoss

__all__, __dir__ = face(globals(), "divergences")

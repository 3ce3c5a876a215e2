"""What every kind of price is built from: the unit, the loss variable, the question-answering base class, JSON."""

from privet.privacy.base.atoms import any_failure, sum_of_atoms
from privet.privacy.base.binary import binary_rdp, binary_variable
from privet.privacy.base.cache import forget, remember
from privet.privacy.base.curve import lower_hull, variable_of_curve, variable_of_envelope, variable_of_symmetric_curve
from privet.privacy.base.flagged import FlaggedVariable
from privet.privacy.base.integer import MOST_ATOMS, shifted_geometric
from privet.privacy.base.loss import (
    Approximate,
    PrivacyLoss,
    RdpCurve,
    ZcdpBound,
    best_zcdp,
    orders_of,
    real_numbers,
    renyi_of_pure,
)
from privet.privacy.base.mixture import (
    NOTHING,
    Mixture,
    MixturePairLoss,
    MixtureVariable,
    binomial_mixture,
    log_excess_moment,
    mixture_rdp,
)
from privet.privacy.base.normal import (
    NormalVariable,
    enclose_gaussian,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_rounding,
)
from privet.privacy.base.normal_loss import NormalLoss
from privet.privacy.base.ordered import ON_A_LINE, SampledGroupLoss, ordered_mixture
from privet.privacy.base.renyi import delta_of_rdp, renyi_of_variable, variable_of_rdp
from privet.privacy.base.sampling import HAIR, after_sampling, before_sampling, enclose_sampled, epsilon_after_sampling
from privet.privacy.base.serial import OpaqueLoss, from_dict, from_json, register, registered_kinds, to_json
from privet.privacy.base.sums import LatticeLaw, deviation, lattice_law, variable_of_sum
from privet.privacy.base.unit import Relation, Unit, same_unit
from privet.privacy.base.variable import (
    DIRECTIONS,
    AtomicVariable,
    Atoms,
    Direction,
    Enclosure,
    LossVariable,
    ReversedVariable,
    SymmetricVariable,
)

__all__ = [
    "DIRECTIONS",
    "HAIR",
    "MOST_ATOMS",
    "NOTHING",
    "ON_A_LINE",
    "Approximate",
    "AtomicVariable",
    "Atoms",
    "Direction",
    "Enclosure",
    "FlaggedVariable",
    "LatticeLaw",
    "LossVariable",
    "Mixture",
    "MixturePairLoss",
    "MixtureVariable",
    "NormalLoss",
    "NormalVariable",
    "OpaqueLoss",
    "PrivacyLoss",
    "RdpCurve",
    "Relation",
    "ReversedVariable",
    "SampledGroupLoss",
    "SymmetricVariable",
    "Unit",
    "ZcdpBound",
    "after_sampling",
    "any_failure",
    "before_sampling",
    "best_zcdp",
    "binary_rdp",
    "binary_variable",
    "binomial_mixture",
    "delta_of_rdp",
    "deviation",
    "enclose_gaussian",
    "enclose_sampled",
    "forget",
    "epsilon_after_sampling",
    "from_dict",
    "from_json",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_rounding",
    "lattice_law",
    "log_excess_moment",
    "lower_hull",
    "mixture_rdp",
    "ordered_mixture",
    "orders_of",
    "real_numbers",
    "register",
    "registered_kinds",
    "remember",
    "renyi_of_pure",
    "renyi_of_variable",
    "same_unit",
    "shifted_geometric",
    "sum_of_atoms",
    "to_json",
    "variable_of_curve",
    "variable_of_envelope",
    "variable_of_rdp",
    "variable_of_sum",
    "variable_of_symmetric_curve",
]

"""What every mechanism shares: sensitivities, releases, error bars, budgets as targets, and the abstract classes."""

from privet.mechanisms.base.additive import AdditiveMechanism
from privet.mechanisms.base.error_bar import ErrorBar
from privet.mechanisms.base.integer import IntegerMechanism, integer_scale, whole_sensitivity
from privet.mechanisms.base.mechanism import (
    STREAM,
    Example,
    Mechanism,
    Source,
    observed,
    register,
    registered_mechanisms,
)
from privet.mechanisms.base.payment import in_force, paid_for, put_in_force, take_out_of_force
from privet.mechanisms.base.release import Release
from privet.mechanisms.base.response import Estimate, ResponseMechanism
from privet.mechanisms.base.selection import SelectionMechanism, admit_scores, as_scores, check_monotonic, up
from privet.mechanisms.base.sensitivity import Norm, Sensitivity, as_sensitivity
from privet.mechanisms.base.target import Target, pure_scale, ratio_down, renyi_scale, scale_for, smallest_scale

__all__ = [
    "STREAM",
    "AdditiveMechanism",
    "ErrorBar",
    "Estimate",
    "Example",
    "IntegerMechanism",
    "Mechanism",
    "Norm",
    "Release",
    "ResponseMechanism",
    "SelectionMechanism",
    "Sensitivity",
    "Target",
    "Source",
    "admit_scores",
    "as_scores",
    "as_sensitivity",
    "check_monotonic",
    "in_force",
    "integer_scale",
    "observed",
    "paid_for",
    "pure_scale",
    "put_in_force",
    "ratio_down",
    "register",
    "renyi_scale",
    "registered_mechanisms",
    "scale_for",
    "smallest_scale",
    "take_out_of_force",
    "whole_sensitivity",
    "up",
]

"""What every mechanism shares: sensitivities, releases, error bars, budgets as targets, and the abstract classes."""

from privet.mechanisms.base.additive import AdditiveMechanism, on_grid
from privet.mechanisms.base.error_bar import ErrorBar
from privet.mechanisms.base.mechanism import Example, Mechanism, Source, observed, register, registered_mechanisms
from privet.mechanisms.base.release import Release
from privet.mechanisms.base.sensitivity import Norm, Sensitivity, as_sensitivity
from privet.mechanisms.base.target import Target, ratio_down, scale_for, smallest_scale

__all__ = [
    "AdditiveMechanism",
    "ErrorBar",
    "Example",
    "Mechanism",
    "Norm",
    "Release",
    "Sensitivity",
    "Target",
    "Source",
    "as_sensitivity",
    "observed",
    "on_grid",
    "ratio_down",
    "register",
    "registered_mechanisms",
    "scale_for",
    "smallest_scale",
]

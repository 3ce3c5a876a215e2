"""Mechanisms: a loss and a release, from Laplace to above-threshold. They know no tables, ledgers or counts."""

from privet.mechanisms.base import (
    AdditiveMechanism,
    ErrorBar,
    Example,
    Mechanism,
    Release,
    Sensitivity,
    register,
    registered_mechanisms,
)
from privet.mechanisms.gaussian import Gaussian
from privet.mechanisms.laplace import Laplace

__all__ = [
    "AdditiveMechanism",
    "ErrorBar",
    "Example",
    "Gaussian",
    "Laplace",
    "Mechanism",
    "Release",
    "Sensitivity",
    "register",
    "registered_mechanisms",
]

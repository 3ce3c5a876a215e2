"""What the laws share: the list of accountants, a slow independent oracle, and a label that keeps equal prices apart."""

from privet.testing.base.ask import DELTA, accountants, delta_of, epsilon_of, variable_of
from privet.testing.base.labelled import Labelled
from privet.testing.base.oracle import enclose_delta

__all__ = [
    "DELTA",
    "Labelled",
    "accountants",
    "delta_of",
    "enclose_delta",
    "epsilon_of",
    "variable_of",
]

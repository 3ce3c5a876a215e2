"""Constrained inference: what must be true of the answers, forced on them after the noise. Post-processing, free."""

from privet._face import face
from privet.workloads.inference.least_squares import least_squares as least_squares
from privet.workloads.inference.multiplicative_weights import multiplicative_weights as multiplicative_weights
from privet.workloads.inference.projections import (
    clipped as clipped,
    intersection as intersection,
    isotonic as isotonic,
    non_negative as non_negative,
    sum_to_parent as sum_to_parent,
)

__all__, __dir__ = face(globals())

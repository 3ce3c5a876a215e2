"""Constrained inference: what must be true of the answers, forced on them after the noise. Post-processing, free."""

from privet._face import face
from privet.workloads.inference.boxes import clipped as clipped
from privet.workloads.inference.children import sum_to_parent as sum_to_parent
from privet.workloads.inference.dykstra import intersection as intersection
from privet.workloads.inference.isotonic import isotonic as isotonic
from privet.workloads.inference.least_squares import least_squares as least_squares
from privet.workloads.inference.multiplicative_weights import multiplicative_weights as multiplicative_weights
from privet.workloads.inference.non_negative import non_negative as non_negative

__all__, __dir__ = face(globals())

"""Pairs of neighbouring inputs to try, for the unit that the claim speaks about."""

from privet.audit.neighbours.family import Neighbours, Pairs, pairs_for
from privet.audit.neighbours.frames import Frames
from privet.audit.neighbours.numbers import BOUNDARY_VALUES, Numbers, Vectors
from privet.audit.neighbours.tables import Persons, Tables

__all__ = ["BOUNDARY_VALUES", "Frames", "Neighbours", "Numbers", "Pairs", "Persons", "Tables", "Vectors", "pairs_for"]

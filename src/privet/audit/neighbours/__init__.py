"""Pairs of neighbouring inputs to try, for the unit that the claim speaks about."""

from privet.audit.neighbours.family import (
    Neighbours as Neighbours,
    Pairs as Pairs,
    doubt_of as doubt_of,
    pairs_for as pairs_for,
    stratum_of as stratum_of,
)
from privet.audit.neighbours.frames import Frames as Frames
from privet.audit.neighbours.numbers import BOUNDARY_VALUES as BOUNDARY_VALUES, Numbers as Numbers, Vectors as Vectors
from privet.audit.neighbours.tables import Persons as Persons, Tables as Tables

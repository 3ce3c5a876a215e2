"""Searching for a violation: worlds, what can be seen in them, events, and pairs of neighbours."""

from privet.audit.search.events import Event, propose
from privet.audit.search.features import features, lowest_set_bit
from privet.audit.search.neighbours import BOUNDARY_VALUES, Neighbours, Numbers, Pairs, Tables
from privet.audit.search.worlds import World, observe, runner_of

__all__ = [
    "BOUNDARY_VALUES",
    "Event",
    "Neighbours",
    "Numbers",
    "Pairs",
    "Tables",
    "World",
    "features",
    "lowest_set_bit",
    "observe",
    "propose",
    "runner_of",
]

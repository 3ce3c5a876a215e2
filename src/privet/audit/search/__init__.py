"""Searching for a violation: worlds, what can be seen in them, events, and pairs of neighbours."""

from privet.audit.search.classifier import Classifier, train
from privet.audit.search.events import Event, Tally, tally
from privet.audit.search.features import features, lowest_set_bit
from privet.audit.search.neighbours import BOUNDARY_VALUES, Neighbours, Numbers, Pairs, Tables
from privet.audit.search.worlds import World, observe, runner_of

__all__ = [
    "BOUNDARY_VALUES",
    "Classifier",
    "Event",
    "Neighbours",
    "Numbers",
    "Pairs",
    "Tables",
    "Tally",
    "World",
    "features",
    "lowest_set_bit",
    "observe",
    "runner_of",
    "tally",
    "train",
]

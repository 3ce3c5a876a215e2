"""Searching for a violation: worlds, what can be seen in them, events, and pairs of neighbours."""

from privet.audit.search.classifier import Classifier, Learned, TimeGivenValue, learn
from privet.audit.search.events import KINDS, RELATIONS, Event, Tally, kind_of, tally
from privet.audit.search.features import features, lowest_set_bit
from privet.audit.search.worlds import World, observe, observe_both, runner_of

__all__ = [
    "Classifier",
    "Event",
    "KINDS",
    "Learned",
    "RELATIONS",
    "Tally",
    "TimeGivenValue",
    "World",
    "features",
    "kind_of",
    "learn",
    "lowest_set_bit",
    "observe",
    "observe_both",
    "runner_of",
    "tally",
]

"""Searching for a violation: runs, what can be seen in them, events."""

from privet.audit.search.choosing import Candidate, Tallies
from privet.audit.search.classifier import Classifier, Learned, TimeGivenValue, Tree, learn
from privet.audit.search.crew import Crew
from privet.audit.search.encoder import Encoder, fit, targets_of
from privet.audit.search.events import KINDS, RELATIONS, Event, Tally, kind_of, tally
from privet.audit.search.features import lowest_set_bit
from privet.audit.search.independence import dependence, differs, twin_of
from privet.audit.search.reading import Reading, read
from privet.audit.search.rows import Marks
from privet.audit.search.running import Subject, observe, observe_both, reusable, runner_of, usual_released
from privet.audit.search.strain import Strain
from privet.audit.search.worlds import Part, World

__all__ = [
    "Candidate",
    "Classifier",
    "Crew",
    "Encoder",
    "Event",
    "KINDS",
    "Learned",
    "Marks",
    "Part",
    "RELATIONS",
    "Reading",
    "Strain",
    "Subject",
    "Tallies",
    "Tally",
    "TimeGivenValue",
    "Tree",
    "World",
    "dependence",
    "differs",
    "fit",
    "kind_of",
    "learn",
    "lowest_set_bit",
    "observe",
    "observe_both",
    "read",
    "reusable",
    "runner_of",
    "tally",
    "targets_of",
    "twin_of",
    "usual_released",
]

"""Reports: tables, plots and plain words for what a release costs."""

from privet.report.base import Meaning, Step, ladder_of, posterior, save_figure, what_it_means
from privet.report.calibration import Calibration, calibration
from privet.report.ladder import ladder_figure
from privet.report.profile import profile_figure
from privet.report.quote import Quote, quote
from privet.report.table import facts_table, ladder_notes, ladder_table
from privet.report.tradeoff import tradeoff_figure
from privet.report.words import answer_in_words, describe, meaning_in_words

__all__ = [
    "Calibration",
    "Meaning",
    "Quote",
    "Step",
    "answer_in_words",
    "calibration",
    "describe",
    "facts_table",
    "ladder_figure",
    "ladder_of",
    "ladder_notes",
    "ladder_table",
    "meaning_in_words",
    "posterior",
    "profile_figure",
    "quote",
    "save_figure",
    "tradeoff_figure",
    "what_it_means",
]

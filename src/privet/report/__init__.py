"""Reports: tables, plots and plain words for what a release costs."""

from privet.report.audit import audit_facts, audit_page, zoo_table
from privet.report.base import Meaning, Step, describe, ladder_of, posterior, save_figure, what_it_means
from privet.report.calibration import Calibration, calibration
from privet.report.ladder import ladder_figure
from privet.report.ledger import (
    LedgerStatus,
    accounts_table,
    budget_figure,
    explanation_facts,
    ledger_status,
    remaining_in_words,
)
from privet.report.ledger_log import LogRow, ledger_csv, ledger_log
from privet.report.ledger_page import ledger_page
from privet.report.profile import profile_figure
from privet.report.quote import Quote, quote
from privet.report.table import facts_table, ladder_notes, ladder_table
from privet.report.tradeoff import tradeoff_figure
from privet.report.words import answer_in_words, meaning_in_words

__all__ = [
    "Calibration",
    "LedgerStatus",
    "LogRow",
    "Meaning",
    "Quote",
    "Step",
    "accounts_table",
    "answer_in_words",
    "audit_facts",
    "audit_page",
    "budget_figure",
    "calibration",
    "describe",
    "explanation_facts",
    "facts_table",
    "ladder_figure",
    "ladder_of",
    "ladder_notes",
    "ladder_table",
    "ledger_csv",
    "ledger_log",
    "ledger_page",
    "ledger_status",
    "meaning_in_words",
    "posterior",
    "profile_figure",
    "quote",
    "remaining_in_words",
    "save_figure",
    "tradeoff_figure",
    "what_it_means",
    "zoo_table",
]

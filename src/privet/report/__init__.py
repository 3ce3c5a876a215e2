"""Reports: tables, plots and plain words for what a release costs."""

from privet._face import face
from privet.report import lectures as lectures
from privet.report.attacks import (
    cells_figure as cells_figure,
    exposure_figure as exposure_figure,
    rates_figure as rates_figure,
    roc_figure as roc_figure,
)
from privet.report.audit import audit_facts as audit_facts, audit_page as audit_page, zoo_table as zoo_table
from privet.report.calibration import Calibration as Calibration, calibration as calibration
from privet.report.figure import save_figure as save_figure
from privet.report.ladder import ladder_figure as ladder_figure
from privet.report.learning import (
    accuracy_figure as accuracy_figure,
    passes_figure as passes_figure,
    risk_figure as risk_figure,
)
from privet.report.ledger import (
    LedgerStatus as LedgerStatus,
    accounts_table as accounts_table,
    budget_figure as budget_figure,
    explanation_facts as explanation_facts,
    ledger_status as ledger_status,
    remaining_in_words as remaining_in_words,
)
from privet.report.ledger_log import ledger_csv as ledger_csv, ledger_log as ledger_log, log_columns as log_columns
from privet.report.ledger_page import ledger_page as ledger_page
from privet.report.local_errors import local_error_figure as local_error_figure
from privet.report.meaning import Meaning as Meaning, posterior as posterior, what_it_means as what_it_means
from privet.report.price import describe as describe
from privet.report.profile import profile_figure as profile_figure
from privet.report.quote import Quote as Quote, quote as quote
from privet.report.ranges import (
    cdf_figure as cdf_figure,
    lecture_ranges_figure as lecture_ranges_figure,
    range_error_figure as range_error_figure,
    range_errors as range_errors,
)
from privet.report.rungs import Step as Step, ladder_of as ladder_of
from privet.report.synth import synth_page as synth_page
from privet.report.table import facts_table as facts_table, ladder_notes as ladder_notes, ladder_table as ladder_table
from privet.report.teachers import (
    student_figure as student_figure,
    teachers_figure as teachers_figure,
    why_a_student as why_a_student,
)
from privet.report.tradeoff import tradeoff_figure as tradeoff_figure
from privet.report.words import answer_in_words as answer_in_words, meaning_in_words as meaning_in_words

__all__, __dir__ = face(globals(), "lectures")

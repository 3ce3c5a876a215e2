"""What every report is built from: safe rounding, what a price means in numbers, the ladder of methods, figures."""

from privet.report.base.figure import (
    PALETTE,
    Figure,
    accent,
    label,
    muted,
    new_figure,
    require_plotting,
    save_figure,
    strong,
    title,
)
from privet.report.base.meaning import Meaning, posterior, what_it_means
from privet.report.base.numbers import percent_down, percent_up, plain, round_down, round_up
from privet.report.base.price import describe
from privet.report.base.rungs import Step, ladder_of, sampled_gaussian

__all__ = [
    "PALETTE",
    "Figure",
    "Meaning",
    "Step",
    "accent",
    "describe",
    "label",
    "ladder_of",
    "muted",
    "new_figure",
    "percent_down",
    "percent_up",
    "plain",
    "posterior",
    "require_plotting",
    "round_down",
    "round_up",
    "sampled_gaussian",
    "save_figure",
    "strong",
    "title",
    "what_it_means",
]

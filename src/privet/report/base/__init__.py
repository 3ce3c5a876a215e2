"""What every report is built from: safe rounding, what a price means in numbers, the ladder of methods, figures."""

from privet.report.base.figure import Figure, accent, muted, new_figure, require_plotting, save_figure, strong
from privet.report.base.meaning import Meaning, posterior, what_it_means
from privet.report.base.numbers import percent_down, percent_up, plain, round_down, round_up
from privet.report.base.rungs import Step, ladder_of, sampled_gaussian

__all__ = [
    "Figure",
    "Meaning",
    "Step",
    "accent",
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
    "what_it_means",
]

"""The two reasons and the two figures of the lectures about teachers: what their number changes, what a budget buys.

Gaps between votes and the accuracy of teachers are as private as their rows: draw those of public rows that stand in.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from privet.report.figure import PALETTE, Figure, accent, label, new_figure, new_panels, title

if TYPE_CHECKING:
    from privet.pate import VotePlan


def why_a_student(plan: "VotePlan", *, epsilon: float, delta: float) -> tuple[str, str]:
    """The two reasons for a student, of a plan of votes and a budget, in words.

    >>> from privet.pate import VotePlan
    >>> plan = VotePlan(teachers=250, queries=640, answers=286, sigma=40.0)
    >>> limited, inspected = why_a_student(plan, epsilon=2.0, delta=1e-5)
    >>> "buys 201 of them" in limited, "private rows" in inspected
    (True, True)
    """
    bought = plan.labels(epsilon=epsilon, delta=delta)
    limited = (
        f"Each answer of the teachers costs: epsilon {epsilon:g} at delta {delta:g} buys {bought:,} of them, and then they "
        "fall silent. A student learns from these and answers for ever."
    )
    inspected = (
        "Whoever looks into the teachers sees private rows. A student is made of public rows and released labels, so that "
        "even its parameters may be shown."
    )
    return limited, inspected


def teachers_figure(teachers: Sequence[int], gaps: Sequence[float], accuracies: Sequence[float]) -> Figure:
    """The mean gap between the first two classes, given as a share of the votes, and the accuracy of a teacher, against the
    number of teachers.

    >>> figure = teachers_figure([10, 50], [0.9, 0.6], [0.97, 0.94])
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['gap between the first two, in votes', 'share of right labels']
    """
    figure, (left, right) = new_panels(2, width=4.4, height=3.8, together=False)
    left.plot(teachers, [gap * many for gap, many in zip(gaps, teachers, strict=True)], color=accent, marker="o")
    right.plot(teachers, accuracies, color=PALETTE[1], marker="o")
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_xticks(list(teachers), [str(each) for each in teachers])
        axes.minorticks_off()
    title(left, "More teachers lead by more votes", "so that more noise does no harm")
    title(right, "and know less each", "of public rows that stand in")
    label(left, "teachers", "gap between the first two, in votes")
    label(right, "teachers", "share of right labels")
    return figure


def student_figure(epsilons: Sequence[float], curves: Mapping[str, Sequence[float]]) -> Figure:
    """The accuracy of a student against the epsilon of its labels, a curve for each way to spend it.

    >>> student_figure([1.0, 2.0], {"GNMax": [0.8, 0.9]}).axes[0].get_xlabel()
    'epsilon of all labels'
    """
    figure, axes = new_figure()
    for (name, shares), colour in zip(curves.items(), PALETTE * 3, strict=False):
        axes.plot(epsilons, shares, color=colour, marker="o", label=name)
    axes.set_xscale("log")
    axes.set_xticks(list(epsilons), [f"{each:g}" for each in epsilons])
    axes.minorticks_off()
    axes.legend(frameon=False, fontsize=9.5)
    title(axes, "What a budget buys a student", "accuracy on rows that nobody was trained on")
    label(axes, "epsilon of all labels", "share of right answers")
    return figure

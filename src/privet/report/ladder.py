"""Picture: the ladder, from the naive bound to the tight one."""

import math
from collections.abc import Sequence

from privet.errors import InvalidParameter
from privet.report.figure import Axes, Figure, accent, label, new_figure, strong, title
from privet.report.numbers import plain, round_up
from privet.report.rungs import Step

_WIDE = 20.0  # from this ratio on a linear scale would hide the small bars
_PALE = "#c8d3cd"
_GREY = "#6b7177"


def ladder_figure(steps: Sequence[Step], *, name: str = "") -> Figure:
    """One bar a method, the tightest in colour, on a log scale where they differ by orders; a diamond is a claim.

    **Guarantee:** bars are what each method proves; diamonds are quotations.

    >>> from privet.report.rungs import Step
    >>> steps = [Step("naive", 12000.0, 11996.3, 11996.3, 0.1, ""), Step("tight", None, None, 0.947, 1e-5, "")]
    >>> len(ladder_figure(steps).axes[0].patches)
    2
    """
    drawn = [step for step in steps if step.whole and step.sound is not None and step.sound > 0.0]
    if not drawn:
        raise InvalidParameter("a ladder needs at least one method that proves a positive epsilon")
    figure, axes = new_figure(7.8, 1.6 + 0.5 * len(drawn))
    values = [step.sound or 0.0 for step in drawn]
    best, worst = min(values), max(values)
    low = _scale(axes, drawn, best, worst)
    for place, (step, value) in enumerate(zip(drawn, values, strict=True)):
        colour = accent if value == best else _PALE
        axes.barh(place, value - low, left=low, height=0.56, color=colour, linewidth=0.0)
        _write(axes, place, step, value, bold=value == best)
    small = min(step.delta for step in drawn)
    names = [step.name if step.delta == small else f"{step.name} (δ = {step.delta:.2g})" for step in drawn]
    axes.set_yticks(range(len(drawn)), names, fontsize=10)
    axes.tick_params(axis="y", length=0, labelcolor=strong)
    axes.spines["left"].set_visible(False)
    axes.grid(False, axis="y")
    axes.invert_yaxis()
    share = values[0] / best
    cheaper = f"Counted tightly, epsilon is {plain(float(f'{share:.3g}'))} times smaller"
    title(axes, cheaper if share > 1.5 else "What each method proves", name)
    return figure


def _scale(axes: Axes, drawn: Sequence[Step], best: float, worst: float) -> float:
    """Choose the scale, leave room for the words at the end of the longest bar; returns where bars start."""
    claims = [step.claimed for step in drawn if step.claimed]
    room = 0.62 if claims else 0.84  # share of the width that bars may take
    widest = max([worst, *claims])
    if widest / best <= _WIDE:
        axes.set_xlim(0.0, widest / room)
        label(axes, "ε that is proved (smaller is better)")
        return 0.0
    low = min([best, *claims]) / 3.0
    axes.set_xscale("log")
    axes.set_xlim(low, low * math.exp(math.log(widest / low) / room))
    label(axes, "ε that is proved (log scale; smaller is better)")
    return low


def _write(axes: Axes, place: int, step: Step, value: float, *, bold: bool) -> None:
    """The value at the end of its bar, and the claim beside it."""
    words = plain(round_up(value, 4))
    end = (max(value, step.claimed or 0.0), place)
    look = {"textcoords": "offset points", "va": "center_baseline", "fontsize": 10}
    axes.annotate(words, end, (9, 0), color=strong, fontweight="bold" if bold else "normal", **look)
    if step.claimed:
        axes.plot([step.claimed], [place], "D", color="white", markeredgecolor=strong, markersize=5.5, zorder=4)
        axes.annotate(f"◇ slides: {plain(step.claimed)}", end, (20 + 6.2 * len(words), 0), color=_GREY, **look)

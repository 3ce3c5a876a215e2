"""Picture: the ladder, from the naive bound to the tight one."""

from collections.abc import Sequence

from privet.errors import InvalidParameter
from privet.report.base import Figure, Step, accent, label, muted, new_figure, plain, round_up, strong, title

__all__ = ["ladder_figure"]


def ladder_figure(steps: Sequence[Step], *, name: str = "") -> Figure:
    """One bar a method on a log scale, the tightest in colour; a diamond shows what was claimed where that differs.

    **Guarantee:** bars are what each method proves; diamonds are quotations.

    >>> from privet.report.base import Step
    >>> steps = [Step("naive", 12000.0, 11996.3, 11996.3, 0.1, ""), Step("tight", None, None, 0.947, 1e-5, "")]
    >>> len(ladder_figure(steps).axes[0].patches)
    2
    """
    drawn = [step for step in steps if step.sound is not None and step.sound > 0.0]
    if not drawn:
        raise InvalidParameter("a ladder needs at least one method that proves a positive epsilon")
    figure, axes = new_figure(7.6, 1.5 + 0.52 * len(drawn))
    values = [step.sound or 0.0 for step in drawn]
    everything = values + [step.claimed for step in drawn if step.claimed]
    low, high = min(everything) / 3.0, max(everything) * 6.0
    places = range(len(drawn))
    best = min(values)
    for place, step, value in zip(places, drawn, values, strict=True):
        tightest = value == best
        axes.barh(place, value - low, left=low, height=0.55, color=accent if tightest else "#c8d3cd", linewidth=0.0)
        words = plain(round_up(value, 4))
        if step.claimed:
            axes.plot([step.claimed], [place], "D", color="white", markeredgecolor=strong, markersize=6, zorder=4)
            words += f"    claimed {plain(step.claimed)}"
        axes.annotate(
            words,
            (max(value, step.claimed or 0.0), place),
            (9, 0),
            textcoords="offset points",
            va="center",
            fontsize=10,
            color=strong,
            fontweight="bold" if tightest else "normal",
        )
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.set_yticks(list(places), [step.name for step in drawn], fontsize=10)
    axes.tick_params(axis="y", length=0, labelcolor=strong)
    axes.spines["left"].set_visible(False)
    axes.grid(False, axis="y")
    axes.invert_yaxis()
    if any(step.claimed for step in drawn):
        axes.plot([], [], "D", color="white", markeredgecolor=strong, markersize=6, label="as claimed in the slides")
        axes.legend(loc="lower right", frameon=False, fontsize=9.5, labelcolor=muted)
    ratio = max(values) / best
    found = f"The same run, {plain(round_up(ratio, 3))} times cheaper when counted tightly" if ratio > 1.5 else "One price"
    title(axes, found, name or "what each method proves")
    label(axes, "ε that is proved (log scale; smaller is better)")
    return figure

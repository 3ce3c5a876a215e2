"""Pictures about learning: accuracy against epsilon, bounds beside measurements, and progress over passes."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from privet.errors import InvalidParameter
from privet.report.figure import PALETTE, Axes, Figure, accent, label, muted, new_figure, new_panels, strong, title
from privet.report.numbers import plain

if TYPE_CHECKING:  # loaded where it is used: scikit-learn takes long to load, and reports are printed by every command
    from privet.learn import AccuracyCurve
    from privet.learn.theory import Constants, Method


def accuracy_figure(curve: "AccuracyCurve", *, name: str = "", score: str = "share of right answers") -> Figure:
    """Mean scores against epsilon with bars of one standard deviation of a single fit; dashed: the fit without privacy.

    >>> from privet.learn import AccuracyCurve
    >>> figure = accuracy_figure(AccuracyCurve((0.1, 1.0), ((0.5, 0.7), (0.8, 0.8)), 0.9, 2.2))
    >>> figure.axes[0].get_xlabel()
    'epsilon'
    """
    figure, axes = new_figure(height=3.8)
    bars = np.nan_to_num(np.array(curve.deviations))
    axes.errorbar(
        curve.epsilons, curve.means, yerr=bars, color=accent, marker="o", markersize=5, linewidth=1.8, capsize=3
    )
    if curve.exact is not None:
        axes.axhline(curve.exact, color=muted, linewidth=1.2, linestyle=(0, (5, 3)))
        axes.annotate(
            "without privacy",
            (curve.epsilons[0], curve.exact),
            (0, 4),
            textcoords="offset points",
            fontsize=9,
            color=muted,
        )
    axes.set_xscale("log")
    axes.set_xticks(curve.epsilons, [plain(each) for each in curve.epsilons])
    runs = len(curve.scores[0])
    title(
        axes,
        "What does privacy cost this model?",
        name or f"{runs} fits at each epsilon; on private data the curve would cost {plain(curve.cost)}",
    )
    label(axes, "epsilon", score)
    return figure


def risk_figure(
    measured: "Mapping[Method, Mapping[int, float]]", facts: "Mapping[Method, Mapping[str, Any]]"
) -> Figure:
    """For each method the bounds of `learn.theory.excess_risk` over the number of records, and what was measured.

    `measured` maps a method to excess risks by number of records, `facts` a method to the arguments of its bound. A point
    above its bound would be drawn there: nothing is hidden.

    >>> facts = {"dp_sgd": {"d": 2, "epsilon": 1.0, "delta": 1e-6}}
    >>> len(risk_figure({"dp_sgd": {500: 0.1, 5000: 0.01}}, facts).axes)
    1
    """
    from privet.learn.theory import excess_risk

    if not measured or set(measured) != set(facts):
        raise InvalidParameter("measured and facts must be about the same methods, at least one")
    figure, panels = new_panels(len(measured))
    choices: tuple[tuple[Constants, str], ...] = (("lecture", muted), ("exact", accent))
    for axes, (method, points) in zip(panels, measured.items(), strict=True):
        sizes = sorted(points)
        for constants, colour in choices:
            bounds = [excess_risk(method, n=n, constants=constants, **facts[method]).value for n in sizes]
            axes.plot(sizes, bounds, color=colour, linewidth=1.8, label=f"bound, {constants} constants")
        axes.plot(sizes, [points[n] for n in sizes], "o", color=strong, markersize=4.5, label="measured")
        axes.set(xscale="log", yscale="log")
        axes.set_xticks(sizes, [plain(n) for n in sizes])
        axes.minorticks_off()
        axes.set_title(method.replace("_", " "), loc="left", fontsize=10, color=strong)
        label(axes, "records")
    panels[0].set_ylabel("mean loss above its minimum", fontsize=10, color="#3c4147")
    _legend_below(figure, panels[0])
    return figure


def passes_figure(panels: Mapping[str, Mapping[str, tuple[Sequence[float], Sequence[float]]]]) -> Figure:
    """Gaps of the objective over passes through the data: one panel a data set, one line a method.

    >>> figure = passes_figure({"balanced": {"DP-CD": ([1, 2], [0.5, 0.1])}})
    >>> figure.axes[0].get_xlabel()
    'passes over the data'
    """
    if not panels:
        raise InvalidParameter("give at least one panel")
    figure, places = new_panels(len(panels))
    for axes, (name, lines) in zip(places, panels.items(), strict=True):
        for colour, (method, (passes, gaps)) in zip(PALETTE, lines.items(), strict=False):
            axes.plot(passes, gaps, color=colour, linewidth=1.8, label=method)
        axes.set(xscale="log", yscale="log")
        axes.set_title(name, loc="left", fontsize=10, color=strong)
        label(axes, "passes over the data")
    places[0].set_ylabel("gap of the objective", fontsize=10, color="#3c4147")
    _legend_below(figure, places[0])
    return figure


def _legend_below(figure: Figure, axes: Axes) -> None:
    """One legend for all panels, where no line can run through it."""
    lines, names = axes.get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower center", ncols=len(names), frameon=False, fontsize=8)

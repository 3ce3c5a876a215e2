"""Pictures: how far off a range is by its length, strategy by strategy; and a distribution function beside the truth."""

import importlib
import math
from collections.abc import Mapping

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidParameter
from privet.report.figure import PALETTE, Figure, accent, label, new_figure, strong, title
from privet.workloads import Answers, Cells, Hierarchical, LinearQueries, RangeQueries, Strategy


def range_errors(mechanism: LinearQueries, lengths: Array) -> Array:
    """The root mean squared error of ranges of each length, over places spread evenly, before anything is paid.

    >>> from privet.workloads import Cells, RangeQueries
    >>> cells = RangeQueries(domain=16).for_budget(epsilon=1.0, strategy=Cells())
    >>> (range_errors(cells, np.array([1, 4])) / range_errors(cells, np.array([1]))).tolist()
    [1.0, 2.0]
    """
    domain = mechanism.workload.cells
    places = min(32, max(1, 2**15 // domain))
    found = []
    for length in lengths.tolist():
        firsts = np.unique(np.linspace(0, domain - length, places + 2).astype(int)[1:-1])
        squares = [mechanism.design.variance(_range(domain, first, length)) for first in firsts]
        found.append(math.sqrt(mechanism.spread * float(np.mean(squares))))
    return np.array(found)


def _range(domain: int, first: int, length: int) -> Array:
    query = np.zeros(domain)
    query[first : first + length] = 1.0
    return query


def range_error_figure(mechanisms: Mapping[str, LinearQueries]) -> Figure:
    """Error against the length of a range, on logarithmic axes; the first of them in the accent colour.

    >>> from privet.workloads import Cells, RangeQueries
    >>> figure = range_error_figure({"cells": RangeQueries(domain=16).for_budget(epsilon=1.0, strategy=Cells())})
    >>> figure.axes[0].get_xlabel()
    'cells in the range'
    """
    if not mechanisms or len({each.workload.cells for each in mechanisms.values()}) != 1:
        raise InvalidParameter("give at least one mechanism, all over the same domain")
    domain = next(iter(mechanisms.values())).workload.cells
    lengths = np.unique(np.geomspace(1, domain, 40).astype(int))
    curves = {name: range_errors(mechanism, lengths) for name, mechanism in mechanisms.items()}
    return _curves(curves, lengths, domain, f"{next(iter(mechanisms))}: how far off is a range?")


def lecture_ranges_figure(*, domain: int = 256, epsilon: float = 1.0) -> Figure:
    """The three strategies of the lectures for range queries, and the one that privet takes, by the length of a range.

    Strategy 1 answers every range by itself, with noise for all of them together: one error for every length.

    >>> figure = lecture_ranges_figure(domain=32)
    >>> [line.get_label() for line in figure.axes[0].lines]
    ['privet', '1: every range', '2: cells', '3: tree']
    """
    asked = RangeQueries(domain=domain)
    chosen: dict[str, Strategy | None] = {
        "privet": None,
        "2: cells": Cells(),
        "3: tree": Hierarchical(weights="uniform"),
    }
    made = {name: asked.plan(epsilon=epsilon, strategy=strategy).mechanism for name, strategy in chosen.items()}
    lengths = np.unique(np.geomspace(1, domain, 40).astype(int))
    curves = {name: range_errors(mechanism, lengths) for name, mechanism in made.items()}
    direct = math.sqrt(2.0) * ((domain + 1) ** 2 // 4) / epsilon
    curves = {"privet": curves.pop("privet"), "1: every range": np.full(len(lengths), direct)} | curves
    return _curves(curves, lengths, domain, "Fewer, wider measurements make long ranges better")


def _curves(curves: Mapping[str, Array], lengths: Array, domain: int, headline: str) -> Figure:
    figure, axes = new_figure()
    for (name, errors), colour in zip(curves.items(), PALETTE * 3, strict=False):
        axes.plot(lengths, errors, color=colour, linewidth=2.2 if colour == accent else 1.6, label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    highest, lowest = (float(f([f(each) for each in curves.values()])) for f in (np.max, np.min))
    steps = (1.0, 2.0, 5.0) if highest < 1_000.0 * lowest else (1.0,)
    marks = importlib.import_module("matplotlib.ticker").LogLocator(subs=steps)
    axes.yaxis.set_major_locator(marks)
    for axis in (axes.xaxis, axes.yaxis):  # 20, not 2 x 10^1
        axis.set_major_formatter("{x:,.10g}")
        axis.set_minor_formatter("")
    axes.legend(frameon=False, fontsize=9.5)
    title(axes, headline, f"root mean squared error of ranges of {domain:,} cells, by their length")
    label(axes, "cells in the range", "rows")
    return figure


def cdf_figure(truth: object, answers: Answers) -> Figure:
    """The released distribution function beside the true one: for public or made-up data only.

    >>> from privet.workloads import RangeQueries
    >>> figure = cdf_figure([5] * 8, RangeQueries(domain=8).release([5] * 8, epsilon=1.0).value)
    >>> figure.axes[0].get_ylabel()
    'share of the rows up to here'
    """
    counts = np.asarray(truth, dtype=float)
    if counts.shape != answers.shape or counts.ndim != 1 or not counts.sum() > 0.0:
        raise InvalidParameter("truth must be the counts behind these answers: one number for each cell, not all zero")
    figure, axes = new_figure()
    place = np.arange(len(counts))
    exact = np.cumsum(counts) / counts.sum()
    axes.step(place, answers.cdf(), where="mid", color=accent, linewidth=2.2, label="released")
    axes.step(place, exact, where="mid", color=strong, linewidth=1.1, label="true")
    axes.legend(frameon=False, fontsize=9.5, loc="lower right")
    gap = float(np.max(np.abs(exact - answers.cdf())))
    title(
        axes,
        f"At most {100.0 * gap:.2g} points apart",
        "released and true distribution function",
    )
    label(axes, "cell", "share of the rows up to here")
    return figure

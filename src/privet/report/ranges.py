"""Pictures: how far off a range is by its length, strategy by strategy; and a distribution function beside the truth."""

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidParameter
from privet.report.figure import PALETTE, Figure, accent, label, muted, new_figure, strong, title
from privet.workloads import Answers, LinearQueries


def range_errors(mechanism: LinearQueries, lengths: Array) -> Array:
    """The standard deviation of the middle range of each length, before anything is paid.

    >>> from privet.workloads import Cells, RangeQueries
    >>> cells = RangeQueries(domain=16).for_budget(epsilon=1.0, strategy=Cells())
    >>> (range_errors(cells, np.array([1, 4])) / range_errors(cells, np.array([1]))).tolist()
    [1.0, 2.0]
    """
    domain = mechanism.workload.cells
    spread = mechanism.scale * (2.0 if mechanism.norm == "l1" else 1.0) ** 0.5
    found = []
    for length in lengths.tolist():
        first = (domain - length) // 2
        query = np.zeros(domain)
        query[first : first + length] = 1.0
        found.append(spread * mechanism.design.variance(query) ** 0.5)
    return np.array(found)


def range_error_figure(mechanisms: Mapping[str, LinearQueries]) -> Figure:
    """Standard deviation against the length of a range, on logarithmic axes; the first of them in the accent colour.

    >>> from privet.workloads import Cells, RangeQueries
    >>> figure = range_error_figure({"cells": RangeQueries(domain=16).for_budget(epsilon=1.0, strategy=Cells())})
    >>> figure.axes[0].get_xlabel()
    'cells in the range'
    """
    if not mechanisms or len({each.workload.cells for each in mechanisms.values()}) != 1:
        raise InvalidParameter("give at least one mechanism, all over the same domain")
    domain = next(iter(mechanisms.values())).workload.cells
    lengths = np.unique(np.geomspace(1, domain, 40).astype(int))
    figure, axes = new_figure()
    for (name, mechanism), colour in zip(mechanisms.items(), PALETTE * 3, strict=False):
        errors = range_errors(mechanism, lengths)
        axes.plot(lengths, errors, color=colour, linewidth=2.2 if colour == accent else 1.6, label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    marks = importlib.import_module("matplotlib.ticker").LogLocator(subs=(1.0, 2.0, 5.0))
    axes.yaxis.set_major_locator(marks)
    for axis in (axes.xaxis, axes.yaxis):  # 20, not 2 x 10^1
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter("")
    axes.legend(frameon=False, fontsize=9.5)
    first = next(iter(mechanisms))
    title(
        axes, f"{first}: how far off is a range?", f"standard deviation of one range in the middle of {domain:,} cells"
    )
    label(axes, "cells in the range", "rows")
    return figure


def cdf_figure(truth: Any, answers: Answers) -> Figure:
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
    axes.step(place, exact, where="mid", color=muted, linewidth=1.6)
    axes.step(place, answers.cdf(), where="mid", color=accent, linewidth=2.0)
    axes.annotate("true", (place[-1], exact[-1]), (-40, -24), textcoords="offset points", color=strong)
    gap = float(np.max(np.abs(exact - answers.cdf())))
    title(axes, f"At most {100.0 * gap:.2g} points apart", "released (green) and true (grey) distribution function")
    label(axes, "cell", "share of the rows up to here")
    return figure

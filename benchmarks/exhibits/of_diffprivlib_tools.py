"""Tools and models of diffprivlib: statistics of small tables."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from exhibits.base import REPLACE, Exhibit, Law, geometric_law, pushed
from privet import privacy


def tool_exhibits() -> Iterator[Exhibit]:
    from diffprivlib import tools

    one = privacy.PureLoss(1.0, unit=REPLACE)
    ten, flat = np.append(np.full(9, 0.5), 0.0), np.append(np.full(9, 0.5), 1.0)
    for function in (tools.mean, tools.var, tools.sum, tools.median):
        yield Exhibit(
            f"tools.{function.__name__}",
            lambda table, function=function: float(function(table, epsilon=1.0, bounds=(0.0, 1.0))),
            one,
            [(ten, flat)],
            f"{function.__name__}(ten values, bounds=(0, 1))",
            share=0.25,
        )
    missing = np.append(np.full(9, 0.5), np.nan)
    yield Exhibit(
        "tools.mean, a NaN",
        lambda table: float(tools.mean(table, epsilon=1.0, bounds=(0.0, 1.0))),
        one,
        [(ten, missing)],
        "mean(nine values and a NaN, bounds=(0, 1))",
        laws=lambda: ({"a number": 1.0}, {"NaN": 1.0}),
        note="clipping to the bounds lets NaN pass; nanmean ignores it, but see the next line",
        share=0.25,
    )
    lonely = [np.append(np.full(9, np.nan), value) for value in (0.0, 1.0)]
    yield Exhibit(
        "tools.nanmean",
        lambda table: float(tools.nanmean(table, epsilon=1.0, bounds=(0.0, 1.0))),
        one,
        [(lonely[0], lonely[1])],
        "nanmean(nine NaN and 0 or 1, bounds=(0, 1))",
        laws=_clamped_laplace,
        note="the noise is scaled by the length, the mean divides by the values that are not NaN",
        share=0.25,
    )
    yield from _histograms()


def _clamped_laplace() -> tuple[Law, Law]:
    """Laplace noise of scale 1/10 around 0 or 1, clamped to [0, 1]: at the lower end, inside, at the upper end."""
    far = 0.5 * math.exp(-10.0)
    return {0: 0.5, 0.5: 0.5 - far, 1: far}, {0: far, 0.5: 0.5 - far, 1: 0.5}


def _histograms() -> Iterator[Exhibit]:
    from diffprivlib import tools

    def counts(table: list[float], weight: float | None = None) -> Any:
        weights = None if weight is None else [weight] * len(table)
        return tools.histogram(np.array(table), epsilon=1.0, bins=2, range=(0.0, 1.0), weights=weights)[0]

    noise = geometric_law(1.0, 60)
    ends = [pushed(noise, lambda k, count=count: min(40, max(0, count + k))) for count in (0, 1, 10)]
    add, swap = [([0.25], [])], [([0.25], [0.75])]
    yield Exhibit("tools.histogram", counts, privacy.PureLoss(1.0), add, "histogram(a record or none)", share=0.25)
    yield Exhibit(
        "tools.histogram, replaced",
        counts,
        privacy.PureLoss(1.0, unit=REPLACE),
        swap,
        "histogram(one record, in one bin or the other)",
        laws=lambda: tuple(
            {(a, b): p * q for a, p in x.items() for b, q in y.items()} for x, y in (ends[1::-1], ends[:2])
        ),
        note="a matter of reading: the documentation names no relation; mean and var hold for replaced records",
        share=0.25,
    )
    yield Exhibit(
        "tools.histogram, weights",
        lambda table: counts(table, 10.0),
        privacy.PureLoss(1.0),
        add,
        "histogram(a record or none, weights=10)",
        laws=lambda: (ends[2], ends[0]),
        note="the noise is that of a count, whatever the weights",
        share=0.25,
    )


def _steep(x: float) -> Law:
    """Whether the slope, a sum of products with Laplace noise of scale 3 over an exact sum of squares, exceeds 1000."""
    tail = 0.5 * math.exp(-(1000.0 * x * x - x) / 3.0)
    return {"above": tail, "below": 1.0 - tail}


def model_exhibits() -> Iterator[Exhibit]:
    from diffprivlib.models import GaussianNB, KMeans, LinearRegression

    one = privacy.PureLoss(1.0, unit=REPLACE)
    labels, column = np.array([0, 0, 0, 0]), np.array([[0.2], [0.4], [0.6], [0.8]])

    def slope(table: list[float]) -> float:
        model = LinearRegression(epsilon=1.0, bounds_X=(0.0, 1.0), bounds_y=(0.0, 1.0), fit_intercept=False)
        return float(model.fit(np.array(table).reshape(-1, 1), np.ones(len(table))).coef_[0])

    yield Exhibit(
        "LinearRegression",
        slope,
        one,
        [([0.0, 0.01], [0.0, 1.0])],
        "fit(...).coef_, bounds_X=(0, 1), fit_intercept=False",
        laws=lambda: (_steep(0.01), _steep(1.0)),
        note="the noise on the sum of squares is scaled by the lower bound alone: none when that is 0",
        share=0.05,
    )
    yield Exhibit(
        "GaussianNB",
        lambda targets: GaussianNB(epsilon=1.0, bounds=(0.0, 1.0)).fit(column, targets).classes_,
        one,
        [(labels, np.array([0, 0, 0, 1]))],
        "fit(...).classes_",
        laws=lambda: ({"one class": 1.0}, {"two classes": 1.0}),
        note="which classes exist is read from the records",
        share=0.05,
    )

    def inertia(table: list[float]) -> float:
        model = KMeans(1, epsilon=1.0, bounds=(0.0, 1.0)).fit(np.array(table).reshape(-1, 1))
        return round(float(model.inertia_ - len(table) * model.cluster_centers_[0, 0] ** 2), 9)

    yield Exhibit(
        "KMeans",
        inertia,
        one,
        [([0.0] * 10, [0.0] * 9 + [1.0])],
        "fit(...).inertia_ and .cluster_centers_",
        note="a matter of reading: inertia_ is the exact sum of squares around the noisy centre",
        share=0.05,
    )

"""The pictures of the site, drawn by `privet.report` itself, each for a light and a dark page.

A page shows `figures/NAME.svg`; the stage puts both forms in its place. A picture is drawn anew for every build, so it
cannot show what the library no longer does.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import privet as pv
from privet import privacy, report
from privet.workloads import RangeQueries

# The colours of `privet.report.figure`, and what takes their place on a dark page.
DARK = {
    "#ffffff": "none",
    "#222222": "#eceff1",
    "#1b6e4b": "#5cc795",
    "#b3541e": "#f0935c",
    "#3b5b92": "#8fb0ec",
    "#7a4f8a": "#cf9fe0",
    "#8a7a1f": "#d9c65a",
    "#8a8f94": "#9aa0a6",
    "#555b61": "#b4bac0",
    "#3c4147": "#c9ced3",
    "#c8d3cd": "#46544d",
    "#5f656b": "#a6acb2",
    "#c9cdd1": "#565c63",
    "#e9ebed": "#33383e",
    "#000000": "#eceff1",
}
_COLOUR = re.compile("|".join(DARK), re.IGNORECASE)


def training() -> privacy.PrivacyLoss:
    """The private training run of the first tutorial."""
    step = privacy.PoissonSampled(privacy.GaussianLoss(noise_multiplier=4.0), q=0.01)
    return privacy.Repeated(step, 10_000)


def _ladder() -> Any:
    return report.ladder_figure(report.quote(training(), delta=1e-5).ladder, name="10,000 noisy steps")


def _tradeoff() -> Any:
    return report.tradeoff_figure(training(), name="10,000 noisy steps")


def _profile() -> Any:
    prices = {
        "Laplace, scale 2": privacy.LaplaceLoss(scale=2.0),
        "Gaussian, multiplier 4": privacy.GaussianLoss(noise_multiplier=4.0),
    }
    return report.profile_figure(prices)


def _year() -> Any:
    return report.profile_figure({"a count with noise of scale 10, daily for a year": every_day()})


def every_day() -> privacy.PrivacyLoss:
    """The count of the first tutorial, released daily for a year."""
    return privacy.Repeated(privacy.LaplaceLoss(scale=10.0), 365)


def _budget() -> Any:
    ledger = pv.Ledger.create("memory:", budget=pv.Budget(epsilon=3.0, delta=1e-6), dataset="visits")
    for epsilon in (0.5, 0.2, 0.4, 0.1, 0.3, 0.6, 0.2):
        ledger.reserve(privacy.PureLoss(epsilon))
    return report.budget_figure(ledger)


def _ranges() -> Any:
    return report.lecture_ranges_figure()


def _ages() -> Any:
    ages = np.clip(np.random.default_rng(1).normal(47, 21, size=10_000), 0, 99).astype(int)
    counts = np.bincount(ages, minlength=100)
    return report.cdf_figure(counts, RangeQueries(domain=100).release(counts, epsilon=0.5).value)


def _choices() -> Any:
    from privet import mechanisms
    from privet.report.figure import PALETTE, label, new_figure, title

    figure, axes = new_figure(height=3.6)
    budgets = np.linspace(0.05, 3.0, 60)
    for kind, colour, name in (
        (mechanisms.PermuteAndFlip, PALETTE[0], "permute-and-flip"),
        (mechanisms.Exponential, PALETTE[1], "exponential"),
    ):
        better = [
            float(
                kind.for_budget(epsilon=float(e), sensitivity=1, candidates=("A", "B")).exact_probabilities([10, 15])[1]
            )
            for e in budgets
        ]
        axes.plot(budgets, better, color=colour, linewidth=1.8, label=name)
    axes.axhline(0.5, color="#8a8f94", linewidth=1.0, linestyle=(0, (4, 3)))
    axes.legend(frameon=False, fontsize=9)
    title(axes, "The better vaccine, chosen privately", "scores 10 and 15; the dashed line is a toss of a coin")
    label(axes, "epsilon", "probability of the better one")
    return figure


def _accuracy() -> Any:
    """The patients of the tutorial on private models, at six epsilons."""
    from privet import learn

    rng, n = np.random.default_rng(1), 20_000
    age = rng.uniform(18, 90, n)
    pressure, weight = np.clip(rng.normal(130, 20, n), 80, 200), np.clip(rng.normal(75, 15, n), 40, 150)
    rows = np.column_stack([age, pressure, weight])
    risk = 0.08 * (age - 55) + 0.04 * (pressure - 130) + 0.02 * (weight - 75)
    ill = (rng.random(n) < 1 / (1 + np.exp(-risk))).astype(int)
    model = learn.LogisticRegression(
        epsilon=1.0, delta=1e-6, bounds=([18, 80, 40], [90, 200, 150]), classes=[0, 1], n_rows=16_000
    )
    halves = rows[:16_000], ill[:16_000], rows[16_000:], ill[16_000:]
    epsilons = [0.001, 0.003, 0.01, 0.03, 0.1, 1.0]
    return report.accuracy_figure(learn.accuracy_curve(model, *halves, epsilons=epsilons, runs=5, public=True))


FIGURES: dict[str, Callable[[], Any]] = {
    "ladder": _ladder,
    "tradeoff": _tradeoff,
    "profile": _profile,
    "year": _year,
    "budget": _budget,
    "ranges": _ranges,
    "ages": _ages,
    "choices": _choices,
    "accuracy": _accuracy,
}


def dark(drawing: str) -> str:
    """The same drawing in the colours of a dark page."""
    return _COLOUR.sub(lambda found: DARK[found[0].lower()], drawing)


def draw(folder: Path) -> list[Path]:
    """Every figure as NAME.svg and NAME-dark.svg."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, make in FIGURES.items():
        light = folder / f"{name}.svg"
        report.save_figure(make(), light)
        drawing = light.read_text(encoding="utf-8")
        night = folder / f"{name}-dark.svg"
        night.write_text(dark(drawing), encoding="utf-8")
        written += [light, night]
    return written

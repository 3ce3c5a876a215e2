"""Picture: the trade-off curve, what every attack must miss at each rate of false alarms."""

import numpy as np

from privet import accounting
from privet._calls import door
from privet._numerics import Array
from privet._validate import open_fraction
from privet.privacy import PrivacyLoss
from privet.report.figure import Axes, Figure, accent, label, muted, new_figure, strong, title
from privet.report.numbers import percent_down, percent_up, plain, round_up


@door(prices=("loss",))
def tradeoff_figure(loss: PrivacyLoss, *, name: str = "", fpr: float = 0.01) -> Figure:
    """False-negative against false-positive rate: the diagonal is blind guessing, the shaded region is out of reach.

    **Guarantee:** no attack on any mechanism with this loss lies in the shaded region (nor in its mirror image above
    the diagonal, which is the same attack with its answers exchanged). **Reference:** Dong, Roth & Su 2019.

    >>> from privet import privacy
    >>> figure = tradeoff_figure(privacy.GaussianLoss(1.0))
    >>> figure.axes[0].get_xlabel()
    'false-positive rate: innocent, but accused'
    """
    open_fraction("fpr", fpr)
    rates = np.unique(np.concatenate((np.geomspace(1e-6, 0.02, 60), np.linspace(0.0, 1.0, 201), [fpr])))
    missed = accounting.tradeoff(loss, rates)
    figure, axes = new_figure(6.2, 5.8)
    axes.fill_between(rates, 0.0, missed, color=accent, alpha=0.13, linewidth=0.0)
    axes.plot([0.0, 1.0], [1.0, 0.0], color=muted, linewidth=1.3, linestyle=(0, (5, 3)))
    axes.plot(rates, missed, color=accent, linewidth=2.2)
    _name_the_regions(axes, rates, missed)
    _point_at(axes, fpr, float(missed[np.searchsorted(rates, fpr)]))
    axes.set_xlim(0.0, 1.0)
    axes.set_ylim(0.0, 1.0)
    axes.set_aspect("equal")
    gap = 100.0 * accounting.advantage(loss).upper  # certified; the largest gap on a grid of rates would fall short
    title(axes, f"At most {plain(round_up(gap, 3))} points better than guessing", name)
    label(axes, "false-positive rate: innocent, but accused", "false-negative rate: present, but missed")
    return figure


def _name_the_regions(axes: Axes, rates: Array, missed: Array) -> None:
    corner = float(rates[np.argmin(np.abs(missed - rates))])  # where the curve meets the other diagonal
    if corner > 0.2:  # else the region is too small to write into
        words = "no attack gets here\n(certified)"
        axes.text(0.55 * corner, 0.55 * corner, words, color=accent, fontsize=10.5, ha="center", va="center")
    # Along the line, just above it: 45 degrees on equal axes.
    axes.text(0.725, 0.335, "blind guessing", color="#5f656b", fontsize=9.5, ha="center", va="center", rotation=-45)


def _point_at(axes: Axes, fpr: float, missed: float) -> None:
    axes.plot([fpr], [missed], "o", color=strong, markersize=6, zorder=5, clip_on=False)
    words = f"an attack that accuses {percent_up(fpr)} of the innocent\n"
    words += f"misses at least {percent_down(missed)} of the others"
    axes.annotate(
        words,
        (fpr, missed),
        (0.34, 0.93),
        color=strong,
        fontsize=10,
        va="center",
        arrowprops={"arrowstyle": "-", "color": strong, "linewidth": 0.8, "shrinkB": 5, "relpos": (0.0, 0.5)},
    )

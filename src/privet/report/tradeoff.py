"""Picture: the trade-off curve, what every attack must miss at each rate of false alarms."""

import numpy as np

from privet import accounting
from privet._validate import open_fraction
from privet.privacy import PrivacyLoss
from privet.report.base import Figure, accent, label, muted, new_figure, percent_down, percent_up, strong, title

__all__ = ["tradeoff_figure"]


def tradeoff_figure(loss: PrivacyLoss, *, name: str = "", fpr: float = 0.01) -> Figure:
    """False-negative against false-positive rate: the diagonal is blind guessing, the shaded region is out of reach.

    **Guarantee:** no attack on any mechanism with this loss lies in the shaded region (nor in its mirror image above the
    diagonal, which is the same attack with its answers exchanged). **Reference:** Dong, Roth & Su 2019.

    >>> from privet import privacy
    >>> figure = tradeoff_figure(privacy.GaussianLoss(1.0))
    >>> figure.axes[0].get_xlabel()
    'false-positive rate: innocent, but accused'
    """
    open_fraction("fpr", fpr)
    rates = np.unique(np.concatenate((np.geomspace(1e-6, 0.02, 60), np.linspace(0.0, 1.0, 201), [fpr])))
    missed = accounting.tradeoff(loss, rates)
    figure, axes = new_figure(6.2, 5.6)
    axes.fill_between(rates, 0.0, missed, color=accent, alpha=0.13, linewidth=0.0)
    axes.plot([0.0, 1.0], [1.0, 0.0], color=muted, linewidth=1.3, linestyle=(0, (5, 3)))
    axes.plot(rates, missed, color=accent, linewidth=2.2)

    axes.text(0.27, 0.27, "no attack gets here\n(certified)", color=accent, fontsize=10.5, ha="center", va="center")
    axes.annotate(
        "blind guessing", (0.72, 0.28), (8, 6), textcoords="offset points", color="#5f656b", fontsize=9.5, va="bottom"
    )
    at = float(missed[np.searchsorted(rates, fpr)])
    axes.plot([fpr], [at], "o", color=strong, markersize=6, zorder=5, clip_on=False)
    words = f"at {percent_up(fpr)} false alarms every attack\nmisses at least {percent_down(at)} of the time"
    axes.annotate(
        words,
        (fpr, at),
        (0.30, min(0.97, at + 0.06)),
        color=strong,
        fontsize=10,
        va="top",
        arrowprops={"arrowstyle": "-", "color": strong, "linewidth": 0.8, "shrinkB": 5},
    )
    axes.set_xlim(0.0, 1.0)
    axes.set_ylim(0.0, 1.0)
    axes.set_aspect("equal")
    gap = float(np.max(1.0 - rates - missed))
    title(axes, f"The best attack gains at most {percent_up(gap)} over guessing", name or "trade-off of both errors")
    label(axes, "false-positive rate: innocent, but accused", "false-negative rate: present, but missed")
    return figure

"""Picture: the privacy profile, delta against epsilon."""

import math
from collections.abc import Mapping, Sequence

from privet._validate import open_fraction
from privet.accounting import Tightest
from privet.errors import InvalidParameter, NoGuarantee
from privet.privacy import PrivacyLoss
from privet.report.base import PALETTE, Figure, label, new_figure, plain, round_up, strong, title

__all__ = ["profile_figure", "profile_points"]

_TOLERANCE = 2e-3  # finer than a line is wide
_POINTS = 28


def profile_points(
    loss: PrivacyLoss, *, smallest: float = 1e-12, points: int = _POINTS
) -> tuple[list[float], list[float]]:
    """Certified points (epsilon, delta) of one profile, for deltas evenly spaced on the log scale from 1/2 downwards.

    Deltas that the loss cannot promise (it has already set more aside) are left out.

    >>> from privet import privacy
    >>> epsilons, deltas = profile_points(privacy.LaplaceLoss(scale=2.0), points=5)
    >>> max(epsilons) <= 0.5001 and len(epsilons) == len(deltas) == 5
    True
    """
    top, bottom = math.log(0.5), math.log(open_fraction("smallest", smallest))
    epsilons, deltas = [], []
    for index in range(points):
        delta = math.exp(top + (bottom - top) * index / (points - 1))
        try:
            epsilons.append(Tightest(_TOLERANCE).epsilon(loss, delta).upper)
        except NoGuarantee:
            continue
        deltas.append(delta)
    return epsilons, deltas


def profile_figure(
    losses: Mapping[str, PrivacyLoss],
    *,
    mark: Sequence[tuple[float, float]] = (),
    smallest: float = 1e-12,
) -> Figure:
    """delta against epsilon for one or several losses, each labelled at its end; `mark` points out (epsilon, delta) pairs.

    **Guarantee:** the curves are certified upper ends. **Error:** 0.2% in epsilon.

    >>> from privet import privacy
    >>> figure = profile_figure({"Laplace, scale 2": privacy.LaplaceLoss(scale=2.0)})
    >>> figure.axes[0].get_yscale()
    'log'
    """
    if not losses:
        raise InvalidParameter("a profile needs at least one loss")
    figure, axes = new_figure()
    for index, (name, loss) in enumerate(losses.items()):
        epsilons, deltas = profile_points(loss, smallest=smallest)
        if not epsilons:
            raise NoGuarantee(f"no accountant proves a finite epsilon for {name!r} at any delta up to 1/2")
        colour = PALETTE[index % len(PALETTE)]
        axes.plot(epsilons, deltas, color=colour, linewidth=2.2, solid_capstyle="round")
        if len(losses) > 1:
            axes.annotate(
                name, (epsilons[-1], deltas[-1]), (6, -2), textcoords="offset points", color=colour, fontsize=9.5
            )
    for epsilon, delta in mark:
        axes.plot([epsilon], [delta], "o", color=strong, markersize=6, zorder=5)
        axes.plot([0.0, epsilon, epsilon], [delta, delta, smallest / 10.0], color=strong, linewidth=0.8, linestyle=":")
        words = f"ε ≤ {plain(round_up(epsilon, 4))}  at  δ = {plain(delta)}"
        axes.annotate(words, (epsilon, delta), (9, 7), textcoords="offset points", color=strong, fontsize=10)
    axes.set_yscale("log")
    axes.set_ylim(smallest, 1.0)
    axes.set_xlim(left=0.0)
    axes.margins(x=0.18 if len(losses) > 1 else 0.06)
    only = next(iter(losses)) if len(losses) == 1 else "certified upper ends"
    title(axes, "A price is a curve, not a point", only)
    label(axes, "ε  (how much the odds may change, on the log scale)", "δ  (share that may escape the promise)")
    return figure

"""Picture: the privacy profile, delta against epsilon."""

from collections.abc import Mapping, Sequence

import numpy as np

from privet._calls import door
from privet._validate import open_fraction
from privet.accounting import Tightest
from privet.errors import InvalidParameter, NoGuarantee
from privet.privacy import PrivacyLoss
from privet.report.figure import PALETTE, Figure, label, new_figure, strong, title
from privet.report.numbers import plain, round_up

_COUNTED = Tightest(tol=5e-4)  # finer than a line is wide
_POINTS = 24  # of a curve: it bends slowly, and each is a question of its own
_BEYOND = 1.12  # how far past its end a curve that levels off is followed


def profile_points(
    loss: PrivacyLoss, *, smallest: float = 1e-12, points: int = _POINTS
) -> tuple[list[float], list[float]]:
    """Certified points (epsilon, delta) of one profile, from epsilon = 0 to where delta falls to `smallest`.

    A loss that has set a failure probability aside never gets there: its curve ends level.

    >>> from privet import privacy
    >>> epsilons, deltas = profile_points(privacy.LaplaceLoss(scale=2.0), points=5)
    >>> epsilons[0], round(max(epsilons), 4), round(deltas[0], 4)
    (0.0, 0.5, 0.2212)
    """
    end, reached = _end(loss, open_fraction("smallest", smallest))
    spread = np.linspace(0.0, end, points)[:-1]
    steep = end * (1.0 - 0.5 ** np.array([5, 7, 9, 12]))  # a bounded loss drops to nothing just before its end
    nodes = np.unique(np.concatenate((spread, steep, [] if reached else [end, end * _BEYOND])))
    curve = [(float(e), _COUNTED.delta(loss, float(e)).upper) for e in nodes]
    curve = [(e, d) for e, d in curve if d > smallest] + ([(end, smallest)] if reached else [])
    return [e for e, _ in curve], [d for _, d in curve]


def _end(loss: PrivacyLoss, smallest: float) -> tuple[float, bool]:
    """epsilon at the smallest delta that the loss can promise, and whether that is the one asked for."""
    delta = smallest
    while delta < 0.9:
        try:
            return _COUNTED.epsilon(loss, delta).upper, delta == smallest
        except NoGuarantee:
            delta *= 10.0
    raise NoGuarantee("no accountant proves a finite epsilon for this loss at any delta")


@door
def profile_figure(
    losses: Mapping[str, PrivacyLoss],
    *,
    mark: Sequence[tuple[float, float]] = (),
    smallest: float = 1e-12,
) -> Figure:
    """delta against epsilon for one or several losses; `mark` points out (epsilon, delta) pairs.

    **Guarantee:** the curves are certified upper ends. **Error:** 0.05% in epsilon.

    >>> from privet import privacy
    >>> figure = profile_figure({"Laplace, scale 2": privacy.LaplaceLoss(scale=2.0)})
    >>> figure.axes[0].get_yscale()
    'log'
    """
    if not losses:
        raise InvalidParameter("a profile needs at least one loss")
    figure, axes = new_figure()
    curves = {name: profile_points(loss, smallest=smallest) for name, loss in losses.items()}
    ranked = sorted(curves, key=lambda name: -curves[name][0][-1])  # the names from costly to cheap, as the curves lie
    for index, name in enumerate(ranked):
        colour = PALETTE[index % len(PALETTE)]
        axes.plot(*curves[name], color=colour, linewidth=2.2, solid_capstyle="round", label=name)
    for epsilon, delta in mark:
        if delta < smallest:
            continue
        axes.plot([epsilon], [delta], "o", color=strong, markersize=6, zorder=5)
        axes.plot([0.0, epsilon, epsilon], [delta, delta, smallest / 10.0], color=strong, linewidth=0.8, linestyle=":")
        words = f"ε ≤ {plain(round_up(epsilon, 4))}  at  δ = {plain(round_up(delta, 3))}"
        axes.annotate(words, (epsilon, delta), (9, 7), textcoords="offset points", color=strong, fontsize=10)
    if len(losses) > 1:  # the upper right is always empty: profiles fall
        axes.legend(loc="upper right", frameon=False, fontsize=9.5, labelcolor="linecolor", handlelength=1.4)
    axes.set_yscale("log")
    axes.set_ylim(smallest, 1.0)
    longest = max(max(epsilons) for epsilons, _ in curves.values())
    axes.set_xlim(0.0, longest * 1.15 if longest > 0.0 else 1.0)
    title(axes, "A price is a curve, not a point", ranked[0] if len(ranked) == 1 else "certified upper ends")
    label(axes, "ε  (log of the factor by which odds may change)", "δ  (share that may escape the promise)")
    return figure

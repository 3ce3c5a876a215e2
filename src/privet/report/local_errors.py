"""A picture of local protocols: how far off a share is by the number of reports."""

from collections.abc import Mapping, Sequence

from privet.report.figure import PALETTE, Figure, accent, label, new_figure, title


def local_error_figure(people: Sequence[int], curves: Mapping[str, Sequence[float]]) -> Figure:
    """Standard deviation of the share of a rare value against the number of reports, on logarithmic axes; the last curve
    is the best.

    >>> figure = local_error_figure([10, 1000], {"KRR": [0.5, 0.05]})
    >>> figure.axes[0].get_xlabel()
    'reports'
    """
    figure, axes = new_figure()
    for (name, errors), colour in zip(reversed(list(curves.items())), PALETTE * 3, strict=False):
        axes.plot(people, errors, color=colour, linewidth=2.2 if colour == accent else 1.6, label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.legend(frameon=False, fontsize=9.5)
    title(
        axes,
        f"{list(curves)[-1]}: how far off is a share?",
        "standard deviation of the estimated share of a rare value",
    )
    label(axes, "reports", "standard deviation")
    return figure

"""Pictures of attacks: curves of membership attacks, the exposure of secrets, the cells of a table."""

from itertools import pairwise

import numpy as np

from privet import accounting
from privet.audit import Exposure, MembershipAttack, Reidentification, SyntheticRates
from privet.report.figure import PALETTE, Figure, accent, label, muted, new_figure, title


def roc_figure(*attacks: MembershipAttack, name: str = "") -> Figure:
    """Members found against others accused, both on logarithmic axes, with intervals at three rates; above the shaded
    edge no attack on a model of this price can be. It is drawn from exact scores: as private as the records.

    >>> import numpy as np
    >>> from privet import audit
    >>> who = audit.Suspects.of(members=(np.zeros(50), np.zeros(50)), others=(np.ones(50), np.zeros(50)), real=False)
    >>> figure = roc_figure(audit.loss_attack(lambda x, y: x, who, claim=1.0))
    >>> figure.axes[0].get_xscale()
    'log'
    """
    figure, axes = new_figure(6.4, 5.6)
    least = min(0.5 / max(attack.exact_area.others for attack in attacks), 5e-4)
    rates = np.geomspace(least, 1.0, 200)
    axes.plot(rates, rates, color=muted, linewidth=1.2, linestyle=(0, (5, 3)), label="chance")
    prices = {attack.claim for attack in attacks if attack.claim is not None}
    for price in prices:
        top = 1.0 - np.asarray(accounting.tradeoff(price, rates))
        axes.fill_between(rates, top, 1.0, color=accent, alpha=0.12, linewidth=0.0)
        axes.plot(rates, top, color=accent, linewidth=1.6, label="ceiling of the price")
    for attack, colour in zip(attacks, (PALETTE * len(attacks))[1:], strict=False):
        inside, outside = attack.scores.exact_value
        cuts = np.unique(np.concatenate((inside, outside)))[::-1]
        tpr, fpr = (1.0 - np.searchsorted(np.sort(each), cuts, "left") / len(each) for each in (inside, outside))
        axes.step(
            np.append(fpr, 1.0), np.append(tpr, 1.0), where="post", color=colour, linewidth=1.6, label=attack.name
        )
        for rate in attack.exact_rates:
            found = rate.tpr
            axes.plot([rate.fpr] * 2, [max(found.low, least), max(found.high, least)], color=colour, linewidth=1.0)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(least, 1.0)
    axes.set_ylim(least, 1.05)
    axes.legend(frameon=False, fontsize=9, loc="lower right")
    best = max((attack.exact_area.auc.value for attack in attacks), default=0.5)
    title(axes, f"Area under the curve {best:.3g}", name or "bars: confidence intervals at 0.1%, 1% and 10%")
    label(axes, "others accused (false-positive rate)", "members found (true-positive rate)")
    return figure


def exposure_figure(found: Exposure, *, epsilon: float | None = None, name: str = "") -> Figure:
    """The share of secrets with so many bits or more, beside the law of secrets that were not in, and that of an epsilon.

    >>> from privet import audit
    >>> figure = exposure_figure(audit.exposure([1.0, 2.0], np.arange(1.0, 9.0)), epsilon=1.0)
    >>> figure.axes[0].get_xlabel()
    'exposure, in bits'
    """
    figure, axes = new_figure(height=3.8)
    bits = np.sort(found.bits)
    grid = np.linspace(0.0, max(float(bits[-1]), 4.0), 200)
    axes.plot(grid, 2.0**-grid, color=muted, linewidth=1.3, linestyle=(0, (5, 3)), label="not in the training data")
    if epsilon is not None:
        allowed = [found.chance(float(each), found.copies * epsilon) for each in grid]
        axes.plot(grid, allowed, color=accent, linewidth=1.6, label=f"at most, at epsilon {epsilon:g}")
    shares = np.arange(len(bits), 0, -1) / len(bits)
    axes.step(
        np.append(0.0, bits), np.append(1.0, shares), where="pre", color=PALETTE[1], linewidth=1.8, label="secrets"
    )
    axes.legend(frameon=False, fontsize=9)
    title(axes, f"Mean exposure {found.mean:.3g} bits", name or f"{len(bits)} secrets, {found.method}")
    label(axes, "exposure, in bits", "share of secrets with so many or more")
    return figure


def cells_figure(found: Reidentification, *, name: str = "") -> Figure:
    """The share of rows by the size of their cell. Exact, for the custodian: not releasable.

    >>> figure = cells_figure(Reidentification(("age",), {1: 2, 8: 1}))
    >>> figure.axes[0].get_xlabel()
    'rows with the same quasi-identifiers'
    """
    figure, axes = new_figure(height=3.8)
    ends = (1, 2, 5, 10, 20, 50, 100, 1000)
    names = [f"{low}" if high == low + 1 else f"{low}-{high - 1}" for low, high in pairwise(ends)]
    places = np.searchsorted(ends, list(found.sizes), "right") - 1
    rows = np.bincount(places, weights=[size * many for size, many in found.sizes.items()], minlength=len(ends))
    colours = [PALETTE[1] if low < 5 else accent for low in ends]
    axes.bar(np.arange(len(ends)), rows / found.rows, color=colours, width=0.8)
    axes.set_xticks(np.arange(len(ends)), [*names, f"{ends[-1]}+"])
    title(axes, f"{100 * found.exact_unique:.3g}% of the rows are alone", name or ", ".join(found.quasi))
    label(axes, "rows with the same quasi-identifiers", "share of all rows")
    return figure


def rates_figure(found: SyntheticRates, *, name: str = "") -> Figure:
    """The rates of attacks on a synthetic table for people in the data and for people who were not, with their intervals.

    >>> from privet import audit
    >>> rng = np.random.default_rng(0)
    >>> one, two, made = ({name: rng.integers(0, 3, 30) for name in "ab"} for _ in range(3))
    >>> figure = rates_figure(audit.exact_synthetic_rates(one, made, two, secret="b", guesses=10))
    >>> len(figure.axes[0].get_xticks())
    3
    """
    figure, axes = new_figure(height=3.8)
    for shift, side, colour in ((-0.1, "members", PALETTE[1]), (0.1, "others", muted)):
        rates = [getattr(each, side).rate for each in found.named.values()]
        middle = np.array([rate.value for rate in rates])
        ends = np.abs(np.array([[rate.low, rate.high] for rate in rates]).T - middle)
        words = "in the data" if side == "members" else "not in the data"
        axes.errorbar(np.arange(len(rates)) + shift, middle, yerr=ends, fmt="o", color=colour, capsize=3, label=words)
    axes.set_xticks(np.arange(len(found.named)), list(found.named))
    axes.legend(frameon=False, fontsize=9)
    title(axes, f"Leaks about people in the data: {', '.join(found.accused) or 'none seen'}", name)
    label(axes, "", "share of attacks that succeed")
    return figure

"""From any upper bound on a privacy profile to a dominating loss variable (connect the dots)."""

import numpy as np

from privet._numerics import LARGEST_EXPONENT, Array
from privet.privacy.variable import AtomicVariable, LossVariable


def lower_hull(x: Array, y: Array) -> Array:
    """Indices of the lower convex hull of points with increasing x.

    Vertices where the polyline bends the wrong way are dropped all at once, a few times: a chord over a concave run lies
    below the run, so no dropped vertex can belong to the hull. Where two convex runs meet, each such round would drop one
    vertex of either: what is left is walked once from the left (Andrew 1979).

    >>> lower_hull(np.array([0.0, 1.0, 2.0]), np.array([0.0, 5.0, 0.0])).tolist()
    [0, 2]
    """
    keep = np.arange(len(x))
    for _ in range(8):
        if len(keep) <= 2:
            return keep
        slope = np.diff(y[keep]) / np.diff(x[keep])
        convex = np.concatenate(([True], np.diff(slope) >= 0.0, [True]))
        if convex.all():
            return keep
        keep = keep[convex]
    return keep[_walked(x[keep], y[keep])]


def _walked(x: Array, y: Array) -> list[int]:
    """From one vertex that bends the wrong way to the next: as soon as an edge of the polyline is one of the hull, so is
    all that follows up to there."""
    edges = np.diff(y) / np.diff(x)
    wrong = [*(np.flatnonzero(np.diff(edges) < 0.0) + 1).tolist(), len(x) - 1]
    steps, xs, ys = edges.tolist(), x.tolist(), y.tolist()
    hull, slopes, following = [0], [-np.inf], iter(wrong)
    until, i = next(following), 1
    while i < len(xs):
        while until < i - 1:
            until = next(following)
        if until >= i and hull[-1] == i - 1 and (i == 1 or hull[-2] == i - 2):
            hull.extend(range(i, until + 1))
            slopes.extend(steps[i - 1 : until])
            i = until + 1
            continue
        slope = (ys[i] - ys[hull[-1]]) / (xs[i] - xs[hull[-1]])
        while slope < slopes[-1]:
            hull.pop()
            slopes.pop()
            slope = (ys[i] - ys[hull[-1]]) / (xs[i] - xs[hull[-1]])
        hull.append(i)
        slopes.append(slope)
        i += 1
    return hull


def variable_of_curve(epsilons: Array, deltas: Array) -> AtomicVariable:
    """A dominating variable of every pair whose profile is at most `deltas` at the (increasing) `epsilons`.

    The true profile is convex and decreasing in gamma = exp(epsilon), is 1 at gamma = 0 and never below 1 - gamma. The
    polyline through upper bounds (its lower hull included) is therefore an upper bound everywhere, and it is the profile
    of the atoms returned here. Beyond the last node the bound stays flat: that mass goes to +infinity.

    **Reference:** Doroshenko et al. 2022 (connect the dots); Zhu, Dong & Wang 2022, proposition 12.
    """
    low = epsilons <= LARGEST_EXPONENT
    epsilons, deltas = epsilons[low], deltas[low]
    gamma = np.concatenate(([0.0], np.exp(epsilons)))
    delta = np.concatenate(([1.0], np.clip(np.maximum(deltas, -np.expm1(epsilons)), 0.0, 1.0)))
    delta = np.minimum.accumulate(delta)
    apart = np.concatenate(([True], np.diff(gamma) > 1e-14 * gamma[1:]))  # nodes that rounding made equal count once
    gamma, delta = gamma[apart], delta[apart]
    keep = lower_hull(gamma, delta)
    gamma, delta = gamma[keep], delta[keep]
    slope = np.maximum(np.concatenate((np.diff(delta) / np.diff(gamma), [0.0])), -1.0)  # Q has no more mass than 1
    q = np.maximum(np.diff(slope), 0.0)  # mass of Q at each kink after gamma = 0
    inner = gamma[1:]
    used = q > 0.0
    q_only = max(0.0, 1.0 + float(slope[0]))  # slope -1 at 0 when Q has no mass of its own
    p = inner * q
    return AtomicVariable(np.log(inner[used]), p[used], q[used], float(delta[-1]), q_only)


def variable_of_symmetric_curve(epsilons: Array, deltas: Array) -> AtomicVariable:
    """A dominating variable in both directions at once, from bounds that hold for either at epsilons 0 = e0 < e1 < ...

    Below gamma = 1 a curve that serves both directions is its own mirror image, 1 - gamma + gamma h(1/gamma), and lines
    are mirrored to lines. So the atoms at positive losses decide: each has its image, and what is left of P and of Q is
    equal and sits at loss 0.

    >>> variable_of_symmetric_curve(np.array([0.0, 1.0]), np.array([0.25, 0.0])).symmetric
    True
    """
    below = -epsilons[:0:-1]
    mirrored = -np.expm1(below) + np.exp(below) * deltas[:0:-1]
    whole = variable_of_curve(np.concatenate((below, epsilons)), np.concatenate((mirrored, deltas)))
    up = whole.losses > 0.0
    losses, p, q = whole.losses[up], whole.p[up], whole.q[up]
    middle = [max(0.0, 1.0 - float(p.sum() + q.sum()) - whole.p_only)]
    p, q = np.concatenate((q[::-1], middle, p)), np.concatenate((p[::-1], middle, q))
    return AtomicVariable(np.concatenate((-losses[::-1], [0.0], losses)), p, q, whole.p_only, whole.p_only)


def variable_of_envelope(variables: list[LossVariable]) -> LossVariable:
    """A variable that dominates each of several: the connected dots of the largest of their profiles.

    >>> from privet import privacy
    >>> pair = privacy.FinitePairLoss((0.5, 0.5), (0.1, 0.9))
    >>> both = variable_of_envelope([pair.variable("remove"), pair.variable("add")])
    >>> bool(both.delta(0.7) >= max(pair.profile(0.7, "remove"), pair.profile(0.7, "add")))
    True
    """
    ends = [end for variable in variables for end in variable.span(1e-40)]
    atoms = [variable.atoms().losses for variable in variables]
    nodes = np.unique(np.concatenate((np.linspace(min(ends), max(ends), 2001), *atoms)))
    return variable_of_curve(nodes, np.max([variable.delta(nodes) for variable in variables], axis=0))

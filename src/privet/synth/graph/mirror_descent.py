"""The model of largest entropy among those that fit noisy tables best: mirror descent on log-potentials."""

from collections.abc import Mapping, Sequence

import numpy as np

from privet._numerics import Array
from privet.synth.graph.junction_tree import Clique
from privet.synth.graph.measurement import Measurement, combined
from privet.synth.graph.model import GraphModel
from privet.synth.graph.tree_plan import TreePlan

_HALVINGS = 25  # of a step, to 2^-25 of it: what still gains nothing is at the end of the digits
_FIRST = 4.0  # the first step, times the total and the largest weight: curvature is at most about their product
_GROWTH = 1.25  # of a step that was taken: it may become longer again. Speed only


def fitted(
    sizes: Sequence[int],
    measurements: Sequence[Measurement],
    total: float,
    *,
    allowed: Mapping[Clique, Array] | None = None,
    start: GraphModel | None = None,
    steps: int = 1000,
    tolerance: float = 1e-7,
) -> GraphModel:
    """The model that minimises half the sum of squared distances to the measurements, each in its standard deviations.

    Steps are accepted when they lessen that by half of what they promise, and are halved otherwise. It ends when a step
    gains less than `tolerance` of what is left (or of 1), or after `steps`. `start` hands on the potentials of cliques
    that were measured before, and the length of the last step.

    **Reference:** McKenna, Sheldon & Miklau 2019; Beck & Teboulle 2003.

    >>> import numpy as np
    >>> made = fitted((2, 2), [Measurement((0, 1), np.array([[30.0, 10.0], [20.0, 40.0]]), 1.0)], 100.0)
    >>> made.marginal((0,)).round(2).tolist()
    [40.0, 60.0]
    """
    merged = combined(measurements)
    cliques = list(merged)
    known = start.plan if start is not None else None
    same = known is not None and list(known.measured) == cliques
    plan = known if same and known is not None else TreePlan(sizes, cliques, allowed)
    before = {} if start is None else dict(zip(start.plan.measured, start.potentials, strict=True))
    theta = [before.get(each, np.zeros(tuple(sizes[i] for i in each))) for each in cliques]
    wanted = [merged[each][0] for each in cliques]
    weights = [merged[each][1] for each in cliques]
    sharpest = max((float(each.max()) for each in weights), default=1.0)
    step = _FIRST / (total * sharpest) if start is None else start.step
    beliefs = plan.calibrated(theta, total)
    reached = plan.marginals(beliefs)
    loss, slopes = _loss(reached, wanted, weights)
    for _ in range(steps):
        length = step
        for _ in range(_HALVINGS):
            tried = [a - length * g for a, g in zip(theta, slopes, strict=True)]
            new = plan.calibrated(tried, total)
            there = plan.marginals(new)
            after, onward = _loss(there, wanted, weights)
            promised = sum(float(np.vdot(g, a - b)) for g, a, b in zip(slopes, reached, there, strict=True))
            if loss - after >= 0.5 * promised:
                break
            length *= 0.5
        else:  # nothing is gained that floats can tell: the step stays as long as it was, for whoever goes on from here
            break
        gain = loss - after
        theta, beliefs, reached, loss, slopes = tried, new, there, after, onward
        step = _GROWTH * length
        if gain <= tolerance * max(loss, 1.0):
            break
    return GraphModel(plan, theta, total, beliefs, step=step, loss=loss)


def _loss(reached: Sequence[Array], wanted: Sequence[Array], weights: Sequence[Array]) -> tuple[float, list[Array]]:
    """Half the weighted squares, and their slopes in the tables."""
    loss, slopes = 0.0, []
    for at, aim, weight in zip(reached, wanted, weights, strict=True):
        off = at - aim
        slope = weight * off
        loss += 0.5 * float(np.vdot(slope, off))
        slopes.append(slope)
    return loss, slopes

"""The shares of noisy steps in a promise: mu of the whole, noise of a step, and the number of records."""

from typing import Any

import numpy as np

from privet._numerics import Array
from privet.errors import InvalidParameter, NoGuarantee
from privet.learn.losses import Loss
from privet.learn.problem import GridRows, Task, gradient_reach
from privet.mechanisms import Gaussian, Source
from privet.privacy import Guarantee

COUNT_SHARE = 0.02  # of mu^2, for a noisy number of records where none is public
_CLIP = (
    0.35  # of the largest slope: cuts few gradients, and the noise by a factor of three (docs/proofs/learn/noisy_gd.md)
)


def whole_mu(target: Guarantee, name: str) -> float:
    """The mu-GDP that keeps the promise, a little below the largest so that sums of shares in floats stay within it.

    Normal noise composes exactly in mu: its squares add up.

    >>> round(whole_mu(Guarantee(1.0, 1e-6), "NoisyGD"), 6)
    0.236704
    """
    try:
        mu = target.as_mu().share(1.0).mu
    except NoGuarantee:
        raise NoGuarantee(
            f"{name} has normal noise, which has no pure guarantee: give delta, or take a solver that can be pure, such as "
            "ObjectivePerturbation() or SufficientStatistics()"
        ) from None
    assert mu is not None
    return mu


def clip_for(loss: Loss, given: float | None) -> float:
    """The norm to which gradients are clipped: as it is given, else a share of the largest slope.

    >>> from privet.learn.losses import Logistic
    >>> clip_for(Logistic(), None), clip_for(Logistic(), 2.0)
    (0.35, 2.0)
    """
    return _CLIP * loss.lipschitz if given is None else given


def gradient_noise(mu: float, clip_norm: float, unit: Any) -> Gaussian:
    """Noise for one sum of clipped gradients, in steps of its grid.

    >>> from privet.privacy import Unit
    >>> round(gradient_noise(0.5, 1.0, Unit()).scale * 2.0**-38, 6)
    2.0
    """
    return Gaussian.for_budget(mu=mu, sensitivity=gradient_reach(clip_norm, unit))


def kept(make: Any, target: Guarantee, mu: float) -> Any:
    """The result of `make` for mu, lessened until the price, rounded up, is within the promise."""
    for k in range(40):  # by twice as much each time, 1/32 at most
        made = make(mu * (1.0 - 2.0 ** (k - 44)))
        if target.covers(made.loss):
            return made
    raise InvalidParameter("the promise cannot be kept in floats: give a larger epsilon or delta")


def counting_noise(mu: float, task: Task) -> Gaussian | None:
    """Noise for the number of records where they come and go; None where they are exchanged: the number is public then.

    >>> counting_noise(0.1, Task(features=1, row_norm=1.0)).scale > 9.9
    True
    """
    if task.unit.relation == "replace":
        return None
    return Gaussian.for_budget(mu=mu, sensitivity=float(task.unit.group_size), unit=task.unit)


def known_rows(
    rows: int | None, counting: Gaussian | None, data: GridRows, source: Source, *, persons: bool = False
) -> float:
    """The number of records, or of persons: `rows` where it is given, else noisy by `counting`, else exact, which is public
    where records are exchanged for others (`counting_noise`).
    """
    if rows is not None:
        return float(rows)
    exact_count = data.exact_persons if persons else data.exact_count
    if counting is None:
        return float(max(1, exact_count()))
    return max(1.0, float(counting.release(exact_count(), source=source).value))


def in_units(noisy: Array, exponent: int) -> Array:
    """Numbers that were counted in steps of 2^exponent, in plain units.

    >>> in_units(np.array([8.0]), -2).tolist()
    [2.0]
    """
    return np.asarray(np.ldexp(noisy, exponent))


def shape_of(task: Task, loss: Loss) -> tuple[int, ...]:
    """The shape of the coefficients: a row of them, or one for each class.

    >>> from privet.learn.losses import Logistic
    >>> shape_of(Task(features=2, row_norm=1.0), Logistic())
    (3,)
    """
    return (task.dimension,) if loss.outputs == 1 else (loss.outputs, task.dimension)

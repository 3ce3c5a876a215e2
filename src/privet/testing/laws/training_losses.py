"""Laws of training losses: the constants that privacy rests on, held against the functions themselves by search.

An example is `learn.losses.LossExample`: a loss, and targets that reach every piece of it. Slopes must stay bounded for
targets that nobody listed as well, since data may hold them.
"""

import math
from typing import Any

import numpy as np

from privet._numerics import Array
from privet.testing.law import law_of

_WILD = (-1e6, -17.0, -1e-3, 0.4, 3.0, 1e6)  # targets that no example needs to list
_SEED = 20_260_117  # of the places that are looked at: a red law stays red


def _margins(targets: Array, outputs: int) -> Array:
    """Margins of every size, and close to the targets, where most functions bend."""
    rng = np.random.default_rng(_SEED)
    sizes = 10.0 ** rng.uniform(-9.0, 9.0, (600, outputs)) * rng.choice([-1.0, 1.0], (600, outputs))
    near = rng.normal(size=(1_200, outputs)) * 4.0
    lines = np.linspace(-60.0, 60.0, 2_401)[:, None] * rng.choice([-1.0, 1.0], (1, outputs))
    beside = targets[:, None] + np.array([-3.0, -1.0, -0.1, -1e-6, 0.0, 1e-6, 0.1, 1.0, 3.0])
    found = np.concatenate([sizes, near, lines, np.repeat(beside.reshape(-1, 1), outputs, axis=1)])
    return found if outputs > 1 else found[:, 0]


def _lengths(values: Array, outputs: int) -> Array:
    return np.abs(values) if outputs == 1 else np.linalg.norm(values, axis=1)


def _everywhere(example: Any, *, wild: bool) -> Any:
    """Margins and a target for each, one target after the other."""
    outputs = example.loss.outputs
    listed = np.array([*example.targets, *(_WILD if wild and outputs == 1 else ())], dtype=float)
    for target in listed:
        margins = _margins(listed if outputs == 1 else np.zeros(1), outputs)
        yield margins, np.full(len(margins), target)


@law_of("training loss")
def check_slope_stays_within_lipschitz(example: Any) -> None:
    """No slope, for whatever target, is longer than `lipschitz`: the gradient of one record on which noise is set.

    >>> from privet.learn.losses import Huber
    >>> check_slope_stays_within_lipschitz(next(iter(Huber.examples())))
    """
    loss = example.loss
    if math.isinf(loss.lipschitz):
        return  # it says that it has no bound, and solvers refuse it
    for margins, targets in _everywhere(example, wild=True):
        longest = float(_lengths(np.asarray(loss.slope(margins.copy(), targets)), loss.outputs).max())
        assert longest <= loss.lipschitz, (
            f"{loss}: a slope of {longest:g} for a target of {targets[0]:g}, not within lipschitz"
        )


@law_of("training loss")
def check_bend_stays_within_smoothness(example: Any) -> None:
    """Curvatures are at least 0 and at most `smoothness`, and so is what slopes change by between any two margins.

    >>> from privet.learn.losses import Logistic
    >>> check_bend_stays_within_smoothness(next(iter(Logistic.examples())))
    """
    loss = example.loss
    rng = np.random.default_rng(_SEED + 1)
    for margins, targets in _everywhere(example, wild=False):
        bend = np.asarray(loss.curvature(margins.copy(), targets))
        assert float(bend.min()) >= 0.0, f"{loss}: a negative curvature: not convex"
        assert float(bend.max()) <= loss.smoothness, f"{loss}: a curvature beyond smoothness"
        near = np.abs(margins) < 1e3 if loss.outputs == 1 else (np.abs(margins) < 1e3).all(axis=1)
        here, at = margins[near], targets[near]
        there = here + rng.normal(size=here.shape) * 10.0 ** rng.uniform(
            -4.0, 1.0, (len(here), *(1,) * (here.ndim - 1))
        )
        moved = np.asarray(loss.slope(there.copy(), at)) - np.asarray(loss.slope(here.copy(), at))
        far = _lengths(there - here, loss.outputs)
        rounding = 1e-9 * (1.0 + loss.smoothness) * (1.0 + np.abs(here).max())
        assert bool((_lengths(moved, loss.outputs) <= loss.smoothness * far + rounding).all()), (
            f"{loss}: not that smooth"
        )
        across = (moved * (there - here)).reshape(len(here), -1).sum(axis=1)
        assert bool((across >= -rounding * (1.0 + far)).all()), f"{loss}: slopes fall: not convex"


@law_of("training loss")
def check_slope_is_the_derivative(example: Any) -> None:
    """Slopes are differences of values, and curvatures (with several margins `bent`) those of slopes.

    >>> from privet.learn.losses import Softmax
    >>> check_slope_is_the_derivative(next(iter(Softmax.examples())))
    """
    loss, step = example.loss, 1e-6
    rng = np.random.default_rng(_SEED + 2)
    for target in example.targets:
        shape = (800,) if loss.outputs == 1 else (800, loss.outputs)
        margins, targets = rng.uniform(-7.0, 7.0, shape), np.full(800, float(target))
        way = rng.normal(size=shape)
        left, right = margins - step * way, margins + step * way
        along = (np.asarray(loss.slope(margins.copy(), targets)) * way).reshape(800, -1).sum(axis=1)
        seen = (np.asarray(loss.value(right, targets)) - np.asarray(loss.value(left, targets))) / (2.0 * step)
        scale = (1.0 + loss.smoothness) * (1.0 + np.abs(way).reshape(800, -1).sum(axis=1)) * (1.0 + abs(float(target)))
        assert bool((np.abs(seen - along) <= 1e-4 * scale).all()), f"{loss}: slope is not the derivative of value"
        changed = (np.asarray(loss.slope(right.copy(), targets)) - np.asarray(loss.slope(left.copy(), targets))) / (
            2.0 * step
        )
        bent = np.asarray(loss.bent(margins.copy(), targets, way))
        wrong = np.abs(changed - bent).reshape(800, -1).max(axis=1) > 1e-3 * scale
        assert wrong.mean() < 0.02, f"{loss}: curvature is not the derivative of slope"  # a kink is met now and then


@law_of("training loss")
def check_wide_slope_is_the_slope(example: Any) -> None:
    """Slopes from pairs of doubles, which certificates are made of, are those of doubles up to their rounding.

    >>> from privet.learn.losses import Pinball
    >>> check_wide_slope_is_the_slope(next(iter(Pinball.examples())))
    """
    loss = example.loss
    for margins, targets in _everywhere(example, wild=True):
        near = np.abs(margins) < 1e6 if loss.outputs == 1 else (np.abs(margins) < 1e6).all(axis=1)
        here, at = margins[near], targets[near]
        high, low = loss.wide_slope((here.copy(), np.zeros_like(here)), at)
        plain = np.asarray(loss.slope(here.copy(), at))
        rounding = 1e-12 * (1.0 + loss.smoothness) * (1.0 + np.abs(here).max() + abs(float(at[0])))
        assert bool((np.abs(np.asarray(high) + np.asarray(low) - plain) <= rounding).all()), f"{loss}: two slopes"


@law_of("training loss")
def check_shape_is_kept(example: Any) -> None:
    """A slope of a fixed sign never has the other one, and the curvature of a logistic loss is t(1 - t) of its slope t.

    >>> from privet.learn.losses import HuberHinge
    >>> check_shape_is_kept(next(iter(HuberHinge.examples())))
    """
    loss = example.loss
    if loss.shape not in ("fixed_sign", "logistic"):
        return
    for margins, targets in _everywhere(example, wild=False):
        slope = np.asarray(loss.slope(margins.copy(), targets))
        assert bool((slope * -targets >= 0.0).all()), f"{loss}: a slope of the other sign"
        if loss.shape == "logistic":
            t = np.abs(slope)
            bend = np.asarray(loss.curvature(margins.copy(), targets))
            assert np.allclose(bend, t * (1.0 - t), rtol=1e-9, atol=1e-12), (
                f"{loss}: curvature and slope do not belong together"
            )

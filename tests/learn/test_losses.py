"""The constants that privacy rests on, held against the functions themselves, over wide ranges."""

import numpy as np
import pytest

from privet.errors import InvalidParameter
from privet.learn.losses import ClippedPoisson, Huber, HuberHinge, Logistic, Pinball, Softmax

MARGINS = np.concatenate([np.linspace(-60, 60, 4801), [-1e300, -1e8, 1e8, 1e300]])
LABELS, NUMBERS, COUNTS = [-1.0, 1.0], [-1.0, -0.3, 0.0, 1.0], [0.0, 1.0, 2.5, 9.0]
EVERY = [
    (Logistic(), LABELS),
    (HuberHinge(0.5), LABELS),
    (HuberHinge(0.05), LABELS),
    (Huber(1.0), NUMBERS),
    (Huber(0.1), NUMBERS),
    (Pinball(0.5, 0.1), NUMBERS),
    (Pinball(0.9, 0.02), NUMBERS),
    (ClippedPoisson(9.0, 3.0), COUNTS),
    (ClippedPoisson(9.0, 20.0), COUNTS),
]
NAMES = [repr(loss) for loss, _ in EVERY]


@pytest.mark.parametrize(("loss", "targets"), EVERY, ids=NAMES)
def test_slopes_and_curvatures_stay_within_the_constants(loss, targets):
    for y in targets:
        at = np.full(len(MARGINS), y)
        slope, curvature = loss.slope(MARGINS, at), loss.curvature(MARGINS, at)
        assert np.abs(slope).max() <= loss.lipschitz
        assert curvature.min() >= 0.0
        assert curvature.max() <= loss.smoothness
        assert (np.diff(slope[:4801]) >= 0.0).all()  # convex
        if loss.shape != "general":
            assert (slope * -y >= 0.0).all()  # never of the other sign


@pytest.mark.parametrize(("loss", "targets"), EVERY, ids=NAMES)
def test_slopes_are_derivatives_of_values_and_curvatures_of_slopes(loss, targets):
    m, step = np.linspace(-7.3, 7.1, 1441), 1e-6
    for y in targets:
        at = np.full(len(m), y)
        numeric = (loss.value(m + step, at) - loss.value(m - step, at)) / (2 * step)
        assert np.abs(numeric - loss.slope(m, at)).max() < 1e-4 * max(1.0, loss.smoothness)
        bend = (loss.slope(m + step, at) - loss.slope(m - step, at)) / (2 * step)
        wrong = np.abs(bend - loss.curvature(m, at)) > 1e-3 * (1.0 + loss.smoothness)
        assert wrong.mean() < 0.01  # kinks


def test_logistic_curvature_belongs_to_its_slope():
    m = np.linspace(-30, 30, 601)
    t = np.abs(Logistic().slope(m, np.ones(len(m))))
    assert np.allclose(Logistic().curvature(m, np.ones(len(m))), t * (1 - t), rtol=1e-12, atol=1e-15)


def test_two_classes_have_one_margin():
    with pytest.raises(InvalidParameter, match=r"take Logistic\(\)"):
        Softmax(2)

"""The constants that privacy rests on, held against the functions themselves, over wide ranges."""

import mpmath
import numpy as np
import pytest

from privet.errors import InvalidParameter
from privet.learn.losses import (
    ClippedPoisson,
    Huber,
    HuberHinge,
    Logistic,
    Pinball,
    Softmax,
    Squared,
    double_double as wide,
)
from privet.learn.solvers.exact_gradient import scale_of

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


def exact_slope(loss, m, y):
    """psi' in 60 digits."""
    exact = [mpmath.mpf(float(each)) for each in vars(loss).values()]
    if isinstance(loss, Logistic):
        return -y / (1 + mpmath.exp(y * m))
    if isinstance(loss, HuberHinge):
        return -y * min(max((1 + exact[0] - y * m) / (2 * exact[0]), 0), 1)
    if isinstance(loss, Huber):
        return min(max(m - y, -exact[0]), exact[0])
    if isinstance(loss, Pinball):
        return min(max((m - y) / (2 * exact[1]) + mpmath.mpf("0.5") - exact[0], -exact[0]), 1 - exact[0])
    return min(max(mpmath.exp(m) - y, -exact[1]), exact[1])


@pytest.mark.parametrize(("loss", "targets"), EVERY, ids=NAMES)
def test_wide_slopes_are_exact_to_85_bits(loss, targets):
    """Over margins of all sizes, near the kinks too; those in doubles are not."""
    mpmath.mp.dps = 60
    rng = np.random.default_rng(1)
    margins = np.concatenate([rng.normal(size=30) * 10.0**k for k in (-9, -3, 0, 1, 3)] + [[0.0, 1.0, -1.0, 1e9, -1e9]])
    rests = margins * rng.uniform(-1.0, 1.0, len(margins)) * 2.0**-54
    worst = rough = 0.0
    for y in targets:
        at = np.full(len(margins), y)
        high, low = loss.wide_slope((margins, rests), at)
        plain = loss.slope(margins.copy(), at)
        for k, (m, r) in enumerate(zip(margins.tolist(), rests.tolist(), strict=True)):
            wanted = exact_slope(loss, mpmath.mpf(m) + mpmath.mpf(r), mpmath.mpf(y))
            worst = max(worst, float(abs(wanted - mpmath.mpf(float(high[k])) - mpmath.mpf(float(low[k])))))
            rough = max(rough, float(abs(wanted - mpmath.mpf(float(plain[k])))))
    assert worst <= 2.0**-85 * scale_of(loss) < 1e-18 < rough


def test_wide_slopes_of_classes():
    mpmath.mp.dps = 60
    rng = np.random.default_rng(2)
    margins = rng.normal(size=(40, 4)) * 10.0 ** rng.integers(-3, 4, (40, 1))
    labels = rng.integers(0, 4, 40).astype(float)
    high, low = Softmax(4).wide_slope(wide.pair(margins), labels)
    for k, row in enumerate(margins.tolist()):
        powers = [mpmath.exp(mpmath.mpf(m) - max(row)) for m in row]
        for j in range(4):
            wanted = powers[j] / mpmath.fsum(powers) - (j == labels[k])
            assert abs(wanted - mpmath.mpf(float(high[k, j])) - mpmath.mpf(float(low[k, j]))) <= 2.0**-85


def test_wide_slopes_of_squares():
    high, low = Squared().wide_slope(wide.exact_add(np.array([1.0]), np.array([2.0**-70])), np.array([1.0]))
    assert float(high[0] + low[0]) == 2.0**-70

"""delta(epsilon) of zCDP against the best Rényi order, found with sixty digits."""

import itertools
import math

import mpmath
import numpy as np
import pytest

from privet import privacy
from privet.privacy.zcdp import delta_of_zcdp

RHOS = (1e-60, 1e-8, 1e-3, 0.1, 1.0, 50.0, 1e4, 1e12, 1e60)
TARGETS = (-0.01, -1.0, -25.0, -120.0, -300.0, -700.0)  # logarithms of delta


def log_delta(rho: float, epsilon: float) -> mpmath.mpf:
    """The least over all orders, by halving the slope."""
    with mpmath.workdps(60):
        rho, epsilon = mpmath.mpf(rho), mpmath.mpf(epsilon)
        low, high = mpmath.mpf(-2000), mpmath.mpf(1000)
        for _ in range(150):
            middle = (low + high) / 2
            h = mpmath.exp(middle)
            if rho * (1 + 2 * h) - epsilon - mpmath.log(1 + 1 / h) > 0:
                high = middle
            else:
                low = middle
        h = mpmath.exp(high)
        return h * (rho * (1 + h) - epsilon) + h * mpmath.log(h) - (1 + h) * mpmath.log(1 + h)


@pytest.mark.parametrize(("rho", "target"), list(itertools.product(RHOS, TARGETS)))
def test_it_is_that_of_the_best_order_rounded_up(rho, target):
    epsilon = rho + 2.0 * math.sqrt(-rho * target)
    log_true = log_delta(rho, epsilon)
    true = mpmath.exp(log_true)
    proved = float(delta_of_zcdp(rho, np.array(epsilon)))
    assert proved >= true
    assert proved <= true * (1.0 + 1e-13 * max(1.0, -log_true)) + 2e-323
    assert float(privacy.ZcdpLoss(rho).profile(epsilon)) <= 1.1 * proved  # the pair serves where it is nearly as good


@pytest.mark.parametrize("mu", [1e-3, 0.3, 3.0, 30.0])
def test_it_is_never_below_a_mechanism_that_keeps_the_promise(mu):
    """Normal laws mu apart are mu^2/2-zCDP, in either direction and at every epsilon."""
    loss = privacy.ZcdpLoss(mu * mu / 2)
    for epsilon in (*np.linspace(-3.0, 5.0, 33) * max(mu, mu * mu), 0.0):
        with mpmath.workdps(40):
            at, m = mpmath.mpf(float(epsilon)), mpmath.mpf(mu)
            true = mpmath.ncdf(m / 2 - at / m) - mpmath.exp(at) * mpmath.ncdf(-m / 2 - at / m)
        for direction in (None, "remove", "add"):
            assert float(loss.profile(float(epsilon), direction)) >= true * (1 - mpmath.mpf(1e-13))


def test_its_ends():
    assert float(privacy.ZcdpLoss(0.0).profile(0.0)) == 0.0
    assert float(privacy.ZcdpLoss(1e-3).profile(np.inf)) <= 1e-323
    assert float(privacy.ZcdpLoss(1e60).profile(1.0)) == 1.0
    with np.errstate(over="raise", invalid="raise"):
        at = np.array([-np.inf, -1e300, -1.0, 0.0, 1.0, 1e300])
        found = privacy.ZcdpLoss(0.5).profile(at)
    assert found[0] == 1.0
    assert (np.diff(found) <= 0.0).all()

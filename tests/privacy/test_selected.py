"""The best of a random number of runs: the theorem of Papernot & Steinke, recomputed over a dense set of orders."""

import math

import numpy as np
import pytest

from privet import privacy


def theorem(order, mean, sigma):
    """R(a) + 2 (1 - 1/b) R(b) + 2 ln(mean)/b + ln(mean)/(a - 1), the least over b; geometric law, Gaussian base."""
    b = 1.0 + np.geomspace(1e-4, 1e5, 20_001)
    extra = np.min(2.0 * (1.0 - 1.0 / b) * b / (2.0 * sigma**2) + 2.0 * math.log(mean) / b)
    return order / (2.0 * sigma**2) + extra + math.log(mean) / (order - 1.0)


@pytest.mark.parametrize("mean", [2.0, 10.0, 1e4])
@pytest.mark.parametrize("sigma", [1.0, 4.0])
@pytest.mark.parametrize("order", [1.5, 3.0, 20.0])
def test_renyi_divergence_is_that_of_the_theorem(mean, sigma, order):
    selected = privacy.Selected(privacy.GaussianLoss(sigma), mean=mean)
    # A divergence grows with its order, so what is proved at a larger one serves as well.
    larger = 1.0 + (order - 1.0) * np.geomspace(1.0, 1e4, 20_001)
    least = float(np.min(theorem(larger, mean, sigma)))
    found = float(selected.rdp(np.array([order])).values[0])
    assert found == pytest.approx(least, rel=1e-4)
    assert found - math.log(mean) / (order - 1.0) < 0.997 * least  # without the term of the mean it would be seen

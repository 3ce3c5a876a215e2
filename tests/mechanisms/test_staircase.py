"""The staircase mechanism: exact curve, least error, one number only."""

import math

import numpy as np
import pytest

from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms import Laplace, Staircase, smallest_budget


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0, 5.0])
def test_expected_error_is_the_closed_form_and_below_laplace(epsilon):
    made = Staircase.for_budget(epsilon=epsilon, sensitivity=2.0)
    closed = 2.0 * math.exp(epsilon / 2.0) / math.expm1(epsilon)
    assert made.error().expected == pytest.approx(closed, rel=1e-9)
    assert made.error().expected < Laplace.for_budget(epsilon=epsilon, sensitivity=2.0).error().expected
    draws = np.array(made.simulate(0.0, 100_000))
    # At epsilon 5 one in hundred draws is far out: 0.05 is 7.5 and 7.2 standard errors there, twice as many elsewhere.
    assert np.abs(draws).mean() == pytest.approx(closed, rel=0.05)
    assert draws.std() == pytest.approx(made.standard_deviation, rel=0.05)


@pytest.mark.parametrize("epsilon", [0.3, 2.0, 6.0])
@pytest.mark.parametrize("shift", [0.01, 0.4, 0.999, 1.0])
def test_density_ratio_over_cells(epsilon, shift):
    """Masses of cells between fixed points change by at most exp(epsilon), and by that much at the full shift."""
    made = Staircase.for_budget(epsilon=epsilon, sensitivity=1.0)
    points = np.linspace(-1.0, 1.0, 2_001) * min(4.0, 9.0 / epsilon)  # farther out a difference has no digits
    left, right = (np.diff(made.exact_cdf(value, points)) for value in (0.0, shift))
    worst = np.abs(np.log(left / right)).max()
    assert worst <= epsilon * (1.0 + 1e-6)
    assert shift < 1.0 or worst >= epsilon * 0.999


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
def test_bar_is_the_quantile(confidence):
    made = Staircase.for_budget(epsilon=1.5, sensitivity=1.0)
    errors = np.abs(np.array(made.simulate(10.0, 50_000)) - 10.0)
    covered = np.mean(errors <= made.error(confidence).radius)
    assert abs(covered - confidence) < 6 * math.sqrt(confidence * (1 - confidence) / 50_000)


@pytest.mark.parametrize("value", [[1.0, 2.0], np.zeros(3), np.zeros((1, 1))])
def test_arrays_are_refused(value):
    with pytest.raises(InvalidData, match="one number"):
        Staircase.for_budget(epsilon=1.0, sensitivity=1.0).release(value)


def test_smallest_budget_for_an_error():
    epsilon = smallest_budget(lambda e: Staircase.for_budget(epsilon=e, sensitivity=1.0), within=2.0, confidence=0.9)
    assert Staircase.for_budget(epsilon=epsilon, sensitivity=1.0).error(0.9).radius <= 2.0
    assert Staircase.for_budget(epsilon=0.99 * epsilon, sensitivity=1.0).error(0.9).radius > 2.0
    with pytest.raises(InvalidParameter, match="within"):
        smallest_budget(lambda e: Laplace.for_budget(epsilon=e, sensitivity=1.0), within=0.0)

"""Noisy max with gap: the exact law on a small grid obeys the price; a twin that tells more does not."""

import itertools
import math
from collections import defaultdict

import numpy as np
import pytest

from privet import testing
from privet.errors import InvalidData, InvalidParameter
from privet.mechanisms import NoisyMaxGap
from privet.privacy import Unit

REACH = 14  # noise beyond is summed into the ends, so that no mass is lost


def law(scores, scale, race):
    """The exact law of (choice, gap) for discrete Laplace noise cut at +-REACH, computed by enumeration."""
    noise = np.arange(-REACH, REACH + 1)
    mass = testing.pmf_discrete_laplace(noise, scale=scale)
    grids = np.array(list(itertools.product(noise, repeat=len(scores))))
    weights = np.prod([mass[column + REACH] for column in grids.T], axis=0)
    first, gap = race(np.array(scores) + grids)
    out = defaultdict(float)
    for key, weight in zip(zip(first.tolist(), gap.tolist(), strict=True), weights, strict=True):
        out[key] += weight
    return out


def worst(left, right, scale, race):
    """The largest log-ratio over outcomes that lie inside the enumeration."""
    p, q = law(left, scale, race), law(right, scale, race)
    inside = [key for key in p if key[1] <= REACH // 2]
    return max(abs(math.log(p[key] / q[key])) if q.get(key) else math.inf for key in inside)


def with_the_maximum(noisy):
    """A twin that tells the largest noisy score in place of the lead."""
    return NoisyMaxGap._race(noisy)[0], noisy.max(axis=1)


PAIRS = [((0, 0, 0), (1, -1, -1), 2), ((2, 0, 1), (1, 1, 0), 2), ((0, 0, 0), (1, 0, 1), 1), ((0, 0, 1), (0, 0, 0), 1)]


@pytest.mark.parametrize(("left", "right", "reach"), PAIRS)
def test_price_covers_choice_and_gap(left, right, reach):
    scale = 1.5
    assert worst(left, right, scale, NoisyMaxGap._race) <= reach / scale + 2e-3
    assert worst(right, left, scale, NoisyMaxGap._race) <= reach / scale + 2e-3


def test_price_is_attained():
    assert worst((0, 0, 0), (1, -1, -1), 1.5, NoisyMaxGap._race) >= 2 / 1.5 - 0.05


def test_a_twin_that_tells_the_maximum_is_caught():
    left, right = (0, 0, 0), (1, 1, 1)
    assert worst(left, right, 1.5, NoisyMaxGap._race) <= 1 / 1.5 + 2e-3
    assert worst(left, right, 1.5, with_the_maximum) > 1 / 1.5 + 0.1


def test_gap_estimates_the_lead():
    race = NoisyMaxGap.for_budget(epsilon=1.0, sensitivity=1, candidates=("a", "b", "c"))
    outputs = race.simulate([100, 60, 3], 4_000)
    assert {output["choice"] for output in outputs} == {"a"}
    gaps = np.array([output["gap"] for output in outputs])
    assert abs(gaps.mean() - 40.0) < 6 * gaps.std() / math.sqrt(len(gaps))
    covered = np.mean(np.abs(gaps - 40.0) <= race.error(0.95).radius)
    assert covered >= 0.95


def test_sensitivity_between_grid_points_is_rounded_up():
    race = NoisyMaxGap.for_budget(epsilon=1.0, sensitivity=0.3)
    assert race.loss.pure() <= 1.0
    assert race.loss.pure() >= 0.99


@pytest.mark.parametrize("scores", [[1.0], [], "ab", np.zeros((2, 2))])
def test_needs_two_scores(scores):
    with pytest.raises(InvalidData):
        NoisyMaxGap.for_budget(epsilon=1.0, sensitivity=1).release(scores)


def test_refuses_one_candidate_and_a_hopeless_budget():
    with pytest.raises(InvalidParameter, match="two candidates"):
        NoisyMaxGap.for_budget(epsilon=1.0, sensitivity=1, candidates=("a",))
    with pytest.raises(InvalidParameter, match="budget is too small"):
        NoisyMaxGap.for_budget(epsilon=1e-12, sensitivity=1)
    with pytest.raises(InvalidParameter, match="monotonic"):
        NoisyMaxGap.for_budget(epsilon=1.0, sensitivity=1, monotonic=True, unit=Unit("replace"))

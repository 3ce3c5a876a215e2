"""One training run: the chance of refuting what is true, by the exact law of the number of correct guesses."""

import itertools

import numpy as np
import pytest
from scipy import stats

from privet.audit.counts import Guesses
from privet.audit.statistics.one_run import one_run_p_value
from privet.audit.statistics.one_run_fdp import one_run_rejects

LEVELS = (0.3, 0.05, 0.01)
CANARIES = (1, 2, 5, 10, 30)


def guesses(correct: int, canaries: int) -> Guesses:
    return Guesses(correct=correct, made=canaries, canaries=canaries)


def gaussian_size(canaries: int, mu: float, alpha: float, claimed: float) -> float:
    """How often independent canaries, each mu-GDP, refute `claimed`-GDP; the best guess is right with Phi(mu/2)."""
    law = stats.binom(canaries, stats.norm.cdf(mu / 2.0))

    def mirror(x: float) -> float:
        return float(stats.norm.cdf(stats.norm.ppf(x) - claimed))

    refuting = [v for v in range(canaries + 1) if one_run_rejects(guesses(v, canaries), mirror=mirror, alpha=alpha)]
    return float(law.pmf(refuting).sum())


@pytest.mark.parametrize("mu", [0.0, 0.5, 1.0, 4.0])
def test_a_true_curve_is_refuted_no_more_often_than_the_level(mu):
    sizes = [gaussian_size(m, mu, alpha, mu) / alpha for m, alpha in itertools.product(CANARIES, LEVELS)]
    assert max(sizes) <= 1.0


def test_a_curve_that_promises_too_much_is_refuted():
    assert gaussian_size(100, 4.0, 0.05, 0.5) > 0.9


def leaking_size(canaries: int, epsilon: float, delta: float, alpha: float, priced: float) -> float:
    """How often randomised response that shows all coins with probability delta is refuted at (epsilon, `priced`)."""
    right = 1.0 / (1.0 + np.exp(-epsilon))
    law = (1.0 - delta) * stats.binom(canaries, right).pmf(np.arange(canaries + 1))
    law[-1] += delta
    values = [one_run_p_value(guesses(v, canaries), epsilon=epsilon, delta=priced) for v in range(canaries + 1)]
    return float(law[np.array(values) <= alpha].sum())


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.1), (0.5, 0.02), (2.0, 1e-3), (0.0, 0.3)])
def test_a_true_point_is_refuted_no_more_often_than_the_level(epsilon, delta):
    sizes = [leaking_size(m, epsilon, delta, alpha, delta) / alpha for m, alpha in itertools.product(CANARIES, LEVELS)]
    assert max(sizes) <= 1.0


def test_a_delta_that_is_forgotten_is_seen():
    assert leaking_size(10, 0.0, 0.1, 0.05, 0.0) > 0.05

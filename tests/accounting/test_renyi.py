"""Conversions of one Rényi bound beside decimals of sixty digits: never below, hardly above."""

import math
import random
from decimal import Decimal, localcontext

import pytest

from privet._numerics import UNIT_ROUNDOFF
from privet.accounting.renyi import epsilon_of_renyi, log_delta_of_renyi

DELTAS = (1e-300, 1e-5, 0.5, 0.999, 1.0 - 1e-12)


def _settings(seed: int) -> list[tuple[float, float, float, float]]:
    """Orders from 1 + 2^-34 on, a Rényi divergence, an epsilon and a delta each."""
    draw = random.Random(seed)
    powers = [2.0 ** draw.uniform(-34.0, 40.0) for _ in range(300)]
    return [
        (1.0 + power, 10.0 ** draw.uniform(-8, 3), 10.0 ** draw.uniform(-8, 3), draw.choice(DELTAS)) for power in powers
    ]


def _exact(alpha: float, value: float, epsilon: float, delta: float) -> tuple[Decimal, Decimal]:
    a, renyi = Decimal(alpha), Decimal(value)
    share = ((a - 1) / a).ln()
    ln_delta = (a - 1) * (renyi - Decimal(epsilon)) + a * share - (a - 1).ln()
    return renyi + share - (a * Decimal(delta)).ln() / (a - 1), ln_delta


@pytest.mark.parametrize("seed", range(3))
def test_both_conversions_are_rounded_up_and_close(seed: int):
    with localcontext() as context:
        context.prec = 60
        for alpha, value, epsilon, delta in _settings(seed):
            exact_epsilon, exact_ln_delta = _exact(alpha, value, epsilon, delta)
            found, found_ln = epsilon_of_renyi(alpha, value, delta), log_delta_of_renyi(alpha, value, epsilon)
            assert exact_epsilon <= Decimal(found)
            assert exact_ln_delta <= Decimal(found_ln)
            sizes = value + (abs(math.log(delta)) + 40.0) / (alpha - 1.0) + 40.0
            assert float(Decimal(found) - exact_epsilon) <= 200.0 * UNIT_ROUNDOFF * sizes
            assert float(
                Decimal(found_ln) - exact_ln_delta
            ) <= 200.0 * UNIT_ROUNDOFF * sizes * alpha + alpha * 1e-13 * (value + epsilon)


def test_the_quotient_near_one_would_be_noticed():
    """ln(1 - 1/a) by way of 1/a is too low at orders near 1, by far more than roundings of the terms."""

    def by_quotient(alpha: float, value: float, epsilon: float) -> float:
        terms = (alpha - 1.0) * (value - epsilon), alpha * math.log1p(-1.0 / alpha), -math.log(alpha - 1.0)
        return math.fsum(terms) + 8.0 * UNIT_ROUNDOFF * math.fsum(abs(term) for term in terms)

    with localcontext() as context:
        context.prec = 60
        below = [
            Decimal(by_quotient(alpha, value, epsilon)) < _exact(alpha, value, epsilon, delta)[1]
            for alpha, value, epsilon, delta in _settings(0)
            if alpha < 1.001
        ]
    assert sum(below) > 0.2 * len(below)

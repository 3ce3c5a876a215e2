"""The price of normal noise in proportion to a smooth sensitivity: golden values, the worst factor, plain integration."""

import math

import numpy as np
import pytest
from mpmath import mp

from privet import accounting, privacy
from privet.errors import InvalidParameter
from privet.privacy import SmoothReleaseLoss

GOLDEN = [
    (5.0, 0.02, 10.0, 0.032154967, 0.104933483),
    (10.0, 0.02, 10.0, 0.084456800, 0.154682501),
    (20.0, 0.01, 20.0, 0.043315683, 0.074979162),
    (2.0, 0.1, 5.0, 0.076505137, 0.553125033),
]


@pytest.mark.parametrize(("order", "beta", "scale", "exact", "paper"), GOLDEN)
def test_golden_values(order, beta, scale, exact, paper):
    found = SmoothReleaseLoss(beta, scale).rdp([order]).values[0]
    assert found == pytest.approx(exact, abs=6e-10)
    published = order * math.exp(2 * beta) / scale**2
    published += (beta * order - math.log(1 - 2 * order * beta) / 2) / (order - 1)
    assert published == pytest.approx(paper, abs=6e-10)
    assert found < published


def between(order, mean, first, second):
    """The divergence of N(mean, first^2) from N(0, second^2) in many digits."""
    with mp.workdps(40):
        a, m, v, w = (mp.mpf(x) for x in (order, mean, first, second))
        mixed = a * w**2 + (1 - a) * v**2
        if mixed <= 0:
            return math.inf
        return float(mp.log(w / v) + mp.log(w**2 / mixed) / (2 * (a - 1)) + a * m**2 / (2 * mixed))


def test_closed_form_against_integration():
    order, mean, first, second = 2.5, 0.7, 1.0, 0.9
    with mp.workdps(20):
        moment = mp.quad(
            lambda x: mp.npdf(x, mean, first) ** order * mp.npdf(x, 0, second) ** (1 - order), [-30, -5, 0, 5, 30]
        )
    assert between(order, mean, first, second) == pytest.approx(float(mp.log(moment) / (order - 1)), rel=1e-9)


@pytest.mark.parametrize("seed", range(60))
def test_no_factor_is_worse(seed):
    """All factors from exp(-beta) to exp(beta), both signs of the difference, all margins."""
    rng = np.random.default_rng(seed)
    beta, scale = float(np.exp(rng.uniform(-5, 0))), float(np.exp(rng.uniform(-2, 4)))
    margin = float(rng.choice([0.0, 0.5, 3.0]) * scale)
    loss = SmoothReleaseLoss(beta, scale, margin)
    order = 1.0 + float(rng.uniform(0.02, 0.95)) * (loss.largest_order - 1.0)
    stated = float(loss.rdp([order]).values[0])
    factors = np.concatenate([np.linspace(-beta, beta, 41)])
    worst = 0.0
    for t in factors:
        there = math.exp(t)
        for difference in (-min(1.0, there), 0.0, min(1.0, there)):
            mean = difference + margin * (1.0 - there)
            worst = max(worst, between(order, mean, scale, scale * there))
    assert worst <= stated
    assert stated <= worst * (1 + 1e-9) + 1e-12


def test_orders_beyond_the_largest_promise_nothing():
    loss = SmoothReleaseLoss(0.1, 5.0)
    end = loss.largest_order
    assert end == pytest.approx(1 / (1 - math.exp(-0.2)), rel=1e-9)
    told = loss.rdp([end * 0.999999, end, end * 1.1, 1e9]).values
    assert np.isfinite(told[0])
    assert np.all(np.isinf(told[1:]))
    assert loss.pure() == loss.zcdp().rho == math.inf


def test_more_noise_and_smoother_bounds_cost_less():
    def epsilon(*numbers):
        return float(accounting.epsilon(SmoothReleaseLoss(*numbers), delta=1e-5).upper)

    assert epsilon(0.01, 20.0) < epsilon(0.01, 10.0) < epsilon(0.02, 10.0) < epsilon(0.02, 10.0, 20.0)
    # hardly any smoothness: the price of normal noise
    assert epsilon(1e-9, 10.0) == pytest.approx(
        float(accounting.epsilon(privacy.GaussianLoss(10.0), delta=1e-5, accountant=accounting.Rdp()).upper), rel=1e-3
    )


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((0.0, 1.0), "beta"),
        ((0.1, 0.0), "scale"),
        ((0.1, 1.0, -1.0), "margin"),
        ((math.nan, 1.0), "beta"),
        ((1e9, 1.0), "beta"),
        ((0.1, 1e200), "scale"),
        ((0.1, 1.0, 1e200), "margin"),
    ],
)
def test_mistakes_are_one_sentence(numbers, words):
    with pytest.raises(InvalidParameter, match=words):
        SmoothReleaseLoss(*numbers)


def test_a_twin_without_the_factor_promises_too_little():
    beta, scale, order = 0.1, 5.0, 4.0
    there = math.exp(-beta)
    true = between(order, there, scale, scale * there)
    twin = order / (2 * scale**2)  # as if the noise of both were as wide
    assert true > 2 * twin
    assert SmoothReleaseLoss(beta, scale).rdp([order]).values[0] >= true

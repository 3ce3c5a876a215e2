"""The staircase law: every path against the exact law, wrong laws rejected, the density ratio within its promise."""

import math
from fractions import Fraction

import numpy as np
import pytest

from privet import noise, testing
from privet.errors import InvalidParameter
from tests.firsts import ends
from tests.noise.helpers import ALPHA, module

CASES = [(1.0, 0.3, 5, 0.0), (0.5, 0.27, 20, 0.3), (0.2, 0.08, 7.3, -0.5), (3.0, 0.45, 1, 0.25), (1.0, 0.0, 4, 0.0)]
CASES += [(1.0, 1.0, 4, 0.1), (0.05, 1e-5, 50, 0.0)]


def check(draws, scale, gamma, width, center):
    testing.check_samples(
        np.asarray(draws),
        lambda k: testing.pmf_rounded_staircase(k, scale=scale, gamma=gamma, width=width, center=center),
        alpha=ALPHA,
    )


@pytest.mark.parametrize(("scale", "gamma", "width", "center"), ends(CASES, also=CASES[1:5:2]))
def test_law(scale, gamma, width, center):
    parameters = {"scale": scale, "gamma": gamma, "width": width}
    check(noise.rounded_staircase(**parameters, center=center, size=100_000), scale, gamma, width, center)
    check(noise.rounded_staircase(**parameters, center=np.full(50_000, center)), scale, gamma, width, center)
    single = [noise.rounded_staircase(**parameters, center=center) for _ in range(6_000)]
    assert {type(value) for value in single} == {int}
    check(single, scale, gamma, width, center)


@pytest.mark.parametrize(("scale", "gamma", "width", "center"), ends(CASES, also=CASES[2:5:2]))
def test_exact_path(scale, gamma, width, center, monkeypatch):
    monkeypatch.setattr(module("rounded_staircase"), "_MARGIN", math.inf)
    parameters = {"scale": scale, "gamma": gamma, "width": width, "center": center}
    many = noise.rounded_staircase(**parameters, size=5_000)
    check(many, scale, gamma, width, center)
    check([noise.rounded_staircase(**parameters) for _ in range(1_000)], scale, gamma, width, center)
    k = np.arange(-5, 6) + round(center)
    commonest = testing.pmf_rounded_staircase(k, scale=scale, gamma=gamma, width=width, center=center).max()
    assert len(np.unique(many)) > 1 or commonest**5_000 > 1e-9  # a narrow first step: nearly all draws are one value


@pytest.mark.parametrize("wrong", [(2 / 3, 0.3, 20), (1.5, 0.3, 20), (1.0, 0.45, 20), (1.0, 0.3, 16)])
def test_wrong_laws_are_rejected(wrong):
    draws = noise.rounded_staircase(scale=1.0, gamma=0.3, width=20, size=100_000)
    with pytest.raises(AssertionError):
        check(draws, *wrong, 0.0)


@pytest.mark.parametrize(("scale", "gamma"), [(1.0, 0.3), (0.2, 0.08), (3.0, 0.0), (0.5, 1.0)])
@pytest.mark.parametrize("shift", [1, 7, 20])
def test_a_shift_within_the_width_costs_the_price(scale, gamma, shift):
    k = np.arange(-200, 221)
    mass, moved = (
        testing.pmf_rounded_staircase(k, scale=scale, gamma=gamma, width=20.0, center=float(c)) for c in (0, shift)
    )
    seen = np.minimum(mass, moved) > 1e-12
    worst = np.abs(np.log(mass[seen] / moved[seen])).max()
    assert worst <= 1.0 / scale * (1.0 + 1e-6)
    assert shift < 20 or worst >= 1.0 / scale * (1.0 - 1e-6)


def test_expected_magnitude_is_below_laplace():
    """E|S| = width / (2 sinh(epsilon / 2)) at the best gamma, against width / epsilon for Laplace noise."""
    epsilon, width = 2.0, 2**20
    gamma = 1.0 / (1.0 + math.exp(epsilon / 2.0))
    draws = noise.rounded_staircase(scale=Fraction(1, 2), gamma=gamma, width=width, size=400_000)
    mean = np.abs(draws).mean() / width
    assert mean == pytest.approx(1.0 / (2.0 * math.sinh(epsilon / 2.0)), rel=0.02)
    assert mean < 0.45


@pytest.mark.parametrize(
    "wrong", [{"scale": 0.0}, {"scale": math.inf}, {"gamma": -0.1}, {"gamma": 1.1}, {"width": 0}, {"width": 2**53}]
)
def test_refuses_nonsense(wrong):
    with pytest.raises(InvalidParameter, match=next(iter(wrong))):
        noise.rounded_staircase(**{"scale": 1.0, "gamma": 0.5, "width": 1, **wrong})

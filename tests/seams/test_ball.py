"""Vectors with a Gamma radius: the law of `noise.ball` from its density, its exact path, and `mechanisms.Ball`."""

import importlib
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import special, stats

from privet import accounting, noise, testing
from privet.errors import InvalidParameter, NoGuarantee
from privet.mechanisms import Ball, Laplace, Sensitivity
from privet.noise import Seeded
from privet.privacy import PureLoss, Repeated
from tests.firsts import ends

module = importlib.import_module("privet.noise.ball")
LEVEL = 1e-7
GRID = 2**20


def cell_masses(scale, reach):
    """Masses of the unit squares around the integer points, by quadrature of exp(-r/b)/(2 pi b^2)."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    parts = 6  # the density has a kink at 0
    points = np.concatenate([-0.5 + (j + (nodes + 1) / 2) / parts for j in range(parts)])
    weight = np.tile(weights / 2 / parts, parts)
    x = np.arange(-reach, reach + 1)[:, None] + points[None, :]
    r = np.sqrt(x[:, :, None, None] ** 2 + x[None, None, :, :] ** 2)
    return np.einsum("aibj,i,j->ab", np.exp(-r / scale), weight, weight) / (2 * math.pi * scale**2)


def p_value_of_cells(drawn, scale, reach=8):
    masses = cell_masses(scale, reach)
    inside = np.all(np.abs(drawn) <= reach, axis=1)
    counts = np.zeros(masses.shape)
    np.add.at(counts, tuple((drawn[inside] + reach).T), 1)
    expected = masses * len(drawn)
    large = expected >= 20
    observed = np.append(counts[large], len(drawn) - counts[large].sum())
    wanted = np.append(expected[large], len(drawn) - expected[large].sum())
    statistic = float(np.sum((observed - wanted) ** 2 / wanted))
    return float(special.chdtrc(len(wanted) - 1, statistic))


def test_the_plane_by_its_density():
    drawn = noise.ball(scale=1.5, dimension=2, size=40_000, source=Seeded(1))
    assert p_value_of_cells(drawn, 1.5) > LEVEL


@pytest.mark.parametrize("factor", [2 / 3, 3 / 2])
def test_another_scale_is_rejected(factor):
    drawn = noise.ball(scale=1.5 * factor, dimension=2, size=40_000, source=Seeded(1))
    assert p_value_of_cells(drawn, 1.5) < LEVEL


def test_independent_coordinates_are_rejected():
    """Laplace noise has the same guarantee in l1: the test must tell it apart."""
    drawn = np.asarray(noise.rounded_laplace(scale=1.5, size=(40_000, 2), source=Seeded(1)))
    assert p_value_of_cells(drawn, 1.5) < LEVEL


def test_on_the_line_it_is_laplace():
    drawn = noise.ball(scale=7.5, dimension=1, size=50_000, center=np.full((50_000, 1), 0.25), source=Seeded(2))[:, 0]
    law = np.asarray(noise.rounded_laplace(scale=7.5, size=50_000, center=np.full(50_000, 0.25), source=Seeded(3)))
    plain = noise.ball(scale=7.5, dimension=1, size=50_000, source=Seeded(4))[:, 0]
    testing.check_samples(plain, lambda k: testing.pmf_rounded_laplace(k, scale=7.5))
    assert stats.ks_2samp(drawn, law).pvalue > LEVEL


def radius_p_value(drawn, shape):
    return stats.kstest(np.linalg.norm(drawn / GRID, axis=1), stats.gamma(shape).cdf).pvalue


@pytest.mark.parametrize("dimension", [2, 3, 4, 25, 400])
def test_the_length_is_gamma_and_the_direction_uniform(dimension):
    size = max(20_000 // dimension, 500)
    drawn = noise.ball(scale=GRID, dimension=dimension, size=size, source=Seeded(dimension))
    assert radius_p_value(drawn, dimension) > LEVEL
    assert radius_p_value(drawn * 1.5, dimension) < LEVEL
    cosines = drawn[:, 0] / np.linalg.norm(drawn, axis=1)  # (1 + cosine)/2 is Beta((d - 1)/2, (d - 1)/2)
    half = (dimension - 1) / 2
    assert stats.kstest((1 + cosines) / 2, stats.beta(half, half).cdf).pvalue > LEVEL


def test_shapes_centres_and_refusals():
    assert noise.ball(scale=3, dimension=2).shape == (2,)
    assert noise.ball(scale=3, dimension=2, size=(4, 5)).shape == (4, 5, 2)
    assert noise.ball(scale=3, dimension=2, size=0).shape == (0, 2)
    assert noise.ball(scale=3, dimension=3, center=np.zeros((2, 3))).dtype == np.int64
    tiny = Fraction(1, 10**30)
    assert noise.ball(scale=tiny, dimension=3, center=np.array([7.25, -3.0, 2.0**40])).tolist() == [7, -3, 2**40]
    thirds = np.array([Fraction(10, 3), Fraction(-1, 3)], dtype=object)
    assert noise.ball(scale=tiny, dimension=2, center=thirds).tolist() == [3, 0]
    for wrong in (
        {"scale": 0, "dimension": 2},
        {"scale": 2**45, "dimension": 2},
        {"scale": 1, "dimension": 0},
        {"scale": 1, "dimension": 2.0},
        {"scale": 1, "dimension": 2, "center": np.zeros(3)},
        {"scale": 1, "dimension": 2, "center": np.zeros((4, 2)), "size": 3},
    ):
        with pytest.raises(InvalidParameter):
            noise.ball(**wrong)


def test_ties_fall_to_both_sides():
    """A centre halfway between two integers, with noise far below a step (a subnormal scale): a fair coin."""
    scale = 5e-324
    drawn = noise.ball(scale=scale, dimension=2, center=np.full((400, 2), 0.5), source=Seeded(3))
    assert set(drawn.ravel().tolist()) == {0, 1}
    assert abs(int(drawn[:, 0].sum()) - 200) < 110  # 11 standard deviations


@pytest.mark.parametrize("dimension", [1, 2, 3, 6])
def test_the_exact_path_and_the_quick_one_agree(dimension, monkeypatch):
    def drawn():
        center = np.linspace(-3.0, 3.0, 15 * dimension).reshape(15, dimension)
        return noise.ball(scale=900.5, dimension=dimension, center=center, source=Seeded(6))

    quick = drawn()
    monkeypatch.setattr(module, "_LOOSE", -1.0)  # every number by the exact path
    assert np.array_equal(quick, drawn())


@pytest.mark.parametrize("dimension", [1, 2, 5, 64, 201])
def test_the_spread_is_enclosed(dimension):
    spreads = module._Spreads(Seeded(8).stream(), 3, dimension)
    for row in range(3):
        low, high = spreads._enclosed(row, 90)
        mine = mpmath.mpf(0)
        with mpmath.workdps(60):
            for column in range(spreads._count):
                u = spreads._at(row, column)
                mine -= mpmath.log((mpmath.mpf(u.value) + mpmath.mpf(1) / 2) / mpmath.mpf(2) ** u.length)
            if spreads._pairs is not None:
                a, b = ((mpmath.mpf(u.value) + 0.5) / mpmath.mpf(2) ** u.length for u in spreads._pairs._at(row))
                s = a * a + b * b
                assert s < 1
                mine -= mpmath.log(s) * a * a / s
            assert low - 4 <= mine * 2**90 <= high + 4
        assert high - low < 2**8
        assert abs(float(mine) - spreads.floats[row]) <= spreads.loose[row] * float(mine)
        near, far = spreads.multiplier(row, 64)
        assert near[0] / 2 ** near[1] <= math.sqrt(2 * float(mine)) * (1 + 1e-15)
        assert far[0] / 2 ** far[1] >= math.sqrt(2 * float(mine)) * (1 - 1e-15)


def test_a_small_word_is_refined():
    """A word of 64 bits with 20 leading zeros is known too badly: it is grown, and its logarithm stays right."""
    u = noise.ball.__globals__["Refined"](Seeded(1).stream(), 3, 64)
    module._lead(u, 45)
    assert u.length >= 107
    assert abs(module._neg_log(u) - (u.length * math.log(2) - math.log(u.value))) < 1e-12


def test_the_slow_path_is_taken_as_often_for_every_value(monkeypatch):
    """What decides whether a number needs the exact path is the noise: whole, halved, odd and tiny centres are alike."""
    asked = []
    exact = module._exact
    monkeypatch.setattr(module, "_exact", lambda *given: asked.append(1) or exact(*given))
    counts = []
    for seed, rest in enumerate((0.0, 0.5, 1 / 3, 2.0**-1070, -0.25)):
        before = len(asked)
        noise.ball(scale=2**30, dimension=100, center=np.full((40, 100), rest), source=Seeded(seed))
        counts.append(len(asked) - before)
    assert min(counts) > 20  # about 80 of 4,000 numbers
    assert max(counts) - min(counts) < 75  # eight standard deviations of one of them


# --- the mechanism -----------------------------------------------------------------------------------------------------


def test_price_and_budget():
    mechanism = Ball.for_budget(epsilon=0.7, sensitivity=Fraction(1, 3))
    assert 0.699999 < mechanism.loss.pure() <= 0.7
    assert Fraction(mechanism.loss.pure()) * Fraction(mechanism.scale) >= Fraction(1, 3)
    assert Ball.for_budget(rho=0.5, sensitivity=1.0).loss.zcdp().rho <= 0.5
    with pytest.raises(InvalidParameter, match="l2"):
        Ball(scale=1.0, sensitivity=Sensitivity(1, norm="l1"))
    with pytest.raises((InvalidParameter, NoGuarantee)):
        Ball.for_budget(epsilon=0.0, sensitivity=1.0)


def exact_curve(dimension, shift, epsilons, scale=1.0):
    """delta(epsilon) of the vectors' density and its shift, by quadrature along the shift and across it."""
    t, r = np.linspace(-45.0, 45.0, 4501)[:, None], np.linspace(0.0, 60.0, 1501)[None, :]
    weight = r ** (dimension - 2) if dimension > 2 else np.ones_like(r)
    left, right = (weight * np.exp(-np.hypot(t - a, r) / scale) for a in (0.0, shift))
    return [np.maximum(left - math.exp(epsilon) * right, 0.0).sum() / left.sum() for epsilon in epsilons]


EPSILONS = [0.0, 0.1, 0.3, 0.6, 0.9]


@pytest.mark.parametrize("dimension", ends([2, 3, 10]))
def test_the_curve_of_every_dimension_lies_below_the_price(dimension):
    loss = Ball.for_budget(epsilon=1.0, sensitivity=1.0).loss
    stated = [float(loss.profile(epsilon)) for epsilon in EPSILONS]
    exact = exact_curve(dimension, 1.0, EPSILONS)
    assert all(a <= b + 1e-4 for a, b in zip(exact, stated, strict=True))
    assert exact[0] < stated[0] * 0.8, "in more than one dimension the loss concentrates"
    twin = exact_curve(
        dimension, 1.0, EPSILONS, scale=1.0 / (1.0 + dimension)
    )  # as if noise need not grow with dimension
    assert max(a - b for a, b in zip(twin, stated, strict=True)) > 0.02


def test_a_composition_costs_less_than_that_of_a_pure_price():
    loss = Ball.for_budget(epsilon=0.1, sensitivity=1.0).loss
    many, pure = (accounting.epsilon(Repeated(each, 200), delta=1e-6).upper for each in (loss, PureLoss(0.1)))
    assert many < 0.99 * pure


def test_every_shape_of_input():
    mechanism = Ball.for_budget(epsilon=1e6, sensitivity=1.0)
    assert mechanism.release(42).value == pytest.approx(42.0, abs=1e-3)
    assert mechanism.release([[1, 2], [3, 4]]).value.round(2).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert mechanism.release(np.arange(3)).value.round(2).tolist() == [0.0, 1.0, 2.0]
    assert mechanism.release([]).value.shape == (0,)
    assert mechanism.simulate(np.zeros((2, 3)), 5).shape == (5, 2, 3)
    assert mechanism.release([0.1, None]).value.round(2).tolist() == [0.1, 0.0]


def test_a_large_vector():
    mechanism = Ball.for_budget(epsilon=1.0, sensitivity=1.0)
    value = np.full(100_000, 3.5)
    released = mechanism.release(value)
    length = np.linalg.norm(released.value - value)
    assert abs(length - 100_000) < 12 * math.sqrt(100_000)  # Gamma(100,000)
    assert np.all(np.abs(released.value - value) < 2.0 * released.error.radius)


def test_bars_are_those_of_the_law():
    one = Ball(scale=1.0, sensitivity=Sensitivity(1, norm="l2"))
    laplace = Laplace(scale=1.0, sensitivity=Sensitivity(1, norm="l1"))
    assert one.error(0.95).radius == laplace.error(0.95).radius
    ball = importlib.import_module("privet.mechanisms.ball")
    assert -math.log(0.05) <= ball._joint_quantile(1, 0.05) <= -math.log(0.05) * 1.005
    for k, tail in ((2, 0.05), (40, 0.01)):
        radius = ball._joint_quantile(k, tail)
        nodes = stats.chi2(k + 1).ppf((np.arange(20_000) + 0.5) / 20_000)
        held = np.mean((2 * special.ndtr(radius / np.sqrt(nodes)) - 1) ** k)
        assert 1 - tail <= held + 1e-5
        assert held < 1 - 0.97 * tail


def test_the_expected_error():
    mechanism = Ball(scale=2.0, sensitivity=Sensitivity(1, norm="l2"))
    runs = mechanism.simulate(np.zeros(4), 20_000, source=Seeded(4))
    assert np.abs(runs).sum(axis=1).mean() == pytest.approx(mechanism.error(dimension=4).expected, rel=0.03)

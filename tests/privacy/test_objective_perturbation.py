"""Objective perturbation: golden noise levels, and exact densities in one dimension below the price."""

from itertools import product

import numpy as np
import pytest

from privet.accounting import epsilon as epsilon_of
from privet.errors import InvalidParameter
from privet.privacy import GaussianLoss, ObjectivePerturbationLoss, SoftmaxPerturbationLoss, Unit
from privet.privacy.families.normal import gaussian_delta
from privet.privacy.objective_perturbation import _joint, _worst_loss

# epsilon, Lambda, and the smallest sigma at delta = 1e-6 for rows of length 1: general, fixed sign, logistic
GOLDEN = [
    (0.1, 5.0, 70.892, 67.748, 41.837),
    (0.5, 1.0, 14.546, 14.006, 8.978),
    (1.0, 0.25, 13.205, 12.721, 7.261),
    (1.0, 0.5, 7.097, 6.855, 4.577),
    (1.0, 1.0, 5.525, 5.342, 4.225),
    (2.0, 0.125, 4.809, 4.652, 2.942),
    (4.0, 0.06, 1.977, 1.920, 1.370),
    (8.0, 0.02, 0.940, 0.917, 0.722),
]


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: f"{row[0]}-{row[1]}")
def test_the_smallest_noise_is_the_published_one(row):
    epsilon, regulariser, *sigmas = row
    shapes = (("general", 0.25), ("fixed_sign", 0.25), ("logistic", 1.0))
    for sigma, (shape, beta) in zip(sigmas, shapes, strict=True):
        more = ObjectivePerturbationLoss(sigma * 1.0005, beta / regulariser, shape)
        less = ObjectivePerturbationLoss(sigma * 0.9995, beta / regulariser, shape)
        assert more.profile(epsilon) <= 1.001e-6 < 1e-6 * 1.01
        assert less.profile(epsilon) > 1e-6


def test_a_large_regulariser_leaves_the_gaussian_curve():
    for epsilon, sigma in product((0.5, 1.0, 2.0), (3.0, 5.0)):
        kappa = epsilon + 0.5 / sigma**2  # B^2/Lambda
        loss = ObjectivePerturbationLoss(sigma, kappa, "logistic")
        assert loss.profile(epsilon) == pytest.approx(float(gaussian_delta(1.0 / sigma, epsilon)), rel=1e-3)
        assert loss.profile(epsilon, "add") == pytest.approx(float(gaussian_delta(1.0 / sigma, epsilon)), rel=1e-3)


POINTS = 40_001


def density(records, regulariser, sigma):
    """Of the minimiser, exactly: the noise that leads to w, times the Jacobian."""
    w = grid(regulariser, sigma)
    slope, hessian = regulariser * w, np.full_like(w, regulariser)
    for x, y in records:
        s = 1.0 / (1.0 + np.exp(np.clip(y * x * w, -700, 700)))
        slope = slope - y * x * s
        hessian = hessian + x * x * s * (1.0 - s)
    return np.exp(-0.5 * (slope / sigma) ** 2) / (sigma * np.sqrt(2.0 * np.pi)) * hessian


def grid(regulariser, sigma):
    """Where the minimiser can lie: nine standard deviations of the noise, over the least curvature."""
    reach = (9.0 * sigma + 30.0) / regulariser
    return np.linspace(-reach, reach, POINTS)


def hockey_stick(p, q, epsilon, step):
    return float(np.sum(np.maximum(p - np.exp(epsilon) * q, 0.0)) * step)


BASES = [[], [(1.0, 1.0)], [(1.0, -1.0)] * 3, [(0.5, 1.0), (1.0, -1.0)], [(1.0, 1.0)] * 20]


def exact_cases(regularisers, sigmas, epsilons, twin=None):
    """Every exact delta over its price: at most 1, and near 1 somewhere."""
    ratios = []
    for regulariser, sigma in product(regularisers, sigmas):
        loss = ObjectivePerturbationLoss(sigma, 1.0 / regulariser, "logistic")
        step = np.diff(grid(regulariser, sigma)[:2])[0]
        for epsilon in epsilons:
            prices = [float(loss.profile(epsilon, direction)) for direction in ("remove", "add")]
            prices = prices if twin is None else [twin(sigma, epsilon)] * 2
            for base, x in product(BASES, (1.0, -0.7)):
                without, with_it = density(base, regulariser, sigma), density([*base, (x, 1.0)], regulariser, sigma)
                for pair, price in zip(((with_it, without), (without, with_it)), prices, strict=True):
                    exact = hockey_stick(*pair, epsilon, step)
                    if exact > 1e-10:
                        ratios.append(exact / price)
    return np.array(ratios)


def test_exact_densities_stay_below_the_price_and_come_near_it():
    ratios = exact_cases((0.1, 1.0), (0.7, 2.0), (0.0, 0.5, 1.0))
    assert ratios.max() <= 1.0 + 1e-4  # the grid of the integral
    assert ratios.max() > 0.95


def test_noise_without_the_jacobian_is_caught():
    ratios = exact_cases((0.1,), (2.0,), (0.5, 1.0), twin=lambda sigma, e: float(gaussian_delta(1.0 / sigma, e)))
    assert ratios.max() > 2.0


def test_the_lecture_s_noise_breaks_its_promise():
    """sigma^2 = 8 ln(1.25/delta)/epsilon^2 for epsilon = 0.9 and delta = 1e-6, one record against a zero row."""
    sigma = 11.775
    for regulariser, true in ((0.1, 6.65e-3), (0.01, 2.87e-2)):
        p, q = density([(1.0, 1.0)], regulariser, sigma), density([(0.0, 1.0)], regulariser, sigma)
        step = np.diff(grid(regulariser, sigma)[:2])[0]
        assert hockey_stick(p, q, 0.9, step) == pytest.approx(true, rel=0.01)
        price = ObjectivePerturbationLoss(sigma, 1.0 / regulariser, "logistic").profile(0.9)
        assert price >= true


def test_replacing_a_record_costs_no_less_than_moving_it():
    for shape in ("logistic", "fixed_sign", "general"):
        one = ObjectivePerturbationLoss(4.0, 0.5, shape)
        other = ObjectivePerturbationLoss(4.0, 0.5, shape, unit=Unit("replace"))
        at = np.linspace(0.0, 3.0, 7)
        assert np.all(other.profile(at) >= one.profile(at))
        p, q = density([(1.0, 1.0)], 2.0, 4.0), density([(-1.0, 1.0)], 2.0, 4.0)
        assert hockey_stick(p, q, 0.3, np.diff(grid(2.0, 4.0)[:2])[0]) <= float(other.profile(0.3)) * (1.0 + 1e-6)


def test_no_curvature_is_a_gaussian_of_fixed_sign():
    loss = ObjectivePerturbationLoss(3.0, 0.0, "fixed_sign")
    at = np.array([0.0, 0.5, 2.0])
    assert loss.profile(at) == pytest.approx(GaussianLoss(3.0).profile(at), rel=1e-3)


@pytest.mark.parametrize("shape", ["logistic", "fixed_sign", "general"])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_the_pair_lies_just_above_the_curves_of_the_proof(shape, relation):
    loss = ObjectivePerturbationLoss(3.0, 0.4, shape, unit=Unit(relation))
    at = np.array([0.0, 0.1, 0.3, 1.0, 2.0])
    for direction in ("remove", "add"):
        pair, curve = loss.variable(direction).delta(at), loss._delta(at, direction)
        assert np.all(pair <= curve * 1.005 + 1e-12)
        # near 0 the pair may lie below: every true curve is convex and mirrors the other direction, the bounds need not
        assert np.all(pair[at >= 1.0] >= curve[at >= 1.0])


def test_renyi_divergence_covers_the_pair():
    for shape, relation in product(("logistic", "fixed_sign", "general"), ("add_remove", "replace")):
        loss = ObjectivePerturbationLoss(3.0, 0.4, shape, unit=Unit(relation))
        atoms = loss.variable("remove").atoms()
        for order in (1.5, 4.0, 20.0):
            moment = np.log(np.sum(atoms.p * np.exp((order - 1.0) * (atoms.losses - atoms.losses.max()))))
            exact = atoms.losses.max() + moment / (order - 1.0)
            assert loss.rdp(np.array([order])).values[0] >= exact * (1.0 - 2e-3)


def test_an_epsilon_at_a_delta():
    assert epsilon_of(ObjectivePerturbationLoss(4.577, 2.0, "logistic"), delta=1e-6).upper == pytest.approx(
        1.0, rel=2e-3
    )


@pytest.mark.parametrize(
    "bad",
    [
        {"noise_multiplier": 0.0, "curvature": 1.0},
        {"noise_multiplier": 1e-9, "curvature": 1.0},
        {"noise_multiplier": 1.0, "curvature": -1.0},
        {"noise_multiplier": 1.0, "curvature": 1.0, "shape": "convex"},
        {"noise_multiplier": 1.0, "curvature": 1.0, "unit": Unit("zero_out")},
    ],
)
def test_nonsense_is_refused(bad):
    with pytest.raises(InvalidParameter):
        ObjectivePerturbationLoss(**bad)


def test_cells_lose_less_than_what_is_added_for_them():
    """The integral of the logistic loss over the normal law by Gauss and Legendre, in panels from its kink on."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    for sigma, kappa, epsilon in product((0.7, 4.0, 20.0), (0.05, 1.0, 8.0), (0.2, 1.0, 3.0)):
        low, high = -39.0, 39.0
        for _ in range(60):
            middle = (low + high) / 2.0
            below = _worst_loss(np.array([middle]), 1.0 / sigma, kappa)[0] <= epsilon
            low, high = (middle, high) if below else (low, middle)
        low = max(low, -14.0)  # where every loss is larger, the whole law counts
        edges = np.linspace(low, low + 24.0, 80)
        half = np.diff(edges)[:, None] / 2.0
        z = (edges[:-1, None] + half + half * nodes).ravel()
        gap = np.minimum(epsilon - _worst_loss(z, 1.0 / sigma, kappa), 0.0)
        exact = np.sum((half * weights).ravel() * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi) * -np.expm1(gap))
        found = float(_joint(np.array(epsilon), 1.0 / sigma, kappa))
        if exact > 1e-14:
            assert exact * (1.0 - 1e-9) <= found <= exact * (1.0 + 1e-3)


@pytest.mark.parametrize(("noise", "curvature", "epsilon"), [(4.577, 2.0, 1.0), (41.8, 0.2, 0.1), (0.72, 50.0, 8.0)])
def test_few_cells_are_an_upper_bound_too_and_close(noise, curvature, epsilon):
    loss = ObjectivePerturbationLoss(noise, curvature, "logistic")
    assert loss.bound(epsilon) <= loss.bound(epsilon, quick=True) <= 1.01 * loss.bound(epsilon)


@pytest.mark.parametrize(
    "loss",
    [*ObjectivePerturbationLoss.examples(), *(ObjectivePerturbationLoss(s, 1e6, "logistic") for s in (0.01, 0.8))],
)
def test_calibration_sees_no_less_than_the_profile_and_hardly_more_where_delta_is_small(loss):
    for epsilon in (0.0, 0.01, 0.3, 1.0, 4.0, 1e5):
        charged, seen = float(loss.profile(epsilon)), loss.connected(epsilon)
        assert charged <= seen
        assert seen <= 1.001 * charged + 1e-300 or charged > 1e-3


def test_cells_far_from_epsilon_change_nothing_that_counts():
    """One epsilon looks at the cells around it, many epsilons look at all: the first from above."""
    epsilons = np.array([0.001, 0.3, 1.0, 3.0, 9.0])
    for sigma, kappa in ((40.0, 0.3), (4.0, 2.0), (0.5, 30.0), (3.0, 0.001)):
        together = _joint(epsilons, 1.0 / sigma, kappa)
        alone = np.array([float(_joint(np.array([each]), 1.0 / sigma, kappa)[0]) for each in epsilons])
        assert (together <= alone * (1.0 + 1e-12)).all()
        assert (alone <= together * (1.0 + 1e-9) + 1e-300).all()


@pytest.mark.parametrize(
    "loss",
    [
        ObjectivePerturbationLoss(0.23, 120.0, "logistic"),
        ObjectivePerturbationLoss(0.19, 0.0, "fixed_sign"),
        ObjectivePerturbationLoss(0.2, 3.0),
        SoftmaxPerturbationLoss(0.2, 5.0, 3),
    ],
)
def test_a_large_epsilon_has_its_delta_in_both_directions(loss):
    """Where 1 - e^-epsilon is 1 in doubles, a curve that is read off its mirror image says nothing, or anything."""
    for epsilon, direction in product((20.0, 30.0, 36.5, 45.0), ("add", "remove")):
        proved, charged = float(loss._delta(np.array([epsilon]), direction)[0]), float(loss.profile(epsilon, direction))
        assert proved <= charged <= 1.01 * proved
    if isinstance(loss, ObjectivePerturbationLoss):
        assert float(loss.profile(45.0)) <= loss.connected(45.0)

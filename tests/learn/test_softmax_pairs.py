"""Softmax with objective perturbation in one feature: every output's loss below the bound of the proof, path by path; and
the price against densities that are integrated in the plane of three classes.
"""

import numpy as np
import pytest
from scipy.special import ndtr, softmax

from privet.learn.losses import HuberHinge, Logistic, Softmax
from privet.learn.problem import Chunk, Classes, Task
from privet.learn.solvers import ObjectivePerturbation
from privet.learn.solvers.minimise import Objective, certified, minimiser
from privet.privacy import Guarantee, ObjectivePerturbationLoss, SoftmaxPerturbationLoss, Unit

CLASSES = 3


def slope(rows, labels, w):
    """Of the sum of losses, w of shape (points, classes)."""
    found = np.zeros_like(w)
    for x, y in zip(rows, labels, strict=True):
        found += x * (softmax(w * x, axis=1) - np.eye(CLASSES)[y])
    return found


def hessian(rows, w, penalty):
    found = np.broadcast_to(penalty * np.eye(CLASSES), (len(w), CLASSES, CLASSES)).copy()
    for x in rows:
        p = softmax(w * x, axis=1)
        found += x * x * (p[:, :, None] * np.eye(CLASSES) - p[:, :, None] * p[:, None, :])
    return found


def minimisers(rows, labels, b, penalty):
    w = -b / penalty
    for _ in range(200):
        gradient = slope(rows, labels, w) + penalty * w + b
        if np.abs(gradient).max() < 1e-9:
            return w
        move = np.linalg.solve(hessian(rows, w, penalty), gradient[:, :, None])[:, :, 0]
        size, factor = np.linalg.norm(gradient, axis=1), np.ones((len(w), 1))
        for _ in range(12):
            after = w - factor * move
            worse = np.linalg.norm(slope(rows, labels, after) + penalty * after + b, axis=1) > size * (
                1 - 0.1 * factor[:, 0]
            )
            if not worse.any():
                break
            factor[worse] /= 2.0
        w = w - factor * move
    raise AssertionError("the oracle's own Newton steps did not end")


def losses(first, second, b, penalty, sigma):
    """The log ratio at the minimiser that the noise b of the first gives."""
    w = minimisers(*first, b, penalty)
    other = -(slope(*second, w) + penalty * w)
    noise = (np.sum(other**2, axis=1) - np.sum(b**2, axis=1)) / (2.0 * sigma**2)
    parts = [np.linalg.slogdet(hessian(rows, w, penalty))[1] for rows, _ in (first, second)]
    return noise + parts[0] - parts[1]


def net(points=21, reach=6.0):
    z = np.linspace(-reach, reach, points)
    weight = np.exp(-0.5 * z * z) / np.exp(-0.5 * z * z).sum()
    grid = np.array(np.meshgrid(z, z, z)).reshape(3, -1).T
    return grid, np.prod(np.array(np.meshgrid(weight, weight, weight)).reshape(3, -1), axis=0)


def gaussian(m, e):
    return ndtr(-e / m + m / 2.0) - np.exp(e) * ndtr(-e / m - m / 2.0)


def jacobian(bound, penalty):
    return (CLASSES - 1) * np.log1p(bound**2 / (CLASSES * penalty))


COMMON = ([0.6, -1.0], [1, 2])


@pytest.mark.parametrize(("penalty", "sigma"), [(0.3, 1.0), (1.0, 3.0)])
def test_one_record(penalty, sigma):
    z, mass = net()
    with_it = ([*COMMON[0], 1.0], [*COMMON[1], 0])
    corners = np.maximum(0.0, np.max([(z[:, 0] - z[:, j]) / sigma + 1.0 / sigma**2 for j in (1, 2)], axis=0))
    mirrored = np.maximum(0.0, np.max([(z[:, j] - z[:, 0]) / sigma + 1.0 / sigma**2 for j in (1, 2)], axis=0))
    m, most = np.sqrt(2.0) / sigma, jacobian(1.0, penalty)
    for first, second, extra in ((with_it, COMMON, most), (COMMON, with_it, 0.0)):
        found = losses(first, second, sigma * z, penalty, sigma)
        bound = mirrored if first is with_it else corners
        assert np.all(found <= bound + extra + 1e-8)
        for e in (0.0, 0.5, 1.0, 2.0):
            exact = np.sum(mass * -np.expm1(np.minimum(extra + e - found, 0.0)))
            assert exact <= (CLASSES - 1) * gaussian(m, e) * 1.05 + 1e-9


def test_a_replaced_record():
    z, mass = net()
    for penalty, sigma in ((0.3, 1.0), (1.0, 3.0)):
        before, after = ([*COMMON[0], 1.0], [*COMMON[1], 0]), ([*COMMON[0], 1.0], [*COMMON[1], 1])
        found = losses(before, after, sigma * z, penalty, sigma)
        for e in (0.0, 0.5, 1.0):
            exact = np.sum(mass * -np.expm1(np.minimum(jacobian(1.0, penalty) + e - found, 0.0)))
            assert exact <= (CLASSES**2 - 1) * gaussian(2.0 * np.sqrt(2.0) / sigma, e)


def test_a_price_without_the_jacobian_is_caught():
    """Exactly: at a large sigma the noise part is next to nothing, the determinants are not."""
    z, mass = net()
    found = losses(([1.0], [0]), ([], []), 3.0 * z, 0.1, 3.0)
    exact = np.sum(mass * -np.expm1(np.minimum(0.5 - found, 0.0)))
    assert exact > 1.5 * (CLASSES - 1) * gaussian(np.sqrt(2.0) / 3.0, 0.5)
    assert found.max() <= jacobian(1.0, 0.1) + np.sqrt(2.0) / 3.0 * 12.0


def test_the_curvature_is_the_largest_at_equal_probabilities():
    """det(I + S c) over the simplex, against (1 + c/K)^(K-1), which it attains in the middle."""
    p = np.random.default_rng(3).dirichlet(np.ones(5), size=500)
    s = p[:, :, None] * np.eye(5) - p[:, :, None] * p[:, None, :]
    for c in (0.1, 1.0, 30.0):
        limit = 4.0 * np.log1p(c / 5.0)
        assert np.all(np.linalg.slogdet(np.eye(5) + c * s)[1] <= limit * (1.0 + 1e-12))
        middle = np.eye(5) / 5.0 - np.full((5, 5), 1.0 / 25.0)
        assert np.linalg.slogdet(np.eye(5) + c * middle)[1] == pytest.approx(limit, rel=1e-12)


# --- the price, against densities ---

PLANE = np.array([[1.0, -1.0, 0.0], [1.0, 1.0, -2.0]]) / np.sqrt([[2.0], [6.0]])  # all that a softmax depends on


def density(rows, labels, points, penalty, sigma):
    """Of the minimiser's part in the plane: the law of the noise there, times the determinant of the Hessian. Along the
    third direction all records say the same, so it adds nothing to any ratio."""
    w = points @ PLANE
    b = (slope(rows, labels, w) + penalty * w) @ PLANE.T
    h = np.broadcast_to(penalty * np.eye(2), (len(w), 2, 2)).copy()
    for x in rows:
        p = softmax(w * x, axis=1)
        mean = p @ PLANE.T
        h += x * x * (np.einsum("nk,ik,jk->nij", p, PLANE, PLANE) - mean[:, :, None] * mean[:, None, :])
    areas = h[:, 0, 0] * h[:, 1, 1] - h[:, 0, 1] ** 2
    return np.exp(-np.sum(b * b, axis=1) / (2.0 * sigma**2)) / (2.0 * np.pi * sigma**2) * areas


def exact_deltas(first, second, epsilons, penalty, sigma, reach, points=121):
    """Integrated over a square about 0: all of it where `reach` is large, and from below where it is not. And the mass of
    the first law there."""
    z = np.linspace(-reach, reach, points)
    grid = np.array(np.meshgrid(z, z)).reshape(2, -1).T
    left, right = (density(*each, grid, penalty, sigma) for each in (first, second))
    cell = (z[1] - z[0]) ** 2
    return [np.sum(np.maximum(left - np.exp(e) * right, 0.0)) * cell for e in epsilons], np.sum(left) * cell


def price(bound, penalty, sigma, unit=None):
    return SoftmaxPerturbationLoss(
        sigma / (np.sqrt(2.0) * bound), bound**2 / penalty, CLASSES, unit=Unit() if unit is None else unit
    )


NONE, BALANCED = ([], []), ([1.0, 1.0, 1.0], [0, 1, 2])


@pytest.mark.parametrize(("bound", "common"), [(1.0, NONE), (1.0, BALANCED), (0.5, COMMON), (5.0, COMMON)])
def test_the_price_lies_above_the_density(bound, common):
    rows, labels, epsilons = [bound * each for each in common[0]], common[1], (0.1, 0.5, 1.0, 2.0)
    with_it, without = ([*rows, bound], [*labels, 0]), (rows, labels)
    for penalty, sigma in ((0.3 * bound**2, 1.0 * bound), (2.0 * bound**2, 3.0 * bound)):
        for first, second in ((with_it, without), (without, with_it)):
            found, mass = exact_deltas(first, second, epsilons, penalty, sigma, 8.0 * sigma / penalty)
            assert mass == pytest.approx(1.0, abs=5e-3)
            for e, exact in zip(epsilons, found, strict=True):
                assert exact <= price(bound, penalty, sigma).bound(e) * 1.001 + 1e-9


def test_a_record_changes_the_determinant_in_two_directions():
    """With a weak regulariser: the price of one margin, of one direction, or without a determinant is refuted, and so is
    one with the length of rows in the place of its square."""
    e, penalty, sigma = 5.2, 0.01, 10.0
    (exact,), _ = exact_deltas(([1.0], [0]), NONE, [e], penalty, sigma, reach=8.0)  # from below
    assert 7e-4 < exact < price(1.0, penalty, sigma).bound(e)
    multiplier = sigma / np.sqrt(2.0)
    assert exact > 1e6 * ObjectivePerturbationLoss(multiplier, 0.5 / penalty, "fixed_sign").bound(e)
    assert exact > 1e6 * ObjectivePerturbationLoss(multiplier, 0.5 / penalty, "general").bound(e)
    one_direction = np.log1p(1.0 / (2.0 * penalty))
    assert exact > 1e6 * 2.0 * gaussian(1.0 / multiplier, e - one_direction)
    assert exact > 1e6 * 2.0 * gaussian(1.0 / multiplier, e)
    (longer,), _ = exact_deltas(([9.0], [0]), NONE, [e], 81.0 * penalty, 9.0 * sigma, reach=8.0 / 9.0)
    assert longer == pytest.approx(exact, rel=1e-9)  # all scales together
    assert longer > 1e6 * SoftmaxPerturbationLoss(multiplier, 9.0 / (81.0 * penalty), CLASSES).bound(e)


def test_the_determinants_differ_by_as_much_as_the_price_says():
    """Where probabilities are equal, and nothing but the regulariser is there."""
    ratio = np.linalg.slogdet(hessian([1.0], np.zeros((1, 3)), 0.01))[1] - 3.0 * np.log(0.01)
    assert ratio[0] == pytest.approx(price(1.0, 0.01, 10.0)._jacobian, rel=1e-12)


@pytest.mark.parametrize(("penalty", "sigma"), [(0.3, 1.0), (2.0, 3.0)])
def test_the_price_of_a_replaced_record_lies_above_the_density(penalty, sigma):
    before, limit = ([*COMMON[0], 1.0], [*COMMON[1], 0]), price(1.0, penalty, sigma, Unit("replace"))
    for after in (([*COMMON[0], -1.0], [*COMMON[1], 0]), ([*COMMON[0], 1.0], [*COMMON[1], 1])):
        for first, second in ((before, after), (after, before)):
            found, _ = exact_deltas(first, second, (0.1, 1.0, 2.0), penalty, sigma, 8.0 * sigma / penalty)
            assert all(exact <= limit.bound(e) for e, exact in zip((0.1, 1.0, 2.0), found, strict=True))


# --- the solver ---

THREE = Task(features=2, row_norm=1.0, target=Classes((0, 1, 2)))


@pytest.mark.parametrize("target", [Guarantee(1.0, 1e-6), Guarantee(4.0, 1e-5), Guarantee(2.0)])
@pytest.mark.parametrize("unit", [Unit(), Unit("replace")])
def test_plans_keep_their_promise_and_waste_little_of_it(target, unit):
    task = Task(features=2, row_norm=1.0, target=Classes((0, 1, 2)), unit=unit)
    plan = ObjectivePerturbation().plan(task, Softmax(3), target)
    assert target.covers(plan.loss)
    assert not Guarantee(0.97 * target.epsilon, target.delta).covers(plan.loss)


@pytest.mark.parametrize("length", [0.5, 4.0])
def test_the_exact_law_of_a_plan_is_what_its_price_says(length):
    """A plan is told apart from its data by the density, with the noise and the regulariser that it has. It must cover the
    determinant of its own regulariser, in the middle of the simplex."""
    task = Task(features=1, row_norm=length, intercept=False, target=Classes((0, 1, 2)))
    plan = ObjectivePerturbation(strength=0.01).plan(task, Softmax(3), Guarantee(8.0, 1e-6))
    main = plan.loss.losses[0]
    assert main == SoftmaxPerturbationLoss(main.noise_multiplier, main.curvature, 3)
    assert main.curvature >= 1.0 / plan.strength
    assert main.noise_multiplier <= plan.sigma / np.sqrt(2.0)
    for e in (0.5, 4.0, 6.0, 8.0):  # unit rows: the length is divided out
        (exact,), _ = exact_deltas(([1.0], [0]), NONE, [e], plan.strength, plan.sigma, 8.0)
        assert exact <= main.bound(e)


def test_minima_are_certified_and_those_of_another_method():
    from scipy.optimize import minimize

    random = np.random.default_rng(5)
    rows, labels = random.normal(size=(300, 3)) / 3.0, random.integers(0, 4, size=300).astype(float)
    linear, loss = random.normal(size=12), Softmax(4)
    objective = Objective(lambda: iter([Chunk(rows, labels)]), loss, 0.7, linear)

    def value(w):
        margins = rows @ w.reshape(4, 3).T
        slopes = loss.slope(margins.copy(), labels).T @ rows
        return (
            loss.value(margins, labels).sum() + 0.35 * w @ w + linear @ w,
            slopes.ravel() + 0.7 * w + linear,
        )

    found = minimiser(objective, 1e-9)
    assert certified(objective, found) <= 1e-9
    other = minimize(value, np.zeros(12), jac=True, options={"gtol": 1e-10}).x
    np.testing.assert_allclose(found, other, atol=1e-7)
    move, step = random.normal(size=12), 1e-5
    slopes = [objective.point(found + sign * step * move).gradient for sign in (1.0, -1.0)]
    np.testing.assert_allclose(objective.hessian(found) @ move, (slopes[0] - slopes[1]) / (2.0 * step), atol=1e-6)
    np.testing.assert_allclose(objective.hessian_times(found, move), objective.hessian(found) @ move, atol=1e-12)


def test_what_is_not_proved_is_refused():
    from privet.errors import InvalidParameter

    target = Guarantee(1.0, 1e-6)
    for analysis in ("rkw", "kst12", "amp"):
        with pytest.raises(InvalidParameter, match="one margin"):
            ObjectivePerturbation(analysis=analysis).plan(THREE, Softmax(3), target)
    for loss in (Logistic(), HuberHinge(), Softmax(4)):
        with pytest.raises(InvalidParameter, match="classes"):
            ObjectivePerturbation().plan(THREE, loss, target)

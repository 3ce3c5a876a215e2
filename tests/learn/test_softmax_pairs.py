"""Softmax with objective perturbation in one feature: every output's loss below the bound of the proof, path by path."""

import numpy as np
import pytest
from scipy.special import ndtr, softmax

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

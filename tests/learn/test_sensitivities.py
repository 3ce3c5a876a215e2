"""Sensitivities of what the room releases, found by search over all pairs: never above the constant, and attained."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import gamma

from privet.privacy import GaussianLoss
from tests.learn.densities import LOGISTIC, LOSSES, Problem, huber_hinge, minimisers


def unit_vectors(d: int, count: int, rng: np.random.Generator) -> np.ndarray:
    x = rng.normal(size=(count, d))
    return x / np.linalg.norm(x, axis=1)[:, None]


# --- minimisers ---


def minimiser(problem: Problem) -> np.ndarray:
    return minimisers(problem, np.zeros((len(problem.penalty), 1)))[:, 0]


def farthest(psi, penalty: float, relation: str) -> float:
    """The largest move over random data in the plane and records on its edge."""
    rng, most = np.random.default_rng(2), 0.0
    for _ in range(25):
        rows = [tuple(x) for x in unit_vectors(2, 4, rng)]
        labels = rng.choice([-1.0, 1.0], size=4)
        common = Problem(psi, tuple(zip(rows[:2], labels[:2], strict=True)), (penalty, penalty))
        first = common.with_records((rows[2], labels[2]))
        second = common if relation == "add_remove" else common.with_records((rows[3], labels[3]))
        most = max(most, float(np.linalg.norm(minimiser(first) - minimiser(second))))
    return most


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize(("relation", "times"), [("add_remove", 1.0), ("replace", 2.0)])
def test_a_minimiser_moves_by_no_more_than_the_slope_over_the_regulariser(name, relation, times):
    psi = LOSSES[name]
    for penalty in (0.05, 3.0):
        assert farthest(psi, penalty, relation) <= times * psi.lipschitz / penalty * (1.0 + 1e-6)


def test_that_move_is_attained():
    """Where the loss is linear around both minimisers: the Huber hinge near 0."""
    psi, penalty = huber_hinge(), 10.0
    alone = Problem(psi, (), (penalty,))
    here, there = (minimiser(alone.with_records(((x,), 1.0)))[0] for x in (1.0, -1.0))
    assert abs(here - minimiser(alone)[0]) == pytest.approx(1.0 / penalty, rel=1e-6)
    assert abs(here - there) == pytest.approx(2.0 / penalty, rel=1e-6)


def test_a_certified_gradient_adds_its_own_part_twice():
    """Stopped with a gradient of length tau on either side, the worst way: 2 L/Lambda + 2 tau/Lambda, and no more."""
    psi, penalty, tau = huber_hinge(), 10.0, 0.3
    stopped = []
    for x, error in ((1.0, tau), (-1.0, -tau)):
        problem = Problem(psi, (((x,), 1.0),), (penalty,))
        w = minimisers(problem, np.array([[-error]]))
        assert abs(problem.slope(w)[0, 0]) <= tau * (1.0 + 1e-6)
        stopped.append(w[0, 0])
    assert abs(stopped[0] - stopped[1]) == pytest.approx((2.0 + 2.0 * tau) / penalty, rel=1e-6)


# --- pure output perturbation ---


def log_ratio_of_gamma_noise(shift: float, scale: float, d: int) -> float:
    """The largest log ratio of two densities exp(-|z|/scale), one moved: on the line through both centres."""
    z = np.zeros((d, 4001))
    z[0] = np.linspace(-20.0, 20.0, 4001)
    moved = z.copy()
    moved[0] -= shift
    return float(np.max(np.linalg.norm(moved, axis=0) - np.linalg.norm(z, axis=0)) / scale)


def test_pure_noise_costs_what_it_says_and_its_radius_is_gamma():
    for d, epsilon, sensitivity in product((1, 3), (0.5, 2.0), (0.1, 2.0)):
        assert log_ratio_of_gamma_noise(sensitivity, sensitivity / epsilon, d) == pytest.approx(epsilon)
    r = np.linspace(1e-6, 80.0, 400_001)  # the surface of a sphere grows with the power d - 1
    for d in (1, 2, 5):
        density = r ** (d - 1) * np.exp(-r / 1.5)
        density /= density.sum() * (r[1] - r[0])
        assert density[::4000] == pytest.approx(gamma(d, scale=1.5).pdf(r[::4000]), abs=1e-4)
        assert np.sum(r * density) * (r[1] - r[0]) == pytest.approx(1.5 * d, rel=1e-3)


def test_an_exponent_upside_down_is_caught():
    """exp(-2 |z|/(lambda n epsilon)) for exp(-lambda n epsilon |z|/2): the sensitivity is 2/(lambda n)."""
    strength, epsilon = 1.0, 0.5  # lambda n
    right, wrong = 2.0 / (strength * epsilon), strength * epsilon / 2.0
    assert log_ratio_of_gamma_noise(2.0 / strength, right, 2) == pytest.approx(epsilon)
    assert log_ratio_of_gamma_noise(2.0 / strength, wrong, 2) > 10.0 * epsilon


# --- joint statistics ---


def gram(x: np.ndarray) -> np.ndarray:
    """x x^T for every row, flattened: the l2 norm is Frobenius'."""
    return (x[:, :, None] * x[:, None, :]).reshape(len(x), -1)


def regression(x, y):
    return np.hstack((gram(x), x * y[:, None]))


def whole_gram(x, y):
    return gram(np.hstack((x, y[:, None])))


def moments(x, y):
    return np.hstack((np.ones((len(x), 1)), x, gram(x)))


def second_moments(x, y):
    return x * x


JOINT = {
    "Gram": (lambda x, y: gram(x), 1.0, np.sqrt(2.0)),
    "Gram and products": (regression, np.sqrt(2.0), np.sqrt(4.5)),
    "Gram of rows and targets": (whole_gram, 2.0, 2.0 * np.sqrt(2.0)),
    "count, sum and Gram": (moments, np.sqrt(3.0), np.sqrt(4.5)),
    "second moments of columns": (second_moments, 1.0, np.sqrt(2.0)),
}


def records(d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows on the edge of the ball, within it, and the corners that are known to be bad; targets on the edge and within."""
    angles = np.linspace(0.0, np.pi, 13)
    plane = np.zeros((len(angles), d))
    plane[:, 0] = np.cos(angles)
    plane[:, min(1, d - 1)] += np.sin(angles) * (d > 1)
    x = np.vstack((plane, -plane, unit_vectors(d, 60, rng), 0.7 * unit_vectors(d, 20, rng), np.zeros((1, d))))
    x /= np.maximum(1.0, np.linalg.norm(x, axis=1))[:, None]
    x = np.vstack((x, x, x))
    return x, np.repeat([1.0, -1.0, 0.3], len(x) // 3)


@pytest.mark.parametrize("name", JOINT)
def test_joint_statistics(name):
    statistic, one, two = JOINT[name]
    rng, largest = np.random.default_rng(5), [0.0, 0.0]
    for d in (2, 3):
        vectors = statistic(*records(d, rng))
        squares = np.sum(vectors**2, axis=1)
        apart = squares[:, None] + squares[None, :] - 2.0 * vectors @ vectors.T
        largest = [max(largest[0], np.sqrt(squares.max())), max(largest[1], np.sqrt(apart.max()))]
    assert largest == [pytest.approx(one, rel=1e-9), pytest.approx(two, rel=1e-9)]


def naive_bayes(z: np.ndarray, label: int, classes: int = 2) -> np.ndarray:
    found = np.zeros((len(z), classes, 1 + 2 * z.shape[1]))
    found[:, label] = np.hstack((np.ones((len(z), 1)), z, z * z - 0.5))
    return found.reshape(len(z), -1)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_naive_bayes(d):
    side = np.linspace(-1.0, 1.0, 9 if d < 3 else 5)
    z = np.array(np.meshgrid(*[side] * d)).reshape(d, -1).T
    vectors = np.vstack((naive_bayes(z, 0), naive_bayes(z, 1)))
    squares = np.sum(vectors**2, axis=1)
    apart = squares[:, None] + squares[None, :] - 2.0 * vectors @ vectors.T
    assert np.sqrt(squares.max()) == pytest.approx(np.sqrt(1.0 + 1.25 * d))
    assert np.sqrt(apart.max()) == pytest.approx(max(np.sqrt(2.0 + 2.5 * d), 2.0 * np.sqrt(d)))


@pytest.mark.parametrize("radius", [0.5, 1.0, 3.0])
def test_clusters(radius):
    """Counts and sums of each cluster: two centres, every point of a disc goes to one of them."""
    rng = np.random.default_rng(7)
    z = radius * np.vstack((unit_vectors(2, 60, rng), 0.5 * unit_vectors(2, 20, rng), np.eye(2), -np.eye(2)))
    largest = [0.0, 0.0]
    for centres in (np.array([[radius, 0.0], [-radius, 0.0]]), np.array([[9.0, 9.0], [0.0, 0.0]])):
        nearest = np.argmin(np.linalg.norm(z[:, None] - centres[None], axis=2), axis=1)
        vectors = np.zeros((len(z), 2, 3))
        vectors[np.arange(len(z)), nearest] = np.hstack((np.ones((len(z), 1)), z))
        vectors = vectors.reshape(len(z), -1)
        squares = np.sum(vectors**2, axis=1)
        apart = squares[:, None] + squares[None, :] - 2.0 * vectors @ vectors.T
        largest = [max(largest[0], np.sqrt(squares.max())), max(largest[1], np.sqrt(apart.max()))]
    assert largest[0] == pytest.approx(np.sqrt(1.0 + radius**2))
    assert largest[1] == pytest.approx(max(np.sqrt(2.0 + 2.0 * radius**2), 2.0 * radius))


# --- symmetric noise ---


def distance_in_noise(change: np.ndarray, diagonal: float, off: float) -> float:
    """How far a symmetric change lies from 0 in standard deviations of independent noise on its upper triangle."""
    scale = np.where(np.eye(len(change), dtype=bool), diagonal, off)
    upper = np.triu_indices(len(change))
    return float(np.linalg.norm((change / scale)[upper]))


def test_off_the_diagonal_the_noise_is_smaller_by_the_root_of_two():
    """With it the distance is Frobenius' norm over sigma for every change; with less it is not."""
    rng, worst = np.random.default_rng(11), 0.0
    for _ in range(200):
        x, y = unit_vectors(3, 2, rng)
        change = np.outer(x, x) - np.outer(y, y)
        exact = distance_in_noise(change, 2.0, 2.0 / np.sqrt(2.0))
        assert exact == pytest.approx(np.linalg.norm(change) / 2.0)
        worst = max(worst, distance_in_noise(change, 2.0, 1.0) / (np.sqrt(2.0) / 2.0))
    assert worst > 1.1  # half of sigma is too little


# --- permutation passes of gradient steps, noise at the end ---


def passes(records, strength, steps, batch, rounds, order):
    """Mini-batch steps over one permutation, again and again, for losses s w + (strength/2) w^2 with slopes s."""
    w, t = 0.0, 0
    for _ in range(rounds):
        for start in range(0, len(order), batch):
            t += 1
            chosen = order[start : start + batch]
            w -= steps(t) * (np.mean(records[chosen]) + strength * w)
    return w


@pytest.mark.parametrize(("batch", "rounds"), [(1, 1), (1, 3), (4, 2), (12, 5)])
def test_bolt_on_noise_does_not_shrink_with_the_batch(batch, rounds):
    """Linear losses, strongly convex by the regulariser: 2 L/(gamma n) exactly, for every batch, place and permutation."""
    n, strength = 12, 0.5
    rng = np.random.default_rng(13)
    for place in (0, 5, 11):
        order = rng.permutation(n)
        one = rng.choice([-1.0, 1.0], size=n)
        other = one.copy()
        other[place] = -one[place]
        found = [passes(each, strength, lambda t: 1.0 / (strength * t), batch, rounds, order) for each in (one, other)]
        assert abs(found[0] - found[1]) == pytest.approx(2.0 / (strength * n))
        constant = [passes(each, 0.0, lambda t: 0.1, batch, rounds, order) for each in (one, other)]
        assert abs(constant[0] - constant[1]) == pytest.approx(2.0 * rounds * 0.1 / batch)


def test_bolt_on_noise_for_losses_that_bend():
    """Coupled runs over logistic losses in the plane: below 2 (L + gamma R)/(gamma n), steps capped by the smoothness."""
    n, strength, radius = 10, 0.2, 1.0
    rng, most = np.random.default_rng(17), 0.0
    for _ in range(40):
        rows, order = unit_vectors(2, n + 1, rng), rng.permutation(n)
        labels, ends = rng.choice([-1.0, 1.0], size=n + 1), []
        for replaced in (False, True):
            x, y = rows[:n].copy(), labels[:n].copy()
            if replaced:
                x[3], y[3] = rows[n], labels[n]
            w = np.zeros((2, 1))
            for t, i in enumerate(np.tile(order, 2), 1):
                slope = x[i][:, None] * LOGISTIC.slope(x[i] @ w, y[i]) + strength * w
                w = w - min(1.0 / (0.25 + strength), 1.0 / (strength * t)) * slope
                w = w * min(1.0, radius / max(np.linalg.norm(w), 1e-300))
            ends.append(w)
        most = max(most, float(np.linalg.norm(ends[0] - ends[1])))
    limit = 2.0 * (1.0 + strength * radius) / (strength * n)
    assert 0.1 * limit < most <= limit


# --- coordinate descent ---


def test_coordinate_steps_compose_as_gaussians_whatever_coordinates_are_drawn():
    mu, steps, clips = 0.7, 50, np.array([0.1, 1.0, 5.0])
    sigmas = clips * np.sqrt(steps) / mu
    drawn = np.random.default_rng(19).integers(0, 3, size=steps)
    assert np.sqrt(np.sum((clips[drawn] / sigmas[drawn]) ** 2)) == pytest.approx(mu)
    uniform = np.full(3, sigmas.mean())  # one sigma for all coordinates is not that
    assert np.sqrt(np.sum((clips[drawn] / uniform[drawn]) ** 2)) > 1.2 * mu


@pytest.mark.parametrize(("epsilon", "known"), [(0.1, 36.304690), (1.0, 4.224679), (4.0, 1.193519), (8.0, 0.652935)])
def test_published_noise_of_one_gaussian(epsilon, known):
    assert (
        GaussianLoss(known * (1.0 + 1e-6)).profile(epsilon)
        <= 1e-6
        < GaussianLoss(known * (1.0 - 1e-6)).profile(epsilon)
    )

"""What the lectures on private risk minimisation say, as computations: where they hold and where they fall short."""

from functools import partial

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.svm import SVC

from privet.learn.losses import HuberHinge
from privet.learn.problem import Classes, Task
from privet.learn.solvers import ObjectivePerturbation
from privet.privacy import GaussianLoss, Guarantee, ObjectivePerturbationLoss, Unit
from tests.learn.densities import LOGISTIC, Problem, Psi, huber_hinge, laplace_tails, minimisers, one_dimension, plane

N, MU = 50, 0.2  # records and strong convexity on the mean scale: Lambda = N MU


def hinge_pair() -> tuple[Problem, Problem]:
    """Data whose minimisers are as far apart as they can be: one record against its mirror image."""
    others = tuple(((0.5 * (-1.0) ** i,), 1.0) for i in range(N - 2))
    return tuple(Problem(huber_hinge(), (*others, ((0.0,), 1.0), ((x,), 1.0)), (N * MU,)) for x in (1.0, -1.0))


def exact_minimiser(problem: Problem) -> float:
    return float(minimisers(problem, np.zeros((1, 1)))[0, 0])


# --- output perturbation ---


def test_the_sensitivity_of_the_minimiser_is_attained():
    """2 L/(mu n): the slide asks why the bound is tight."""
    first, second = map(exact_minimiser, hinge_pair())
    assert abs(first - second) == pytest.approx(2.0 / (MU * N), rel=1e-6)


def test_both_noise_laws_keep_their_promise_at_that_distance():
    """The Gaussian of the slides (epsilon below 1) and the pure one, a uniform direction with a Gamma radius."""
    shift, epsilon, delta = 2.0 / (MU * N), 0.9, 1e-6
    sigma = shift * np.sqrt(2.0 * np.log(1.25 / delta)) / epsilon
    found = float(GaussianLoss(sigma / shift).profile(epsilon))
    assert found <= delta
    assert found > 1e-3 * delta
    z = np.linspace(-5.0, 5.0, 20_001)
    scale = shift / epsilon
    ratio = (np.abs(z - shift) - np.abs(z)) / scale
    assert np.abs(ratio).max() == pytest.approx(epsilon)
    assert float(GaussianLoss(sigma / shift / 2.0).profile(epsilon)) > delta  # half of it would not do


def test_the_best_regulariser_of_the_slides():
    """mu D^2/2 + A/mu is least at sqrt(2 A)/D, where it is D sqrt(2 A)."""
    diameter, a = 3.0, 0.04
    mu = np.geomspace(1e-4, 10.0, 100_001)
    value = mu * diameter**2 / 2.0 + a / mu
    assert mu[value.argmin()] == pytest.approx(np.sqrt(2.0 * a) / diameter, rel=1e-3)
    assert value.min() == pytest.approx(diameter * np.sqrt(2.0 * a), rel=1e-6)


# --- why a machine without noise shows its data ---


def test_a_support_vector_machine_without_noise_shows_its_support_vectors():
    """Its solution is a sum of them: it stays where it is when another point moves, and moves with any of them."""
    rng = np.random.default_rng(1)
    x = np.vstack((rng.normal(size=(20, 2)) + 2.5, rng.normal(size=(20, 2)) - 2.5))
    y = np.repeat([1, -1], 20)
    machine = SVC(kernel="linear", C=1.0, tol=1e-8).fit(x, y)
    assert machine.coef_[0] == pytest.approx(machine.dual_coef_[0] @ x[machine.support_])
    free = next(i for i in machine.support_ if abs(machine.dual_coef_[0][list(machine.support_).index(i)]) < 0.999)
    far = int(np.argmax(np.abs(x @ machine.coef_[0])))
    for moved, shows in ((free, True), (far, False)):
        other = x.copy()
        other[moved] += 0.05
        again = SVC(kernel="linear", C=1.0, tol=1e-8).fit(other, y)
        assert (float(np.abs(again.coef_ - machine.coef_).max()) > 1e-4) is shows


def test_with_noise_a_support_vector_is_not_shown():
    """The exact law of the private machine, before and after its only free support vector moved: below the promise. Without
    noise the same move is seen for certain."""
    promise = Guarantee(1.0, 1e-3)
    task = Task(features=1, row_norm=1.0, intercept=False, target=Classes((0, 1)), unit=Unit("replace"))
    plan = ObjectivePerturbation().plan(task, HuberHinge(0.5), promise)
    others = (((0.9,), 1.0), ((-0.8,), -1.0), ((-1.0,), -1.0))
    before, after = (Problem(huber_hinge(0.5), (*others, ((x,), 1.0)), (plan.strength,)) for x in (0.3, -0.6))
    quiet = [minimisers(each, np.zeros((1, 1)))[0, 0] for each in (before, after)]
    assert abs(quiet[0] - quiet[1]) > 0.1
    assert one_dimension(before, after, plan.sigma, np.array([1.0])).max() <= 1e-3
    assert one_dimension(before, after, plan.sigma / 20.0, np.array([1.0])).max() > 1e-3


# --- objective perturbation ---


def test_the_noise_of_the_slides_leaves_out_the_jacobian():
    """sigma^2 = 8 L^2 ln(1.25/delta)/epsilon^2 promises delta = 1e-6; the law of the minimiser says what is true."""
    sigma = np.sqrt(8.0 * np.log(1.25 / 1e-6)) / 0.9
    assert sigma == pytest.approx(11.775, abs=1e-3)
    for penalty, true in ((0.1, 6.65e-3), (0.01, 2.87e-2), (1.0, 0.0)):
        with_it, without = (Problem(LOGISTIC, (((x,), 1.0),), (penalty,)) for x in (1.0, 0.0))
        found = one_dimension(with_it, without, sigma, np.array([0.9]))[0, 0]
        assert found == pytest.approx(true, rel=5e-3, abs=1e-9)
        price = ObjectivePerturbationLoss(sigma, 1.0 / penalty, "logistic", unit=Unit("replace"))
        assert found <= float(price.profile(0.9))


def test_the_pure_noise_of_the_slides_is_that_of_a_record_that_comes_or_goes():
    """A radius of scale 1/epsilon: a replaced record needs 2/epsilon. A Huber hinge near 0 shows it."""
    epsilon, penalty = 0.5, 1e3
    with_it, mirrored = (Problem(huber_hinge(), (((x,), 1.0),), (penalty,)) for x in (1.0, -1.0))
    without = Problem(huber_hinge(), (), (penalty,))
    slack = epsilon + 2.0 * np.log1p(1.0 / penalty)
    at = np.array([slack])
    assert one_dimension(with_it, without, 1.0 / epsilon, at, laplace_tails).max() <= 1e-12
    assert one_dimension(with_it, mirrored, 1.0 / epsilon, at, laplace_tails).max() > 0.1
    assert one_dimension(with_it, mirrored, 2.0 / epsilon, at, laplace_tails).max() <= 1e-12


def _median_slope(h: float, m: np.ndarray, y: float) -> np.ndarray:
    return np.clip((m - y) / h, -1.0, 1.0)


def _median_curvature(h: float, m: np.ndarray, y: float) -> np.ndarray:
    return np.where(np.abs(m - y) < h, 1.0 / h, 0.0)


def smoothed_median(h: float) -> Psi:
    return Psi(partial(_median_slope, h), partial(_median_curvature, h), 1.0, 1.0 / h, "general")


def chance_of(value: float, data, sigma: float, penalty: float = 0.0) -> float:
    """That the tilted sum of distances has its minimum exactly at a point of the data: -b among its slopes there."""
    low = penalty * value + sum(1.0 if value > x else -1.0 for x in data)
    high = penalty * value + sum(1.0 if value >= x else -1.0 for x in data)
    return float(ndtr(high / sigma) - ndtr(low / sigma))


def test_the_tilted_median_fails_with_probability_one_half_when_it_exists():
    """{0, 100} against {0, 101}: the answer is exactly 100, or exactly 101, and never the other's."""
    sigma = np.sqrt(8.0 * np.log(1.25 / 1e-6))
    assert sigma == pytest.approx(10.598, abs=1e-3)
    found = chance_of(100.0, (0.0, 100.0), sigma)
    assert found == pytest.approx(0.074845, abs=1e-6)
    assert chance_of(101.0, (0.0, 101.0), sigma) == found
    assert chance_of(100.0, (0.0, 101.0), sigma) == 0.0
    exists = chance_of(0.0, (0.0, 100.0), sigma) + found
    assert 1.0 - exists == pytest.approx(0.8503, abs=1e-4)
    assert found / exists == pytest.approx(0.5)
    assert chance_of(100.0, (0.0, 100.0), sigma, penalty=0.01) == pytest.approx(0.073855, abs=1e-6)


def test_the_smoothed_median_is_private():
    """Bounded curvature and a regulariser: no answer is exact, and the price holds."""
    sigma, penalty, at = np.sqrt(8.0 * np.log(1.25 / 1e-6)), 0.01, np.array([0.5, 1.0, 2.0])
    for h in (0.1, 10.0):
        psi = smoothed_median(h)
        first, second = (Problem(psi, (((1.0,), 0.0), ((1.0,), x)), (penalty,)) for x in (100.0, 101.0))
        price = ObjectivePerturbationLoss(sigma, 1.0 / (h * penalty), "general", unit=Unit("replace"))
        exact = one_dimension(first, second, sigma, at)
        assert np.all(exact <= price.profile(at))
    gentle = one_dimension(first, second, sigma, at)  # a wide kink: what is lost is below the failure of the sharp one
    assert gentle[0, 1] < 0.05


# --- steep directions ---


def test_a_steep_direction_is_spared_by_objective_perturbation():
    """The mean loss of both, at the noise of the same mu: many long rows along one axis, few short ones along the other."""
    mu, penalty = 1.0, 2.0
    rows = tuple([((1.0, 0.0), 1.0)] * 150 + [((-1.0, 0.0), 1.0)] * 120 + [((0.0, 0.1), 1.0)] * 5)
    problem = Problem(LOGISTIC, rows, (penalty, penalty))
    z, mass = plane(41, 6.0)
    best = minimisers(problem, np.zeros((2, 1)))

    def excess(w: np.ndarray) -> float:
        def value(at: np.ndarray) -> np.ndarray:
            fit = sum(np.logaddexp(0.0, -y * (np.array(x) @ at)) for x, y in rows)
            return fit + 0.5 * penalty * np.sum(at * at, axis=0)

        return float((value(w) - value(best)) @ mass)

    output = excess(best + z / (penalty * mu))
    objective = excess(minimisers(problem, z / mu))
    steep = problem.hessian(best)[0]
    assert steep[0, 0] > 20.0 * steep[1, 1]
    assert output > 10.0 * objective


# --- one record a step ---


def test_the_noise_of_the_projected_steps():
    """sigma^2 = 64 n^2 L^2/epsilon^2 ln(2n/delta) ln(2/delta): two amplified advanced compositions of n^2 steps."""
    n, epsilon, delta = 100, 1.0, 1e-5
    sigma = 8.0 * n / epsilon * np.sqrt(np.log(2 * n / delta) * np.log(2 / delta))
    step = 2.0 * n / sigma * np.sqrt(2.0 * np.log(2 * n / delta))
    amplified = 2.0 / n * step
    whole = amplified * np.sqrt(2.0 * n * n * np.log(2.0 / delta))
    assert whole == pytest.approx(epsilon, rel=1e-12)
    assert sigma / (2.0 * n) == pytest.approx(57.2991, abs=1e-3)


def test_what_the_amplification_of_the_slides_needs():
    """ln(1 + q (e^epsilon - 1)) is at most 2 q epsilon only up to epsilon = 1.256."""
    q = 1e-6
    assert np.log1p(q * np.expm1(1.25)) <= 2.0 * q * 1.25
    assert np.log1p(q * np.expm1(1.26)) > 2.0 * q * 1.26

"""Exact laws of objective perturbation against its price: no true divergence above it, and every broken twin above."""

from functools import cache
from itertools import product

import numpy as np
import pytest

from privet.accounting import PLD
from privet.privacy import GaussianLoss, ObjectivePerturbationLoss, PrivacyLoss, Repeated, Unit
from tests.learn.densities import (
    LOGISTIC,
    LOSSES,
    Problem,
    Psi,
    cell_masses,
    clipped_squares,
    divergences,
    gamma_norm_log,
    huber_hinge,
    laplace_tails,
    log_ratio,
    minimisers,
    nodes,
    one_dimension,
    plane,
    turned,
    two_dimensions,
)

EPSILONS = np.array([-20.0, -5.0, -1.0, -0.1, 0.0, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 20.0])
LAMBDAS = (3e-4, 0.01, 0.1, 1.0, 30.0)  # for rows of length 1
MULTIPLIERS = (0.3, 2.0, 8.0)
ROW_NORMS = (0.5, 1.0, 5.0, 50.0)
BASES = (
    (),
    ((1.0, 1.0),),
    ((1.0, -1.0),) * 3,
    ((0.5, 1.0), (1.0, -1.0)),
    ((0.3, -1.0),) * 50,
)
ARRIVALS = ((1.0, 1.0), (-0.7, 1.0))
REPLACED = (((1.0, 1.0), (-1.0, 1.0)), ((1.0, 1.0), (0.0, 1.0)), ((0.8, -1.0), (1.0, -1.0)), ((1.0, 1.0), (1.0, -1.0)))


@cache
def price(shape: str, multiplier: float, curvature: float, relation: str = "add_remove") -> ObjectivePerturbationLoss:
    return ObjectivePerturbationLoss(multiplier, curvature, shape, unit=Unit(relation))


def priced(
    psi: Psi, bound: float, penalty: float, sigma: float, relation: str = "add_remove"
) -> ObjectivePerturbationLoss:
    """The price of a problem with rows no longer than `bound`: the constants of the loss enter here and nowhere else."""
    beta = (1.0 if psi.shape == "logistic" else psi.smoothness) * bound**2
    return price(psi.shape, sigma / (psi.lipschitz * bound), beta / penalty, relation)


def both(loss: PrivacyLoss) -> np.ndarray:
    return np.array([loss.profile(EPSILONS, "remove"), loss.profile(EPSILONS, "add")])


def line(psi: Psi, rows, bound: float, penalty: float) -> Problem:
    return Problem(psi, tuple(((x * bound,), y) for x, y in rows), (penalty,))


def largest_ratio(found, allowed) -> float:
    """Of exact divergences over prices, where they can be told from rounding."""
    large = found > 1e-12
    return float((found[large] / np.maximum(allowed[large], 1e-300)).max(initial=0.0))


def ratios(psi: Psi, lambdas=LAMBDAS, multipliers=MULTIPLIERS, bound: float = 1.0, bases=BASES) -> np.ndarray:
    """Adding and removing a record, both directions: the largest exact delta over its price, for every setting."""
    found = []
    for penalty, multiplier in product(lambdas, multipliers):
        penalty, sigma = penalty * bound**2, multiplier * psi.lipschitz * bound
        allowed = both(priced(psi, bound, penalty, sigma))
        for base, arrival in product(bases, ARRIVALS):
            without, with_it = line(psi, base, bound, penalty), line(psi, (*base, arrival), bound, penalty)
            found.append(largest_ratio(one_dimension(with_it, without, sigma, EPSILONS), allowed))
    return np.array(found)


def replaced_ratios(psi: Psi, lambdas=LAMBDAS, multipliers=MULTIPLIERS, bases=BASES) -> np.ndarray:
    found = []
    for penalty, multiplier in product(lambdas, multipliers):
        sigma = multiplier * psi.lipschitz
        allowed = both(priced(psi, 1.0, penalty, sigma, "replace"))
        for base, (old, new) in product(bases, REPLACED):
            before, after = line(psi, (*base, old), 1.0, penalty), line(psi, (*base, new), 1.0, penalty)
            found.append(largest_ratio(one_dimension(before, after, sigma, EPSILONS), allowed))
    return np.array(found)


BELOW = 1.0 + 1e-7  # rounding of sums


@pytest.mark.parametrize("name", LOSSES)
def test_adding_and_removing_in_one_dimension(name):
    found = ratios(LOSSES[name])
    assert found.shape == (len(LAMBDAS) * len(MULTIPLIERS) * len(BASES) * len(ARRIVALS),)
    assert found.max() <= BELOW


@pytest.mark.parametrize("name", LOSSES)
def test_replacing_in_one_dimension(name):
    found = replaced_ratios(LOSSES[name], multipliers=(0.3, 8.0))
    assert found.max() <= BELOW


def test_the_price_without_the_record_is_attained():
    """Without it against with it: a Gaussian, where others hold the slope at its largest."""
    at = np.array([0.1, 0.5, 1.0, 2.0])
    for psi, base in ((LOGISTIC, ((0.3, -1.0),) * 3000), (huber_hinge(), ((0.3, -1.0),) * 300)):
        without, with_it = line(psi, base, 1.0, 0.01), line(psi, (*base, (1.0, 1.0)), 1.0, 0.01)
        exact = one_dimension(with_it, without, 1.0, at)[1]
        assert 0.98 < largest_ratio(exact, priced(psi, 1.0, 0.01, 1.0).profile(at, "add")) <= BELOW


def test_the_price_of_a_replaced_record_is_attained():
    """A Huber hinge near 0: both records pull as much as they can, in one direction, and nothing bends."""
    psi, at = huber_hinge(), np.array([0.1, 0.5, 1.0, 2.0])
    before, after = line(psi, ((1.0, 1.0),), 1.0, 1e4), line(psi, ((-1.0, 1.0),), 1.0, 1e4)
    allowed = priced(psi, 1.0, 1e4, 2.0, "replace").profile(at, "remove")
    assert 0.98 < largest_ratio(one_dimension(before, after, 2.0, at)[0], allowed) <= BELOW


def test_the_price_of_the_record_that_is_there_is_sharp():
    """With the record against without it, where the Jacobian adds. Others hold the margin where it hurts."""
    at = np.array([0.5, 1.0, 2.0])
    for psi, base, penalty, multiplier, least in (
        (LOGISTIC, ((0.3, -1.0),) * 1000, 0.5, 1.0, 0.99),
        (huber_hinge(), ((0.3, -1.0),), 0.1, 3.0, 0.9),
        (clipped_squares(0.7), ((0.3, 30.0),), 0.1, 3.0, 0.9),
    ):
        sigma = multiplier * psi.lipschitz
        without, with_it = line(psi, base, 1.0, penalty), line(psi, (*base, (1.0, 1.0)), 1.0, penalty)
        allowed = priced(psi, 1.0, penalty, sigma).profile(at, "remove")
        assert least < largest_ratio(one_dimension(with_it, without, sigma, at)[0], allowed) <= BELOW


@pytest.mark.parametrize("bound", ROW_NORMS)
def test_rows_of_every_length(bound):
    for psi in LOSSES.values():
        found = ratios(psi, (0.01, 1.0), (0.7, 5.0), bound, BASES[1:4])
        assert found.max() <= BELOW


@pytest.mark.parametrize("bound", ROW_NORMS)
def test_an_intercept_within_the_bound_and_under_the_penalty(bound):
    """In the plane of one feature and the constant 1."""
    at = np.array([0.0, 0.5, 1.0, 2.0])
    longest = np.hypot(bound, 1.0)
    for psi, base in ((LOGISTIC, (1.0, -1.0)), (huber_hinge(), (-0.5, 1.0)), (clipped_squares(), (0.8, 0.3))):
        penalty, sigma = 0.3 * longest**2, 2.0 * psi.lipschitz * longest
        without = Problem(psi, (((base[0] * bound, 1.0), base[1]),), (penalty, penalty))
        with_it = without.with_records(((bound, 1.0), 1.0))
        loss = priced(psi, longest, penalty, sigma)
        for p, q, direction in ((with_it, without, "remove"), (without, with_it, "add")):
            assert np.all(two_dimensions(p, q, sigma, at) <= loss.profile(at, direction) * (1.0 + 5e-3))


# --- broken twins, each caught by a true divergence above its price ---


def caught(true: Problem, other: Problem, sigma: float, claimed: PrivacyLoss) -> float:
    return largest_ratio(one_dimension(true, other, sigma, EPSILONS), both(claimed))


def test_a_price_without_the_jacobian_is_caught():
    without, with_it = line(LOGISTIC, (), 1.0, 0.1), line(LOGISTIC, ((1.0, 1.0),), 1.0, 0.1)
    assert caught(with_it, without, 2.0, GaussianLoss(2.0)) > 2.0
    assert caught(with_it, without, 2.0, priced(LOGISTIC, 1.0, 0.1, 2.0)) <= BELOW


@pytest.mark.parametrize("bound", [5.0, 50.0])
def test_the_length_of_a_row_where_its_square_belongs_is_caught(bound):
    penalty, sigma = 1.0, 3.0 * bound
    without, with_it = line(LOGISTIC, (), bound, penalty), line(LOGISTIC, ((1.0, 1.0),), bound, penalty)
    assert caught(with_it, without, sigma, price("logistic", 3.0, bound / penalty)) > 1.2
    assert caught(with_it, without, sigma, priced(LOGISTIC, bound, penalty, sigma)) <= BELOW


@pytest.mark.parametrize("name", LOSSES)
def test_half_the_noise_is_caught(name):
    psi = LOSSES[name]
    without, with_it = line(psi, ((1.0, 1.0),), 1.0, 1.0), line(psi, ((1.0, 1.0), (1.0, 1.0)), 1.0, 1.0)
    claimed = priced(psi, 1.0, 1.0, 2.0 * psi.lipschitz)
    assert caught(with_it, without, 1.0 * psi.lipschitz, claimed) > 2.0
    assert caught(with_it, without, 2.0 * psi.lipschitz, claimed) <= BELOW


def test_an_intercept_without_a_penalty_is_caught():
    """The intercept alone: with next to no penalty the minimiser runs away, unless the record holds it."""
    claimed = priced(LOGISTIC, 1.0, 1.0, 1.0)
    for penalty, broken in ((1e-6, True), (1.0, False)):
        without, with_it = line(LOGISTIC, (), 1.0, penalty), line(LOGISTIC, ((1.0, 1.0),), 1.0, penalty)
        assert (caught(with_it, without, 1.0, claimed) > 2.0) is broken


def test_an_intercept_outside_the_bound_is_caught():
    """Rows of length 1/2 and the constant 1 beside them: the row that counts is longer."""
    at = np.array([0.5, 1.0, 2.0])
    penalty, sigma = 1.0, 1.0
    without = Problem(LOGISTIC, (((0.5, 1.0), -1.0),), (penalty, penalty))
    with_it = without.with_records(((0.5, 1.0), 1.0))
    exact = two_dimensions(without, with_it, sigma, at)
    assert (exact / priced(LOGISTIC, 0.5, penalty, sigma).profile(at, "add")).max() > 1.5
    assert np.all(exact <= priced(LOGISTIC, np.hypot(0.5, 1.0), penalty, sigma).profile(at, "add") * 1.002)


def test_the_price_of_one_record_for_a_replaced_one_is_caught():
    before, after = line(huber_hinge(), ((1.0, 1.0),), 1.0, 30.0), line(huber_hinge(), ((-1.0, 1.0),), 1.0, 30.0)
    assert caught(before, after, 2.0, priced(huber_hinge(), 1.0, 30.0, 2.0)) > 2.0


# --- composition ---


def composed(p: np.ndarray, q: np.ndarray, times: int, epsilon: float, cells: int = 4000) -> float:
    """The divergence of independent copies, from below: losses on a net, rounded down, convolved."""
    p, q = p / p.sum(), q / q.sum()
    loss = np.log(np.maximum(p, 1e-300) / np.maximum(q, 1e-300))
    low, high = loss[p > 1e-18].min(), loss[p > 1e-18].max()
    step = (high - low) / cells
    place = np.clip(((loss - low) / step).astype(int), 0, cells)
    mass = np.bincount(place[p > 1e-18], weights=p[p > 1e-18], minlength=cells + 1)
    whole = np.ones(1)
    for _ in range(times):
        whole = np.convolve(whole, mass)
    total = times * low + step * np.arange(len(whole))
    return float(np.sum(whole * -np.expm1(np.minimum(epsilon - total, 0.0))))


def test_composition_uses_the_pair_and_not_the_statement_at_one_epsilon():
    """Lambda = B^2/(epsilon + a^2/2) makes one release at epsilon as costly as a Gaussian; six of them are more costly."""
    sigma, epsilon, times = 2.0, 20.0, 6
    penalty = 1.0 / (epsilon + 0.125)
    loss = priced(LOGISTIC, 1.0, penalty, sigma)
    assert (
        float(loss._delta(np.array(epsilon), "remove")) <= float(GaussianLoss(sigma).profile(epsilon)) * 1.01 + 1e-100
    )
    without, with_it = line(LOGISTIC, (), 1.0, penalty), line(LOGISTIC, ((1.0, 1.0),), 1.0, penalty)
    w = nodes((without, with_it), sigma, points=1500)
    p, q = (cell_masses(problem, w, sigma)[0] for problem in (with_it, without))
    for total in (1.0, 3.0):
        exact = composed(p, q, times, total)
        assert exact <= PLD().delta(Repeated(loss, times), epsilon=total).upper
        assert exact > 1.1 * float(GaussianLoss(sigma / np.sqrt(times)).profile(total))


# --- pure noise ---


def pure_price(psi: Psi, bound: float, penalty: float, scale: float, relation: str) -> float:
    """The largest log ratio that the proof allows: docs/proofs/learn/objective_perturbation.md."""
    reach = psi.lipschitz * bound / scale
    both_ends = reach if relation == "replace" else 0.0
    if psi.shape == "logistic":
        t = np.linspace(0.0, 1.0, 100_001)
        return float(np.max(t * reach + np.log1p(bound**2 / penalty * t * (1.0 - t)))) + both_ends
    return reach + float(np.log1p(psi.smoothness * bound**2 / penalty)) + both_ends


@pytest.mark.parametrize("name", LOSSES)
def test_pure_noise_in_one_dimension(name):
    psi, near = LOSSES[name], 0.0
    for penalty, bound, base in product((0.05, 1.0), (1.0, 50.0), BASES[:4]):
        penalty, scale = penalty * bound**2, psi.lipschitz * bound
        for old, new in ((None, ARRIVALS[0]), (None, ARRIVALS[1]), *REPLACED):
            relation = "add_remove" if old is None else "replace"
            before = line(psi, base if old is None else (*base, old), bound, penalty)
            after = line(psi, (*base, new), bound, penalty)
            limit = pure_price(psi, bound, penalty, scale, relation)
            assert one_dimension(before, after, scale, np.array([limit]), laplace_tails).max() <= 1e-12
            w = nodes((before, after), scale, tail=20.0)[None, :]
            found = np.abs(log_ratio(before, after, w, scale, gamma_norm_log)).max()
            assert found <= limit * (1.0 + 1e-9)
            near = max(near, found / limit)
    assert near > 0.99


def test_pure_noise_in_two_dimensions():
    """Over directions and radii: a radius of the law Gamma(2, scale)."""
    radius, angle = np.meshgrid(np.geomspace(0.01, 60.0, 40), np.linspace(0.0, 2.0 * np.pi, 73))
    b = np.array([radius * np.cos(angle), radius * np.sin(angle)]).reshape(2, -1)
    near = 0.0
    for psi, penalty in product((LOGISTIC, huber_hinge(), clipped_squares()), (0.05, 1.0)):
        common = Problem(psi, (((0.6, 0.8), 1.0), ((1.0, 0.0), -1.0)), (penalty, penalty))
        with_it = common.with_records(((0.0, 1.0), 1.0))
        other = common.with_records(((0.0, -1.0), 1.0))
        for p, q, relation in ((with_it, common, "add_remove"), (with_it, other, "replace")):
            limit = pure_price(psi, 1.0, penalty, psi.lipschitz, relation)
            for problem in (p, q):
                found = np.abs(log_ratio(p, q, minimisers(problem, psi.lipschitz * b), psi.lipschitz, gamma_norm_log))
                assert found.max() <= limit * (1.0 + 1e-9)
                near = max(near, found.max() / limit)
    assert near > 0.9


def test_the_published_pure_prices():
    for relation, penalty, known in (
        ("add_remove", 0.05, 2.3642),
        ("replace", 0.05, 3.3642),
        ("add_remove", 1.0, 1.0),
        ("replace", 1.0, 2.0),
    ):
        assert pure_price(LOGISTIC, 1.0, penalty, 1.0, relation) == pytest.approx(known, abs=6e-5)


# --- two dimensions ---


def test_densities_add_up_to_one_with_the_determinant_and_not_without():
    """Over a net of w: the change of variables itself, for losses with and without a second derivative everywhere."""
    for psi in LOSSES.values():
        problem = Problem(psi, (((0.6, 0.8), 1.0), ((1.0, 0.0), -1.0), ((-0.3, 0.5), 1.0)), (0.5, 0.8))
        side = np.linspace(-30.0, 30.0, 401)
        w = turned(side)
        b = problem.slope(w)
        noise = np.exp(-0.5 * np.sum(b * b, axis=0) / 4.0) / (8.0 * np.pi) * (side[1] - side[0]) ** 2
        assert np.sum(noise * np.linalg.det(problem.hessian(w))) == pytest.approx(1.0, abs=5e-3)
        assert np.sum(noise) * 0.4 < 0.9  # the best constant would be the product of the penalties


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_two_dimensions_stay_below_the_price(relation):
    at = np.array([-1.0, 0.0, 0.5, 1.0, 2.0])
    near = 0.0
    for psi, penalty, sigma in product(LOSSES.values(), (0.05, 1.0), (0.7, 3.0)):
        common = Problem(psi, (((0.6, 0.8), 1.0), ((1.0, 0.0), -1.0)), (penalty, penalty))
        first = common.with_records(((0.0, 1.0), 1.0))
        loss = priced(psi, 1.0, penalty, sigma * psi.lipschitz, relation)
        others = (
            [common] if relation == "add_remove" else [common.with_records((x, 1.0)) for x in ((0.0, -1.0), (0.8, 0.6))]
        )
        for second in others:
            for p, q, direction in ((first, second, "remove"), (second, first, "add")):
                exact = two_dimensions(p, q, sigma * psi.lipschitz, at, points=81)
                allowed = loss.profile(at, direction)
                assert np.all(exact <= allowed * (1.0 + 5e-3) + 1e-7)
                near = max(near, float((exact / allowed)[exact > 1e-4].max()))
    assert near > 0.95


def test_one_and_two_dimensions_agree():
    """A problem in the plane whose second feature is always 0 is one in the line."""
    at = np.array([0.0, 0.5, 1.0])
    for psi in LOSSES.values():
        p2, q2 = (Problem(psi, rows, (0.3, 0.3)) for rows in ((((1.0, 0.0), 1.0),), (((-1.0, 0.0), 1.0),)))
        p1, q1 = (Problem(psi, rows, (0.3,)) for rows in ((((1.0,), 1.0),), (((-1.0,), 1.0),)))
        exact = one_dimension(p1, q1, 1.5, at)[0]
        assert two_dimensions(p2, q2, 1.5, at, points=161) == pytest.approx(exact, rel=0.02, abs=1e-4)


# --- wider ---


@pytest.mark.slow
@pytest.mark.parametrize("name", LOSSES)
def test_a_wide_grid_of_settings(name):
    psi = LOSSES[name]
    lambdas, multipliers = np.geomspace(3e-4, 30.0, 9), np.geomspace(0.1, 50.0, 9)
    bases = (*BASES, ((1.0, 1.0),) * 50, ((1.0, 1.0),) * 10 + ((-1.0, 1.0),) * 10, ((0.1, -1.0),) * 20)
    assert ratios(psi, lambdas, multipliers, bases=bases).max() <= BELOW
    assert replaced_ratios(psi, lambdas, multipliers, bases=bases).max() <= BELOW


@pytest.mark.slow
def test_a_wide_grid_in_two_dimensions():
    rng = np.random.default_rng(16)
    at = np.array([-2.0, 0.0, 0.3, 1.0, 3.0])
    for psi, penalty, sigma in product(LOSSES.values(), (3e-3, 1.0), (0.5, 8.0)):
        for _ in range(2):
            rows = rng.normal(size=(4, 2))
            rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1))[:, None]
            labels = rng.choice([-1.0, 1.0], size=4)
            common = Problem(
                psi, tuple((tuple(x), y) for x, y in zip(rows[:2], labels, strict=False)), (penalty, penalty)
            )
            first, second = (common.with_records((tuple(rows[i]), labels[i])) for i in (2, 3))
            for p, q, relation, direction in (
                (first, common, "add_remove", "remove"),
                (common, first, "add_remove", "add"),
                (first, second, "replace", "remove"),
            ):
                exact = two_dimensions(p, q, sigma * psi.lipschitz, at, points=301)
                allowed = priced(psi, 1.0, penalty, sigma * psi.lipschitz, relation).profile(at, direction)
                assert np.all(exact <= allowed * (1.0 + 1e-2) + 1e-7)


def test_the_masses_of_the_plane_add_up():
    z, mass = plane(41)
    assert mass.sum() == pytest.approx(1.0, abs=1e-12)
    assert (z * z) @ mass == pytest.approx([1.0, 1.0], rel=1e-9)


@pytest.mark.slow
def test_cells_give_less_than_the_whole():
    """A coarser partition shows less: the oracle can only miss, never invent."""
    without, with_it = line(LOGISTIC, (), 1.0, 0.1), line(LOGISTIC, ((1.0, 1.0),), 1.0, 0.1)
    w = nodes((without, with_it), 2.0)
    fine, coarse = (
        divergences(*(cell_masses(problem, net, 2.0) for problem in (with_it, without)), EPSILONS)
        for net in (w, w[::7])
    )
    assert np.all(coarse <= fine + 1e-12)
    assert np.any(coarse < fine - 1e-6)

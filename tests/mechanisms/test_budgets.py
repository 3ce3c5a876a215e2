"""Random budgets: what `for_budget` returns, priced at 50 digits or by the certified accountant, is never above them."""

import random
from fractions import Fraction

import pytest
from mpmath import mp, mpf

from privet import accounting, mechanisms as m
from privet.errors import NoGuarantee
from privet.mechanisms.families.two_sided_geometric import smallest_geometric_scale
from privet.mechanisms.target import pure_scale, smallest_scale
from privet.privacy import DiscreteLaplaceLoss, Guarantee

MAKERS = {
    "discrete_laplace": lambda **b: m.DiscreteLaplace.for_budget(**b, sensitivity=3),
    "geometric": lambda **b: m.Geometric.for_budget(**b, bounds=(0, 9)),
    "discrete_gaussian": lambda **b: m.DiscreteGaussian.for_budget(**b, sensitivity=2),
    "exponential": lambda **b: m.Exponential.for_budget(**b, sensitivity=0.7),
    "exponential_monotonic": lambda **b: m.Exponential.for_budget(**b, sensitivity=0.7, monotonic=True),
    "permute_and_flip": lambda **b: m.PermuteAndFlip.for_budget(**b, sensitivity=0.7),
    "noisy_max": lambda **b: m.NoisyMax.for_budget(**b, sensitivity=0.7),
    "top_k": lambda **b: m.TopK.for_budget(**b, sensitivity=0.7, k=3),
    "randomized_response": m.RandomizedResponse.for_budget,
    "krr": lambda **b: m.KRR.for_budget(**b, k=9),
    "above_threshold": lambda **b: m.AboveThreshold.for_budget(**b, sensitivity=0.7, threshold=1),
    "above_threshold_numbers": lambda **b: m.AboveThreshold.for_budget(
        **b, sensitivity=0.7, threshold=1, positives=3, answer_share=0.3
    ),
    "quantile": lambda **b: m.Quantile.for_budget(**b, q=0.3, bounds=(0, 1)),
    "smooth_median": lambda **b: m.SmoothMedian.for_budget(**b, bounds=(-1, 0.3)),
}


def share_used(loss, budget):
    """How much of the budget the price takes; with a delta, by the certified upper end."""
    if "delta" in budget:
        assert accounting.delta(loss, epsilon=budget["epsilon"]).upper <= budget["delta"] * (1 + 1e-9)
        return accounting.epsilon(loss, delta=budget["delta"]).upper / budget["epsilon"]
    if "epsilon" in budget:
        return loss.pure() / budget["epsilon"]
    return loss.zcdp().rho / budget["rho"] if "rho" in budget else loss.gdp() / budget["mu"]


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_every_kind_of_budget_is_used_and_never_passed(name):
    source = random.Random(name)
    for _ in range(2):
        for budget in (
            {"epsilon": 10 ** source.uniform(-2, 1)},
            {"epsilon": 10 ** source.uniform(-1, 1), "delta": 10 ** source.uniform(-9, -1)},
            {"rho": 10 ** source.uniform(-4, 1)},
            {"mu": 10 ** source.uniform(-2, 0.7)},
        ):
            try:
                mechanism = MAKERS[name](**budget)
            except NoGuarantee:
                assert name == "discrete_gaussian"
                continue
            assert 0.99 <= share_used(mechanism.loss, budget) <= 1.0


def exact(number):
    return mpf(Fraction(number).numerator) / Fraction(number).denominator


def test_laplace_and_gaussian_at_fifty_digits():
    """The scale that runs, as the double it is, against the closed forms; from tiny to huge budgets."""
    source = random.Random(11)
    with mp.workdps(60):
        for _ in range(150):
            epsilon, delta = mpf(10 ** source.uniform(-5, 2)), mpf(10 ** source.uniform(-200, -0.05))
            sensitivity = 10 ** source.uniform(-8, 8)
            sigma = m.Gaussian.for_budget(epsilon=float(epsilon), delta=float(delta), sensitivity=sensitivity).sigma
            mu = exact(sensitivity) / exact(sigma)
            curve = mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)
            assert delta * (1 - mpf(10) ** -4) < curve <= delta
            pure = m.Laplace.for_budget(epsilon=float(epsilon), sensitivity=sensitivity)
            assert epsilon * (1 - mpf(10) ** -12) < exact(sensitivity) / exact(pure.scale) <= epsilon
            whole = m.DiscreteLaplace.for_budget(epsilon=float(epsilon), sensitivity=7)
            assert epsilon * (1 - mpf(10) ** -12) < 7 / exact(whole.scale) <= epsilon
            delta = mpf(10 ** source.uniform(-12, -0.05))
            loose = m.Laplace.for_budget(epsilon=float(epsilon), delta=float(delta), sensitivity=sensitivity)
            largest = exact(sensitivity) / exact(loose.scale)
            assert 1 - mp.exp((epsilon - largest) / 2) <= delta
            assert largest >= (epsilon - 2 * mp.log(1 - delta)) * (1 - mpf(10) ** -8)


@pytest.mark.parametrize("name", ["rho", "mu"])
def test_gaussian_noise_for_rho_and_mu_at_fifty_digits(name):
    source = random.Random(12)
    with mp.workdps(60):
        for _ in range(100):
            goal, sensitivity = 10 ** source.uniform(-5, 2), 10 ** source.uniform(-8, 8)
            mechanism = m.Gaussian.for_budget(**{name: goal}, sensitivity=sensitivity)
            mu = exact(sensitivity) / exact(mechanism.sigma)
            assert (mu if name == "mu" else mu**2 / 2) <= mpf(goal)
            assert (mechanism.loss.gdp() if name == "mu" else mechanism.loss.zcdp().rho) <= goal


@pytest.mark.parametrize("moved", [1, 3, 2**40 + 1])
def test_geometric_noise_of_a_pure_budget_is_the_one_that_a_search_finds(moved):
    rng = random.Random(7)
    for epsilon in (1.0, 0.1, 3.0, *(10.0 ** rng.uniform(-6, 3) for _ in range(20))):
        target, bound = Guarantee(epsilon), m.Sensitivity(moved, norm="l1")
        searched = smallest_scale(lambda scale: DiscreteLaplaceLoss(scale, moved), target, start=0.7)
        assert smallest_geometric_scale(target, bound) == pure_scale(searched, Fraction(moved), target)

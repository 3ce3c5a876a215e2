"""Loss variables without a grid: large discrete Gaussians, closed enclosures, listed sums; and what is computed once."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from mpmath import mp, mpf

from privet import accounting, privacy
from privet.accounting import PLD
from privet.accounting.pld import accountant as pld_accountant
from privet.errors import NoGuarantee
from privet.privacy import discrete_gaussian, grouped, parallel
from privet.privacy.atoms import sum_of_atoms
from privet.privacy.curve import _walked, lower_hull
from privet.privacy.discrete_gaussian import DiscreteNormalVariable
from tests.oracles import brute_force, closed_forms, sampled_gaussian

SIGMA = 501.0


@pytest.fixture(scope="module")
def masses():
    """Tail sums of the discrete Gaussian law in 40 digits: masses(a) is the mass of x >= a."""
    with mp.workdps(40):
        reach = int(40 * SIGMA)
        weights = [mp.exp(-(mpf(x) ** 2) / (2 * mpf(SIGMA) ** 2)) for x in range(reach + 1)]
        total = 2 * mp.fsum(weights) - weights[0]
        tails = [mpf(0)]
        for weight in reversed(weights):
            tails.append(tails[-1] + weight / total)
        tails.reverse()
        return lambda a: tails[min(a, reach + 1)] if a >= 0 else 1 - tails[min(1 - a, reach + 1)]


@pytest.mark.parametrize("shift", [1, 700])
@pytest.mark.parametrize("count", [25, 300, 3000])
def test_runs_of_outcomes_in_forty_digits(masses, shift, count):
    variable = DiscreteNormalVariable(SIGMA, shift)
    nodes = np.sort(np.random.default_rng(count).uniform(*variable.span(1e-250), count))
    with mp.workdps(40):
        edges = [int(mp.ceil(mpf(shift) / 2 - mpf(float(n)) * mpf(SIGMA) ** 2 / shift)) for n in nodes]
        for cells, moved in zip(variable.cells(nodes), (0, shift), strict=True):
            exact = [masses(b - moved) - masses(a - moved) for a, b in zip(edges[:0:-1], edges[-2::-1], strict=True)]
            exact = np.array([float(value) for value in exact])[::-1]
            seen = exact > 1e-15  # below, the difference of two 40-digit tails has too few digits itself
            assert cells[1:-1][seen] == pytest.approx(exact[seen], rel=1e-12)
            assert cells[-1] == pytest.approx(float(1 - masses(edges[-1] - moved)), rel=1e-12, abs=1e-30)
            assert cells[0] == pytest.approx(float(masses(edges[0] - moved)), rel=1e-12)


@pytest.mark.parametrize(("sigma", "shift"), [(600.0, 1), (700.5, 40)])
def test_listed_and_summed_outcomes_agree(monkeypatch, sigma, shift):
    monkeypatch.setattr(discrete_gaussian, "_LISTED_SIGMA", math.inf)
    listed = discrete_gaussian._shifted_discrete_gaussian.__wrapped__(sigma, shift)
    epsilons = shift / sigma * np.linspace(0.0, 8.0, 9)
    for epsilon in map(float, epsilons):
        low, high = DiscreteNormalVariable(sigma, shift).enclose(epsilon)
        assert low <= float(listed.delta(epsilon)) * (1 + 1e-11) + 1e-300
        assert high >= float(listed.delta(epsilon)) * (1 - 1e-11)
        assert high - low <= 1e-7 * high


@pytest.mark.parametrize("sigma", [1e4, 1e5, 1e7])
def test_wide_discrete_noise_is_priced_like_normal_noise(sigma):
    kinds = (privacy.DiscreteGaussianLoss, privacy.GaussianLoss)
    bound, normal = (accounting.epsilon(kind(sigma), delta=0.1 / sigma) for kind in kinds)
    assert bound.lower <= normal.upper * (1 + 1 / sigma)
    assert bound.upper >= normal.lower * (1 - 1 / sigma)
    assert bound.slack <= 1e-3 * bound.upper


@pytest.mark.parametrize("mu", [1e-7, 1e-3, 1 / 30, 1.0, 50.0, 1e5])
def test_the_normal_curve_in_sixty_digits(mu):
    variable = privacy.GdpLoss(mu).variable("remove")
    with mp.workdps(60):
        for deviations in (-3.0, -0.5, 0.0, 1.0, 7.0, 20.0, 36.0):
            epsilon = max(0.0, mu * (deviations + mu / 2.0))
            low, high = variable.enclose(epsilon)
            assert low <= closed_forms.gaussian_delta(epsilon, mpf(mu)) <= high
            assert high - low <= 1e-5 * high


@pytest.mark.parametrize(("q", "z"), [(1e-9, 1.0), (0.01, 1.0), (0.3, 0.4), (0.5, 30.0)])
@pytest.mark.parametrize("direction", ["remove", "add"])
def test_one_sampled_gaussian_is_enclosed_however_small(q, z, direction):
    variable = privacy.PoissonSampled(privacy.GaussianLoss(z), q=q).variable(direction)
    with mp.workdps(60):
        for share in (0.0, 0.3, 0.9, 4.0):
            epsilon = share * -math.log1p(-q)
            low, high = variable.enclose(epsilon)
            exact = sampled_gaussian.delta_one(epsilon, q=q, z=z, direction=direction)
            assert low <= exact <= high
            assert high - low <= 1e-5 * high + 1e-290


def test_a_single_sampled_release_is_priced_tightly_at_a_tiny_delta():
    bound = PLD().epsilon(privacy.PoissonSampled(privacy.GaussianLoss(1.0), q=1e-9), 1e-60)
    assert 0.0 < bound.slack <= 1e-8 * bound.upper


def test_a_listed_sum_is_the_enumeration():
    p, q = (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)), (Fraction(1, 7), Fraction(2, 7), Fraction(4, 7))
    coin = (Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4))
    losses = [(privacy.FinitePairLoss(p, q), 3), (privacy.FinitePairLoss(*coin), 2)]
    total = sum_of_atoms([(loss.variable("remove"), n) for loss, n in losses], 1000)
    pair = brute_force.product_pair([(p, q)] * 3 + [coin] * 2)
    for epsilon in (0.0, 0.7, 3.0):
        with mp.workdps(40):
            gamma = mp.exp(mpf(epsilon))
            rows = zip(*pair, strict=True)
            exact = mp.fsum(
                max(mpf(a.numerator) / a.denominator - gamma * b.numerator / b.denominator, 0) for a, b in rows
            )
            low, high = total.enclose(epsilon)
            assert low <= exact <= high <= low * (1 + 1e-10) + 1e-300


def test_a_sum_of_too_many_outcomes_is_left_to_the_grid():
    coin = privacy.RandomizedResponseLoss(1.0).variable("remove")
    assert sum_of_atoms([(coin, 99)], 100) is not None
    assert sum_of_atoms([(coin, 100)], 100) is None
    assert sum_of_atoms([(privacy.GaussianLoss(1.0).variable("remove"), 1)], 100) is None


@pytest.mark.parametrize("delta", [1e-3, 1e-9, 1e-60])
def test_a_composition_with_few_outcomes_is_priced_exactly(delta):
    rare = privacy.FinitePairLoss((0.999, 0.001), (0.9999995, 5e-7))
    loss = privacy.Composed((privacy.Repeated(rare, 2), privacy.Repeated(privacy.KRRLoss(3, 0.01, unit=rare.unit), 2)))
    bound = PLD().epsilon(loss, delta)
    assert bound.slack <= 1e-9 * bound.upper


# --- computed once ------------------------------------------------------------------------------------------------


def counted(monkeypatch, owner, name):
    """Count the calls of a function from here on."""
    calls, real = [], getattr(owner, name)

    def counting(*arguments):
        calls.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(owner, name, counting)
    return calls


def test_a_million_links_are_a_few_joins(monkeypatch):
    calls = counted(monkeypatch, grouped, "_joined")
    loss = privacy.Grouped(privacy.PoissonSampled(privacy.GaussianLoss(5.0), q=0.125), 10**6)
    assert accounting.epsilon(loss, delta=1e-5).upper > 1e6
    assert 0 < len(calls) <= 40


def test_chains_of_chains_cover_the_lecture_formula():
    loss = privacy.PoissonSampled(privacy.ApproxLoss(0.4, 1e-6), q=0.5)
    epsilon, delta = loss.approximate()
    for size in (2, 5, 8):
        exact = float(closed_forms.group(epsilon, delta, size)[1])
        assert float(privacy.Grouped(loss, size).profile(size * epsilon)) >= exact * (1 - 1e-9)


def test_selection_asks_its_base_once(monkeypatch):
    calls = counted(monkeypatch, privacy.PoissonSampled, "rdp")
    loss = privacy.Selected(privacy.PoissonSampled(privacy.GaussianLoss(1.0), q=0.1), mean=10.0)
    bound = accounting.Rdp().epsilon(loss, 1e-5)
    assert bound.upper <= 3.7105
    assert sum(np.size(orders) for _, orders in calls) <= 200


def test_the_envelope_of_blocks_is_built_once(monkeypatch):
    parallel._envelope.cache_clear()
    calls = counted(monkeypatch, parallel, "variable_of_envelope")
    assert PLD().epsilon(privacy.Parallel((privacy.ZcdpLoss(0.1), privacy.LaplaceLoss(3.0))), 1e-5).upper > 0.0
    assert len(calls) == 1


def test_hopeless_targets_are_refused_and_pure_ones_met_without_composing(monkeypatch):
    for name in ("epsilon_interval", "delta_interval"):
        monkeypatch.setattr(pld_accountant, name, None)
    leaky = privacy.Repeated(privacy.PoissonSampled(privacy.ApproxLoss(0.5, 1e-5), q=0.5), 10_000)
    with pytest.raises(NoGuarantee, match="larger delta"):
        PLD().epsilon(leaky, 1e-3)
    assert (
        PLD().delta(privacy.Repeated(privacy.PoissonSampled(privacy.LaplaceLoss(2.0), q=0.1), 1000), 80.0).upper == 0.0
    )


def test_a_pair_from_a_renyi_curve_knows_what_pure_says():
    loss = privacy.Repeated(privacy.Selected(privacy.PureLoss(0.25), 10.0), 2)
    assert PLD().epsilon(loss, 1e-5).upper <= 1.5 + 1e-12


@pytest.mark.parametrize("loss", [privacy.ZcdpLoss(0.1), privacy.Selected(privacy.GaussianLoss(5.0), 10.0)])
def test_a_bound_that_serves_both_directions_is_its_own_mirror_image(loss):
    remove, add = (loss.variable(direction) for direction in ("remove", "add"))
    assert remove.symmetric
    assert add.symmetric
    pairs = product(remove.atoms(), add.atoms())
    assert any(np.array_equal(one, other) for one, other in pairs)


def walked(x, y):
    """The lower hull, one vertex after the other (Andrew 1979)."""
    hull = [0]
    for i in range(1, len(x)):
        while len(hull) > 1 and (y[i] - y[hull[-1]]) * (x[hull[-1]] - x[hull[-2]]) < (y[hull[-1]] - y[hull[-2]]) * (
            x[i] - x[hull[-1]]
        ):
            hull.pop()
        hull.append(i)
    return hull


def test_the_lower_hull_is_that_of_a_walk_over_all_vertices():
    """Of whole numbers, so that nothing is rounded: wild ones, and convex runs that meet."""
    rng = np.random.default_rng(7)
    for turn in range(300):
        many = int(rng.integers(2, 80))
        x = np.cumsum(rng.integers(1, 3, size=many)).astype(float)
        y = rng.integers(-9, 9, size=many).astype(float)
        if turn % 2:
            y = np.minimum((x - 20.0) ** 2, (x - rng.integers(30, 90)) ** 2 + rng.integers(-50, 50))
        found = [lower_hull(x, y), _walked(x, y)]  # after a few rounds for all vertices at once, and alone
        assert all(list(each) == walked(x, y) for each in found)


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize(
    "part",
    [
        privacy.ObjectivePerturbationLoss(0.4, 1.0, "logistic"),
        privacy.PoissonSampled(privacy.GaussianLoss(0.4), 0.2),
        privacy.LaplaceLoss(0.1),
    ],
)
def test_a_composition_keeps_its_digits_in_both_directions(part, direction):
    """Against an integral over the loss of the normal part. The direction add was the mirror image of the other, where
    rounding of 4e-12 stood for every smaller delta, and some came out too small."""
    mu = 1.0
    total, alone = (
        privacy.Composed((part, privacy.GaussianLoss(1.0 / mu))).variable(direction),
        part.variable(direction),
    )
    z = np.linspace(-14.0, 14.0, 20_001)
    weights = np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi) * (z[1] - z[0])
    for epsilon in (2.0, 15.0, 20.0, 25.0, 30.0):
        truth = float(weights @ alone.delta(epsilon - mu * z - 0.5 * mu * mu))
        assert truth * (1.0 - 1e-3) - 1e-40 <= float(total.delta(epsilon)) <= truth * 1.02 + 1e-40

"""Mixtures of Gaussians and groups of sampled releases, against 40 digits, vectors in the plane and another accountant."""

import math
from itertools import product

import numpy as np
import pytest
from mpmath import mp, mpf

from privet import accounting, privacy
from privet.errors import InvalidParameter, MixedUnits
from privet.privacy import MixtureOfGaussiansLoss
from privet.privacy.families.mixture import NOTHING, MixturePairLoss, MixtureVariable, binomial_mixture

PAIRS = [
    (binomial_mixture(3, 0.001, 1.0), NOTHING),
    (binomial_mixture(4, 0.3, 0.5), NOTHING),
    (((0.5, 4.0), (0.9, 0.1)), NOTHING),
    (binomial_mixture(1, 0.05, 1.0), binomial_mixture(1, 0.05, 1.0)),
    (binomial_mixture(2, 1e-6, 2.5), binomial_mixture(3, 0.4, 2.5)),
    (((0.0, 30.0), (0.5, 0.5)), NOTHING),
]


def density(mixture, x):
    return mp.fsum(mpf(w) * mp.npdf(x, mpf(a)) for a, w in zip(*mixture, strict=True))


def exact_delta(epsilon, up, down):
    """The best set is a half line: bisect for its end in 40 digits, then two sums of normal tails."""
    gamma = mp.exp(mpf(epsilon))
    low, high = mpf(-200), mpf(200)
    for _ in range(140):
        middle = (low + high) / 2
        if density(up, middle) > gamma * density(down, -middle):
            high = middle
        else:
            low = middle
    tail = [
        mp.fsum(mpf(w) * mp.ncdf(sign * mpf(a) - high) for a, w in zip(*side, strict=True))
        for sign, side in ((1, up), (-1, down))
    ]
    return max(tail[0] - gamma * tail[1], mpf(0))


def panels(low, high, count):
    nodes, weights = np.polynomial.legendre.leggauss(12)
    edges = np.linspace(low, high, count + 1)
    x = edges[:-1, None] + np.diff(edges)[:, None] * (nodes + 1.0) / 2.0
    return x.ravel(), (np.diff(edges)[:, None] * weights / 2.0).ravel()


def float_density(mixture, x):
    return sum(w * np.exp(-0.5 * (x - a) ** 2) for a, w in zip(*mixture, strict=True)) / math.sqrt(2.0 * math.pi)


@pytest.mark.parametrize(("up", "down"), PAIRS)
def test_the_curve_in_forty_digits_in_both_directions(up, down):
    forward = MixtureVariable(up, down)
    with mp.workdps(40):
        for epsilon in (0.0, 0.003, 0.4, 15.0):
            for variable, sides in ((forward, (up, down)), (forward.reversed(), (down, up))):
                low, high = variable.enclose(epsilon)
                exact = exact_delta(epsilon, *sides)
                assert low <= exact <= high
                assert high - low <= 1e-8 * high + 5e-12


@pytest.mark.parametrize(("up", "down"), PAIRS[:5])
def test_cells_in_forty_digits(up, down):
    variable = MixtureVariable(up, down)
    nodes = np.unique(variable.loss(np.linspace(-6.0 - max(down[0]), 6.0 + max(up[0]), 24)))
    nodes = nodes[np.isfinite(variable.outcomes(nodes))]
    x = variable.outcomes(nodes)
    assert len(x) > 10
    assert np.all(np.diff(x) > 0.0)
    with mp.workdps(40):
        for at, node in zip(x, nodes, strict=True):
            loss = mp.log(density(up, mpf(at)) / density(down, -mpf(at)))
            assert abs(loss - node) <= 1e-14 * (1.0 + abs(node))
        for cells, sign, side in zip(variable.cells(nodes), (1, -1), (up, down), strict=True):
            for i in range(1, len(nodes)):
                exact = mp.fsum(
                    mpf(w) * (mp.ncdf(mpf(x[i]) - sign * mpf(a)) - mp.ncdf(mpf(x[i - 1]) - sign * mpf(a)))
                    for a, w in zip(*side, strict=True)
                )
                assert abs(cells[i] - exact) <= variable.mass_error * exact + mpf(10) ** -300


@pytest.mark.parametrize("up", [PAIRS[0][0], PAIRS[1][0], PAIRS[2][0]])
def test_renyi_divergence_at_whole_orders(up):
    """Against one normal the moment of a whole order is a sum over tuples of components."""
    two, three = MixturePairLoss(up, NOTHING).rdp([2.0, 3.0]).values
    parts = list(zip(*up, strict=True))
    with mp.workdps(40):
        second = mp.fsum(mpf(w) * v * mp.exp(mpf(a) * b) for (a, w), (b, v) in product(parts, repeat=2))
        third = mp.fsum(
            mpf(w) * v * u * mp.exp(mpf(a) * b + mpf(a) * c + mpf(b) * c)
            for (a, w), (b, v), (c, u) in product(parts, repeat=3)
        )
        for found, exact in ((two, mp.log(second)), (three, mp.log(third) / 2)):
            assert exact <= found <= exact * (1 + mpf(10) ** -9)


@pytest.mark.parametrize(("up", "down"), [PAIRS[0], PAIRS[1], PAIRS[3]])
@pytest.mark.parametrize("alpha", [1.3, 7.0])
def test_renyi_divergence_by_another_rule(up, down, alpha):
    """Gauss-Legendre panels on the plain integral, in both directions."""
    found = MixturePairLoss(up, down).rdp([alpha]).values[0]
    reach = 12.0 + (alpha + 1.0) * (max(up[0]) + max(down[0]))
    x, weight = panels(-reach, reach, 400)
    both = []
    for first, second in ((up, down), (down, up)):
        p, q = float_density(first, x), float_density(second, -x)
        excess = np.exp(alpha * np.log(p / q)) - 1.0 - alpha * (p / q - 1.0)
        both.append(math.log1p(float((weight * q * excess).sum())) / (alpha - 1.0))
    assert found == pytest.approx(max(both), rel=1e-6)


def test_the_closed_bound_at_large_orders_lies_above():
    loss = MixturePairLoss(binomial_mixture(2, 0.1, 1.0), NOTHING)
    inside, outside = loss.rdp([1450.0, 1600.0]).values
    assert inside < outside < inside * 1600.0 / 1450.0 * 1.001


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize(("up", "down"), [PAIRS[1], PAIRS[3]])
def test_two_releases_by_an_integral(up, down, direction):
    """delta of two releases is the integral of p(x) delta_1(epsilon - L(x)) over the first outcome."""
    first, second = (up, down) if direction == "remove" else (down, up)
    variable = MixtureVariable(first, second)
    x, weight = panels(-12.0, 14.0, 200)
    p, q = float_density(first, x), float_density(second, -x)
    losses = np.log(p) - np.log(q)
    for epsilon in (0.1, 0.8, 2.0):
        exact = float((p * weight * variable.delta(epsilon - losses)).sum())
        loss = privacy.Repeated(MixturePairLoss(first, second), 2)
        bound = accounting.PLD(1e-5).delta(loss, epsilon)
        assert bound.upper >= exact * (1.0 - 1e-9)
        if direction == "remove":  # the costlier one
            assert bound.lower <= exact * (1.0 + 1e-9)


@pytest.mark.parametrize(
    ("q", "z", "steps", "size", "delta", "epsilon"),
    [(0.001, 1.0, 10_000, 3, 1e-6, 1.8185), (0.01, 1.0, 1000, 2, 1e-5, 3.979), (0.01, 2.0, 1000, 4, 1e-5, 2.893)],
)
def test_groups_of_sampled_releases(q, z, steps, size, delta, epsilon):
    run = privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(z), q=q), steps)
    bound = accounting.epsilon(privacy.Grouped(run, size), delta=delta)
    assert bound.upper == pytest.approx(epsilon, abs=6e-4)
    assert 0.0 < bound.slack <= 1e-3 * bound.upper
    mixture = MixtureOfGaussiansLoss(z, range(size + 1), binomial_mixture(size, q, 1.0)[1])
    same = accounting.epsilon(privacy.Repeated(mixture, steps), delta=delta)
    assert same.lower <= bound.upper
    assert bound.lower <= same.upper


def in_the_plane(means, weights, x):
    """A mixture of unit normals around `means`, on a grid of points."""
    return sum(w * np.exp(-0.5 * ((x - mean) ** 2).sum(axis=-1)) for mean, w in zip(means, weights, strict=True))


def sums_of_subsets(vectors, q):
    """Every sum of sampled vectors, with its probability."""
    for coins in product((0, 1), repeat=len(vectors)):
        mean = np.array(coins) @ vectors if len(vectors) else np.zeros(2)
        yield mean, math.prod(q if coin else 1.0 - q for coin in coins)


def excess_in_the_plane(rng, out, into, q, mu, epsilons, allowed):
    """How far the hockey stick of `out` vectors leaving and `into` joining exceeds what is allowed."""
    side = np.arange(-9.0, 9.0, 0.1)
    x = np.stack(np.meshgrid(side, side), axis=-1)

    def world(count):
        angles, lengths = rng.uniform(0.0, 2.0 * math.pi, count), rng.choice([1.0, 1.0, 0.6], count)
        vectors = mu * (lengths * np.array([np.cos(angles), np.sin(angles)])).T.reshape(count, 2)
        return in_the_plane(*zip(*sums_of_subsets(vectors, q), strict=True), x) * 0.1**2 / (2.0 * math.pi)

    p, q_law = world(out), world(into)
    values = [float(np.maximum(p - math.exp(e) * q_law, 0.0).sum()) for e in epsilons]
    return max(value - bound for value, bound in zip(values, allowed, strict=True))


@pytest.mark.parametrize(("out", "into"), [(3, 0), (0, 2), (1, 1), (2, 2)])
def test_no_vectors_of_a_group_are_worse_than_aligned_ones(out, into):
    """Leaving records that point one way against joining ones that point the other way are the worst case."""
    rng = np.random.default_rng(8)
    epsilons = (-0.5, 0.0, 0.2, 1.0, 2.5)
    for q, mu in ((0.3, 1.4), (0.05, 2.0)):
        base = privacy.PoissonSampled(privacy.GaussianLoss(1.0 / mu), q=q)
        if 0 in (out, into):
            claim = privacy.Grouped(base, out + into)
            direction = "remove" if out else "add"
        else:
            claim, direction = privacy.Grouped(base, out + into, relation="replace"), "remove"
        allowed = claim.profile(np.array(epsilons), direction)
        for _ in range(3):
            assert excess_in_the_plane(rng, out, into, q, mu, epsilons, allowed) <= 1e-7


def test_a_group_counted_one_short_is_seen_in_the_plane():
    epsilons = (0.0, 1.0, 2.5)
    short = privacy.Grouped(privacy.PoissonSampled(privacy.GaussianLoss(1.0), q=0.3), 2)
    allowed = short.profile(np.array(epsilons), "remove")
    assert excess_in_the_plane(_Aligned(), 3, 0, 0.3, 1.0, epsilons, allowed) > 1e-3


class _Aligned:
    """In place of a generator: every vector has length one and the same direction."""

    def uniform(self, low, high, count):
        return np.zeros(count)

    def choice(self, values, count):
        return np.ones(count)


def test_replacing_is_cheaper_than_a_group_of_two_and_has_two_ends():
    run = privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(1.0), q=0.01), 1000)
    bound = accounting.epsilon(privacy.to_replace(run), delta=1e-5)
    assert bound.unit.relation == "replace"
    assert 0.0 < bound.slack <= 1e-3 * bound.upper
    assert bound.upper < accounting.epsilon(privacy.Grouped(run, 2), delta=1e-5).lower
    assert bound.lower > accounting.epsilon(run, delta=1e-5).upper


def test_groups_of_groups_and_exchanged_groups_are_counted():
    base = privacy.PoissonSampled(privacy.GaussianLoss(2.0), q=0.1)
    six = privacy.Grouped(base, 6).profile(0.5)
    assert privacy.Grouped(privacy.Grouped(base, 2), 3).profile(0.5) == pytest.approx(six, rel=1e-12)
    people = privacy.to_replace(privacy.Grouped(base, 3))
    assert people.unit == privacy.Unit("replace", 3)
    assert people.profile(0.5) == pytest.approx(privacy.Grouped(base, 6, relation="replace").profile(0.5), rel=1e-12)
    assert float(people.profile(0.5)) > float(privacy.to_replace(base).profile(0.5)) * 2.0


def test_equal_sensitivities_are_one_and_order_does_not_matter():
    one = MixtureOfGaussiansLoss(1.0, (2.0, 0.0, 2.0, 5.0), (0.1, 0.7, 0.2, 0.0))
    assert one == MixtureOfGaussiansLoss(1.0, (0.0, 2.0), (0.7, 0.1 + 0.2))
    assert MixtureOfGaussiansLoss(2.0, (3.0,), (1.0,)).gaussian() == 1.5
    assert MixtureOfGaussiansLoss(2.0, (0.0,), (1.0,)).pure() == 0.0


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((1.0, (0.0, 1.0), (0.5, 0.4)), InvalidParameter),
        ((1.0, (0.0, 1.0), (1.0,)), InvalidParameter),
        ((1.0, (0.0, -1.0), (0.5, 0.5)), InvalidParameter),
        ((1.0, (0.0, 1.0), (1.5, -0.5)), InvalidParameter),
        ((0.0, (0.0, 1.0), (0.5, 0.5)), InvalidParameter),
        ((1.0, (), ()), InvalidParameter),
        ((1.0, "01", (0.5, 0.5)), InvalidParameter),
    ],
)
def test_what_is_no_mixture_is_refused(arguments, error):
    with pytest.raises(error):
        MixtureOfGaussiansLoss(*arguments)


def test_a_mixture_says_nothing_about_replacing():
    with pytest.raises(MixedUnits):
        MixtureOfGaussiansLoss(1.0, (0.0, 1.0), (0.5, 0.5), unit=privacy.Unit("replace"))


# --- sampling a composition of unlike parts -------------------------------------------------------------------------


def test_one_sample_of_unlike_releases_is_priced_from_their_own_curve():
    """q delta(ln(1 + (e^e - 1)/q)) with delta from the numerical accountant, which shares no code with the pair."""
    whole = privacy.Composed((privacy.GaussianLoss(1.0), privacy.LaplaceLoss(1.0)))
    sampled = privacy.PoissonSampled(whole, q=0.01)
    assert accounting.epsilon(sampled, delta=1e-5).upper == pytest.approx(0.4133, abs=1e-4)
    for epsilon in (0.0, 0.1, 0.4):
        base = accounting.delta(whole, epsilon=math.log1p(math.expm1(epsilon) / 0.01))
        bound = accounting.delta(sampled, epsilon=epsilon)
        assert 0.01 * base.lower <= bound.upper <= 0.01 * base.upper * 1.001


@pytest.mark.parametrize(
    "whole",
    [
        privacy.Composed((privacy.GaussianLoss(1.0), privacy.LaplaceLoss(1.0))),
        privacy.Repeated(privacy.LaplaceLoss(20.0), 100),
        privacy.Composed(
            (privacy.ApproxLoss(0.3, 1e-6), privacy.GaussianLoss(0.4), privacy.KRRLoss(3, 1.0, unit=privacy.Unit()))
        ),
        privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(1.0), q=0.1), 50),
    ],
)
def test_the_pair_of_a_whole_composition_lies_just_above_the_truth(whole):
    for epsilon in (0.0, 0.5, 2.0):
        bound = accounting.PLD(1e-5).delta(whole, epsilon)
        found = float(np.maximum(*(whole.profile(epsilon, direction) for direction in ("remove", "add"))))
        near = accounting.PLD(1e-5).delta(whole, max(0.0, 0.995 * epsilon - 0.002))
        assert bound.lower * (1.0 - 1e-9) <= found <= near.upper * 1.002 + 1e-15


def test_one_sample_of_many_gaussians_keeps_its_lower_end():
    one = accounting.epsilon(privacy.PoissonSampled(privacy.GaussianLoss(1.0), q=0.01), delta=1e-6)
    four = accounting.epsilon(
        privacy.PoissonSampled(privacy.Repeated(privacy.GaussianLoss(2.0), 4), q=0.01), delta=1e-6
    )
    assert four.upper == pytest.approx(one.upper, rel=1e-9)
    assert 0.0 < four.slack <= 1e-6

"""Certificates under random attack: ends against exact or independent values, many thousands of comparisons.

Every comparison of one end with an exact value is one check. The oracles share no code with the engine: an inversion
integral, exact binomial tails, enumerated products, and the exact law of the best of K runs.
"""

import math
from itertools import pairwise

import numpy as np
import pytest

from privet import accounting, privacy
from privet.accounting import PLD, Bound
from privet.errors import NoGuarantee
from privet.privacy import Unit
from privet.privacy.selected import stopping_probability
from tests.effort import tries
from tests.oracles import contour

REPLACE = Unit("replace")
# Checks of each kind, 2,500 in all; with PRIVET_HUNT=4 more than 10,000.
USUAL = {"sampled": 200, "without_replacement": 100, "two_atoms": 800, "finite_pairs": 500, "selected": 1_000}
LEAST = {name: tries(usual) for name, usual in USUAL.items()}


class TooFewDigits(Exception):
    """The oracle itself is not sure here."""


class Tally:
    """Counts checks; an end on the wrong side of the exact value raises with the case."""

    def __init__(self, own_error: float) -> None:
        self.checks, self.own_error = 0, own_error

    def above(self, end: float, exact: float, case: object) -> None:
        self.checks += 1
        assert end >= exact * (1.0 - self.own_error) - 1e-290, f"upper end {end!r} below {exact!r}: {case}"

    def below(self, end: float, exact: float, case: object) -> None:
        self.checks += 1
        assert end <= exact * (1.0 + self.own_error) + 1e-290, f"lower end {end!r} above {exact!r}: {case}"


def check_curve(tally, loss, exact, targets, case, accountant=None):
    """epsilon at each delta, and delta around it, against an exact curve (a decreasing function of epsilon).

    The oracle's own losses are doubles, off by `blur`: the curve may be shifted by as much.
    """
    accountant, blur = accountant or accounting.Tightest(), getattr(exact, "blur", 0.0)
    for target in targets:
        try:
            bound = accountant.epsilon(loss, target)
        except NoGuarantee:
            continue
        tally.below(exact(bound.upper + blur), target, ("epsilon, upper", case, target, bound))
        if bound.lower > 0.0:
            tally.above(exact(bound.lower - blur), target, ("epsilon, lower", case, target, bound))
        for epsilon in (bound.upper, 0.5 * bound.upper):
            found = accountant.delta(loss, epsilon)
            tally.above(found.upper, exact(epsilon + blur), ("delta, upper", case, epsilon, found))
            tally.below(found.lower, exact(epsilon - blur), ("delta, lower", case, epsilon, found))


def integrated(directions, times):
    """The larger of both directions by the inversion integral. A direction with few digits may be the smaller one, if it
    is known at least to a percent; with none at all it may be anything.
    """

    def exact(epsilon):
        found = [contour.delta([(law, times)], epsilon) for law in directions]
        best = max((value for value, error in found if error < 1e-7), default=0.0)
        vague = [(value, error) for value, error in found if error >= 1e-7]
        if not best > 0.0 or any(error > 1e-2 or value * (1.0 + 100.0 * error) >= best for value, error in vague):
            raise TooFewDigits(found)
        return best

    return exact


@pytest.mark.parametrize("epsilon", [0.1536, 0.234])
def test_the_integral_has_digits_far_out(epsilon):
    """The contour lies at the saddle, here near 300; on one that stays below 20 these deltas drown in cancellation."""
    found, error = contour.delta([(contour.sampled_gaussian(0.0137, 4.52, "remove"), 57)], epsilon)
    assert error < 1e-10
    loss = privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(4.52), q=0.0137), 57)
    bound = accounting.delta(loss, epsilon=epsilon)
    assert bound.lower * (1.0 - 1e-9) <= found <= bound.upper * (1.0 + 1e-9)


@pytest.mark.slow
def test_sampled_gaussians_against_an_inversion_integral():
    rng, tally, unsure = np.random.default_rng(1), Tally(1e-7), 0
    while tally.checks < LEAST["sampled"]:
        q, z = float(10.0 ** rng.uniform(-3.5, -0.3)), float(10.0 ** rng.uniform(-0.2, 0.7))
        times = int(10.0 ** rng.uniform(1.3, 4.5))
        targets = [float(10.0 ** -rng.uniform(2, 12)), float(10.0 ** -rng.uniform(12, 40))]
        loss = privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(z), q=q), times)
        exact = integrated([contour.sampled_gaussian(q, z, name) for name in ("remove", "add")], times)
        try:
            check_curve(tally, loss, exact, targets, (q, z, times))
        except TooFewDigits:
            unsure += 1
    assert tally.checks >= LEAST["sampled"]
    # Where single jumps decide a delta far below 1e-12 the integrand cancels and the integral has no digits: such a case
    # is no check, whichever way it came out. 43 cases beside 1,001 checks were seen; more would mean that the integral,
    # not the accountant, has changed.
    assert unsure <= tally.checks / 16


@pytest.mark.slow
def test_sampling_without_replacement_against_an_inversion_integral():
    rng, tally, unsure = np.random.default_rng(2), Tally(1e-7), 0
    while tally.checks < LEAST["without_replacement"]:
        n = int(10.0 ** rng.uniform(1, 4))
        m = int(rng.integers(1, max(2, n // 3)))
        z, times = float(10.0 ** rng.uniform(-0.2, 0.7)), int(10.0 ** rng.uniform(1.3, 4.0))
        targets = [float(10.0 ** -rng.uniform(2, 12)), float(10.0 ** -rng.uniform(12, 30))]
        loss = privacy.Repeated(privacy.FixedSampled(privacy.GaussianLoss(z, unit=REPLACE), m=m, n=n), times)
        exact = integrated([contour.spliced_gaussian(m / n, z)], times)
        try:
            check_curve(tally, loss, exact, targets, (m, n, z, times))
        except TooFewDigits:
            unsure += 1
    assert tally.checks >= LEAST["without_replacement"]
    assert unsure <= tally.checks / 50  # rare jumps at tiny deltas: beyond this integral


def binomial_curve(a, b, times):
    """`times` copies of the pair (a, 1 - a), (b, 1 - b): exact binomial masses, summed from the far end inwards."""

    def one_way(a, b):
        up, down = math.log(a) - math.log(b), math.log1p(-a) - math.log1p(-b)
        k = np.arange(times + 1)
        losses = k * up + (times - k) * down
        ratios = np.log(times - k[:-1]) - np.log(k[1:]) + math.log(a) - math.log1p(-a)
        logs = np.concatenate(([0.0], np.cumsum(ratios)))
        logs -= logs.max()
        masses = np.exp(logs)
        masses /= math.fsum(masses)

        def curve(epsilon):
            gap = epsilon - losses
            above = gap < 0.0
            return math.fsum(masses[above] * -np.expm1(gap[above]))

        return curve

    ways = one_way(a, b), one_way(b, a)

    def exact(epsilon):
        return max(way(epsilon) for way in ways)

    exact.blur = 1e-15 * times * (1.0 + abs(math.log(a / b)) + abs(math.log1p(-a) - math.log1p(-b)))
    return exact


@pytest.mark.slow
def test_two_atoms_against_exact_binomials():
    rng, tally = np.random.default_rng(3), Tally(1e-9)
    while tally.checks < LEAST["two_atoms"]:
        a = float(rng.uniform(0.02, 0.98))
        b = float(np.clip(a + rng.normal() * 10.0 ** rng.uniform(-3, -0.7), 0.01, 0.99))
        if a == b:
            continue
        times = int(10.0 ** rng.uniform(0, 4))
        loss = privacy.Repeated(privacy.FinitePairLoss((a, 1.0 - a), (b, 1.0 - b)), times)
        targets = [float(10.0 ** -rng.uniform(1, 8)), float(10.0 ** -rng.uniform(8, 30))]
        check_curve(tally, loss, binomial_curve(a, b, times), targets, (a, b, times))
    assert tally.checks >= LEAST["two_atoms"]


def product_curve(pairs):
    """Independent releases of finite pairs, outcome by outcome (copies as counts with multinomial weights)."""
    p, q = np.ones(1), np.ones(1)
    for one, other, times in pairs:
        for _ in range(times):
            p, q = np.outer(p, one).ravel(), np.outer(q, other).ravel()
            keys = np.round(np.stack((np.log(p + 1e-300), np.log(q + 1e-300))), 9)
            _, where = np.unique(keys, axis=1, return_inverse=True)
            where = where.ravel()
            p, q = np.bincount(where, weights=p), np.bincount(where, weights=q)

    def curve(epsilon):
        gamma = math.exp(epsilon)
        return max(math.fsum(np.maximum(p - gamma * q, 0.0)), math.fsum(np.maximum(q - gamma * p, 0.0)))

    return curve


@pytest.mark.slow
def test_finite_pairs_against_enumerated_products():
    rng, tally = np.random.default_rng(4), Tally(1e-6)
    while tally.checks < LEAST["finite_pairs"]:
        pairs = []
        for _ in range(int(rng.integers(1, 3))):
            size = int(rng.integers(2, 5))
            one, other = (rng.dirichlet(np.ones(size) * 10.0 ** rng.uniform(-0.3, 1.3)) for _ in range(2))
            if rng.random() < 0.25:
                one[rng.integers(size)] = 0.0
            one, other = (np.where(side < 1e-9, 0.0, side) for side in (one, other))
            pairs.append((one / one.sum(), other / other.sum(), int(rng.integers(1, 7))))
        loss = privacy.Composed(
            [privacy.Repeated(privacy.FinitePairLoss(tuple(one), tuple(other)), times) for one, other, times in pairs]
        )
        targets = [float(10.0 ** -rng.uniform(0.5, 4)), float(10.0 ** -rng.uniform(4, 7))]
        accountant = PLD() if rng.random() < 0.5 else None
        check_curve(tally, loss, product_curve(pairs), targets, pairs, accountant)
    assert tally.checks >= LEAST["finite_pairs"]


def best_of(masses, mean, eta, poisson):
    """The law of the largest of K outcomes, by the generating function of K: Pr[best <= j] = E[F(j)^K]."""
    below = np.concatenate(([0.0], np.minimum(np.cumsum(masses), 1.0)))
    if poisson:  # K = 0 shows nothing: an outcome of its own
        return np.concatenate(([math.exp(-mean)], np.diff(np.exp(mean * (below - 1.0)))))
    gamma = stopping_probability(mean, eta)
    if eta == 0.0:
        reached = np.log1p(-(1.0 - gamma) * below) / math.log(gamma)
    else:
        reached = np.expm1(-eta * np.log1p(-(1.0 - gamma) * below)) / math.expm1(-eta * math.log(gamma))
    return np.diff(reached)


@pytest.mark.slow
def test_selection_against_the_exact_law_of_the_best():
    rng, tally = np.random.default_rng(5), Tally(1e-7)
    orders = 1.0 + 10.0 ** np.linspace(-2.0, 2.5, 17)
    while tally.checks < LEAST["selected"]:
        size = int(rng.integers(2, 6))
        one, other = (rng.dirichlet(np.ones(size) * 10.0 ** rng.uniform(0.0, 2.0)) + 1e-6 for _ in range(2))
        one, other = one / one.sum(), other / other.sum()
        mean, eta = float(10.0 ** rng.uniform(0.05, 2.0)), float(rng.choice([-0.5, 0.0, 0.5, 1.0, 3.0]))
        poisson = bool(rng.random() < 0.3)
        base = privacy.FinitePairLoss(tuple(one), tuple(other))
        loss = privacy.Selected(base, mean=mean, eta=eta, poisson=poisson)
        sides = [best_of(side, mean, eta, poisson) for side in (one, other)]
        case = (one, other, mean, eta, poisson)
        values = loss.rdp(orders).values
        for p, q in (sides, sides[::-1]):
            seen = (p > 0.0) & (q > 0.0)
            logs = np.multiply.outer(orders, np.log(p[seen])) - np.multiply.outer(orders - 1.0, np.log(q[seen]))
            top = logs.max(axis=-1)
            exact = (top + np.log(np.exp(logs - top[:, None]).sum(axis=-1))) / (orders - 1.0)
            for order, value, true in zip(orders, values, exact, strict=True):
                tally.above(value + 1e-12, true, ("divergence", order, case))
        for epsilon in (0.1, 0.5, 1.0):
            gamma = math.exp(epsilon)
            true = max(math.fsum(np.maximum(p - gamma * q, 0.0)) for p, q in (sides, sides[::-1]))
            tally.above(accounting.delta(loss, epsilon=epsilon).upper + 1e-13, true, ("delta", epsilon, case))
    assert tally.checks >= LEAST["selected"]


# --- the fuzz can fail: quick, on every run ----------------------------------------------------------------------


class Low(accounting.Tightest):
    """A thousandth too small."""

    def epsilon(self, loss, delta):
        bound = super().epsilon(loss, delta)
        return Bound(0.0, bound.upper * 0.999, bound.method, bound.unit)


class High(accounting.Tightest):
    """A lower end a thousandth too large."""

    def delta(self, loss, epsilon):
        bound = super().delta(loss, epsilon)
        return Bound(bound.upper * 1.001, bound.upper * 1.002, bound.method, bound.unit)


@pytest.mark.parametrize("broken", [Low(), High()])
def test_the_fuzz_sees_a_wrong_end(broken):
    loss = privacy.Repeated(privacy.FinitePairLoss((0.3, 0.7), (0.35, 0.65)), 40)
    curve, tally = binomial_curve(0.3, 0.35, 40), Tally(1e-9)
    check_curve(tally, loss, curve, [1e-3], "healthy")
    assert tally.checks >= 5
    with pytest.raises(AssertionError, match="end"):
        check_curve(tally, loss, curve, [1e-3], "broken", broken)


def test_the_oracles_agree_with_each_other():
    exact = integrated([contour.sampled_gaussian(0.01, 1.0, name) for name in ("remove", "add")], 1000)
    assert exact(1.8282367) == pytest.approx(1e-5, rel=1e-5)  # a reference of the golden tests
    pair = (np.array([0.3, 0.7]), np.array([0.35, 0.65]), 12)
    both = binomial_curve(0.3, 0.35, 12), product_curve([pair])
    for epsilon in (0.0, 0.2, 0.5):
        assert both[0](epsilon) == pytest.approx(both[1](epsilon), rel=1e-9)
    law = best_of(np.array([0.2, 0.3, 0.5]), 4.0, 1.0, poisson=False)  # geometric with mean 4: sum of (3/4)^(k-1)/4 F^k
    by_hand = [sum(0.25 * 0.75 ** (k - 1) * x**k for k in range(1, 400)) for x in (0.2, 0.5, 1.0)]
    assert np.allclose(law, [by_hand[0], *(b - a for a, b in pairwise(by_hand))], rtol=1e-9)

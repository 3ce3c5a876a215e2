"""One culture of rounding: upper ends are never below the exact value, lower ends never above it.

Exact values are rational numbers, or come from 60-digit arithmetic; parameters are taken as the doubles they are.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf

from privet import _numerics, accounting, privacy
from privet.accounting import Advanced, Basic, Gdp, Optimal, Rdp, Tightest, Zcdp
from privet.accounting.filters import AdvancedFilter, AnyOf, BasicFilter, GdpFilter, RdpFilter, ZcdpFilter
from privet.accounting.filters.statements import MuFilter, RhoFilter
from privet.errors import InvalidParameter, NoGuarantee
from privet.privacy import laplace as laplace_module

AWKWARD = (1e-16, 1e-9, 0.1, 1.0 / 3.0, 0.7, 0.9, 1.1, math.pi, 3.0, 7.0, 49.0, 1e5 / 3.0)
ORDERS = (1.0 + 2.0**-20, 1.01, 1.5, 2.0, 3.7, 32.0, 1e4)
DELTAS = (0.3, 1e-3, 1e-6, 1e-12, 1e-60)


def exact(x):
    """A double, or a Fraction, in 60 digits."""
    fraction = Fraction(x)
    return mpf(fraction.numerator) / mpf(fraction.denominator)


def pure_cases():
    """Prices with their exact pure epsilon."""
    p = privacy
    for x in AWKWARD:
        yield p.LaplaceLoss(x), 1 / exact(x)
        yield p.PureLoss(x), exact(x)
        yield p.Repeated(p.PureLoss(x), 1000), 1000 * exact(x)
        yield p.Repeated(p.LaplaceLoss(x), 7), 7 / exact(x)
        yield (
            p.Composed([p.LaplaceLoss(x), p.PureLoss(0.1), p.LaplaceLoss(3.0)]),
            1 / exact(x) + exact(0.1) + mpf(1) / 3,
        )
        yield p.Grouped(p.LaplaceLoss(x), 3), 3 / exact(x)
        yield p.to_replace(p.LaplaceLoss(x)), 2 / exact(x)
        yield p.DiscreteLaplaceLoss(x, sensitivity=3), 3 / exact(x)
        yield p.Grouped(p.DiscreteLaplaceLoss(x, sensitivity=3), 7), 21 / exact(x)
        yield p.ExponentialLoss(x), exact(x)
        yield p.ExponentialLoss(x, monotonic=True), exact(x) / 2
        yield p.Selected(p.PureLoss(x), mean=3.0, eta=0.1), (2 + exact(0.1)) * exact(x)
        yield p.Parallel((p.LaplaceLoss(x), p.LaplaceLoss(3.0))), max(1 / exact(x), mpf(1) / 3)
        for q in (1e-20, 0.1, 0.7):
            yield p.PoissonSampled(p.PureLoss(x), q=q), mp.log1p(exact(q) * mp.expm1(exact(x)))
        replace = p.PureLoss(x, unit=p.Unit("replace"))
        yield p.FixedSampled(replace, m=1, n=3), mp.log1p(mp.expm1(exact(x)) / 3)
    for ratio in (1e-9, 0.1, 0.5, 2.0 / 3.0, 0.999999):
        yield p.GeometricLoss(ratio, sensitivity=5), -5 * mp.log(exact(ratio))
    for lie in (1e-12, 0.1, 0.25, 1.0 / 3.0, 0.4999999):
        value = mp.log((1 - exact(lie)) / exact(lie))
        yield p.RandomizedResponseLoss.from_lie_probability(lie), value
    for pair in (((0.1, 0.9), (0.3, 0.7)), (("1/3", "2/3"), ("1/7", "6/7")), ((0.5, 0.5), (0.5 - 1e-12, 0.5 + 1e-12))):
        p_side, q_side = ([Fraction(x) for x in side] for side in pair)
        ratios = [a * sum(q_side) / (b * sum(p_side)) for a, b in zip(p_side, q_side, strict=True)]
        yield p.FinitePairLoss(*pair), max(abs(mp.log(exact(ratio))) for ratio in ratios)


def test_pure_prices_are_rounded_up():
    with mp.workdps(60):
        cases = list(pure_cases())
        for loss, value in cases:
            assert value <= exact(loss.pure()) <= value * (1 + mpf("1e-14")), loss
            for accountant in (Basic(), Tightest()):
                bound = accountant.epsilon(loss, 0.0)
                assert exact(bound.lower) <= value <= exact(bound.upper), (loss, accountant)
            if loss.kind not in ("exponential", "composed", "repeated"):
                assert value**2 / 2 <= exact(loss.zcdp().rho) <= value**2 / 2 * (1 + mpf("1e-12")), loss
    assert len(cases) > 200


def test_the_law_of_rounding_sees_a_plain_division(monkeypatch):
    monkeypatch.setattr(laplace_module, "ratio_up", lambda a, b: a / b)
    with pytest.raises(AssertionError, match="LaplaceLoss"):
        test_pure_prices_are_rounded_up()


@pytest.mark.parametrize("z", AWKWARD)
def test_normal_prices_are_rounded_up(z):
    loss, many = privacy.GaussianLoss(z), privacy.Repeated(privacy.GaussianLoss(z), 10)
    with mp.workdps(60):
        mu = 1 / exact(z)
        cases = (
            (loss, mu),
            (many, mp.sqrt(10) * mu),
            (privacy.Grouped(loss, 7), 7 * mu),
            (privacy.GdpLoss(z), exact(z)),
        )
        for price, value in cases:
            assert value <= exact(price.gdp()) <= value * (1 + mpf("1e-14")), price
            assert value**2 / 2 <= exact(price.zcdp().rho) <= value**2 / 2 * (1 + mpf("1e-14")), price
            for order, found in zip(ORDERS, price.rdp(np.array(ORDERS)).values, strict=True):
                assert exact(order) * value**2 / 2 <= exact(found) <= exact(order) * value**2 / 2 * (1 + mpf("1e-14"))
        discrete = privacy.DiscreteGaussianLoss(z, sensitivity=3).zcdp().rho
        assert 9 * mu**2 / 2 <= exact(discrete) <= 9 * mu**2 / 2 * (1 + mpf("1e-14"))


def normal_delta(mu, epsilon):
    """Phi(mu/2 - e/mu) - e^e Phi(-mu/2 - e/mu) of mpmath numbers."""
    half = [mp.erfc((epsilon / mu + side * mu / 2) / mp.sqrt(2)) / 2 for side in (-1, 1)]
    return half[0] - mp.exp(epsilon) * half[1]


@pytest.mark.parametrize("mu", [1e-55, 1e-40, 1e-16, 3e-9, 1e-5, 9.9e-4, 1.01e-3, 0.01, 0.5, 3.0, 50.0, 1e4, 1e7])
def test_tiny_and_large_mu_are_not_free(mu):
    loss = privacy.GdpLoss(mu)
    found = 0
    with mp.workdps(80):
        m = exact(mu)
        top = normal_delta(m, mpf(0))
        for share in (0.5, 0.1, 1e-3, 1e-9, 1e-30):
            delta = float(top * mpf(share))
            if delta < 1e-250:
                continue
            found += 1
            bound = accounting.epsilon(loss, delta=delta)
            assert normal_delta(m, exact(bound.upper)) <= exact(delta) <= normal_delta(m, exact(bound.lower)), share
            assert bound.slack <= 1e-4 * bound.upper
            for epsilon in (0.0, bound.upper, 0.3 * bound.upper, 1.5 * bound.upper):
                ends = accounting.delta(loss, epsilon=epsilon)
                assert exact(ends.lower) <= normal_delta(m, exact(epsilon)) <= exact(ends.upper), (share, epsilon)
            assert accounting.delta(loss, epsilon=bound.upper).upper <= delta
    assert found >= 3


@pytest.mark.parametrize(
    ("loss", "delta"),
    [(privacy.GaussianLoss(1e16), 1e-17), (privacy.ExponentialLoss(1e-16), 1e-18), (privacy.GaussianLoss(1e40), 1e-60)],
)
def test_what_was_called_free_is_not(loss, delta):
    bound = accounting.epsilon(loss, delta=delta)
    assert bound.upper > 0.0
    assert accounting.delta(loss, epsilon=bound.upper).upper <= delta
    assert accounting.delta(loss, epsilon=0.0).upper > delta


def test_laplace_at_one_third():
    bound = accounting.epsilon(privacy.LaplaceLoss(3.0), delta=0.0)
    assert Fraction(bound.upper) >= Fraction(1, 3)
    assert accounting.delta(privacy.LaplaceLoss(3.0), epsilon=1.0 / 3.0).upper >= 9e-18


def renyi_epsilon(order, value, delta):
    a = order if isinstance(order, mpf) else exact(order)
    return value + mp.log1p(-1 / a) - mp.log(a * exact(delta)) / (a - 1)


def test_conversions_are_rounded_up():
    with mp.workdps(30):
        for order, value, delta in itertools.product(ORDERS, (1e-9, 0.1, 1.0 / 3.0, 70.0), DELTAS):
            found = accounting.rdp.epsilon_of_renyi(order, value, delta)
            true = renyi_epsilon(order, exact(value), delta)
            size = exact(value) + 2 + (abs(mp.log(exact(delta))) + mp.log(exact(order))) / (exact(order) - 1)
            assert true <= exact(found) <= true + mpf("1e-13") * size
        for rho, delta in itertools.product(AWKWARD[1:], DELTAS):
            claimed = exact(accounting.zcdp_epsilon(rho, delta))
            orders = [1 + mp.sqrt(-mp.log(exact(delta)) / exact(rho)) * mpf(2) ** (mpf(k) / 4) for k in range(-40, 20)]
            # every order proves a bound; the claim is one of them, and not above the best of these
            best = min(renyi_epsilon(a, exact(rho) * a, delta) for a in orders)
            assert max(mpf(0), best) * mpf("0.98") - mpf("0.01") <= claimed <= max(mpf(0), best) * (1 + mpf("1e-12"))


ROUND_TRIPS = (
    (Basic(), privacy.Repeated(privacy.ApproxLoss(0.1, 1e-9), 10)),
    (Advanced(), privacy.Repeated(privacy.PureLoss(0.1), 100)),
    (Advanced(), privacy.Repeated(privacy.ApproxLoss(0.01, 1e-9), 1000)),
    (Optimal(), privacy.Repeated(privacy.PureLoss(0.1), 100)),
    (Optimal(), privacy.Repeated(privacy.ApproxLoss(1.0 / 3.0, 1e-9), 30)),
    (Zcdp(), privacy.ZcdpLoss(0.1)),
    (Zcdp(), privacy.Repeated(privacy.LaplaceLoss(3.0), 10)),
    (Rdp(), privacy.Repeated(privacy.LaplaceLoss(3.0), 10)),
    (Rdp(), privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(1.0), q=0.01), 100)),
    (Gdp(), privacy.GaussianLoss(0.7)),
    (Gdp(), privacy.Repeated(privacy.GaussianLoss(1e9), 3)),
    (Tightest(), privacy.LaplaceLoss(3.0)),
    (Tightest(), privacy.ExponentialLoss(0.3)),
    (Tightest(), privacy.PoissonSampled(privacy.GaussianLoss(0.8), q=0.1)),
    (Tightest(), privacy.Repeated(privacy.KRRLoss(3, 0.7), 3)),
)


@pytest.mark.parametrize(("accountant", "loss"), ROUND_TRIPS, ids=lambda x: getattr(x, "kind", type(x).__name__))
@pytest.mark.parametrize("delta", [0.01, 1e-4, 1e-7, 1e-40])
def test_delta_at_the_upper_epsilon_is_at_most_delta(accountant, loss, delta):
    try:
        bound = accountant.epsilon(loss, delta)
    except NoGuarantee:
        assert loss.approximate().delta > 0.0
        return
    assert accountant.delta(loss, bound.upper).upper <= delta


# --- filters -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(1.0, 1e-6), (1e-6, 1e-6), (1e-6, 1e-9), (1e-15, 1e-14), (1e-9, 1e-18), (8.0, 1e-12), (30.0, 0.3), (1e-3, 0.9)],
)
def test_the_gdp_filter_grants_no_more_than_its_delta(epsilon, delta):
    (limit,) = GdpFilter(epsilon, delta=delta).limits
    with mp.workdps(60):
        mu = mp.sqrt(exact(limit))
        assert normal_delta(mu, exact(epsilon)) <= exact(delta)
        assert normal_delta(mu * mpf("1.00001"), exact(epsilon)) > exact(delta) * mpf("0.999")


RULES = (
    BasicFilter(1.0),
    BasicFilter(0.7, delta=1e-6),
    AdvancedFilter(1.0, delta=1e-6),
    ZcdpFilter(1.0, delta=1e-6),
    ZcdpFilter(1e-4, delta=1e-6),
    RdpFilter(1.0, delta=1e-6, alpha=20.0),
    RdpFilter(5.0, delta=1e-6, alpha=4.0),
    GdpFilter(1.0, delta=1e-6),
    GdpFilter(1e-15, delta=1e-14),
    GdpFilter(20.0, delta=1e-6),
    MuFilter(mu=0.3),
    RhoFilter(rho=0.02),
    AnyOf((ZcdpFilter(1.0, delta=5e-7), GdpFilter(1.0, delta=5e-7))),
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.name}-{rule.epsilon:g}")
@pytest.mark.parametrize("spent", [0, 3])
def test_largest_pure_is_what_fits(rule, spent):
    state = rule.start()
    first = state.largest_pure
    assert first > 0.0
    if spent:
        state = state.charge(privacy.PureLoss(first / 4.0), spent)
    largest = state.largest_pure
    assert 0.0 < largest <= first * (1.0 + 1e-8)
    assert state.accepts(privacy.PureLoss(largest))
    assert not state.accepts(privacy.PureLoss(largest * 1.0001))


def test_a_full_filter_has_no_room():
    state = BasicFilter(1.0).start().charge(privacy.PureLoss(1.0))
    assert state.largest_pure == 0.0


@pytest.mark.parametrize("cents", range(1, 100, 7))
def test_a_release_calibrated_to_a_budget_fits_into_it(cents):
    from privet.mechanisms import Laplace

    for sensitivity in (1, 3, 7, Fraction(1, 3), 0.3):
        loss = Laplace.for_budget(epsilon=cents / 100, sensitivity=sensitivity).loss
        assert BasicFilter(cents / 100).start().accepts(loss)


# --- rates and helpers -------------------------------------------------------------------------------------------


def test_nested_rates_do_not_underflow():
    loss = privacy.PoissonSampled(privacy.GaussianLoss(1.0), q=1e-20)
    assert privacy.PoissonSampled(loss, q=1e-10).q >= Fraction(1e-20) * Fraction(1e-10)
    with pytest.raises(InvalidParameter, match="nested rates"):
        privacy.PoissonSampled(loss, q=1e-20)
    assert privacy.PoissonSampled(loss, q=0.0).parts() == ()


def test_directed_helpers_against_rationals():
    rng = np.random.default_rng(5)
    for _ in range(300):
        a, b = (float(x) for x in 10.0 ** rng.uniform(-60, 60, 2))
        n = int(rng.integers(1, 10**9))
        for found, true in (
            (_numerics.ratio_up(a, b), Fraction(a) / Fraction(b)),
            (_numerics.product_up(a, b, n), Fraction(a) * Fraction(b) * n),
            (_numerics.sum_up([(a, n), (b, 1)]), Fraction(a) * n + Fraction(b)),
            (_numerics.square_up(a), Fraction(a) ** 2),
        ):
            assert Fraction(math.nextafter(found, 0.0)) < true <= Fraction(found)
        down = _numerics.ratio_down(a, b)
        assert Fraction(down) <= Fraction(a) / Fraction(b) < Fraction(math.nextafter(down, math.inf))
        assert Fraction(_numerics.round_down(a, 3.0)) <= Fraction(a) * (1 - Fraction(3, 2**52))
        assert Fraction(_numerics.round_up(a, 3.0)) >= Fraction(a) * (1 + Fraction(3, 2**52))

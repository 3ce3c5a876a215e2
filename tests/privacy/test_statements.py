"""Statements of prices (pure, approximate, GDP, zCDP) are rounded up: none lies below its formula in sixty digits."""

import random
from collections.abc import Callable
from typing import Any

import mpmath
import pytest
from mpmath import mpf

from privet import privacy
from privet.privacy import ApproxLoss, GaussianLoss, PureLoss, Unit

REPLACE = Unit("replace")
DIGITS = 60
DRAWS = 60


class Numbers:
    """Parameters at random, as doubles and as the same numbers in many digits."""

    def __init__(self, coins: random.Random) -> None:
        self.e, self.q, self.d = coins.uniform(1e-3, 4.0), coins.uniform(1e-4, 0.999), 10.0 ** -coins.uniform(3.0, 12.0)
        self.n, self.k = coins.randint(2, 500), coins.randint(2, 9)
        self.m = coins.randint(1, self.n - 1) if coins.random() < 0.5 else 1
        self.E, self.Q, self.D = mpf(self.e), mpf(self.q), mpf(self.d)

    @property
    def drawn(self) -> mpf:
        """The chance that one of n records is among k draws."""
        return 1 - (1 - mpf(1) / self.n) ** self.k


def after(rate: mpf, epsilon: mpf) -> mpf:
    return mpmath.log1p(rate * mpmath.expm1(epsilon))


def group_delta(x: Numbers) -> mpf:
    return min(mpf(1), x.D * mpmath.expm1(x.k * x.E) / mpmath.expm1(x.E))


def drawn(x: Numbers, loss: privacy.PrivacyLoss) -> privacy.PrivacyLoss:
    return privacy.WithReplacementSampled(loss, x.k, x.n)


def truncated(x: Numbers, loss: privacy.PrivacyLoss) -> privacy.PrivacyLoss:
    return privacy.TruncatedPoissonSampled(loss, x.q, 1, x.n)


CASES: dict[str, tuple[Callable[[Numbers], float], Callable[[Numbers], Any]]] = {
    "poisson": (lambda x: privacy.PoissonSampled(PureLoss(x.e), x.q).pure(), lambda x: after(x.Q, x.E)),
    "poisson delta": (
        lambda x: privacy.PoissonSampled(ApproxLoss(x.e, x.d), x.q).approximate().delta,
        lambda x: x.Q * x.D,
    ),
    "fixed": (
        lambda x: privacy.FixedSampled(PureLoss(x.e, unit=REPLACE), x.m, x.n).pure(),
        lambda x: after(mpf(x.m) / x.n, x.E),
    ),
    "drawn": (lambda x: drawn(x, PureLoss(x.e, unit=REPLACE)).pure(), lambda x: after(x.drawn, x.k * x.E)),
    "drawn epsilon": (
        lambda x: drawn(x, ApproxLoss(x.e, x.d, unit=REPLACE)).approximate().epsilon,
        lambda x: after(x.drawn, x.k * x.E),
    ),
    "drawn delta": (
        lambda x: drawn(x, ApproxLoss(x.e, x.d, unit=REPLACE)).approximate().delta,
        lambda x: x.drawn * group_delta(x),
    ),
    "truncated": (lambda x: truncated(x, PureLoss(x.e)).pure(), lambda x: after(x.Q, 2 * x.E)),
    "truncated epsilon": (
        lambda x: truncated(x, ApproxLoss(x.e, x.d)).approximate().epsilon,
        lambda x: after(x.Q, 2 * x.E),
    ),
    "truncated delta": (
        lambda x: truncated(x, ApproxLoss(x.e, x.d)).approximate().delta,
        lambda x: x.Q * min(mpf(1), x.D * (1 + mpmath.exp(x.E))),
    ),
    "group": (lambda x: privacy.Grouped(PureLoss(x.e), x.k).pure(), lambda x: x.k * x.E),
    "group delta": (lambda x: privacy.Grouped(ApproxLoss(x.e, x.d), x.k).approximate().delta, group_delta),
    "group mu": (lambda x: privacy.Grouped(GaussianLoss(x.e), x.k).gdp(), lambda x: x.k / x.E),
    "sum": (lambda x: privacy.Composed([PureLoss(x.e), PureLoss(x.q)]).pure(), lambda x: x.E + x.Q),
    "sum of deltas": (
        lambda x: privacy.Composed([ApproxLoss(x.e, x.d), ApproxLoss(x.q, x.d / 3.0)]).approximate().delta,
        lambda x: x.D + mpf(x.d / 3.0),
    ),
    "mu of steps": (lambda x: privacy.Repeated(GaussianLoss(x.e), x.k).gdp(), lambda x: mpmath.sqrt(x.k) / x.E),
    "tree": (
        lambda x: privacy.TreeAggregationLoss(x.e, x.n).gdp(),
        lambda x: mpmath.sqrt(x.n.bit_length()) / x.E,
    ),
    "tree of a group": (
        lambda x: privacy.Grouped(privacy.TreeAggregationLoss(x.e, x.n), x.k).gdp(),
        lambda x: x.k * mpmath.sqrt(x.n.bit_length()) / x.E,
    ),
    "rho": (lambda x: GaussianLoss(x.e).zcdp().rho, lambda x: 1 / (2 * x.E**2)),
    "geometric": (lambda x: privacy.GeometricLoss(x.q, x.k).pure(), lambda x: -x.k * mpmath.log(x.Q)),
    "selected": (lambda x: privacy.Selected(PureLoss(x.e), mean=5.0, eta=x.q).pure(), lambda x: (2 + x.Q) * x.E),
}


def shortfalls(said: Callable[[Numbers], float], true: Callable[[Numbers], Any]) -> int:
    """How often a statement lies below its formula, or far above it."""
    coins = random.Random(7)
    with mpmath.workdps(DIGITS):
        pairs = [(mpf(said(x)), true(x)) for x in (Numbers(coins) for _ in range(DRAWS))]
        return sum(not 1 <= one / other <= 1 + mpf(10) ** -13 for one, other in pairs)


@pytest.mark.parametrize("name", CASES)
def test_statements_are_rounded_up(name):
    assert shortfalls(*CASES[name]) == 0


def test_a_statement_in_plain_doubles_is_seen():
    assert shortfalls(lambda x: x.q * x.d, lambda x: x.Q * x.D) > DRAWS // 10

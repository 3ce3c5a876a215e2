"""Amplification by drawing records with replacement."""

import math
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from privet._cache import kept_property
from privet._numerics import LARGEST_EXPONENT, ROOMY_EXPONENT, TINY, Array, ndtr, round_up
from privet._validate import count, set_frozen
from privet.privacy.binary import binary_variable
from privet.privacy.curve import variable_of_envelope, variable_of_symmetric_curve
from privet.privacy.families.flagged import FlaggedVariable
from privet.privacy.families.mixture import binomial_mixture
from privet.privacy.families.sampling import OF_COIN, Coin, epsilon_after_sampling, of_one_record
from privet.privacy.fixed_sampled import SplicedVariable
from privet.privacy.grouped import Grouped
from privet.privacy.loss import Approximate, PrivacyLoss, ZcdpBound
from privet.privacy.serial import register
from privet.privacy.unit import Unit
from privet.privacy.variable import Direction, LossVariable

# How often a record is drawn has a long tail. Its end is not computed, but counted as giving everything away: so much of
# the probability at most. A larger number is quicker and gives a (hardly) larger price; any of them is safe.
_LEFT_OUT = 1e-280
_LEFT_OUT_OF_A_CHAIN = 1e-40  # where the base has no closed price of groups: each number of draws is a chain to compute
_LEFT_OUT_OF_A_CURVE = 1e-120  # over a Gaussian base: each number of draws is a column of the curve
_NODES = 2000  # of the curve over a Gaussian base: fewer are quicker, and a chord lies further above the curve
_OUTERMOST = 24.0  # standard deviations: outputs beyond are counted as giving everything away
_FARTHEST = 38.0  # standard deviations: a normal tail beyond is 0 in doubles
_HALVINGS = 64  # of an interval of about twice that: to the last digits of a float
_TAIL_ERROR = 4e-13  # relative, of a normal tail and of a sum of them: added, so that rounding is on the safe side


@register
@dataclass(frozen=True, eq=False)
class WithReplacementSampled(PrivacyLoss):
    """A release on m records drawn one by one, uniformly and with replacement, from n; relation replace.

    A record may be drawn several times, and then counts as often: the base is asked about groups of every size.

    **Guarantee:** sum over j >= 1 of Pr[Binomial(m, 1/n) = j] delta_j(ln(1 + (e^e - 1)/p)) for e >= 0, where
    p = 1 - (1 - 1/n)^m and delta_j is the base's curve for j replaced records; the mirror image below 0: one legal curve.
    Over a Gaussian base a smaller curve holds (proof note): how often an attacker's test is wrong on samples without the
    record is one number, and not another one for each j.
    **Sensitivity:** under replace; n is public there. With `coin="person"` (a price about persons) m and n count persons.
    **Reference:** Balle, Barthe & Gaboardi 2018, theorem 10.
    **Proof:** docs/proofs/privacy/drawn_sampled.md.

    >>> from privet import privacy
    >>> base = privacy.GaussianLoss(noise_multiplier=4.0, unit=privacy.Unit("replace"))
    >>> drawn, kept = WithReplacementSampled(base, m=10, n=1000), privacy.FixedSampled(base, m=10, n=1000)
    >>> bool(0.99 < drawn.profile(0.0) / kept.profile(0.0) < 1.01)
    True
    """

    kind = "with_replacement_sampled"

    of: PrivacyLoss
    m: int
    n: int
    coin: Coin = field(default="record", kw_only=True, metadata=OF_COIN)
    unit: Unit = field(default=None, kw_only=True)  # type: ignore[assignment]  # that of the parts

    def _words(self) -> str:
        return f"{self.of._as_a_whole()} on {self.m:,} draws with replacement from {self.n:,} records"

    def __post_init__(self) -> None:
        inner = of_one_record(self.of, relation="replace", name="drawing with replacement", coin=self.coin)
        set_frozen(self, of=inner, m=count("m", self.m), n=count("n", self.n, 1), unit=self._about(inner.unit))

    @property
    def p(self) -> float:
        """Probability that a given record is drawn at all."""
        return -math.expm1(self.m * math.log1p(-1.0 / self.n)) if self.n > 1 else float(self.m > 0)

    def parts(self) -> tuple[tuple[PrivacyLoss, int], ...]:
        return () if self.m == 0 or not self.of.parts() else ((self, 1),)

    @kept_property
    def _most(self) -> PrivacyLoss:
        """The worst sample: every one of its m draws is the changed record."""
        return Grouped(self.of, max(self.m, 1))

    def pure(self) -> float:
        return epsilon_after_sampling(self._most.pure(), self.p) if self.m else 0.0

    def approximate(self) -> Approximate:
        epsilon, delta = self._most.approximate()
        if self.m == 0:
            return Approximate(0.0, 0.0)
        return Approximate(epsilon_after_sampling(epsilon, self.p), min(delta, round_up(self.p * delta, 8.0)))

    def zcdp(self) -> ZcdpBound:
        return self._most.zcdp() if self.m else ZcdpBound(0.0, 0.0)

    def gdp(self) -> float:
        return self._most.gdp() if self.m else 0.0

    def gaussian(self) -> float | None:
        return None if self.parts() else 0.0

    def variable(self, direction: Direction) -> LossVariable:
        if self.m == 0:
            return binary_variable(0.0)
        mu = self.of.gaussian()
        return self._spliced if mu is None else _over_gaussian(mu, self.m, self.n)

    @kept_property
    def _spliced(self) -> LossVariable:
        """The pair of an observer who is told how often the record was drawn, given that it was, spliced at rate p."""
        times, weights = binomial_mixture(self.m, 1.0 / self.n, 1.0)
        drawn = [(round(j), w / self.p) for j, w in zip(times, weights, strict=True) if j > 0.0]
        limit = _LEFT_OUT_OF_A_CHAIN if self.of.grouped(2) is None else _LEFT_OUT
        lost = 0.0
        while drawn and drawn[-1][0] > 1 and lost + drawn[-1][1] <= limit:
            lost += drawn.pop()[1]
        cases = tuple((weight, _both_ways(Grouped(self.of, j))) for j, weight in reversed(drawn))
        return SplicedVariable(FlaggedVariable(cases, lost), self.p)


def _both_ways(loss: PrivacyLoss) -> LossVariable:
    """A pair that dominates the loss in both directions."""
    forward = loss.variable("remove")
    return forward if forward.symmetric else variable_of_envelope([forward, loss.variable("add")])


@lru_cache(maxsize=32)
def _over_gaussian(mu: float, m: int, n: int) -> LossVariable:
    """The curve through points of `drawn_gaussian_delta`: it is convex, so the chords between them lie above it.

    The points are at the privacy losses of outputs that lie evenly, those of drawing the record against never drawing it.
    """
    if mu == 0.0:
        return binary_variable(0.0)
    times, weights = (np.array(side) for side in binomial_mixture(m, 1.0 / n, 1.0))
    beyond = np.cumsum(weights[::-1])[::-1]
    kept = (beyond > _LEFT_OUT_OF_A_CURVE) | (times <= 1.0)  # no draw and one draw in any case
    lost = float(weights[~kept].sum()) * (1.0 + 1e-9)  # more than the rounding of the sum
    times, weights = times[kept], weights[kept]
    likeliest = mu * float(times[np.argmax(weights)])
    x = np.linspace(-1.0, _OUTERMOST + likeliest, _NODES)  # outputs; those below 0 have negative losses
    exponents = mu * times * x[:, None] - 0.5 * (mu * times) ** 2 + np.log(weights)
    top = exponents.max(axis=1)
    losses = top + np.log(np.exp(exponents - top[:, None]).sum(axis=1))  # of the mixture against no draw at all
    nodes = np.unique(np.concatenate(([0.0], losses[(losses > 0.0) & (losses < LARGEST_EXPONENT)])))
    pieces = np.array_split(nodes, 8)  # a matrix at a time, to save memory
    deltas = np.concatenate([drawn_gaussian_delta(each, mu, times, weights) for each in pieces])
    return variable_of_symmetric_curve(nodes, np.minimum(deltas + lost, 1.0))


def drawn_gaussian_delta(epsilons: Array, mu: float, times: Array, weights: Array) -> Array:
    """delta at each epsilon >= 0 when j draws of the record happen with `weights`, over a mu-GDP base; from above.

    A test that is positive with probability Phi(u) without the record is so with at most Phi(y) and at least
    Phi(y - j mu) with j draws of either version, u <= y <= u + j mu. The best y for each j is known, and the best u is
    where a decreasing function changes its sign.

    >>> from privet import privacy
    >>> once = privacy.FixedSampled(privacy.GaussianLoss(1.0, unit=privacy.Unit("replace")), m=1, n=10)
    >>> drawn = drawn_gaussian_delta(np.array([0.5]), 1.0, np.array([0.0, 1.0]), np.array([0.9, 0.1]))
    >>> abs(float(drawn[0] / once.profile(0.5)) - 1.0) < 1e-9
    True
    """
    never = float(weights[times == 0.0].sum())
    far, share = mu * times[times > 0.0], weights[times > 0.0]  # j mu, and Pr[j draws]
    growth = np.expm1(epsilons)  # gamma - 1
    gamma = 1.0 + growth
    low, high = np.full(len(epsilons), -_FARTHEST - float(far[-1])), np.full(len(epsilons), _FARTHEST)
    for _ in range(_HALVINGS):
        u = 0.5 * (low + high)
        # the derivative in u, over the normal density at u (proof note): it falls, and the best u is where it is 0
        along, square = u[:, None] * far, 0.5 * far * far
        gain = np.exp(np.minimum(-along - square, ROOMY_EXPONENT)) - gamma[:, None]
        cost = np.exp(np.minimum(along - square, ROOMY_EXPONENT)) * gamma[:, None] - 1.0
        rising = (share * (np.maximum(gain, 0.0) - np.maximum(cost, 0.0))).sum(axis=1) > never * growth
        low, high = np.where(rising, u, low), np.where(rising, high, u)
    best = far / 2.0 - epsilons[:, None] / far  # the best y of each j, if it were free
    y = np.clip(best, low[:, None], low[:, None] + far)
    positive = (share * ndtr(y)).sum(axis=1)
    negative = gamma * (share * ndtr(y - far)).sum(axis=1) + never * growth * ndtr(low)
    return np.maximum(positive - negative, 0.0) + _TAIL_ERROR * (positive + negative) + TINY

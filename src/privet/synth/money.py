"""Shares of a promise and what they buy: shares of epsilon, of rho or of the square of mu, noise and choices
for them."""

import math
from fractions import Fraction
from typing import Any, final

from privet._numerics import bisect
from privet.errors import InvalidParameter
from privet.mechanisms import DiscreteLaplace, Exponential, Gaussian, Sensitivity
from privet.privacy import GdpLoss, Guarantee, PrivacyLoss, PureLoss, Unit, ZcdpLoss
from privet.synth.graph import Clique, Measurement
from privet.synth.task import Task

UNITS = 2**16  # steps of a score for one row: distances are whole numbers of them, so that nothing is lost to rounding
_LEAST = 2.0**-64  # the deviation of noise that is 0 but for a chance that no float tells

Noise = DiscreteLaplace | Gaussian


def money_of(promise: Guarantee, *, normal: bool = False) -> Guarantee:
    """The promise as one number that parts add up in, whatever the earlier parts have shown: epsilon where there is no
    delta, rho or mu where they are given. With a delta it is rho, and mu for plans of `normal` noise alone.

    **Reference:** Canonne, Kamath & Steinke 2020, proposition 12; Dong, Roth & Su 2022.

    >>> round(money_of(Guarantee(1.0, 1e-9)).rho, 5), money_of(Guarantee(0.5)).epsilon
    (0.01497, 0.5)
    """
    if promise.delta == 0.0:
        return promise
    if normal:
        return promise.as_mu()
    assert promise.epsilon is not None
    log = math.log(1.0 / promise.delta)
    classic = (math.sqrt(log + promise.epsilon) - math.sqrt(log)) ** 2 * (1.0 - 2.0**-30)
    return Guarantee(rho=bisect(lambda rho: promise.covers(ZcdpLoss(rho)), 2.0 * classic, classic))


def price_of(money: Guarantee, unit: Unit) -> PrivacyLoss:
    """The price of spending all of it, in parts that may be chosen with the earlier ones in sight.

    **Guarantee:** parts whose size is chosen from what was seen add up in epsilon (Rogers, Roth, Ullman & Vadhan 2016), in
    rho (Feldman & Zrnic 2021) and in the square of mu (Smith & Thakurta 2022), as long as the sum cannot pass the whole.

    >>> price_of(Guarantee(rho=0.5), Unit()).zcdp().rho
    0.5
    """
    if money.rho is not None:
        return ZcdpLoss(money.rho, unit=unit)
    if money.mu is not None:
        return GdpLoss(money.mu, unit=unit)
    assert money.epsilon is not None
    return PureLoss(money.epsilon, unit=unit)


@final
class Purse:
    """Shares of a budget as they are spent: nothing is bought that the rest does not cover.

    >>> purse = Purse(Guarantee(rho=1.0))
    >>> round(purse.buy(0.25).rho, 6), purse.left
    (0.25, 0.75)
    """

    def __init__(self, money: Guarantee) -> None:
        self._money, self._spent = money, list[float]()

    @property
    def left(self) -> float:
        """The share that is left."""
        return 1.0 - math.fsum(self._spent)

    def buy(self, share: float) -> Guarantee:
        """The price of a part that has this share of the whole."""
        if math.fsum([*self._spent, share]) > 1.0 + 2.0**-40:  # a share is worth 2^-36 less than it says
            raise InvalidParameter("the budget does not cover another part")
        self._spent.append(share)
        return self._money.share(share)


def growth(money: Guarantee) -> float:
    """The factor by which half the noise raises the price of a part."""
    return 2.0 if money.epsilon is not None else 4.0


def table_noise(share: Guarantee, task: Task) -> Noise:
    """Noise for one table of counts: whole numbers by Laplace's law where the share is pure, else normal."""
    if share.epsilon is not None:
        return DiscreteLaplace.for_budget(sensitivity=task.l1, **share.keywords())
    return Gaussian.for_budget(sensitivity=task.l2, **share.keywords())


def choice_by_distance(share: Guarantee, task: Task, largest: Fraction = Fraction(1)) -> Exponential:
    """The choice among cliques by scores in `UNITS`, each a weight of at most `largest` times an l1 distance."""
    reach = task.l1.value * UNITS * largest
    return Exponential.for_budget(sensitivity=Sensitivity(reach, norm="score", unit=task.unit), **share.keywords())


def measured(clique: Clique, values: Any, noise: Noise) -> Measurement:
    """Noisy counts with the law of their noise.

    >>> measured((0,), [0.0, 0.0], Gaussian(scale=2.0, sensitivity=1)).sigma
    2.0
    """
    return Measurement(clique, values, deviation(noise), normal=isinstance(noise, Gaussian))


def deviation(noise: Noise) -> float:
    """The standard deviation of the noise on one count.

    >>> round(deviation(DiscreteLaplace(scale=1.0, sensitivity=1)), 4)
    1.357
    """
    if isinstance(noise, Gaussian):
        return float(noise.scale)
    q = math.exp(-1.0 / noise.scale)
    return max(_LEAST, math.sqrt(2.0 * q) / -math.expm1(-1.0 / noise.scale))


def mean_size(noise: Noise) -> float:
    """The expected absolute noise on one count.

    >>> round(mean_size(Gaussian(scale=1.0, sensitivity=1)), 4)
    0.7979
    """
    if isinstance(noise, Gaussian):
        return noise.scale * math.sqrt(2.0 / math.pi)
    return 2.0 * math.exp(-1.0 / noise.scale) / -math.expm1(-2.0 / noise.scale)  # 1/sinh(1/scale), which would overflow

"""Private selection: run a mechanism a random number of times and keep the best output."""

import math
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from privet._cache import kept_property
from privet._numerics import TINY, Array, bisect, minimise, plain, product_up, square_up, sum_up
from privet._validate import above, finite, flag, instance, set_frozen
from privet.errors import InvalidParameter, NoGuarantee
from privet.privacy.binary import binary_rdp
from privet.privacy.families.sampling import MARGIN
from privet.privacy.loss import PrivacyLoss, RdpCurve, ZcdpBound, orders_of
from privet.privacy.renyi import delta_of_rdp, variable_of_rdp
from privet.privacy.serial import register
from privet.privacy.unit import Unit
from privet.privacy.variable import Direction, LossVariable

_ROUNDING = 1e-13  # absolute error of a profile
_ORDERS = 1.0 + np.geomspace(1e-4, 1e5, 91)  # ten a decade: more are slower and tighter


@register
@dataclass(frozen=True, eq=False)
class Selected(PrivacyLoss):
    """The best of K runs, K random with expectation `mean`: truncated negative binomial(eta) or Poisson.

    eta = 0 is the logarithmic law, eta = 1 the geometric one. K must be drawn at random and stay hidden: a fixed K costs
    K-fold. The score by which runs are compared must be part of the base's private output.

    **Guarantee:** R(a) + (1+eta)(1 - 1/b) R(b) + (1+eta) ln(1/gamma)/b + ln E[K]/(a - 1) for every b; pure
    (2 + eta) epsilon; Poisson: R(a) + mean * d + ln(mean)/(a - 1) where the base is (ln(1 + 1/(a-1)), d)-DP; the
    value of a larger order serves below it.
    **Reference:** Papernot & Steinke 2022, theorems 2, 6 and corollary 3; Liu & Talwar 2019.
    **Proof:** docs/proofs/privacy/selected.md.

    >>> from privet import privacy
    >>> Selected(privacy.PureLoss(0.5), mean=10).pure()
    1.5
    """

    kind = "selected"

    @property
    def silent_fields(self) -> tuple[str, ...]:  # type: ignore[override]
        """The mean may not show where the pure statement decides; eta belongs to the other law of K."""
        return (("mean",) if math.isfinite(self.pure()) else ()) + (("eta",) if self.poisson else ())

    of: PrivacyLoss
    mean: float
    eta: float = 1.0
    poisson: bool = False
    unit: Unit = field(default=None, kw_only=True)  # type: ignore[assignment]  # that of the parts

    def _words(self) -> str:
        return f"the best of about {plain(self.mean)} runs, each {self.of._as_a_whole()}"

    def __post_init__(self) -> None:
        instance("of", self.of, PrivacyLoss)
        eta, mean = finite("eta", self.eta), above("mean", self.mean, 0.0)
        if eta <= -1.0:
            raise InvalidParameter(f"eta must be greater than -1, got {eta}")
        if not self.poisson and mean < 1.0:
            raise InvalidParameter(f"the mean number of runs must be at least 1, got {mean}")
        set_frozen(self, eta=eta, mean=mean, poisson=flag("poisson", self.poisson), unit=self._about(self.of.unit))

    def pure(self) -> float:
        return math.inf if self.poisson else product_up(sum_up([(2.0, 1), (self.eta, 1)]), self.of.pure())

    def zcdp(self) -> ZcdpBound:
        return ZcdpBound(square_up(self.pure()) / 2.0, 0.0)

    def rdp(self, alphas: Array) -> RdpCurve:
        orders = orders_of(alphas)
        if self.of.rdp(np.array([2.0])).delta0 > 0.0:
            return RdpCurve(np.full(orders.shape, math.inf), 0.0)
        values = np.minimum(self._at_order(orders), binary_rdp(self.pure(), orders))
        best, least = self._best_order
        return RdpCurve(np.where(orders < best, np.minimum(values, least), values), 0.0)

    def _at_order(self, orders: Array, base: Array | None = None) -> Array:
        """The theorem at each order by itself, given the base's divergences where they are known."""
        extra = self._poisson_extra(orders) if self.poisson else self._binomial_extra
        spread = max(0.0, math.log(self.mean)) / (orders - 1.0)
        return ((self.of.rdp(orders).values if base is None else base) + extra + spread) * (1.0 + MARGIN)

    @kept_property
    def _best_order(self) -> tuple[float, float]:
        """The order at which the theorem's bound is least. Divergences increase with the order, so it serves below too."""
        if self.mean <= 1.0:
            return 1.0, math.inf

        def bound(exponent: float) -> float:
            return float(self._at_order(np.array([1.0 + math.exp(exponent)]))[0])

        orders, base = self._base_curve
        start = math.log(orders[int(np.argmin(self._at_order(orders, base)))] - 1.0)
        exponent, value = minimise(bound, start - 0.3, start + 0.3, iterations=24)
        return 1.0 + math.exp(exponent), value

    @kept_property
    def _base_curve(self) -> tuple[Array, Array]:
        """Ten orders a decade with the base's Rényi bounds: asked for at every order of ours, so kept."""
        return _ORDERS, self.of.rdp(_ORDERS).values

    @kept_property
    def _binomial_extra(self) -> float:
        """The best choice of the free order b: of many, then of some near the best, then nearer.

        As b falls to 1, (1 - 1/b) R(b) vanishes (R increases with the order, and is finite somewhere): what is left is
        ln(1/gamma), a bound of its own.
        """
        log_inverse = -math.log(stopping_probability(self.mean, self.eta))

        def terms(orders: Array, values: Array) -> Array:
            return (1.0 - 1.0 / orders) * values + log_inverse / orders

        orders, values = self._base_curve
        found = terms(orders, values)
        best = float(np.min(found))
        if math.isfinite(best):
            best = min(best, log_inverse)
        for width in (0.1, 0.02):
            orders = 1.0 + (orders[int(np.argmin(found))] - 1.0) * 10.0 ** (width * np.linspace(-1.0, 1.0, 13))
            found = terms(orders, self.of.rdp(orders).values)
            best = min(best, float(np.min(found)))
        middle = int(np.clip(np.argmin(found), 1, len(found) - 2))
        left, here, right = (float(value) for value in found[middle - 1 : middle + 2])
        if left + right > 2.0 * here:  # the vertex of the parabola through three neighbours
            vertex = 0.5 * (left - right) / (left + right - 2.0 * here)
            order = 1.0 + (orders[middle] - 1.0) * 10.0 ** (0.02 / 6.0 * min(1.0, max(-1.0, vertex)))
            best = min(best, float(terms(np.array([order]), self.of.rdp(np.array([order])).values)[0]))
        return (1.0 + self.eta) * best

    def _poisson_extra(self, orders: Array) -> Array:
        """mean times the base's delta at ln(1 + 1/(a - 1)): from its pair where it has one, else from its Rényi curve."""
        epsilons = np.log1p(1.0 / (orders - 1.0))
        known, values = self._base_curve
        seen = np.isfinite(values)
        flat = [delta_of_rdp(known[seen], values[seen], float(e)) for e in epsilons.ravel()]
        deltas = np.reshape(flat, orders.shape)
        with suppress(NoGuarantee):
            deltas = np.minimum(deltas, self.of.profile(epsilons) + _ROUNDING)
        return deltas * self.mean

    def variable(self, direction: Direction) -> LossVariable:
        return variable_of_rdp(self)


def stopping_probability(mean: float, eta: float) -> float:
    """gamma of the truncated negative binomial law with this mean, rounded down (the safe side).

    >>> round(stopping_probability(10.0, 1.0), 9)
    0.1
    """
    return bisect(lambda gamma: _mean_runs(gamma, eta) >= mean, 1.0, TINY)


def _mean_runs(gamma: float, eta: float) -> float:
    """eta (1 - gamma)/(gamma (1 - gamma^eta)), which at eta = 0 is (1 - gamma)/(gamma ln(1/gamma))."""
    if gamma >= 1.0:
        return 1.0
    power = eta * math.log(gamma)
    share = power / math.expm1(power) if power != 0.0 else 1.0  # eta may be too small for a quotient of its own
    return (1.0 / gamma - 1.0) / -math.log(gamma) * share

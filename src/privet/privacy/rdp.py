"""A Rényi curve as a statement about a mechanism that is not otherwise known."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from privet._numerics import Array, plain
from privet._validate import at_least, finite, fraction, items, set_frozen
from privet.errors import InvalidParameter
from privet.privacy.families.sampling import MARGIN
from privet.privacy.loss import Approximate, PrivacyLoss, RdpCurve, ZcdpBound, orders_of
from privet.privacy.renyi import variable_of_rdp
from privet.privacy.serial import register
from privet.privacy.variable import Direction, LossVariable


@register
@dataclass(frozen=True, eq=False)
class RdpLoss(PrivacyLoss):
    """A mechanism known by bounds on its Rényi divergence at some orders, outside an event of probability delta0.

    Between two given orders the curve (a - 1) R(a) is convex, so the chord is a bound; R itself increases with the
    order, so below the first order its value serves. Above the last order nothing is known.

    **Guarantee:** Rényi divergence at most R(a) at every order a up to the last one given.
    **Reference:** Mironov 2017; van Erven & Harremoës 2014, theorem 3 and corollary 2 (monotone, convex).
    **Proof:** docs/proofs/privacy/zcdp_rdp_gdp.md.

    >>> RdpLoss((2.0, 4.0), (0.1, 0.2)).rdp([3.0]).values.round(6).tolist()
    [0.175]
    """

    kind = "rdp"

    alphas: tuple[float, ...]
    values: tuple[float, ...]
    delta0: float = 0.0

    def _words(self) -> str:
        return f"rdp (bounds at {len(self.alphas)} orders, delta0 {plain(self.delta0)})"

    def __post_init__(self) -> None:
        super().__post_init__()
        alphas = tuple(finite("alphas", a) for a in items("alphas", self.alphas))
        values = tuple(at_least("values", v, 0.0) for v in items("values", self.values))
        if not alphas or len(alphas) != len(values):
            raise InvalidParameter("expected as many values as alphas, at least one")
        if alphas[0] <= 1.0 or any(b <= a for a, b in pairwise(alphas)):
            raise InvalidParameter("alphas must increase and be greater than 1")
        set_frozen(self, alphas=alphas, values=values, delta0=fraction("delta0", self.delta0))

    def zcdp(self) -> ZcdpBound:
        return ZcdpBound(math.inf, self.delta0)

    def approximate(self) -> Approximate:
        return Approximate(math.inf, self.delta0)

    def rdp(self, alphas: Array) -> RdpCurve:
        orders = orders_of(alphas)
        known = np.asarray(self.alphas)
        values = np.minimum.accumulate(np.asarray(self.values)[::-1])[::-1]  # R increases: a later bound serves earlier
        moment = np.interp(orders, known, values * (known - 1.0)) / (orders - 1.0) * (1.0 + MARGIN)
        given = values[np.minimum(np.searchsorted(known, orders), len(known) - 1)]  # of the next order that was given
        result = np.where(orders <= known[0], values[0], np.minimum(moment, given))
        return RdpCurve(np.where(orders > known[-1], math.inf, result), self.delta0)

    def stated_orders(self) -> tuple[float, ...]:
        return self.alphas

    def variable(self, direction: Direction) -> LossVariable:
        return variable_of_rdp(self)

    @classmethod
    def examples(cls) -> Iterable[PrivacyLoss]:
        yield cls((2.0, 4.0, 8.0, 32.0), (0.1, 0.2, 0.4, 1.6))
        yield cls((1.5, 8.0, 64.0), (0.05, 0.3, 2.5), delta0=1e-7)

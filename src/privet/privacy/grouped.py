"""Group privacy: several records change at once."""

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from privet._cache import kept_property
from privet._calls import door
from privet._numerics import LARGEST_EXPONENT, UNIT_ROUNDOFF, Array, log1mexp, product_up
from privet._validate import count, instance, set_frozen
from privet.errors import MixedUnits
from privet.privacy.binary import binary_rdp
from privet.privacy.curve import variable_of_symmetric_curve
from privet.privacy.loss import Approximate, PrivacyLoss, RdpCurve, ZcdpBound, orders_of
from privet.privacy.serial import register
from privet.privacy.unit import Relation, Unit
from privet.privacy.variable import Direction, LossVariable

_NODES = 601  # of a curve; joining two takes their square, and fewer only make the bound looser


@register
@dataclass(frozen=True, eq=False)
class Grouped(PrivacyLoss):
    """The price when `size` units change at once; `relation` optionally restates it for another relation.

    Where the base has a closed form for groups (Gaussian, Laplace, pure, ..., and samples of these) that is used; otherwise
    (`chained`) the bound delta(e1 + e2) <= delta1(e1) + exp(e1) delta2(e2) with the best split.

    **Guarantee:** pure k epsilon; (k epsilon, delta (e^{k eps} - 1)/(e^eps - 1)); zCDP k^2 rho; GDP k mu.
    **Reference:** Dwork & Roth 2014, theorem 2.2; Bun & Steinke 2016; Mironov 2017, proposition 2; Vadhan 2017.
    **Proof:** docs/proofs/privacy/grouped.md.

    >>> from privet import privacy
    >>> epsilon, delta = Grouped(privacy.ApproxLoss(0.5, 1e-6), 3).approximate()
    >>> epsilon, f"{delta:.9e}"
    (1.5, '5.367003099e-06')
    """

    kind = "grouped"
    silent_fields = ("relation",)

    of: PrivacyLoss
    size: int
    relation: Relation | None = None
    unit: Unit = field(default=None, kw_only=True)  # type: ignore[assignment]  # that of the parts

    def _words(self) -> str:
        who = f"{self.size // 2:,} replaced" if self.relation == "replace" else f"a group of {self.size:,}"
        how = ", by chaining single records (may be loose)" if self.chained else ""
        return f"{self.of._as_a_whole()}, for {who}{how}"

    def __post_init__(self) -> None:
        instance("of", self.of, PrivacyLoss)
        size = count("size", self.size, 1)
        unit = self.of.unit
        if self.relation is None:
            unit = replace(unit, group_size=unit.group_size * size)
        elif self.relation == "replace" and unit.relation in ("add_remove", "zero_out") and size % 2 == 0:
            unit = Unit("replace", unit.group_size * size // 2, unit.person)
        else:
            raise MixedUnits(
                "the only restatement that holds is: replacing one record = removing one and adding one, "
                'Grouped(loss, 2, relation="replace") for a loss under add_remove or zero_out'
            )
        set_frozen(self, of=self.of.simplest(), size=size, unit=self._about(unit))

    @kept_property
    def _known(self) -> PrivacyLoss | None:
        """The closed form where the base has one."""
        if self.relation is not None:
            return self.of.exchanged(self.size // 2)
        return self.of if self.size == 1 else self.of.grouped(self.size)

    @property
    def chained(self) -> bool:
        """Is the bound made of single steps put end to end? Then it may be up to some times too large."""
        return self._known is None

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """Is the pair attained? When the base has a closed form whose worst pair some group shows."""
        if self.relation is not None:
            attained = self.of.attained_by_exchange
        else:
            attained = self.size == 1 or self.of.attained_by_groups
        return attained and self._known is not None and self._known.exact

    def grouped(self, size: int) -> PrivacyLoss | None:
        return self.of.grouped(self.size * size) if self.relation is None else self.of.exchanged(self.size * size // 2)

    def exchanged(self, size: int) -> PrivacyLoss | None:
        return self.of.exchanged(self.size * size) if self.relation is None else None

    def parts(self) -> tuple[tuple[PrivacyLoss, int], ...]:
        if self.size == 1 and self.relation is None:
            return self.of.parts()
        inner = self.of.parts()
        if len(inner) == 1 and inner[0] == (self.of, 1):
            return ((self, 1),)
        return tuple((Grouped(part, self.size, self.relation), n) for part, n in inner)

    def pure(self) -> float:
        return product_up(self.size, self.of.pure())

    def approximate(self) -> Approximate:
        epsilon, delta = self.of.approximate()
        if self.size == 1 or delta == 0.0 or not math.isfinite(epsilon):
            return Approximate(product_up(self.size, epsilon), delta)
        if epsilon == 0.0:
            return Approximate(0.0, min(1.0, product_up(self.size, delta)))
        # (e^{k eps} - 1)/(e^eps - 1), in logarithms since either may overflow
        growth = (self.size - 1) * epsilon + log1mexp(-self.size * epsilon) - log1mexp(-epsilon)
        growth += 16.0 * UNIT_ROUNDOFF * (1.0 - math.log(delta) + self.size * epsilon)
        return Approximate(product_up(self.size, epsilon), math.exp(min(0.0, math.log(delta) + growth)))

    def zcdp(self) -> ZcdpBound:
        closed = self._known
        if closed is not None:
            return closed.zcdp()
        rho, delta0 = self.of.zcdp()
        return ZcdpBound(product_up(rho, self.size, self.size), 0.0) if delta0 == 0.0 else ZcdpBound(math.inf, delta0)

    def gdp(self) -> float:
        closed = self._known
        return product_up(self.size, self.of.gdp()) if closed is None else closed.gdp()

    def gaussian(self) -> float | None:
        mu = self.of.gaussian()
        return None if mu is None else product_up(self.size, mu)

    def rdp(self, alphas: Array) -> RdpCurve:
        orders = orders_of(alphas)
        closed = self._known
        if closed is not None:
            return closed.rdp(orders)
        rho, delta0 = self.zcdp()
        doublings = math.ceil(math.log2(self.size))
        chained, base_delta0 = self.of.rdp(np.maximum(orders, 2.0) * 2.0**doublings)
        if delta0 > 0.0 or base_delta0 > 0.0:
            return RdpCurve(np.full(orders.shape, math.inf), 0.0)
        values = np.minimum(3.0**doublings * chained, binary_rdp(self.pure(), orders))
        return RdpCurve(np.minimum(values, orders * rho) * (1.0 + 4.0 * UNIT_ROUNDOFF), 0.0)

    def variable(self, direction: Direction) -> LossVariable:
        closed = self._known
        return _chained(self.of, self.size) if closed is None else closed.variable(direction)


@door(prices=("loss",))
def to_replace(loss: PrivacyLoss) -> PrivacyLoss:
    """The price of replacing a record, from the price of adding or removing one (a group of two).

    >>> from privet import privacy
    >>> to_replace(privacy.PureLoss(0.5)).pure()
    1.0
    """
    return loss if loss.unit.relation == "replace" else Grouped(loss, 2, "replace")


_Curve = tuple[Array, Array]  # epsilons (evenly spaced from 0) with bounds on delta


@lru_cache(maxsize=32)
def _chained(loss: PrivacyLoss, size: int) -> LossVariable:
    """The pair of a chain of `size` neighbours, doubling the chain: a million links take twenty doublings."""
    single = np.linspace(0.0, min(_reach(loss), LARGEST_EXPONENT / size), _NODES)
    link: _Curve = single, loss.profile(single)
    chain = link
    for bit in f"{size:b}"[1:]:
        chain = _joined(chain, chain)
        if bit == "1":
            chain = _joined(link, chain)
    return variable_of_symmetric_curve(*chain)


def _joined(first: _Curve, second: _Curve) -> _Curve:
    """The curve of two chains end to end: the best split of epsilon between them.

    delta(e) <= delta1(e1) + exp(e1) delta2(e - e1); the second is read off conservatively, at a node below.
    """
    nodes = np.linspace(0.0, float(first[0][-1] + second[0][-1]), _NODES)
    rest = np.searchsorted(second[0], nodes[:, None] - first[0][None, :], side="right") - 1
    tail = np.where(rest >= 0, second[1][np.maximum(rest, 0)], 1.0)
    with np.errstate(over="ignore"):
        candidates = first[1][None, :] + np.exp(first[0])[None, :] * tail
    return nodes, np.minimum(candidates.min(axis=1), 1.0)


def _reach(loss: PrivacyLoss) -> float:
    """An epsilon beyond which the profile is negligible (or down to the mass that no epsilon covers)."""
    if math.isfinite(loss.pure()):
        return max(loss.pure(), 1e-12)
    floor = max(loss.variable("remove").p_only, loss.variable("add").p_only)
    high = 1e-3
    while float(loss.profile(high)) > 1e-30 + floor * (1.0 + 1e-9) and high < 500.0:
        high *= 1.25
    return high

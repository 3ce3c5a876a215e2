"""Amplification by sampling a fixed number of records without replacement."""

import math
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from privet._cache import kept_property
from privet._numerics import LARGEST_EXPONENT, Array, round_up, square_up
from privet._validate import count, set_frozen
from privet.errors import InvalidParameter
from privet.privacy.binary import binary_variable
from privet.privacy.curve import variable_of_envelope
from privet.privacy.families.sampling import (
    OF_COIN,
    Coin,
    OfSample,
    after_sampling,
    before_sampling,
    epsilon_after_sampling,
    of_one_record,
)
from privet.privacy.loss import Approximate, PrivacyLoss, RdpCurve, ZcdpBound, best_zcdp, orders_of
from privet.privacy.renyi import renyi_of_variable
from privet.privacy.serial import register
from privet.privacy.unit import Unit
from privet.privacy.variable import Atoms, Direction, LossVariable, SymmetricVariable

_FINEST_NOISE = 0.05  # below this multiplier sampling no longer helps the Rényi bound


@dataclass(frozen=True, eq=False)
class SplicedVariable(OfSample, SymmetricVariable):
    """One pair for both directions: the sampled pair where the loss is positive, its mirror image below, an atom at 0.

    For L' > 0 the masses are those of ((1-q) Q + q P, Q); below zero P and Q exchange their roles; what is left of P and
    of Q is equal and sits at loss 0.
    """

    @kept_property
    def _positive_atoms(self) -> Atoms:
        losses, p, q = self.of.atoms()
        above = losses > 0.0
        return Atoms(after_sampling(losses[above], self.q), (1.0 - self.q) * q[above] + self.q * p[above], q[above])

    @kept_property
    def _at_zero(self) -> float:
        p, q = self.of.tails(0.0)
        return max(0.0, 1.0 - ((1.0 - self.q) * float(q) + self.q * float(p)) - float(q))

    @property
    def q_only(self) -> float:
        return self.q * self.of.p_only

    def atoms(self) -> Atoms:
        losses, p, q = self._positive_atoms
        return Atoms(
            np.concatenate((-losses[::-1], [0.0], losses)),
            np.concatenate((q[::-1], [self._at_zero], p)),
            np.concatenate((p[::-1], [self._at_zero], q)),
        )

    @property
    def lattice(self) -> tuple[float, float] | None:
        positive = self._positive_atoms.losses
        return (0.0, np.inf if len(positive) == 0 else float(positive[0])) if len(positive) <= 1 else None

    def cells(self, nodes: Array) -> tuple[Array, Array]:
        split = int(np.searchsorted(nodes, 0.0))  # nodes[split:] >= 0
        p_up, q_up = self._positive_cells(nodes[split:])
        q_down, p_down = self._positive_cells(-nodes[:split][::-1])
        # the cell that holds zero is cut there: its upper and its lower half are added
        p_down, q_down = p_down[::-1], q_down[::-1]
        p = np.concatenate((p_down[:-1], [p_down[-1] + p_up[0]], p_up[1:]))
        q = np.concatenate((q_down[:-1], [q_down[-1] + q_up[0]], q_up[1:]))
        return p, q

    def _positive_cells(self, nodes: Array) -> tuple[Array, Array]:
        """Masses of (0, n0], (n0, n1], ..., (nk, inf) for nodes >= 0."""
        p, q = self.of.cells(np.concatenate(([0.0], before_sampling(nodes, self.q))))
        return ((1.0 - self.q) * q + self.q * p)[1:], q[1:]

    def span(self, tail: float) -> tuple[float, float]:
        top = float(after_sampling(max(0.0, self.of.span(tail)[1]), self.q))
        return -top, top

    def points(self, count: int, tail: float) -> Array:
        base = self.of.points(count // 2 + 1, tail)
        image = after_sampling(base[base > 0.0], self.q)
        return np.unique(np.concatenate((-image, [0.0], image)))


@register
@dataclass(frozen=True, eq=False)
class FixedSampled(PrivacyLoss):
    """A release on exactly m of n records, drawn uniformly without replacement; relation replace.

    The base loss speaks of replacing a record of the *sample*: with clip norm C its sensitivity is 2C.

    **Guarantee:** q delta(ln(1 + (e^e - 1)/q)) with q = m/n for e >= 0, and the mirror image below 0: one legal curve.
    **Sensitivity:** under replace; n is public there. With `coin="person"` (a price about persons) m and n count persons.
    **Reference:** Balle, Barthe & Gaboardi 2018, theorem 9;
    Zhu, Dong & Wang 2022 for the composable curve.
    **Proof:** docs/proofs/privacy/fixed_sampled.md.

    >>> from privet import privacy
    >>> base = privacy.GaussianLoss(noise_multiplier=1.0, unit=privacy.Unit("replace"))
    >>> round(float(FixedSampled(base, m=10, n=1000).profile(0.0)), 8)  # q times the total variation
    0.00382925
    """

    kind = "fixed_sampled"

    of: PrivacyLoss
    m: int
    n: int
    coin: Coin = field(default="record", kw_only=True, metadata=OF_COIN)
    unit: Unit = field(default=None, kw_only=True)  # type: ignore[assignment]  # that of the parts

    def _words(self) -> str:
        return f"{self.of._as_a_whole()} on {self.m:,} of {self.n:,} records"

    def __post_init__(self) -> None:
        inner = of_one_record(
            self.of, relation="replace", name="sampling a fixed number without replacement", coin=self.coin
        )
        m, n = count("m", self.m), count("n", self.n, 1)
        if m > n:
            raise InvalidParameter(f"cannot draw m={m} of n={n} records without replacement")
        set_frozen(self, of=inner, m=m, n=n, unit=self._about(inner.unit))

    @property
    def q(self) -> float:
        """Share of the records that take part."""
        return self.m / self.n

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """The lower end speaks of the composed dominating pair, for a base that is its own mirror image.

        One release attains it at every epsilon; no mechanism is known that does so for a whole composition.
        """
        return self.of.exact and self.of.variable("remove").symmetric

    def parts(self) -> tuple[tuple[PrivacyLoss, int], ...]:
        if self.m == 0 or not self.of.parts():
            return ()
        return self.of.parts() if self.m == self.n else ((self, 1),)

    def pure(self) -> float:
        return self.approximate().epsilon if self.m == 0 or self.of.approximate().delta == 0.0 else math.inf

    def approximate(self) -> Approximate:
        epsilon, delta = self.of.approximate()
        if self.m in (0, self.n):
            return Approximate(epsilon, delta) if self.m else Approximate(0.0, 0.0)
        return Approximate(epsilon_after_sampling(epsilon, self.q), round_up(self.q * delta, 2.0))

    def zcdp(self) -> ZcdpBound:
        rho, delta0 = self.of.zcdp()
        epsilon, delta = self.approximate()
        return best_zcdp(ZcdpBound(rho, delta0), ZcdpBound(square_up(epsilon) / 2.0, delta))

    def gdp(self) -> float:
        if self.m in (0, self.n):
            return 0.0 if self.m == 0 else self.of.gdp()
        return min(self.of.gdp(), super().gdp())

    def gaussian(self) -> float | None:
        return 0.0 if not self.parts() else self.of.gaussian() if self.m == self.n else None

    def rdp(self, alphas: Array) -> RdpCurve:
        orders = orders_of(alphas)
        base, delta0 = self.of.rdp(orders)
        mu = self.of.gaussian()
        if self.m == 0:
            return RdpCurve(np.zeros(orders.shape), 0.0)
        if self.m == self.n or delta0 > 0.0:
            return RdpCurve(base, delta0)
        if mu is not None:
            values = [spliced_gaussian_rdp(self.q, mu, float(a)) for a in orders.ravel()]
            return RdpCurve(np.minimum(np.reshape(values, orders.shape), base), 0.0)
        if math.isfinite(self.of.pure()):
            return RdpCurve(np.minimum(renyi_of_variable(self.variable("remove"), orders), base), 0.0)
        return RdpCurve(base, 0.0)

    def variable(self, direction: Direction) -> LossVariable:
        if self.m == 0:
            return binary_variable(0.0)
        if self.m == self.n:
            return self.of.variable(direction)
        return self._spliced

    @kept_property
    def _spliced(self) -> LossVariable:
        return SplicedVariable(_both_ways(self.of), self.q)


@lru_cache(maxsize=64)
def _both_ways(loss: PrivacyLoss) -> LossVariable:
    """A pair that dominates the base in both directions: replacing x by y and y by x are both neighbours."""
    forward, backward = loss.variable("remove"), loss.variable("add")
    if forward.symmetric:
        return forward
    return variable_of_envelope([forward, backward])


def spliced_gaussian_rdp(q: float, mu: float, alpha: float) -> float:
    """Rényi divergence of the spliced pair over a Gaussian base, by Gauss-Legendre panels on the positive half.

    With l = ln(1 - q + q e^L) the moment minus one is the integral over L > 0 of (e^{a l} - 1)(1 - e^{(1-a) l}) dQ:
    the positive part, its mirror image and the atom, collected without cancellation.

    >>> from privet import privacy
    >>> 0 < spliced_gaussian_rdp(0.01, 1.0, 4.0) < 4.0 / 2
    True
    """
    if mu == 0.0:
        return 0.0
    if mu * _FINEST_NOISE > 1.0 or alpha * mu > 1e4:
        return math.inf
    nodes, weights = np.polynomial.legendre.leggauss(16)
    panel = min(1.0, 1.0 / mu)
    starts = mu / 2.0 + panel * np.arange(math.ceil((alpha * mu + 9.5) / panel) + 1)
    x = (starts[:, None] + panel * (nodes + 1.0) / 2.0).ravel()
    log_weight = np.log(np.tile(weights, len(starts)) * panel / 2.0 / math.sqrt(2.0 * math.pi)) - 0.5 * x * x
    loss = after_sampling(mu * x - mu * mu / 2.0, q)
    with np.errstate(over="ignore", divide="ignore"):
        log_excess = np.where(
            alpha * loss < LARGEST_EXPONENT, np.log(np.expm1(np.minimum(alpha * loss, LARGEST_EXPONENT))), alpha * loss
        ) + np.log(-np.expm1((1.0 - alpha) * loss))
    logs = log_excess + log_weight
    top = float(np.max(logs))
    log_sum = top + math.log(float(np.exp(logs - top).sum()))
    moment = math.log1p(math.exp(log_sum)) if log_sum < LARGEST_EXPONENT else log_sum
    return moment * (1.0 + 1e-12) / (alpha - 1.0)

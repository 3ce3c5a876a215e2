"""Amplification by Poisson sampling."""

import math
from dataclasses import dataclass, field

import numpy as np

from privet._cache import kept_property, remember
from privet._numerics import (
    LARGEST_EXPONENT,
    ROOMY_EXPONENT,
    UNIT_ROUNDOFF,
    Array,
    product_up,
    round_down,
    round_up,
    special,
    square_up,
)
from privet._validate import fraction, set_frozen
from privet.errors import InvalidParameter, NoGuarantee
from privet.privacy.binary import binary_variable
from privet.privacy.families.mixture import NOTHING, MixturePairLoss, binomial_mixture, log_excess_moment
from privet.privacy.families.ordered import SampledGroupLoss
from privet.privacy.families.sampling import (
    MARGIN,
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
from privet.privacy.variable import Atoms, Direction, Enclosure, LossVariable

_FINEST_NOISE = 0.05  # below this multiplier sampling no longer helps the Rényi bound
_LEAST_RATE = 1e-30  # below, products of rates and masses would leave the range of floats
_LARGEST_GROUP = 4096  # larger ones are chained: a valid price, and a higher one
# A case for each number of members that are drawn: larger ones take seconds, and are chained.
_LARGEST_ORDERED_GROUP = 64
_MOST_ORDER = 128  # largest integer order of the binomial sum


@dataclass(frozen=True, eq=False)
class SampledVariable(OfSample):
    """The pair ((1-q) Q + q P, Q): an increasing image of the base loss, L' = ln(1 - q + q e^L).

    >>> from privet import privacy
    >>> base = privacy.PureLoss(1.0).variable("remove")
    >>> SampledVariable(base, 0.5).atoms().losses.round(6).tolist()  # ln(1 + q(e^eps - 1)) on the right
    [-0.379885, 0.620115]
    """

    def image(self, losses: Array) -> Array:
        """The loss after sampling of each loss before it."""
        return after_sampling(losses, self.q)

    def atoms(self) -> Atoms:
        losses, p, q = self.of.atoms()
        if len(losses) == 0 and self.of.q_only == 0.0:
            return Atoms(losses, p, q)
        mixed = (1.0 - self.q) * q + self.q * p
        losses = self.image(losses)
        if self.of.q_only > 0.0:  # outcomes that only Q shows keep a share 1 - q of it in the mixture
            losses = np.concatenate(([math.log1p(-self.q)], losses))
            mixed = np.concatenate(([(1.0 - self.q) * self.of.q_only], mixed))
            q = np.concatenate(([self.of.q_only], q))
        return Atoms(losses, mixed, q)

    def cells(self, nodes: Array) -> tuple[Array, Array]:
        p, q = self.of.cells(before_sampling(nodes, self.q))
        return (1.0 - self.q) * q + self.q * p, q

    def enclose_mirrored(self, epsilon: float) -> Enclosure:
        """c delta_add(ln(q e^e/c)) with c = 1 - e^e (1 - q), which grows with c; 0 where c is not positive."""
        if epsilon < 0.0:
            return super().enclose_mirrored(epsilon)
        ends = []
        for side, margin in enumerate((MARGIN, -MARGIN)):
            c = self.q * (1.0 - margin) - math.expm1(min(epsilon, ROOMY_EXPONENT)) * (1.0 - self.q)
            at = epsilon + math.log(self.q / c) if c > 0.0 else math.inf
            value = self.of.enclose_mirrored(at + margin * (1.0 + at))[side] if c > 0.0 else 0.0
            ends.append(max(c, 0.0) * (1.0 - margin) * value)
        return ends[0], ends[1]

    @property
    def ends(self) -> tuple[float, float]:
        """Whatever an outcome says, the record was left out with probability 1 - q."""
        return round_down(math.log1p(-self.q), 4.0), math.inf

    def span(self, tail: float) -> tuple[float, float]:
        low, high = self.image(np.array(self.of.span(tail)))
        return float(low), float(high)

    def points(self, count: int, tail: float) -> Array:
        image = self.image(self.of.points(count, tail))
        return image if np.all(image[1:] > image[:-1]) else np.unique(image)


@register
@dataclass(frozen=True, eq=False)
class PoissonSampled(PrivacyLoss):
    """A release on a random subset: every record takes part independently with probability q.

    It wraps *one* release: `PoissonSampled(Repeated(a, k))` samples once and releases k times, which differs from
    `Repeated(PoissonSampled(a), k)`. Nested independent sampling multiplies the rates.

    **Guarantee:** remove: q delta(ln(1 + (e^e - 1)/q)); add: its mirror image; both exact for any base pair. Classical
    corollary: (ln(1 + q(e^eps - 1)), q delta). **Sensitivity:** relation add_remove or zero_out only; a fixed-size or
    shuffled sampler is *not* this loss. Under zero_out a null record must act as an absent one: a release that shows, or
    divides by, the size of its batch is not covered. A price about persons needs `coin="person"`: all records of a person
    come or stay away together. **Reference:** Balle, Barthe & Gaboardi 2018; Zhu, Dong & Wang 2022;
    Mironov, Talwar & Zhang 2019 for the Rényi divergence.
    **Proof:** docs/proofs/privacy/poisson_sampled.md.

    >>> from privet import privacy
    >>> loss = PoissonSampled(privacy.GaussianLoss(noise_multiplier=4.0), q=0.01)
    >>> [f"{r:.6e}" for r in loss.rdp([2.0, 32.0]).values]
    ['6.449425e-06', '1.052636e-04']
    """

    kind = "poisson_sampled"

    of: PrivacyLoss
    q: float
    coin: Coin = field(default="record", kw_only=True, metadata=OF_COIN)
    unit: Unit = field(default=None, kw_only=True)  # type: ignore[assignment]  # that of the parts

    def _words(self) -> str:
        return f"{self.of._as_a_whole()} on a Poisson sample of {100.0 * self.q:.4g}%"

    def __post_init__(self) -> None:
        inner = of_one_record(self.of, relation="add_remove", name="Poisson sampling", coin=self.coin)
        q = fraction("q", self.q)
        if 0.0 < q < _LEAST_RATE:
            raise InvalidParameter(f"q must be 0 or at least {_LEAST_RATE:g}, got {q}")
        outer = inner.of if isinstance(inner, PoissonSampled) else inner
        q = product_up(q, inner.q) if isinstance(inner, PoissonSampled) else q
        if 0.0 < q < _LEAST_RATE:
            raise InvalidParameter(f"nested rates must multiply to 0 or at least {_LEAST_RATE:g}, got {q:g}")
        set_frozen(self, of=outer, q=q, unit=self._about(outer.unit))

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """Is the pair attained? Whenever that of the base is."""
        return self.of.exact

    def parts(self) -> tuple[tuple[PrivacyLoss, int], ...]:
        if self.q == 0.0 or not self.of.parts():
            return ()
        return self.of.parts() if self.q == 1.0 else ((self, 1),)

    def pure(self) -> float:
        return epsilon_after_sampling(self.of.pure(), self.q) if self.q > 0.0 else 0.0

    def approximate(self) -> Approximate:
        epsilon, delta = self.of.approximate()
        return Approximate(epsilon_after_sampling(epsilon, self.q) if self.q > 0.0 else 0.0, product_up(self.q, delta))

    def zcdp(self) -> ZcdpBound:
        rho, delta0 = self.of.zcdp()  # sampling never hurts; but no order-free gain exists for unbounded losses
        epsilon, delta = self.approximate()
        if self.q == 0.0:
            return ZcdpBound(0.0, 0.0)
        return best_zcdp(ZcdpBound(rho, delta0), ZcdpBound(square_up(epsilon) / 2.0, delta))

    def gdp(self) -> float:
        if self.q in (0.0, 1.0):
            return 0.0 if self.q == 0.0 else self.of.gdp()
        return min(self.of.gdp(), super().gdp())

    def gaussian(self) -> float | None:
        return 0.0 if not self.parts() else self.of.gaussian() if self.q == 1.0 else None

    @property
    def attained_by_groups(self) -> bool:  # type: ignore[override]
        """Known for noise on a number; other pairs of groups are bounds."""
        return self.of.gaussian() is not None or self.of.on_a_line

    @property
    def attained_by_exchange(self) -> bool:  # type: ignore[override]
        """Is an exchange attained? By one number per record: +1 for the one that leaves, -1 for the one that joins."""
        return self.of.exact and self.attained_by_groups

    def grouped(self, size: int) -> PrivacyLoss | None:
        """Records of a group take part independently: a mixture of normals at a binomial number of shifts."""
        mu = self.of.gaussian()
        if mu is None or self.q == 0.0 or size > _LARGEST_GROUP:
            return self._ordered_group(size, exchanges=False)
        return MixturePairLoss(binomial_mixture(size, self.q, mu), NOTHING, unit=self.unit)

    def exchanged(self, size: int) -> PrivacyLoss | None:
        mu = self.of.gaussian()
        if mu is None or self.q == 0.0 or size > _LARGEST_GROUP:
            return self._ordered_group(size, exchanges=True)
        side = binomial_mixture(size, self.q, mu)
        return MixturePairLoss(side, side, unit=self.unit)

    def _ordered_group(self, size: int, *, exchanges: bool) -> PrivacyLoss | None:
        """The price of a group where every group of the base has a pair of its own: their outcomes, ordered alike."""
        if self.q in (0.0, 1.0) or size > _LARGEST_ORDERED_GROUP or self.of.grouped(2) is None:
            return None
        group = SampledGroupLoss(self.of, self.q, size, exchanges, unit=self.unit)
        return group if group.known else None

    def rdp(self, alphas: Array) -> RdpCurve:
        orders = orders_of(alphas)
        if self.q == 0.0:
            return RdpCurve(np.zeros(orders.shape), 0.0)
        mu = self.of.gaussian()
        if self.q < 1.0 and mu is not None:
            rho = round_up(square_up(mu) / 2.0, 2.0)  # Rényi divergence is quasi-convex: sampling never hurts
            values = [min(sampled_gaussian_rdp(self.q, mu, a), round_up(a * rho)) for a in orders.ravel().tolist()]
            return RdpCurve(np.array(values).reshape(orders.shape), 0.0)
        base, delta0 = self.of.rdp(orders)
        if self.q == 1.0 or delta0 > 0.0:
            return RdpCurve(base, delta0)
        return RdpCurve(np.minimum(self._general_rdp(orders), base), 0.0)

    def _general_rdp(self, orders: Array) -> Array:
        """Any base: both directions from the pair where the loss is bounded, else the binomial sum for 'remove'."""
        try:
            add = renyi_of_variable(self.variable("add"), orders)
        except NoGuarantee:
            return np.full(orders.shape, math.inf)
        if math.isfinite(self.of.pure()):
            return np.maximum(renyi_of_variable(self.variable("remove"), orders), add)
        return np.maximum(binomial_rdp(self.q, self.of, orders), add)

    def variable(self, direction: Direction) -> LossVariable:
        if self.q == 0.0:
            return binary_variable(0.0)
        if self.q == 1.0:
            return self.of.variable(direction)
        return self._removed if direction == "remove" else self._added

    @kept_property
    def _removed(self) -> LossVariable:  # one question of a composition asks for the pair twenty times
        return SampledVariable(self.of.variable("remove"), self.q)

    @kept_property
    def _added(self) -> LossVariable:
        return SampledVariable(self.of.variable("add").reversed(), self.q).reversed()


def sampled_gaussian_rdp(q: float, mu: float, alpha: float) -> float:
    """Rényi divergence of order alpha of the Poisson-sampled Gaussian (the remove direction dominates).

    E[(1 + y)^a] with y = q (e^{mu x - mu^2/2} - 1), x standard normal. The trapezoidal rule on the whole line converges
    geometrically for such integrands; the step keeps its error below 1e-15. As E[y] = 0, summing (1+y)^a - 1 - a y >= 0
    keeps the digits of tiny divergences.

    >>> f"{sampled_gaussian_rdp(0.01, 1.0, 16.0):.8f}"
    '3.08785078'
    """
    if mu == 0.0:
        return 0.0
    if mu * _FINEST_NOISE > 1.0 or alpha * mu > 1e5:
        return math.inf
    table = _outcomes(q, mu, 1 << math.ceil(math.log2((alpha + 1.0) * mu + 19.0)))
    return table.log_moment(math.ceil((alpha * mu + 19.0) / table.step) + 1, alpha) * (1.0 + 1e-12) / (alpha - 1.0)


class _Outcomes:
    """Losses l of the remove direction at outcomes from -9.5 on, evenly spaced, and their weights w.

    A search for the best order asks about them again and again, so what does not depend on the order is kept.
    """

    def __init__(self, q: float, mu: float, width: int) -> None:
        self.step = min(0.25, 0.4 / mu)
        x = -9.5 + self.step * np.arange(math.ceil(width / self.step) + 2)
        self.loss = after_sampling(mu * x - mu * mu / 2.0, q)
        self.log_weight = -0.5 * x * x + math.log(self.step / math.sqrt(2.0 * math.pi))
        self.weight = np.exp(self.log_weight)
        self.growth = np.expm1(np.minimum(self.loss, LARGEST_EXPONENT))  # of heavier losses the weight has vanished
        self.grown = self.weight * self.growth
        self.moved = np.cumsum(np.abs(self.grown))

    def log_moment(self, count: int, alpha: float) -> float:
        """ln sum of w e^{a l} over the first outcomes, as `log_excess_moment` has it: losses increase from one to the next.

        The sum of w (e^{al} - 1 - a (e^l - 1)) is taken term by term; below e^30 the subtraction may cancel, and what it
        may lose is charged: 8 u of e^{al} - 1 and of a (e^l - 1), the first of which is the second plus the excess.
        """
        near = min(count, int(np.searchsorted(self.loss, 30.0 / alpha)))
        if near < count and alpha < 2.0:  # beyond e^30 the subtraction may still cancel
            return log_excess_moment(self.loss[:count], self.log_weight[:count], alpha)
        total = 0.0
        if near:
            excess = np.expm1(alpha * self.loss[:near]) - alpha * self.growth[:near]
            total = float((np.maximum(excess, 0.0) * self.weight[:near]).sum())
            total += 8.0 * UNIT_ROUNDOFF * (total + 2.0 * alpha * float(self.moved[near - 1]))
        if near < count:
            exponent = alpha * self.loss[near:count] + self.log_weight[near:count]
            top = float(exponent.max())
            if top > 20.0:
                return top + math.log(float(np.exp(exponent - top).sum()) + (1.0 + total) * math.exp(-top))
            less = self.weight[near:count] + alpha * self.grown[near:count]
            total += float(np.maximum(np.exp(exponent) - less, 0.0).sum())
        return math.log1p(total)


@remember(1_000_000)
def _outcomes(q: float, mu: float, width: int) -> _Outcomes:
    return _Outcomes(q, mu, width)


def binomial_rdp(q: float, base: PrivacyLoss, orders: Array) -> Array:
    """E_Q[((1-q) + q P/Q)^a] at integer orders from the base's own Rényi curve, joined by chords in between.

    (a - 1) R(a) is convex in a, so the chord between two integers is an upper bound. Orders beyond the largest integer
    used get infinity (the caller takes the base curve there).

    >>> from privet import privacy
    >>> float(binomial_rdp(0.01, privacy.GaussianLoss(4.0), np.array([2.0]))[0].round(12))
    6.449425e-06
    """
    top = int(min(_MOST_ORDER, max(2, math.ceil(float(np.max(orders))))))
    k = np.arange(2, top + 1, dtype=float)
    log_moment = (k - 1.0) * base.rdp(k).values  # ln E_Q[(P/Q)^k]
    gammaln = special().gammaln
    known, moments = [1.0], [0.0]
    for a in range(2, top + 1):
        j = k[: a - 1]
        log_choose = gammaln(a + 1.0) - gammaln(j + 1.0) - gammaln(a - j + 1.0)
        logs = log_choose + (a - j) * math.log1p(-q) + j * math.log(q)
        # the terms k = 0, 1 have moment 1, as have the weights in all: only the excess over 1 is summed
        with np.errstate(over="ignore"):
            excess = np.exp(logs + log_moment[: a - 1]) - np.exp(logs)
        total = float(np.sum(np.maximum(excess, 0.0)))
        known.append(float(a))
        moments.append(math.log1p(total) * (1.0 + 1e-12))
    values = np.interp(orders, known, moments) / (orders - 1.0)
    return np.where(orders > top, math.inf, values)

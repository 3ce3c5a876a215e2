"""Mixtures of discrete pairs with a common reference: the pair of groups of sampled releases."""

import math
from dataclasses import dataclass

import numpy as np

from privet._cache import kept_property
from privet._numerics import LARGEST_EXPONENT, UNIT_ROUNDOFF, Array, product_up, square_up
from privet.errors import NoGuarantee
from privet.privacy.curve import variable_of_envelope
from privet.privacy.families.mixture import binomial_mixture
from privet.privacy.families.sampling import epsilon_after_sampling
from privet.privacy.loss import PrivacyLoss, ZcdpBound, best_zcdp
from privet.privacy.variable import AtomicVariable, Direction, LossVariable

Case = tuple[
    float, LossVariable | None
]  # a probability, and the pair of the case against the reference (None: the same)

_MOST_ATOMS = 400_000  # of all cases together: sorting them takes a fraction of a second; beyond, no such pair is made


def ordered_mixture(up: list[Case], down: list[Case]) -> LossVariable | None:
    """P is a mixture of laws M_i, Q one of laws N_j, and of each the pair (M_i, R), (N_j, R) against one R is known.

    A test has one level under R, so its power under each M_i and its size under each N_j are bounded by that level: the
    worst case orders the outcomes of all pairs alike, M_i likeliest where N_j is least likely. None where a pair is not
    discrete, or too long.

    >>> from privet import privacy
    >>> pair = privacy.PureLoss(1.0).variable("remove")
    >>> one = ordered_mixture([(0.75, None), (0.25, pair)], [(1.0, None)])
    >>> sampled = privacy.PoissonSampled(privacy.PureLoss(1.0), q=0.25).variable("remove")
    >>> abs(float(one.delta(0.1) - sampled.delta(0.1))) < 1e-15
    True
    """
    pairs = [pair for _, pair in (*up, *down) if pair is not None]
    if not all(pair.discrete for pair in pairs) or sum(len(pair.atoms().losses) for pair in pairs) > _MOST_ATOMS:
        return None
    upper = [_half(up, down, top=True), _half(up, down, top=False)]
    losses, p, q = (np.concatenate((low[::-1], high)) for high, low in zip(*upper, strict=True))
    p_only = math.fsum(w * pair.p_only for w, pair in up if pair is not None)
    q_only = math.fsum(w * pair.p_only for w, pair in down if pair is not None)
    # what P shows where Q has no mass at all (or none that a float can hold) is lost, and the other way round
    p_only, q_only = p_only + float(p[q <= 0.0].sum()), q_only + float(q[p <= 0.0].sum())
    seen = (p > 0.0) & (q > 0.0)
    losses, p, q = _merged(losses[seen], p[seen], q[seen])
    error = max((pair.mass_error for pair in pairs), default=0.0) + 4.0 * (len(losses) + 16.0) * UNIT_ROUNDOFF
    blur = 64.0 * UNIT_ROUNDOFF * (1.0 + float(np.abs(losses).max(initial=0.0)))
    blur += max((getattr(pair, "blur", 0.0) for pair in pairs), default=0.0)
    return AtomicVariable(losses, p, q, p_only, q_only, None, blur, error, up == down)


def _half(up: list[Case], down: list[Case], *, top: bool) -> tuple[Array, Array, Array]:
    """Outcomes of the upper or the lower half of R, from its end inwards: losses with their P- and Q-mass.

    Masses of R are added up from that end, so that small ones keep their digits.
    """
    steps = [(w, None if pair is None else _ratios(pair, top=top)) for w, pair in up]
    steps += [(w, None if pair is None else _ratios(pair, top=not top)) for w, pair in down]
    knots = np.concatenate([ends for _, known in steps if known is not None for ends in known[:1]] or [np.zeros(0)])
    knots = np.unique(np.append(knots[(knots > 0.0) & (knots < 0.5)], 0.5))
    mass, middle = np.diff(knots, prepend=0.0), 0.5 * (knots + np.concatenate(([0.0], knots[:-1])))
    ratios = []
    for w, known in steps:
        if known is None:
            ratios.append(np.full(len(knots), w))
        else:
            place = np.minimum(np.searchsorted(known[0], middle), len(known[1]) - 1)
            ratios.append(w * known[1][place])
    p, q = (np.sum(part, axis=0) for part in (ratios[: len(up)], ratios[len(up) :]))
    with np.errstate(divide="ignore"):
        return np.log(p) - np.log(q), mass * p, mass * q


def _ratios(pair: LossVariable, *, top: bool) -> tuple[Array, Array]:
    """The places where the likelihood ratio changes along the mass of R, counted from one end, and its values."""
    losses, _, r = pair.atoms()
    ratios = np.exp(np.minimum(losses, LARGEST_EXPONENT))
    if pair.q_only > 0.0:
        ratios, r = np.concatenate(([0.0], ratios)), np.concatenate(([pair.q_only], r))
    return (np.cumsum(r[::-1]), ratios[::-1]) if top else (np.cumsum(r), ratios)


def _merged(losses: Array, p: Array, q: Array) -> tuple[Array, Array, Array]:
    """Equal losses as one atom, in increasing order (rounding may disturb the order by a little)."""
    order = np.argsort(losses, kind="stable")
    values, where = np.unique(losses[order], return_inverse=True)
    return values, np.bincount(where, weights=p[order]), np.bincount(where, weights=q[order])


@dataclass(frozen=True, eq=False)
class SampledGroupLoss(PrivacyLoss):
    """The price of `size` records, each of which takes part with probability q in a release.

    With `exchanges` as many others leave. The dots of a continuous pair are connected first. It answers for `Grouped` and
    has no JSON form of its own.

    >>> from privet import privacy
    >>> two = SampledGroupLoss(privacy.PureLoss(1.0), 0.5, 2)
    >>> round(two.pure(), 6) == round(2.0 * math.log1p(0.5 * math.expm1(1.0)), 6)
    True
    """

    kind = "sampled_group"

    of: PrivacyLoss
    q: float
    size: int
    exchanges: bool = False

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """Is the pair attained? By records that all move the noise one way, where moving it is what the price is about."""
        return self.of.exact and self.of.on_a_line

    @property
    def _times(self) -> int:
        return 2 * self.size if self.exchanges else self.size

    def pure(self) -> float:
        return product_up(self._times, epsilon_after_sampling(self.of.pure(), self.q))

    def zcdp(self) -> ZcdpBound:
        rho, delta0 = self.of.zcdp()
        bounded = ZcdpBound(square_up(epsilon_after_sampling(self.of.pure(), self.q)) / 2.0, 0.0)
        best = best_zcdp(ZcdpBound(rho, delta0), bounded)
        return ZcdpBound(product_up(best.rho, self._times, self._times), best.delta0)

    def gdp(self) -> float:
        return product_up(self._times, self.of.gdp())

    @kept_property
    def _pair(self) -> LossVariable | None:
        cases: list[Case] = []
        for times, weight in zip(*binomial_mixture(self.size, self.q, 1.0), strict=True):
            group = self.of if times == 1.0 else self.of.grouped(round(times)) if times else None
            if times and group is None:
                return None
            pair = None if group is None else group.variable("remove")
            cases.append((weight, pair if pair is None or pair.discrete else variable_of_envelope([pair])))
        return ordered_mixture(cases, cases if self.exchanges else [(1.0, None)])

    @property
    def known(self) -> bool:
        """Have all groups of the base a pair of their own?"""
        try:
            return self._pair is not None
        except NoGuarantee:
            return False

    def variable(self, direction: Direction) -> LossVariable:
        pair = self._pair
        if pair is None:
            raise NoGuarantee("the groups of this price have no pair in closed form")
        return pair if direction == "remove" else pair.reversed()

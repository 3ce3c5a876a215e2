"""Mixtures of unit normals shifted upwards against mixtures shifted downwards: the pair of sampled Gaussian groups."""

import math
from dataclasses import dataclass

import numpy as np

from privet._cache import kept_property
from privet._numerics import TINY, UNIT_ROUNDOFF, Array, bisect, exp_capped, ndtr, ndtri, normal_cells
from privet.privacy.loss import PrivacyLoss, RdpCurve, ZcdpBound, orders_of
from privet.privacy.variable import AtomicVariable, Direction, Enclosure, LossVariable

Mixture = tuple[tuple[float, ...], tuple[float, ...]]  # shifts >= 0 in standard deviations, with their probabilities

NOTHING: Mixture = (0.0,), (1.0,)

_REACH = 39.0  # standard deviations: the normal mass outside is below 1e-330
_CELL_ERROR = 2e-12  # of `normal_cells`; what adding positive numbers loses is a thousand times less
_TAIL_ERROR = 1e-12  # relative, of a tail
_ROUNDS = 80  # of Newton's method with halvings: halvings alone reach the last digit in less
_MOST_ORDER = 3000.0  # times the largest shift: beyond, a closed bound serves
_LARGEST_SHIFT = 20.0  # beyond, a mixture no longer helps the Rényi bound
_LEAST_WEIGHT = 1e-290  # relative: what is lighter is near the end of floats, and no delta that is asked for sees it


@dataclass(frozen=True, eq=False)
class MixtureVariable(LossVariable):
    """P is a mixture of N(a, 1) over a >= 0, Q one of N(-b, 1) over b >= 0: the loss grows with the outcome.

    The mass of a cell of losses is that of an interval of outcomes, found by a bracketed search.

    >>> half = MixtureVariable(((0.0, 1.0), (0.5, 0.5)), ((0.0,), (1.0,)))
    >>> from privet import privacy
    >>> sampled = privacy.PoissonSampled(privacy.GaussianLoss(1.0), q=0.5)
    >>> abs(float(half.delta(0.3)) - float(sampled.profile(0.3, "remove"))) < 1e-13
    True
    """

    up: Mixture
    down: Mixture

    @kept_property
    def _tops(self) -> tuple[float, float]:
        """The largest shift on either side."""
        return max(self.up[0]), max(self.down[0])

    @property
    def symmetric(self) -> bool:
        return self.up == self.down

    def reversed(self) -> LossVariable:
        return self._mirrored

    def loss(self, x: Array) -> Array:
        """ln dP/dQ at the outcome x."""
        return _log_ratio(self.up, x)[0] - _log_ratio(self.down, -x)[0]

    @kept_property
    def _table(self) -> tuple[Array, Array]:
        """Outcomes close enough to each other that the loss is nearly straight between them, with their losses."""
        above, below = self._tops
        low, high = -_REACH - below, _REACH + above
        count = int(min(max(513.0, 4.0 * (high - low) * max(1.0, above, below)), 65537.0))
        x = np.linspace(low, high, count)
        return x, np.maximum.accumulate(self.loss(x))

    def outcomes(self, losses: Array) -> Array:
        """The outcomes at which the loss reaches each value: -inf and inf for values beyond those that matter.

        The answer x has a computed loss that agrees with the value asked for to a few units in the last place of the
        numbers involved. Safe because the same x serves P and Q: the cell is that of a loss a little away.
        """
        x, known = self._table
        place = np.searchsorted(known, losses)
        inside = np.flatnonzero((place > 0) & (place < len(x)))
        found = np.where(place == 0, -np.inf, np.inf)
        wanted, place = losses[inside], place[inside]
        low, high = x[place - 1], x[place]
        step = known[place] - known[place - 1]
        at = low + (high - low) * np.divide(
            wanted - known[place - 1], step, out=np.full(len(step), 0.5), where=step > 0.0
        )
        open_ = np.arange(len(inside))
        for _ in range(_ROUNDS):
            value, slope, size = self._value_and_slope(at[open_])
            gap = value - wanted[open_]
            low[open_] = np.where(gap <= 0.0, at[open_], low[open_])
            high[open_] = np.where(gap >= 0.0, at[open_], high[open_])
            rest = np.abs(gap) > 4.0 * UNIT_ROUNDOFF * (np.abs(wanted[open_]) + size)
            wide = high[open_] - low[open_] > 2.0 * UNIT_ROUNDOFF * np.abs(at[open_])
            with np.errstate(divide="ignore", invalid="ignore"):
                following = at[open_] - gap / slope
            middle = 0.5 * (low[open_] + high[open_])
            safe = (following > low[open_]) & (following < high[open_])
            moved = np.where(safe, following, middle)
            keep = rest & wide
            at[open_[keep]] = moved[keep]
            open_ = open_[keep]
            if len(open_) == 0:
                break
        found[inside] = at
        return found

    def _value_and_slope(self, x: Array) -> tuple[Array, Array, Array]:
        """The loss, its derivative, and the size of the numbers that were added up."""
        value, slope, size = _log_ratio(self.up, x)
        lower, fall, other = _log_ratio(self.down, -x)
        return value - lower, slope + fall, size + other

    def cells(self, nodes: Array) -> tuple[Array, Array]:
        x = np.maximum.accumulate(self.outcomes(np.asarray(nodes, dtype=float)))
        p, q = np.zeros(len(x) + 1), np.zeros(len(x) + 1)
        for total, sign, (shifts, weights) in ((p, -1.0, self.up), (q, 1.0, self.down)):
            for shift, weight in zip(shifts, weights, strict=True):
                total += weight * normal_cells(x + sign * shift)
        return p, q

    def _ends(self, tail: float) -> tuple[float, float]:
        """Outcomes outside of which there is at most `tail` mass per side, under P and under Q."""
        reach = -ndtri(max(0.5 * tail, TINY))
        above, below = (_heaviest(mixture, 0.5 * tail) for mixture in (self.up, self.down))
        return -reach - below, reach + above

    def span(self, tail: float) -> tuple[float, float]:
        low, high = self.loss(np.array(self._ends(tail)))
        return float(low), float(high)

    def points(self, count: int, tail: float) -> Array:
        return np.unique(np.maximum.accumulate(self.loss(np.linspace(*self._ends(tail), count))))

    @property
    def mass_error(self) -> float:
        return _CELL_ERROR

    def _outcome(self, epsilon: float) -> float:
        """The outcome at which the loss reaches one value, by bisection on plain floats from its place in the table."""
        x, known = self._table
        place = int(np.searchsorted(known, epsilon))
        if place in (0, len(x)):
            return -math.inf if place == 0 else math.inf
        return bisect(lambda at: self._loss_at(at) < epsilon, float(x[place]), float(x[place - 1]), steps=64)

    def _loss_at(self, x: float) -> float:
        return _log_ratio_at(self.up, x) - _log_ratio_at(self.down, -x)

    def _tails_at(self, epsilon: float) -> tuple[float, float]:
        """P(L > epsilon) and exp(epsilon) Q(L > epsilon), each with all its leading digits."""
        x = self._outcome(epsilon)
        p, q = (
            math.fsum(w * float(ndtr(sign * s - x)) for s, w in zip(*side, strict=True))
            for sign, side in ((1.0, self.up), (-1.0, self.down))
        )
        return p, exp_capped(epsilon) * q

    def enclose(self, epsilon: float) -> Enclosure:
        p, weighted = self._tails_at(epsilon)
        error = _TAIL_ERROR * (p + weighted)
        return max(0.0, p - weighted - error), min(1.0, max(0.0, p - weighted) + error + TINY)

    @kept_property
    def _mirrored(self) -> "MixtureVariable":
        """The pair (Q, P): outcomes change their sign."""
        return self if self.symmetric else MixtureVariable(self.down, self.up)

    def enclose_mirrored(self, epsilon: float) -> Enclosure:
        return self._mirrored.enclose(epsilon)

    @property
    def least(self) -> float:
        return 1e-250


def _log_ratio(mixture: Mixture, x: Array) -> tuple[Array, Array, Array]:
    """ln sum of w exp(a x - a^2/2), its derivative in x, and the size of what was added: the error is a few units of it.

    Near 0 the sum of w (exp(.) - 1) keeps the digits of small losses.
    """
    if mixture == NOTHING:
        nothing = np.zeros(len(x))
        return nothing, nothing, nothing
    shifts, weights = (np.array(side)[:, None] for side in mixture)
    exponents = shifts * x[None, :] - 0.5 * shifts * shifts
    top = exponents.max(axis=0)
    scaled = weights * np.exp(exponents - top)
    total = scaled.sum(axis=0)
    slope = (shifts * scaled).sum(axis=0) / total
    far = top + np.log(total)
    growth = weights * np.expm1(np.minimum(exponents, 30.0))
    near = growth.sum(axis=0)
    small = (np.abs(near) < 0.5) & (top < 30.0)
    value = np.where(small, np.log1p(np.where(small, near, 0.0)), far)
    size = np.where(small, 2.0 * np.abs(growth).sum(axis=0), 1.0 + np.abs(top))
    return value, slope, size


def _log_ratio_at(mixture: Mixture, x: float) -> float:
    """ln of the ratio of a mixture to its centre at one outcome."""
    exponents = [a * x - 0.5 * a * a for a in mixture[0]]
    top = max(exponents)
    if top < 30.0:
        near = math.fsum(w * math.expm1(t) for t, w in zip(exponents, mixture[1], strict=True))
        if abs(near) < 0.5:
            return math.log1p(near)
    return top + math.log(math.fsum(w * math.exp(t - top) for t, w in zip(exponents, mixture[1], strict=True)))


def _heaviest(mixture: Mixture, mass: float) -> float:
    """The smallest shift that at most `mass` lies beyond (shifts increase)."""
    beyond = np.cumsum(np.array(mixture[1])[::-1])
    return float(mixture[0][-1 - min(int(np.searchsorted(beyond, mass, side="right")), len(beyond) - 1)])


def binomial_mixture(count: int, q: float, shift: float) -> Mixture:
    """Each of `count` equal shifts happens with probability q, independently: their number is binomial.

    Probabilities follow from one another, from the likeliest outwards: each step costs a few units in the last place.
    Those below 1e-290 are left out.

    >>> binomial_mixture(2, 0.5, 1.5)
    ((0.0, 1.5, 3.0), (0.25, 0.5, 0.25))
    """
    if q >= 1.0:
        return (count * shift,), (1.0,)
    odds, mode = q / (1.0 - q), min(count, int((count + 1) * q))
    weights = {mode: 1.0}
    for j in range(mode, count):
        weights[j + 1] = weights[j] * ((count - j) * odds / (j + 1))
        if weights[j + 1] < _LEAST_WEIGHT:  # relative to the likeliest, and falling
            break
    for j in range(mode, 0, -1):
        weights[j - 1] = weights[j] * (j / ((count - j + 1) * odds))
        if weights[j - 1] < _LEAST_WEIGHT:
            break
    total = math.fsum(weights.values())
    seen = [j for j in sorted(weights) if weights[j] / total > _LEAST_WEIGHT]
    return tuple(shift * j for j in seen), tuple(weights[j] / total for j in seen)


def mixture_rdp(variable: MixtureVariable, alpha: float) -> float:
    """The larger Rényi divergence of order alpha of both directions, by the trapezoidal rule on the whole line.

    With r = dP/dQ the moment minus one is E_Q[r^a - 1 - a (r - 1)], where nothing is negative. The integrand is analytic in
    a strip, so the rule converges geometrically; a relative 1e-12 is added.

    >>> from privet.privacy.poisson_sampled import sampled_gaussian_rdp
    >>> pair = MixtureVariable(((0.0, 1.0), (0.99, 0.01)), ((0.0,), (1.0,)))
    >>> abs(mixture_rdp(pair, 16.0) / sampled_gaussian_rdp(0.01, 1.0, 16.0) - 1.0) < 1e-10
    True
    """
    above, below = max(variable.up[0]), max(variable.down[0])
    widest = above + below
    if widest == 0.0:
        return 0.0
    if widest > _LARGEST_SHIFT or alpha * widest > _MOST_ORDER:
        return _far_rdp(variable, alpha)
    step = min(0.25, 0.4 / widest)
    x = np.arange(-9.5 - widest, 9.5 + (1.0 + alpha) * widest + step, step)
    both = (variable, MixtureVariable(variable.down, variable.up))
    return max(_log_moment(pair, alpha, x, step) for pair in both) * (1.0 + 1e-12) / (alpha - 1.0)


def _far_rdp(variable: MixtureVariable, alpha: float) -> float:
    """A closed bound for large orders: the norm of a sum of ratios is at most the sum of their norms (Minkowski).

    For the mirror image Q/P is at most 1 over the probability of no shift, and the pair is (largest shift)-GDP.
    """
    if variable.down != NOTHING:
        return math.inf
    shifts, weights = (np.array(side) for side in variable.up)
    exponents = np.log(weights) + 0.5 * (alpha - 1.0) * shifts * shifts
    top = float(exponents.max())
    forward = alpha / (alpha - 1.0) * (top + math.log(float(np.exp(exponents - top).sum())))
    least = -math.log(float(weights[0])) if shifts[0] == 0.0 else math.inf
    return max(forward, min(least, 0.5 * alpha * float(shifts[-1]) ** 2)) * (1.0 + 1e-12)


def _log_moment(pair: MixtureVariable, alpha: float, x: Array, step: float) -> float:
    """ln E_Q[(dP/dQ)^alpha], from outcomes evenly spaced by `step`."""
    log_weight = _log_ratio(pair.down, -x)[0] - 0.5 * x * x + math.log(step / math.sqrt(2.0 * math.pi))
    return log_excess_moment(pair.loss(x), log_weight, alpha)


def log_excess_moment(loss: Array, log_weight: Array, alpha: float) -> float:
    """ln sum of w e^{a l}, for weights of one and a sum of w e^l of one: from the sum of w (e^{al} - 1 - a (e^l - 1)).

    What the subtraction may cancel is charged.

    >>> round(log_excess_moment(np.log([1.5, 0.5]), np.log([0.5, 0.5]), 2.0), 12) == round(math.log(1.25), 12)
    True
    """
    exponent = alpha * loss
    top = float(np.max(exponent + log_weight))
    if top > 20.0:
        return top + math.log(float(np.exp(exponent + log_weight - top).sum()))
    near = exponent < 30.0
    if near.all():
        return math.log1p(_near_excess(exponent, log_weight, alpha))
    large, weight = exponent[~near], log_weight[~near]  # e^{al} (1 - a e^{l - al} + (a - 1) e^{-al})
    shrunk = 1.0 - alpha * np.exp(large / alpha - large) + (alpha - 1.0) * np.exp(-large)
    far = np.exp(np.minimum(large + weight, 40.0)) * np.maximum(shrunk, 0.0) + TINY
    return math.log1p(_near_excess(exponent[near], log_weight[near], alpha) + float(far.sum()))


def _near_excess(exponent: Array, log_weight: Array, alpha: float) -> float:
    """Sum of w (e^{al} - 1 - a (e^l - 1)) over moderate exponents a l, with what the subtraction may cancel."""
    first, second = np.expm1(exponent), alpha * np.expm1(exponent / alpha)
    excess = np.maximum(first - second, 0.0) + 4.0 * UNIT_ROUNDOFF * (np.abs(first) + np.abs(second))
    return float((excess * np.exp(log_weight)).sum())


@dataclass(frozen=True, eq=False)
class MixturePairLoss(PrivacyLoss):
    """The price whose worst pair is a `MixtureVariable`: what groups of sampled Gaussian releases cost.

    It answers for `Grouped` and has no JSON form of its own.

    >>> MixturePairLoss(((0.0, 2.0), (0.5, 0.5)), ((0.0,), (1.0,))).gdp()
    2.0
    """

    kind = "mixture_pair"
    exact = True

    up: Mixture
    down: Mixture

    @kept_property
    def _forward(self) -> LossVariable:
        if self.gdp() == 0.0:
            return AtomicVariable(np.zeros(1), np.ones(1), np.ones(1))
        return MixtureVariable(self.up, self.down)

    def pure(self) -> float:
        return 0.0 if self.gdp() == 0.0 else math.inf

    def gdp(self) -> float:
        return max(self.up[0]) + max(self.down[0])

    def gaussian(self) -> float | None:
        return self.gdp() if len(self.up[0]) == len(self.down[0]) == 1 else None

    def zcdp(self) -> ZcdpBound:
        return ZcdpBound(self.gdp() ** 2 / 2.0, 0.0)

    def rdp(self, alphas: Array) -> RdpCurve:
        orders = orders_of(alphas)
        pair = MixtureVariable(self.up, self.down)
        values = np.reshape([mixture_rdp(pair, float(a)) for a in orders.ravel()], orders.shape)
        return RdpCurve(np.minimum(values, orders * self.zcdp().rho), 0.0)

    def variable(self, direction: Direction) -> LossVariable:
        return self._forward if direction == "remove" else self._forward.reversed()

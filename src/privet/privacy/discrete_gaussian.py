"""The discrete Gaussian mechanism on the integers."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from privet._cache import remember
from privet._numerics import TINY, Array, exp_capped, ndtri, ratio_up, square_up
from privet._validate import above, count, set_frozen
from privet.errors import NoGuarantee
from privet.privacy.loss import PrivacyLoss, ZcdpBound
from privet.privacy.serial import register
from privet.privacy.variable import AtomicVariable, Direction, Enclosure, LossVariable, SymmetricVariable

_LISTED_SIGMA = 500.0  # up to here the outcomes are listed one by one
_MOST_OUTCOMES = 1_000_000  # a list of them takes some ten milliseconds and mebibytes
_LARGEST_SIGMA = 1e8  # beyond, the difference of P and Q drowns in rounding
_NARROW = 0.2  # run times place, in deviations: up to there the series of `_run` has all digits
_MASS_ERROR = 1e-12  # relative, of the mass of a tail
# for such sigma the sum of exp(-x^2/(2 sigma^2)) is sigma sqrt(2 pi) to hundreds of digits
_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)
_REACH = 39.0  # standard deviations: the mass outside is below 1e-330


@register
@dataclass(frozen=True, eq=False)
class DiscreteGaussianLoss(PrivacyLoss):
    """Integer noise with Pr[x] proportional to exp(-x^2 / (2 sigma^2)), on an integer query.

    **Guarantee:** rho-zCDP with rho = sensitivity^2/(2 sigma^2), in every dimension; for a scalar query with integer
    sensitivity also the exact pair, by summing the law. In several dimensions no scalar pair dominates: zCDP only.
    **Sensitivity:** l2; an integer when dimension is 1. **Reference:** Canonne, Kamath & Steinke 2020, theorem 4.
    **Proof:** docs/proofs/privacy/discrete_gaussian.md.

    >>> DiscreteGaussianLoss(sigma=4.0).zcdp().rho
    0.03125
    """

    kind = "discrete_gaussian"
    on_a_line = True
    exact = True

    sigma: float = field(metadata={"help": "its parameter sigma"})
    sensitivity: int = field(default=1, metadata={"help": "the integer sensitivity"})
    dimension: int = field(default=1, metadata={"help": "number of coordinates"})

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(
            self,
            sigma=above("sigma", self.sigma, 0.0),
            sensitivity=count("sensitivity", self.sensitivity, 1),
            dimension=count("dimension", self.dimension, 1),
        )

    def zcdp(self) -> ZcdpBound:
        return ZcdpBound(square_up(ratio_up(self.sensitivity, self.sigma)) / 2.0, 0.0)

    def variable(self, direction: Direction) -> LossVariable:
        if self.dimension > 1 or self.sigma > _LARGEST_SIGMA:
            raise NoGuarantee(
                "the exact curve of discrete Gaussian noise is known for scalar queries with sigma up to 1e8; "
                "use the zCDP or RDP accountant, or rounded Gaussian noise (GaussianLoss)"
            )
        if self.sensitivity > _MOST_OUTCOMES:
            raise NoGuarantee(
                f"with a sensitivity above {_MOST_OUTCOMES} the outcomes of discrete Gaussian noise are too many to list; "
                "use the zCDP or RDP accountant"
            )
        return _shifted_discrete_gaussian(self.sigma, self.sensitivity)

    def grouped(self, size: int) -> PrivacyLoss:
        return DiscreteGaussianLoss(self.sigma, self.sensitivity * size, self.dimension, unit=self.unit)

    @classmethod
    def examples(cls) -> Iterable[PrivacyLoss]:
        yield cls(2.0)
        yield cls(3.0, sensitivity=2)
        yield cls(3000.0, sensitivity=2000)
        yield cls(5.0, sensitivity=2, dimension=4)


@remember(6_000_000)
def _shifted_discrete_gaussian(sigma: float, shift: int) -> LossVariable:
    """The law at 0 against the law at `shift`: L(x) = shift (shift - 2x) / (2 sigma^2), a lattice."""
    if sigma > _LISTED_SIGMA:
        return DiscreteNormalVariable(sigma, shift)
    reach = math.ceil(_REACH * sigma) + shift
    x = np.arange(reach + shift, -reach - 1, -1, dtype=float)  # decreasing x: increasing loss
    p = np.exp(-0.5 * (x / sigma) ** 2)
    total = p.sum()
    q = np.exp(-0.5 * ((x - shift) / sigma) ** 2) / total
    p /= total
    step = shift / (2.0 * sigma * sigma)
    losses = step * (shift - 2.0 * x)
    seen = (p > 0.0) | (q > 0.0)  # a mass that underflows is tiny, not impossible: its loss stays finite
    return AtomicVariable(losses[seen], p[seen], q[seen], 0.0, 0.0, (step * shift, 2.0 * step))


@dataclass(frozen=True, eq=False)
class DiscreteNormalVariable(SymmetricVariable):
    """The pair of a discrete Gaussian with too many outcomes to list: masses of runs of outcomes, summed when asked for.

    The loss is linear in the outcome, so a cell of losses is a run of integers. The pair is its own mirror image.

    >>> variable = DiscreteNormalVariable(1000.0, 1)
    >>> round(float(variable.delta(0.0)) * 1000.0 * math.sqrt(2.0 * math.pi), 6)  # the mass of one outcome
    1.0
    """

    sigma: float
    shift: int

    def cells(self, nodes: Array) -> tuple[Array, Array]:
        # L(x) <= n from x = shift/2 - n sigma^2/shift on; increasing losses are decreasing outcomes
        reach = _REACH * self.sigma + 2.0 * self.shift + 2.0
        with np.errstate(over="ignore", invalid="ignore"):
            first = np.ceil(np.clip(0.5 * self.shift - nodes * (self.sigma**2 / self.shift), -reach, reach))[::-1]
        return self._runs(first)[::-1], self._runs(first - self.shift)[::-1]

    def _runs(self, first: Array) -> Array:
        """P-mass of x < first[0], first[0] <= x < first[1], ..., x >= first[-1]."""
        mass = np.empty(len(first) + 1)
        count = np.diff(first)
        middle = (0.5 * (first[1:] + first[:-1]) - 0.5) / self.sigma
        narrow = count / self.sigma * np.maximum(np.abs(middle), 3.0) <= _NARROW
        mass[1:-1] = np.where(narrow, _run(self.sigma, middle, count), 0.0)
        wide = np.concatenate(([True], ~narrow, [True]))
        low, high = np.concatenate(([-np.inf], first))[wide], np.concatenate((first, [np.inf]))[wide]
        left = high <= 0.0  # on the side of the smaller tail; x < a is -x > -a
        near, far = np.where(left, 1.0 - high, low), np.where(left, 1.0 - low, high)
        mass[wide] = np.maximum(self._above(near) - self._above(far), 0.0)
        return mass

    def _above(self, first: Array) -> Array:
        """Mass of x >= first: whole blocks from a table, the rest of one block by its series."""
        size, starts, tails = _blocks(self.sigma)
        positive = np.clip(np.where(first > 0.0, first, 1.0 - first), 1.0, starts[-1])
        place = np.ceil((positive - 1.0) / size).astype(np.int64)
        rest = starts[place] - positive
        mass = _run(self.sigma, (positive + 0.5 * rest - 0.5) / self.sigma, rest) + tails[place]
        return np.where(first > 0.0, mass, 1.0 - mass)

    def span(self, tail: float) -> tuple[float, float]:
        mu = self.shift / self.sigma
        # the tail lies at most two outcomes beyond that of the normal law
        reach = mu * (mu / 2.0 - ndtri(max(tail, TINY)) + 2.0 / self.sigma)
        return -reach, reach

    @property
    def smooth(self) -> bool:
        return False  # many steps, too many to list

    @property
    def mass_error(self) -> float:
        return _MASS_ERROR

    def enclose(self, epsilon: float) -> Enclosure:
        p, q = (float(tail) for tail in self.tails(epsilon))
        weighted = exp_capped(epsilon) * q
        error = _MASS_ERROR * (p + weighted)
        return max(0.0, p - weighted - error), min(1.0, max(0.0, p - weighted) + error + TINY)

    @property
    def least(self) -> float:
        return 1e-250


def _run(sigma: float, middle: Array, count: Array) -> Array:
    """Mass of `count` consecutive outcomes around `middle` (in units of sigma), count max(|middle|, 3) <= 0.2 sigma.

    The density is expanded around the middle: Hermite polynomials times the sums of even powers of the distances,
    n (n^2 - 1)/12, n (n^2 - 1)(3 n^2 - 7)/240, ...; the first term left out is below 1e-13 of the sum.
    """
    square, n2 = middle * middle, count * count
    he2 = square - 1.0
    he4 = (square - 6.0) * square + 3.0
    he6 = ((square - 15.0) * square + 45.0) * square - 15.0
    scale = 1.0 / (sigma * sigma)
    inner = he4 * (3.0 * n2 - 7.0) / 5760.0 + scale * he6 * ((3.0 * n2 - 18.0) * n2 + 31.0) / 967680.0
    series = 1.0 + scale * (n2 - 1.0) * (he2 / 24.0 + scale * inner)
    return np.exp(-0.5 * square) * series * (count * _DENSITY / sigma)


@lru_cache(maxsize=8)
def _blocks(sigma: float) -> tuple[float, Array, Array]:
    """Size of the blocks, their first outcomes from 1 to the end of the law, and the mass from each of them on."""
    size = float(math.floor(_NARROW * sigma / _REACH))
    starts = np.arange(1.0, _REACH * sigma + 2.0 * size, size)
    masses = _run(sigma, (starts + 0.5 * size - 0.5) / sigma, np.full(len(starts), size))
    return size, starts, np.cumsum(masses[::-1])[::-1]

"""Objective perturbation of a softmax loss: the exact minimiser over several classes, with a random linear term."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from privet._cache import kept_property
from privet._numerics import Array, log_ndtr, round_up
from privet._validate import count, set_frozen
from privet.privacy.families.normal import gaussian_delta
from privet.privacy.families.perturbation import UP, curve_nodes, perturbation_terms, perturbed_pair
from privet.privacy.loss import PrivacyLoss, RdpCurve, orders_of
from privet.privacy.serial import register
from privet.privacy.unit import Unit
from privet.privacy.variable import AtomicVariable, Direction, LossVariable

_HIGHER = 2.0 ** np.arange(7)  # times the order: any higher order is a bound, the best of these is taken


@register
@dataclass(frozen=True, eq=False)
class SoftmaxPerturbationLoss(PrivacyLoss):
    """The minimiser of sum softmax(W x_i; y_i) + (Lambda/2)|W|^2 + b W over one row of weights for each of `classes`
    classes, for b normal with standard deviation `noise_multiplier` times sqrt(2) B, the bound on the gradient of a record
    whose row has length at most B.

    `curvature` is B^2/Lambda. One record changes the Hessian in classes - 1 directions, so the determinants of neighbours
    differ by up to (1 + curvature/classes)^(classes - 1): the price of one margin (`ObjectivePerturbationLoss`) would not
    hold. Lambda must be positive on every weight, intercepts included, and there is no constraint.

    **Guarantee:** dominating pairs, one for each direction: a union over the corners of the simplex of probabilities.
    **Sensitivity:** sqrt(2) B, under add/remove; under replace both records move, and that is priced here.
    **Reference:** Chaudhuri, Monteleoni & Sarwate 2011; Kifer, Smith & Thakurta 2012 (one margin).
    **Proof:** docs/proofs/privacy/softmax_perturbation.md.

    >>> loss = SoftmaxPerturbationLoss(5.0, 0.25, 10)
    >>> round(float(loss.profile(1.0)), 7)
    3.07e-05
    """

    kind = "softmax_perturbation"

    noise_multiplier: float = field(metadata={"help": "standard deviation over the bound on the gradient of a record"})
    curvature: float = field(metadata={"help": "B^2/Lambda, e.g. 0.25"})
    classes: int = field(metadata={"help": "number of classes, e.g. 10"})

    def __post_init__(self) -> None:
        super().__post_init__()
        noise, curvature = perturbation_terms(self.noise_multiplier, self.curvature, self.unit)
        set_frozen(self, noise_multiplier=noise, curvature=curvature, classes=count("classes", self.classes, 2))

    @kept_property
    def _length(self) -> float:
        """The distance by which one gradient, or the difference of two, moves, in standard deviations, rounded up."""
        return round_up((2.0 if self._replaces else 1.0) / self.noise_multiplier)

    @kept_property
    def _jacobian(self) -> float:
        """The most that the determinants of two Hessians differ by, as a logarithm, rounded up."""
        return round_up((self.classes - 1) * math.log1p(self.curvature / self.classes), 8.0)

    @property
    def _replaces(self) -> bool:
        return self.unit.relation == "replace"

    @property
    def _corners(self) -> int:
        """The number of ways to move, besides none: corners of the simplex, or of two of them."""
        return self.classes**2 - 1 if self._replaces else self.classes - 1

    def _delta(self, epsilon: Array, direction: Direction) -> Array:
        e = epsilon - (self._jacobian if self._replaces or direction == "remove" else 0.0)
        from_zero = np.minimum(1.0, self._corners * gaussian_delta(self._length, np.maximum(e, 0.0)))
        below = np.minimum(e, 0.0)  # there the smallest loss, 0, counts too
        return np.asarray(-np.expm1(below) + np.exp(below) * from_zero)

    def bound(self, epsilon: float, *, quick: bool = False) -> float:
        """delta(epsilon) by the theorem itself, for calibration: never above `profile`, which connects such points. It has
        a closed form, so `quick` changes nothing.
        """
        return float(self._delta(np.array([float(epsilon)]), "remove")[0]) * UP

    def variable(self, direction: Direction) -> LossVariable:
        """A pair that lies above the losses of the proof: for gamma >= 1 by those of its direction, below by the mirror
        image of the other. Both directions are mirror images of each other, but for rounding.
        """
        return _pair(self, "remove" if self._replaces else direction)

    def rdp(self, alphas: Array) -> RdpCurve:
        """Of the union over corners, at this order or a higher one: divergences rise with the order."""
        orders = orders_of(alphas) - 1.0
        return RdpCurve(np.min([self._moments(times * orders) for times in _HIGHER], axis=0), 0.0)

    def _moments(self, u: Array) -> Array:
        """E exp(u max(0, l_1, l_2, ...)) is at most 1 and, for each corner, E exp(u max(0, l_j)) - 1."""
        m = self._length
        # E exp(u max(0, mZ + m^2/2)) = Phi(-m/2) + exp(u m^2/2 + (u m)^2/2) Phi(m/2 + u m)
        high = u * m * m / 2.0 + 0.5 * (u * m) ** 2 + log_ndtr(m / 2.0 + u * m)
        one = np.maximum(np.logaddexp(float(log_ndtr(-m / 2.0)), high) * UP, 1e-12)  # the logarithm of one corner's
        more = math.log(self._corners) + one + np.log(-np.expm1(-one))
        return np.asarray((self._jacobian + np.logaddexp(0.0, more) / u) * UP)

    @classmethod
    def examples(cls) -> Iterable[PrivacyLoss]:
        yield cls(5.0, 0.25, 10)
        yield cls(3.0, 2.0, 3)
        yield cls(6.0, 0.1, 4, unit=Unit("replace"))


@lru_cache(maxsize=64)
def _pair(loss: SoftmaxPerturbationLoss, direction: Direction) -> AtomicVariable:
    """Bounds on the curve at many epsilons, connected; of each direction by itself, so that deltas keep their digits."""
    epsilons = curve_nodes(loss._jacobian, loss._length)
    return perturbed_pair(loss._delta, epsilons, direction, replaces=loss._replaces)

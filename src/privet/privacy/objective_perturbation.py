"""Objective perturbation: the exact minimiser of a convex objective to which a random linear term was added."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, get_args

import numpy as np

from privet._cache import kept_property
from privet._numerics import LARGEST_EXPONENT, TINY, Array, log_ndtr, ndtr, round_up, special
from privet._validate import set_frozen
from privet.errors import InvalidParameter
from privet.privacy.families.normal import gaussian_delta
from privet.privacy.families.perturbation import (
    FARTHEST,
    UP,
    curve_nodes,
    perturbation_terms,
    perturbed_pair,
)
from privet.privacy.loss import PrivacyLoss, RdpCurve, orders_of
from privet.privacy.serial import register
from privet.privacy.unit import Unit
from privet.privacy.variable import AtomicVariable, Direction, LossVariable

Shape = Literal["logistic", "fixed_sign", "general"]
_CELLS = 2**15  # of an integral that is rounded up: more of them are slower and tighter, never unsafe
_FEW_CELLS = 2**12  # enough for calibration: noise is larger by less than one in ten thousand
_PLACES, _FEW_PLACES = 4_097, 513  # of the worst case along a line, which is bounded between them: speed and width only
_SUMS = 1e-12  # above what sums of as many terms as there are cells lose, in parts of the mass


@register
@dataclass(frozen=True, eq=False)
class ObjectivePerturbationLoss(PrivacyLoss):
    """The minimiser of sum psi(x_i w; y_i) + (Lambda/2)|w|^2 + b w, for b normal with standard deviation
    `noise_multiplier` times L, the bound on |psi'| |x|.

    `curvature` is what one record can add to the Hessian, over Lambda: B^2/Lambda for the logistic loss with rows of
    length at most B, beta/Lambda else (beta the bound on psi'' |x|^2). `shape` is what is known of psi': "logistic",
    "fixed_sign" (for a given label psi' never changes its sign, as for the Huber hinge), or "general".

    The output density has a Jacobian, which differs between neighbours: noise alone does not pay for it. Lambda must be
    positive on every coordinate, the intercept included, and there is no constraint.

    **Guarantee:** dominating pairs, one for each direction; below the Gaussian curve wherever Lambda >= B^2/epsilon.
    **Sensitivity:** L, under add/remove; under replace both records move, and that is priced here.
    **Reference:** Chaudhuri, Monteleoni & Sarwate 2011; Kifer, Smith & Thakurta 2012; Redberg, Koskela & Wang 2023.
    **Proof:** docs/proofs/privacy/objective_perturbation.md.

    >>> loss = ObjectivePerturbationLoss(4.5772, 2.0, "logistic")
    >>> bool(9.9e-7 < loss.profile(1.0) < 1.01e-6)
    True
    """

    kind = "objective_perturbation"

    noise_multiplier: float = field(metadata={"help": "standard deviation over the bound on the gradient of a record"})
    curvature: float = field(metadata={"help": "B^2/Lambda for the logistic loss, else beta/Lambda"})
    shape: Shape = field(default="general", metadata={"help": "logistic, fixed_sign or general"})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shape not in get_args(Shape):
            raise InvalidParameter(f"shape must be one of {', '.join(get_args(Shape))}, got {self.shape!r:.40}")
        noise, curvature = perturbation_terms(self.noise_multiplier, self.curvature, self.unit)
        set_frozen(self, noise_multiplier=noise, curvature=curvature)

    @kept_property
    def _a(self) -> float:
        """The length of one record's gradient in standard deviations, rounded up."""
        return round_up(1.0 / self.noise_multiplier)

    @kept_property
    def _jacobian(self) -> float:
        """The most that the determinants of two Hessians differ by, as a logarithm, rounded up."""
        return round_up(math.log1p(self.curvature / 4.0 if self.shape == "logistic" else self.curvature), 4.0)

    @property
    def _replaces(self) -> bool:
        return self.unit.relation == "replace"

    def _delta(self, epsilon: Array, direction: Direction, cells: int = _CELLS) -> Array:
        a, jacobian = self._a, self._jacobian
        if self._replaces:
            e = epsilon - jacobian
            return _rayleigh(e, a) if self.shape == "general" else _folded(e, 2.0 * a)
        if direction == "add":
            return _two_sided(epsilon, a) if self.shape == "general" else _folded(epsilon, a)
        if self.shape == "general":
            return _two_sided(epsilon - jacobian, a)
        loose = _folded(epsilon - jacobian, a)
        return (
            loose if self.shape == "fixed_sign" else np.minimum(loose, _joint(epsilon, self._a, self.curvature, cells))
        )

    def bound(self, epsilon: float, *, quick: bool = False) -> float:
        """delta(epsilon) by the theorem itself, for calibration: never above `profile`, which connects such points; `quick`
        integrates over fewer cells, from above too.
        """
        at, cells = np.array([float(epsilon)]), _FEW_CELLS if quick else _CELLS
        return float(max(self._delta(at, "remove", cells)[0], self._delta(at, "add")[0])) * UP

    def connected(self, epsilon: float) -> float:
        """An upper bound of `profile`, for calibration: it lies below the line between the two points around epsilon
        through which it is laid. Without the other points that takes a tenth of the time.
        """
        nodes = _nodes(self)
        nodes = nodes[nodes <= LARGEST_EXPONENT]  # beyond these it stays as it is
        place = min(max(int(np.searchsorted(nodes, epsilon)), 1), len(nodes) - 1)
        ends = nodes[place - 1 : place + 1]
        highest = np.maximum(self._delta(ends, "remove"), self._delta(ends, "add")) * UP
        inside = min(max(epsilon, ends[0]), ends[1])
        share = math.expm1(inside - ends[0]) / math.expm1(ends[1] - ends[0])
        return float(highest[0] + share * (highest[1] - highest[0])) * UP

    def variable(self, direction: Direction) -> LossVariable:
        """A pair that lies above the losses of the proof: for gamma >= 1 by those of its direction, below by the mirror
        image of the other. Both directions are mirror images of each other, but for rounding.
        """
        return _pair(self, "remove" if self._replaces else direction)

    def rdp(self, alphas: Array) -> RdpCurve:
        """From the losses of the proof in closed form; for the logistic loss from the one of fixed sign."""
        orders = orders_of(alphas)
        a, jacobian = self._a, self._jacobian
        u = orders - 1.0
        if self._replaces and self.shape == "general":
            s = 2.0 * a * u  # E exp(s chi_2) = 1 + s sqrt(2 pi) exp(s^2/2) Phi(s)
            moments = np.logaddexp(0.0, np.log(s * math.sqrt(2.0 * math.pi)) + 0.5 * s * s + log_ndtr(s))
            return RdpCurve((jacobian + 2.0 * a * a + moments / u) * UP, 0.0)
        if self.shape == "general":
            moments = math.log(2.0) + 0.5 * (u * a) ** 2 + log_ndtr(u * a)
            return RdpCurve((jacobian + a * a / 2.0 + moments / u) * UP, 0.0)
        m = 2.0 * a if self._replaces else a
        # E exp(u max(0, mZ + m^2/2)) = Phi(-m/2) + exp(u m^2/2 + (u m)^2/2) Phi(m/2 + u m)
        high = u * m * m / 2.0 + 0.5 * (u * m) ** 2 + log_ndtr(m / 2.0 + u * m)
        moments = np.logaddexp(float(log_ndtr(-m / 2.0)), high)
        return RdpCurve((jacobian + moments / u) * UP, 0.0)

    @classmethod
    def examples(cls) -> Iterable[PrivacyLoss]:
        yield cls(4.577, 2.0, "logistic")
        yield cls(3.0, 0.25, "fixed_sign")
        yield cls(2.0, 0.5)
        yield cls(5.0, 1.0, "logistic", unit=Unit("replace"))
        yield cls(6.0, 0.1, "general", unit=Unit("replace"))


def _nodes(loss: ObjectivePerturbationLoss) -> Array:
    length = loss._a * (2.0 if loss._replaces else 1.0)
    return curve_nodes(loss._jacobian, length)


@lru_cache(maxsize=64)
def _pair(loss: ObjectivePerturbationLoss, direction: Direction) -> AtomicVariable:
    return perturbed_pair(loss._delta, _nodes(loss), direction, replaces=loss._replaces)


def _joint(epsilon: Array, a: float, kappa: float, cells: int = _CELLS) -> Array:
    """The logistic loss, whose slope t and curvature t(1 - t) cannot both be worst: the integral of 1 - exp(epsilon - l(z))
    over the normal law, where l(z) > epsilon, from above, cell by cell.
    """
    losses, rest, weighted, bends, last = _joint_sums(a, kappa, cells, *_window(epsilon, a, kappa, cells))
    first = np.searchsorted(losses, epsilon)  # they rise
    at = np.minimum(first, len(losses) - 1)
    whole = rest[at] - np.exp(np.minimum(epsilon, LARGEST_EXPONENT)) * weighted[at]
    kink = np.maximum(at - 1, 0)
    risen = -np.expm1(np.minimum(epsilon - losses[at], 0.0))
    cut = np.where((first > 0) & (first < len(losses)), last[kink] * np.minimum(risen, risen / 2.0 + bends[kink]), 0.0)
    return np.asarray(np.maximum(whole + cut, 0.0) * UP + _SUMS * rest[at] + 2.0 * TINY)


def _window(epsilon: Array, a: float, kappa: float, cells: int) -> tuple[int, int]:
    """The first cell and the end of those that are looked at: all, or for one or two epsilons those that count there.

    The loss is between max(0, az + a^2/2) and that plus ln(1 + kappa/4): it reaches epsilon between two places. Eight
    standard deviations beyond both nothing is left that would matter, and it counts as if its loss had no end.
    """
    if epsilon.size > 2:
        return 0, cells
    reached = (float(epsilon.max()) - a * a / 2.0) / a
    least = float(epsilon.min()) - math.log1p(kappa / 4.0) * UP
    start = (least - a * a / 2.0) / a if least > 0.0 else -FARTHEST
    width = 2.0 * FARTHEST / cells
    ends = start, max(reached, 0.0) + 8.0
    first, last = (int(min(max((at + FARTHEST) / width, 0.0), cells - 1.0)) for at in ends)
    return max(first - 1, 0), last + 1


@lru_cache(maxsize=64)
def _joint_sums(a: float, kappa: float, cells: int, first: int, end: int) -> tuple[Array, Array, Array, Array, Array]:
    """The loss at the edges of the cells from `first` to `end`; masses, and masses times exp(-loss) from below, from each
    edge on; how far the mean over a cell can lie from that of its ends; the masses.

    Over a cell the loss is convex, hence below its chord, and exp(-chord) is convex: above its own chord less
    (rise^2/8) exp(-loss at the left). The mean position under the normal law is off the middle by less than |z| width/12
    to the side of 0, in widths.
    """
    z, masses, beyond = _grid(cells)[first : end + 1], _normal_cells(cells)[first:end], _normal_cells(cells)[end:].sum()
    places = _PLACES if cells > _FEW_CELLS else _FEW_PLACES
    losses = np.maximum.accumulate(_worst_loss(z, a, kappa, places) * (1.0 + 1e-13))
    with np.errstate(under="ignore"):
        left, right = np.exp(-losses[:-1]), np.exp(-losses[1:])
        rise = np.diff(losses)
        fall = -np.expm1(-rise)
        bends = rise * rise / 8.0 + fall * np.maximum(-z[:-1], 0.0) * (z[1] - z[0]) / 11.0
        mean = np.maximum(right, (left + right) / 2.0 - bends * left) * masses
    rest = np.concatenate((np.cumsum(masses[::-1])[::-1], [0.0])) + beyond
    weighted = np.concatenate((np.cumsum(mean[::-1])[::-1], [0.0]))
    return losses, rest, weighted, bends, masses


@lru_cache(maxsize=2)
def _grid(cells: int) -> Array:
    return np.linspace(-FARTHEST, FARTHEST, cells + 1)


@lru_cache(maxsize=2)
def _normal_cells(cells: int) -> Array:
    """The mass of the normal law in each cell, in the tail that keeps its digits."""
    z = _grid(cells)
    low, high = np.asarray(ndtr(z)), np.asarray(ndtr(-z))
    return np.where(z[1:] <= 0.0, low[1:] - low[:-1], high[:-1] - high[1:])


def _folded(epsilon: Array, m: float) -> Array:
    """delta of the loss max(0, mZ + m^2/2): the Gaussian curve from 0 on, and what any pair loses below."""
    below = np.minimum(epsilon, 0.0)
    at_zero = float(gaussian_delta(m, 0.0))
    return np.where(
        epsilon < 0.0, -np.expm1(below) + np.exp(below) * at_zero, gaussian_delta(m, np.maximum(epsilon, 0.0))
    )


def _two_sided(epsilon: Array, a: float) -> Array:
    """delta of the loss a|Z| + a^2/2."""
    least = a * a / 2.0
    beyond = 2.0 * gaussian_delta(a, np.maximum(epsilon, least))
    gap = np.minimum(epsilon - least, 0.0)
    return np.where(epsilon < least, -np.expm1(gap) + np.exp(gap) * 2.0 * float(gaussian_delta(a, least)), beyond)


def _rayleigh(epsilon: Array, a: float) -> Array:
    """delta of the loss 2 a R + 2 a^2, R of the Rayleigh law."""
    least = 2.0 * a * a
    r = np.maximum(epsilon - least, 0.0) / (2.0 * a)
    far = r + 2.0 * a
    # exp(e - far^2/2) = exp(-r^2/2) where e is beyond the least loss; Mills' ratio keeps the digits
    mills = math.sqrt(math.pi / 2.0) * special().erfcx(far / math.sqrt(2.0))
    beyond = np.exp(-0.5 * r * r) * 2.0 * a * mills
    gap = np.minimum(epsilon - least, 0.0)
    return np.where(epsilon < least, -np.expm1(gap) + np.exp(gap) * beyond, beyond)


def _worst_loss(z: Array, a: float, kappa: float, places: int = _PLACES) -> Array:
    """max over t in [0, 1] of a t z + a^2 t^2/2 + ln(1 + kappa t (1 - t)), from above: rising and convex in z.

    The second derivative in t depends on u = t(1 - t) alone and grows with it: the function is concave up to some t0,
    convex between t0 and 1 - t0, and concave again. So its largest value lies in one of the two outer parts (or they
    meet), and in each of them a tangent is flat where it is.
    """
    found = np.maximum(0.0, a * z + 0.5 * a * a)
    if a * a >= kappa * (2.0 + kappa):
        return found  # convex throughout
    half, square = 1.0 + kappa / (a * a), (2.0 * kappa + kappa * kappa) / (a * a) - 1.0
    u = square / (half + math.sqrt(half * half + square)) / kappa
    t0 = 0.5 if u >= 0.25 else 2.0 * u / (1.0 + math.sqrt(1.0 - 4.0 * u))
    for start, end in ((0.0, min(1.0, t0 * UP)), (max(0.0, 1.0 - t0 * UP), 1.0)) if t0 < 0.5 else ((0.0, 1.0),):
        found = np.maximum(found, _concave_peak(z, a, kappa, np.linspace(start, end, places)))
    return found


def _concave_peak(z: Array, a: float, kappa: float, places: Array) -> Array:
    """The largest value between the ends of `places`, where the function is concave, from above: the highest point of a
    tangent there.

    The z for which a t is the highest point has a closed form that rises with t. Turned around by interpolation and one
    step of Newton it leads so close to the top that the tangent is flat; whichever t is taken, its tangent lies above.
    """

    start, end = float(places[0]), float(places[-1])

    def slope(t: Array, at: Array) -> Array:
        return a * (at + a * t) + kappa * (1.0 - 2.0 * t) / (1.0 + kappa * t * (1.0 - t))

    def highest(t: Array) -> Array:
        rise = slope(t, z)
        value = a * t * z + 0.5 * (a * t) ** 2 + np.log1p(kappa * t * (1.0 - t))
        return np.asarray(value + np.maximum(rise * (end - t), rise * (start - t)))

    near = np.interp(z, np.maximum.accumulate(-slope(places, np.zeros(len(places))) / a), places)
    inner = 1.0 + kappa * near * (1.0 - near)
    bend = np.minimum(a * a - kappa * (2.0 * inner + kappa * (1.0 - 2.0 * near) ** 2) / (inner * inner), -1e-300)
    moved = np.clip(near - slope(near, z) / bend, start, end)
    return np.minimum(highest(near), highest(moved))

"""Every record takes part in one of several steps, chosen at random."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from privet._numerics import TINY, UNIT_ROUNDOFF, Array
from privet._validate import count, set_frozen
from privet.errors import InvalidParameter
from privet.privacy.families.forwarding import Forwarding
from privet.privacy.families.sampling import OF_COIN, Coin, of_one_record
from privet.privacy.loss import PrivacyLoss
from privet.privacy.serial import register
from privet.privacy.unit import Unit
from privet.privacy.variable import AtomicVariable, Direction, LossVariable

_Law = tuple[Array, Array]  # values and their mass
_MOST_STEPS = 100_000  # the errors that are stated grow with the steps, and with them the bound
_NODES = 800  # of a sum of ratios: tightness and time, the rounding of each step is charged
_SINGLE_NODES = 1200  # of one ratio, likewise
_TAIL = 1e-25  # mass of one step that may be taken to give everything away
_BINS = 4000  # to see where the mass lies when nodes are placed: a better place is tighter, none is unsafe
_CHUNKS = 32  # of a sum: shorter sums lose fewer digits, as the stated error counts


@register
@dataclass(frozen=True, eq=False)
class RandomAllocation(Forwarding):
    """`steps` releases; every record takes part in exactly one of them, chosen uniformly, independently and in secret.

    Balls and bins: batches of an epoch where each record picks its batch by itself. Not a shuffled epoch of equal batches,
    where records are not independent. Several epochs: `Repeated`.

    **Guarantee:** remove: (1/t) sum of (P in place i, Q elsewhere) against Q in all t places; add: the mirror image. The
    pair is bounded from above by sums on a grid (proof note). **Sensitivity:** relation add_remove or zero_out; the base
    loss is that of one step with the record against the same step without it. Under zero_out a null record must act as an
    absent one: a release that shows, or divides by, the size of its batch is not covered. A price about persons needs
    `coin="person"`: all records of a person take part in the same step.
    **Reference:** Chua et al. 2025; Feldman & Shenfeld 2025.
    **Proof:** docs/proofs/privacy/random_allocation.md.

    >>> from privet import accounting, privacy
    >>> epoch = RandomAllocation(privacy.GaussianLoss(noise_multiplier=1.0), steps=100)
    >>> poisson = privacy.Repeated(privacy.PoissonSampled(privacy.GaussianLoss(1.0), q=0.01), 100)
    >>> accounting.epsilon(epoch, delta=1e-5).upper < accounting.epsilon(poisson, delta=1e-5).upper
    True
    """

    kind = "random_allocation"

    of: PrivacyLoss
    steps: int
    coin: Coin = field(default="record", kw_only=True, metadata=OF_COIN)
    unit: Unit = field(default=None, kw_only=True)  # type: ignore[assignment]  # that of the parts

    def _words(self) -> str:
        return f"{self.of._as_a_whole()} in one of {self.steps:,} steps, chosen at random for each record"

    def __post_init__(self) -> None:
        inner = of_one_record(self.of, relation="add_remove", name="random allocation", coin=self.coin)
        steps = count("steps", self.steps, 1)
        if steps > _MOST_STEPS:
            raise InvalidParameter(f"steps must be at most {_MOST_STEPS}, got {steps}")
        set_frozen(self, of=inner, steps=steps, unit=self._about(inner.unit))

    def parts(self) -> tuple[tuple[PrivacyLoss, int], ...]:
        return self.of.parts() if self.steps == 1 or not self.of.parts() else ((self, 1),)

    def attained(self) -> PrivacyLoss | None:
        """The pair itself is attained where the base's is; it is computed from below."""
        return _AllocatedBelow(self.of, self.steps, unit=self.unit) if self.of.exact and self.steps > 1 else None

    @property
    def _answering(self) -> PrivacyLoss:
        return self.of  # a mixture is nowhere farther away than its worst part

    def gaussian(self) -> float | None:
        return self.of.gaussian() if self.steps == 1 or not self.of.parts() else None

    def variable(self, direction: Direction) -> LossVariable:
        if not self.parts() or self.steps == 1:
            return self.of.variable(direction)
        return _allocated(self, direction) if direction == "remove" else _allocated(self, direction).reversed()


def _one_release(of: PrivacyLoss, direction: Direction) -> LossVariable:
    """The pair of one step, seen from the data set that has the record."""
    return of.variable("remove") if direction == "remove" else of.variable("add").reversed()


@lru_cache(maxsize=32)
def _allocated(loss: RandomAllocation, direction: Direction) -> LossVariable:
    """A pair above the allocated one: the mean of `steps` independent ratios dP/dQ, seen under Q."""
    if direction == "add" and loss.of.variable("remove").symmetric:
        return _allocated(loss, "remove")
    base = _one_release(loss.of, direction)
    ratios, mass, infinite, error = _one_step(base)
    values, q = _sum_of(ratios, mass, loss.steps)
    mean = values / loss.steps
    seen = (q > 0.0) & (mean > 0.0)
    p = q * mean
    # a node adds up at most so many products at a time; errors of both summands add up, so n copies have n times the error
    stated = loss.steps * (error + UNIT_ROUNDOFF * (16.0 + 2.0 * _CHUNKS + (_NODES + 4.0) ** 2 / _CHUNKS))
    none = float(q[mean == 0.0].sum())
    return AtomicVariable(np.log(mean[seen]), p[seen], q[seen], infinite, none, None, 64.0 * UNIT_ROUNDOFF, stated)


@dataclass(frozen=True, eq=False)
class _AllocatedBelow(PrivacyLoss):
    """A pair that the allocated one dominates; it answers for lower ends and has no JSON form."""

    kind = "random_allocation_from_below"
    exact = True

    of: PrivacyLoss
    steps: int

    def variable(self, direction: Direction) -> LossVariable:
        return _below(self, direction) if direction == "remove" else _below(self, direction).reversed()


@lru_cache(maxsize=32)
def _below(loss: _AllocatedBelow, direction: Direction) -> LossVariable:
    """The mean of `steps` ratios, each of them and every sum merged into cells: garbled, so below."""
    if direction == "add" and loss.of.variable("remove").symmetric:
        return _below(loss, "remove")
    base = _one_release(loss.of, direction)
    _, p, q = _cells(base)
    seen = q > 0.0
    total, mass = _by_doubling((p[seen] / q[seen], q[seen]), loss.steps, _merged)
    mean = total / loss.steps
    kept = mean > 0.0
    values, where = np.unique(np.log(mean[kept]), return_inverse=True)
    q_mass = np.bincount(where, weights=mass[kept], minlength=len(values))
    stated = loss.steps * (
        2.0 * base.mass_error + UNIT_ROUNDOFF * (16.0 + 2.0 * _CHUNKS + (_NODES + 4.0) ** 2 / _CHUNKS)
    )
    none = float(mass[~kept].sum())
    return AtomicVariable(values, np.exp(values) * q_mass, q_mass, 0.0, none, None, 1e-14 + stated, stated)


def _merged(one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array]:
    """The sum of two, its values merged into cells: each becomes its mean."""
    sums, mass = np.add.outer(one[0], other[0]).ravel(), np.multiply.outer(one[1], other[1]).ravel()
    nodes = _nodes_of(sums, mass)
    place = np.searchsorted(nodes, sums)
    weight = np.bincount(place, weights=mass)
    value = np.bincount(place, weights=mass * sums)
    seen = weight > 0.0
    return value[seen] / weight[seen], weight[seen]


def _one_step(base: LossVariable) -> tuple[Array, Array, float, float]:
    """The ratio dP/dQ of one step on a grid, from above: values with their Q-mass, and the P-mass at infinity."""
    nodes, p, q = _cells(base)
    slack = 1.0 - 2.0 * base.mass_error
    up = np.clip((p[1:-1] - np.exp(nodes[:-1]) * q[1:-1] * slack) / -np.expm1(-np.diff(nodes)), 0.0, p[1:-1])
    p_mass = np.concatenate(([p[0]], np.zeros(len(nodes) - 1)))
    p_mass[:-1] += p[1:-1] - up
    p_mass[1:] += up
    values = np.exp(nodes)
    q_mass = p_mass / values
    left = max(0.0, 1.0 - math.fsum(q_mass))
    ratios, mass = np.concatenate(([0.0], values)), np.concatenate(([left], q_mass))
    return ratios, mass, float(p[-1]) + base.p_only, base.mass_error


def _cells(base: LossVariable) -> tuple[Array, Array, Array]:
    """Nodes that follow the shape of one step's loss, and the P- and Q-mass below, between and above them."""
    low, high = base.span(_TAIL)
    losses, p_atoms, q_atoms = base.atoms()
    ends = [0.0, low, high, *(losses[[0, -1]] if len(losses) else ())]
    nodes = np.unique(np.concatenate((base.points(_SINGLE_NODES, _TAIL), losses, [0.0, min(ends), max(ends)])))
    nodes = nodes[np.concatenate(([True], np.diff(nodes) > 1e-12))]
    p, q = (side.copy() for side in base.cells(nodes))
    if len(losses):
        place = np.searchsorted(nodes, losses, side="left")
        p += np.bincount(place, weights=p_atoms, minlength=len(p))
        q += np.bincount(place, weights=q_atoms, minlength=len(q))
    return nodes, p, q


def _sum_of(values: Array, mass: Array, n: int) -> tuple[Array, Array]:
    """The sum of n independent copies, doubling; each sum is spread over the nodes around it, which keeps its mean."""
    return _by_doubling(_spread(values, mass, _nodes_of(values, mass)), n, _added)


def _by_doubling(one: _Law, n: int, add: Callable[[_Law, _Law], _Law]) -> _Law:
    """The sum of n >= 1 independent copies of a law, from the sums of 1, 2, 4, ... of them."""
    total: _Law | None = None
    while True:
        if n & 1:
            total = one if total is None else add(total, one)
        n >>= 1
        if not n:
            assert total is not None
            return total
        one = add(one, one)


def _added(one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array]:
    sums = np.add.outer(one[0], other[0]).ravel()
    mass = np.multiply.outer(one[1], other[1]).ravel()
    return _spread(sums, mass, _nodes_of(sums, mass))


def _nodes_of(values: Array, mass: Array) -> Array:
    """Nodes that are dense where the mass of P or Q is: the cube root of the density has the least error."""
    low, high = float(values[values > 0.0].min()), float(values.max())
    edges = np.exp(np.linspace(math.log(low), math.log(high), _BINS + 1))
    place = np.clip(np.searchsorted(edges, values) - 1, 0, _BINS - 1)
    scale = float((values * mass).sum())
    weight = np.bincount(place, weights=mass * (1.0 + values / max(scale, TINY)), minlength=_BINS)
    share = np.cbrt(weight)
    upper = edges[1:] > 0.01 * scale  # half of the nodes go by the density, half evenly to the tail
    density = np.cumsum(np.concatenate(([0.0], share / share.sum() + upper / upper.sum())))
    nodes = np.interp(np.linspace(0.0, density[-1], _NODES), density, edges)
    return np.unique(np.concatenate(([0.0], nodes, [low, high * (1.0 + 1e-12)])))


def _spread(values: Array, mass: Array, nodes: Array) -> tuple[Array, Array]:
    """Mass moved to the two nodes around its value so that the mean stays: larger in convex order."""
    place = np.clip(np.searchsorted(nodes, values, side="right") - 1, 0, len(nodes) - 2)
    low, high = nodes[place], nodes[place + 1]
    up = np.clip((values - low) / (high - low), 0.0, 1.0) * mass
    found = np.zeros(len(nodes))
    for part in np.array_split(np.arange(len(values)), _CHUNKS):  # short sums lose fewer digits than one long one
        found += np.bincount(place[part], weights=(mass - up)[part], minlength=len(nodes))
        found[1:] += np.bincount(place[part], weights=up[part], minlength=len(nodes))[:-1]
    return nodes, found

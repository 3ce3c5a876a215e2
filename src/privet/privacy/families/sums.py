"""A pair that dominates a composition of unlike releases: their laws on one lattice, convolved without transforms."""

import math

import numpy as np

from privet._numerics import TINY, UNIT_ROUNDOFF, Array
from privet.privacy.variable import AtomicVariable, LossVariable

_NODES, _MORE_NODES = 4096, 12288  # of a grid, and of one that is made finer: speed and width only
_MOST_NODES = 16 * _NODES  # of a sum: beyond, a chain is dearer than the accountants that serve instead
_REACH = 35.0  # standard deviations of the sum, both sides together: where its mass above 1e-60 lies, roughly
_FINE = 16.0  # steps in the standard deviation of one loss, while they are not too many
_TAIL = 1e-60  # mass that one release, or one convolution, may send to infinity
_LARGEST_LOSS = 650.0  # exp(-loss) stays a normal float


def variable_of_sum(
    variables: list[tuple[LossVariable, int]], like: list[tuple[LossVariable, int]] | None = None
) -> AtomicVariable | None:
    """A variable that dominates the sum of independent copies, n of each; None where losses are too large to list. The
    lattice is the one for `like`, where that is given: for their mirror images, so that both sums lie on one lattice.

    Each law is moved to a lattice by connecting the dots (a cell's mass goes to its two ends, so that its P- and Q-mass are
    kept); sums of lattice points are lattice points. All terms are positive: the far tail keeps its digits.

    >>> from privet import privacy
    >>> parts = [(privacy.GaussianLoss(2.0).variable("remove"), 1), (privacy.LaplaceLoss(2.0).variable("remove"), 2)]
    >>> total = variable_of_sum(parts)
    >>> 0.32 < float(total.delta(0.0)) < 0.33
    True
    """
    ends = [_ends(variable) for variable, _ in variables]
    if max(max(-low, high) for low, high in ends) > _LARGEST_LOSS:
        return None
    step = _step(variables if like is None else like)
    total = LatticeLaw(0, np.ones(1), 0.0, 0.0)
    for variable, n in variables:
        total = total.plus(lattice_law(variable, step).times(n))
        if len(total.mass) > _MOST_NODES:
            return None
    losses = step * (total.start + np.arange(len(total.mass), dtype=float))
    seen = total.mass > 0.0
    losses, p = losses[seen], total.mass[seen]
    if len(losses) == 0 or float(np.abs(losses).max()) > _LARGEST_LOSS:
        return None
    q = p * np.exp(-losses)
    left = max(0.0, 1.0 - math.fsum(q))
    blur = 16.0 * UNIT_ROUNDOFF * float(np.abs(losses).max())
    return AtomicVariable(losses, p, q, total.infinite, left, (float(losses[0]), step), blur, total.error)


def _step(variables: list[tuple[LossVariable, int]]) -> float:
    """The step of the lattice."""
    widest = max(high - low for low, high in (_ends(variable) for variable, _ in variables))
    deviations = [deviation(variable) for variable, _ in variables]
    spread = math.sqrt(math.fsum(n * s * s for s, (_, n) in zip(deviations, variables, strict=True)))
    width = max(widest + _REACH * spread, TINY)
    fine = min((s for s in deviations if s > 0.0), default=width) / _FINE
    return max(min(width / _NODES, fine), width / _MORE_NODES)


class LatticeLaw:
    """Masses at start, start + 1, ... (in steps), a mass at infinity, and the relative error of all of them.

    >>> coin = LatticeLaw(-1, np.array([0.5, 0.0, 0.5]), 0.0, 0.0)
    >>> coin.times(2).start, coin.times(2).mass.tolist()
    (-2, [0.25, 0.0, 0.5, 0.0, 0.25])
    """

    def __init__(self, start: int, mass: Array, infinite: float, error: float) -> None:
        above = int(np.searchsorted(np.cumsum(mass[::-1]), _TAIL))
        below = int(np.searchsorted(np.cumsum(mass), _TAIL))
        kept = mass[below : len(mass) - above].copy()
        if len(kept) == 0:
            kept, below = np.zeros(1), 0
        kept[0] += mass[:below].sum()  # moved up, as connecting the dots does below its first node
        self.start, self.mass, self.error = start + below, kept, error
        self.infinite = min(1.0, infinite + float(mass[len(mass) - above :].sum()))

    def plus(self, other: "LatticeLaw") -> "LatticeLaw":
        """The sum of two independent losses."""
        lost = self.infinite + other.infinite - self.infinite * other.infinite
        terms = min(len(self.mass), len(other.mass))
        error = self.error + other.error + (terms + 8.0) * UNIT_ROUNDOFF
        return LatticeLaw(self.start + other.start, np.convolve(self.mass, other.mass), lost, error)

    def times(self, n: int) -> "LatticeLaw":
        """The sum of n of them, by doubling."""
        total, power = LatticeLaw(0, np.ones(1), 0.0, 0.0), self
        while n:
            if n & 1:
                total = total.plus(power)
            n >>= 1
            power = power.plus(power) if n else power
        return total


def _ends(variable: LossVariable) -> tuple[float, float]:
    low, high = variable.span(_TAIL)
    losses = variable.atoms().losses
    if len(losses) == 0:
        return low, high
    ends = (float(losses[0]), float(losses[-1]))
    return ends if variable.discrete else (min(low, ends[0]), max(high, ends[1]))


def deviation(variable: LossVariable) -> float:
    """Roughly the standard deviation of one loss; a choice of the grid, no certificate rests on it.

    >>> from privet import privacy
    >>> round(deviation(privacy.GaussianLoss(2.0).variable("remove")), 2)
    0.5
    """
    points = variable.points(200, 1e-12)
    losses, p_atoms, _ = variable.atoms()
    middle = np.concatenate((points[:1], 0.5 * (points[1:] + points[:-1]), points[-1:], losses))
    mass = np.concatenate((variable.cells(points)[0], p_atoms))
    mean = float((mass * middle).sum())
    variance = float((mass * (middle - mean) ** 2).sum())
    return math.sqrt(max(variance, 0.0))


def lattice_law(variable: LossVariable, step: float) -> LatticeLaw:
    """One law on the lattice of multiples of `step`, from above.

    >>> from privet import privacy
    >>> law = lattice_law(privacy.PureLoss(1.0).variable("remove"), 0.5)
    >>> law.start, len(law.mass)
    (-2, 5)
    """
    low, high = _ends(variable)
    first, last = math.floor(low / step) - 1, math.ceil(high / step) + 1
    nodes = step * np.arange(first, last + 1)
    p, q = (side.copy() for side in variable.cells(nodes))
    losses, p_atoms, q_atoms = variable.atoms()
    if len(losses):
        place = np.searchsorted(nodes, losses, side="left")  # cells are open below and closed above
        p += np.bincount(place, weights=p_atoms, minlength=len(p))
        q += np.bincount(place, weights=q_atoms, minlength=len(q))
    growth = np.exp(nodes[:-1])
    slack = 1.0 - 2.0 * variable.mass_error - 32.0 * UNIT_ROUNDOFF * (1.0 + np.abs(nodes[:-1]))
    up = np.clip((p[1:-1] - growth * q[1:-1] * slack) / -math.expm1(-step), 0.0, p[1:-1])
    mass = np.concatenate(([p[0]], np.zeros(len(nodes) - 1)))
    mass[:-1] += p[1:-1] - up
    mass[1:] += up
    return LatticeLaw(first, mass, float(p[-1]) + variable.p_only, variable.mass_error + 8.0 * UNIT_ROUNDOFF)

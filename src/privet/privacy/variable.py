"""The privacy-loss random variable of a pair (P, Q): L = ln dP/dQ, seen under P and under Q.

One object serves every accountant. Its masses are asked for *by cells* (never as differences of a curve), because a cell
mass keeps its leading digits in the far tail, where a difference of curve values has none left.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from privet._cache import kept_property
from privet._numerics import LARGEST_EXPONENT, TINY, UNIT_ROUNDOFF, Array
from privet.errors import InvalidParameter

Direction = Literal["remove", "add"]
DIRECTIONS: tuple[Direction, Direction] = ("remove", "add")

Enclosure = tuple[float, float]

_NONE = np.zeros(0)
# Of a sum in one array (80 MB): beyond, running sums serve; changes memory, and the last digits.
_MOST_TERMS = 10_000_000
_MANY_ATOMS = 1000  # from where on a single epsilon is answered from running sums: changes speed only
_RELATIVE_ERROR = 4e-12  # of a tail, or of a sum of atoms
_TAIL_ERROR = 2e-13  # of the difference of two tails: ndtr is good to 6e-14
_UNSTATED_ERROR = 1e-9  # nine digits, where nobody vouches for more
_LISTED_ERROR = 2e-13  # an atom far out is an exponential of a number up to 760, off by 2^-53 of that number


class Atoms(NamedTuple):
    """The discrete part of a loss variable: sorted finite losses with their mass under P and under Q."""

    losses: Array
    p: Array
    q: Array


class LossVariable(ABC):
    """The privacy-loss random variable of one pair of distributions.

    A variable has a continuous part (`cells`), atoms at finite losses (`atoms`), the P-mass where Q vanishes (`p_only`,
    loss +inf) and the Q-mass where P vanishes (`q_only`, loss -inf). The pair is the worst one that the loss admits;
    `exact` says that some mechanism with that price attains it, so that lower bounds are meaningful too.

    **Guarantee:** delta(e) = P(L > e) - exp(e) Q(L > e) is the hockey-stick divergence of the pair.
    **Reference:** Dwork & Rothblum 2016; Sommer, Meiser & Mohammadi 2019; Zhu, Dong & Wang 2022 (dominating pairs).

    >>> from privet import privacy
    >>> L = privacy.GaussianLoss(noise_multiplier=1.0).variable("remove")
    >>> round(float(L.delta(1.0)), 10)
    0.1269367375
    """

    @property
    def p_only(self) -> float:
        """P-mass of outcomes that Q never shows (loss +inf)."""
        return 0.0

    @property
    def q_only(self) -> float:
        """Q-mass of outcomes that P never shows (loss -inf)."""
        return 0.0

    @property
    def discrete(self) -> bool:
        """Is there no continuous part?"""
        return False

    @property
    def symmetric(self) -> bool:
        """Is the pair its own mirror image, so that both directions have the same law?"""
        return False

    @property
    def lattice(self) -> tuple[float, float] | None:
        """(offset, spacing) such that every atom is offset + a multiple of spacing; None when no such pair is known.

        A single atom fits every spacing (infinity), two atoms are a lattice of their own.
        """
        losses = self.atoms().losses
        if len(losses) == 1:
            return float(losses[0]), np.inf
        return (float(losses[0]), float(losses[1] - losses[0])) if len(losses) == 2 else None

    def atoms(self) -> Atoms:
        """Finite atoms, sorted by loss."""
        return Atoms(_NONE, _NONE, _NONE)

    @abstractmethod
    def cells(self, nodes: Array) -> tuple[Array, Array]:
        """Continuous mass under P and Q of (-inf, n0], (n0, n1], ..., (nk, inf), for increasing nodes."""

    @abstractmethod
    def span(self, tail: float) -> tuple[float, float]:
        """Losses (low, high) outside of which the continuous part has at most `tail` mass per side, under P and Q."""

    def points(self, count: int, tail: float) -> Array:
        """Increasing losses that follow the shape of the continuous part; used to plan, never to certify."""
        low, high = self.span(tail)
        return np.linspace(low, high, count) if high > low else np.array([low])

    @property
    def ends(self) -> tuple[float, float]:
        """Losses that no outcome goes below or above; infinite where no such end is known."""
        return -np.inf, np.inf

    @property
    def smooth(self) -> bool:
        """Has the continuous part a smooth density between 0, its atoms and the ends of its span?"""
        return True

    @property
    def mass_error(self) -> float:
        """Relative error of the mass that `cells` and `atoms` report for a tail {L > e} or {L <= e}, under P and Q.

        A kind states what its formulas lose; accountants charge it once per release. Where nobody vouches for the
        formulas, nine digits are taken as right.
        """
        return _UNSTATED_ERROR

    def reversed(self) -> "LossVariable":
        """The variable of (Q, P)."""
        return ReversedVariable(self)

    def tails(self, epsilon: Array | float) -> tuple[Array, Array]:
        """P(L > epsilon) and Q(L > epsilon)."""
        grid = np.asarray(epsilon, dtype=float)
        flat, where = np.unique(grid.ravel(), return_inverse=True)
        sums = []
        losses, p_atoms, q_atoms = self.atoms()
        continuous = self.cells(flat)
        for cell, atom, only in zip(continuous, (p_atoms, q_atoms), (self.p_only, 0.0), strict=True):
            above = np.cumsum(cell[::-1])[::-1][1:]
            from_atoms = np.concatenate((np.cumsum(atom[::-1])[::-1], [0.0]))
            above = above + from_atoms[np.searchsorted(losses, flat, side="right")] + only
            sums.append(above[where].reshape(grid.shape))
        return sums[0], sums[1]

    def delta(self, epsilon: Array | float) -> Array:
        """Hockey-stick divergence of order exp(epsilon) of the pair, for any real epsilon."""
        p, q = self.tails(epsilon)
        gamma = np.exp(np.minimum(np.asarray(epsilon, dtype=float), LARGEST_EXPONENT))
        return np.clip(p - np.where(q > 0.0, gamma * q, 0.0), 0.0, 1.0)

    def enclose(self, epsilon: float) -> Enclosure:
        """delta(epsilon) from below and from above, rounding included.

        A kind that knows its curve in closed form says so here; below `least` the general way has too few digits.
        """
        return self._enclosed(epsilon, _TAIL_ERROR)

    def enclose_mirrored(self, epsilon: float) -> Enclosure:
        """delta(epsilon) of the pair (Q, P), enclosed."""
        return LossVariable.enclose(ReversedVariable(self), epsilon)

    @property
    def least(self) -> float:
        """The smallest delta that `enclose` and `enclose_mirrored` still see with some digits."""
        return 1e-8

    def _enclosed(self, epsilon: float, error: float, blur: float = 0.0) -> Enclosure:
        """Losses are floats, off by a few units in the last place: as if epsilon moved by as much."""
        losses = self.atoms().losses
        reach = max(abs(epsilon), abs(float(losses[0])), abs(float(losses[-1]))) if len(losses) else abs(epsilon)
        move = 32.0 * UNIT_ROUNDOFF * (1.0 + reach) + blur
        low, high = float(self.delta(epsilon + move)), float(self.delta(epsilon - move))
        relative = _RELATIVE_ERROR + self.mass_error
        return max(0.0, low * (1.0 - relative) - error), min(1.0, high * (1.0 + relative) + error)

    def probability_above(self, epsilon: float) -> float:
        """P(L > epsilon): the PLRV tail. It is *not* delta(epsilon); it is only an upper bound on it."""
        return float(self.tails(epsilon)[0])


class SymmetricVariable(LossVariable):
    """A pair that is its own mirror image: one law serves both directions. Still abstract."""

    @property
    def symmetric(self) -> bool:
        return True

    def reversed(self) -> LossVariable:
        return self

    def enclose_mirrored(self, epsilon: float) -> Enclosure:
        return self.enclose(epsilon)


@dataclass(frozen=True, eq=False)
class ReversedVariable(LossVariable):
    """The variable of (Q, P), given the one of (P, Q): roles exchanged, sign of the loss flipped."""

    of: LossVariable

    @property
    def p_only(self) -> float:
        return self.of.q_only

    @property
    def q_only(self) -> float:
        return self.of.p_only

    @property
    def discrete(self) -> bool:
        return self.of.discrete

    @property
    def symmetric(self) -> bool:
        return self.of.symmetric

    @property
    def lattice(self) -> tuple[float, float] | None:
        lattice = self.of.lattice
        return None if lattice is None else (-lattice[0], lattice[1])

    def atoms(self) -> Atoms:
        losses, p, q = self.of.atoms()
        return Atoms(-losses[::-1], q[::-1], p[::-1])

    def cells(self, nodes: Array) -> tuple[Array, Array]:
        # (a, b] becomes [-b, -a): the same mass, since the part is continuous
        p, q = self.of.cells(-nodes[::-1])
        return q[::-1], p[::-1]

    def span(self, tail: float) -> tuple[float, float]:
        low, high = self.of.span(tail)
        return -high, -low

    @property
    def ends(self) -> tuple[float, float]:
        low, high = self.of.ends
        return -high, -low

    @property
    def mass_error(self) -> float:
        return self.of.mass_error

    @property
    def smooth(self) -> bool:
        return self.of.smooth

    def points(self, count: int, tail: float) -> Array:
        return -self.of.points(count, tail)[::-1]

    def reversed(self) -> LossVariable:
        return self.of

    def delta(self, epsilon: Array | float) -> Array:
        if not isinstance(self.of, AtomicVariable):
            return super().delta(epsilon)
        return self.of.mirrored.delta(epsilon)

    def enclose(self, epsilon: float) -> Enclosure:
        return self.of.enclose_mirrored(epsilon)

    def enclose_mirrored(self, epsilon: float) -> Enclosure:
        return self.of.enclose(epsilon)

    @property
    def least(self) -> float:
        return self.of.least


@dataclass(frozen=True, eq=False)
class AtomicVariable(LossVariable):
    """A loss variable with finitely many values.

    Q-masses are given beside P-masses (not derived as p exp(-loss)), so that neither loses digits.
    """

    losses: Array
    p: Array
    q: Array
    p_only_mass: float = 0.0
    q_only_mass: float = 0.0
    known_lattice: tuple[float, float] | None = None
    blur: float = 0.0  # losses may be off by this much
    stated_error: float = _LISTED_ERROR  # relative error of the masses
    mirrors: bool = False  # known to be its own mirror image, whatever rounding did to the list

    def __post_init__(self) -> None:
        if not (len(self.losses) == len(self.p) == len(self.q)) or np.any(np.diff(self.losses) <= 0.0):
            raise InvalidParameter("atoms need strictly increasing losses with one P-mass and one Q-mass each")

    @property
    def p_only(self) -> float:
        return self.p_only_mass

    @property
    def q_only(self) -> float:
        return self.q_only_mass

    @property
    def discrete(self) -> bool:
        return True

    @kept_property
    def symmetric(self) -> bool:
        """Known to be, or exactly so: a little of asymmetry would be priced in one direction only."""
        if self.mirrors:
            return True
        mirrored = np.array_equal(self.losses, -self.losses[::-1]) and np.array_equal(self.p, self.q[::-1])
        return bool(mirrored and self.p_only_mass == self.q_only_mass)

    @property
    def lattice(self) -> tuple[float, float] | None:
        return super().lattice if self.known_lattice is None else self.known_lattice

    @property
    def mass_error(self) -> float:
        return self.stated_error

    @property
    def least(self) -> float:
        return 1e-250

    def enclose(self, epsilon: float) -> Enclosure:
        return self._enclosed(epsilon, TINY, self.blur)

    def enclose_mirrored(self, epsilon: float) -> Enclosure:
        return self.mirrored.enclose(epsilon)

    @kept_property
    def mirrored(self) -> "AtomicVariable":
        """The atoms of (Q, P)."""
        losses, p, q = -self.losses[::-1], self.q[::-1], self.p[::-1]
        return AtomicVariable(
            losses, p, q, self.q_only_mass, self.p_only_mass, None, self.blur, self.stated_error, self.mirrors
        )

    @kept_property
    def _atoms(self) -> Atoms:
        return Atoms(self.losses, self.p, self.q)

    def atoms(self) -> Atoms:
        return self._atoms

    def delta(self, epsilon: Array | float) -> Array:
        """Term by term, p (1 - exp(epsilon - loss)): no cancellation, however small the sum."""
        grid = np.asarray(epsilon, dtype=float)
        if grid.ndim == 0 and len(self.losses) > _MANY_ATOMS:
            return np.asarray(self._delta_at(float(grid)))
        if grid.size * len(self.losses) > _MOST_TERMS:
            return super().delta(grid)
        gap = grid[..., None] - self.losses
        terms = np.where(gap < 0.0, self.p * -np.expm1(np.minimum(gap, 0.0)), 0.0)
        return np.minimum(self.p_only_mass + terms.sum(axis=-1), 1.0)

    @kept_property
    def _above(self) -> Array:
        """Minus the P-mass of each atom and all above it: increasing, as a search wants it."""
        return -np.cumsum(self.p[::-1])[::-1]

    def _delta_at(self, epsilon: float) -> float:
        """delta at one epsilon off a long list: only atoms above it, and of these only those whose mass shows.

        What is left out is less than 1e-30 of the mass above epsilon, and is added as if it gave everything away.
        """
        first = int(np.searchsorted(self.losses, epsilon, side="right"))
        if first == len(self.losses):
            return min(self.p_only_mass, 1.0)
        last = first + int(np.searchsorted(self._above[first:], 1e-30 * self._above[first]))
        rest = -float(self._above[last]) if last < len(self.losses) else 0.0
        terms = self.p[first:last] * -np.expm1(epsilon - self.losses[first:last])
        return min(self.p_only_mass + float(terms.sum()) + rest, 1.0)

    def cells(self, nodes: Array) -> tuple[Array, Array]:
        nothing = np.zeros(len(nodes) + 1)
        return nothing, nothing

    def span(self, tail: float) -> tuple[float, float]:
        return 0.0, 0.0

    def points(self, count: int, tail: float) -> Array:
        return np.array([0.0])

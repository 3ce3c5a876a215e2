"""Exact laws of objective perturbation in one and two dimensions, from first principles.

In one dimension no density is needed: the noise that leads to w falls as w rises, so the law of the minimiser has the
distribution function of the noise at b(w), and the divergence of two laws on the cells of *any* partition is at most the
true one. A price below such a number is refuted, whatever the theory of the price; nothing here has an error to forgive
but rounding. In two dimensions the density is that of the noise at b(w) times the determinant of the Hessian.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from scipy.special import expit, ndtr, ndtri
from scipy.stats import chi2

Array = np.ndarray
Record = tuple[tuple[float, ...], float]


@dataclass(frozen=True)
class Psi:
    """A loss of the margin m = x.w: its derivatives, and the constants that a price may use."""

    slope: Callable[[Array, float], Array]
    curvature: Callable[[Array, float], Array]
    lipschitz: float
    smoothness: float
    shape: str  # of the derivative, as the price names it


def _logistic_curvature(m: Array, y: float) -> Array:
    s = expit(-y * m)
    return s * (1.0 - s)


def _hinge_slope(h: float, m: Array, y: float) -> Array:
    return -y * np.clip((1.0 + h - y * m) / (2.0 * h), 0.0, 1.0)


def _hinge_curvature(h: float, m: Array, y: float) -> Array:
    return np.where(np.abs(1.0 - y * m) < h, 0.5 / h, 0.0)


def _residual_slope(c: float, m: Array, y: float) -> Array:
    return np.clip(m - y, -c, c)


def _residual_curvature(c: float, m: Array, y: float) -> Array:
    return np.where(np.abs(m - y) < c, 1.0, 0.0)


LOGISTIC = Psi(lambda m, y: -y * expit(-y * m), _logistic_curvature, 1.0, 0.25, "logistic")


def huber_hinge(h: float = 0.5) -> Psi:
    return Psi(partial(_hinge_slope, h), partial(_hinge_curvature, h), 1.0, 0.5 / h, "fixed_sign")


def clipped_squares(c: float = 1.0) -> Psi:
    """Squares with the residual clipped at c: Huber's regression loss."""
    return Psi(partial(_residual_slope, c), partial(_residual_curvature, c), c, 1.0, "general")


LOSSES = {"logistic": LOGISTIC, "huber hinge": huber_hinge(), "clipped squares": clipped_squares(0.7)}


@dataclass(frozen=True)
class Problem:
    """sum psi(x.w; y) + (Lambda/2)|w|^2 + b.w, with a penalty per coordinate: the last may be an intercept's."""

    psi: Psi
    records: tuple[Record, ...]
    penalty: tuple[float, ...]

    @cached_property
    def _counted(self) -> list[tuple[Array, float, int]]:
        return [(np.array(x), y, times) for (x, y), times in Counter(self.records).items()]

    def slope(self, w: Array) -> Array:
        """The gradient at the columns of w."""
        found = np.array(self.penalty)[:, None] * w
        for x, y, times in self._counted:
            found = found + np.outer(times * x, self.psi.slope(x @ w, y))
        return found

    def hessian(self, w: Array) -> Array:
        """At the columns of w: an array of (points, d, d)."""
        found = np.broadcast_to(np.diag(self.penalty), (w.shape[1], len(w), len(w))).copy()
        for x, y, times in self._counted:
            found += self.psi.curvature(x @ w, y)[:, None, None] * np.outer(times * x, x)
        return found

    def with_records(self, *more: Record) -> "Problem":
        return Problem(self.psi, (*self.records, *more), self.penalty)


# --- one dimension: distribution functions ---


def normal_tails(b: Array, scale: float) -> tuple[Array, Array]:
    return ndtr(b / scale), ndtr(-b / scale)


def laplace_tails(b: Array, scale: float) -> tuple[Array, Array]:
    """In one dimension a direction at random with a radius of the law Gamma(1, scale) is the Laplace law."""
    half = 0.5 * np.exp(-np.abs(b) / scale)
    return np.where(b < 0.0, half, 1.0 - half), np.where(b < 0.0, 1.0 - half, half)


Tails = Callable[[Array, float], tuple[Array, Array]]


def cell_masses(problem: Problem, w: Array, scale: float, tails: Tails = normal_tails) -> tuple[Array, Array]:
    """The mass of the minimiser between the (rising) values w, and beyond both ends; and what rounding may have lost."""
    b = np.concatenate(([np.inf], -problem.slope(w[None, :])[0], [-np.inf]))  # falls
    low, high = tails(b, scale)
    below = b[1:] < 0.0
    larger = np.where(below, low[:-1], high[1:])
    return larger - np.where(below, low[1:], high[:-1]), 1e-15 * larger


def nodes(problems: tuple[Problem, ...], scale: float, points: int = 300, tail: float = 9.0) -> Array:
    """Cells fine where any of the laws lives: quantiles of each, and a net that is fine near 0."""
    every = []
    for problem in problems:
        norms = [abs(x[0]) for x, _ in problem.records]
        farthest = (tail * scale + problem.psi.lipschitz * sum(norms)) / problem.penalty[0]
        unit = 1.0 / max([*norms, 1e-3])
        top = np.arcsinh(farthest / unit)
        net = unit * np.sinh(np.linspace(-top, top, 6 * points))
        b = -problem.slope(net[None, :])[0]
        wanted = scale * np.linspace(-tail, tail, points)
        every += [np.interp(wanted, b[::-1], net[::-1]), net[::6]]
    return np.unique(np.concatenate(every))


def divergences(p: tuple[Array, Array], q: tuple[Array, Array], epsilons: Array) -> Array:
    """Hockey-stick divergences of two laws on the same cells, from below."""
    return np.maximum(p[0] - p[1] - np.exp(epsilons)[:, None] * (q[0] + q[1]), 0.0).sum(axis=1)


def one_dimension(first: Problem, second: Problem, scale: float, epsilons: Array, tails: Tails = normal_tails) -> Array:
    """Divergences of the first from the second and back, as two rows; at most the true ones."""
    w = nodes((first, second), scale)
    p, q = (cell_masses(problem, w, scale, tails) for problem in (first, second))
    return np.array([divergences(p, q, epsilons), divergences(q, p, epsilons)])


def agrees(drawn: Array, below: Callable[[Array], Array]) -> bool:
    """Do these numbers have the law with this distribution function? A true law is denied less than once in a million
    times; from 60 numbers on, half or twice the spread of a normal law is, and a third of a Laplace law's.

    The distribution function maps numbers to the uniform law, whose normal quantiles have sums and squares of known laws.
    """
    z = ndtri(np.clip(below(np.asarray(drawn)), 1e-15, 1.0 - 1e-15))
    low, high = chi2.ppf([2.5e-7, 1.0 - 2.5e-7], len(z))
    return bool(abs(z.sum()) < 5.1 * np.sqrt(len(z)) and low < z @ z < high)


# --- several dimensions: densities ---


def minimisers(problem: Problem, b: Array, rounds: int = 200) -> Array:
    """Of the perturbed objective for each column of b: Newton steps, halved until the gradient falls."""
    w = -b / np.array(problem.penalty)[:, None]
    gradient = problem.slope(w) + b
    size = np.linalg.norm(gradient, axis=0)
    for _ in range(rounds):
        active = np.flatnonzero(size > 1e-10 * (1.0 + np.linalg.norm(b, axis=0)))
        if not len(active):
            return w
        here, old = w[:, active], size[active]
        move = np.linalg.solve(problem.hessian(here), gradient[:, active].T[:, :, None])[:, :, 0].T
        factor = np.ones(len(active))
        for _ in range(12):
            trial = problem.slope(here - factor * move) + b[:, active]
            worse = np.linalg.norm(trial, axis=0) > (1.0 - 0.1 * factor) * old
            if not worse.any():
                break
            factor = np.where(worse, factor / 2.0, factor)
        w[:, active] = here - factor * move
        gradient[:, active] = trial
        size = np.linalg.norm(gradient, axis=0)
    raise AssertionError("the oracle's own Newton steps did not end")


def normal_log(b: Array, scale: float) -> Array:
    return -0.5 * np.sum(b * b, axis=0) / scale**2


def gamma_norm_log(b: Array, scale: float) -> Array:
    """A direction at random with a radius of the law Gamma(d, scale)."""
    return -np.linalg.norm(b, axis=0) / scale


LogDensity = Callable[[Array, float], Array]


def log_ratio(p: Problem, q: Problem, w: Array, scale: float, log: LogDensity = normal_log) -> Array:
    """The log of the densities' ratio at the columns of w."""
    noise = log(-p.slope(w), scale) - log(-q.slope(w), scale)
    return noise + np.linalg.slogdet(p.hessian(w))[1] - np.linalg.slogdet(q.hessian(w))[1]


def turned(side: Array) -> Array:
    """A square net, turned so that the lines where a loss bends do not run along it."""
    x, y = np.array(np.meshgrid(side, side)).reshape(2, -1)
    return np.array([np.cos(0.5) * x - np.sin(0.5) * y, np.sin(0.5) * x + np.cos(0.5) * y])


def plane(points: int = 101, reach: float = 7.0) -> tuple[Array, Array]:
    """A net in two dimensions and the weights of the standard normal law on it, which add up to 1."""
    z = np.linspace(-reach, reach, points)
    mass = np.exp(-0.5 * z * z)
    mass /= mass.sum()
    return turned(z), np.outer(mass, mass).ravel()


def two_dimensions(
    p: Problem, q: Problem, sigma: float, epsilons: Array, points: int = 101, jacobian: bool = True
) -> Array:
    """The divergence of p from q: the mean of 1 - exp(epsilon - loss) over the noise that p draws."""
    z, mass = plane(points)
    w = minimisers(p, sigma * z)
    gap = np.minimum(epsilons[:, None] - log_ratio(p, q, w, sigma)[None, :], 0.0)
    return -np.expm1(gap) @ mass

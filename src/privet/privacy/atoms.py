"""Exact sums of loss variables with few values: outcomes are listed, nothing is rounded to a grid."""

import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations

import numpy as np

from privet._numerics import UNIT_ROUNDOFF, Array, round_up, special, up
from privet.privacy.variable import AtomicVariable, Atoms, LossVariable

_MOST_COPIES = 500  # of one variable: up to there _WEIGHT_ERROR holds, and lists stay short
_FEW_EVENTS = 32  # multiplied as fractions, whose digits grow with each; more are added as logarithms
_WEIGHT_ERROR = 4e-12  # of multinomial weights, from logarithms of factorials up to 500!


def any_failure(failures: Iterable[tuple[float, int]]) -> float:
    """Probability that any of n independent events of each kind happens: 1 - product of (1 - delta)^n, rounded up.

    A few events are multiplied exactly: a target may be just what they add up to.

    >>> any_failure([(0.5, 2), (0.0, 7)]), any_failure([(0.1, 1), (0.2, 1)])
    (0.75, 0.28)
    """
    events = [(delta, n) for delta, n in failures if delta > 0.0 and n > 0]
    if sum(n for _, n in events) <= _FEW_EVENTS:
        return up(1 - math.prod((1 - Fraction(delta)) ** n for delta, n in events))
    logs = [n * math.log1p(-delta) if delta < 1.0 else -math.inf for delta, n in events]
    return min(1.0, round_up(-math.expm1(math.fsum(logs)), 8.0)) if logs else 0.0


def sum_of_atoms(variables: list[tuple[LossVariable, int]], most: int) -> AtomicVariable | None:
    """The sum of independent copies (n of each variable) while it has at most `most` outcomes, else None.

    Copies of one variable are exchangeable, so their outcomes are counts with multinomial weights.

    >>> from privet import privacy
    >>> coin = privacy.RandomizedResponseLoss(1.0).variable("remove")
    >>> sum_of_atoms([(coin, 3)], 100).losses.tolist()
    [-3.0, -1.0, 1.0, 3.0]
    """
    if not all(variable.discrete and n <= _MOST_COPIES for variable, n in variables):
        return None
    lengths = [(len(variable.atoms().losses), n) for variable, n in variables]
    if math.prod(math.comb(n + k - 1, n) for k, n in lengths) > most:
        return None
    total, blur = Atoms(np.zeros(1), np.ones(1), np.ones(1)), 0.0
    mirrors = all(variable.symmetric for variable, _ in variables)
    error = _WEIGHT_ERROR + math.fsum(n * variable.mass_error for variable, n in variables)
    for variable, n in variables:
        one = variable.atoms()
        part = _copies(one, n) if n > 1 and len(one.losses) else one
        losses = np.add.outer(total.losses, part.losses).ravel()
        total = Atoms(losses, np.outer(total.p, part.p).ravel(), np.outer(total.q, part.q).ravel())
        rounded = 8.0 * UNIT_ROUNDOFF * (1.0 + float(np.abs(one.losses).max(initial=0.0)))
        blur += n * (rounded + blur_of(variable))
    losses, where = np.unique(total.losses, return_inverse=True)
    p, q = (np.bincount(where, weights=side, minlength=len(losses)) for side in (total.p, total.q))
    p_only = any_failure((variable.p_only, n) for variable, n in variables)
    q_only = any_failure((variable.q_only, n) for variable, n in variables)
    return AtomicVariable(losses, p, q, p_only, q_only, blur=blur, stated_error=error, mirrors=mirrors)


def blur_of(variable: LossVariable) -> float:
    """The distance by which the listed losses of a variable may be off, beside their rounding: what is made of one on a
    sample, or mirrored, is off by no more.

    >>> from privet import privacy
    >>> blur_of(privacy.FinitePairLoss(("1/2", "1/2"), ("1/3", "2/3")).variable("add"))
    1e-14
    """
    while not isinstance(variable, AtomicVariable):
        inner = getattr(variable, "of", None)
        if not isinstance(inner, LossVariable):
            return 0.0
        variable = inner
    return variable.blur


def _copies(atoms: Atoms, n: int) -> Atoms:
    """n copies of one variable: for every way to share n among its atoms, the loss and both masses."""
    k = len(atoms.losses)
    bars = np.array(list(combinations(range(n + k - 1), k - 1)), dtype=float).reshape(math.comb(n + k - 1, n), k - 1)
    edge = np.ones((len(bars), 1))
    counts = np.diff(np.hstack((-edge, bars, (n + k - 1.0) * edge))) - 1.0
    gammaln = special().gammaln
    ways = gammaln(n + 1.0) - gammaln(counts + 1.0).sum(axis=1)

    def masses(single: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):  # 0 copies of a mass that underflowed
            logs = np.where(counts > 0.0, counts * np.log(single), 0.0)
        return np.exp(ways + logs.sum(axis=1))

    return Atoms((counts * atoms.losses).sum(axis=1), masses(atoms.p), masses(atoms.q))

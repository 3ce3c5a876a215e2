"""The law of masses: what a variable states about the error of its own masses is true."""

import math

import numpy as np

from privet._numerics import UNIT_ROUNDOFF, Array
from privet.privacy import DIRECTIONS, LossVariable, PrivacyLoss
from privet.testing.ask import variable_of
from privet.testing.law import law_of

_OWN = 4e-14  # what the quadrature of this law loses itself
_PANELS = 96  # of 20 points each, beside those of the law itself
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(20)  # in each panel


@law_of("loss")
def check_mass_error(loss: PrivacyLoss) -> None:
    """The masses of a pair contradict each other by no more than `mass_error`, in every tail.

    P and Q tell the same losses: P(L > a) = e^a Q(L > a) + the integral of e^e Q(L > e) over e > a, for a continuous
    part that is smooth; atoms have the ratio that their loss says. All masses sum to 1, and cells add up when cut finer.

    >>> from privet import privacy
    >>> check_mass_error(privacy.GaussianLoss(2.0))
    """
    for direction in DIRECTIONS:
        variable = variable_of(loss, direction)
        if variable is None:
            continue
        law = f"masses of {loss!r}, {direction}, stated to be good to {variable.mass_error:.3g}"
        assert 0.0 < variable.mass_error < 1e-6, f"{law}: that is no error of a floating-point computation"
        allowed = 4.0 * variable.mass_error + _OWN
        losses, p, q = variable.atoms()
        _check_atoms(losses, p, q, allowed, law)
        low, high = variable.span(1e-18)
        if not high > low:
            _check_totals(variable, np.zeros(1), allowed, law)
            continue
        _check_totals(variable, np.linspace(low, high, 50), allowed, law)
        for nodes in (np.linspace(low, high, 64), np.linspace(low, high, 3001)):
            _check_refinement(variable, nodes, allowed, law)
        if variable.smooth:
            _check_tails(variable, low, high, allowed, law)


def _check_atoms(losses: Array, p: Array, q: Array, allowed: float, law: str) -> None:
    seen = (p > 1e-250) & (q > 1e-250)
    ratio = np.log(p[seen]) - np.log(q[seen])
    size = 1.0 + np.abs(losses[seen]) + np.abs(np.log(p[seen])) + np.abs(np.log(q[seen]))
    off = np.abs(ratio - losses[seen]) - 64.0 * UNIT_ROUNDOFF * size
    assert np.all(off <= allowed), f"{law}: an atom's masses contradict its loss by {float(np.max(off)):.3g}"


def _check_totals(variable: LossVariable, nodes: Array, allowed: float, law: str) -> None:
    cells = variable.cells(nodes)
    atoms = variable.atoms()
    for name, cell, atom, only in zip("PQ", cells, atoms[1:], (variable.p_only, variable.q_only), strict=True):
        total = math.fsum([*cell, *atom, only])
        assert abs(total - 1.0) <= allowed, f"{law}: under {name} they sum to 1 {total - 1.0:+.3g}"


def _check_refinement(variable: LossVariable, nodes: Array, allowed: float, law: str) -> None:
    """Tails from fine cells are tails from coarse ones."""
    for fine, coarse in zip(variable.cells(nodes), variable.cells(nodes[::7]), strict=True):
        for way in (1, -1):
            sums = np.cumsum(fine[::-1])[::-1][1:][::7] if way == 1 else np.cumsum(fine)[:-1][::7]
            whole = np.cumsum(coarse[::-1])[::-1][1:] if way == 1 else np.cumsum(coarse)[:-1]
            seen = whole > 1e-250
            off = np.abs(sums[seen] / whole[seen] - 1.0)
            most = float(np.max(off, initial=0.0))
            assert most <= allowed + len(nodes) * UNIT_ROUNDOFF, f"{law}: cut finer, a tail changes by {most:.3g}"


def _check_tails(variable: LossVariable, low: float, high: float, allowed: float, law: str) -> None:
    """P-tails against the integral of Q-tails, panel by panel, with breaks where the law may have a kink."""
    kinks = [x for x in (0.0, *variable.atoms().losses[:8]) if low < x < high]
    even = np.linspace(low, high, _PANELS + 1)
    if variable.points(3, 1e-18)[-1] > low:
        even = np.union1d(even, variable.points(_PANELS, 1e-18))
    edges = np.unique(np.concatenate((even, kinks)))
    edges = edges[np.concatenate(([True], np.diff(edges) > 1e-9 * (high - low)))]
    half = 0.5 * np.diff(edges)
    nodes = (0.5 * (edges[1:] + edges[:-1]))[:, None] + half[:, None] * _POINTS[None, :]
    every = np.unique(np.concatenate((edges, nodes.ravel())))
    p, q = (np.cumsum(cells[::-1])[::-1][1:] for cells in variable.cells(every))
    q_at = q[np.searchsorted(every, nodes)]
    panels = half * ((np.exp(nodes) * q_at) @ _WEIGHTS)
    beyond = np.concatenate((np.cumsum(panels[::-1])[::-1], [0.0]))
    place = np.searchsorted(every, edges)
    rest = max(p[place[-1]] - math.exp(edges[-1]) * q[place[-1]], 0.0)
    expected = np.exp(edges) * q[place] + beyond + rest
    seen = expected > 1e-9 * expected[0]
    off = np.abs(p[place][seen] / expected[seen] - 1.0)
    worst = int(np.argmax(off))
    assert off[worst] <= allowed + 1e-13, (
        f"{law}: P and Q contradict each other by {off[worst]:.3g} above {edges[seen][worst]:.6g}"
    )

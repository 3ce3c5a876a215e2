"""A slow second opinion on small compositions: outcomes are enumerated, nothing is tilted or transformed.

Each part's variable is cut into outcomes, first by merging (a garbling: the divergence can only fall), then by spreading
every cell to its two ends (the divergence can only rise). Products of outcomes are listed one by one.
"""

import math

import numpy as np

from privet._numerics import Array
from privet.privacy import Direction, LossVariable, PrivacyLoss
from privet.testing.ask import variable_of

# How much is enumerated, and the tail that is cut: a smaller enumeration gives ends that lie wider apart, no wrong ones.
_MOST_OUTCOMES = 40_000
_MOST_CELLS = 4_000
_TAIL = 1e-18

Outcomes = tuple[Array, Array]  # P-mass and Q-mass of each outcome


def enclose_delta(loss: PrivacyLoss, epsilon: float) -> tuple[float, float] | None:
    """Bounds on the exact delta of the composed worst pair at epsilon, the larger of both directions.

    None when a part has no pair or the composition is too long to enumerate. Rounding is covered by a relative 1e-9 and
    an absolute 1e-15.

    >>> from privet import privacy
    >>> low, high = enclose_delta(privacy.Repeated(privacy.PureLoss(1.0), 2), 0.0)
    >>> exact = (math.e**2 - 1) / (1 + math.e) ** 2
    >>> low <= exact <= high < exact + 1e-8
    True
    """
    directions: tuple[Direction, ...] = ("remove", "add")
    found = [_one_direction(loss, direction, epsilon) for direction in directions]
    if found[0] is None or found[1] is None:
        return None
    low = max(found[0][0], found[1][0]) * (1.0 - 1e-9) - 1e-15
    high = max(found[0][1], found[1][1]) * (1.0 + 1e-9) + 1e-15
    return max(0.0, low), min(1.0, high)


def _one_direction(loss: PrivacyLoss, direction: Direction, epsilon: float) -> tuple[float, float] | None:
    copies: list[LossVariable] = []
    for part, count in loss.parts():
        variable = variable_of(part, direction)
        if variable is None or count > 24 or len(copies) + count > 24:
            return None
        copies += [variable] * count
    smooth = [variable for variable in copies if _is_continuous(variable)]
    room = _MOST_OUTCOMES / math.prod(len(v.atoms().losses) or 1 for v in copies if not _is_continuous(v))
    cells = 0
    if smooth:
        most_atoms = max(len(variable.atoms().losses) for variable in smooth)
        cells = min(_MOST_CELLS, int(room ** (1.0 / len(smooth))) - most_atoms)
    if room < 1.0 or (smooth and cells < 60):
        return None
    survives = math.prod(1.0 - variable.p_only for variable in copies)
    ends = []
    for spread in (False, True):
        p, q = np.ones(1), np.ones(1)
        lost = 0.0
        for variable in copies:
            (p_one, q_one), infinite = _outcomes(variable, cells, spread=spread)
            p, q = np.outer(p, p_one).ravel(), np.outer(q, q_one).ravel()
            lost += infinite
        finite = np.maximum(p - math.exp(min(epsilon, 700.0)) * q, 0.0)
        ends.append(float(np.sum(finite)) + (1.0 - survives) + (lost if spread else 0.0))
    return ends[0], ends[1]


def _is_continuous(variable: LossVariable) -> bool:
    low, high = variable.span(_TAIL)
    return high > low


def _outcomes(variable: LossVariable, cells: int, *, spread: bool) -> tuple[Outcomes, float]:
    """The variable's finite outcomes and the mass that spreading sends to infinity."""
    _, p_atoms, q_atoms = variable.atoms()
    if not _is_continuous(variable):
        return (p_atoms, q_atoms), 0.0
    nodes = np.unique(variable.points(cells // 2 if spread else cells, _TAIL))
    p, q = variable.cells(nodes)
    if not spread:
        return (np.concatenate((p_atoms, p)), np.concatenate((q_atoms, q))), 0.0
    low, high, inner_p, inner_q = nodes[:-1], nodes[1:], p[1:-1], q[1:-1]
    up = np.clip((inner_p - np.exp(low) * inner_q) / -np.expm1(low - high), 0.0, inner_p)
    down = inner_p - up
    p_all = np.concatenate((p_atoms, p[:1], down, up))
    # an end's Q-mass is what its loss says; the lowest cell moves up to the first node
    q_all = np.concatenate((q_atoms, p[:1] * np.exp(-nodes[:1]), down * np.exp(-low), up * np.exp(-high)))
    return (p_all, q_all), float(p[-1])

"""The attacker's view: trade-off curve, advantage, true-positive rate at a false-positive rate."""

import math
from dataclasses import replace
from typing import overload

import numpy as np

from privet._numerics import Array, ndtr, special
from privet._validate import fraction
from privet.accounting.base import Bound
from privet.accounting.pld import profile_nodes
from privet.accounting.rdp import Rdp
from privet.accounting.tightest import delta
from privet.errors import InvalidParameter, NoGuarantee
from privet.privacy import PrivacyLoss
from privet.privacy.base import real_numbers

__all__ = ["advantage", "tpr_at", "tradeoff"]


@overload
def tradeoff(loss: PrivacyLoss, fpr: float) -> float: ...
@overload
def tradeoff(loss: PrivacyLoss, fpr: Array) -> Array: ...
def tradeoff(loss: PrivacyLoss, fpr: float | Array) -> float | Array:
    """A certified lower bound on the false-negative rate of every attack with this false-positive rate.

    The attack decides from the outputs which of two neighbouring data sets was used, either way round.

    **Guarantee:** P_FN >= 1 - delta(e) - exp(e) P_FP for every real e and both directions; the best e is taken.
    **Reference:** Wasserman & Zhou 2010; Kairouz, Oh & Viswanath 2015; Dong, Roth & Su 2019.

    >>> from privet import privacy
    >>> round(tradeoff(privacy.GaussianLoss(1.0), 0.01), 6)
    0.907638
    """
    if not isinstance(loss, PrivacyLoss):
        raise InvalidParameter(f"expected a PrivacyLoss to price, got {type(loss).__name__}")
    rates = real_numbers("fpr", fpr)
    if rates.size == 0 or not np.all((rates >= 0.0) & (rates <= 1.0)):
        raise InvalidParameter("fpr must be a false-positive rate in [0, 1] (or an array of them)")
    curve = np.min([_one(alternative, rates) for alternative in loss.alternatives()], axis=0)
    return float(curve) if curve.ndim == 0 else curve


def _one(loss: PrivacyLoss, rates: Array) -> Array:
    mu = loss.gaussian()
    if mu is not None:
        return ndtr(-special().ndtri(rates) - mu * (1.0 + 1e-12)) * (1.0 - 1e-10)
    try:
        curves = profile_nodes(loss)
    except NoGuarantee:
        curves = [_renyi_nodes(loss)]
    return np.min([_dual(epsilons, deltas, rates) for epsilons, deltas in curves], axis=0)


def _dual(epsilons: Array, deltas: Array, rates: Array) -> Array:
    """Largest of 1 - delta(e) - exp(e) a over the nodes, for each rate a.

    The best node is found through the convex hull's slopes instead of a matrix: the knots of the piecewise linear curve.
    """
    gamma = np.exp(np.minimum(epsilons, 700.0))
    best = np.zeros(rates.shape)
    flat = rates.ravel()
    values = np.empty(len(flat))
    for index, rate in enumerate(flat):
        values[index] = float(np.max(1.0 - deltas - gamma * rate, initial=0.0))
    best[...] = values.reshape(rates.shape)
    return np.clip(best, 0.0, 1.0 - rates)


def _renyi_nodes(loss: PrivacyLoss) -> tuple[Array, Array]:
    """Nodes of the profile from the Rényi curve, for losses without a pair; the mirror image gives negative epsilon."""
    top = Rdp().epsilon(loss, 1e-12).upper + 1.0
    positive = np.linspace(0.0, top, 200)
    deltas = np.array([Rdp().delta(loss, float(e)).upper for e in positive])
    mirrored = -np.expm1(-positive[:0:-1]) + np.exp(-positive[:0:-1]) * deltas[:0:-1]
    return np.concatenate((-positive[:0:-1], positive)), np.concatenate((mirrored, deltas))


def tpr_at(loss: PrivacyLoss, fpr: float) -> float:
    """Upper bound on the true-positive rate of every attack at this false-positive rate.

    >>> from privet import privacy
    >>> round(tpr_at(privacy.GaussianLoss(1.0), 0.01), 6)
    0.092362
    """
    return 1.0 - tradeoff(loss, fraction("fpr", fpr))


def advantage(loss: PrivacyLoss) -> Bound:
    """Largest advantage (true-positive minus false-positive rate) of any attack: the total variation, delta(0).

    >>> from privet import privacy
    >>> round(advantage(privacy.GaussianLoss(1.0)).upper, 6)
    0.382925
    """
    bound = delta(loss, epsilon=0.0)
    return replace(bound, upper=min(1.0, bound.upper)) if math.isfinite(bound.upper) else bound

"""The attacker's view: trade-off curve, advantage, true-positive rate at a false-positive rate."""

import math
from contextlib import suppress
from dataclasses import replace
from typing import overload

import numpy as np

from privet._cache import remember
from privet._calls import door
from privet._numerics import LARGEST_EXPONENT, Array, minimise, ndtr, ndtri, special
from privet._validate import fraction
from privet.accounting.accountant import Accountant
from privet.accounting.bound import Bound
from privet.accounting.pld import profile_nodes
from privet.accounting.rdp import Rdp
from privet.accounting.tightest import Tightest, delta, epsilon
from privet.errors import InvalidParameter, NoGuarantee
from privet.privacy import PrivacyLoss
from privet.privacy.loss import real_numbers

_SMALL = 1e-6  # below, the whole curve (good to 1e-9 of 1) shows too few digits of a rate
_LEAST_RATE = 1e-300  # smaller rates but 0 count as this one, whose lines with e > 700 bound nothing
_SEARCH = 16  # steps to the tangent that bounds best: each of them is a bound


@overload
def tradeoff(loss: PrivacyLoss, fpr: float) -> float: ...
@overload
def tradeoff(loss: PrivacyLoss, fpr: Array) -> Array: ...
@door(prices=("loss",))
def tradeoff(loss: PrivacyLoss, fpr: float | Array) -> float | Array:
    """A certified lower bound on the false-negative rate of every attack with this false-positive rate.

    The attack decides from the outputs which of two neighbouring data sets was used, either way round.

    **Guarantee:** P_FN >= 1 - delta(e) - exp(e) P_FP for every real e and both directions; the best e is taken.
    **Reference:** Wasserman & Zhou 2010; Kairouz, Oh & Viswanath 2015; Dong, Roth & Su 2019.
    **Proof:** docs/proofs/accounting/tradeoff.md.

    >>> from privet import privacy
    >>> round(tradeoff(privacy.GaussianLoss(1.0), 0.01), 6)
    0.907638
    """
    if not isinstance(loss, PrivacyLoss):
        raise InvalidParameter(f"loss must be a PrivacyLoss, got {type(loss).__name__}")
    rates = real_numbers("fpr", fpr)
    if rates.size == 0 or not np.all((rates >= 0.0) & (rates <= 1.0)):
        raise InvalidParameter("fpr must be a false-positive rate in [0, 1] (or an array of them)")
    curve = np.min([_one(alternative, rates) for alternative in loss.alternatives()], axis=0)
    return float(curve) if curve.ndim == 0 else curve


def _one(loss: PrivacyLoss, rates: Array) -> Array:
    rates = np.where(rates > 0.0, np.maximum(rates, _LEAST_RATE), 0.0)
    mu = loss.gaussian()
    if mu is not None:
        return ndtr(-special().ndtri(rates) - mu * (1.0 + 1e-12)) * (1.0 - 1e-10)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what is no number becomes a trivial bound
        try:
            curves = profile_nodes(loss)
        except (NoGuarantee, OverflowError):
            curves = (_renyi_nodes(loss),)
    return np.min([_dual(epsilons, deltas, rates) for epsilons, deltas in curves], axis=0)


def _dual(epsilons: Array, deltas: Array, rates: Array) -> Array:
    """Largest of 1 - delta(e) - exp(e) a over the nodes, for each rate a: one step for each of what is fewer, nodes or
    rates, since a matrix of both would not fit the cache."""
    gamma = np.exp(np.minimum(epsilons, LARGEST_EXPONENT))
    flat = rates.ravel()
    values = np.zeros(len(flat))
    if len(gamma) < len(flat):
        for chance, slope in zip(deltas.tolist(), gamma.tolist(), strict=True):
            np.maximum(values, (1.0 - chance) - slope * flat, out=values)
    else:
        for index, rate in enumerate(flat.tolist()):
            values[index] = np.max((1.0 - deltas) - gamma * rate, initial=0.0)
    return np.clip(values.reshape(rates.shape), 0.0, 1.0 - rates)


@remember(2**20)
def _renyi_nodes(loss: PrivacyLoss) -> tuple[Array, Array]:
    """Nodes of the profile from the Rényi curve, for losses without a pair; the mirror image gives negative epsilon."""
    top = min(Rdp().epsilon(loss, 1e-12).upper + 1.0, LARGEST_EXPONENT)  # farther out no line bounds a rate that counts
    positive = np.linspace(0.0, top, 200)
    deltas = np.array([Rdp().delta(loss, float(e)).upper for e in positive])
    mirrored = -np.expm1(-positive[:0:-1]) + np.exp(-positive[:0:-1]) * deltas[:0:-1]
    return np.concatenate((-positive[:0:-1], positive)), np.concatenate((mirrored, deltas))


@door(prices=("loss",))
def tpr_at(loss: PrivacyLoss, fpr: float) -> float:
    """Upper bound on the true-positive rate of every attack at this false-positive rate, however small.

    **Guarantee:** P_TP <= delta(e) + exp(e) P_FP for every e >= 0, in both directions; the best e is taken. Small rates
    keep their leading digits: each delta is computed where it matters, not as a difference from 1.

    >>> from privet import privacy
    >>> round(tpr_at(privacy.GaussianLoss(1.0), 0.01), 6)
    0.092362
    >>> f"{tpr_at(privacy.GaussianLoss(1.0), 1e-15):.4g}"
    '1.942e-12'
    """
    rate = fraction("fpr", fpr)
    rate = max(rate, _LEAST_RATE) if rate > 0.0 else 0.0
    found = 1.0 - tradeoff(loss, rate)
    if rate == 0.0 and math.isfinite(loss.pure()):
        return 0.0  # what one world never shows, the other never shows
    mu = loss.gaussian()
    if mu is not None and 0.0 < rate < 1.0:
        return min(found, float(ndtr(ndtri(rate) + mu * (1.0 + 1e-12))) * (1.0 + 1e-10))
    return min(found, _small_rate(loss, rate, found)) if rate > 0.0 and found < _SMALL else found


def _small_rate(loss: PrivacyLoss, rate: float, known: float) -> float:
    """The least delta(e) + exp(e) rate that is found, below a bound that is known.

    The sum is convex in exp(e), so a bracketed search sees its valley: first roughly, then once with care.
    """

    def bound(at: float, accountant: Accountant | None = None) -> float:
        try:
            return delta(loss, epsilon=at, accountant=accountant).upper + math.exp(at) * rate * (1.0 + 1e-12)
        except NoGuarantee:
            return 1.0

    rough = Tightest(1e-2, two_sided=False)
    top = min(math.log(known / rate), loss.pure())
    with suppress(
        NoGuarantee, InvalidParameter
    ):  # about where delta falls below the rate the other term has taken over
        top = min(top, 1.1 * epsilon(loss, delta=0.1 * rate, accountant=rough).upper + 1e-9)
    best, value = minimise(lambda at: bound(at, rough), 0.0, top, iterations=_SEARCH)
    return min(value, bound(best), bound(top))


@door(prices=("loss",))
def advantage(loss: PrivacyLoss) -> Bound:
    """Largest advantage (true-positive minus false-positive rate) of any attack: the total variation, delta(0).

    >>> from privet import privacy
    >>> round(advantage(privacy.GaussianLoss(1.0)).upper, 6)
    0.382925
    """
    bound = delta(loss, epsilon=0.0)
    return replace(bound, upper=min(1.0, bound.upper)) if math.isfinite(bound.upper) else bound

"""Skellam noise: the difference of two Poisson numbers."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from privet._numerics import TINY, UNIT_ROUNDOFF, Array, exp_capped, plain
from privet._validate import above, count, set_frozen
from privet.errors import InvalidParameter, NoGuarantee
from privet.privacy.families.mixture import log_excess_moment
from privet.privacy.loss import PrivacyLoss, RdpCurve, orders_of
from privet.privacy.serial import register
from privet.privacy.unit import Unit
from privet.privacy.variable import AtomicVariable, Direction, LossVariable

_LARGEST_VARIANCE = 4e6  # up to here outcomes are listed one by one
_REACH = 39.0  # standard deviations: a normal law has e^-760 of its mass beyond
_LEAST_LOG = -700.0  # of a mass that counts
_MOST_OUTCOMES = 1_500_000  # a list of them takes some ten milliseconds and mebibytes
_FEW = 64  # ratios that are added one by one, with fewer roundings; more are differences of running sums
_LONG = float(np.finfo(np.longdouble).eps)


@register
@dataclass(frozen=True, eq=False)
class SkellamLoss(PrivacyLoss):
    """Integer noise of variance `variance`, the difference of two Poisson numbers, on an integer query.

    Sums of Skellam numbers are Skellam again: what each of many clients adds in secret is noise for the whole.

    **Guarantee:** the exact pair of the law and the law moved by `sensitivity`, by its probabilities; the Rényi divergence
    as their sum. **Sensitivity:** an integer, l1, in any dimension (the law is log-concave, so the scalar pair dominates,
    as for Laplace). **Error:** standard deviation sqrt(variance).
    **Reference:** Skellam 1946; Agarwal, Kairouz & Liu 2021.
    **Proof:** docs/proofs/privacy/skellam.md.

    >>> loss = SkellamLoss(variance=100.0)
    >>> round(float(loss.rdp([2.0]).values[0]), 5)  # nearly that of normal noise, order/(2 variance)
    0.01
    """

    kind = "skellam"
    on_a_line = True
    exact = True

    variance: float = field(metadata={"help": "its variance"})
    sensitivity: int = field(default=1, metadata={"help": "the integer sensitivity"})

    def __post_init__(self) -> None:
        super().__post_init__()
        set_frozen(self, variance=above("variance", self.variance, 0.0))
        set_frozen(self, sensitivity=count("sensitivity", self.sensitivity, 1))
        if self.variance < 1e-3:
            raise InvalidParameter(f"variance must be at least 0.001, got {self.variance}")
        if not _has_price(self.variance, self.sensitivity):
            raise InvalidParameter(
                f"Skellam noise of variance {plain(self.variance)} for a sensitivity of {plain(self.sensitivity)} has no "
                f"price: its outcomes are added up one by one, {_MOST_OUTCOMES:,} at most, enough for a variance of 1.4e9 "
                "and for a sensitivity of 200,000; DiscreteGaussianLoss has no such limit"
            )

    def rdp(self, alphas: Array) -> RdpCurve:
        orders = orders_of(alphas)
        values = [skellam_rdp(self.variance, self.sensitivity, float(a)) for a in orders.ravel()]
        return RdpCurve(np.reshape(values, orders.shape), 0.0)

    def variable(self, direction: Direction) -> LossVariable:
        if not _is_listed(self.variance, self.sensitivity):
            raise NoGuarantee(
                f"the pair of Skellam noise is listed outcome by outcome up to variance {_LARGEST_VARIANCE:g}; use the RDP "
                "accountant"
            )
        return _shifted_skellam(self.variance, self.sensitivity)

    def grouped(self, size: int) -> PrivacyLoss | None:
        moved = self.sensitivity * size
        return SkellamLoss(self.variance, moved, unit=self.unit) if _has_price(self.variance, moved) else None

    @classmethod
    def examples(cls) -> Iterable[PrivacyLoss]:
        yield cls(4.0)
        yield cls(100.0, sensitivity=3)
        yield cls(400.0, unit=Unit("replace"))


def _has_price(variance: float, sensitivity: int) -> bool:
    """Can outcomes be listed, for the pair or for its Rényi divergence of order 2?"""
    return _is_listed(variance, sensitivity) or _needed(variance, sensitivity, 2.0) <= _MOST_OUTCOMES


def _is_listed(variance: float, sensitivity: int) -> bool:
    return variance <= _LARGEST_VARIANCE and sensitivity <= _MOST_OUTCOMES


def _needed(variance: float, shift: int, alpha: float) -> float:
    """Outcomes on one side that decide on the Rényi divergence of order alpha."""
    return _REACH * math.sqrt(variance) + (2.0 * alpha + 2.0) * shift + 60.0


@lru_cache(maxsize=16)
def _log_ratios(variance: float, reach: int) -> Array:
    """ln Pr[x]/Pr[x - 1] for x = 1..reach, by the downward recursion of Bessel functions, all terms positive.

    The ratio at x is 1/(2x/variance + ratio at x + 1): an error shrinks by the square of the ratio a step, so that some
    sqrt(variance) roundings are felt. Numbers are as long as the machine has them.
    """
    start = variance / (reach + math.hypot(reach, variance))
    extra = math.ceil(25.0 / -math.log(start)) + 10
    found = np.empty(reach, dtype=np.longdouble)
    ratio, doubled = np.longdouble(start), 2.0 / np.longdouble(variance)
    for x in range(reach + extra, 0, -1):
        ratio = 1.0 / (x * doubled + ratio)
        if x <= reach:
            found[x - 1] = ratio
    return np.log(found)


def _ratio_error(variance: float) -> float:
    """Of each of these logarithms."""
    return 4.0 * _LONG * (math.sqrt(variance) + 10.0)


@lru_cache(maxsize=16)
def _log_law(variance: float, reach: int) -> tuple[Array, float]:
    """ln Pr[x] for x = 0..reach, and a bound on their error."""
    logs = np.concatenate((np.zeros(1, dtype=np.longdouble), np.cumsum(_log_ratios(variance, reach))))
    logs = logs - np.log1p(2.0 * np.exp(logs[1:]).sum())
    largest = float(np.abs(logs[-1]))
    error = 2.0 * reach * (_ratio_error(variance) + _LONG * largest) + 4.0 * UNIT_ROUNDOFF * largest
    return logs.astype(float), error


def _reach_of(variance: float) -> int:
    """An outcome beyond which less than exp(-700) of the mass lies: the law falls faster than a geometric one there."""
    reach = math.ceil(_REACH * math.sqrt(variance)) + 60
    while _log_law(variance, reach)[0][-1] > _LEAST_LOG:
        reach = math.ceil(1.25 * reach)
    return reach


def _losses(variance: float, reach: int, shift: int) -> tuple[Array, float]:
    """ln Pr[x]/Pr[x - shift] for x = shift - reach..reach, each a sum of `shift` ratios, and a bound on their error."""
    half = _log_ratios(variance, reach)
    ratios = np.concatenate((-half[::-1], half))
    if shift <= _FEW:
        total, roundings = sum(ratios[i : len(ratios) - shift + 1 + i] for i in range(shift)), float(shift)
    else:
        sums = np.concatenate((np.zeros(1, dtype=np.longdouble), np.cumsum(ratios)))
        total, roundings = sums[shift:] - sums[:-shift], float(len(ratios))
    losses = np.asarray(total)
    size = float(np.abs(losses).max())
    most = size if shift <= _FEW else float(np.abs(half).sum())
    return losses.astype(float), shift * _ratio_error(variance) + roundings * _LONG * most + UNIT_ROUNDOFF * size


@lru_cache(maxsize=16)
def _shifted_skellam(variance: float, shift: int) -> LossVariable:
    """The law at 0 against the law at `shift`; the loss falls with the outcome."""
    reach = _reach_of(variance)
    while reach < _reach_of(variance) + shift:  # few lengths, so that ratios are shared
        reach = math.ceil(1.25 * reach)
    half, error = _log_law(variance, reach)
    logs = np.concatenate((half[:0:-1], half))  # outcomes -reach..reach
    losses, blur = _losses(variance, reach, shift)
    losses, p, q = losses[::-1], np.exp(logs[shift:])[::-1], np.exp(logs[:-shift])[::-1]
    seen = (p > 0.0) | (q > 0.0)
    left_out = math.exp(_LEAST_LOG)
    return AtomicVariable(losses[seen], p[seen], q[seen], left_out, left_out, None, blur, error + 1e-13)


def skellam_rdp(variance: float, shift: int, alpha: float) -> float:
    """Rényi divergence of order alpha of the law against itself moved by `shift` (both directions are equal).

    The sum over outcomes; what lies beyond is a geometric series at most. Infinite where the outcomes that decide are too
    many.

    >>> round(skellam_rdp(10.0, 2, 2.0), 4)
    0.393
    """
    needed = _needed(variance, shift, alpha)
    if needed > _MOST_OUTCOMES:
        return math.inf
    reach = 1 << math.ceil(math.log2(needed))  # few lengths, so that ratios are shared
    half, error = _log_law(variance, reach)
    log_q = np.concatenate((half[:0:-1], half))[:-shift]
    losses, blur = _losses(variance, reach, shift)
    terms = alpha * losses + log_q
    beyond = 0.0
    for end, before in ((terms[-1], terms[-2]), (terms[0], terms[1])):
        if not end < before - 1e-3:
            return math.inf
        beyond += exp_capped(end) / -math.expm1(end - before)
    spread = math.sqrt(float((np.exp(log_q) * losses * losses).sum()))
    moment = log_excess_moment(losses, log_q, alpha) + beyond
    # every term is off by its mass and by its loss; the excess of a small loss is quadratic in it
    return moment * (1.0 + error + 8.0 * alpha * blur * (1.0 + 1.0 / max(spread, TINY))) / (alpha - 1.0)
